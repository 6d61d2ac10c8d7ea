/* json_number.c - the numbers in JSON text: exact where that is cheap, else as strtod reads them. See json.h. */
#include "base/json_scan.h"

#include <math.h>
#include <stdlib.h>

/* Clinger's exact case: up to 2^53 times or over a power of ten that a double holds exactly. */
static bool double_fast (struct text v, double *ret)
{
    static const double ten[] = { 1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                                  1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22 };
    const char *p = v.p, *end = v.p + v.n;
    bool minus = p < end && *p == '-';
    uint64_t m = 0;
    int digits = 0, e = 0, given = 0;
    bool point = false, e_minus;

    for (p += minus; p < end && (is_digit (*p) || (*p == '.' && !point)); p++) {
        if (*p == '.') {
            point = true;
            continue;
        }
        if (++digits > 18)
            return false;
        m = m * 10 + (uint64_t)(*p - '0');
        e -= point;
    }
    if (!digits || m > (1ULL << 53))
        return false;
    if (p < end && (*p | 0x20) == 'e') {
        e_minus = ++p < end && *p == '-';
        if (p < end && (*p == '-' || *p == '+'))
            p++;
        for (; p < end && is_digit (*p) && given < 10000; p++)
            given = given * 10 + (*p - '0');
        e += e_minus ? -given : given;
    }
    if (p != end || e < -22 || e > 22)
        return false;
    *ret = e < 0 ? (double)m / ten[-e] : (double)m * ten[e];
    if (minus)
        *ret = -*ret;
    return true;
}

static bool double_slow (struct text v, double *ret)
{
    char small[128];
    char *z = v.n < sizeof (small) ? small : malloc (v.n + 1);
    char *end;
    bool ok;

    if (!z)
        return false;
    memcpy (z, v.p, v.n);
    z[v.n] = 0;
    *ret = strtod (z, &end);
    ok = end == z + v.n && !memchr (z, 'x', v.n) && !memchr (z, 'X', v.n) && !memchr (z, '(', v.n);
    if (z != small)
        free (z);
    return ok;
}

/* The number in a number or in the text of a string; false when there is none. */
static bool number_text (struct text v, struct text *ret)
{
    enum json_kind kind = json_kind (v);

    if (kind == JSON_STRING) {
        v = json_inside (v);
        while (v.n && is_space (v.p[0]))
            v.p++, v.n--;
        while (v.n && is_space (v.p[v.n - 1]))
            v.n--;
    } else if (kind != JSON_NUMBER) {
        return false;
    }
    *ret = v;
    return v.n > 0;
}

double json_double (struct text v, double otherwise)
{
    double d;

    if (!number_text (v, &v) || (!double_fast (v, &d) && !double_slow (v, &d)))
        return otherwise;
    return d;
}

/* All digits, perhaps a sign: the exact integer; clamped to the range of int64_t. */
static bool int_exact (struct text v, int64_t *ret)
{
    size_t i = v.n && (v.p[0] == '-' || v.p[0] == '+');
    bool minus = i && v.p[0] == '-';
    int64_t n = 0;

    if (i == v.n)
        return false;
    for (size_t k = i; k < v.n; k++)
        if (!is_digit (v.p[k]))
            return false;
    for (; i < v.n; i++) {
        int d = v.p[i] - '0';

        if (__builtin_mul_overflow (n, 10, &n) || __builtin_add_overflow (n, minus ? -d : d, &n)) {
            *ret = minus ? INT64_MIN : INT64_MAX;
            return true;
        }
    }
    *ret = n;
    return true;
}

int64_t json_int (struct text v, int64_t otherwise)
{
    int64_t n;
    double d;

    if (!number_text (v, &v))
        return otherwise;
    if (int_exact (v, &n))
        return n;
    if ((!double_fast (v, &d) && !double_slow (v, &d)) || !isfinite (d))
        return otherwise;
    if (d >= 9223372036854775808.0)
        return INT64_MAX;
    if (d <= -9223372036854775808.0)
        return INT64_MIN;
    return (int64_t)d;
}

bool json_true (struct text v)
{
    switch (json_kind (v)) {
        case JSON_TRUE:
            return true;
        case JSON_NUMBER:
            return json_double (v, 0) != 0;
        case JSON_STRING:
            return v.n > 2;
        case JSON_ARRAY:
        case JSON_OBJECT: {
            struct json_iter it = json_iter (v);

            return json_next (&it);
        }
        default:
            return false;
    }
}
