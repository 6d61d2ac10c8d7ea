/* installer.h - the programs that fetch and install packages: one struct each. uv first; pip where there is no uv. */
#pragma once
#include "base/arena.h"
#include "base/error.h"
#include "base/str.h"
#include "run/git.h"
#include "run/indexes.h"
#include "run/python.h"
#include "run/say.h"

#include <stdbool.h>

struct installer;

/* What all of them need to know; lives as long as the making of one environment. */
struct install {
    struct arena *arena;
    const struct installer *how;
    const char *program; /* of uv; NULL for pip */
    const char *why;     /* this one was chosen, in words */
    const char *store;   /* folder of the environment store */
    const struct python *python;
    const struct indexes *indexes;
    struct git *git; /* for VCS requirements; NULL = plain git */
    const struct say *say;
    const char *const *flags; /* more flags, NULL-terminated; may be NULL */
    const char *folder;       /* where relative things in the requirements are relative to */
    bool upgrade;
};

struct installer {
    const char *name;
    /* All packages with their versions, one a line, into `ret`. NULL: cannot, `fill` decides by itself. */
    int (*resolve) (const struct install *in, const char *file, struct str *ret, struct error *err);
    /* What the pyproject.toml of in->folder asks for, one requirement a line; locked: as its uv.lock has it. */
    int (*project) (const struct install *in, bool locked, struct str *ret, struct error *err);
    /* An empty environment in `folder` that can be filled. */
    int (*create) (const struct install *in, const char *folder, struct error *err);
    /* Install the file's lines into an environment. no_deps: the lines are all there is to install. */
    int (*fill) (const struct install *in, const char *folder, const char *file, bool no_deps,
                 struct error *err);
};

extern const struct installer installer_uv, installer_pip;

/* Choose: uv by agent.uv_path, PATH, or fetched once from the index into the store; else pip. Sets how and program. */
int installer_choose (struct install *in, const char *uv_path, struct error *err) warn_unused;

/* pyvenv.cfg, links to the interpreter and an empty site-packages: an environment, in about a millisecond. */
int environment_create (struct arena *a, const struct python *python, const char *folder,
                        bool system_packages, struct error *err) warn_unused;
/* FOLDER/lib/pythonX.Y/site-packages */
const char *environment_site (struct arena *a, const struct python *python, const char *folder);
