/* entries.h - the store of shared packages: an entry is the installed packages of one list of requirements, for one
 * Python, read-only, and never used bare: a run's own environment puts it on its path.
 *
 *   STORE/envs/<key>[-n]            bin, lib, and our files: requirements, frozen, manifest
 *   STORE/envs/<key>[-n].lock       shared lock = in use, exclusive lock = being built or removed; its time = last use
 *   STORE/envs/<key>[-n].bad        its files changed after it was built: the next number is built instead
 */
#pragma once
#include "run/installer.h"

struct entry {
    const char *folder;
    const char *frozen; /* "name==version" a line, of all that is installed */
    int lease;          /* descriptor; the entry stays while it or a copy is open */
    bool built;         /* this call built it */
};

/* The entry of `key`; when there is none, it is built with `lines` (by one process, while others wait). */
int entry_get (const struct install *in, const char *key, const char *lines, bool no_deps, struct entry *ret,
               struct error *err) warn_unused;
/* After use: whether the entry is as it was built. If not it is marked bad, and the first changed file is said. */
bool entry_check (struct arena *a, const struct entry *e, const struct say *say);
void entry_release (struct entry *e);

/* Remove those used longest ago until at most `most` entries and `bytes` are left; what is in use stays. */
void entries_trim (struct arena *a, const char *store, size_t most, int64_t bytes);
