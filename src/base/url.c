/* url.c - see url.h. A server has several addresses, and clients spell a path as they like: what names the same file has the
 * same path here. */
#include "base/url.h"

#include <string.h>

static int hex (char c)
{
    return c >= '0' && c <= '9' ? c - '0' : (c | 32) >= 'a' && (c | 32) <= 'f' ? (c | 32) - 'a' + 10 : -1;
}

char *url_path (struct arena *a, const char *url)
{
    const char *p = url && !strncmp (url, "http://", 7)    ? url + 7
                    : url && !strncmp (url, "https://", 8) ? url + 8
                                                           : NULL;
    size_t k = 0;

    if (!p || !(p = strpbrk (p, "/?#")) || *p != '/')
        return NULL;
    p += !strncmp (p, "/files/", 7) ? 7 : 1;
    p += strspn (p, "/");
    char *out = arena_alloc (a, strlen (p) + 1);

    for (; *p && *p != '?' && *p != '#'; p++, k++) {
        bool code = *p == '%' && hex (p[1]) >= 0 && hex (p[2]) >= 0 && hex (p[1]) + hex (p[2]) > 0;

        out[k] = code ? (char)(hex (p[1]) << 4 | hex (p[2])) : *p;
        p += code ? 2 : 0;
    }
    out[k] = '\0';
    return k ? out : NULL;
}
