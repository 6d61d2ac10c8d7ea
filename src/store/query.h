/* query.h - the query language of get_all, get_all_ex and get_by_id_ex: filters, order, paging and projections
 * composed from a table of fragments per entity. In: the JSON body of the call. Out: JSON documents as text.
 *
 * An entity is a table of fields. A field without a dot is a member of the document: `column` (or `expr`) is
 * read for output and written as `show` says. Any field may be filtered by (`ops`), ordered by (QUERY_ORDER) and
 * searched by `_any_`. A name ending in ".*" takes every dotted name below it: "hyperparams.*" serves
 * "hyperparams.Args.lr"; its fragments name the parts below as $1 $2 $3, which become parameters ("%2E" in a part
 * is a dot). A fragment may also say $company and $now. Values only ever become parameters.
 *
 * The row alias is `e`; the alias of the heavy companion (see `heavy`) is `d`.
 */
#pragma once
#include "base/arena.h"
#include "base/error.h"
#include "base/str.h"
#include "base/text.h"
#include "store/store.h"

#include <stdbool.h>
#include <stdint.h>

struct volatile_store;

enum query_show {
    QUERY_NONE, /* never a member of the document: filter and order only */
    QUERY_TEXT,
    QUERY_INT,
    QUERY_REAL,
    QUERY_BOOL,
    QUERY_TIME, /* ms in the database, a date on the wire */
    QUERY_JSON  /* stored as the text we answer */
};
enum query_ops {
    QUERY_PATTERN = 1,  /* regular expression */
    QUERY_LIST = 2,     /* list mini-language and `filters` */
    QUERY_RANGE = 4,    /* [min, max] */
    QUERY_DATE = 8,     /* ">=2026-01-01", lists of them, [from, to] */
    QUERY_EQUAL = 16,   /* one value */
    QUERY_ORDER = 32,   /* may stand in order_by */
    QUERY_TREE = 64,    /* with include_subprojects the ids stand for their subtrees, see `subtree` */
    QUERY_FILLED = 128, /* never NULL nor empty: plain index walks when ordered by */
    QUERY_ASKED = 256,  /* a member shown only when the projection names it */
    QUERY_SEARCH = 512, /* looked through by search_text */
    QUERY_HEAVY =
        1024 /* `column` reads alias d: the heavy companion is joined only when such a member is wanted */
};

/* The rest of a row whose column holds a sorted JSON list, never NULL. */
#define QUERY_JSON_LIST(column_)                                                                             \
    .expr = "nullif(e." column_ ", '[]')", .each = "SELECT value AS v FROM json_each(e." column_ ")",        \
    .column = "e." column_, .show = QUERY_JSON, .ops = QUERY_LIST | QUERY_ORDER

/* Some values of a list have a column of their own: "archived" is e.archived = 1. */
struct query_flag {
    const char *value, *condition;
};

struct query_entity;
struct query_source;
struct query_field {
    const char *name; /* as on the wire */
    const char *expr; /* SQL of one value: filter, order and (without `column`) output; NULL = neither */
    const char
        *each; /* lists: a SELECT whose one column is `v`, one row an element; wins over expr in filters */
    const char *column;             /* SQL read for output when it is not expr */
    const char *sort;               /* SQL to order by when it is not expr (sort keys) */
    const char *then;               /* order: equals go on by this, as an index on the field does */
    const struct query_flag *flags; /* of a list; ends with a NULL value */
    /* QUERY_TREE: a SELECT of ids ending before its list: "SELECT t.project FROM project_tree t WHERE t.ancestor IN" */
    const char *subtree;
    /* QUERY_TREE: counts the rows of a subtree, up to FEW, with ?1 the company and the ids as JSON list ?2. Few rows are
     * found by their subtree and sorted; many are met soon on a walk along the order. */
    const char *few;
    const char *otherwise; /* JSON shown for NULL; NULL = the member is left out */
    enum query_show show;
    unsigned ops;
    /* Output made by code: write the JSON of the member; column is `col`. Leaving `out` as it was leaves the member
     * out. */
    int (*write) (const struct query_source *src, struct rows *r, int col, struct str *out,
                  struct error *err);
};
/* "project" or "models.input.model" is the id of another entity; lists on the way are walked. */
struct query_ref {
    const char *path;
    const struct query_entity *target;
};
struct query_entity {
    const char *name; /* "Task": for error messages */
    const char *from; /* "task e" */
    const char *
        tagged; /* "task": has an index over (company, tags, system_tags) of the tagged ones; NULL: has not */
    const char *heavy;      /* "CROSS JOIN task_doc d ON d.task = e.n", or NULL */
    const char *key;        /* "e.n": what finds one row fastest; also the order of creation */
    const char *company;    /* "e.company", NULL: rows have no company */
    const char *any_public; /* "SELECT 1 FROM task WHERE company = '' LIMIT 1", NULL: never public */
    const char *hidden;     /* condition added unless search_hidden or ids are given: "e.hidden = 0" */
    bool name_reveals;      /* a name filter, too, lifts `hidden` */
    const struct query_field *fields; /* ends with a NULL name */
    const struct query_ref *refs;     /* ends with a NULL path; NULL = none */
    /* last touch on documents for clients that ask for versions below `shape_below` (0: never) */
    int (*shape) (const struct query_source *src, struct text doc, struct str *out, struct error *err);
    int shape_below;
};

/* On whose behalf. */
struct query_source {
    struct db *db;
    struct arena *arena;
    const char *company;
    int version;   /* requested, major * 1000 + minor */
    bool bare_nan; /* NaN may go out bare, */
    bool word_nan; /* else as "NaN"; neither: as null */
    int64_t now;
    struct volatile_store *volatiles; /* scroll positions; NULL = no scrolling */
};

enum { QUERY_FEW = 2000 };
enum query_flags {
    QUERY_EX = 1,          /* references are objects, joins work, id is always there */
    QUERY_OWN = 2,         /* without public objects, whatever the body says */
    QUERY_SHOW_HIDDEN = 4, /* hidden rows too */
    QUERY_UNPAGED = 8      /* no paging: all rows (callers that need a whole set) */
};
struct query_options {
    unsigned flags;
    const char *where;          /* one more condition over e, with ?1.. for `values`, or NULL */
    const struct value *values; /* at most 8 */
    size_t values_n;
    /* More members for each document: write `,"name":value` after id's document members. */
    int (*item) (const struct query_source *src, const char *id, struct str *out, void *arg,
                 struct error *err);
    void *arg;
};
struct query_result {
    struct text items; /* JSON array */
    size_t n;
    const char *scroll_id; /* to answer, or NULL */
};
/* Everything: compose, read, project, join. Errors carry the wire's codes and name the field. */
int query_run (const struct query_source *src, const struct query_entity *e, struct text body,
               const struct query_options *o, struct query_result *ret, struct error *err) warn_unused;

/* One document by id with the projection of body (`only_fields`, `projection`), own or public; the absent text when
 * there is no such row. flags: QUERY_EX, QUERY_OWN. */
int query_one (const struct query_source *src, const struct query_entity *e, const char *id, struct text body,
               unsigned flags, struct text *ret, struct error *err) warn_unused;

/* The conditions alone, for counting and aggregating: SQL text over alias e and its parameters in order. No
 * paging, no order. */
struct query_where {
    struct str sql;
    struct value *values;
    size_t n;
};
int query_conditions (const struct query_source *src, const struct query_entity *e, struct text body,
                      const struct query_options *o, struct query_where *ret, struct error *err) warn_unused;

/* SQL functions every connection offers (called by sqlite.c when it opens one; the argument is a sqlite3 *):
 *   pattern_find (pattern, text)   1 when the regular expression is found in text
 *   pattern_find_i (pattern, text) the same, letters' case aside
 *   sortkey (text)                 blob of base/sortkey.h
 *   file_path (uri)                text of base/url.h, or NULL */
int query_register (void *sqlite3, struct error *err) warn_unused;

/* Check a regular expression; 400/21 with words. */
int query_pattern_check (const char *pattern, struct error *err) warn_unused;
