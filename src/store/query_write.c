/* query_write.c - a row becomes a JSON document: its members, cut to the projection, references replaced by documents
 * where the call joins. Documents of references are read once a request. */
#include "base/clock.h"
#include "store/query_parts.h"

/* -- references */
struct join {
    struct join *next;
    const struct query_node *node;
    const char *id;
    struct text doc;
};
enum { JOIN_SLOTS = 256 };
struct query_joins {
    struct join *slot[JOIN_SLOTS];
};

struct query_joins *query_joins_create (struct arena *a)
{
    return arena_new (a, struct query_joins);
}

struct write {
    const struct query_source *src;
    struct query_joins *joins;
};

static int write_row (struct write *w, struct query_plan *plan, struct query_node *root, struct rows *r,
                      struct str *out, bool with_id, struct error *err);

static bool anything_wanted (const struct query_node *node)
{
    if (node->whole)
        return true;
    for (const struct query_node *c = node->first; c; c = c->next)
        if (c->wanted && strcmp (c->key, "id"))
            return true;
    return false;
}

static int join_read (struct write *w, struct query_node *node, const char *id, struct text *ret,
                      struct error *err)
{
    const struct query_source *src = w->src;
    struct str out = { .arena = src->arena }, sql = { .arena = src->arena };
    struct query_plan *plan = query_plan_of (src, node->ref, node);
    const struct query_entity *e = node->ref;
    str_addf (&sql, "SELECT %s FROM %s %s WHERE e.id = ?1", plan->select, e->from,
              plan->heavy && e->heavy ? e->heavy : "");
    struct value v[2] = { V_STR (id), V_STR (src->company) };
    if (e->company)
        str_addf (&sql, " AND %s IN ('', ?2)", e->company);
    cleanup_rows struct rows r = { 0 };
    if (db_query_text (src->db, sql.p, &r, err, v, e->company ? 2 : 1) < 0)
        return -1;
    int more = db_next (&r, err);
    if (more < 0)
        return -1;
    if (more) {
        if (write_row (w, plan, node, &r, &out, true, err) < 0)
            return -1;
    } else {
        str_puts (&out, "{\"id\":");
        json_put_string (&out, id);
        str_putc (&out, '}');
    }
    *ret = str_text (&out);
    return 0;
}

static int write_ref (struct write *w, struct query_node *node, struct text value, struct str *out,
                      struct error *err)
{
    struct arena *a = w->src->arena;
    if (value.n == 2) { /* "" */
        str_puts (out, "{}");
        return 0;
    }
    if (!anything_wanted (node)) {
        str_puts (out, "{\"id\":");
        str_add_text (out, value);
        str_putc (out, '}');
        return 0;
    }
    const char *id = json_string (a, value);
    size_t h = (size_t)(uintptr_t)node;
    for (const char *p = id; *p; p++)
        h = h * 31 + (unsigned char)*p;
    struct join **slot = &w->joins->slot[h % JOIN_SLOTS], *j = *slot;
    while (j && (j->node != node || strcmp (j->id, id)))
        j = j->next;
    if (!j) {
        struct text doc;
        if (join_read (w, node, id, &doc, err) < 0)
            return -1;
        j = arena_new (a, struct join);
        *j = (struct join){ *slot, node, id, doc };
        *slot = j;
    }
    str_add_text (out, j->doc);
    return 0;
}

/* -- cutting */
static int write_value (struct write *w, struct query_node *node, bool whole, struct text v, struct str *out,
                        struct error *err)
{
    enum json_kind kind = json_kind (v);
    if (!node || (whole && !node->first && !node->ref) || (kind < JSON_ARRAY && !node->ref)) {
        str_add_text (out, v);
        return 0;
    }
    if (kind == JSON_ARRAY) {
        str_putc (out, '[');
        struct json_iter it = json_iter (v);
        while (json_next (&it)) {
            json_put_comma (out);
            if (write_value (w, node, whole, it.value, out, err) < 0)
                return -1;
        }
        str_putc (out, ']');
        return 0;
    }
    if (node->ref) {
        if (kind == JSON_STRING)
            return write_ref (w, node, v, out, err);
        str_add_text (out, v);
        return 0;
    }
    str_putc (out, '{');
    struct json_iter it = json_iter (v);
    while (json_next (&it)) {
        struct query_node *c = query_node_child (
            node, memchr (it.key.p, '\\', it.key.n) ? text_of (json_key (w->src->arena, it.key)) : it.key);
        if (c ? c->drop || !(whole || c->wanted) : !whole)
            continue;
        if (c && c->ref && json_kind (it.value) == JSON_NULL)
            continue;
        json_put_raw_key (out, it.key);
        if (write_value (w, c, whole || (c && c->whole), it.value, out, err) < 0)
            return -1;
    }
    str_putc (out, '}');
    return 0;
}

/* -- members */
static void put_time (struct str *out, int64_t ms)
{
    str_putc (out, '"');
    clock_format (out, ms);
    str_putc (out, '"');
}

/* The JSON of one column; nothing when the member is absent. */
static int put_column (struct write *w, const struct query_field *f, struct rows *r, int col, struct str *out,
                       struct error *err)
{
    if (f->write)
        return f->write (w->src, r, col, out, err);
    if (row_null (r, col)) {
        if (f->otherwise)
            str_puts (out, f->otherwise);
        return 0;
    }
    struct text t;
    switch (f->show) {
        case QUERY_TEXT:
            t = row_text (r, col);
            str_add_json (out, t.p, t.n);
            break;
        case QUERY_INT:
            str_add_int (out, row_int (r, col));
            break;
        case QUERY_REAL:
            str_add_double (out, row_real (r, col));
            break;
        case QUERY_BOOL:
            str_puts (out, row_int (r, col) ? "true" : "false");
            break;
        case QUERY_TIME:
            put_time (out, row_int (r, col));
            break;
        case QUERY_JSON:
            str_add_text (out, row_text (r, col));
            break;
        case QUERY_NONE:
            break;
    }
    return 0;
}

static int put_member (struct write *w, const struct query_field *f, struct query_node *root, struct rows *r,
                       int col, struct str *out, struct error *err)
{
    struct query_node *c = query_node_child (root, text_of (f->name));
    size_t before = out->n;
    json_put_key (out, f->name);
    size_t start = out->n;
    if (!c || (!c->first && !c->ref)) {
        if (put_column (w, f, r, col, out, err) < 0)
            return -1;
    } else {
        struct str raw = { .arena = w->src->arena };
        if (put_column (w, f, r, col, &raw, err) < 0)
            return -1;
        if (raw.n &&
            write_value (w, c, c->whole || (root->whole && !c->wanted), str_text (&raw), out, err) < 0)
            return -1;
    }
    if (out->n == start)
        out->n = before; /* absent */
    return 0;
}

static int write_row (struct write *w, struct query_plan *plan, struct query_node *root, struct rows *r,
                      struct str *out, bool with_id, struct error *err)
{
    bool id_written = false;
    str_putc (out, '{');
    for (size_t i = 0; i < plan->n; i++) {
        if (put_member (w, plan->fields[i], root, r, (int)i + 1, out, err) < 0)
            return -1;
        id_written |= !strcmp (plan->fields[i]->name, "id");
    }
    if (with_id && !id_written) {
        json_put_key (out, "id");
        struct text id = row_text (r, 0);
        str_add_json (out, id.p, id.n);
    }
    str_putc (out, '}');
    return 0;
}

int query_write_row (const struct query_source *src, struct query_plan *plan, struct query_node *root,
                     struct rows *r, struct query_joins *joins, const struct query_options *o,
                     struct str *out, struct error *err)
{
    struct write w = { src, joins };
    const struct query_entity *e = plan->e;
    bool shape = e->shape && src->version < e->shape_below;
    struct str raw = { .arena = src->arena }, *to = shape ? &raw : out;
    const char *id = o && o->item ? row_str (r, 0, src->arena) : NULL;
    if (write_row (&w, plan, root, r, to, o && o->flags & QUERY_EX, err) < 0)
        return -1;
    if (shape && e->shape (src, str_text (&raw), out, err) < 0)
        return -1;
    if (!id)
        return 0;
    out->n--; /* reopen */
    if (o->item (src, id, out, o->arg, err) < 0)
        return -1;
    str_putc (out, '}');
    return 0;
}
