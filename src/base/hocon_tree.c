/* hocon_tree.c - making and merging the tree of hocon_tree.h. */
#include "base/hocon_tree.h"

#include <string.h>

struct node *node_create (struct hocon *h, enum node_kind kind, const char *file, int line)
{
    struct node *n = arena_new (h->a, struct node);

    n->kind = kind;
    n->file = file;
    n->line = line;
    n->space = "";
    return n;
}

static void grow (struct hocon *h, struct node ***v, size_t n, size_t *cap)
{
    struct node **wider;

    if (n < *cap)
        return;
    *cap = *cap ? *cap * 2 : 2;
    wider = arena_array (h->a, struct node *, *cap);
    if (n)
        memcpy (wider, *v, n * sizeof (*wider));
    *v = wider;
}

void node_add (struct hocon *h, struct node *list, struct node *item)
{
    grow (h, &list->items, list->n, &list->cap);
    list->items[list->n++] = item;
}

struct field *node_find (const struct node *object, const char *key)
{
    for (struct field *f = object->first; f; f = f->next)
        if (!strcmp (f->key, key))
            return f;
    return NULL;
}

struct field *node_field (struct hocon *h, struct node *object, const char *key)
{
    struct field *f = node_find (object, key);

    if (f)
        return f;
    f = arena_new (h->a, struct field);
    f->key = key;
    if (object->last)
        object->last->next = f;
    else
        object->first = f;
    object->last = f;
    object->fields++;
    return f;
}

static bool has_subst (const struct node *n)
{
    return n->kind == NODE_SUBST || n->kind == NODE_CONCAT || n->kind == NODE_ARRAY;
}

void field_add (struct hocon *h, struct field *f, struct node *value)
{
    struct node *top = f->n ? f->layers[f->n - 1] : NULL;

    if (top && top->kind == NODE_OBJECT && value->kind == NODE_OBJECT) {
        for (struct field *from = value->first; from; from = from->next) {
            struct field *to = node_field (h, top, from->key);

            for (size_t i = 0; i < from->n; i++)
                field_add (h, to, from->layers[i]);
        }
        return;
    }
    if (value->kind != NODE_OBJECT && !has_subst (value))
        f->n = 0; /* a plain value hides all before it */
    grow (h, &f->layers, f->n, &f->cap);
    f->layers[f->n++] = value;
}

void node_assign (struct hocon *h, struct node *object, const struct path *path, struct node *value)
{
    for (; path->next; path = path->next) {
        struct field *f = node_field (h, object, path->key);

        if (!f->n || f->layers[f->n - 1]->kind != NODE_OBJECT)
            field_add (h, f, node_create (h, NODE_OBJECT, value->file, value->line));
        object = f->layers[f->n - 1];
    }
    field_add (h, node_field (h, object, path->key), value);
}
