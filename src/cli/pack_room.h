/* pack_room.h - inside of packing a folder only.
 *
 *   pack.c             the door: the command, what travels without a repository, requirements
 *   pack_repository.c  git, and from which remote and commit an agent will clone
 *   pack_diff.c        what differs from that commit, as text
 *   pack_secrets.c     what must not travel by accident */
#pragma once
#include "base/str.h"
#include "cli/pack.h"

#include <stdbool.h>

struct packer {
    struct arena *arena;
    const struct pack_wish *wish;
    struct pack *out;
    const char *script;     /* as typed; NULL for a module */
    size_t script_at;       /* where it (or -m) stands in the command */
    const char *cwd, *top;  /* top: of the repository, NULL = none */
    const char *const *env; /* for git */
    const char *attributes; /* a file of gitattributes for git, NULL = the user's */
};

bool pack_is_text (struct text t); /* what JSON can carry: UTF-8 without zero bytes */

/* pack_repository.c */
/* Run git; what it printed is added to `out`. */
int pack_git_into (struct packer *p, struct error *err, size_t max, struct str *out,
                   const char *const *words) warn_unused;
/* What git printed, without the last newline, or NULL when it failed (words in err). */
char *pack_git_text (struct packer *p, struct error *err, size_t max, const char *const *words);
#define GIT(p, err, ...) pack_git_text ((p), (err), 1 << 16, (const char *const[]){ __VA_ARGS__, NULL })
/* Fills top and what an agent clones; a folder in no repository is no error (top NULL). */
int pack_find_repository (struct packer *p, struct error *err) warn_unused;

/* pack_diff.c */
int pack_make_diff (struct packer *p, struct error *err) warn_unused;

/* pack_secrets.c */
bool pack_allowed (const struct pack_wish *w, const char *what); /* by --allow */
int pack_check_text (struct packer *p, const char *file, struct text text,
                     struct error *err) warn_unused;                   /* a file that travels whole */
int pack_check_diff (struct packer *p, struct error *err) warn_unused; /* each file named, each line added */
