/* query_parts.h - what the files of the query language share; nobody else includes it. */
#pragma once
#include "base/json.h"
#include "store/query.h"

/* The wire's codes this room speaks (wire/errors.h lies beyond its door; status * 10000 + subcode). */
enum query_error {
    QUERY_ERR_MISSING = 4000011,
    QUERY_ERR_VALIDATION = 4000012,
    QUERY_ERR_FIELDS = 4000014,
    QUERY_ERR_VALUE = 4000016,
    QUERY_ERR_REGEX = 4000021,
};

/* What a match that was stopped says; the caller sees 400/21. */
#define QUERY_TOO_MUCH "regular expression takes too much work: make it simpler"

enum { QUERY_PARTS = 4, QUERY_MAX_VALUES = 30000 };

/* A field as a request names it: the row of the table and, below ".*", the parts of the name. */
struct query_named {
    const struct query_field *field;
    const char *part[QUERY_PARTS];
    int param[QUERY_PARTS]; /* number of the parameter each part became, 0 = none yet */
};

struct query_build {
    const struct query_source *src;
    const struct query_entity *e;
    struct str sql; /* conditions so far, joined by AND */
    struct value *values;
    size_t n, cap;
    int company, now; /* parameters, 0 = none yet */
    bool few;         /* the conditions leave so little that sorting beats walking an index of the order */
    bool computed;    /* the order is by something no index has */
};

/* -- query_build.c */
bool query_find (struct query_build *b, const char *name, unsigned ops, struct query_named *ret);
const struct query_field *query_member (const struct query_entity *e, struct text name);
int query_value (struct query_build *b, struct value v); /* keeps it, gives its number */
void query_put_value (struct query_build *b, struct str *s, struct value v);
void query_put_fragment (struct query_build *b, struct str *s, const char *fragment, struct query_named *f);
void query_and (struct query_build *b, struct str *condition);
struct value query_json_value (struct arena *a, struct text v);
int query_build_where (struct query_build *b, struct text body, const struct query_options *o,
                       struct error *err);
int query_build_order (struct query_build *b, struct text body, struct str *ret, struct error *err);

/* -- query_filter.c: one condition into `s` (left empty: no condition) */
int query_filter_plain (struct query_build *b, struct query_named *f, const char *name, struct text value,
                        bool subtree, struct str *s, struct error *err);
int query_filter_times (struct query_build *b, const char *expr, struct text value, struct str *s);

/* -- query_list.c */
int query_list (struct query_build *b, struct query_named *f, const char *name, struct text value,
                bool subtree, struct str *s, struct error *err);
int query_list_filter (struct query_build *b, struct query_named *f, const char *name, struct text value,
                       bool subtree, struct str *s, struct error *err);

/* -- query_project.c: the projection as a tree */
struct query_node {
    const char *key;
    bool wanted; /* asked for: itself, or something below it */
    bool whole;  /* all below it */
    bool drop;
    const struct query_entity *ref; /* an id here becomes a document of this entity */
    struct query_plan *plan;        /* of the root and of references, made on first use */
    struct query_node *first, *next;
};
struct query_plan {
    const struct query_entity *e;
    const struct query_field **fields;
    size_t n;
    bool heavy;
    const char *select; /* "e.id, ..." : the id, then the column of each field */
};
int query_projection (const struct query_source *src, const struct query_entity *e, struct text body,
                      unsigned flags, struct query_node **ret, struct error *err);
struct query_plan *query_plan_of (const struct query_source *src, const struct query_entity *e,
                                  struct query_node *root);
struct query_node *query_node_child (const struct query_node *node, struct text key);

/* -- query_write.c */
struct query_joins; /* documents of references, read once a request */
struct query_joins *query_joins_create (struct arena *a);
int query_write_row (const struct query_source *src, struct query_plan *plan, struct query_node *root,
                     struct rows *r, struct query_joins *joins, const struct query_options *o,
                     struct str *out, struct error *err);
