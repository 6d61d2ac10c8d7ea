/* scan.c - the fast way of scan.h: one pass over the plain shape of a scalar event, no allocation but for `extra`.
 *
 *   {"timestamp": 1795973999516, "type": "training_stats_scalar", "task": "f7a5...", "iter": 0, "metric": "loss",
 *    "variant": "train", "value": 1.0, "allow_locked": false, "model_event": false, "method": "get"}
 *
 * Plain: strings of printable ASCII without escapes, numbers, true, false, null; each member once. Anything else, and
 * anything that is not clearly good, is left to event_read.
 */
#include "services/events/scan.h"

#include "store/series.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>

enum { NUMBER_MOST = 63 }; /* characters */

enum member {
    M_TYPE = 1,
    M_TASK = 2,
    M_ITER = 4,
    M_METRIC = 8,
    M_VARIANT = 16,
    M_VALUE = 32,
    M_TIMESTAMP = 64,
    M_WORKER = 128,
    M_LOCKED = 256,
    M_MODEL = 512,
    M_OTHER = 1024, /* a stray member: kept */
    M_SLOW = 2048   /* one with a meaning that only event_read knows */
};

static inline bool key_is (const char *k, const char *name, size_t n)
{
    return memcmp (k, name, n) == 0;
}

static enum member member_of (const char *k, size_t n)
{
    switch (n) {
        case 2:
            return key_is (k, "ts", 2) ? M_SLOW : M_OTHER;
        case 4:
            return key_is (k, "type", 4)   ? M_TYPE
                   : key_is (k, "task", 4) ? M_TASK
                   : key_is (k, "iter", 4) ? M_ITER
                                           : M_OTHER;
        case 5:
            return key_is (k, "value", 5)                             ? M_VALUE
                   : key_is (k, "x_run", 5) || key_is (k, "model", 5) ? M_SLOW
                                                                      : M_OTHER;
        case 6:
            return key_is (k, "metric", 6)   ? M_METRIC
                   : key_is (k, "worker", 6) ? M_WORKER
                   : key_is (k, "values", 6) ? M_SLOW
                                             : M_OTHER;
        case 7:
            return key_is (k, "variant", 7) ? M_VARIANT : M_OTHER;
        case 8:
            return key_is (k, "x_offset", 8) || key_is (k, "plot_len", 8) ? M_SLOW : M_OTHER;
        case 9:
            return key_is (k, "timestamp", 9) ? M_TIMESTAMP : M_OTHER;
        case 10:
            return key_is (k, "@timestamp", 10) ? M_SLOW : M_OTHER;
        case 11:
            return key_is (k, "model_event", 11) ? M_MODEL : key_is (k, "source_urls", 11) ? M_SLOW : M_OTHER;
        case 12:
            return key_is (k, "allow_locked", 12)   ? M_LOCKED
                   : key_is (k, "x_axis_label", 12) ? M_SLOW
                                                    : M_OTHER;
    }
    return M_OTHER;
}

enum token_kind { T_BAD, T_STRING, T_INT, T_REAL, T_TRUE, T_FALSE, T_NULL };
struct token {
    enum token_kind kind;
    struct text text; /* of a string without its quotes; else as it stands */
    int64_t i;        /* T_INT */
    double f;         /* T_INT, T_REAL */
};

static inline const char *pass_space (const char *p, const char *end)
{
    while (p < end && (*p == ' ' || *p == '\t' || *p == '\r' || *p == '\n'))
        p++;
    return p;
}

/* p behind the opening quote -> behind the closing one; NULL: not plain. */
static inline const char *plain_string (const char *p, const char *end, struct text *ret)
{
    const char *from = p;

    while (p < end) {
        unsigned char c = (unsigned char)*p;

        if (c == '"') {
            *ret = (struct text){ from, (size_t)(p - from) };
            return p + 1;
        }
        if (c < 0x20 || c >= 0x7f || c == '\\')
            return NULL;
        p++;
    }
    return NULL;
}

static double by_strtod (struct text t)
{
    char z[NUMBER_MOST + 1];

    memcpy (z, t.p, t.n);
    z[t.n] = 0;
    return strtod (z, NULL);
}

#if LDBL_MANT_DIG == 64
/* mantissa * 10^exponent by an 80-bit number: exact mantissa, exact power of ten (5^27 < 2^64), one correct rounding to
 * 64 bits. Rounding that to 53 bits is right but where the cut-off bits lie within one of a half: then *ret_sure is
 * false. */
static double by_extended (uint64_t mantissa, int exponent, bool *ret_sure)
{
    static const long double tens[] = { 1e0L,  1e1L,  1e2L,  1e3L,  1e4L,  1e5L,  1e6L,  1e7L,  1e8L,  1e9L,
                                        1e10L, 1e11L, 1e12L, 1e13L, 1e14L, 1e15L, 1e16L, 1e17L, 1e18L, 1e19L,
                                        1e20L, 1e21L, 1e22L, 1e23L, 1e24L, 1e25L, 1e26L, 1e27L };
    long double v =
        exponent < 0 ? (long double)mantissa / tens[-exponent] : (long double)mantissa * tens[exponent];
    uint64_t bits;

    memcpy (&bits, &v, sizeof (bits));
    *ret_sure = (bits & 0x7ff) < 0x3ff || (bits & 0x7ff) > 0x401;
    return (double)v;
}
#else
static double by_extended (uint64_t mantissa, int exponent, bool *ret_sure)
{
    (void)exponent;
    *ret_sure = false;
    return (double)mantissa;
}
#endif

/* Exact where mantissa and power of ten are exact doubles; else by more bits, else by strtod. */
static double real_of (uint64_t mantissa, int exponent, bool minus, struct text t)
{
    static const double tens[] = { 1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                                   1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22 };
    bool sure = true;
    double v;

    if (mantissa >> 53 || exponent < -22 || exponent > 22) {
        if (exponent < -27 || exponent > 27)
            return by_strtod (t);
        v = by_extended (mantissa, exponent, &sure);
        if (!sure)
            return by_strtod (t);
    } else {
        v = exponent < 0 ? (double)mantissa / tens[-exponent] : (double)mantissa * tens[exponent];
    }
    return minus ? -v : v;
}

/* What has been read of a number: its digits as one whole number, unless they are too many for 64 bits. */
struct digits {
    uint64_t mantissa;
    int significant;
};

static inline const char *take_digits (const char *p, const char *end, struct digits *d)
{
    for (; p < end && *p >= '0' && *p <= '9'; p++) {
        d->significant += d->mantissa || *p != '0';
        d->mantissa = d->mantissa * 10 + (uint64_t)(*p - '0');
    }
    return p;
}

/* e+12; NULL: not plain. */
static const char *take_exponent (const char *p, const char *end, int *exponent)
{
    bool down = ++p < end && *p == '-';
    const char *power;
    int e = 0;

    p += p < end && (*p == '-' || *p == '+');
    for (power = p; p < end && *p >= '0' && *p <= '9' && p - power < 4; p++)
        e = e * 10 + (*p - '0');
    *exponent += down ? -e : e;
    return p == power || p - power == 4 ? NULL : p;
}

static const char *number (const char *p, const char *end, struct token *t)
{
    bool minus = p < end && *p == '-', real = false;
    const char *from = p, *start = p + minus;
    struct digits d = { 0 };
    int exponent = 0;

    p = take_digits (start, end, &d);
    if (p == start || (*start == '0' && p > start + 1))
        return NULL;
    if (p < end && *p == '.') {
        const char *point = ++p;

        p = take_digits (p, end, &d);
        if (p == point)
            return NULL;
        exponent = -(int)(p - point);
        real = true;
    }
    if (p < end && (*p == 'e' || *p == 'E')) {
        if (!(p = take_exponent (p, end, &exponent)))
            return NULL;
        real = true;
    }
    if (p - from > NUMBER_MOST || (!real && d.significant > 18))
        return NULL;
    t->text = (struct text){ from, (size_t)(p - from) };
    t->kind = real ? T_REAL : T_INT;
    t->i = real ? 0 : minus ? -(int64_t)d.mantissa : (int64_t)d.mantissa;
    t->f = d.significant > 19 ? by_strtod (t->text) : real_of (d.mantissa, exponent, minus, t->text);
    return isfinite (t->f) ? p : NULL;
}

static const char *word (const char *p, const char *end, const char *w, size_t n, enum token_kind kind,
                         struct token *t)
{
    if ((size_t)(end - p) < n || memcmp (p, w, n) != 0)
        return NULL;
    t->kind = kind;
    t->text = (struct text){ p, n };
    return p + n;
}

static inline const char *token (const char *p, const char *end, struct token *t)
{
    if (p >= end)
        return NULL;
    switch (*p) {
        case '"':
            t->kind = T_STRING;
            return plain_string (p + 1, end, &t->text);
        case 't':
            return word (p, end, "true", 4, T_TRUE, t);
        case 'f':
            return word (p, end, "false", 5, T_FALSE, t);
        case 'n':
            return word (p, end, "null", 4, T_NULL, t);
        default:
            return number (p, end, t);
    }
}

static void keep (struct str *extra, struct text key, const struct token *t)
{
    bool quoted = t->kind == T_STRING;
    char *p = str_room (extra, key.n + t->text.n + 8), *from = p;

    *p++ = '"';
    p = (char *)memcpy (p, key.p, key.n) + key.n;
    *p++ = '"';
    *p++ = ':';
    if (quoted)
        *p++ = '"';
    p = (char *)memcpy (p, t->text.p, t->text.n) + t->text.n;
    if (quoted)
        *p++ = '"';
    *p++ = ',';
    extra->n += (size_t)(p - from);
}

/* Take one member; false: not plain. */
static bool take (struct event *e, enum member m, struct text key, const struct token *t, struct str *extra)
{
    switch (m) {
        case M_TYPE:
            return t->kind == T_STRING && text_is (t->text, "training_stats_scalar");
        case M_TASK:
            e->task = t->text;
            return t->kind == T_STRING && t->text.n;
        case M_METRIC:
            e->metric = t->text;
            return t->kind == T_STRING;
        case M_VARIANT:
            e->variant = t->text;
            return t->kind == T_STRING;
        case M_ITER:
            e->iter = t->i;
            return t->kind == T_INT;
        case M_TIMESTAMP:
            e->time = t->i;
            return t->kind == T_INT;
        case M_VALUE:
            e->value = t->f;
            return t->kind == T_INT || t->kind == T_REAL;
        case M_LOCKED:
            e->allow_locked = t->kind == T_TRUE;
            return t->kind == T_TRUE || t->kind == T_FALSE;
        case M_MODEL:
            return t->kind == T_FALSE;
        case M_WORKER:
            if (t->kind != T_STRING)
                return false;
            break;
        case M_OTHER:
            break;
        default:
            return false;
    }
    keep (extra, key, t);
    return true;
}

bool event_scan (const char *p, const char *end, const struct event_defaults *d, struct str *extra,
                 struct event *ret)
{
    struct event e = { .type = EVENT_SCALAR,
                       .metric = TEXT (""),
                       .variant = TEXT (""),
                       .iter = SERIES_NO_ITER,
                       .time = d->now,
                       .value = point_none () };
    size_t from = extra->n;
    unsigned seen = 0;
    struct text key;
    struct token t;

    p = pass_space (p, end);
    if (p == end || *p++ != '{')
        return false;
    for (;;) {
        enum member m;

        p = pass_space (p, end);
        if (p == end || *p++ != '"' || !(p = plain_string (p, end, &key)))
            return false;
        p = pass_space (p, end);
        if (p == end || *p++ != ':' || !(p = token (pass_space (p, end), end, &t)))
            return false;
        m = member_of (key.p, key.n);
        if ((m < M_OTHER && (seen & m)) || !take (&e, m, key, &t, extra))
            return false;
        seen |= m;
        p = pass_space (p, end);
        if (p == end)
            return false;
        if (*p++ == '}')
            break;
        if (p[-1] != ',')
            return false;
    }
    if (pass_space (p, end) != end || !(seen & M_TYPE) || !(seen & M_TASK))
        return false;
    if (!(seen & M_WORKER)) {
        str_puts (extra, "\"worker\":");
        str_add_json (extra, d->worker, strlen (d->worker));
        str_putc (extra, ',');
    }
    str_puts (extra, "\"model_event\":false");
    e.extra = (struct text){ extra->p + from, extra->n - from };
    *ret = e;
    return true;
}
