/* out.h - what verbs print for people: aligned tables, ages, colours on a terminal only. JSON goes out as it is. */
#pragma once
#include "base/arena.h"
#include "base/error.h"
#include "base/text.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/* Rows of cells, printed as wide as the widest cell of each column. */
struct out_table {
    struct arena *arena;
    const char *const *heads; /* NULL-terminated; a head that starts with '>' is right-aligned */
    const char **cells;
    size_t columns, n, cap;
};
void out_table_init (struct out_table *t, struct arena *a, const char *const *heads);
void out_cell (struct out_table *t,
               const char *text); /* row after row, column by column; NULL or "" prints "-" */
void out_table_print (const struct out_table *t, FILE *to);

const char *out_age (struct arena *a, int64_t ms, int64_t now); /* "12 s ago", "3 h ago"; "-" for 0 */
const char *out_duration (struct arena *a, int64_t ms);       /* "0.8 s", "12 s", "3 min 4 s", "2 h 5 min" */
const char *out_status (struct arena *a, const char *status); /* people's word, coloured on a terminal */
const char *out_status_word (const char *status);             /* the same without colour */
const char *out_status_meant (const char *word);              /* back: "draft" is "created" on the wire */
bool out_colours (void);                                      /* a terminal, and NO_COLOR is not set */

/* How every verb begins: fill `into` from its words. VERB_GO: go on; else exit with it. */
enum { VERB_GO = -1 };
struct opt_command;
int out_parse (const struct opt_command *command, int argc, char **argv, void *into, struct arena *a);

/* Flush standard output. What could not be written is an error: a full disk must not look like an empty list. */
int out_written (struct error *err) warn_unused;
/* The exit code of a program that ends with `rc`: 1 when its output could not be written, which is said. */
int out_end (int rc);

/* Verbs end by one of these: print "stoker <verb>: words" to stderr and give the exit code. */
int out_failed (const char *verb, const struct error *err);  /* 1 */
int out_misused (const char *verb, const struct error *err); /* 2 */
