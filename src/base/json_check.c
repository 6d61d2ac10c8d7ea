/* json_check.c - is it JSON? One pass that says where it is not. See json.h: after it the walkers never fail. */
#include "base/json_scan.h"

#include "base/utf8.h"

#include <errno.h>

enum { DEPTH_MAX = 512 };

struct scan {
    const char *start, *p, *end;
    const char *why; /* what was wrong at p */
};

static int fail (struct scan *s, const char *why)
{
    s->why = why;
    return -1;
}

static void skip_space (const char **p, const char *end)
{
    while (*p < end && is_space (**p))
        (*p)++;
}

/* Marks (json_scan.h) in all that a string may not hold as it is: quotes, backslashes, control characters, not ASCII. */
static uint64_t mark_special (uint64_t w)
{
    return mark_ends (w) | ((w - EACH (0x20)) & ~w & EACH (0x80)) | (w & EACH (0x80));
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
            size_t n = utf8_take (s->p, (size_t)(s->end - s->p), NULL);

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
