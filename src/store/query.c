/* query.c - the query language from end to end: see query.h.
 *
 * Two ways to read a page. When only light columns are wanted one statement gives them. When documents are wanted, the
 * first statement gives the keys of the page and each document is read by its key, so that no sort ever carries
 * documents; the same where the order is by something no index has. */
#include "base/id.h"
#include "store/query_parts.h"
#include "store/volatile.h"

enum { PAGE_MAX = 500, SCROLL_MS = 600 * 1000 };

struct page {
    int64_t limit, offset; /* limit -1: all */
    const char *scroll_id; /* when scrolling */
    const char *scroll_key;
};

/* -- paging */
static int page_number (struct text body, const char *name, int64_t least, int64_t otherwise, int64_t *ret,
                        struct error *err)
{
    struct text v = json_get (body, name);
    if (json_kind (v) <= JSON_NULL) {
        *ret = otherwise;
        return 0;
    }
    *ret = json_int (v, INT64_MIN);
    if (*ret < least)
        return error_set (err, QUERY_ERR_VALIDATION, "%s must be >=%lld", name, (long long)least);
    return 0;
}

static int page_scroll (const struct query_source *src, struct text body, struct page *p, struct error *err)
{
    struct arena *a = src->arena;
    const char *id = json_string (a, json_get (body, "scroll_id"));
    struct text at;
    if (page_number (body, "size", 1, PAGE_MAX, &p->limit, err) < 0)
        return -1;
    p->offset = 0;
    if (!id || !id_valid (id))
        id = arena_strdup (a, id_random ().hex);
    p->scroll_id = id;
    p->scroll_key = arena_printf (a, "scroll/%s/%s", src->company ? src->company : "", id);
    if (volatile_get (src->volatiles, a, p->scroll_key, &at))
        p->offset = json_int (at, 0);
    if (json_true (json_get (body, "refresh_scroll"))) {
        if (p->offset > p->limit)
            p->limit = p->offset;
        p->offset = 0;
    }
    return 0;
}

static int page_of (const struct query_source *src, struct text body, unsigned flags, struct page *p,
                    struct error *err)
{
    struct text page = json_get (body, "page"), size = json_get (body, "page_size");
    *p = (struct page){ .limit = -1 };
    if (flags & QUERY_UNPAGED)
        return 0;
    if (json_get (body, "scroll_id").p && src->volatiles)
        return page_scroll (src, body, p, err);
    if (json_kind (json_get (body, "size")) > JSON_NULL || json_kind (json_get (body, "start")) > JSON_NULL) {
        if (page_number (body, "size", 1, PAGE_MAX, &p->limit, err) < 0)
            return -1;
        return page_number (body, "start", 0, 0, &p->offset, err);
    }
    if (json_kind (size) == JSON_NULL && json_kind (page) == JSON_NULL)
        return 0;
    if (json_kind (size) == JSON_NULL && json_kind (page) > JSON_NULL)
        return error_set (err, QUERY_ERR_MISSING, "page_size: must be given with page");
    int64_t number;
    if (page_number (body, "page", 0, 0, &number, err) < 0 ||
        page_number (body, "page_size", 1, PAGE_MAX, &p->limit, err) < 0)
        return -1;
    if (p->limit > PAGE_MAX)
        p->limit = PAGE_MAX;
    p->offset = number > INT64_MAX / PAGE_MAX ? INT64_MAX / 2 : number * p->limit;
    return 0;
}

static void page_remember (const struct query_source *src, const struct page *p, size_t n)
{
    if (!p->scroll_id)
        return;
    const char *at = arena_printf (src->arena, "%lld", (long long)(p->offset + (int64_t)n));
    volatile_put (src->volatiles, p->scroll_key, text_of (at), SCROLL_MS);
}

/* -- reading */
struct run {
    const struct query_source *src;
    const struct query_entity *e;
    const struct query_options *o;
    struct query_node *root;
    struct query_plan *plan;
    struct query_joins *joins;
    struct str out;
    size_t n;
};

static int run_row (struct run *q, struct rows *r, struct error *err)
{
    json_put_comma (&q->out);
    q->n++;
    return query_write_row (q->src, q->plan, q->root, r, q->joins, q->o, &q->out, err);
}

static int run_light (struct run *q, const char *sql, const struct query_build *b, struct error *err)
{
    cleanup_rows struct rows r = { 0 };
    int more;
    if (db_query_text (q->src->db, sql, &r, err, b->values, b->n) < 0)
        return -1;
    while ((more = db_next (&r, err)) > 0)
        if (run_row (q, &r, err) < 0)
            return -1;
    return more;
}

struct keys {
    struct value *v;
    size_t n, cap;
};

static int run_keys (struct run *q, const char *sql, const struct query_build *b, struct keys *ret,
                     struct error *err)
{
    cleanup_rows struct rows r = { 0 };
    int more;
    if (db_query_text (q->src->db, sql, &r, err, b->values, b->n) < 0)
        return -1;
    while ((more = db_next (&r, err)) > 0) {
        if (ret->n == ret->cap) {
            ret->cap = ret->cap ? ret->cap * 2 : 64;
            struct value *v = arena_array (q->src->arena, struct value, ret->cap);
            if (ret->n)
                memcpy (v, ret->v, ret->n * sizeof *v);
            ret->v = v;
        }
        ret->v[ret->n++] = V_INT (row_int (&r, 0));
    }
    return more;
}

static int run_heavy (struct run *q, const char *sql, const struct query_build *b, struct error *err)
{
    struct keys keys = { 0 };
    struct str one = { .arena = q->src->arena };
    if (run_keys (q, sql, b, &keys, err) < 0)
        return -1;
    str_addf (&one, "SELECT %s FROM %s %s WHERE %s = ?1", q->plan->select, q->e->from,
              q->plan->heavy && q->e->heavy ? q->e->heavy : "", q->e->key);
    for (size_t i = 0; i < keys.n; i++) {
        cleanup_rows struct rows r = { 0 };
        if (db_query_text (q->src->db, one.p, &r, err, &keys.v[i], 1) < 0)
            return -1;
        int more = db_next (&r, err);
        if (more < 0 || (more && run_row (q, &r, err) < 0))
            return -1;
    }
    return 0;
}

int query_run (const struct query_source *src, const struct query_entity *e, struct text body,
               const struct query_options *o, struct query_result *ret, struct error *err)
{
    struct query_options none = { 0 };
    o = o ? o : &none;
    struct query_build b = { .src = src, .e = e, .sql = { .arena = src->arena } };
    struct str order = { .arena = src->arena }, sql = { .arena = src->arena };
    struct page page;
    struct run q = { .src = src, .e = e, .o = o, .out = { .arena = src->arena } };
    if (query_projection (src, e, body, o->flags, &q.root, err) < 0 ||
        page_of (src, body, o->flags, &page, err) < 0 || query_build_where (&b, body, o, err) < 0 ||
        query_build_order (&b, body, &order, err) < 0)
        return -1;
    q.plan = query_plan_of (src, e, q.root);
    q.joins = query_joins_create (src->arena);
    bool heavy = (q.plan->heavy && e->heavy) || b.computed;
    str_addf (&sql, "SELECT %s FROM %s%s%s ORDER BY %s", heavy ? e->key : q.plan->select, e->from,
              b.sql.n ? " WHERE " : "", b.sql.n ? b.sql.p : "", order.p);
    if (page.limit >= 0) {
        str_puts (&sql, " LIMIT ");
        query_put_value (&b, &sql, V_INT (page.limit));
        str_puts (&sql, " OFFSET ");
        query_put_value (&b, &sql, V_INT (page.offset));
    }
    str_putc (&q.out, '[');
    if ((heavy ? run_heavy : run_light) (&q, sql.p, &b, err) < 0) {
        if (strstr (err->text, QUERY_TOO_MUCH)) /* the wish is at fault, not the store */
            err->code = QUERY_ERR_REGEX;
        return -1;
    }
    str_putc (&q.out, ']');
    page_remember (src, &page, q.n);
    *ret = (struct query_result){ str_text (&q.out), q.n, page.scroll_id };
    return 0;
}

int query_one (const struct query_source *src, const struct query_entity *e, const char *id, struct text body,
               unsigned flags, struct text *ret, struct error *err)
{
    struct query_options o = { .flags = flags };
    struct query_node *root;
    struct str out = { .arena = src->arena }, sql = { .arena = src->arena };
    if (query_projection (src, e, body, flags, &root, err) < 0)
        return -1;
    struct query_plan *plan = query_plan_of (src, e, root);
    struct value v[2] = { V_STR (id), V_STR (src->company) };
    str_addf (&sql, "SELECT %s FROM %s %s WHERE e.id = ?1", plan->select, e->from,
              plan->heavy && e->heavy ? e->heavy : "");
    if (e->company)
        str_addf (&sql, flags & QUERY_OWN ? " AND %s = ?2" : " AND %s IN ('', ?2)", e->company);
    cleanup_rows struct rows r = { 0 };
    if (db_query_text (src->db, sql.p, &r, err, v, e->company ? 2 : 1) < 0)
        return -1;
    int more = db_next (&r, err);
    if (more < 0)
        return -1;
    if (more && query_write_row (src, plan, root, &r, query_joins_create (src->arena), &o, &out, err) < 0)
        return -1;
    *ret = more ? str_text (&out) : (struct text){ NULL, 0 };
    return 0;
}

int query_conditions (const struct query_source *src, const struct query_entity *e, struct text body,
                      const struct query_options *o, struct query_where *ret, struct error *err)
{
    struct query_options none = { 0 };
    struct query_build b = { .src = src, .e = e, .sql = { .arena = src->arena } };
    if (query_build_where (&b, body, o ? o : &none, err) < 0)
        return -1;
    if (!b.sql.n)
        str_putc (&b.sql, '1');
    *ret = (struct query_where){ b.sql, b.values, b.n };
    return 0;
}
