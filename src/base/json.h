/* json.h - JSON two ways: as text that is scanned in place (fast, order kept), and as a json-c tree where an
 * edit needs one. Documents are stored and answered as text; only edits build a tree.
 *
 * The scanner takes what Python's json takes (bare NaN, Infinity, -Infinity included), refuses depth over
 * 512, and never allocates. A `struct text` holding JSON never has white space around it.
 */
#pragma once
#include "base/arena.h"
#include "base/error.h"
#include "base/str.h"
#include "base/text.h"

#include <json-c/json.h>
#include <stdbool.h>
#include <stdint.h>

/* -- scanning
 * ------------------------------------------------------------------------------------------------- */
enum json_kind {
    JSON_ABSENT,
    JSON_NULL,
    JSON_FALSE,
    JSON_TRUE,
    JSON_NUMBER,
    JSON_STRING,
    JSON_ARRAY,
    JSON_OBJECT
};

/* Check that all of `in` is exactly one JSON value (white space around is fine) and give it trimmed. -1 names
 * the byte offset and what was wrong. After this the functions below never fail on any part of it. */
int json_check (struct text in, struct text *ret, struct error *err);

enum json_kind json_kind (struct text v); /* by its first byte; JSON_ABSENT for an absent text */

/* Walk the members of an object or the items of an array:
 *   struct json_iter it = json_iter (doc);
 *   while (json_next (&it))  ... it.key (raw, without quotes, still escaped), it.value ...
 */
struct json_iter {
    const char *p, *end;
    struct text key, value;
    bool object;
};
struct json_iter json_iter (struct text v); /* any other kind walks nothing */
bool json_next (struct json_iter *it);
size_t json_count (struct text v); /* members or items */

/* Member `key` (plain text) of an object; the last one when there are several; the absent text when there is
 * none. Keys with escapes are compared unescaped. */
struct text json_get (struct text object, const char *key);
struct text json_get_path (struct text object, const char *const *path, size_t n); /* nested members */

/* Values. Unescaped UTF-8 in the arena (a string), NULL for any other kind; "\u0000" becomes U+FFFD, so that nothing behind
 * it is lost. */
char *json_string (struct arena *a, struct text v);
/* The same with its length, for strings that may hold NUL bytes; the absent text for any other kind. */
struct text json_string_text (struct arena *a, struct text v);
char *json_key (struct arena *a, struct text raw_key); /* unescape what json_iter gave as key */
bool json_string_is (struct text v, const char *s);
int64_t json_int (struct text v,
                  int64_t otherwise); /* a number (fraction cut) or a string of one, else otherwise */
double json_double (struct text v, double otherwise); /* numbers, NaN and infinities bare or as strings */
bool json_true (struct text v);                       /* Python's truth of the value */

/* -- trees
 * ---------------------------------------------------------------------------------------------------- */
/* Tree of checked text; owned by the arena (put when the arena goes). NULL out of null or absent. */
int json_tree (struct arena *a, struct text v, struct json_object **ret, struct error *err);
struct json_object *json_own (struct arena *a, struct json_object *o); /* arena puts it; returns o */
void json_write (struct str *s,
                 struct json_object *o); /* compact, ASCII, doubles shortest; NULL writes null */
struct text json_text (struct arena *a, struct json_object *o);

/* -- writing
 * -------------------------------------------------------------------------------------------------- */
void json_put_string (struct str *s, const char *v); /* quoted; NULL writes null */
/* `,` before the next member or item if the last byte is not an opening one, then the quoted key and `:` */
void json_put_key (struct str *s, const char *key);
void json_put_comma (struct str *s);
void json_put_raw_key (struct str *s,
                       struct text raw_key); /* the same for a key as a document has it (json_iter) */
void json_put_member (struct str *s, struct text raw_key, struct text value);
void json_put_strings (struct str *s, const char *key, const char *const *v,
                       size_t n); /* a member, a list of strings */
void json_put_some (struct str *s, const char *key,
                    const char *v); /* a member that is a string; NULL writes nothing */
