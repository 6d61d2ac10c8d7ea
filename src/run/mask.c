/* mask.c - see mask.h. */
#include "run/mask.h"
#include "base/str.h"

#include <string.h>

void mask_add (struct mask *m, const char *secret)
{
    if (!secret || strlen (secret) < MASK_SHORTEST)
        return;
    if (m->n == m->cap) {
        size_t cap = m->cap ? 2 * m->cap : 8;
        const char **v = arena_array (m->arena, const char *, cap);
        if (m->n)
            memcpy (v, m->v, m->n * sizeof *v);
        m->v = v, m->cap = cap;
    }
    m->v[m->n++] = arena_strdup (m->arena, secret);
}

void mask_add_urls (struct mask *m, const char *list)
{
    for (const char *p = list; p && (p = strstr (p, "://"));) {
        p += 3;
        size_t authority = strcspn (p, "/ \t\r\n,");
        const char *at = memrchr (p, '@', authority);
        if (!at)
            continue;
        const char *colon = memchr (p, ':', (size_t)(at - p));
        const char *secret = colon ? colon + 1 : p; /* a token alone stands where the user would */
        mask_add (m, arena_strndup (m->arena, secret, (size_t)(at - secret)));
    }
}

static const char *next_secret (const struct mask *m, const char *p, const char *end, size_t *ret_n)
{
    const char *first = NULL;
    for (size_t i = 0; i < m->n; i++) {
        size_t n = strlen (m->v[i]);
        const char *hit = memmem (p, (size_t)(end - p), m->v[i], n);
        if (hit && (!first || hit < first || (hit == first && n > *ret_n)))
            first = hit, *ret_n = n;
    }
    return first;
}

struct text mask_apply (const struct mask *m, struct arena *a, struct text t)
{
    const char *p = t.p, *end = t.p + t.n, *hit;
    size_t n = 0;
    struct str s = { .arena = a };
    if (!t.n || !next_secret (m, p, end, &n))
        return t;
    while ((hit = next_secret (m, p, end, &n))) {
        str_add (&s, p, (size_t)(hit - p));
        str_puts (&s, "****");
        p = hit + n;
    }
    str_add (&s, p, (size_t)(end - p));
    return str_text (&s);
}
