/* mask.h - secrets that helpers (git, uv, pip) might print, and text without them. */
#pragma once
#include "base/arena.h"
#include "base/text.h"

#include <stddef.h>

enum { MASK_SHORTEST = 4 }; /* shorter ones would hide ordinary words */

struct mask {
    struct arena *arena;
    const char **v;
    size_t n, cap;
};

void mask_add (struct mask *m, const char *secret); /* NULL, "" and very short ones are left out */
void mask_add_urls (struct mask *m,
                    const char *list); /* the passwords of the URLs in it: user:password@host */
/* Every secret replaced by ****; the text itself when there is none in it. In the arena `a`. */
struct text mask_apply (const struct mask *m, struct arena *a, struct text t);
