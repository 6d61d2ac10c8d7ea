/* fuzz_requirements.c - any bytes as requirements: every line that comes out is one line, its name is normalised, and
 * reading what was written gives as many lines of the same kinds.
 */
#include "run/requirements.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput (const uint8_t *data, size_t n);

static void check_name (const char *name)
{
    if (!*name || strspn (name, "abcdefghijklmnopqrstuvwxyz0123456789-") != strlen (name) ||
        strstr (name, "--"))
        abort ();
}

int LLVMFuzzerTestOneInput (const uint8_t *data, size_t n)
{
    cleanup_arena struct arena *a = arena_create ();
    struct requirements r, again;
    struct error err;
    struct str s = { .arena = a };

    if (requirements_read (a, (struct text){ (const char *)data, n }, NULL, NULL, NULL, &r, &err) < 0)
        return 0;
    for (size_t i = 0; i < r.n; i++) {
        if (strpbrk (r.v[i].text, "\n") || !r.v[i].text[0])
            abort ();
        if (r.v[i].name)
            check_name (r.v[i].name);
        (void)requirement_shown (a, r.v[i].text);
    }
    (void)requirements_fixed (&r);
    requirements_write (&r, &s);
    /* a backslash at the end of a line that came from a join would join again; a mark that was not at the start is now */
    if (memchr (data, '\\', n) || (s.n && s.p[0] == '\357'))
        return 0;
    if (requirements_read (a, str_text (&s), NULL, NULL, NULL, &again, &err) < 0 || again.n != r.n)
        abort ();
    for (size_t i = 0; i < r.n; i++)
        if (r.v[i].kind != again.v[i].kind || strcmp (r.v[i].text, again.v[i].text))
            abort ();
    return 0;
}
