/* query_filter.c - conditions that are not lists: patterns, ranges, dates, single values.
 *
 * "^literal$", which is how clients ask for one name, becomes an equality and so an index look-up; "^literal..." adds
 * a range before the regular expression. */
#include "base/clock.h"
#include "store/query_parts.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>

/* -- patterns */

/* The literal text a pattern starts with after '^'. Returns true when it is all of the pattern up to '$'. */
static bool pattern_literal (const char *p, struct str *ret)
{
    if (*p++ != '^')
        return false;
    for (const char *q = p; *q; q++) /* an alternative anywhere: the start is not shared by all */
        if (*q == '|')
            return false;
    for (; *p; p++) {
        if (p[0] == '$' && !p[1])
            return true;
        char c = *p;
        size_t n = 1;
        if (c == '\\') {
            c = p[1];
            n = 2;
            if (!c || isalnum ((unsigned char)c))
                return false;
        } else if (strchr (".^$*+?()[]{}", c)) {
            return false;
        }
        if (p[n] && strchr ("*+?{", p[n])) /* the last character may repeat or be missing */
            return false;
        str_putc (ret, c);
        p += n - 1;
    }
    return false;
}

static int filter_pattern (struct query_build *b, struct query_named *f, const char *name, struct text value,
                           struct str *s, struct error *err)
{
    if (json_kind (value) != JSON_STRING)
        return error_set (err, QUERY_ERR_VALIDATION, "%s: must be a regular expression (a string)", name);
    const char *pattern = json_string (b->src->arena, value);
    if (!*pattern)
        return 0;
    if (query_pattern_check (pattern, err) < 0)
        return error_wrap (err, "%s", name);
    struct str literal = { .arena = b->src->arena };
    bool exact = pattern_literal (pattern, &literal);
    if (exact && literal.n) {
        query_put_fragment (b, s, f->field->expr, f);
        str_puts (s, " = ");
        query_put_value (b, s, V_TEXT (str_text (&literal)));
        return 0;
    }
    if (literal.n) {
        query_put_fragment (b, s, f->field->expr, f);
        str_puts (s, " >= ");
        query_put_value (b, s, V_TEXT (str_text (&literal)));
        str_puts (s, " AND ");
        query_put_fragment (b, s, f->field->expr, f);
        str_puts (s, " < ");
        str_puts (&literal, "\xf4\x8f\xbf\xbf"); /* the last character there is */
        query_put_value (b, s, V_TEXT (str_text (&literal)));
        str_puts (s, " AND ");
    }
    str_puts (s, "pattern_find(");
    query_put_value (b, s, V_STR (pattern));
    str_putc (s, ',');
    query_put_fragment (b, s, f->field->expr, f);
    str_putc (s, ')');
    return 0;
}

/* -- times: ">=2026-01-01T00:00:00" */
static const char *time_operator (const char **text)
{
    static const char *const ops[] = { ">=", "<=", ">", "<" };
    while (**text == ' ')
        ++*text;
    for (size_t i = 0; i < 4; i++) {
        size_t n = strlen (ops[i]);
        if (!strncmp (*text, ops[i], n)) {
            *text += n;
            while (**text == ' ')
                ++*text;
            return ops[i];
        }
    }
    return NULL;
}

static bool time_range (struct query_build *b, const char *expr, struct text list, struct str *s)
{
    struct arena *a = b->src->arena;
    int64_t t[2] = { 0, 0 };
    bool has[2] = { false, false };
    if (json_kind (list) != JSON_ARRAY || json_count (list) != 2)
        return false;
    struct json_iter it = json_iter (list);
    for (int i = 0; i < 2 && json_next (&it); i++) {
        if (json_kind (it.value) == JSON_NULL)
            continue;
        const char *text = json_string (a, it.value);
        if (!text || time_operator (&text) || clock_parse (text, strlen (text), &t[i]) < 0)
            return false;
        has[i] = true;
    }
    if (has[0]) {
        str_addf (s, "%s >= ", expr);
        query_put_value (b, s, V_INT (t[0]));
    }
    if (has[1]) {
        str_addf (s, "%s%s <= ", has[0] ? " AND " : "", expr);
        query_put_value (b, s, V_INT (t[1]));
    }
    return true;
}

int query_filter_times (struct query_build *b, const char *expr, struct text value, struct str *s)
{
    struct arena *a = b->src->arena;
    struct {
        const char *op;
        int64_t t;
    } item[5];
    size_t n = 0;
    if (time_range (b, expr, value, s))
        return 0;
    struct json_iter it = json_iter (value);
    bool list = json_kind (value) == JSON_ARRAY;
    while (list ? json_next (&it) : n == 0) {
        const char *text = json_string (a, list ? it.value : value);
        const char *op = text ? time_operator (&text) : NULL;
        int64_t t;
        if (text && clock_parse (text, strlen (text), &t) == 0) {
            size_t i = 0;
            op = op ? op : "=";
            while (i < n && strcmp (item[i].op, op))
                i++;
            item[i].op = op; /* five operators: five slots */
            item[i].t = t;
            n = i == n ? n + 1 : n;
        }
        if (!list)
            break;
    }
    for (size_t i = 0; i < n; i++) {
        str_addf (s, "%s%s %s ", i ? " AND " : "", expr, item[i].op);
        query_put_value (b, s, V_INT (item[i].t));
    }
    return 0;
}

/* -- ranges */
static int range_value (struct query_build *b, enum query_show type, const char *name, struct text v,
                        struct value *ret, struct error *err)
{
    struct arena *a = b->src->arena;
    if (json_kind (v) == JSON_NUMBER) {
        double f = json_double (v, 0);
        *ret = f == floor (f) && fabs (f) < 9e15 ? V_INT ((int64_t)f) : V_REAL (f);
        return 0;
    }
    const char *text = json_string (a, v);
    char *end = NULL;
    if (text && type == QUERY_TIME) {
        int64_t t;
        if (clock_parse (text, strlen (text), &t) < 0)
            return error_set (err, QUERY_ERR_VALIDATION, "%s: '%s' is no date", name, text);
        *ret = V_INT (t);
        return 0;
    }
    if (text && type == QUERY_TEXT) {
        *ret = V_STR (text);
        return 0;
    }
    double f = text ? strtod (text, &end) : 0;
    if (!text || end == text || *end || !isfinite (f))
        return error_set (err, QUERY_ERR_VALIDATION, "%s: must be a number, not %.*s", name,
                          (int)(v.n < 60 ? v.n : 60), v.p);
    *ret = V_REAL (f);
    return 0;
}

/* An end that is left open does not let infinities in: they are no measurements that a range could mean. */
static void put_finite (struct query_build *b, struct query_named *f, bool above, struct str *s)
{
    if (f->field->show != QUERY_REAL)
        return;
    str_puts (s, " AND ");
    query_put_fragment (b, s, f->field->expr, f);
    str_puts (s, above ? " <= 1.7976931348623157e308" : " >= -1.7976931348623157e308");
}

/* [">=1", "<5"]: comparisons, as dates have them */
static int filter_comparisons (struct query_build *b, struct query_named *f, const char *name,
                               struct text list, struct str *s, struct error *err)
{
    struct json_iter it = json_iter (list);
    bool array = json_kind (list) == JSON_ARRAY, first = true;
    while (array ? json_next (&it) : first) {
        struct text item = array ? it.value : list;
        const char *text = json_string (b->src->arena, item), *op = "=";
        struct value v;
        if (text && (op = time_operator (&text)) == NULL)
            op = "=";
        if (text) {
            struct str quoted = { .arena = b->src->arena };
            str_add_json (&quoted, text, strlen (text));
            item = str_text (&quoted);
        }
        if (range_value (b, f->field->show, name, item, &v, err) < 0)
            return -1;
        str_puts (s, first ? "" : " AND ");
        query_put_fragment (b, s, f->field->expr, f);
        str_addf (s, " %s ", op);
        query_put_value (b, s, v);
        if (*op != '=')
            put_finite (b, f, *op == '>', s);
        first = false;
    }
    return 0;
}

static bool has_operator (struct arena *a, struct text list)
{
    struct json_iter it = json_iter (list);
    while (json_next (&it)) {
        const char *text = json_string (a, it.value);
        if (text && time_operator (&text))
            return true;
    }
    return false;
}

static int filter_range (struct query_build *b, struct query_named *f, const char *name, struct text value,
                         struct str *s, struct error *err)
{
    if (json_kind (value) != JSON_ARRAY || has_operator (b->src->arena, value)) {
        if (json_kind (value) == JSON_OBJECT)
            return error_set (err, QUERY_ERR_VALIDATION, "%s: must be a list [min, max]", name);
        return filter_comparisons (b, f, name, value, s, err);
    }
    struct value v[2];
    bool has[2] = { false, false };
    size_t n = 0;
    struct json_iter it = json_iter (value);
    for (; json_next (&it); n++)
        if (n < 2 && json_kind (it.value) != JSON_NULL) {
            has[n] = true;
            if (range_value (b, f->field->show, name, it.value, &v[n], err) < 0)
                return -1;
        }
    if (n != 2 || (!has[0] && !has[1]))
        return error_set (err, QUERY_ERR_VALIDATION, "%s: must be a list [min, max], one of them may be null",
                          name);
    if (!has[0]) {
        str_putc (s, '(');
        query_put_fragment (b, s, f->field->expr, f);
        str_puts (s, " IS NULL OR ");
    }
    for (int i = 0; i < 2; i++) {
        if (!has[i])
            continue;
        str_puts (s, i && has[0] ? " AND " : "");
        query_put_fragment (b, s, f->field->expr, f);
        str_puts (s, i ? " <= " : " >= ");
        query_put_value (b, s, v[i]);
        if (!has[!i])
            put_finite (b, f, !i, s);
    }
    str_puts (s, has[0] ? "" : ")");
    return 0;
}

/* -- one value */
struct value query_json_value (struct arena *a, struct text v)
{
    switch (json_kind (v)) {
        case JSON_TRUE:
            return V_INT (1);
        case JSON_FALSE:
            return V_INT (0);
        case JSON_NUMBER:
            if (memchr (v.p, '.', v.n) || memchr (v.p, 'e', v.n) || memchr (v.p, 'E', v.n))
                return V_REAL (json_double (v, 0));
            return V_INT (json_int (v, 0));
        case JSON_STRING:
            return V_STR (json_string (a, v));
        case JSON_ARRAY:
        case JSON_OBJECT:
            return V_TEXT (v);
        case JSON_NULL:
        case JSON_ABSENT:
            break;
    }
    return V_NULL ();
}

int query_filter_plain (struct query_build *b, struct query_named *f, const char *name, struct text value,
                        bool subtree, struct str *s, struct error *err)
{
    if (f->field->ops & QUERY_LIST)
        return query_list (b, f, name, value, subtree, s, err);
    if (f->field->ops & QUERY_PATTERN)
        return filter_pattern (b, f, name, value, s, err);
    if (f->field->ops & QUERY_RANGE)
        return filter_range (b, f, name, value, s, err);
    struct str expr = { .arena = b->src->arena };
    query_put_fragment (b, &expr, f->field->expr, f);
    if (f->field->ops & QUERY_DATE)
        return query_filter_times (b, expr.p, value, s);
    str_addf (s, "%s = ", expr.p);
    query_put_value (b, s, query_json_value (b->src->arena, value));
    return 0;
}
