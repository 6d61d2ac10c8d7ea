/* tree.c - see tree.h. */
#include "run/tree.h"
#include "base/file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { DEPTH_MAX = 64 };

struct walk {
    void (*file) (struct walk *w, const char *path, const struct stat *st);
    struct str path;
    size_t root; /* length of the root in path */
    struct str *out;
    int64_t bytes;
    struct error *err;
    bool writable;
};

static int by_name (const struct dirent **a, const struct dirent **b)
{
    return strcmp ((*a)->d_name, (*b)->d_name);
}

static int dots_out (const struct dirent *d)
{
    return strcmp (d->d_name, ".") && strcmp (d->d_name, "..");
}

static int walk (struct walk *w, int depth, int (*folder) (struct walk *w, bool before));

static int walk_entry (struct walk *w, const char *name, int depth, int (*folder) (struct walk *, bool))
{
    size_t n = w->path.n;
    struct stat st;
    int r = 0;
    str_putc (&w->path, '/');
    str_puts (&w->path, name);
    if (lstat (w->path.p, &st) < 0)
        r = errno == ENOENT ? 0 : error_errno (w->err, "%s", w->path.p);
    else if (S_ISDIR (st.st_mode))
        r = depth >= DEPTH_MAX ? error_set (w->err, ELOOP, "%s: too deep", w->path.p)
                               : walk (w, depth + 1, folder);
    else
        w->file (w, w->path.p, &st);
    w->path.p[w->path.n = n] = 0;
    return r;
}

static int walk (struct walk *w, int depth, int (*folder) (struct walk *w, bool before))
{
    struct dirent **list;
    if (folder && folder (w, true) < 0)
        return -1;
    int n = scandir (w->path.p, &list, dots_out, by_name), r = 0;
    if (n < 0)
        return error_errno (w->err, "%s", w->path.p);
    for (int i = 0; i < n; i++) {
        if (r == 0)
            r = walk_entry (w, list[i]->d_name, depth, folder);
        free (list[i]);
    }
    free (list);
    return r == 0 && folder ? folder (w, false) : r;
}

static void manifest_file (struct walk *w, const char *path, const struct stat *st)
{
    w->bytes += (int64_t)st->st_blocks * 512;
    if (!strstr (path + w->root, "/__pycache__/"))
        str_addf (w->out, "%s\t%lld %lld.%09ld %llu\n", path + w->root + 1, (long long)st->st_size,
                  (long long)st->st_ctim.tv_sec, st->st_ctim.tv_nsec, (unsigned long long)st->st_ino);
}

int tree_manifest (const char *folder, struct str *ret, int64_t *ret_bytes, struct error *err)
{
    struct walk w = { .file = manifest_file, .out = ret, .err = err, .root = strlen (folder) };
    str_puts (&w.path, folder);
    int r = walk (&w, 0, NULL);
    str_done (&w.path);
    if (r == 0 && ret_bytes)
        *ret_bytes = w.bytes;
    return r;
}

const char *tree_first_difference (struct str *old_manifest, struct str *new_manifest)
{
    char *a = old_manifest->p ? old_manifest->p : (char *)"",
         *b = new_manifest->p ? new_manifest->p : (char *)"";
    while (*a && *b) {
        size_t n = strcspn (a, "\n"), m = strcspn (b, "\n");
        if (n != m || memcmp (a, b, n)) {
            size_t an = strcspn (a, "\t\n"), bn = strcspn (b, "\t\n");
            bool same = an == bn && !memcmp (a, b, an);
            char *first = same || strncmp (a, b, an < bn ? an : bn) < 0 ? a : b;
            first[strcspn (first, "\t\n")] = 0;
            return first;
        }
        a += n + (a[n] == '\n'), b += m + (b[m] == '\n');
    }
    char *rest = *a ? a : b;
    if (!*rest)
        return NULL;
    rest[strcspn (rest, "\t\n")] = 0;
    return rest;
}

static void mode_file (struct walk *w, const char *path, const struct stat *st)
{
    if (S_ISREG (st->st_mode) &&
        chmod (path, w->writable ? (st->st_mode | S_IWUSR) & 07777 : st->st_mode & 07555) < 0)
        w->bytes = -1;
}

static int mode_folder (struct walk *w, bool before)
{
    if (before != w->writable) /* opened before it is walked, closed after */
        return 0;
    return chmod (w->path.p, w->writable ? 0755 : 0555) < 0 ? error_errno (w->err, "%s", w->path.p) : 0;
}

int tree_set_writable (const char *folder, bool writable, struct error *err)
{
    struct walk w = { .file = mode_file, .err = err, .writable = writable };
    str_puts (&w.path, folder);
    int r = walk (&w, 0, mode_folder);
    if (r == 0 && w.bytes < 0)
        r = error_set (err, EPERM, "%s: permissions could not be set", folder);
    str_done (&w.path);
    return r;
}

int tree_remove (const char *folder, struct error *err)
{
    struct error ignored;
    if (folder_exists (folder) && tree_set_writable (folder, true, &ignored) < 0 && errno == ENOENT)
        return 0;
    return folder_remove (folder, err);
}

/* "#!/any/python3.11" and uv's and pip's two-line form "#!/bin/sh\n'''exec' /any/python ..." */
static const char *script_rest (const struct str *s)
{
    if (s->n < 4 || s->p[0] != '#' || s->p[1] != '!')
        return NULL;
    size_t n = strcspn (s->p, "\n");
    if (memmem (s->p, n, "/python", 7))
        return s->p + n;
    if (!strncmp (s->p, "#!/bin/sh\n'''exec' ", 19)) {
        const char *end = strstr (s->p, "\n' '''\n");
        return end ? end + 6 : NULL;
    }
    return NULL;
}

int tree_free_scripts (const char *bin, struct error *err)
{
    struct dirent **list;
    int n = scandir (bin, &list, dots_out, by_name), r = 0;
    if (n < 0)
        return errno == ENOENT ? 0 : error_errno (err, "%s", bin);
    for (int i = 0; i < n; i++) {
        cleanup_str struct str path = { 0 }, old = { 0 }, new = { 0 };
        struct error too_long;
        struct stat st;
        str_addf (&path, "%s/%s", bin, list[i]->d_name);
        free (list[i]);
        if (r < 0 || lstat (path.p, &st) < 0 || !S_ISREG (st.st_mode) || st.st_size > 1 << 20 ||
            file_read (path.p, 1 << 20, &old, &too_long) < 0)
            continue;
        const char *rest = script_rest (&old);
        if (!rest)
            continue;
        str_addf (&new, "#!/usr/bin/env python%s", rest);
        r = file_write (path.p, str_text (&new), 0755, err);
    }
    free (list);
    return r;
}
