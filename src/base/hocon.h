/* hocon.h - the language of clearml.conf and trains.conf (a superset of JSON): comments, dotted keys, optional
 * commas and quotes, objects that merge, substitutions `${a.b}` and `${?a.b}` (looked up in the whole configuration,
 * then in the environment), `+=`, `include`. What comes out is one JSON object as text.
 *
 *   struct hocon *h = hocon_create (arena);
 *   hocon_add_file (h, "~/clearml.conf", &err);  hocon_set (h, "agent.worker_id", "w", &err);   later wins
 *   hocon_resolve (h, &json, &err);
 *
 * Errors say file:line and what was wrong; an error value of a substitution names it. Kinder than the letter of the
 * language where files in the wild need it: `:` `+` `?` `!` `@` `*` `&` `\` may stand in unquoted values, `//`
 * begins a comment only at the beginning of a word (so that URLs work unquoted), True and False are booleans. */
#pragma once
#include "base/arena.h"
#include "base/error.h"
#include "base/text.h"

enum {
    HOCON_FILE_MAX = 4 << 20, /* bytes of one file */
    HOCON_DEPTH_MAX = 100,    /* nested objects and lists */
    HOCON_INCLUDE_MAX = 16,   /* nested includes */
    HOCON_OUT_MAX = 16 << 20  /* bytes of the result: `a = ${b}${b}` grows fast */
};

struct hocon;
struct hocon *hocon_create (struct arena *a); /* lives as long as the arena */

/* Where `${NAME}` is looked up when the configuration has no such key; getenv unless set. */
void hocon_set_environment (struct hocon *h, const char *(*lookup) (const char *name, void *arg), void *arg);

/* Merge a file. `include "x"` inside is looked for beside it. A missing file: ENOENT. */
int hocon_add_file (struct hocon *h, const char *path, struct error *err) warn_unused;
/* Merge a text; `name` stands in errors; `include` is refused. */
int hocon_add_text (struct hocon *h, const char *name, struct text in, struct error *err) warn_unused;
/* Set one key by its dotted path to a plain string, or to what the text means as a value. */
void hocon_set (struct hocon *h, const char *path, const char *value);
int hocon_set_value (struct hocon *h, const char *path, const char *name, struct text value,
                     struct error *err) warn_unused;

/* Resolve all substitutions and give the JSON object. Keys stand in the order in which they first appeared. */
int hocon_resolve (struct hocon *h, struct text *ret_json, struct error *err) warn_unused;
