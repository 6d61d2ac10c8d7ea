/* wire.h - tables that describe what crosses the wire (made by tools/apigen.py from api/) and their walkers.
 *
 * C types of the kinds (generated structs use exactly these):
 *   string, enum  const char *          (enum: one of the names in the table; text in, text out)
 *   int           int64_t     float  double     bool  bool
 *   json          struct text           checked JSON text; decode borrows from the request body
 *   dict          struct text           the same, but decode refuses what is no object, and null reads as {}
 *   an object     struct <service>_<type> *
 *   a list        struct { T *v; size_t n; }    T as above (an array of structs, not of pointers, for objects)
 *
 * Every generated struct has `has` and `null`: one bool a field of the same name (`in->has.name`).
 *   decode: has = the key was there and not null; null = it was there as null. Absent fields hold the default.
 *   encode: a field is written if has.x is set, or if its pointer / list / text is not NULL (lists: v != NULL or
 *           n > 0), or if its row has WIRE_ALWAYS; null.x writes null.
 * A struct whose type ends in `...` also has `struct text rest`: a JSON object text of the members not listed
 * (decode fills it when there are any, encode writes its members after the listed ones).
 */
#pragma once
#include "base/arena.h"
#include "base/error.h"
#include "base/json.h"
#include "base/str.h"
#include "base/text.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum wire_kind { WIRE_STRING = 1, WIRE_ENUM, WIRE_INT, WIRE_FLOAT, WIRE_BOOL, WIRE_JSON, WIRE_OBJECT };
enum wire_flags { WIRE_LIST = 1, WIRE_REQUIRED = 2, WIRE_ALWAYS = 4, WIRE_DICT = 8 };

/* The newest version of the API: what a path without a version asks for. */
#define WIRE_VERSION      2034
#define WIRE_VERSION_TEXT "2.34"

struct wire_type;
struct wire_field {
    const char *name; /* as on the wire */
    size_t offset, has, null;
    enum wire_kind kind;
    unsigned flags;
    const struct wire_type *type; /* of WIRE_OBJECT */
    const char *const *names;     /* of WIRE_ENUM, NULL-terminated */
    const char *otherwise;        /* default as JSON text, or NULL */
    int since, until;             /* versions as major * 1000 + minor; 0 = no bound; until is inclusive */
};
struct wire_type {
    const char *name;
    size_t size, rest; /* rest: offset of `struct text rest`, 0 = unknown members are ignored */
    const struct wire_field *fields;
};

struct call; /* services/call.h */
enum wire_mode { WIRE_READ = 1, WIRE_WRITE };
enum wire_access {
    WIRE_USER = 0,
    /* any authenticated role */ WIRE_PUBLIC, /* credentials ignored */
    WIRE_MAYBE,
    /* credentials tried, failure ignored */ WIRE_ADMIN /* system, root, admin */
};

/* One implementation of one call. `run` is the typed handler behind a generated cast; `prepare`, where the
 * row has it, runs before `run` on the pool, without a database (parse, pack, hash): what it makes lands in
 * call->prepared. */
struct wire_call {
    const char *name; /* "queues.get_next_task" */
    int version;      /* min version of this implementation, major * 1000 + minor */
    enum wire_mode mode;
    enum wire_access access;
    bool raw;     /* no required-check at the door; the handler reads call->body itself where it must */
    bool batch;   /* takes application/json-lines: call->body is the text, call->is_batch set */
    bool control; /* goes before event batches in the writer's queue */
    const struct wire_type *in, *out;
    int (*run) (struct call *c, const void *in, void *out, struct error *err);
    int (*prepare) (struct call *c, const void *in, struct error *err);
};

/* All calls of all services, sorted by (name, version); generated. */
extern const struct wire_call *const wire_calls;
extern const size_t wire_calls_n;

/* The implementation with the highest version <= `version`; NULL when there is none. */
const struct wire_call *wire_find (struct text name, int version);

/* Parse "/v2.23/tasks.get_all", "tasks.get_all", "/v999.0/x.y/": [/][v<digits>[.]<digits>/]service.action[/].
 * version: major*1000+minor, the newest when the path has none; version_text as given (WIRE_VERSION_TEXT when
 * none). Texts borrow from `path`. Error: 400/0; then *ret holds what the envelope shows for a path that is none:
 * an empty name and version 1.0. */
struct wire_path {
    struct text name, version_text;
    int version;
};
int wire_path_parse (struct text path, struct wire_path *ret, struct error *err);

/* Fill *obj (zeroed, type->size bytes) from checked JSON object text (absent text and null count as {}).
 *   string  a string or null             int    a whole number, a fraction (cut), digits in a string, a bool
 *   enum    one of the names or null     float  a number or a bool        bool   anything, by its truth
 *   list    a list; null, "", 0, false and {} are the empty list; every item as above, null items refused
 *   object  an object or null            json   anything                  dict   an object or null (= {})
 * Lists and unescaped strings live in the arena, json fields borrow from `json`. The last of two equal keys wins.
 * Errors: 400/12 naming the field ("hyperparams[2].name"); check_required false skips the required-check (raw
 * calls). */
int wire_decode (struct arena *a, const struct wire_type *type, struct text json, int version,
                 bool check_required, void *obj, struct error *err);

/* Write *obj as a JSON object. Fields outside `version` are left out. */
void wire_encode (struct str *s, const struct wire_type *type, const void *obj, int version);

/* Query string -> JSON object text merged over `body` (absent and null count as {}): dotted names nest, a
 * repeated name or one that ends in [] is a list, digits with at most one point are numbers, true True TRUE false
 * False FALSE are bools, all else strings. No query: *ret is the body. Errors: 400/0 for a body that is no object, 400/12 for more than 1000 members or
 * names of more than 32 parts. */
int wire_merge_query (struct arena *a, struct text body, struct text query, struct text *ret,
                      struct error *err);

/* The envelope. id, trx: 32 hex; data: JSON object text. */
struct wire_meta {
    const char *id, *trx;
    struct text name, requested;  /* requested: version text as given */
    int requested_version;        /* major * 1000 + minor; below 2001 versions are printed as numbers */
    const struct wire_call *call; /* NULL: actual_version null */
    int code;                     /* 0 = 200 OK, else a wire error */
    const char *message;
};
void wire_envelope (struct str *s, const struct wire_meta *m, struct text data);
