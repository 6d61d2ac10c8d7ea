/* indexes.h - where packages come from: pip's own configuration (files and PIP_* variables) and agent.package_manager,
 * turned into the variables that uv and pip read. Nothing of it is ever an argument: index URLs carry passwords. */
#pragma once
#include "base/arena.h"

#include <stddef.h>

struct indexes {
    const char *index;       /* the default index; NULL = PyPI */
    const char *extra;       /* more, separated by spaces; NULL = none */
    const char *find_links;  /* folders and pages, separated by spaces; NULL = none */
    const char *certificate; /* CA file; NULL = the system's */
};

/* `extra` of the configuration comes before what pip's files say. Unreadable files count as missing. */
struct indexes indexes_read (struct arena *a, const char *const *extra, size_t extra_n);

/* "NAME=value" for uv and for pip, NULL-terminated. */
const char *const *indexes_variables (struct arena *a, const struct indexes *x);
