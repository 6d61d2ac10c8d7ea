/* str.h - a growing byte string, always NUL-terminated once something was added. Start with `struct str s = {
 * 0 }` (heap: str_done frees) or `{ .arena = a }` (arena owned: no str_done needed). Growing never fails
 * visibly (out of memory ends the process). */
#pragma once
#include "base/arena.h"
#include "base/text.h"

#include <stdint.h>

struct str {
    char *p;
    size_t n, cap;
    struct arena *arena;
};

void str_add (struct str *s, const char *p, size_t n);
void str_puts (struct str *s, const char *z);
void str_putc (struct str *s, char c);
void str_addf (struct str *s, const char *fmt, ...) __attribute__ ((format (printf, 2, 3)));
void str_add_text (struct str *s, struct text t);
void str_add_int (struct str *s, int64_t v);
void str_add_json (struct str *s, const char *p, size_t n); /* quoted and escaped as a JSON string, ASCII
                                                               only; invalid UTF-8 becomes U+FFFD */
void str_add_double (struct str *s,
                     double v); /* shortest text that reads back equal; NaN, Infinity, -Infinity bare */
char *str_room (struct str *s,
                size_t n);      /* at least n free bytes at the returned end; then s->n += written */
void str_reset (struct str *s); /* empty, memory kept */
void str_done (struct str *s);
static inline struct text str_text (const struct str *s)
{
    return (struct text){ s->p ? s->p : "", s->n };
}
#define cleanup_str __attribute__ ((cleanup (str_done)))
