/* query_list.c - list filters: the mini-language of items ("-x", "__$all", "__$not", null, ...) and its newer form
 * `filters: {field: {any: {include, exclude}, all: {...}, op}}`.
 *
 * Both end in the same few questions to a field: has it one of these, all of these, none of these, is it empty. */
#include "store/query_parts.h"

struct list_values {
    const char **v;
    size_t n;
};

static void list_add (struct arena *a, struct list_values *l, const char *s)
{
    if (!(l->n & (l->n + 1))) { /* full at 0, 1, 3, 7 ... */
        const char **v = arena_array (a, const char *, (l->n + 1) * 2);
        if (l->n)
            memcpy (v, l->v, l->n * sizeof *v);
        l->v = v;
    }
    l->v[l->n++] = s;
}

/* (?1,?2,...) */
static void put_set (struct query_build *b, struct str *s, const struct list_values *l)
{
    str_putc (s, '(');
    for (size_t i = 0; i < l->n; i++) {
        if (i)
            str_putc (s, ',');
        query_put_value (b, s, V_STR (l->v[i]));
    }
    str_putc (s, ')');
}

/* Values with a column of their own leave the list for `flagged`, joined by OR. */
static struct list_values take_flags (struct query_build *b, struct query_named *f,
                                      const struct list_values *l, struct str *flagged)
{
    struct list_values rest = { 0 };
    for (size_t i = 0; i < l->n; i++) {
        const struct query_flag *flag = f->field->flags;
        while (flag->value && strcmp (flag->value, l->v[i]))
            flag++;
        if (flag->value)
            str_addf (flagged, "%s%s", flagged->n ? " OR " : "", flag->condition);
        else
            list_add (b->src->arena, &rest, l->v[i]);
    }
    return rest;
}

static void probe (struct query_build *b, const struct query_field *field, const struct list_values *l)
{
    struct error ignored;
    struct str ids = { .arena = b->src->arena };
    cleanup_rows struct rows r = { 0 };
    str_putc (&ids, '[');
    for (size_t i = 0; i < l->n; i++) {
        json_put_comma (&ids);
        json_put_string (&ids, l->v[i]);
    }
    str_putc (&ids, ']');
    struct value v[2] = { V_STR (b->src->company), V_TEXT (str_text (&ids)) };
    if (db_query_text (b->src->db, field->few, &r, &ignored, v, 2) == 0 && db_next (&r, &ignored) > 0)
        b->few |= row_int (&r, 0) < QUERY_FEW;
}

static void put_has (struct query_build *b, struct query_named *f, const struct list_values *l, bool subtree,
                     struct str *s)
{
    const struct query_field *field = f->field;
    if (subtree && field->subtree) {
        query_put_fragment (b, s, field->expr, f);
        str_addf (s, " IN (%s ", field->subtree);
        put_set (b, s, l);
        str_putc (s, ')');
    } else if (field->each) {
        str_puts (s, "EXISTS (SELECT 1 FROM (");
        query_put_fragment (b, s, field->each, f);
        str_puts (s, ") WHERE v IN ");
        put_set (b, s, l);
        str_putc (s, ')');
    } else {
        query_put_fragment (b, s, field->expr, f);
        str_puts (s, l->n == 1 ? " = " : " IN ");
        if (l->n == 1)
            query_put_value (b, s, V_STR (l->v[0]));
        else
            put_set (b, s, l);
    }
}

static void put_any (struct query_build *b, struct query_named *f, const struct list_values *l, bool subtree,
                     struct str *s)
{
    struct str flagged = { .arena = b->src->arena };
    if (!f->field->flags) {
        put_has (b, f, l, subtree, s);
        return;
    }
    struct list_values rest = take_flags (b, f, l, &flagged);
    str_addf (s, "(%s%s", flagged.n ? flagged.p : "", flagged.n && rest.n ? " OR " : "");
    if (rest.n)
        put_has (b, f, &rest, subtree, s);
    str_putc (s, ')');
}

static void put_all (struct query_build *b, struct query_named *f, const struct list_values *l, bool subtree,
                     struct str *s)
{
    str_putc (s, '(');
    for (size_t i = 0; i < l->n; i++) {
        struct list_values one = { &l->v[i], 1 };
        str_puts (s, i ? " AND " : "");
        put_any (b, f, &one, subtree, s);
    }
    str_putc (s, ')');
}

static void put_none (struct query_build *b, struct query_named *f, const struct list_values *l, bool subtree,
                      struct str *s)
{
    str_puts (s, "NOT ifnull(");
    put_any (b, f, l, subtree, s);
    str_puts (s, ",0)");
}

static void put_empty (struct query_build *b, struct query_named *f, struct str *s)
{
    if (f->field->each) {
        str_puts (s, "NOT EXISTS (");
        query_put_fragment (b, s, f->field->each, f);
        str_putc (s, ')');
    } else {
        str_puts (s, "ifnull(");
        query_put_fragment (b, s, f->field->expr, f);
        str_puts (s, ",'') = ''");
    }
}

/* What the mini-language collects. */
struct list_parse {
    struct list_values any, all, none;
    bool empty;
    bool negate, context_all, legacy, op_set, op_or;
};

static int list_operator (struct list_parse *p, const char *name, const char *item, struct error *err)
{
    const char *op = item + 3;
    if (p->negate)
        return error_set (err, QUERY_ERR_VALUE, "%s: __$not must be followed by a value, not by '%s'", name,
                          item);
    if (!strcmp (op, "not")) {
        p->negate = true;
    } else if (!strcmp (op, "nop")) {
        p->context_all = false;
        p->legacy = true;
        if (!p->op_set)
            p->op_set = true;
    } else if (!strcmp (op, "any") || !strcmp (op, "or") || !strcmp (op, "all") || !strcmp (op, "and")) {
        p->context_all = op[0] == 'a' && op[2] != 'y';
        p->legacy = false;
        if (!p->op_set) {
            p->op_set = true;
            p->op_or = !p->context_all;
        }
    } else {
        return error_set (err, QUERY_ERR_VALUE, "%s: unsupported operator '%s' (any, or, all, and, not, nop)",
                          name, item);
    }
    return 0;
}

static int list_item (struct query_build *b, struct list_parse *p, const char *name, struct text item,
                      struct error *err)
{
    struct arena *a = b->src->arena;
    enum json_kind kind = json_kind (item);
    if (kind == JSON_NULL) {
        p->empty = p->op_set = true;
        return 0;
    }
    if (kind != JSON_STRING)
        return error_set (err, QUERY_ERR_VALUE, "%s: list items must be strings or null, not %.*s", name,
                          item.n < 60 ? (int)item.n : 60, item.p);
    const char *s = json_string (a, item);
    if (!strncmp (s, "__$", 3))
        return list_operator (p, name, s, err);
    p->op_set = true;
    if (p->negate) {
        list_add (a, &p->none, s);
    } else if (p->legacy && s[0] == '-') {
        if (!s[1])
            return error_set (err, QUERY_ERR_VALUE, "%s: '-' must be followed by a value", name);
        list_add (a, &p->none, s + 1);
    } else {
        list_add (a, p->context_all ? &p->all : &p->any, s);
    }
    p->negate = false;
    return 0;
}

int query_list (struct query_build *b, struct query_named *f, const char *name, struct text value,
                bool subtree, struct str *s, struct error *err)
{
    struct list_parse p = { .legacy = true };
    if (json_kind (value) == JSON_ARRAY) {
        struct json_iter it = json_iter (value);
        while (json_next (&it))
            if (list_item (b, &p, name, it.value, err) < 0)
                return -1;
    } else if (list_item (b, &p, name, value, err) < 0) {
        return -1;
    }
    if (p.negate)
        return error_set (err, QUERY_ERR_VALUE, "%s: __$not must be followed by a value", name);

    const char *op = p.op_or ? " OR " : " AND ";
    struct str in = { .arena = b->src->arena };
    if (subtree && f->field->few && p.any.n && !p.empty)
        probe (b, f->field, &p.any);
    if (p.any.n)
        put_any (b, f, &p.any, subtree, &in);
    if (p.all.n) {
        str_puts (&in, in.n ? op : "");
        put_all (b, f, &p.all, subtree, &in);
    }
    if (p.none.n) {
        str_puts (&in, in.n ? op : "");
        /* under OR each exclusion stands alone: lacks a OR lacks b */
        put_none (b, f, &p.none, subtree, &in);
    }
    if (in.n && p.empty) {
        str_putc (s, '(');
        str_add_text (s, str_text (&in));
        str_puts (s, ") OR ");
        put_empty (b, f, s);
    } else if (p.empty) {
        put_empty (b, f, s);
    } else {
        str_add_text (s, str_text (&in));
    }
    return 0;
}

/* -- {any: {include, exclude}, all: {...}, op} */
static int filter_values (struct query_build *b, const char *name, struct text list, struct list_values *ret,
                          bool *ret_null, struct error *err)
{
    if (json_kind (list) == JSON_ABSENT || json_kind (list) == JSON_NULL)
        return 0;
    if (json_kind (list) != JSON_ARRAY)
        return error_set (err, QUERY_ERR_VALIDATION, "filters.%s: include and exclude are lists", name);
    struct json_iter it = json_iter (list);
    while (json_next (&it))
        if (json_kind (it.value) == JSON_NULL)
            *ret_null = true;
        else if (json_kind (it.value) == JSON_STRING)
            list_add (b->src->arena, ret, json_string (b->src->arena, it.value));
        else
            return error_set (err, QUERY_ERR_VALIDATION,
                              "filters.%s: include and exclude hold strings or null", name);
    return 0;
}

static void filter_join (struct str *s, const char *op)
{
    if (s->n)
        str_puts (s, op);
}

static int filter_part (struct query_build *b, struct query_named *f, const char *name, struct text part,
                        bool all, bool subtree, struct str *s, struct error *err)
{
    if (json_kind (part) == JSON_NULL || json_kind (part) == JSON_ABSENT)
        return 0;
    if (json_kind (part) != JSON_OBJECT)
        return error_set (err, QUERY_ERR_VALIDATION, "filters.%s: any and all are objects {include, exclude}",
                          name);
    struct json_iter it = json_iter (part);
    while (json_next (&it))
        if (!text_is (it.key, "include") && !text_is (it.key, "exclude"))
            return error_set (err, QUERY_ERR_VALIDATION,
                              "filters.%s: unknown member '%.*s' (include, exclude)", name, (int)it.key.n,
                              it.key.p);
    struct list_values in = { 0 }, ex = { 0 };
    bool in_null = false, ex_null = false;
    if (filter_values (b, name, json_get (part, "include"), &in, &in_null, err) < 0 ||
        filter_values (b, name, json_get (part, "exclude"), &ex, &ex_null, err) < 0)
        return -1;
    const char *op = all ? " AND " : " OR ";
    if (in.n)
        (all ? put_all : put_any) (b, f, &in, subtree, s);
    if (in_null) {
        filter_join (s, op);
        put_empty (b, f, s);
    }
    if (ex.n) {
        filter_join (s, op);
        if (all) {
            put_none (b, f, &ex, subtree, s);
        } else {
            str_puts (s, "NOT ifnull(");
            put_all (b, f, &ex, subtree, s);
            str_puts (s, ",0)");
        }
    }
    if (ex_null) {
        filter_join (s, op);
        str_puts (s, "NOT (");
        put_empty (b, f, s);
        str_putc (s, ')');
    }
    return 0;
}

int query_list_filter (struct query_build *b, struct query_named *f, const char *name, struct text value,
                       bool subtree, struct str *s, struct error *err)
{
    if (json_kind (value) == JSON_ARRAY) /* a plain list is as good */
        return query_list (b, f, name, value, subtree, s, err);
    if (json_kind (value) != JSON_OBJECT)
        return error_set (err, QUERY_ERR_VALIDATION, "filters.%s: must be an object {any, all, op}", name);
    struct json_iter it = json_iter (value);
    while (json_next (&it))
        if (!text_is (it.key, "any") && !text_is (it.key, "all") && !text_is (it.key, "op"))
            return error_set (err, QUERY_ERR_VALIDATION, "filters.%s: unknown member '%.*s' (any, all, op)",
                              name, (int)it.key.n, it.key.p);
    struct text op = json_get (value, "op");
    bool either = json_string_is (op, "or");
    if (op.p && !either && !json_string_is (op, "and") && json_kind (op) != JSON_NULL)
        return error_set (err, QUERY_ERR_VALIDATION, "filters.%s.op: must be \"and\" or \"or\"", name);
    struct str any = { .arena = b->src->arena }, all = { .arena = b->src->arena };
    if (filter_part (b, f, name, json_get (value, "any"), false, subtree, &any, err) < 0 ||
        filter_part (b, f, name, json_get (value, "all"), true, subtree, &all, err) < 0)
        return -1;
    if (any.n && all.n)
        str_addf (s, "(%s)%s(%s)", any.p, either ? " OR " : " AND ", all.p);
    else
        str_add_text (s, str_text (any.n ? &any : &all));
    return 0;
}
