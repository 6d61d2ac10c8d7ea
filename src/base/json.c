/* json.c - see json.h. The scanner: one pass that checks (json_check), and walkers that trust what was checked
 * but still never leave the text they are given.
 *
 * Why by hand: requests and stored documents are mostly looked at in a few places and copied whole; building
 * a tree for that costs ten times the scan. Trees are built from the same scanner, so that both agree on what
 * is JSON, and numbers keep their text.
 */
#include "base/json.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <strings.h>

enum { DEPTH_MAX = 512 };

/* -- checking -------------------------------------------------------------------------------------- */
struct scan {
    const char *start, *p, *end;
    const char *why; /* what was wrong at p */
};

static int fail (struct scan *s, const char *why)
{
    s->why = why;
    return -1;
}

static bool is_space (char c)
{
    return c == ' ' || c == '\n' || c == '\r' || c == '\t';
}

static bool is_digit (char c)
{
    return c >= '0' && c <= '9';
}

static void skip_space (const char **p, const char *end)
{
    while (*p < end && is_space (**p))
        (*p)++;
}

static int hex_value (char c)
{
    if (is_digit (c))
        return c - '0';
    c |= 0x20;
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Eight bytes at a time: a mark (0x80) in each byte that is a quote or a backslash. Above the first true mark there may
 * be false ones; the first is right. */
static uint64_t load8 (const char *p)
{
    uint64_t w;

    memcpy (&w, p, sizeof (w));
    return w;
}

#define EACH(byte) (0x0101010101010101ULL * (byte))

static uint64_t mark_zero (uint64_t w)
{
    return (w - EACH (1)) & ~w & EACH (0x80);
}

static uint64_t mark_ends (uint64_t w)
{
    return mark_zero (w ^ EACH ('"')) | mark_zero (w ^ EACH ('\\'));
}

/* The same for anything a string may not hold as it is: also control characters and what is not ASCII. */
static uint64_t mark_special (uint64_t w)
{
    return mark_ends (w) | ((w - EACH (0x20)) & ~w & EACH (0x80)) | (w & EACH (0x80));
}

static size_t first_mark (uint64_t marks)
{
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    return (size_t)__builtin_ctzll (marks) / 8;
#else
    return 0; /* the caller goes on byte by byte */
#endif
}

/* Bytes of the UTF-8 sequence at p, 0 when it is none. */
static size_t utf8_length (const char *p, const char *end)
{
    const unsigned char *u = (const unsigned char *)p;
    size_t n = u[0] >= 0xf0 ? 4 : u[0] >= 0xe0 ? 3 : 2;

    if (u[0] < 0xc2 || u[0] > 0xf4 || (size_t)(end - p) < n)
        return 0;
    for (size_t i = 1; i < n; i++)
        if ((u[i] & 0xc0) != 0x80)
            return 0;
    if ((u[0] == 0xe0 && u[1] < 0xa0) || (u[0] == 0xed && u[1] > 0x9f) || (u[0] == 0xf0 && u[1] < 0x90) ||
        (u[0] == 0xf4 && u[1] > 0x8f))
        return 0;
    return n;
}

static int check_escape (struct scan *s)
{
    if (s->p + 1 >= s->end)
        return fail (s, "string is not closed");
    if (s->p[1] != 'u') {
        if (!s->p[1] || !strchr ("\"\\/bfnrt", s->p[1]))
            return fail (s, "unknown escape");
        s->p += 2;
        return 0;
    }
    if (s->end - s->p < 6)
        return fail (s, "\\u needs four hex digits");
    for (int i = 2; i < 6; i++)
        if (hex_value (s->p[i]) < 0)
            return fail (s, "\\u needs four hex digits");
    s->p += 6;
    return 0;
}

static int check_string (struct scan *s)
{
    for (s->p++; s->p < s->end;) {
        uint64_t marks = s->end - s->p >= 8 ? mark_special (load8 (s->p)) : EACH (0x80);
        unsigned char c;

        if (!marks) {
            s->p += 8;
            continue;
        }
        if (s->end - s->p >= 8)
            s->p += first_mark (marks);
        c = (unsigned char)*s->p;
        if (c == '"') {
            s->p++;
            return 0;
        }
        if (c == '\\') {
            if (check_escape (s) < 0)
                return -1;
        } else if (c >= 0x80) {
            size_t n = utf8_length (s->p, s->end);

            if (!n)
                return fail (s, "not UTF-8");
            s->p += n;
        } else if (c < 0x20) {
            return fail (s, "control character in a string");
        } else {
            s->p++;
        }
    }
    return fail (s, "string is not closed");
}

static bool take_word (struct scan *s, const char *word)
{
    size_t n = strlen (word);

    if ((size_t)(s->end - s->p) < n || memcmp (s->p, word, n) != 0)
        return false;
    s->p += n;
    return true;
}

static bool take_digits (struct scan *s)
{
    const char *from = s->p;

    while (s->p < s->end && is_digit (*s->p))
        s->p++;
    return s->p > from;
}

static int check_number (struct scan *s)
{
    if (take_word (s, "NaN") || take_word (s, "Infinity") || take_word (s, "-Infinity"))
        return 0;
    if (*s->p == '-')
        s->p++;
    if (s->p < s->end && *s->p == '0')
        s->p++;
    else if (!take_digits (s))
        return fail (s, "not a value");
    if (s->p < s->end && *s->p == '.') {
        s->p++;
        if (!take_digits (s))
            return fail (s, "digits missing after the point");
    }
    if (s->p < s->end && (*s->p == 'e' || *s->p == 'E')) {
        s->p++;
        if (s->p < s->end && (*s->p == '+' || *s->p == '-'))
            s->p++;
        if (!take_digits (s))
            return fail (s, "digits missing in the exponent");
    }
    return 0;
}

static int check_value (struct scan *s, int depth);

static int check_member (struct scan *s, int depth)
{
    if (s->p >= s->end || *s->p != '"')
        return fail (s, "member name in quotes expected");
    if (check_string (s) < 0)
        return -1;
    skip_space (&s->p, s->end);
    if (s->p >= s->end || *s->p != ':')
        return fail (s, "':' expected");
    s->p++;
    return check_value (s, depth);
}

static int check_container (struct scan *s, int depth)
{
    bool object = *s->p++ == '{';
    char close = object ? '}' : ']';

    if (depth >= DEPTH_MAX)
        return fail (s, "nested deeper than 512");
    skip_space (&s->p, s->end);
    if (s->p < s->end && *s->p == close) {
        s->p++;
        return 0;
    }
    for (;;) {
        skip_space (&s->p, s->end);
        if ((object ? check_member (s, depth + 1) : check_value (s, depth + 1)) < 0)
            return -1;
        skip_space (&s->p, s->end);
        if (s->p < s->end && *s->p == close) {
            s->p++;
            return 0;
        }
        if (s->p >= s->end || *s->p != ',')
            return fail (s, object ? "',' or '}' expected" : "',' or ']' expected");
        s->p++;
    }
}

static int check_value (struct scan *s, int depth)
{
    skip_space (&s->p, s->end);
    if (s->p >= s->end)
        return fail (s, "ends where a value is expected");
    switch (*s->p) {
        case '{':
        case '[':
            return check_container (s, depth);
        case '"':
            return check_string (s);
        case 't':
            return take_word (s, "true") ? 0 : fail (s, "not a value");
        case 'f':
            return take_word (s, "false") ? 0 : fail (s, "not a value");
        case 'n':
            return take_word (s, "null") ? 0 : fail (s, "not a value");
        default:
            return check_number (s);
    }
}

int json_check (struct text in, struct text *ret, struct error *err)
{
    struct scan s = { in.p, in.p, in.p + in.n, NULL };
    const char *from;
    struct text value;

    if (!in.p)
        return error_set (err, EINVAL, "JSON: no text");
    skip_space (&s.p, s.end);
    from = s.p;
    if (check_value (&s, 0) < 0)
        return error_set (err, EINVAL, "JSON: byte %zu: %s", (size_t)(s.p - s.start), s.why);
    value = (struct text){ from, (size_t)(s.p - from) };
    skip_space (&s.p, s.end);
    if (s.p < s.end)
        return error_set (err, EINVAL, "JSON: byte %zu: more text after the value", (size_t)(s.p - s.start));
    *ret = value;
    return 0;
}

/* -- walking --------------------------------------------------------------------------------------- */
enum json_kind json_kind (struct text v)
{
    if (!v.p || !v.n)
        return JSON_ABSENT;
    switch (v.p[0]) {
        case '{':
            return JSON_OBJECT;
        case '[':
            return JSON_ARRAY;
        case '"':
            return JSON_STRING;
        case 't':
            return JSON_TRUE;
        case 'f':
            return JSON_FALSE;
        case 'n':
            return JSON_NULL;
        default:
            return JSON_NUMBER;
    }
}

/* p at a quote -> behind the closing one. */
static const char *pass_string (const char *p, const char *end)
{
    for (p++; p < end; p++) {
        while (end - p >= 8) {
            uint64_t marks = mark_ends (load8 (p));

            if (marks) {
                p += first_mark (marks);
                break;
            }
            p += 8;
        }
        if (p >= end)
            break;
        if (*p == '"')
            return p + 1;
        if (*p == '\\')
            p++;
    }
    return end;
}

static const char *pass_container (const char *p, const char *end)
{
    size_t depth = 0;

    while (p < end) {
        switch (*p) {
            case '"':
                p = pass_string (p, end);
                continue;
            case '{':
            case '[':
                depth++;
                break;
            case '}':
            case ']':
                if (--depth == 0)
                    return p + 1;
                break;
        }
        p++;
    }
    return end;
}

static const char *pass_value (const char *p, const char *end)
{
    if (p < end && *p == '"')
        return pass_string (p, end);
    if (p < end && (*p == '{' || *p == '['))
        return pass_container (p, end);
    while (p < end && *p != ',' && *p != '}' && *p != ']' && !is_space (*p))
        p++;
    return p;
}

struct json_iter json_iter (struct text v)
{
    enum json_kind kind = json_kind (v);

    if ((kind != JSON_OBJECT && kind != JSON_ARRAY) || v.n < 2)
        return (struct json_iter){ 0 };
    return (struct json_iter){ .p = v.p + 1, .end = v.p + v.n - 1, .object = kind == JSON_OBJECT };
}

bool json_next (struct json_iter *it)
{
    const char *p = it->p, *end = it->end;
    const char *after;

    while (p < end && (is_space (*p) || *p == ','))
        p++;
    if (p >= end)
        return false;
    if (it->object) {
        if (*p != '"')
            return false;
        after = pass_string (p, end);
        it->key = (struct text){ p + 1, (size_t)(after - p) - (after - p >= 2 ? 2 : 1) };
        p = after;
        while (p < end && (is_space (*p) || *p == ':'))
            p++;
    }
    after = pass_value (p, end);
    if (after == p)
        return false;
    it->value = (struct text){ p, (size_t)(after - p) };
    it->p = after;
    return true;
}

size_t json_count (struct text v)
{
    struct json_iter it = json_iter (v);
    size_t n = 0;

    while (json_next (&it))
        n++;
    return n;
}

/* -- strings --------------------------------------------------------------------------------------- */
static size_t put_utf8 (char *out, uint32_t cp)
{
    if (cp < 0x80) {
        out[0] = (char)cp;
        return 1;
    }
    if (cp < 0x800) {
        out[0] = (char)(0xc0 | cp >> 6);
        out[1] = (char)(0x80 | (cp & 0x3f));
        return 2;
    }
    if (cp < 0x10000) {
        out[0] = (char)(0xe0 | cp >> 12);
        out[1] = (char)(0x80 | (cp >> 6 & 0x3f));
        out[2] = (char)(0x80 | (cp & 0x3f));
        return 3;
    }
    out[0] = (char)(0xf0 | cp >> 18);
    out[1] = (char)(0x80 | (cp >> 12 & 0x3f));
    out[2] = (char)(0x80 | (cp >> 6 & 0x3f));
    out[3] = (char)(0x80 | (cp & 0x3f));
    return 4;
}

static bool read_hex4 (const char *p, const char *end, uint32_t *ret)
{
    uint32_t v = 0;

    if (end - p < 6 || p[0] != '\\' || p[1] != 'u')
        return false;
    for (int i = 2; i < 6; i++) {
        int d = hex_value (p[i]);

        if (d < 0)
            return false;
        v = v << 4 | (uint32_t)d;
    }
    *ret = v;
    return true;
}

/* One escape at *p -> its bytes in out; *p moves behind it. Half a surrogate pair becomes U+FFFD. */
static size_t unescape_one (const char **p, const char *end, char *out)
{
    static const char from[] = "bfnrt", to[] = "\b\f\n\r\t";
    uint32_t cp, low;
    const char *hit;

    if (end - *p < 2) {
        *p = end;
        return 0;
    }
    if (!read_hex4 (*p, end, &cp)) {
        hit = strchr (from, (*p)[1]);
        out[0] = hit && *hit ? to[hit - from] : (*p)[1];
        *p += 2;
        return 1;
    }
    *p += 6;
    if (cp >= 0xd800 && cp < 0xdc00 && read_hex4 (*p, end, &low) && low >= 0xdc00 && low < 0xe000) {
        *p += 6;
        cp = 0x10000 + ((cp - 0xd800) << 10) + (low - 0xdc00);
    } else if (cp >= 0xd800 && cp < 0xe000) {
        cp = 0xfffd;
    }
    return put_utf8 (out, cp);
}

/* Unescape into out (raw.n bytes of room are always enough). */
static size_t unescape (struct text raw, char *out)
{
    const char *p = raw.p, *end = raw.p + raw.n;
    size_t n = 0;

    while (p < end) {
        const char *slash = memchr (p, '\\', (size_t)(end - p));
        size_t plain = (size_t)((slash ? slash : end) - p);

        memcpy (out + n, p, plain);
        n += plain;
        p += plain;
        if (slash)
            n += unescape_one (&p, end, out + n);
    }
    return n;
}

/* Compare the escaped raw text with plain bytes, without memory of its own. */
static bool raw_is (struct text raw, const char *s, size_t n)
{
    const char *p = raw.p, *end = raw.p + raw.n;
    size_t at = 0;

    if (raw.n < n) /* an escape is longer than what it stands for */
        return false;
    if (raw.n == n && !memcmp (raw.p, s, n))
        return !memchr (s, '\\', n);
    if (!memchr (raw.p, '\\', raw.n))
        return false;
    while (p < end) {
        char b[4];
        size_t k = 1;

        if (*p == '\\')
            k = unescape_one (&p, end, b);
        else
            b[0] = *p++;
        if (at + k > n || memcmp (s + at, b, k) != 0)
            return false;
        at += k;
    }
    return at == n;
}

static struct text inside (struct text v)
{
    return (struct text){ v.p + 1, v.n >= 2 ? v.n - 2 : 0 };
}

struct text json_get (struct text object, const char *key)
{
    struct json_iter it = json_iter (object);
    struct text found = { NULL, 0 };
    size_t n = strlen (key);

    if (!it.object)
        return found;
    while (json_next (&it))
        if (raw_is (it.key, key, n))
            found = it.value;
    return found;
}

struct text json_get_path (struct text object, const char *const *path, size_t n)
{
    for (size_t i = 0; i < n && object.p; i++)
        object = json_get (object, path[i]);
    return object;
}

char *json_key (struct arena *a, struct text raw_key)
{
    char *p = arena_alloc (a, raw_key.n + 1);

    p[unescape (raw_key, p)] = 0;
    return p;
}

struct text json_string_text (struct arena *a, struct text v)
{
    char *p;

    if (json_kind (v) != JSON_STRING)
        return (struct text){ NULL, 0 };
    p = arena_alloc (a, v.n + 1);
    return (struct text){ p, unescape (inside (v), p) };
}

char *json_string (struct arena *a, struct text v)
{
    return json_kind (v) == JSON_STRING ? json_key (a, inside (v)) : NULL;
}

bool json_string_is (struct text v, const char *s)
{
    return json_kind (v) == JSON_STRING && raw_is (inside (v), s, strlen (s));
}

/* -- numbers --------------------------------------------------------------------------------------- */
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
        v = inside (v);
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

/* -- trees ----------------------------------------------------------------------------------------- */
static struct json_object *must (struct json_object *o)
{
    if (!o)
        abort (); /* out of memory; base/arena says so in words for the usual case */
    return o;
}

static struct json_object *tree_number (struct text v)
{
    char small[64];
    char *z;
    struct json_object *o;
    bool whole = true;

    for (size_t i = 0; i < v.n; i++)
        whole = whole && (is_digit (v.p[i]) || (i == 0 && v.p[i] == '-'));
    if (whole && v.n < sizeof (small)) {
        memcpy (small, v.p, v.n);
        small[v.n] = 0;
        errno = 0;
        if (v.p[0] == '-') {
            long long n = strtoll (small, NULL, 10);

            if (!errno)
                return json_object_new_int64 (n);
        } else {
            unsigned long long n = strtoull (small, NULL, 10);

            if (!errno)
                return n <= INT64_MAX ? json_object_new_int64 ((int64_t)n) : json_object_new_uint64 (n);
        }
    }
    z = strndup (v.p, v.n);
    if (!z)
        abort ();
    o = json_object_new_double_s (json_double (v, NAN), z); /* keeps the text as it was given */
    free (z);
    return o;
}

static struct json_object *tree_value (struct text v);

static struct json_object *tree_object (struct text v)
{
    struct json_object *o = must (json_object_new_object ());
    struct json_iter it = json_iter (v);

    while (json_next (&it)) {
        char small[256];
        char *key = it.key.n < sizeof (small) ? small : malloc (it.key.n + 1);

        if (!key)
            abort ();
        key[unescape (it.key, key)] = 0;
        if (json_object_object_add (o, key, tree_value (it.value)) < 0)
            abort ();
        if (key != small)
            free (key);
    }
    return o;
}

static struct json_object *tree_array (struct text v)
{
    struct json_object *o = must (json_object_new_array ());
    struct json_iter it = json_iter (v);

    while (json_next (&it))
        if (json_object_array_add (o, tree_value (it.value)) < 0)
            abort ();
    return o;
}

static struct json_object *tree_string (struct text v)
{
    struct text raw = inside (v);
    struct json_object *o;
    char *p;

    if (raw.n > INT_MAX)
        abort ();
    if (!memchr (raw.p, '\\', raw.n))
        return must (json_object_new_string_len (raw.p, (int)raw.n));
    p = malloc (raw.n);
    if (!p)
        abort ();
    o = must (json_object_new_string_len (p, (int)unescape (raw, p)));
    free (p);
    return o;
}

/* NULL is JSON's null, as in json-c. Depth is bounded by json_check. */
static struct json_object *tree_value (struct text v)
{
    switch (json_kind (v)) {
        case JSON_OBJECT:
            return tree_object (v);
        case JSON_ARRAY:
            return tree_array (v);
        case JSON_STRING:
            return tree_string (v);
        case JSON_NUMBER:
            return must (tree_number (v));
        case JSON_TRUE:
        case JSON_FALSE:
            return must (json_object_new_boolean (json_kind (v) == JSON_TRUE));
        default:
            return NULL;
    }
}

static void put_tree (void *o)
{
    json_object_put (o);
}

struct json_object *json_own (struct arena *a, struct json_object *o)
{
    if (o)
        arena_defer (a, put_tree, o);
    return o;
}

int json_tree (struct arena *a, struct text v, struct json_object **ret, struct error *err)
{
    struct text checked;

    if (!v.p) {
        *ret = NULL;
        return 0;
    }
    if (json_check (v, &checked, err) < 0)
        return -1;
    *ret = json_own (a, tree_value (checked));
    return 0;
}

static void write_double (struct str *s, struct json_object *o)
{
    const char *given = json_object_get_userdata (o); /* the text it was read from */

    if (given)
        str_puts (s, given);
    else
        str_add_double (s, json_object_get_double (o));
}

static void write_int (struct str *s, struct json_object *o)
{
    int64_t n = json_object_get_int64 (o);

    if (n == INT64_MAX) /* perhaps more than an int64 holds */
        str_addf (s, "%llu", (unsigned long long)json_object_get_uint64 (o));
    else
        str_add_int (s, n);
}

void json_write (struct str *s, struct json_object *o)
{
    switch (json_object_get_type (o)) {
        case json_type_null:
            str_add (s, "null", 4);
            return;
        case json_type_boolean:
            str_puts (s, json_object_get_boolean (o) ? "true" : "false");
            return;
        case json_type_double:
            write_double (s, o);
            return;
        case json_type_int:
            write_int (s, o);
            return;
        case json_type_string:
            str_add_json (s, json_object_get_string (o), (size_t)json_object_get_string_len (o));
            return;
        case json_type_array:
            str_putc (s, '[');
            for (size_t i = 0; i < json_object_array_length (o); i++) {
                if (i)
                    str_putc (s, ',');
                json_write (s, json_object_array_get_idx (o, i));
            }
            str_putc (s, ']');
            return;
        case json_type_object: {
            bool first = true;

            str_putc (s, '{');
            json_object_object_foreach (o, key, value)
            {
                if (!first)
                    str_putc (s, ',');
                first = false;
                str_add_json (s, key, strlen (key));
                str_putc (s, ':');
                json_write (s, value);
            }
            str_putc (s, '}');
            return;
        }
    }
}

struct text json_text (struct arena *a, struct json_object *o)
{
    struct str s = { .arena = a };

    json_write (&s, o);
    return str_text (&s);
}

/* -- writing --------------------------------------------------------------------------------------- */
void json_put_string (struct str *s, const char *v)
{
    if (v)
        str_add_json (s, v, strlen (v));
    else
        str_add (s, "null", 4);
}

void json_put_comma (struct str *s)
{
    char last = s->n ? s->p[s->n - 1] : 0;

    if (last && last != '{' && last != '[' && last != ':' && last != ',')
        str_putc (s, ',');
}

void json_put_key (struct str *s, const char *key)
{
    json_put_comma (s);
    json_put_string (s, key);
    str_putc (s, ':');
}
