/* opt.h - command lines from tables: a command is a list of rows, a row is an option or a positional word.
 *
 *   struct list_opts { bool json; const char *project; struct opt_words tags; int64_t limit; };
 *   static const struct opt_row rows[] = {
 *       { OPT_FLAG, "json",    0,   offsetof (struct list_opts, json),    .help = "print JSON" },
 *       { OPT_TEXT, "project", 'p', offsetof (struct list_opts, project), .arg = "NAME", .help = "only these" },
 *       { OPT_INT,  "limit",   'n', offsetof (struct list_opts, limit),   .arg = "N", .least = 1, .most = 500 },
 *       { OPT_ARG,  "TASK",    0,   offsetof (struct list_opts, task),    .required = true },
 *       { 0 }
 *   };
 *   static const struct opt_command command = { .name = "task ls", .about = "List tasks.", .rows = rows };
 *   struct list_opts o = { .limit = 50 };                       defaults are what stands in the struct before
 *   r = opt_parse (&command, argc, argv, &o, arena, &err);      argv[0] is the verb itself and is skipped
 *
 * Understood: --name value, --name=value, -p value, -pvalue, -abc (flags), `--` (only positionals follow), and
 * any unambiguous beginning of a long name. `-h` and `--help` are there for every command. */
#pragma once
#include "base/arena.h"
#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* What a row is, and the type of the member at its offset. */
enum opt_kind {
    OPT_END,
    OPT_FLAG,  /* bool                          --json */
    OPT_COUNT, /* int64_t                       -O -O or -OO: how often */
    OPT_TEXT,  /* const char *                  --name WORD; the last one counts */
    OPT_INT,   /* int64_t                       --limit 5, within least..most */
    OPT_MAYBE, /* const char *                  --docker [WORD]: "" when no word follows that is not an option */
    OPT_WORDS, /* struct opt_words              --queue a b c: all words up to the next option; may be repeated */
    OPT_EACH, /* struct opt_words              --listen A --listen B: one word each time */
    /* positionals, in the order of the rows; `name` is how help shows them */
    OPT_ARG,    /* const char *                 one word */
    OPT_ARGS,   /* struct opt_words             all remaining words */
    OPT_COMMAND /* struct opt_words             everything from the first positional (or `--`) on, untouched */
};

struct opt_words {
    const char *const *v; /* NULL-terminated */
    size_t n;
    bool given; /* the option was there, perhaps without words */
};

struct opt_row {
    enum opt_kind kind;
    const char *name; /* long name without dashes; of a positional: its name in the help */
    char letter;      /* 0 = none */
    size_t offset;
    const char *arg;  /* how the help shows the value; NULL: WORD or N */
    const char *help; /* NULL: not shown in the help (accepted for old scripts) */
    const char *const
        *choices; /* OPT_TEXT: one of these (any case; the table's spelling is stored), NULL-terminated */
    int64_t least, most; /* OPT_INT: bounds, both 0 = none */
    bool required;
};

struct opt_command {
    const char *name;  /* "agent daemon": shown as "stoker agent daemon" */
    const char *about; /* one or more sentences */
    const struct opt_row *rows;
    const char *more;    /* text after the options: examples; may be NULL */
    bool files;          /* @FILE as a word stands for the lines of FILE */
    const char *program; /* shown instead of "stoker"; NULL = "stoker" */
};

enum opt_result { OPT_FAILED = -1, OPT_PARSED = 0, OPT_HELPED = 1 };

/* Fill `into`. OPT_HELPED: help was asked for and printed to standard output: exit 0. OPT_FAILED: err says which
 * word was wrong and what was meant (exit 2 is the custom). Words point into argv or the arena. */
enum opt_result opt_parse (const struct opt_command *command, int argc, char **argv, void *into,
                           struct arena *a, struct error *err) warn_unused;

void opt_help (const struct opt_command *command, FILE *out);

/* One row of a table of verbs, for programs that choose a command by a word. */
struct opt_verb {
    const char *name;
    const char *about;                   /* NULL: not listed */
    int (*main) (int argc, char **argv); /* argv[0] is the verb; returns the exit code */
};
/* The row of that name, or NULL with "no such command 'x'; did you mean 'y'?" The table ends with a NULL name. */
const struct opt_verb *opt_verb_find (const struct opt_verb *verbs, const char *name, struct error *err);
/* "help ls" means "ls --help", "help" alone "--help": argv is put so where its second word is "help". */
void opt_help_last (int argc, char **argv);
void opt_verbs_help (const struct opt_verb *verbs, FILE *out); /* aligned list of names and abouts */

/* The nearest of `names` (NULL-terminated) to `word`, or NULL when none is near. */
const char *opt_nearest (const char *word, const char *const *names);
