/* query_project.c - `only_fields` / `projection` as a tree, and the columns it needs.
 *
 * In a get_all a reference may be named but not entered ("project.name" is an error); in the _ex family it is a
 * document of its own, with its own fields below. */
#include "store/query_parts.h"

static const struct query_ref *ref_at (const struct query_entity *e, const char *path)
{
    for (const struct query_ref *r = e->refs; r && r->path; r++)
        if (!strcmp (r->path, path))
            return r;
    return NULL;
}

struct query_node *query_node_child (const struct query_node *node, struct text key)
{
    for (struct query_node *c = node ? node->first : NULL; c; c = c->next)
        if (text_is (key, c->key))
            return c;
    return NULL;
}

static struct query_node *node_add (struct arena *a, struct query_node *parent, const char *key)
{
    struct query_node *c = query_node_child (parent, text_of (key));
    if (c)
        return c;
    c = arena_new (a, struct query_node);
    c->key = key;
    c->next = parent->first;
    parent->first = c;
    return c;
}

/* Nodes on the way to every reference, so that output knows where ids become documents. */
static void add_refs (struct arena *a, const struct query_entity *e, struct query_node *root)
{
    for (const struct query_ref *r = e->refs; r && r->path; r++) {
        struct query_node *n = root;
        char *path = arena_strdup (a, r->path), *save = NULL;
        for (char *part = strtok_r (path, ".", &save); part; part = strtok_r (NULL, ".", &save))
            n = node_add (a, n, part);
        n->ref = r->target;
    }
}

static char *unescape (char *part)
{
    char *out = part;
    for (char *p = part; (*out = *p); p++, out++)
        if (!strncmp (p, "%2E", 3) || !strncmp (p, "%2e", 3)) {
            *out = '.';
            p += 2;
        }
    return part;
}

struct path {
    const struct query_entity *e;
    struct query_node *node;
    struct str seen; /* dotted path within the entity */
};

/* One more part of a path: checks the name, enters a reference when the one before was its id. */
static int path_step (const struct query_source *src, struct path *p, char *part, const char *item,
                      unsigned flags, struct error *err)
{
    struct arena *a = src->arena;
    const struct query_ref *ref = p->seen.n ? ref_at (p->e, p->seen.p) : NULL;
    if (ref) {
        if (!(flags & QUERY_EX))
            return error_set (err, QUERY_ERR_FIELDS,
                              "only_fields: '%s' looks into another object: only the _ex calls join", item);
        p->e = ref->target;
        p->seen = (struct str){ .arena = a };
        add_refs (a, p->e, p->node);
    }
    if (!p->seen.n && !query_member (p->e, text_of (part)))
        return error_set (err, QUERY_ERR_FIELDS, "Fields not defined for object: fields=(%s), object=%s",
                          item, p->e->name);
    unescape (part);
    str_addf (&p->seen, "%s%s", p->seen.n ? "." : "", part);
    p->node = node_add (a, p->node, part);
    return 0;
}

static int add_path (const struct query_source *src, const struct query_entity *e, struct query_node *root,
                     const char *item, unsigned flags, struct error *err)
{
    struct arena *a = src->arena;
    bool drop = item[0] == '-';
    char *path = arena_strdup (a, item + drop), *save = NULL;
    size_t n = strlen (path);
    if (!n)
        return error_set (err, QUERY_ERR_FIELDS, "only_fields: '%s' is no field name", item);
    if (!strcmp (path, "*")) {
        root->whole = true;
        return 0;
    }
    bool star = n > 2 && !strcmp (path + n - 2, ".*");
    if (star)
        path[n - 2] = 0;
    struct path p = { e, root, { .arena = a } };
    for (char *part = strtok_r (path, ".", &save); part; part = strtok_r (NULL, ".", &save)) {
        if (!drop)
            p.node->wanted = true;
        if (path_step (src, &p, part, item, flags, err) < 0)
            return -1;
    }
    if (p.node == root)
        return error_set (err, QUERY_ERR_FIELDS, "only_fields: '%s' is no field name", item);
    if (drop) {
        p.node->drop = true;
        return 0;
    }
    p.node->wanted = true;
    if (!p.node->ref)
        p.node->whole = true;
    else if (star) {
        add_refs (a, p.node->ref, p.node);
        p.node->whole = true;
    }
    return 0;
}

static struct text projection_list (struct text body)
{
    struct text p = json_get (body, "projection");
    if (json_kind (p) > JSON_NULL && !(json_kind (p) == JSON_ARRAY && !json_count (p)))
        return p;
    return json_get (body, "only_fields");
}

int query_projection (const struct query_source *src, const struct query_entity *e, struct text body,
                      unsigned flags, struct query_node **ret, struct error *err)
{
    struct arena *a = src->arena;
    struct query_node *root = arena_new (a, struct query_node);
    struct text list = projection_list (body);
    size_t includes = 0;
    if (flags & QUERY_EX)
        add_refs (a, e, root);
    struct json_iter it = json_iter (list);
    bool array = json_kind (list) == JSON_ARRAY, one = json_kind (list) == JSON_STRING;
    if (json_kind (list) > JSON_NULL && !array && !one)
        return error_set (err, QUERY_ERR_FIELDS, "only_fields: must be a list of field names");
    while (array ? json_next (&it) : one) {
        const char *item = json_string (a, array ? it.value : list);
        if (!item)
            return error_set (err, QUERY_ERR_FIELDS, "only_fields: must be a list of field names");
        one = false;
        includes += item[0] != '-';
        if (add_path (src, e, root, item, flags, err) < 0)
            return -1;
    }
    if (!includes)
        root->whole = true;
    root->wanted = true;
    if (flags & QUERY_EX && !root->whole) {
        struct query_node *id = node_add (a, root, "id");
        id->wanted = id->whole = true;
        id->drop = false;
    }
    *ret = root;
    return 0;
}

/* Is the member shown? */
static bool member_wanted (const struct query_node *root, const struct query_field *f)
{
    const struct query_node *c = query_node_child (root, text_of (f->name));
    if (c && c->drop)
        return false;
    if (c && c->wanted)
        return true;
    return root->whole && !(f->ops & QUERY_ASKED);
}

struct query_plan *query_plan_of (const struct query_source *src, const struct query_entity *e,
                                  struct query_node *root)
{
    if (root->plan)
        return root->plan;
    struct query_plan *p = arena_new (src->arena, struct query_plan);
    struct str select = { .arena = src->arena };
    size_t n = 0;
    while (e->fields[n].name)
        n++;
    p->e = e;
    p->fields = arena_array (src->arena, const struct query_field *, n + 1);
    str_puts (&select, "e.id");
    for (const struct query_field *f = e->fields; f->name; f++) {
        if (f->show == QUERY_NONE || strchr (f->name, '.') || !member_wanted (root, f))
            continue;
        p->fields[p->n++] = f;
        p->heavy |= (f->ops & QUERY_HEAVY) != 0;
        const char *column = f->column ? f->column : f->expr;
        str_addf (&select, ", %s", column ? column : "NULL");
    }
    p->select = select.p;
    root->plan = p;
    return p;
}
