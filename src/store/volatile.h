/* volatile.h - small facts that may be lost with the process: scroll positions, the worker registry,
 * last_used of keys. Thread safe; keys are "<kind>/<company>/<key>"; each entry has a time to live. */
#pragma once
#include "base/arena.h"
#include "base/text.h"

#include <stdbool.h>
#include <stdint.h>

struct volatile_store;
struct volatile_store *volatile_create (void);
void volatile_destroy (struct volatile_store *v);

void volatile_put (struct volatile_store *v, const char *key, struct text value, int64_t ttl_ms);
bool volatile_get (struct volatile_store *v, struct arena *a, const char *key, struct text *ret);
bool volatile_touch (struct volatile_store *v, const char *key, int64_t ttl_ms);
bool volatile_drop (struct volatile_store *v, const char *key);
/* Every live entry whose key starts with prefix, in key order: fn returns false to stop. Called under the
 * lock: fn copies what it needs and calls nothing of this header. */
void volatile_each (struct volatile_store *v, const char *prefix,
                    bool (*fn) (const char *key, struct text value, void *arg), void *arg);
