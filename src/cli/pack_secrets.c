/* pack_secrets.c - what must not travel by accident: files and lines that look like secrets, unless they are let through. */
#include "base/path.h"
#include "cli/pack_room.h"
#include "cli/secrets.h"

#include <errno.h>
#include <string.h>

bool pack_allowed (const struct pack_wish *w, const char *what)
{
    for (size_t i = 0; i < w->allow.n; i++)
        if (!strcmp (w->allow.v[i], what))
            return true;
    return false;
}

/* The file that "diff --git a/X b/X" names, in quotes where it has odd characters; NULL: it is no such line. */
static const char *file_of_diff (struct packer *p, const char *line, size_t n)
{
    const char *b;
    size_t quote;

    if (n < 11 || memcmp (line, "diff --git ", 11))
        return NULL;
    quote = line[n - 1] == '"';
    b = quote ? memmem (line, n, " \"b/", 4) : memmem (line, n, " b/", 3);
    b = b ? b + 3 + quote : line + 11;
    return arena_strndup (p->arena, b, (size_t)(line + n - b) - quote);
}

/* One line that travels as part of a file. */
static int check_line (struct packer *p, const char *file, const char *line, size_t n, struct error *err)
{
    if (!secret_token (line, n) || pack_allowed (p->wish, file) || pack_allowed (p->wish, "secrets"))
        return 0;
    return error_set (err, EPERM,
                      "%s: an added line holds what looks like a password or token, and would be stored with "
                      "the task; take it out, or --allow %s",
                      file, file);
}

/* A file that travels whole. */
int pack_check_text (struct packer *p, const char *file, struct text text, struct error *err)
{
    for (const char *line = text.p, *stop = line + text.n, *end; line < stop; line = end + 1) {
        end = memchr (line, '\n', (size_t)(stop - line));
        end = end ? end : stop;
        if (check_line (p, file, line, (size_t)(end - line), err) < 0)
            return -1;
    }
    return 0;
}

/* Each file that the patch names, and each line that it adds. */
int pack_check_diff (struct packer *p, struct error *err)
{
    const char *line = p->out->diff.p, *stop = line + p->out->diff.n, *end, *file = NULL, *next;

    for (; line < stop; line = end < stop ? end + 1 : end) {
        end = memchr (line, '\n', (size_t)(stop - line));
        end = end ? end : stop;
        next = file_of_diff (p, line, (size_t)(end - line));
        if (next) {
            file = next;
            if (secret_file (path_base (file)) && !pack_allowed (p->wish, file))
                return error_set (
                    err, EPERM,
                    "%s looks like a secret and would travel in the task's diff; --allow %s if it is none",
                    file, file);
        } else if (*line == '+' && file && check_line (p, file, line + 1, (size_t)(end - line) - 1, err) < 0)
            return -1;
    }
    return 0;
}
