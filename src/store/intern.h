/* intern.h - equal texts become one small number, in order of first sight. Texts are borrowed unless the
 * table is told to copy; all memory is the arena's. */
#pragma once
#include "base/arena.h"
#include "base/text.h"

#include <stdbool.h>
#include <stdint.h>

struct intern {
    struct arena *arena;
    bool copy; /* keep own copies of the texts */
    struct text *v;
    size_t n, cap;
    uint32_t *slots; /* index + 1, 0 = free */
    size_t slots_n;  /* a power of two */
};

uint64_t intern_hash (const void *p, size_t n);
uint32_t intern_add (struct intern *t, struct text s);
/* The number of a text that is there, or -1. */
int64_t intern_find (const struct intern *t, struct text s);
