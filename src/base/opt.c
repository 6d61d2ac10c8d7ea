/* opt.c - see opt.h. In: a table and argv. Out: a filled struct, help, or words about the wrong word.
 *
 * Words that belong to lists are collected in arrays that double inside the arena; a list ends at the next word
 * that begins with '-' and is not a number, as the clients' own parsers do it. */
#include "base/opt.h"
#include "base/str.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

struct parse {
    const struct opt_command *c;
    struct arena *a;
    char **v; /* words, after @FILE expansion */
    int n, at;
    unsigned char *into;
    bool *seen;                /* one a row */
    const struct opt_row *pos; /* next positional */
    bool only_positionals;
    struct error *err;
};

static bool is_positional (const struct opt_row *r)
{
    return r->kind >= OPT_ARG;
}

static bool is_option_word (const char *w)
{
    return w[0] == '-' && w[1] && !isdigit ((unsigned char)w[1]) && w[1] != '.';
}

/* -- suggestions ----------------------------------------------------------------------------------------------- */

static size_t distance (const char *a, const char *b)
{
    size_t row[64], n = strlen (a), m = strlen (b);

    if (n >= 64 || m >= 64)
        return 64;
    for (size_t j = 0; j <= m; j++)
        row[j] = j;
    for (size_t i = 1; i <= n; i++) {
        size_t diagonal = row[0];

        row[0] = i;
        for (size_t j = 1; j <= m; j++) {
            size_t up = row[j], best = diagonal + (a[i - 1] != b[j - 1]);

            if (up + 1 < best)
                best = up + 1;
            if (row[j - 1] + 1 < best)
                best = row[j - 1] + 1;
            diagonal = up;
            row[j] = best;
        }
    }
    return row[m];
}

static void nearer (const char *word, const char *name, const char **best, size_t *best_d)
{
    size_t d = distance (word, name), n = strlen (word);

    if (n >= 3 && !strncmp (word, name, n))
        d = 0;
    if (d < *best_d && d <= (n < 4 ? 1 : n < 7 ? 2 : 3)) {
        *best = name;
        *best_d = d;
    }
}

const char *opt_nearest (const char *word, const char *const *names)
{
    const char *best = NULL;
    size_t d = 64;

    for (; *names; names++)
        nearer (word, *names, &best, &d);
    return best;
}

const struct opt_verb *opt_verb_find (const struct opt_verb *verbs, const char *name, struct error *err)
{
    const char *best = NULL;
    size_t d = 64;

    for (const struct opt_verb *v = verbs; v->name; v++) {
        if (!strcmp (v->name, name))
            return v;
        if (v->about)
            nearer (name, v->name, &best, &d);
    }
    if (best)
        error_set (err, EINVAL, "no such command '%s'; did you mean '%s'?", name, best);
    else
        error_set (err, EINVAL, "no such command '%s'", name);
    return NULL;
}

void opt_help_last (int argc, char **argv)
{
    static char help[] = "--help";

    if (argc < 2 || strcmp (argv[1], "help"))
        return;
    memmove (&argv[1], &argv[2], (size_t)(argc - 2) * sizeof (*argv));
    argv[argc - 1] = help;
}

/* -- help ------------------------------------------------------------------------------------------------------- */

enum { HELP_WIDTH = 100, HELP_INDENT = 28 };

/* Write `text` from column `at`, wrapped, further lines indented by `indent`. */
static void put_wrapped (FILE *out, const char *text, size_t at, size_t indent)
{
    bool space = false; /* owed before the next word of this line */

    while (*text) {
        size_t word = strcspn (text, " \n");

        if (at + space + word > HELP_WIDTH && at > indent) {
            fprintf (out, "\n%*s", (int)indent, "");
            at = indent;
            space = false;
        }
        fprintf (out, "%s%.*s", space ? " " : "", (int)word, text);
        at += space + word;
        text += word;
        space = *text == ' ';
        if (*text == '\n') {
            fprintf (out, "\n%*s", (int)indent, "");
            at = indent;
        }
        text += *text != 0;
    }
    fputc ('\n', out);
}

static const char *arg_name (const struct opt_row *r)
{
    if (r->arg)
        return r->arg;
    return r->kind == OPT_INT ? "N" : "WORD";
}

static void add_left (struct str *s, const struct opt_row *r)
{
    if (is_positional (r)) {
        str_puts (s, r->name);
        return;
    }
    if (r->letter)
        str_addf (s, "-%c, ", r->letter);
    else
        str_puts (s, "    ");
    str_addf (s, "--%s", r->name);
    if (r->kind == OPT_TEXT || r->kind == OPT_INT || r->kind == OPT_EACH)
        str_addf (s, " %s", arg_name (r));
    else if (r->kind == OPT_MAYBE)
        str_addf (s, " [%s]", arg_name (r));
    else if (r->kind == OPT_WORDS)
        str_addf (s, " %s...", arg_name (r));
}

static void help_row (const struct opt_row *r, FILE *out)
{
    cleanup_str struct str left = { 0 };

    add_left (&left, r);
    fprintf (out, "  %-*s", HELP_INDENT - 2, left.p);
    if (left.n > HELP_INDENT - 4)
        fprintf (out, "\n%*s", HELP_INDENT, "");
    if (r->choices) {
        cleanup_str struct str help = { 0 };

        str_addf (&help, "%s (", r->help);
        for (size_t i = 0; r->choices[i]; i++)
            str_addf (&help, "%s%s", i ? ", " : "", r->choices[i]);
        str_puts (&help, ")");
        put_wrapped (out, help.p, HELP_INDENT, HELP_INDENT);
    } else {
        put_wrapped (out, r->help, HELP_INDENT, HELP_INDENT);
    }
}

static void usage_line (const struct opt_command *c, FILE *out)
{
    fprintf (out, "Usage: %s%s%s [options]", c->program ? c->program : "stoker", *c->name ? " " : "",
             c->name);
    for (const struct opt_row *r = c->rows; r->kind; r++) {
        if (!is_positional (r) && r->required)
            fprintf (out, " --%s %s", r->name, arg_name (r));
    }
    for (const struct opt_row *r = c->rows; r->kind; r++) {
        const char *dots = r->kind == OPT_ARG ? "" : "...", *dashes = r->kind == OPT_COMMAND ? "-- " : "";

        if (is_positional (r))
            fprintf (out, r->required ? " %s%s%s" : " [%s%s%s]", dashes, r->name, dots);
    }
    fputc ('\n', out);
}

void opt_help (const struct opt_command *c, FILE *out)
{
    bool head = false;

    usage_line (c, out);
    if (c->about) {
        fputc ('\n', out);
        put_wrapped (out, c->about, 0, 0);
    }
    for (const struct opt_row *r = c->rows; r->kind; r++) {
        if (!is_positional (r) || !r->help)
            continue;
        fprintf (out, "%s", head ? "" : "\nArguments:\n");
        head = true;
        help_row (r, out);
    }
    fprintf (out, "\nOptions:\n");
    for (const struct opt_row *r = c->rows; r->kind; r++) {
        if (!is_positional (r) && r->help)
            help_row (r, out);
    }
    help_row (&(struct opt_row){ OPT_FLAG, "help", 'h', 0, .help = "show this help" }, out);
    if (c->more)
        fprintf (out, "\n%s%s", c->more, c->more[strlen (c->more) - 1] == '\n' ? "" : "\n");
}

void opt_verbs_help (const struct opt_verb *verbs, FILE *out)
{
    size_t width = 0;

    for (const struct opt_verb *v = verbs; v->name; v++)
        if (v->about && strlen (v->name) > width)
            width = strlen (v->name);
    for (const struct opt_verb *v = verbs; v->name; v++) {
        if (!v->about)
            continue;
        fprintf (out, "  %-*s", (int)width + 2, v->name);
        put_wrapped (out, v->about, width + 4, width + 4);
    }
}

/* -- parsing ---------------------------------------------------------------------------------------------------- */

/* Append to a list inside `into`. The array has room for a power of two and its closing NULL. */
static void words_add (struct parse *p, struct opt_words *w, const char *word)
{
    if (!w->n || !(w->n & (w->n + 1))) {
        const char **v = arena_array (p->a, const char *, 2 * (w->n + 1));

        if (w->n)
            memcpy (v, w->v, w->n * sizeof (*v));
        w->v = v;
    }
    ((const char **)w->v)[w->n++] = word;
    ((const char **)w->v)[w->n] = NULL;
}

static int store_int (struct parse *p, const struct opt_row *r, const char *shown, const char *word)
{
    char *end;
    long long v;

    errno = 0;
    v = strtoll (word, &end, 10);
    if (end == word || *end || errno)
        return error_set (p->err, EINVAL, "%s: '%s' is not a whole number", shown, word);
    if ((r->least || r->most) && (v < r->least || (r->most && v > r->most))) {
        if (r->most)
            return error_set (p->err, EINVAL, "%s: %lld is not within %lld to %lld", shown, v,
                              (long long)r->least, (long long)r->most);
        return error_set (p->err, EINVAL, "%s: %lld is less than %lld", shown, v, (long long)r->least);
    }
    *(int64_t *)(void *)(p->into + r->offset) = v;
    return 0;
}

static int store_text (struct parse *p, const struct opt_row *r, const char *shown, const char *word)
{
    if (r->choices) {
        cleanup_str struct str all = { 0 };

        for (size_t i = 0; r->choices[i]; i++) {
            if (!strcasecmp (r->choices[i], word)) {
                *(const char **)(void *)(p->into + r->offset) = r->choices[i];
                return 0;
            }
            str_addf (&all, "%s%s", i ? ", " : "", r->choices[i]);
        }
        return error_set (p->err, EINVAL, "%s: '%s' is none of %s", shown, word, all.p);
    }
    *(const char **)(void *)(p->into + r->offset) = word;
    return 0;
}

/* One option was recognised; `value` is what stood behind '=' (or right behind the letter), or NULL. */
static int take_option (struct parse *p, const struct opt_row *r, const char *shown, const char *value)
{
    unsigned char *at = p->into + r->offset;
    struct opt_words *words = (void *)at;
    const char *next = p->at < p->n ? p->v[p->at] : NULL;

    p->seen[r - p->c->rows] = true;
    if (r->kind == OPT_FLAG || r->kind == OPT_COUNT) {
        if (value)
            return error_set (p->err, EINVAL, "%s takes no value", shown);
        if (r->kind == OPT_FLAG)
            *(bool *)at = true;
        else
            ++*(int64_t *)(void *)at;
        return 0;
    }
    if (r->kind == OPT_WORDS) {
        words->given = true;
        if (value)
            words_add (p, words, value);
        for (; !value && p->at < p->n && !is_option_word (p->v[p->at]); p->at++)
            words_add (p, words, p->v[p->at]);
        return 0;
    }
    if (r->kind == OPT_MAYBE) {
        if (!value && next && !is_option_word (next))
            value = p->v[p->at++];
        *(const char **)(void *)at = value ? value : "";
        return 0;
    }
    if (!value) {
        if (!next || (is_option_word (next) && strcmp (next, "-")))
            return error_set (p->err, EINVAL, "%s needs a value: %s %s", shown, shown, arg_name (r));
        value = p->v[p->at++];
    }
    if (r->kind == OPT_EACH) {
        words->given = true;
        words_add (p, words, value);
        return 0;
    }
    return r->kind == OPT_INT ? store_int (p, r, shown, value) : store_text (p, r, shown, value);
}

static int unknown_option (struct parse *p, const char *name, size_t n)
{
    char *word = arena_strndup (p->a, name, n);
    const char *best = NULL;
    size_t d = 64;

    for (const struct opt_row *r = p->c->rows; r->kind; r++)
        if (!is_positional (r) && r->help)
            nearer (word, r->name, &best, &d);
    if (best)
        return error_set (p->err, EINVAL, "unknown option --%s; did you mean --%s?", word, best);
    return error_set (p->err, EINVAL, "unknown option --%s", word);
}

static int find_long (struct parse *p, const char *name, size_t n, const struct opt_row **ret)
{
    const struct opt_row *found = NULL;

    for (const struct opt_row *r = p->c->rows; r->kind; r++) {
        if (is_positional (r) || strncmp (r->name, name, n))
            continue;
        if (!r->name[n]) {
            *ret = r;
            return 0;
        }
        if (found)
            return error_set (p->err, EINVAL, "--%.*s may be --%s or --%s: write it out", (int)n, name,
                              found->name, r->name);
        found = r;
    }
    if (!found || !n)
        return unknown_option (p, name, n);
    *ret = found;
    return 0;
}

static int parse_long (struct parse *p, const char *word)
{
    const char *eq = strchr (word, '=');
    size_t n = eq ? (size_t)(eq - word) : strlen (word);
    const struct opt_row *r = NULL;

    if (n == 4 && !memcmp (word, "help", 4)) {
        opt_help (p->c, stdout);
        return OPT_HELPED;
    }
    if (find_long (p, word, n, &r) < 0)
        return -1;
    return take_option (p, r, arena_printf (p->a, "--%s", r->name), eq ? eq + 1 : NULL);
}

static int parse_letters (struct parse *p, const char *word)
{
    for (; *word; word++) {
        const struct opt_row *r = p->c->rows;
        bool flag;

        while (r->kind && (is_positional (r) || r->letter != *word))
            r++;
        if (!r->kind && *word == 'h') {
            opt_help (p->c, stdout);
            return OPT_HELPED;
        }
        if (!r->kind)
            return error_set (p->err, EINVAL, "unknown option -%c", *word);
        flag = r->kind == OPT_FLAG || r->kind == OPT_COUNT;
        if (take_option (p, r, arena_printf (p->a, "-%c", *word),
                         !flag && word[1] ? word + 1 + (word[1] == '=') : NULL) < 0)
            return -1;
        if (!flag)
            break;
    }
    return 0;
}

static int take_positional (struct parse *p, const char *word)
{
    while (p->pos->kind && !is_positional (p->pos))
        p->pos++;
    if (!p->pos->kind)
        return error_set (p->err, EINVAL, "'%s' is one word too many", word);
    p->seen[p->pos - p->c->rows] = true;
    if (p->pos->kind == OPT_ARG) {
        *(const char **)(void *)(p->into + p->pos->offset) = word;
        p->pos++;
        return 0;
    }
    struct opt_words *words = (void *)(p->into + p->pos->offset);
    words->given = true;
    words_add (p, words, word);
    if (p->pos->kind == OPT_COMMAND)
        while (p->at < p->n)
            words_add (p, words, p->v[p->at++]);
    return 0;
}

/* -- @FILE ------------------------------------------------------------------------------------------------------ */

static int add_file_words (struct parse *p, struct opt_words *all, const char *path)
{
    FILE *f = fopen (path, "re");
    char *line = NULL;
    size_t cap = 0;
    ssize_t n;

    if (!f)
        return error_errno (p->err, "read options from %s", path);
    while ((n = getline (&line, &cap, f)) >= 0) {
        while (n && (line[n - 1] == '\n' || line[n - 1] == '\r'))
            line[--n] = 0;
        words_add (p, all, arena_strdup (p->a, line));
    }
    free (line);
    fclose (f);
    return 0;
}

static int expand_files (struct parse *p, int argc, char **argv)
{
    struct opt_words all = { 0 };

    for (int i = 0; i < argc; i++) {
        if (i && argv[i][0] == '@' && argv[i][1]) {
            if (add_file_words (p, &all, argv[i] + 1) < 0)
                return -1;
        } else {
            words_add (p, &all, argv[i]);
        }
    }
    p->v = (char **)(void *)all.v;
    p->n = (int)all.n;
    return 0;
}

static int check_required (struct parse *p)
{
    for (const struct opt_row *r = p->c->rows; r->kind; r++) {
        if (!r->required || p->seen[r - p->c->rows])
            continue;
        if (is_positional (r))
            return error_set (p->err, EINVAL, "%s is missing", r->name);
        return error_set (p->err, EINVAL, "--%s %s is missing", r->name, arg_name (r));
    }
    return 0;
}

enum opt_result opt_parse (const struct opt_command *command, int argc, char **argv, void *into,
                           struct arena *a, struct error *err)
{
    struct parse p = {
        .c = command, .a = a, .v = argv, .n = argc, .into = into, .pos = command->rows, .err = err
    };
    size_t rows = 0;

    while (command->rows[rows].kind)
        rows++;
    p.seen = arena_array (a, bool, rows + 1);
    if (command->files && expand_files (&p, argc, argv) < 0)
        return OPT_FAILED;
    for (p.at = 1; p.at < p.n;) {
        const char *word = p.v[p.at++];
        int r;

        if (p.only_positionals || word[0] != '-' || !word[1])
            r = take_positional (&p, word);
        else if (!strcmp (word, "--"))
            r = 0, p.only_positionals = true;
        else if (word[1] == '-')
            r = parse_long (&p, word + 2);
        else
            r = parse_letters (&p, word + 1);
        if (r)
            return (enum opt_result)r;
    }
    return check_required (&p) < 0 ? OPT_FAILED : OPT_PARSED;
}
