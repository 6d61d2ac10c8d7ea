/* pyproject.h - a repository that says itself what it needs: pyproject.toml, with uv.lock or poetry.lock beside it.
 *
 * What it says becomes requirement lines like those of a task (`-e .` for the project itself when it can be built), so
 * that everything behind it is the same for both. */
#pragma once
#include "run/installer.h"

struct pyproject {
    const char *folder;
    bool described;   /* pyproject.toml has [project] or [tool.poetry]: else it only configures tools */
    bool uv_lock;     /* there is a uv.lock */
    bool poetry_lock; /* there is a poetry.lock */
};

/* Whether `folder` holds such files. */
bool pyproject_find (struct arena *a, const char *folder, struct pyproject *ret);
/* Its requirements, one a line; paths are relative to its folder. With uv.lock the versions are those of the lock. */
int pyproject_requirements (const struct install *in, const struct pyproject *p, struct str *ret,
                            struct error *err) warn_unused;

/* The name under which the package in `folder` is installed, normalised: pyproject.toml, setup.cfg or setup.py says it.
 * NULL: none of them does. */
const char *pyproject_name (struct arena *a, const char *folder);
