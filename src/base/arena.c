/* arena.c - blocks in a list, bumped; big pieces get a block of their own. First block 4 kB, doubling to 256
 * kB. */
#include "base/arena.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct block {
    struct block *next;
    size_t size, used;
    max_align_t mem[];
};
struct deferred {
    struct deferred *next;
    void (*fn) (void *);
    void *arg;
};
struct arena {
    struct block *blocks;
    struct deferred *deferred;
    size_t used, next_size;
};

static void *must (void *p)
{
    if (!p) {
        fputs ("stoker: out of memory\n", stderr);
        abort ();
    }
    return p;
}

struct arena *arena_create (void)
{
    struct arena *a = must (calloc (1, sizeof (*a)));
    a->next_size = 4096 - sizeof (struct block) - 16;
    return a;
}

void arena_destroy (struct arena *a)
{
    if (!a)
        return;
    for (struct deferred *d = a->deferred; d; d = d->next)
        d->fn (d->arg);
    for (struct block *b = a->blocks, *next; b; b = next) {
        next = b->next;
        free (b);
    }
    free (a);
}

static struct block *block_add (struct arena *a, size_t size)
{
    struct block *b = must (malloc (sizeof (*b) + size));

    b->size = size;
    b->used = 0;
    if (a->blocks && size > a->next_size) { /* a piece of its own: keep the bumped block in front */
        b->next = a->blocks->next;
        a->blocks->next = b;
    } else {
        b->next = a->blocks;
        a->blocks = b;
    }
    return b;
}

void *arena_alloc (struct arena *a, size_t size)
{
    const size_t align = _Alignof(max_align_t);
    struct block *b = a->blocks;
    void *p;

    if (size > SIZE_MAX / 2)
        must (NULL);
    size = (size + align - 1) / align * align;
    if (!b || b->size - b->used < size) {
        b = block_add (a, size > a->next_size ? size : a->next_size);
        if (a->next_size < 256 * 1024)
            a->next_size *= 2;
    }
    p = (char *)b->mem + b->used;
    b->used += size;
    a->used += size;
    return memset (p, 0, size);
}

size_t arena_product (size_t size, size_t n)
{
    size_t r;

    if (__builtin_mul_overflow (size, n, &r))
        must (NULL);
    return r;
}

void *arena_memdup (struct arena *a, const void *p, size_t n)
{
    void *q = arena_alloc (a, n);

    return n ? memcpy (q, p, n) : q;
}

char *arena_strndup (struct arena *a, const char *s, size_t n)
{
    char *p = arena_alloc (a, n + 1);

    if (n)
        memcpy (p, s, n);
    return p;
}

char *arena_strdup (struct arena *a, const char *s)
{
    return s ? arena_strndup (a, s, strlen (s)) : NULL;
}

char *arena_text (struct arena *a, struct text t)
{
    return t.p ? arena_strndup (a, t.p, t.n) : NULL;
}

char *arena_vprintf (struct arena *a, const char *fmt, va_list ap)
{
    va_list again;
    char *p;
    int n;

    va_copy (again, ap);
    n = vsnprintf (NULL, 0, fmt, again);
    va_end (again);
    if (n < 0)
        must (NULL);
    p = arena_alloc (a, (size_t)n + 1);
    vsnprintf (p, (size_t)n + 1, fmt, ap);
    return p;
}

char *arena_printf (struct arena *a, const char *fmt, ...)
{
    va_list ap;
    char *p;

    va_start (ap, fmt);
    p = arena_vprintf (a, fmt, ap);
    va_end (ap);
    return p;
}

size_t arena_used (const struct arena *a)
{
    return a->used;
}

void arena_defer (struct arena *a, void (*fn) (void *), void *arg)
{
    struct deferred *d = arena_alloc (a, sizeof (*d));

    *d = (struct deferred){ a->deferred, fn, arg };
    a->deferred = d;
}
