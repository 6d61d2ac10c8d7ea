/* sortkey.c - see sortkey.h.
 *
 * A number: byte 1, then the 8 bytes of the double with the sign bit flipped (or all bits, when negative), high byte
 * first. Text: byte 2, then for each run of digits '0', its length without leading zeros (1 byte), the digits;
 * every other byte folded to lower case; then 0 and the bytes as they were, which keeps the order total. */
#include "base/sortkey.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>

enum { SORTKEY_MAX = 512 };

static bool number_of (struct text v, double *ret)
{
    char buf[64], *end;
    if (!v.n || v.n >= sizeof buf)
        return false;
    memcpy (buf, v.p, v.n);
    buf[v.n] = 0;
    if (!strchr ("0123456789+-.", buf[0]) || strpbrk (buf, "xXnN"))
        return false;
    *ret = strtod (buf, &end);
    return end == buf + v.n && isfinite (*ret);
}

static void add_number (struct str *s, double f)
{
    uint64_t bits;
    if (f == 0)
        f = 0; /* -0 and 0 are one value */
    memcpy (&bits, &f, sizeof bits);
    bits = bits >> 63 ? ~bits : bits | 1ull << 63;
    str_putc (s, 1);
    for (int shift = 56; shift >= 0; shift -= 8)
        str_putc (s, (char)(bits >> shift));
}

static size_t add_digits (struct str *s, const char *p, size_t n)
{
    size_t end = 0, first = 0;
    while (end < n && isdigit ((unsigned char)p[end]))
        end++;
    while (first + 1 < end && p[first] == '0')
        first++;
    size_t len = end - first < 255 ? end - first : 255;
    str_putc (s, '0');
    str_putc (s, (char)len);
    str_add (s, p + first, len);
    return end;
}

void sortkey_add (struct str *s, struct text v)
{
    double f;
    if (number_of (v, &f)) {
        add_number (s, f);
        return;
    }
    size_t n = v.n < SORTKEY_MAX ? v.n : SORTKEY_MAX;
    str_putc (s, 2);
    for (size_t i = 0; i < n;) {
        unsigned char c = (unsigned char)v.p[i];
        if (isdigit (c)) {
            i += add_digits (s, v.p + i, n - i);
            continue;
        }
        str_putc (s, (char)(c < 128 ? tolower (c) : c));
        i++;
    }
    str_putc (s, 0);
    str_add (s, v.p, n);
}
