/* arena.h - memory with one lifetime: a request, a task run. Nothing in it is freed alone; all goes at once.
 *
 * Allocation never returns NULL (out of memory ends the process with words). Not thread safe: one arena has
 * one user at a time; it may be handed from thread to thread.
 */
#pragma once
#include "base/text.h"

#include <stdarg.h>
#include <stddef.h>

struct arena;

struct arena *arena_create (void);
void arena_destroy (struct arena *a); /* NULL is fine; runs the deferred calls, last first */

void *arena_alloc (struct arena *a, size_t size); /* zeroed, aligned for any type */
void *arena_memdup (struct arena *a, const void *p, size_t n);
char *arena_strdup (struct arena *a, const char *s);            /* NULL gives NULL */
char *arena_strndup (struct arena *a, const char *s, size_t n); /* all n bytes, and a NUL behind */
char *arena_text (struct arena *a, struct text t); /* NUL-terminated copy; NULL text gives NULL */
char *arena_printf (struct arena *a, const char *fmt, ...) __attribute__ ((format (printf, 2, 3)));
char *arena_vprintf (struct arena *a, const char *fmt, va_list ap);
size_t arena_used (const struct arena *a); /* bytes handed out */

/* Call fn (arg) when the arena is destroyed: for things inside it that own something outside. */
void arena_defer (struct arena *a, void (*fn) (void *), void *arg);

#define arena_new(a, type)      ((type *)arena_alloc ((a), sizeof (type)))
#define arena_array(a, type, n) ((type *)arena_alloc ((a), arena_product (sizeof (type), (n))))
size_t arena_product (size_t size, size_t n); /* size * n, ends the process on overflow */

static inline void cleanup_arena_ (struct arena **a)
{
    arena_destroy (*a);
}
#define cleanup_arena __attribute__ ((cleanup (cleanup_arena_)))
