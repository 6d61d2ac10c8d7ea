/* variables.h - a list of NAME=value, each name once; the later value wins. */
#pragma once
#include "base/arena.h"

#include <stddef.h>

struct variables {
    struct arena *arena;
    const char **v; /* ends with NULL once something was set */
    size_t n, cap;
};
void variables_set (struct variables *v, const char *name, const char *value);
const char *variables_get (const struct variables *v, const char *name); /* NULL = not set */
