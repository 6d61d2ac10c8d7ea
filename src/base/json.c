/* json.c - see json.h: walkers that trust what json_check took but never leave the text they are given, strings, and
 * writing. Checking, numbers and trees have files of their own.
 *
 * Why by hand: requests and stored documents are mostly looked at in a few places and copied whole; building a tree for
 * that costs ten times the scan. Trees are built from the same scanner, so that both agree on what is JSON, and numbers
 * keep their text.
 */
#include "base/json_scan.h"

#include "base/utf8.h"

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
    return utf8_put (out, cp);
}

/* replace: \u0000 becomes U+FFFD, which is shorter than the escape. A bare NUL is in no text that was checked. */
static size_t unescape (struct text raw, char *out, bool replace)
{
    const char *p = raw.p, *end = raw.p + raw.n;
    size_t n = 0;

    while (p < end) {
        const char *slash = memchr (p, '\\', (size_t)(end - p));
        size_t plain = (size_t)((slash ? slash : end) - p), k;

        memcpy (out + n, p, plain);
        n += plain;
        p += plain;
        if (!slash)
            break;
        k = unescape_one (&p, end, out + n);
        if (replace && k == 1 && !out[n] && p - slash == 6)
            k = utf8_put (out + n, 0xfffd);
        n += k;
    }
    return n;
}

size_t json_unescape (struct text raw, char *out)
{
    return unescape (raw, out, false);
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

size_t json_unescape_string (struct text raw, char *out)
{
    size_t n = unescape (raw, out, true);

    out[n] = 0;
    return n;
}

char *json_key (struct arena *a, struct text raw_key)
{
    char *p = arena_alloc (a, raw_key.n + 1);

    json_unescape_string (raw_key, p);
    return p;
}

struct text json_string_text (struct arena *a, struct text v)
{
    char *p;

    if (json_kind (v) != JSON_STRING)
        return (struct text){ NULL, 0 };
    p = arena_alloc (a, v.n + 1);
    return (struct text){ p, json_unescape (json_inside (v), p) };
}

char *json_string (struct arena *a, struct text v)
{
    return json_kind (v) == JSON_STRING ? json_key (a, json_inside (v)) : NULL;
}

bool json_string_is (struct text v, const char *s)
{
    return json_kind (v) == JSON_STRING && raw_is (json_inside (v), s, strlen (s));
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

void json_put_raw_key (struct str *s, struct text raw_key)
{
    json_put_comma (s);
    str_putc (s, '"');
    str_add_text (s, raw_key);
    str_puts (s, "\":");
}

void json_put_member (struct str *s, struct text raw_key, struct text value)
{
    json_put_raw_key (s, raw_key);
    str_add_text (s, value);
}

void json_put_strings (struct str *s, const char *key, const char *const *v, size_t n)
{
    json_put_key (s, key);
    str_putc (s, '[');
    for (size_t i = 0; i < n; i++) {
        json_put_comma (s);
        json_put_string (s, v[i]);
    }
    str_putc (s, ']');
}

void json_put_some (struct str *s, const char *key, const char *v)
{
    if (!v)
        return;
    json_put_key (s, key);
    json_put_string (s, v);
}
