/* env.h - the Python environment of one run.
 *
 * Requirements become a list of pinned packages (remembered by the requirements' text, so that a known task asks no
 * index), the list an entry of the store (entries.h), and the run gets a thin environment of its own that adds the
 * entry to its path: what the task installs for itself, and what is local to it (-e, paths, VCS), lands in the thin one.
 */
#pragma once
#include "run/entries.h"
#include "run/requirements.h"

struct env_wish {
    const struct requirements *requirements;
    bool of_task;         /* they are the task's own list, not a file of its repository */
    const char *folder;   /* the thin environment is made here */
    bool system_packages; /* agent.package_manager.system_site_packages */
    int64_t known_for_ms; /* how long a resolved list is used again; 0 = for ever */
    size_t most;          /* entries kept in the store */
    int64_t bytes;        /* and their size */
};

struct env {
    const char *folder, *python; /* FOLDER, FOLDER/bin/python */
    const char *path;            /* to be put before PATH: FOLDER/bin:ENTRY/bin */
    const char *frozen; /* what is installed, one requirement a line, as it is reported to the server */
    struct entry entry;
    bool resolved; /* this call asked an index for versions */
};

int env_make (const struct install *in, const struct env_wish *wish, struct env *ret,
              struct error *err) warn_unused;
/* After the run: check the entry, give it back, trim the store. */
void env_finish (const struct install *in, const struct env_wish *wish, struct env *e);
