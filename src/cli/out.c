/* out.c - see out.h. Width is counted in UTF-8 characters, colour codes count nothing. */
#include "cli/out.h"

#include "base/opt.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void out_table_init (struct out_table *t, struct arena *a, const char *const *heads)
{
    *t = (struct out_table){ .arena = a, .heads = heads };
    while (heads[t->columns])
        t->columns++;
}

void out_cell (struct out_table *t, const char *text)
{
    if (t->n == t->cap) {
        size_t cap = t->cap ? t->cap * 2 : 64;
        const char **cells = arena_array (t->arena, const char *, cap);

        if (t->n)
            memcpy (cells, t->cells, t->n * sizeof (*cells));
        t->cells = cells;
        t->cap = cap;
    }
    t->cells[t->n++] = text && *text ? text : "-";
}

static size_t width (const char *s)
{
    size_t n = 0;

    for (; *s; s++) {
        if (*s == '\033')
            s += strcspn (s, "m");
        else
            n += ((unsigned char)*s & 0xc0) != 0x80;
        if (!*s)
            break;
    }
    return n;
}

static void put (const char *text, size_t wide, bool right, bool last, FILE *to)
{
    size_t w = width (text), pad = w < wide ? wide - w : 0;

    if (right)
        fprintf (to, "%*s%s", (int)pad, "", text);
    else
        fprintf (to, "%s%*s", text, last ? 0 : (int)pad, "");
    fputs (last ? "\n" : "  ", to);
}

void out_table_print (const struct out_table *t, FILE *to)
{
    size_t *wide = arena_array (t->arena, size_t, t->columns);

    for (size_t c = 0; c < t->columns; c++)
        wide[c] = width (t->heads[c] + (*t->heads[c] == '>'));
    for (size_t i = 0; i < t->n; i++)
        if (width (t->cells[i]) > wide[i % t->columns])
            wide[i % t->columns] = width (t->cells[i]);
    for (size_t c = 0; c < t->columns; c++)
        put (t->heads[c] + (*t->heads[c] == '>'), wide[c], *t->heads[c] == '>', c + 1 == t->columns, to);
    for (size_t i = 0; i < t->n; i++) {
        size_t c = i % t->columns;
        put (t->cells[i], wide[c], *t->heads[c] == '>', c + 1 == t->columns, to);
    }
}

const char *out_duration (struct arena *a, int64_t ms)
{
    int64_t s = ms / 1000;

    if (ms < 0)
        return "-";
    if (s < 10)
        return arena_printf (a, "%.1f s", (double)ms / 1000);
    if (s < 60)
        return arena_printf (a, "%d s", (int)s);
    if (s < 3600)
        return arena_printf (a, "%d min %d s", (int)(s / 60), (int)(s % 60));
    if (s < 86400)
        return arena_printf (a, "%d h %d min", (int)(s / 3600), (int)(s / 60 % 60));
    return arena_printf (a, "%d d %d h", (int)(s / 86400), (int)(s / 3600 % 24));
}

const char *out_age (struct arena *a, int64_t ms, int64_t now)
{
    int64_t s = (now - ms) / 1000;

    if (ms <= 0)
        return "-";
    if (s < 5)
        return "just now";
    if (s < 60)
        return arena_printf (a, "%d s ago", (int)s);
    if (s < 3600)
        return arena_printf (a, "%d min ago", (int)(s / 60));
    if (s < 86400)
        return arena_printf (a, "%d h ago", (int)(s / 3600));
    return arena_printf (a, "%d d ago", (int)(s / 86400));
}

bool out_colours (void)
{
    const char *no = getenv ("NO_COLOR");

    return !(no && *no) && isatty (STDOUT_FILENO);
}

/* Of tasks: on the wire, for people. */
static const struct {
    const char *status, *word, *colour;
} statuses[] = {
    { "created", "draft", "90" },         { "queued", "queued", "35" },
    { "in_progress", "running", "34" },   { "completed", "completed", "32" },
    { "failed", "failed", "31" },         { "stopped", "aborted", "90" },
    { "publishing", "publishing", "36" }, { "published", "published", "36" },
    { "closed", "closed", "32" },
};
enum { STATUSES = sizeof (statuses) / sizeof (*statuses) };

const char *out_status (struct arena *a, const char *status)
{
    for (size_t i = 0; status && i < STATUSES; i++)
        if (!strcmp (status, statuses[i].status))
            return out_colours ()
                       ? arena_printf (a, "\033[%sm%s\033[0m", statuses[i].colour, statuses[i].word)
                       : statuses[i].word;
    return status;
}

const char *out_status_word (const char *status)
{
    for (size_t i = 0; i < STATUSES; i++)
        if (!strcmp (status, statuses[i].status))
            return statuses[i].word;
    return status;
}

const char *out_status_meant (const char *word)
{
    for (size_t i = 0; i < STATUSES; i++)
        if (!strcmp (word, statuses[i].word))
            return statuses[i].status;
    return word;
}

int out_written (struct error *err)
{
    if (fflush (stdout) == 0 && !ferror (stdout))
        return 0;
    return errno ? error_errno (err, "write to standard output")
                 : error_set (err, EIO, "standard output could not be written");
}

/* A reader that has gone (`| head`) knows that it has: nothing is said then. */
int out_end (int rc)
{
    struct error err = { 0 };

    errno = 0;
    if (out_written (&err) == 0)
        return rc;
    if (err.code != EPIPE && !rc)
        fprintf (stderr, "stoker: %s\n", err.text);
    return rc ? rc : 1;
}

int out_failed (const char *verb, const struct error *err)
{
    fflush (stdout);
    fprintf (stderr, "stoker %s: %s\n", verb, err->text);
    return 1;
}

int out_misused (const char *verb, const struct error *err)
{
    fprintf (stderr, "stoker %s: %s\nTry 'stoker %s --help'.\n", verb, err->text, verb);
    return 2;
}

int out_parse (const struct opt_command *command, int argc, char **argv, void *into, struct arena *a)
{
    struct error err = { 0 };

    switch (opt_parse (command, argc, argv, into, a, &err)) {
        case OPT_HELPED:
            return 0;
        case OPT_FAILED:
            return out_misused (command->name, &err);
        case OPT_PARSED:
            break;
    }
    return VERB_GO;
}
