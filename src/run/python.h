/* python.h - which Python runs a task: the version the task was recorded with, found on this machine. Shims (pyenv) are
 * looked through, since they cost 50 ms at each start; what an interpreter says of itself is remembered in the cache
 * for as long as its file does not change. */
#pragma once
#include "base/arena.h"
#include "base/error.h"

#include <stdbool.h>

struct python {
    const char *program; /* the base interpreter, never a shim or one of a virtual environment */
    const char *version; /* "3.11.7" */
    int major, minor;
    const char *id; /* what compiled packages depend on: implementation, version, ABI, platform, place */
};

struct python_wish {
    const char *binary;     /* script.binary of the task: "python3.9", "/usr/bin/python", "" */
    const char *configured; /* agent.python_binary: used whatever the task says; NULL or "" = none */
    const char
        *otherwise; /* agent.default_python: version when the task names none; NULL or "" = python3 of PATH */
    bool ignore_version; /* agent.ignore_requested_python_version */
};

/* ENOENT: no Python of that version; the text lists those there are. */
int python_find (struct arena *a, const struct python_wish *wish, const char *cache, struct python *ret,
                 struct error *err) warn_unused;

/* The version named by a binary: "python3.9" and "/x/python3.9.1" -> "3.9", "3.9.1"; "python", "python3" -> "" */
const char *python_version_of (struct arena *a, const char *binary);
