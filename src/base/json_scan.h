/* json_scan.h - what the files of json share (inside base; json.h is the door). */
#pragma once
#include "base/json.h"

static inline bool is_space (char c)
{
    return c == ' ' || c == '\n' || c == '\r' || c == '\t';
}

static inline bool is_digit (char c)
{
    return c >= '0' && c <= '9';
}

static inline int hex_value (char c)
{
    if (is_digit (c))
        return c - '0';
    c |= 0x20;
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Eight bytes at a time: a mark (0x80) in each byte that is a quote or a backslash. Above the first true mark there may
 * be false ones; the first is right. */
static inline uint64_t load8 (const char *p)
{
    uint64_t w;

    memcpy (&w, p, sizeof (w));
    return w;
}

#define EACH(byte) (0x0101010101010101ULL * (byte))

static inline uint64_t mark_zero (uint64_t w)
{
    return (w - EACH (1)) & ~w & EACH (0x80);
}

static inline uint64_t mark_ends (uint64_t w)
{
    return mark_zero (w ^ EACH ('"')) | mark_zero (w ^ EACH ('\\'));
}

static inline size_t first_mark (uint64_t marks)
{
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    return (size_t)__builtin_ctzll (marks) / 8;
#else
    return 0; /* the caller goes on byte by byte */
#endif
}

/* What stands between the quotes of a string. */
static inline struct text json_inside (struct text v)
{
    return (struct text){ v.p + 1, v.n >= 2 ? v.n - 2 : 0 };
}

size_t json_unescape (struct text raw,
                      char *out); /* into out (raw.n bytes of room are always enough) -> its length */
size_t json_unescape_string (struct text raw,
                             char *out); /* room for raw.n + 1; NUL becomes U+FFFD, and one ends it */
