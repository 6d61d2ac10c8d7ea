/* query_build.c - from the JSON body to WHERE and ORDER BY.
 *
 * Every key of the body that names a field with an operator becomes a condition; other keys are not ours. The text of
 * a statement depends on the shape of the request only, so that prepared statements are found again. */
#include "store/query_parts.h"

#include <ctype.h>

/* -- names */

/* "%2E" stands for a dot inside a part. */
static char *unescape_part (struct arena *a, struct text part)
{
    char *out = arena_alloc (a, part.n + 1), *q = out;
    for (size_t i = 0; i < part.n; i++) {
        static const struct {
            const char *from;
            char to;
        } codes[] = { { "%2E", '.' }, { "%2e", '.' }, { "%24", '$' }, { "%%", '%' } };
        size_t k = 0;
        while (k < 4 && !text_starts ((struct text){ part.p + i, part.n - i }, codes[k].from))
            k++;
        if (k < 4) {
            *q++ = codes[k].to;
            i += strlen (codes[k].from) - 1;
        } else {
            *q++ = part.p[i];
        }
    }
    *q = 0;
    return out;
}

bool query_find (struct query_build *b, const char *name, unsigned ops, struct query_named *ret)
{
    for (const struct query_field *f = b->e->fields; f->name; f++) {
        size_t n = strlen (f->name);
        bool below = n > 2 && !strcmp (f->name + n - 2, ".*");
        if (ops && !(f->ops & ops))
            continue;
        if (!below && !strcmp (f->name, name)) {
            *ret = (struct query_named){ .field = f };
            return true;
        }
        if (!below || strncmp (f->name, name, n - 1) || !name[n - 1])
            continue;
        *ret = (struct query_named){ .field = f };
        const char *p = name + n - 1;
        for (int i = 0; i < QUERY_PARTS && p; i++) {
            const char *dot = strchr (p, '.');
            ret->part[i] =
                unescape_part (b->src->arena, (struct text){ p, dot ? (size_t)(dot - p) : strlen (p) });
            p = dot ? dot + 1 : NULL;
        }
        return true;
    }
    return false;
}

const struct query_field *query_member (const struct query_entity *e, struct text name)
{
    for (const struct query_field *f = e->fields; f->name; f++)
        if (f->show != QUERY_NONE && text_is (name, f->name) && !strchr (f->name, '.'))
            return f;
    return NULL;
}

/* -- pieces of SQL */
int query_value (struct query_build *b, struct value v)
{
    if (b->n == b->cap) {
        b->cap = b->cap ? b->cap * 2 : 16;
        struct value *more = arena_array (b->src->arena, struct value, b->cap);
        if (b->n)
            memcpy (more, b->values, b->n * sizeof *more);
        b->values = more;
    }
    b->values[b->n++] = v;
    return (int)b->n;
}

void query_put_value (struct query_build *b, struct str *s, struct value v)
{
    str_addf (s, "?%d", query_value (b, v));
}

void query_put_fragment (struct query_build *b, struct str *s, const char *fragment, struct query_named *f)
{
    for (const char *p = fragment; *p; p++) {
        if (p[0] == '$' && p[1] >= '1' && p[1] <= '0' + QUERY_PARTS) {
            int i = p[1] - '1';
            if (!f->param[i])
                f->param[i] = query_value (b, V_STR (f->part[i]));
            str_addf (s, "?%d", f->param[i]);
            p++;
        } else if (!strncmp (p, "$company", 8)) {
            if (!b->company)
                b->company = query_value (b, V_STR (b->src->company));
            str_addf (s, "?%d", b->company);
            p += 7;
        } else if (!strncmp (p, "$now", 4)) {
            if (!b->now)
                b->now = query_value (b, V_INT (b->src->now));
            str_addf (s, "?%d", b->now);
            p += 3;
        } else {
            str_putc (s, *p);
        }
    }
}

void query_and (struct query_build *b, struct str *condition)
{
    if (!condition->n)
        return;
    str_puts (&b->sql, b->sql.n ? " AND (" : "(");
    str_add_text (&b->sql, str_text (condition));
    str_putc (&b->sql, ')');
}

/* -- _any_ and _all_ */
static int multi_pattern (struct query_build *b, struct query_named *f, struct text pattern, struct str *s)
{
    if (f->field->each) {
        str_puts (s, "EXISTS (SELECT 1 FROM (");
        query_put_fragment (b, s, f->field->each, f);
        str_puts (s, ") WHERE pattern_find_i(");
        query_put_value (b, s, V_TEXT (pattern));
        str_puts (s, ",v))");
    } else {
        str_puts (s, "pattern_find_i(");
        query_put_value (b, s, V_TEXT (pattern));
        str_putc (s, ',');
        query_put_fragment (b, s, f->field->expr, f);
        str_putc (s, ')');
    }
    return 0;
}

static int multi_field (struct query_build *b, const char *name, const char *pattern, struct text datetime,
                        struct str *s)
{
    struct query_named f;
    if (pattern) {
        if (query_find (b, name, 0, &f) && (f.field->expr || f.field->each))
            return multi_pattern (b, &f, text_of (pattern), s);
        str_putc (s, '0');
        return 0;
    }
    if (!query_find (b, name, QUERY_DATE, &f)) /* only dates are asked by datetime */
        return 0;
    struct str expr = { .arena = b->src->arena };
    query_put_fragment (b, &expr, f.field->expr, &f);
    return query_filter_times (b, expr.p, datetime, s);
}

static int build_multi (struct query_build *b, const char *name, struct text value, struct error *err)
{
    struct arena *a = b->src->arena;
    struct text fields = json_get (value, "fields"), pattern = json_get (value, "pattern"),
                datetime = json_get (value, "datetime");
    bool with_pattern = json_kind (pattern) > JSON_NULL, with_time = json_kind (datetime) > JSON_NULL;
    if (json_kind (value) != JSON_OBJECT || json_kind (fields) != JSON_ARRAY || with_pattern == with_time ||
        (with_pattern && json_kind (pattern) != JSON_STRING))
        return error_set (
            err, QUERY_ERR_VALUE,
            "%s: must be {\"fields\": [names], \"pattern\": regex} or {.., \"datetime\": dates}", name);
    const char *regex = with_pattern ? json_string (a, pattern) : NULL;
    if (regex && query_pattern_check (regex, err) < 0)
        return error_wrap (err, "%s.pattern", name);
    const char *op = !strcmp (name, "_any_") || !strcmp (name, "_or_") ? " OR " : " AND ";
    struct str s = { .arena = a };
    struct json_iter it = json_iter (fields);
    while (json_next (&it)) {
        const char *field = json_string (a, it.value);
        struct str one = { .arena = a };
        if (!field)
            return error_set (err, QUERY_ERR_VALUE, "%s.fields: must be names", name);
        multi_field (b, field, regex, datetime, &one);
        if (one.n)
            str_addf (&s, "%s(%s)", s.n ? op : "", one.p);
    }
    query_and (b, &s);
    return 0;
}

/* -- search_text: any of its words, as a word, in any text field */
static void build_search (struct query_build *b, const char *text)
{
    struct arena *a = b->src->arena;
    struct str regex = { .arena = a }, s = { .arena = a };
    for (const char *p = text; *p;) {
        const char *start = p;
        while (isalnum ((unsigned char)*p) || *p == '_' || (unsigned char)*p > 127)
            p++;
        if (p > start) {
            str_puts (&regex, regex.n ? "|" : "\\b(?:");
            str_add (&regex, start, (size_t)(p - start));
        } else {
            p++;
        }
    }
    if (!regex.n)
        return;
    str_puts (&regex, ")\\b");
    for (const struct query_field *f = b->e->fields; f->name; f++)
        if (f->ops & QUERY_SEARCH) {
            struct query_named named = { .field = f };
            struct str one = { .arena = a };
            multi_pattern (b, &named, str_text (&regex), &one);
            str_addf (&s, "%s%s", s.n ? " OR " : "", one.p);
        }
    query_and (b, &s);
}

/* -- who may see it */
static int build_company (struct query_build *b, bool own, struct error *err)
{
    const struct query_entity *e = b->e;
    struct str s = { .arena = b->src->arena };
    if (!e->company)
        return 0;
    bool public_there = false;
    if (!own &&
        e->any_public) { /* an IN of two breaks index walks: only when there is something public at all */
        cleanup_rows struct rows r = { 0 };
        if (db_query_text (b->src->db, e->any_public, &r, err, NULL, 0) < 0)
            return -1;
        int more = db_next (&r, err);
        if (more < 0)
            return -1;
        public_there = more;
    }
    str_puts (&s, e->company);
    str_puts (&s, public_there ? " IN ('', " : " = ");
    query_put_value (b, &s, V_STR (b->src->company));
    str_puts (&s, public_there ? ")" : "");
    query_and (b, &s);
    return 0;
}

static bool given (struct text v)
{
    return json_kind (v) > JSON_NULL && !(json_kind (v) == JSON_ARRAY && !json_count (v)) &&
           !json_string_is (v, "");
}

static void build_hidden (struct query_build *b, struct text body, unsigned flags)
{
    const struct query_entity *e = b->e;
    if (!e->hidden || flags & QUERY_SHOW_HIDDEN || json_true (json_get (body, "search_hidden")) ||
        given (json_get (body, "id")) || (e->name_reveals && given (json_get (body, "name"))))
        return;
    struct str s = { .arena = b->src->arena };
    str_puts (&s, e->hidden);
    query_and (b, &s);
}

/* -- the parts together */
static int build_key (struct query_build *b, struct text key, struct text value, bool filters, bool subtree,
                      struct error *err)
{
    const unsigned any_op = QUERY_PATTERN | QUERY_LIST | QUERY_RANGE | QUERY_DATE | QUERY_EQUAL;
    struct query_named f;
    const char *name = json_key (b->src->arena, key);
    struct str s = { .arena = b->src->arena };
    if (json_kind (value) == JSON_NULL)
        return 0;
    if (!filters && name[0] == '_' &&
        (!strcmp (name, "_any_") || !strcmp (name, "_or_") || !strcmp (name, "_all_") ||
         !strcmp (name, "_and_")))
        return build_multi (b, name, value, err);
    if (!query_find (b, name, filters ? QUERY_LIST : any_op, &f))
        return 0;
    if (!filters && json_kind (value) == JSON_ARRAY && !json_count (value) && f.field->ops & QUERY_LIST)
        return 0; /* an empty list asks nothing */
    bool tree = subtree && f.field->ops & QUERY_TREE;
    int rc = filters ? query_list_filter (b, &f, name, value, tree, &s, err)
                     : query_filter_plain (b, &f, name, value, tree, &s, err);
    if (rc == 0)
        query_and (b, &s);
    return rc;
}

static void build_extra (struct query_build *b, const struct query_options *o)
{
    struct str s = { .arena = b->src->arena };
    int first = (int)b->n;
    for (size_t i = 0; i < o->values_n; i++)
        query_value (b, o->values[i]);
    for (const char *p = o->where; *p; p++)
        if (p[0] == '?' && isdigit ((unsigned char)p[1]))
            str_addf (&s, "?%d", first + (*++p - '0'));
        else
            str_putc (&s, *p);
    query_and (b, &s);
}

int query_build_where (struct query_build *b, struct text body, const struct query_options *o,
                       struct error *err)
{
    struct text filters = json_get (body, "filters"), allow = json_get (body, "allow_public");
    bool subtree = json_true (json_get (body, "include_subprojects"));
    bool own = o->flags & QUERY_OWN ||
               (o->flags & QUERY_EX && json_kind (allow) > JSON_NULL && !json_true (allow)) ||
               json_true (json_get (body, "non_public"));
    if (json_kind (filters) > JSON_NULL && json_kind (filters) != JSON_OBJECT)
        return error_set (err, QUERY_ERR_VALUE, "filters: must be an object of fields");
    if (build_company (b, own, err) < 0)
        return -1;
    struct json_iter it = json_iter (body);
    while (json_next (&it)) {
        if (filters.n && json_kind (json_get (filters, json_key (b->src->arena, it.key))) == JSON_OBJECT)
            continue; /* the newer form wins */
        if (build_key (b, it.key, it.value, false, subtree, err) < 0)
            return -1;
    }
    it = json_iter (filters);
    while (json_next (&it))
        if (build_key (b, it.key, it.value, true, subtree, err) < 0)
            return -1;
    struct text search = json_get (body, "search_text");
    if (json_kind (search) == JSON_STRING)
        build_search (b, json_string (b->src->arena, search));
    build_hidden (b, body, o->flags);
    if (o->where)
        build_extra (b, o);
    if (b->n > QUERY_MAX_VALUES)
        return error_set (err, QUERY_ERR_VALUE, "more than %d values in filters: ask in several calls",
                          QUERY_MAX_VALUES);
    return 0;
}

/* -- order */
static int order_item (struct query_build *b, const char *item, bool search, bool first, struct str *s,
                       bool *ret_id, bool *ret_down, struct error *err)
{
    bool down = item[0] == '-';
    const char *name = item + down, *dot = strchr (name, '.');
    struct query_named f;
    if (!strcmp (name, "@text_score")) {
        if (!search)
            return error_set (err, QUERY_ERR_VALUE, "order_by: @text_score goes only with search_text");
        return 0;
    }
    if (!query_find (b, name, QUERY_ORDER, &f)) {
        if (dot && query_member (b->e, (struct text){ name, (size_t)(dot - name) }))
            return 0; /* nothing lies there: all are equal */
        return error_set (err, QUERY_ERR_FIELDS, "order_by: cannot order %s by '%s'", b->e->name, name);
    }
    *ret_id |= !strcmp (name, "id");
    const char *expr = f.field->sort ? f.field->sort : f.field->expr;
    b->computed |= expr[0] == '(';
    bool filled = f.field->ops & QUERY_FILLED, text = f.field->show == QUERY_TEXT && !f.field->sort;
    str_puts (s, s->n ? ", " : b->few ? "+" : ""); /* "+": not by an index */
    if (first && !filled && text)
        str_puts (s, "nullif(");
    query_put_fragment (b, s, expr, &f);
    if (first && !filled && text)
        str_puts (s, ",'')");
    str_puts (s, down ? " DESC" : "");
    if (first && !filled)
        str_puts (s, " NULLS LAST");
    if (f.field->then)
        str_addf (s, ", %s%s", f.field->then, down ? " DESC" : "");
    *ret_down = down;
    return 0;
}

int query_build_order (struct query_build *b, struct text body, struct str *ret, struct error *err)
{
    struct text list = json_get (body, "order_by");
    bool id = false, down = false, search = json_kind (json_get (body, "search_text")) == JSON_STRING;
    size_t n = 0;
    if (json_kind (list) == JSON_STRING && !json_string_is (list, "")) {
        if (order_item (b, json_string (b->src->arena, list), search, true, ret, &id, &down, err) < 0)
            return -1;
    } else if (json_kind (list) == JSON_ARRAY) {
        struct json_iter it = json_iter (list);
        for (; json_next (&it); n++) {
            const char *item = json_string (b->src->arena, it.value);
            if (!item || n >= 16)
                return error_set (err, QUERY_ERR_FIELDS, "order_by: must be at most 16 field names");
            if (order_item (b, item, search, n == 0, ret, &id, &down, err) < 0)
                return -1;
        }
    } else if (json_kind (list) > JSON_NULL && !json_string_is (list, "")) {
        return error_set (err, QUERY_ERR_FIELDS, "order_by: must be a list of field names");
    }
    if (!ret->n)
        str_puts (ret, b->e->key);
    else if (!id) /* equals by creation, in the direction of the last name: what an index walk gives */
        str_addf (ret, ", %s%s", b->e->key, down ? " DESC" : "");
    return 0;
}
