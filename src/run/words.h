/* words.h - a line of text as a shell would split it: quotes, backslashes, $NAME and ${NAME}; nothing is ever run. */
#pragma once
#include "base/arena.h"
#include "base/error.h"

#include <stddef.h>

/* `variable` gives the value of a name (NULL: not set, becomes empty); NULL = '$' is an ordinary character. In single
 * quotes nothing is replaced. The list ends with NULL. EINVAL: a quote that does not end. */
int words_split (struct arena *a, const char *line, const char *(*variable) (void *arg, const char *name),
                 void *arg, const char *const **ret, size_t *ret_n, struct error *err) warn_unused;
