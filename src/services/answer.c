/* answer.c - see answer.h. */
#include "services/answer.h"

#include "base/clock.h"
#include "base/utf8.h"
#include "store/store.h"

#include <ctype.h>
#include <stdlib.h>
#include <strings.h>

struct query_source call_source (const struct call *c)
{
    return (struct query_source){
        .db = c->db,
        .arena = c->arena,
        .company = c->who.company ? c->who.company : "",
        .version = c->version,
        .bare_nan = c->bare_nan,
        .word_nan = c->word_nan,
        .now = c->now,
        .volatiles = c->facts ? c->facts->volatiles : NULL,
    };
}

/* -- fields */
void fields_open (struct call *c, struct str *s)
{
    *s = (struct str){ .arena = c->arena };
    str_putc (s, '{');
}

void fields_str (struct str *s, const char *name, const char *v)
{
    json_put_key (s, name);
    json_put_string (s, v);
}

void fields_json (struct str *s, const char *name, struct text v)
{
    json_put_key (s, name);
    str_add_text (s, v.p ? v : TEXT ("null"));
}

void fields_time (struct str *s, const char *name, int64_t us)
{
    json_put_key (s, name);
    str_putc (s, '"');
    clock_format_us (s, us);
    str_putc (s, '"');
}

struct text fields_close (struct str *s)
{
    str_putc (s, '}');
    return str_text (s);
}

/* -- many */
void many_open (struct many *m, struct call *c)
{
    *m = (struct many){ c, { .arena = c->arena }, { .arena = c->arena } };
    str_putc (&m->succeeded, '[');
    str_putc (&m->failed, '[');
}

void many_success (struct many *m, const char *id)
{
    json_put_comma (&m->succeeded);
    str_putc (&m->succeeded, '{');
    fields_str (&m->succeeded, "id", id);
}

void many_end (struct many *m)
{
    str_putc (&m->succeeded, '}');
}

int keep_facts (struct call *c, const struct error *err, const struct fact *facts)
{
    struct str s = { .arena = c->arena };
    str_putc (&s, '{');
    for (; facts->name; facts++)
        if (facts->text)
            fields_str (&s, facts->name, facts->text);
        else
            fields_json (&s, facts->name, text_of (arena_printf (c->arena, "%lld", (long long)facts->n)));
    str_putc (&s, '}');
    c->facts_of_error = str_text (&s);
    c->facts_code = err->code;
    return -1;
}

void many_failure (struct many *m, const char *id, const struct error *err)
{
    int code = err->code ? err->code : ERR_INTERNAL;
    struct str *s = &m->failed;
    bool told = m->c->facts_of_error.p && m->c->facts_code == err->code;
    json_put_comma (s);
    str_putc (s, '{');
    fields_str (s, "id", id);
    str_addf (s, ",\"error\":{\"codes\":[%d,%d]", WIRE_STATUS (code), WIRE_SUBCODE (code));
    fields_str (s, "msg", err->text);
    fields_json (s, "data", told ? m->c->facts_of_error : TEXT ("{}"));
    str_puts (s, "}}");
}

void many_close (struct many *m, struct text *ret_succeeded, struct text *ret_failed)
{
    str_putc (&m->succeeded, ']');
    str_putc (&m->failed, ']');
    *ret_succeeded = str_text (&m->succeeded);
    *ret_failed = str_text (&m->failed);
}

int many_run (struct call *c, const char *const *ids, size_t n, many_fn *fn, const void *in,
              struct text *ret_succeeded, struct text *ret_failed, struct error *err)
{
    struct many m;
    if (!n)
        return error_set (err, ERR_VALIDATION, "ids: the list is empty");
    many_open (&m, c);
    for (size_t i = 0; i < n; i++) {
        struct error why = { 0 };
        struct str item = { .arena = c->arena };
        struct effect *last = call_last_effect (c);
        c->facts_of_error = (struct text){ 0 };
        if (db_save (c->db, err) < 0)
            return -1;
        if (fn (c, ids[i], in, &item, &why) == 0) {
            if (db_release (c->db, err) < 0)
                return -1;
            many_success (&m, ids[i]);
            str_add_text (&m.succeeded, str_text (&item));
            many_end (&m);
        } else {
            if (db_undo (c->db, err) < 0)
                return -1;
            call_forget_effects (c, last);
            if (why.code && why.code < 10000) { /* the store failed, not the wish */
                *err = why;
                return -1;
            }
            many_failure (&m, ids[i], &why);
        }
    }
    many_close (&m, ret_succeeded, ret_failed);
    return 0;
}

/* -- tags */
int tags_check (const char *const *v, size_t n, const char *field, struct error *err)
{
    for (size_t i = 0; i < n; i++)
        if (!v[i] || !strncmp (v[i], "__$", 3))
            return error_set (err, ERR_FIELDS_VALUE,
                              "%s: unsupported tag prefix: '%s' may not start with '__$'", field,
                              v[i] ? v[i] : "null");
    return 0;
}

void tags_add (struct arena *a, struct tag_list *l, const char *tag)
{
    size_t at = 0, end = l->n;
    while (at < end) {
        size_t mid = (at + end) / 2;
        if (strcmp (l->v[mid], tag) < 0)
            at = mid + 1;
        else
            end = mid;
    }
    if (at < l->n && !strcmp (l->v[at], tag))
        return;
    if (!(l->n & (l->n + 1))) { /* full at 0, 1, 3, 7 ... */
        const char **v = arena_array (a, const char *, (l->n + 1) * 2);
        if (l->n)
            memcpy (v, l->v, l->n * sizeof *v);
        l->v = v;
    }
    memmove (&l->v[at + 1], &l->v[at], (l->n - at) * sizeof *l->v);
    l->v[at] = tag;
    l->n++;
}

static int by_bytes (const void *a, const void *b)
{
    return strcmp (*(const char *const *)a, *(const char *const *)b);
}

/* For n and as many more as tags_add expects: up to its next 1, 3, 7 ... */
static const char **tags_room (struct arena *a, size_t n)
{
    size_t cap = 1;
    while (cap < n)
        cap = cap * 2 + 1;
    return arena_array (a, const char *, cap);
}

/* NULLs go, too. v (of tags_room) becomes the list's. */
static struct tag_list tags_sorted (const char **v, size_t n)
{
    struct tag_list l = { .v = v };
    size_t given = 0;
    for (size_t i = 0; i < n; i++)
        if (v[i])
            v[given++] = v[i];
    if (given)
        qsort (v, given, sizeof *v, by_bytes);
    for (size_t i = 0; i < given; i++)
        if (!l.n || strcmp (v[l.n - 1], v[i]))
            v[l.n++] = v[i];
    return l;
}

struct tag_list tags_read (struct arena *a, struct text json)
{
    size_t n = json_count (json), i = 0;
    const char **v = tags_room (a, n);
    struct json_iter it = json_iter (json);
    while (i < n && json_next (&it))
        v[i++] = json_string (a, it.value);
    return tags_sorted (v, i);
}

bool tags_have (const struct tag_list *l, const char *tag)
{
    for (size_t i = 0; i < l->n; i++)
        if (!strcmp (l->v[i], tag))
            return true;
    return false;
}

bool tags_remove (struct tag_list *l, const char *tag)
{
    for (size_t i = 0; i < l->n; i++)
        if (!strcmp (l->v[i], tag)) {
            memmove (&l->v[i], &l->v[i + 1], (l->n - i - 1) * sizeof *l->v);
            l->n--;
            return true;
        }
    return false;
}

struct text tags_write (struct arena *a, const struct tag_list *l)
{
    struct str s = { .arena = a };
    str_putc (&s, '[');
    for (size_t i = 0; i < l->n; i++) {
        json_put_comma (&s);
        json_put_string (&s, l->v[i]);
    }
    str_putc (&s, ']');
    return str_text (&s);
}

struct text tags_of (struct arena *a, const char *const *v, size_t n)
{
    const char **copy = tags_room (a, n);
    if (n)
        memcpy (copy, v, n * sizeof *copy);
    struct tag_list l = tags_sorted (copy, n);
    return tags_write (a, &l);
}

/* -- what is in use */
static int own_rows (struct call *c, const struct query_entity *e, struct text body, struct query_where *ret,
                     struct error *err)
{
    struct query_source src = call_source (c);
    struct query_options o = { .flags = QUERY_OWN | QUERY_SHOW_HIDDEN };
    return query_conditions (&src, e, body, &o, ret, err);
}

static int add_values (struct call *c, const char *sql, const struct query_where *w, struct tag_list *ret,
                       struct error *err)
{
    cleanup_rows struct rows r = { 0 };
    int more;
    if (db_query_text (c->db, sql, &r, err, w->values, w->n) < 0)
        return -1;
    while ((more = db_next (&r, err)) > 0)
        if (!row_null (&r, 0))
            tags_add (c->arena, ret, row_str (&r, 0, c->arena));
    return more;
}

int distinct_values (struct call *c, const struct query_entity *e, const char *select, const char *from,
                     struct text body, struct tag_list *ret, struct error *err)
{
    struct query_where w;
    if (own_rows (c, e, body, &w, err) < 0)
        return -1;
    const char *sql =
        arena_printf (c->arena, "SELECT DISTINCT %s FROM %s%s WHERE %s", select, e->from, from, w.sql.p);
    return add_values (c, sql, &w, ret, err);
}

/* Do these conditions look at nothing but tags? */
static bool only_tags (struct text body)
{
    struct json_iter it = json_iter (body);
    while (json_next (&it))
        if (!text_is (it.key, "tags") && !text_is (it.key, "system_tags"))
            return false;
    return true;
}

/* One row for all that have the same lists (they have the same company, too, and so the same conditions hold for them): from
 * one to the next in the index, however many rows there are between: first those with the same tags, then other tags. (One
 * comparison of both at once would read all that are equal.) */
static const char alike[] =
    "WITH RECURSIVE kind(n) AS ("
    "SELECT (SELECT b.n FROM %1$s b WHERE b.company = ?%2$zu "
    "AND (b.tags <> '[]' OR b.system_tags <> '[]') ORDER BY b.tags, b.system_tags LIMIT 1) "
    "UNION ALL SELECT ifnull("
    "(SELECT b.n FROM %1$s a JOIN %1$s b ON b.company = a.company AND b.tags = a.tags "
    "AND b.system_tags > a.system_tags WHERE a.n = kind.n "
    "AND (b.tags <> '[]' OR b.system_tags <> '[]') ORDER BY b.system_tags LIMIT 1), "
    "(SELECT b.n FROM %1$s a JOIN %1$s b ON b.company = a.company AND b.tags > a.tags WHERE a.n = kind.n "
    "AND (b.tags <> '[]' OR b.system_tags <> '[]') ORDER BY b.tags, b.system_tags LIMIT 1)) "
    "FROM kind WHERE n IS NOT NULL) SELECT n FROM kind";

static const char *tagged_sql (struct arena *a, const struct query_entity *e, const char *column,
                               const struct query_where *w)
{
    return arena_printf (a,
                         "SELECT DISTINCT j.value FROM (%s) k CROSS JOIN %s ON e.n = k.n, json_each(e.%s) j "
                         "WHERE %s ORDER BY j.value",
                         arena_printf (a, alike, e->tagged, w->n), e->from, column, w->sql.p);
}

static int tags_of_column (struct call *c, const struct query_entity *e, const char *column, struct text body,
                           struct tag_list *ret, struct error *err)
{
    struct query_where w;
    if (own_rows (c, e, body, &w, err) < 0)
        return -1;
    if (e->tagged && only_tags (body)) {
        struct value *v = arena_array (c->arena, struct value, w.n + 1);
        memcpy (v, w.values, w.n * sizeof *v);
        v[w.n++] = V_STR (c->who.company);
        w.values = v;
        return add_values (c, tagged_sql (c->arena, e, column, &w), &w, ret, err);
    }
    return add_values (
        c,
        arena_printf (c->arena,
                      "SELECT DISTINCT j.value FROM (SELECT DISTINCT e.%s AS list FROM %s WHERE %s) l, "
                      "json_each(l.list) j ORDER BY j.value",
                      column, e->from, w.sql.p),
        &w, ret, err);
}

int tags_in_use (struct call *c, const struct query_entity *e, struct text body, struct tag_list *ret_tags,
                 struct tag_list *ret_system, struct error *err)
{
    return tags_of_column (c, e, "tags", body, ret_tags, err) < 0 ||
                   (ret_system && tags_of_column (c, e, "system_tags", body, ret_system, err) < 0)
               ? -1
               : 0;
}

/* -- metadata */
static int metadata_item_check (struct text key, struct text item, struct error *err)
{
    static const char *const names[] = { "key", "type", "value" };
    if (json_kind (item) != JSON_OBJECT)
        return error_set (err, ERR_VALIDATION, "metadata: '%.*s' is not an object {key, type, value}",
                          (int)key.n, key.p);
    for (size_t i = 0; i < 3; i++) {
        struct text v = json_get (item, names[i]);
        if (json_kind (v) > JSON_NULL && json_kind (v) != JSON_STRING)
            return error_set (err, ERR_VALIDATION, "metadata: %s of '%.*s' is not a string", names[i],
                              (int)key.n, key.p);
    }
    return 0;
}

int metadata_check (struct text v, struct error *err)
{
    struct json_iter it = json_iter (v);
    if (json_kind (v) != JSON_OBJECT)
        return error_set (err, ERR_VALIDATION, "metadata: give an object of {key: {key, type, value}}");
    if (v.n > METADATA_MAX)
        return error_set (err, ERR_VALIDATION, "metadata: longer than %d bytes", METADATA_MAX);
    while (json_next (&it))
        if (metadata_item_check (it.key, it.value, err) < 0)
            return -1;
    return 0;
}

/* -- everybody's */
int share_all (struct call *c, const struct sql *sql, const char *const *ids, size_t n, int code,
               int64_t *ret, struct error *err)
{
    for (size_t i = 0; i < n; i++) {
        int64_t rc = db_exec (c->db, sql, err, V_STR (ids[i]), V_STR (c->who.company));
        if (rc < 0)
            return -1;
        if (!rc)
            return error_set (err, code, "Invalid id: id=%s, company=%s", ids[i], c->who.company);
    }
    *ret = (int64_t)n;
    return 0;
}

/* -- names */
const char *strip (struct arena *a, const char *s)
{
    size_t n = strlen (s);
    while (n && isspace ((unsigned char)s[n - 1]))
        n--;
    while (n && isspace ((unsigned char)*s))
        s++, n--;
    return arena_strndup (a, s, n);
}

int name_check (struct call *c, const char *what, const char *name, const char **ret, struct error *err)
{
    const char *s = strip (c->arena, name ? name : "");
    size_t letters = utf8_letters (text_of (s));

    if (letters < 3)
        return error_set (err, ERR_DATA_VALIDATION, "%s name must have at least 3 characters: '%s' has %zu",
                          what, s, letters);
    *ret = s;
    return 0;
}
