/* answer.h - what handlers of several services write alike: the echo of changed fields, lists of successes and
 * failures, tags. */
#pragma once
#include "base/error.h"
#include "base/json.h"
#include "base/str.h"
#include "services/call.h"
#include "store/query.h"
#include "store/store.h"

/* The query language on behalf of this call. */
struct query_source call_source (const struct call *c);

/* -- the `fields` of an answer: {"status":"queued",...}; start with fields_open, end with fields_close */
void fields_open (struct call *c, struct str *s);
void fields_str (struct str *s, const char *name, const char *v); /* NULL writes null */
void fields_json (struct str *s, const char *name, struct text v);
void fields_time (struct str *s, const char *name, int64_t us); /* microseconds, as answers to writes have */
struct text fields_close (struct str *s);

/* -- {succeeded: [...], failed: [...]} of the _many calls */
struct many {
    struct call *c;
    struct str succeeded, failed;
};
void many_open (struct many *m, struct call *c);
/* What an error that has just been set is about, for the `error.data` of such answers: fail_facts (c, err, { "id", id },
 * { "children", .n = 2 }). -1. */
struct fact {
    const char *name, *text;
    int64_t n; /* where text is NULL */
};
#define fail_facts(c, err, ...) keep_facts ((c), (err), (const struct fact[]){ __VA_ARGS__, { NULL } })
int keep_facts (struct call *c, const struct error *err, const struct fact *facts);
/* Start the item of a success: {"id":...; the caller adds members with fields_* on m->succeeded, then many_end. */
void many_success (struct many *m, const char *id);
void many_end (struct many *m);
void many_failure (struct many *m, const char *id, const struct error *err);
/* Run fn for one id: its success or failure becomes an item, a failure leaves nothing of it in the store. -1 only when
 * the store itself failed. */
typedef int many_fn (struct call *c, const char *id, const void *in, struct str *item, struct error *err);
int many_run (struct call *c, const char *const *ids, size_t n, many_fn *fn, const void *in,
              struct text *ret_succeeded, struct text *ret_failed, struct error *err) warn_unused;
void many_close (struct many *m, struct text *ret_succeeded, struct text *ret_failed);

/* -- tags: lists of strings, kept as sorted JSON text without repeats */
struct tag_list {
    const char **v;
    size_t n;
};
/* of a request; 400/16 for "__$..." */
int tags_check (const char *const *v, size_t n, const char *field, struct error *err) warn_unused;
struct tag_list tags_read (struct arena *a, struct text json);
void tags_add (struct arena *a, struct tag_list *l, const char *tag); /* keeps it sorted, no repeats */
bool tags_remove (struct tag_list *l, const char *tag);
bool tags_have (const struct tag_list *l, const char *tag);
struct text tags_write (struct arena *a, const struct tag_list *l);
struct text tags_of (struct arena *a, const char *const *v, size_t n); /* check, sort, write in one */

/* Distinct values of an SQL expression over the rows that `body` selects of an entity (alias e; `from` joins more to
 * it): own ones, hidden ones too. They join ret. */
int distinct_values (struct call *c, const struct query_entity *e, const char *select, const char *from,
                     struct text body, struct tag_list *ret, struct error *err) warn_unused;
/* Their tags, and their system tags unless ret_system is NULL. */
int tags_in_use (struct call *c, const struct query_entity *e, struct text body, struct tag_list *ret_tags,
                 struct tag_list *ret_system, struct error *err) warn_unused;
/* Such a list as a member of an answer, an empty one too. */
#define PUT_LIST(out_field, list)                                                                            \
    do {                                                                                                     \
        (out_field).v = (list).v ? (list).v : arena_array (c->arena, const char *, 1);                       \
        (out_field).n = (list).n;                                                                            \
    } while (0)

/* Metadata of a request, {key: {key, type, value}}: an object of objects of strings, at most METADATA_MAX bytes; else
 * 400/12 naming the item. */
enum { METADATA_MAX = 1 << 20 };
int metadata_check (struct text v, struct error *err) warn_unused;

/* make_public and make_private: the statement (?1 id, ?2 company) must change each of them, else `code` naming it. */
int share_all (struct call *c, const struct sql *sql, const char *const *ids, size_t n, int code,
               int64_t *ret, struct error *err) warn_unused;

/* Names of objects: stripped, at least 3 characters, else 400/800 naming `what`. */
int name_check (struct call *c, const char *what, const char *name, const char **ret,
                struct error *err) warn_unused;
const char *strip (struct arena *a, const char *s);
