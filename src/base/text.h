/* text.h - a slice of bytes somebody else owns: not NUL-terminated, may hold anything. p == NULL means
 * "absent". */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

struct text {
    const char *p;
    size_t n;
};

#define TEXT(literal) ((struct text){ "" literal, sizeof (literal) - 1 })

static inline struct text text_of (const char *s) /* NULL gives the absent text */
{
    return (struct text){ s, s ? strlen (s) : 0 };
}
static inline bool text_is (struct text t, const char *s)
{
    return t.p && strlen (s) == t.n && !memcmp (t.p, s, t.n);
}
static inline bool text_equal (struct text a, struct text b)
{
    return a.n == b.n && (!a.n || !memcmp (a.p, b.p, a.n));
}
static inline bool text_starts (struct text t, const char *s)
{
    return t.p && strlen (s) <= t.n && !memcmp (t.p, s, strlen (s));
}
