/* hocon_scan.h - between hocon_scan.c and hocon_parse.c only: where in a file the parser stands, and the words it reads
 * there. Every reader leaves `p` behind what it took; on failure the error names file and line. */
#pragma once
#include "base/hocon_tree.h"

#include <string.h>

/* One file or text on its way through the parser. */
struct scan {
    struct hocon *h;
    const char *p, *end;
    const char *name;   /* of the file */
    const char *folder; /* for includes; NULL = refused */
    int line, depth, includes;
    struct path *prefix; /* place of this file's root, NULL = the root */
    struct error *err;
};

int scan_fail (struct scan *s, const char *text); /* -1, with "file:line: text" */

static inline bool scan_at (const struct scan *s, const char *word)
{
    size_t n = strlen (word);

    return (size_t)(s->end - s->p) >= n && !memcmp (s->p, word, n);
}

static inline int scan_peek (const struct scan *s)
{
    return s->p < s->end ? (unsigned char)*s->p : -1;
}

static inline bool scan_is_blank (int c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\f' || c == '\v';
}

/* Blanks and a comment; with or without newlines. */
void scan_blanks (struct scan *s);
void scan_lines (struct scan *s);

int scan_quoted (struct scan *s, struct text *ret) warn_unused; /* "text" or """text""", escapes replaced */
/* A word without quotes, up to a blank or a byte with a meaning. */
int scan_word (struct scan *s, struct text *ret) warn_unused;
/* a.b."c.d" up to a byte of `stop` (not consumed), a newline or a comment. */
int scan_path (struct scan *s, const char *stop, struct path **ret) warn_unused;
bool scan_is_number (struct text t);
