/* entries.c - see entries.h. In: a key and the requirements behind it. Out: a folder with the packages. */
#include "run/entries.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/path.h"
#include "run/requirements.h"
#include "run/tree.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

enum { NUMBERS = 100, MANIFEST_MAX = 256 << 20 };

static int open_lock (struct arena *a, const char *folder, int how, struct error *err)
{
    const char *path = arena_printf (a, "%s.lock", folder);
    for (;;) {
        cleanup_close int fd = open (path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
        struct stat ours, now;
        if (fd < 0)
            return error_errno (err, "%s", path);
        while (flock (fd, how) < 0)
            if (errno != EINTR)
                return error_errno (err, "lock %s", path);
        if (fstat (fd, &ours) == 0 && stat (path, &now) == 0 && ours.st_ino == now.st_ino)
            return TAKE_FD (fd);
        /* removed while we waited: take the new one */
    }
}

/* -- what is installed -------------------------------------------------------------------------------------------- */
static const char *metadata_field (struct arena *a, const char *text, const char *field)
{
    size_t n = strlen (field);
    for (const char *p = text; *p && *p != '\n'; p += strcspn (p, "\n") + (p[strcspn (p, "\n")] == '\n'))
        if (!strncmp (p, field, n))
            return arena_strndup (a, p + n, strcspn (p + n, "\r\n"));
    return NULL;
}

struct frozen {
    const char *key, *line;
};
static int by_key (const void *a, const void *b)
{
    return strcmp (((const struct frozen *)a)->key, ((const struct frozen *)b)->key);
}

/* name==version of every *.dist-info in site-packages, by name */
static const char *freeze (struct arena *a, const char *site)
{
    struct dirent **list;
    int n = scandir (site, &list, NULL, NULL);
    struct frozen *v = arena_array (a, struct frozen, n > 0 ? (size_t)n : 1);
    struct str out = { .arena = a };
    size_t count = 0;
    str_puts (&out, "");
    for (int i = 0; i < n; i++) {
        const char *name = list[i]->d_name;
        size_t len = strlen (name);
        struct str meta = { .arena = a };
        struct error ignored;
        if (len > 10 && !strcmp (name + len - 10, ".dist-info") &&
            file_read (arena_printf (a, "%s/%s/METADATA", site, name), 8 << 20, &meta, &ignored) == 0 &&
            meta.n) {
            const char *dist = metadata_field (a, meta.p, "Name: "),
                       *version = metadata_field (a, meta.p, "Version: ");
            if (dist && version && requirement_name (a, dist))
                v[count++] = (struct frozen){ requirement_name (a, dist),
                                              arena_printf (a, "%s==%s\n", dist, version) };
        }
        free (list[i]);
    }
    if (n >= 0)
        free (list);
    qsort (v, count, sizeof *v, by_key);
    for (size_t i = 0; i < count; i++)
        str_puts (&out, v[i].line);
    return out.p;
}

/* -- building ----------------------------------------------------------------------------------------------------- */
static int build_in (const struct install *in, const char *folder, const char *lines, bool no_deps,
                     struct error *err)
{
    struct arena *a = in->arena;
    const char *site = environment_site (a, in->python, folder), *bin = path_join (a, folder, "bin");
    const char *file = path_join (a, folder, "requirements");
    const char *links[] = { "python",
                            "python3",
                            arena_printf (a, "python%d.%d", in->python->major, in->python->minor),
                            "activate",
                            "activate.csh",
                            "activate.fish",
                            "Activate.ps1",
                            NULL };
    if (in->how->create (in, folder, err) < 0 || file_write (file, text_of (lines), 0644, err) < 0 ||
        in->how->fill (in, folder, file, no_deps, err) < 0 || tree_free_scripts (bin, err) < 0)
        return -1;
    for (size_t i = 0; links[i]; i++)
        if (file_remove (path_join (a, bin, links[i]), err) < 0)
            return -1;
    if (file_remove (path_join (a, folder, "pyvenv.cfg"), err) < 0 ||
        (unlink (path_join (a, folder, ".lock")) < 0 && errno != ENOENT))
        return error_set (err, errno, "%s: left-overs cannot be removed", folder);
    if (file_write (path_join (a, folder, "frozen"), text_of (freeze (a, site)), 0644, err) < 0 ||
        tree_set_writable (folder, false, err) < 0)
        return -1;
    struct str manifest = { 0 };
    int64_t bytes = 0;
    int r = tree_manifest (path_join (a, folder, "lib"), &manifest, &bytes, err);
    if (r == 0 && chmod (folder, 0755) < 0)
        r = error_errno (err, "%s", folder);
    if (r == 0)
        r = file_write (path_join (a, folder, "manifest"), str_text (&manifest), 0444, err);
    if (r == 0)
        r = file_write (path_join (a, folder, "size"), text_of (arena_printf (a, "%lld\n", (long long)bytes)),
                        0444, err);
    str_done (&manifest);
    return r;
}

static int build (const struct install *in, const char *folder, const char *lines, bool no_deps,
                  struct error *err)
{
    const char *fresh = arena_printf (in->arena, "%s.new", folder);
    int64_t start = clock_monotonic ();
    struct error ignored;
    say (in->say, "INFO", "installing packages with %s for Python %s", in->how->name, in->python->version);
    if (tree_remove (fresh, err) < 0)
        return -1;
    int r = build_in (in, fresh, lines, no_deps, err);
    if (r == 0 && rename (fresh, folder) < 0)
        r = error_errno (err, "%s", folder);
    if (r < 0) {
        if (tree_remove (fresh, &ignored) < 0)
            say (in->say, "WARNING", "%s", ignored.text);
        return -1;
    }
    say (in->say, "INFO", "packages installed in %.1f s", (double)(clock_monotonic () - start) / 1000);
    return 0;
}

/* -- the door ----------------------------------------------------------------------------------------------------- */
static bool entry_read (struct arena *a, struct entry *e)
{
    struct str frozen = { .arena = a };
    struct error ignored;
    str_puts (&frozen, "");
    if (!file_exists (path_join (a, e->folder, "manifest")) ||
        file_read (path_join (a, e->folder, "frozen"), 16 << 20, &frozen, &ignored) < 0)
        return false;
    e->frozen = frozen.p;
    return true;
}

/* Shared lock and content of a finished entry: 1 = is there, 0 = is not. */
static int entry_open (struct arena *a, struct entry *e, struct error *err)
{
    if (!folder_exists (e->folder))
        return 0;
    e->lease = open_lock (a, e->folder, LOCK_SH, err);
    if (e->lease < 0)
        return -1;
    if (!entry_read (a, e)) {
        entry_release (e);
        return 0;
    }
    futimens (e->lease, NULL);
    return 1;
}

static int entry_try (const struct install *in, struct entry *e, const char *lines, bool no_deps,
                      struct error *err)
{
    for (int tries = 0; tries < 10; tries++) {
        int there = entry_open (in->arena, e, err);
        if (there)
            return there < 0 ? -1 : 0;
        cleanup_close int lock = open_lock (in->arena, e->folder, LOCK_EX, err);
        if (lock < 0)
            return -1;
        struct entry mine = { .folder = e->folder };
        if (!folder_exists (e->folder) || !entry_read (in->arena, &mine)) {
            if (tree_remove (e->folder, err) < 0 || build (in, e->folder, lines, no_deps, err) < 0)
                return -1;
            e->built = true;
        }
    }
    return error_set (err, EBUSY, "%s: removed again each time it was built", e->folder);
}

int entry_get (const struct install *in, const char *key, const char *lines, bool no_deps, struct entry *ret,
               struct error *err)
{
    const char *envs = path_join (in->arena, in->store, "envs");
    if (folder_make (envs, 0700, err) < 0)
        return -1;
    for (int n = 0; n < NUMBERS; n++) {
        struct entry e = { .lease = -1,
                           .folder = n ? arena_printf (in->arena, "%s/%s-%d", envs, key, n)
                                       : path_join (in->arena, envs, key) };
        if (file_exists (arena_printf (in->arena, "%s.bad", e.folder)))
            continue;
        if (entry_try (in, &e, lines, no_deps, err) < 0)
            return -1;
        *ret = e;
        return 0;
    }
    return error_set (err, EBUSY, "%s/%s: changed %d times after it was built", envs, key, NUMBERS);
}

bool entry_check (struct arena *a, const struct entry *e, const struct say *s)
{
    cleanup_str struct str then = { 0 }, now = { 0 };
    struct error err;
    if (file_read (path_join (a, e->folder, "manifest"), MANIFEST_MAX, &then, &err) < 0 ||
        tree_manifest (path_join (a, e->folder, "lib"), &now, NULL, &err) < 0) {
        say (s, "WARNING", "the shared environment cannot be checked: %s", err.text);
        return false;
    }
    const char *changed = tree_first_difference (&then, &now);
    if (!changed)
        return true;
    say (s, "WARNING", "the task changed a file of its shared environment (%s): it will not be used again",
         changed);
    if (file_write (arena_printf (a, "%s.bad", e->folder), text_of (changed), 0600, &err) < 0)
        say (s, "WARNING", "%s", err.text);
    return false;
}

void entry_release (struct entry *e)
{
    if (e && e->lease >= 0)
        close (e->lease);
    if (e)
        e->lease = -1;
}

/* -- trimming ------------------------------------------------------------------------------------------------------ */
struct candidate {
    const char *folder;
    int64_t used, bytes;
    bool bad;
};

static int by_use (const void *a, const void *b)
{
    const struct candidate *x = a, *y = b;
    if (x->bad != y->bad)
        return x->bad ? -1 : 1;
    return x->used < y->used ? -1 : x->used > y->used;
}

static bool drop (struct arena *a, const struct candidate *c)
{
    struct error ignored;
    int lock = open_lock (a, c->folder, LOCK_EX | LOCK_NB, &ignored);
    if (lock < 0)
        return false;
    bool gone = tree_remove (c->folder, &ignored) == 0 &&
                file_remove (arena_printf (a, "%s.bad", c->folder), &ignored) == 0 &&
                file_remove (arena_printf (a, "%s.lock", c->folder), &ignored) == 0;
    close (lock);
    return gone;
}

/* NAME.new is an entry that is being built, or half of one whose builder was killed: then nobody has its lock. */
static void drop_half_built (struct arena *a, const char *envs, const char *name)
{
    size_t n = strlen (name);
    struct error ignored;
    if (n < 5 || strcmp (name + n - 4, ".new"))
        return;
    const char *folder = path_join (a, envs, arena_strndup (a, name, n - 4));
    cleanup_close int lock = open_lock (a, folder, LOCK_EX | LOCK_NB, &ignored);
    if (lock < 0 || tree_remove (path_join (a, envs, name), &ignored) < 0)
        return;
    if (!folder_exists (folder))
        (void)!file_remove (arena_printf (a, "%s.lock", folder), &ignored);
}

void entries_trim (struct arena *a, const char *store, size_t most, int64_t bytes)
{
    const char *envs = path_join (a, store, "envs");
    struct dirent **list;
    int n = scandir (envs, &list, NULL, NULL);
    struct candidate *v = arena_array (a, struct candidate, n > 0 ? (size_t)n : 1);
    size_t count = 0;
    int64_t sum = 0;
    for (int i = 0; i < n; i++) {
        const char *folder = path_join (a, envs, list[i]->d_name);
        struct stat st;
        struct str size = { .arena = a };
        struct error ignored;
        drop_half_built (a, envs, list[i]->d_name);
        if (strspn (list[i]->d_name, "0123456789abcdef-") == strlen (list[i]->d_name) &&
            folder_exists (folder) && stat (arena_printf (a, "%s.lock", folder), &st) == 0) {
            v[count] =
                (struct candidate){ folder, (int64_t)st.st_mtim.tv_sec * 1000 + st.st_mtim.tv_nsec / 1000000,
                                    0, file_exists (arena_printf (a, "%s.bad", folder)) };
            if (file_read (path_join (a, folder, "size"), 64, &size, &ignored) == 0 && size.n)
                v[count].bytes = strtoll (size.p, NULL, 10);
            sum += v[count++].bytes;
        }
        free (list[i]);
    }
    if (n >= 0)
        free (list);
    qsort (v, count, sizeof *v, by_use);
    size_t left = count;
    for (size_t i = 0; i < count && (left > most || sum > bytes || v[i].bad); i++)
        if (drop (a, &v[i])) {
            left--;
            sum -= v[i].bytes;
        }
}
