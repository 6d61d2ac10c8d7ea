/* intern.c - see intern.h. Open addressing, never more than half full. */
#include "store/intern.h"

uint64_t intern_hash (const void *p, size_t n)
{
    const unsigned char *b = p;
    uint64_t h = 0x9e3779b97f4a7c15u ^ n, w;

    for (; n >= 8; n -= 8, b += 8) {
        memcpy (&w, b, 8);
        h = (h ^ w) * 0xff51afd7ed558ccdu;
        h ^= h >> 32;
    }
    w = 0;
    memcpy (&w, b, n);
    h = (h ^ w) * 0xc4ceb9fe1a85ec53u;
    return h ^ h >> 29;
}

static void grow (struct intern *t)
{
    size_t n = t->slots_n ? t->slots_n * 4 : 64;
    uint32_t *slots = arena_array (t->arena, uint32_t, n);
    struct text *v = arena_array (t->arena, struct text, n / 2);

    if (t->n)
        memcpy (v, t->v, t->n * sizeof (*v));
    for (size_t i = 0; i < t->n; i++) {
        size_t at = intern_hash (v[i].p, v[i].n) & (n - 1);

        while (slots[at])
            at = (at + 1) & (n - 1);
        slots[at] = (uint32_t)i + 1;
    }
    t->v = v;
    t->cap = n / 2;
    t->slots = slots;
    t->slots_n = n;
}

static size_t find_slot (const struct intern *t, struct text s)
{
    size_t at = intern_hash (s.p, s.n) & (t->slots_n - 1);

    while (t->slots[at] && !text_equal (t->v[t->slots[at] - 1], s))
        at = (at + 1) & (t->slots_n - 1);
    return at;
}

uint32_t intern_add (struct intern *t, struct text s)
{
    size_t at;

    if (t->n == t->cap)
        grow (t);
    at = find_slot (t, s);
    if (!t->slots[at]) {
        t->v[t->n] = t->copy ? (struct text){ arena_memdup (t->arena, s.n ? s.p : "", s.n), s.n } : s;
        t->slots[at] = (uint32_t)++t->n;
    }
    return t->slots[at] - 1;
}

int64_t intern_find (const struct intern *t, struct text s)
{
    return t->n ? (int64_t)t->slots[find_slot (t, s)] - 1 : -1;
}
