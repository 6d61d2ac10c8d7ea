/* str.c - see str.h. Doubles are printed by trying 15, 16, 17 digits until they read back equal; ordinary sizes without
 * the C library, which is ten times slower at it. */
#include "base/str.h"

#include "base/utf8.h"

#include <float.h>
#include <math.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

char *str_room (struct str *s, size_t n)
{
    size_t cap = s->cap ? s->cap : 64;
    char *p;

    if (s->cap - s->n > n && s->p)
        return s->p + s->n;
    while (cap - s->n <= n) {
        if (cap > SIZE_MAX / 4)
            abort ();
        cap *= 2;
    }
    if (s->arena) {
        p = arena_alloc (s->arena, cap);
        if (s->n)
            memcpy (p, s->p, s->n);
    } else if (!(p = realloc (s->p, cap))) {
        fputs ("stoker: out of memory\n", stderr);
        abort ();
    }
    s->p = p;
    s->cap = cap;
    s->p[s->n] = 0;
    return s->p + s->n;
}

void str_add (struct str *s, const char *p, size_t n)
{
    char *end = str_room (s, n);

    if (n)
        memcpy (end, p, n);
    s->n += n;
    s->p[s->n] = 0;
}

void str_puts (struct str *s, const char *z)
{
    str_add (s, z, strlen (z));
}

void str_putc (struct str *s, char c)
{
    str_add (s, &c, 1);
}

void str_add_text (struct str *s, struct text t)
{
    str_add (s, t.p, t.n);
}

void str_addf (struct str *s, const char *fmt, ...)
{
    va_list ap, again;
    int n;

    va_start (ap, fmt);
    va_copy (again, ap);
    n = vsnprintf (NULL, 0, fmt, again);
    va_end (again);
    if (n < 0)
        abort ();
    vsnprintf (str_room (s, (size_t)n + 1), (size_t)n + 1, fmt, ap);
    va_end (ap);
    s->n += (size_t)n;
}

void str_add_int (struct str *s, int64_t v)
{
    char b[24];
    char *p = b + sizeof (b);
    uint64_t u = v < 0 ? 0 - (uint64_t)v : (uint64_t)v;

    do
        *--p = (char)('0' + u % 10);
    while (u /= 10);
    if (v < 0)
        *--p = '-';
    str_add (s, p, (size_t)(b + sizeof (b) - p));
}

static void add_escaped (struct str *s, const unsigned char *p, size_t n, size_t *i)
{
    uint32_t cp = 0xfffd;
    size_t len;

    switch (p[*i]) {
        case '"':
            str_add (s, "\\\"", 2);
            return;
        case '\\':
            str_add (s, "\\\\", 2);
            return;
        case '\n':
            str_add (s, "\\n", 2);
            return;
        case '\r':
            str_add (s, "\\r", 2);
            return;
        case '\t':
            str_add (s, "\\t", 2);
            return;
    }
    if (p[*i] < 0x80) {
        str_addf (s, "\\u%04x", p[*i]);
        return;
    }
    len = utf8_take ((const char *)p + *i, n - *i, &cp);
    if (len)
        *i += len - 1;
    if (cp >= 0x10000)
        str_addf (s, "\\u%04x\\u%04x", 0xd800 + ((cp - 0x10000) >> 10), 0xdc00 + ((cp - 0x10000) & 0x3ff));
    else
        str_addf (s, "\\u%04x", cp);
}

void str_add_json (struct str *s, const char *p, size_t n)
{
    const unsigned char *u = (const unsigned char *)p;
    size_t from = 0;

    str_putc (s, '"');
    for (size_t i = 0; i < n; i++) {
        if (u[i] >= 0x20 && u[i] < 0x7f && u[i] != '"' && u[i] != '\\')
            continue;
        str_add (s, p + from, i - from);
        add_escaped (s, u, n, &i);
        from = i + 1;
    }
    str_add (s, p + from, n - from);
    str_putc (s, '"');
}

#if LDBL_MANT_DIG == 64
/* n digits of a number that is 10^power times one between 1 and 10, as digits.digits without zeros at the end. */
static void add_digits (struct str *s, uint64_t digits, int n, int power)
{
    char b[48], *p = b;
    char d[20];

    for (int i = n; i-- > 0; digits /= 10)
        d[i] = (char)('0' + digits % 10);
    while (n > 1 && n > power + 1 && d[n - 1] == '0')
        n--;
    if (power < 0) {
        *p++ = '0';
        *p++ = '.';
        for (int i = power; i < -1; i++)
            *p++ = '0';
        p = (char *)memcpy (p, d, (size_t)n) + n;
    } else {
        p = (char *)memcpy (p, d, (size_t)power + 1) + power + 1;
        *p++ = '.';
        if (n == power + 1)
            *p++ = '0';
        p = (char *)memcpy (p, d + power + 1, (size_t)(n - power - 1)) + (n - power - 1);
    }
    str_add (s, b, (size_t)(p - b));
}

/* The shortest digits of 0.0001 <= |v| < 10^15 without printing and reading: a product with an exact power of ten has
 * 64 correct bits, which decide the digits unless they are within a hair of a half; so does the quotient that reads
 * them back. False: it could not be decided, or v is outside. */
static bool add_plain (struct str *s, double v)
{
    static const long double tens[] = { 1e0L,  1e1L,  1e2L,  1e3L,  1e4L,  1e5L,  1e6L,
                                        1e7L,  1e8L,  1e9L,  1e10L, 1e11L, 1e12L, 1e13L,
                                        1e14L, 1e15L, 1e16L, 1e17L, 1e18L, 1e19L, 1e20L };
    static const long double halves[] = { 1e-4L, 1e-3L, 1e-2L }; /* above the error of 15, 16, 17 digits */
    long double a = fabs (v), scaled, back;
    uint64_t digits, bits;
    int power = -4;

    if (!(a >= 1e-4L && a < 1e15L))
        return false;
    while (power < 0 && a * tens[-power - 1] >= 1)
        power++;
    while (power >= 0 && a >= tens[power + 1])
        power++;
    for (int n = 15; n <= 17; n++) {
        scaled = a * tens[n - 1 - power];
        digits = (uint64_t)rintl (scaled);
        if (fabsl (fabsl (scaled - (long double)digits) - 0.5L) < halves[n - 15] ||
            digits >= (uint64_t)tens[n] || digits < (uint64_t)tens[n - 1])
            return false;
        back = (long double)digits / tens[n - 1 - power];
        memcpy (&bits, &back, sizeof (bits));
        if ((bits & 0x7ff) >= 0x3ff && (bits & 0x7ff) <= 0x401) /* where rounding to a double turns */
            return false;
        if ((double)back != (double)a)
            continue;
        if (v < 0)
            str_putc (s, '-');
        add_digits (s, digits, n, power);
        return true;
    }
    return false;
}
#else
static bool add_plain (struct str *s, double v)
{
    (void)s;
    (void)v;
    return false;
}
#endif

void str_add_double (struct str *s, double v)
{
    char b[40];

    if (add_plain (s, v))
        return;
    if (isnan (v)) {
        str_puts (s, "NaN");
        return;
    }
    if (isinf (v)) {
        str_puts (s, v > 0 ? "Infinity" : "-Infinity");
        return;
    }
    for (int digits = 15; digits <= 17; digits++) {
        snprintf (b, sizeof (b), "%.*g", digits, v);
        if (strtod (b, NULL) == v)
            break;
    }
    if (!strpbrk (b, ".e"))
        strcat (b, ".0");
    str_puts (s, b);
}

void str_reset (struct str *s)
{
    s->n = 0;
    if (s->p)
        s->p[0] = 0;
}

void str_done (struct str *s)
{
    if (!s->arena)
        free (s->p);
    *s = (struct str){ .arena = s->arena };
}
