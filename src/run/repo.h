/* repo.h - the code of a task: one bare mirror per remote, and working clones that borrow its objects.
 *
 *   ROOT/mirrors/<name>-<key>.git      fetched under a lock, and only when the wished commit is not in it
 *   ROOT/clones/<name>-<key>-<owner>/<n>/<name>   a clone kept for tasks of one owner, leased for the life of a run
 *
 * The mirror is never worked in and never collected, so what a clone borrows stays. Before each use a clone gets its
 * config, hooks and refs anew; then `reset --hard`, `clean -ffdx`, submodules.
 */
#pragma once
#include "base/arena.h"
#include "base/error.h"
#include "run/git.h"

#include <stdbool.h>

struct repo_wish {
    const struct git_url *url; /* what git_url_choose gave */
    const char *commit, *tag,
        *branch;       /* NULL or "" = not given; the first that is given counts, in this order */
    const char *owner; /* whose tasks may share a clone: the task's user */
};

struct checkout {
    const char *folder; /* the working tree, in the arena */
    const char *commit; /* 40 (or 64) hex digits */
    int lease;          /* descriptor; the clone is ours until it and its copies are closed */
    bool reused;        /* a kept clone that already stood at this commit */
};

/* -1: no such commit, tag or branch (the text says where we looked), the remote cannot be reached, ... */
int repo_checkout (struct arena *a, struct git *g, const char *root, const struct repo_wish *wish,
                   const struct say *say, struct checkout *ret, struct error *err) warn_unused;
void repo_release (struct checkout *c);
