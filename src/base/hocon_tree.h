/* hocon_tree.h - between the files hocon_*.c only: the tree before substitutions are resolved.
 *
 * A field keeps all values that were ever given to it, in order ("layers"): `a = ${a} [3]` needs the one before,
 * and an object over an object is a merge. The parser merges plain objects at once and drops layers that can no
 * longer be seen, so a field has one layer unless a substitution is in play. */
#pragma once
#include "base/arena.h"
#include "base/error.h"
#include "base/str.h"
#include "base/text.h"

#include <stdbool.h>
#include <stddef.h>

enum node_kind {
    NODE_NULL,
    NODE_BOOL,
    NODE_NUMBER, /* text as written, valid JSON */
    NODE_STRING,
    NODE_ARRAY,
    NODE_OBJECT,
    NODE_SUBST,
    NODE_CONCAT
};

struct node {
    enum node_kind kind;
    const char *file; /* where it stands, for errors */
    int line;
    bool truth;                 /* BOOL */
    bool optional;              /* SUBST: ${?..} */
    const char *space;          /* inside a CONCAT: white space before it, never NULL there */
    struct text text;           /* NUMBER, STRING; SUBST: as written, for errors */
    struct path *path;          /* SUBST */
    struct path *prefix;        /* SUBST from an included file: where that file's root lies */
    struct node **items;        /* ARRAY, CONCAT */
    size_t n, cap;              /* items */
    struct field *first, *last; /* OBJECT */
    size_t fields;
};

struct field {
    struct field *next;
    const char *key;
    struct node **layers;
    size_t n, cap;
    size_t working;        /* resolve: 1 + index of the layer being resolved, 0 = none */
    struct node *resolved; /* of all layers, once known */
    bool known;            /* resolved is valid (NULL: absent) */
};

struct path {
    struct path *next;
    const char *key;
};

struct hocon {
    struct arena *a;
    struct node *root;
    const char *(*lookup) (const char *name, void *arg);
    void *lookup_arg;
    size_t steps, depth; /* of resolving */
};

struct node *node_create (struct hocon *h, enum node_kind kind, const char *file, int line);
void node_add (struct hocon *h, struct node *list, struct node *item);
struct field *node_find (const struct node *object, const char *key);
struct field *node_field (struct hocon *h, struct node *object, const char *key); /* found or made */
void field_add (struct hocon *h, struct field *f, struct node *value);            /* one more layer */
void node_assign (struct hocon *h, struct node *object, const struct path *path, struct node *value);
