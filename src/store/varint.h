/* varint.h - whole numbers in as few bytes as they need: 7 bits a byte, low bits first (LEB128); signed ones
 * zigzag. Readers never run past the end: a broken buffer sets `bad` and reads as zero from then on. */
#pragma once
#include "base/str.h"
#include "base/text.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

struct reader {
    const unsigned char *p, *end;
    bool bad;
};

static inline struct reader reader_of (struct text t)
{
    return (struct reader){ (const unsigned char *)t.p, (const unsigned char *)t.p + t.n, false };
}

static inline uint64_t reader_varint (struct reader *r)
{
    uint64_t v = 0;

    for (unsigned shift = 0; shift < 64 && r->p < r->end; shift += 7) {
        unsigned char b = *r->p++;

        v |= (uint64_t)(b & 0x7f) << shift;
        if (b < 0x80)
            return v;
    }
    r->bad = true;
    r->p = r->end;
    return 0;
}

static inline int64_t reader_signed (struct reader *r)
{
    uint64_t v = reader_varint (r);

    return (int64_t)(v >> 1 ^ (0 - (v & 1)));
}

/* The next n bytes in place; the empty text when there are fewer. */
static inline struct text reader_bytes (struct reader *r, size_t n)
{
    struct text t = { (const char *)r->p, n };

    if ((size_t)(r->end - r->p) < n) {
        r->bad = true;
        r->p = r->end;
        return (struct text){ "", 0 };
    }
    r->p += n;
    return t;
}

static inline struct text reader_text (struct reader *r)
{
    return reader_bytes (r, reader_varint (r));
}

static inline uint64_t zigzag (int64_t v)
{
    return (uint64_t)v << 1 ^ (uint64_t)(v >> 63);
}

/* Write at p (10 bytes of room needed), give the new end. */
static inline char *varint_write (char *p, uint64_t v)
{
    while (v >= 0x80) {
        *p++ = (char)(v | 0x80);
        v >>= 7;
    }
    *p++ = (char)v;
    return p;
}

static inline void varint_add (struct str *s, uint64_t v)
{
    s->n = (size_t)(varint_write (str_room (s, 10), v) - s->p);
}

static inline void varint_add_signed (struct str *s, int64_t v)
{
    varint_add (s, zigzag (v));
}

static inline void varint_add_text (struct str *s, struct text t)
{
    varint_add (s, t.n);
    str_add (s, t.n ? t.p : "", t.n);
}
