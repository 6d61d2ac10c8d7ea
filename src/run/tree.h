/* tree.h - a folder full of files as a whole: its manifest, its size, its permissions, scripts in it. */
#pragma once
#include "base/error.h"
#include "base/str.h"

#include <stdbool.h>
#include <stdint.h>

/* One line a file and link, sorted by path: path, size, change time, inode. Compiled Python files (__pycache__) are left
 * out: Python makes and checks them itself. Adds up the bytes of all files. */
int tree_manifest (const char *folder, struct str *ret, int64_t *ret_bytes, struct error *err) warn_unused;
/* The first line in which two manifests differ, as the path in it; NULL when they are equal. */
const char *tree_first_difference (struct str *old_manifest, struct str *new_manifest);

int tree_set_writable (const char *folder, bool writable, struct error *err) warn_unused;
/* Remove it with everything in it, read-only folders too. */
int tree_remove (const char *folder, struct error *err) warn_unused;

/* Scripts of `bin` whose first line names the interpreter `program` start by `/usr/bin/env python` instead, so that
 * they run in whatever environment comes first on PATH. */
int tree_free_scripts (const char *bin, struct error *err) warn_unused;
