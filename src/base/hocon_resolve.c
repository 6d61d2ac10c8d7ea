/* hocon_resolve.c - the tree with its substitutions replaced, and its JSON text.
 *
 * `${a.b}` means the final value of a.b in the whole configuration, except inside a.b itself, where it means what
 * a.b was before. So a field remembers which of its layers is being resolved; whoever meets it again meanwhile gets
 * the fold of the layers below, and when there is none, the environment, and then it is a cycle. Nothing is
 * remembered between two look-ups (what a name means depends on who asks); a bound on the steps ends what grows. */
#include "base/hocon.h"
#include "base/hocon_tree.h"
#include "base/json.h"

#include <errno.h>
#include <string.h>

enum { STEPS_MAX = 1 << 20 };

/* What stands for "there is no value" (an optional substitution that found nothing) is a NULL node. */
static int resolve_node (struct hocon *h, struct node *n, struct node **ret, struct error *err);
static int resolve_field (struct hocon *h, struct field *f, size_t layers, struct node **ret,
                          struct error *err);

static int step (struct hocon *h, const struct node *n, struct error *err)
{
    if (++h->steps > STEPS_MAX || h->depth > 4 * HOCON_DEPTH_MAX)
        return error_set (err, EINVAL, "%s:%d: the substitutions grow without end", n->file, n->line);
    return 0;
}

static int fail_at (const struct node *n, struct error *err, const char *text)
{
    return error_set (err, EINVAL, "%s:%d: %.*s: %s", n->file, n->line, (int)n->text.n, n->text.p, text);
}

/* Both are resolved objects: a new one with the members of both, `over` winning. */
static struct node *merge (struct hocon *h, struct node *under, struct node *over)
{
    struct node *out = node_create (h, NODE_OBJECT, over->file, over->line);

    for (int side = 0; side < 2; side++) {
        for (struct field *from = side ? over->first : under->first; from; from = from->next) {
            struct field *to = node_field (h, out, from->key);
            struct node *v = from->resolved;

            if (to->known && to->resolved->kind == NODE_OBJECT && v->kind == NODE_OBJECT)
                v = merge (h, to->resolved, v);
            to->resolved = v;
            to->known = true;
            h->steps++;
        }
    }
    return out;
}

/* -- looking a path up ------------------------------------------------------------------------------------------ */

/* The value at `path` below the resolved or unresolved object `n`; *ret NULL when there is none. */
static int look_up (struct hocon *h, struct node *object, const struct path *path, struct node **ret,
                    struct error *err);

static int look_into_layer (struct hocon *h, struct field *f, size_t i, const struct path *path,
                            struct node **ret, struct error *err)
{
    struct node *layer = f->layers[i];

    *ret = NULL;
    if (layer->kind != NODE_OBJECT) {
        size_t before = f->working;
        int r;

        if (f->working && i + 1 >= f->working)
            return 0; /* it is this layer that asks: look below it */
        f->working = i + 1;
        r = resolve_node (h, layer, &layer, err);
        f->working = before;
        if (r < 0 || !layer || layer->kind != NODE_OBJECT)
            return r;
    }
    return look_up (h, layer, path, ret, err);
}

static int look_up (struct hocon *h, struct node *object, const struct path *path, struct node **ret,
                    struct error *err)
{
    struct field *f = node_find (object, path->key);
    struct node *found = NULL;

    *ret = NULL;
    if (!f || step (h, object, err) < 0)
        return f ? -1 : 0;
    if (f->known) {
        if (!path->next || !f->resolved || f->resolved->kind != NODE_OBJECT) {
            *ret = path->next ? NULL : f->resolved;
            return 0;
        }
        return look_up (h, f->resolved, path->next, ret, err);
    }
    if (!path->next)
        return resolve_field (h, f, f->working ? f->working - 1 : f->n, ret, err);
    for (size_t i = f->n;
         i-- > 0;) { /* the newest layer that has it; objects of older layers shine through */
        struct node *below;

        if (look_into_layer (h, f, i, path->next, &below, err) < 0)
            return -1;
        if (below && found)
            found = merge (h, below->kind == NODE_OBJECT ? below : found, found);
        else if (below)
            found = below;
        if (found && found->kind != NODE_OBJECT)
            break;
        if (f->layers[i]->kind < NODE_OBJECT)
            break;
    }
    *ret = found;
    return 0;
}

static int resolve_subst (struct hocon *h, struct node *n, struct node **ret, struct error *err)
{
    struct str name = { .arena = h->a };
    struct node *found = NULL;
    const char *value;

    if (n->prefix) {
        struct path *full = NULL, **to = &full;

        for (int side = 0; side < 2; side++)
            for (const struct path *p = side ? n->path : n->prefix; p; p = p->next, to = &(*to)->next)
                (*to = arena_new (h->a, struct path))->key = p->key;
        if (look_up (h, h->root, full, &found, err) < 0)
            return -1;
    }
    if (!found && look_up (h, h->root, n->path, &found, err) < 0)
        return -1;
    if (found) {
        *ret = found;
        return 0;
    }
    for (const struct path *p = n->path; p; p = p->next)
        str_addf (&name, "%s%s", name.n ? "." : "", p->key);
    value = h->lookup (name.p, h->lookup_arg);
    if (value) {
        *ret = node_create (h, NODE_STRING, n->file, n->line);
        (*ret)->text = text_of (arena_strdup (h->a, value));
        return 0;
    }
    if (!n->optional)
        return fail_at (n, err, "neither the configuration nor the environment has it, or it means itself");
    *ret = NULL;
    return 0;
}

/* -- values ----------------------------------------------------------------------------------------------------- */

static void add_simple (struct str *s, const struct node *n)
{
    if (n->kind == NODE_NULL)
        str_puts (s, "null");
    else if (n->kind == NODE_BOOL && !n->text.p)
        str_puts (s, n->truth ? "true" : "false");
    else
        str_add_text (s, n->text);
}

/* Put resolved `next` behind resolved `sofar`. */
static int join (struct hocon *h, struct node *sofar, struct node *next, const char *space, struct node **ret,
                 struct error *err)
{
    struct node *out;

    if (sofar->kind == NODE_OBJECT && next->kind == NODE_OBJECT) {
        *ret = merge (h, sofar, next);
        return 0;
    }
    if (sofar->kind == NODE_ARRAY && next->kind == NODE_ARRAY) {
        out = node_create (h, NODE_ARRAY, next->file, next->line);
        for (size_t i = 0; i < sofar->n + next->n; i++)
            node_add (h, out, i < sofar->n ? sofar->items[i] : next->items[i - sofar->n]);
        h->steps += out->n;
        *ret = out;
        return 0;
    }
    if (sofar->kind >= NODE_ARRAY || next->kind >= NODE_ARRAY)
        return error_set (err, EINVAL,
                          "%s:%d: a list or an object cannot be joined with a value of another kind",
                          next->file, next->line);
    struct str s = { .arena = h->a };
    add_simple (&s, sofar);
    str_puts (&s, space);
    add_simple (&s, next);
    if (s.n > HOCON_OUT_MAX)
        return error_set (err, EFBIG, "%s:%d: the value grows over %d bytes", next->file, next->line,
                          HOCON_OUT_MAX);
    h->steps += s.n / 64;
    out = node_create (h, NODE_STRING, next->file, next->line);
    out->text = str_text (&s);
    *ret = out;
    return 0;
}

static int resolve_concat (struct hocon *h, struct node *n, struct node **ret, struct error *err)
{
    struct node *all = NULL, *part;

    for (size_t i = 0; i < n->n; i++) {
        if (resolve_node (h, n->items[i], &part, err) < 0)
            return -1;
        if (!part)
            continue;
        if (!all)
            all = part;
        else if (join (h, all, part, n->items[i]->space, &all, err) < 0 || step (h, n, err) < 0)
            return -1;
    }
    *ret = all;
    return 0;
}

static int resolve_array (struct hocon *h, struct node *n, struct node **ret, struct error *err)
{
    struct node *out = node_create (h, NODE_ARRAY, n->file, n->line), *item;

    for (size_t i = 0; i < n->n; i++) {
        if (resolve_node (h, n->items[i], &item, err) < 0)
            return -1;
        if (item)
            node_add (h, out, item);
    }
    *ret = out;
    return 0;
}

static int resolve_object (struct hocon *h, struct node *n, struct node **ret, struct error *err)
{
    struct node *out = node_create (h, NODE_OBJECT, n->file, n->line), *v;

    for (struct field *f = n->first; f; f = f->next) {
        if (f->known)
            v = f->resolved;
        else if (resolve_field (h, f, f->working ? f->working - 1 : f->n, &v, err) < 0)
            return -1;
        if (v) {
            struct field *to = node_field (h, out, f->key);

            to->resolved = v;
            to->known = true;
        }
    }
    *ret = out;
    return 0;
}

static int resolve_node (struct hocon *h, struct node *n, struct node **ret, struct error *err)
{
    int r;

    if (step (h, n, err) < 0)
        return -1;
    h->depth++;
    switch (n->kind) {
        case NODE_SUBST:
            r = resolve_subst (h, n, ret, err);
            break;
        case NODE_CONCAT:
            r = resolve_concat (h, n, ret, err);
            break;
        case NODE_ARRAY:
            r = resolve_array (h, n, ret, err);
            break;
        case NODE_OBJECT:
            r = resolve_object (h, n, ret, err);
            break;
        default:
            *ret = n;
            r = 0;
    }
    h->depth--;
    return r;
}

/* The fold of the first `layers` layers. */
static int resolve_field (struct hocon *h, struct field *f, size_t layers, struct node **ret,
                          struct error *err)
{
    size_t before = f->working;
    struct node *all = NULL, *v;

    for (size_t i = 0; i < layers; i++) {
        int r;

        f->working = i + 1;
        r = resolve_node (h, f->layers[i], &v, err);
        f->working = before;
        if (r < 0)
            return -1;
        if (!v)
            continue; /* an optional one that found nothing leaves what was there */
        all = all && all->kind == NODE_OBJECT && v->kind == NODE_OBJECT ? merge (h, all, v) : v;
    }
    *ret = all;
    return 0;
}

/* -- JSON ------------------------------------------------------------------------------------------------------- */

static int write_node (struct str *s, const struct node *n, int depth, struct error *err)
{
    if (s->n > HOCON_OUT_MAX || depth > 5 * HOCON_DEPTH_MAX)
        return error_set (err, EFBIG, "%s:%d: the configuration grows over %d bytes or too deep", n->file,
                          n->line, HOCON_OUT_MAX);
    switch (n->kind) {
        case NODE_NULL:
            str_puts (s, "null");
            return 0;
        case NODE_BOOL:
            str_puts (s, n->truth ? "true" : "false");
            return 0;
        case NODE_NUMBER:
            str_add_text (s, n->text);
            return 0;
        case NODE_ARRAY:
            str_putc (s, '[');
            for (size_t i = 0; i < n->n; i++) {
                json_put_comma (s);
                if (write_node (s, n->items[i], depth + 1, err) < 0)
                    return -1;
            }
            str_putc (s, ']');
            return 0;
        case NODE_OBJECT:
            str_putc (s, '{');
            for (const struct field *f = n->first; f; f = f->next) {
                json_put_key (s, f->key);
                if (write_node (s, f->resolved, depth + 1, err) < 0)
                    return -1;
            }
            str_putc (s, '}');
            return 0;
        default:
            str_add_json (s, n->text.p ? n->text.p : "", n->text.n);
            return 0;
    }
}

int hocon_resolve (struct hocon *h, struct text *ret_json, struct error *err)
{
    struct str s = { .arena = h->a };
    struct node *out;

    h->steps = h->depth = 0;
    if (resolve_node (h, h->root, &out, err) < 0 || write_node (&s, out, 0, err) < 0)
        return -1;
    *ret_json = str_text (&s);
    return 0;
}
