/* python.c - see python.h. In: a wish. Out: an interpreter and its identity. */
#include "run/python.h"
#include "base/file.h"
#include "base/home.h"
#include "base/path.h"
#include "base/str.h"
#include "io/spawn.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <openssl/sha.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { CANDIDATES = 256, PROBE_MS = 30000 };

struct search {
    struct arena *arena;
    const char *cache;
    const char *paths[CANDIDATES];
    size_t n;
};

static const char probe_text[] =
    "import sys, os, sysconfig\n"
    "b = getattr(sys, '_base_executable', None) or sys.executable\n"
    "if sys.prefix != sys.base_prefix and not getattr(sys, '_base_executable', None):\n"
    "    b = os.path.join(sys.base_prefix, 'bin', 'python3')\n"
    "print(b)\n"
    "print('.'.join(map(str, sys.version_info[:3])))\n"
    "print(sys.implementation.name, sysconfig.get_config_var('SOABI'), sysconfig.get_platform(), "
    "sys.base_prefix)\n";

const char *python_version_of (struct arena *a, const char *binary)
{
    const char *base = path_base (binary ? binary : "");
    if (strncmp (base, "python", 6))
        return "";
    const char *v = base + 6;
    size_t n = strspn (v, "0123456789.");
    return n && (!v[n] || isspace ((unsigned char)v[n])) ? arena_strndup (a, v, n) : "";
}

static void add (struct search *s, const char *path)
{
    char real[4096];
    if (s->n == CANDIDATES || !file_exists (path) || access (path, X_OK) != 0)
        return;
    if (!realpath (path, real))
        return;
    for (size_t i = 0; i < s->n; i++) {
        char other[4096];
        if (realpath (s->paths[i], other) && !strcmp (real, other))
            return;
    }
    s->paths[s->n++] = arena_strdup (s->arena, path);
}

/* A folder of shims: what the shim would choose is the first version named in ROOT/version. */
static bool add_shim (struct search *s, const char *folder)
{
    size_t n = strlen (folder);
    if (n < 7 || strcmp (folder + n - 6, "/shims"))
        return false;
    const char *root = arena_strndup (s->arena, folder, n - 6);
    struct str version = { .arena = s->arena };
    struct error ignored;
    if (file_read (path_join (s->arena, root, "version"), 4096, &version, &ignored) == 0 && version.n) {
        const char *first = arena_strndup (s->arena, version.p, strcspn (version.p, "\r\n:"));
        add (s, arena_printf (s->arena, "%s/versions/%s/bin/python", root, first));
    }
    return true;
}

static void add_from_path (struct search *s, const char *const *names)
{
    const char *path = getenv ("PATH");
    for (const char *p = path ? path : "/usr/local/bin:/usr/bin:/bin"; *p;) {
        size_t n = strcspn (p, ":");
        const char *folder = arena_strndup (s->arena, n ? p : ".", n ? n : 1);
        if (!add_shim (s, folder))
            for (size_t i = 0; names[i]; i++)
                add (s, path_join (s->arena, folder, names[i]));
        p += n + (p[n] == ':');
    }
}

/* Every <root>/<entry>/bin/python: pyenv and uv keep one version a folder. */
static void add_below (struct search *s, const char *root)
{
    struct dirent **list;
    int n = scandir (root, &list, NULL, versionsort);
    while (n > 0) {
        n--;
        if (list[n]->d_name[0] != '.') {
            add (s, arena_printf (s->arena, "%s/%s/bin/python", root, list[n]->d_name));
            add (s, arena_printf (s->arena, "%s/%s/bin/python3", root, list[n]->d_name));
        }
        free (list[n]);
        if (!n)
            free (list);
    }
}

static void add_everywhere (struct search *s)
{
    static const char *const names[] = { "python3.6",  "python3.7",  "python3.8",  "python3.9",  "python3.10",
                                         "python3.11", "python3.12", "python3.13", "python3.14", "python3.15",
                                         "python3",    "python",     NULL };
    const char *home = home_folder (s->arena);
    add_from_path (s, names);
    const char *pyenv = getenv ("PYENV_ROOT");
    add_below (s,
               arena_printf (s->arena, "%s/versions", pyenv ? pyenv : path_join (s->arena, home, ".pyenv")));
    add_below (s, path_join (s->arena, home, ".local/share/uv/python"));
    for (size_t i = 0; names[i]; i++) {
        add (s, path_join (s->arena, "/usr/local/bin", names[i]));
        add (s, path_join (s->arena, "/usr/bin", names[i]));
    }
}

/* -- asking an interpreter what it is --------------------------------------------------------------------------- */
static const char *digest (struct arena *a, const char *text)
{
    unsigned char d[SHA256_DIGEST_LENGTH];
    SHA256 ((const unsigned char *)text, strlen (text), d);
    char *out = arena_alloc (a, 33);
    for (int i = 0; i < 16; i++)
        snprintf (out + 2 * i, 3, "%02x", d[i]);
    return out;
}

static bool parse_probe (struct arena *a, char *text, struct python *ret)
{
    char *save, *program = strtok_r (text, "\n", &save),
                *version = program ? strtok_r (NULL, "\n", &save) : NULL;
    char *build = version ? strtok_r (NULL, "\n", &save) : NULL;
    if (!build || sscanf (version, "%d.%d", &ret->major, &ret->minor) != 2)
        return false;
    ret->program = program, ret->version = version;
    ret->id = digest (a, arena_printf (a, "%s %s %s", program, version, build));
    return true;
}

static bool probe (struct search *s, const char *path, struct python *ret)
{
    struct stat st;
    char real[4096];
    if (!realpath (path, real) || stat (real, &st) < 0)
        return false;
    const char *stamp = arena_printf (s->arena, "%s %lld %lld %lld", path, (long long)st.st_ino,
                                      (long long)st.st_size, (long long)st.st_mtim.tv_sec);
    const char *known = arena_printf (s->arena, "%s/pythons/%s", s->cache, digest (s->arena, stamp));
    struct str out = { .arena = s->arena };
    struct error ignored;
    if (file_read (known, 16384, &out, &ignored) == 0 && out.n && parse_probe (s->arena, out.p, ret) &&
        file_exists (ret->program))
        return true;
    const char *argv[] = { path, "-I", "-c", probe_text, NULL };
    struct spawn_end end;
    struct spawn sp = { .argv = argv, .cwd = "/" };
    str_reset (&out);
    if (spawn_run (&sp, (struct text){ 0 }, &out, NULL, 16384, PROBE_MS, &end, &ignored) < 0 ||
        end.signaled || end.code || !out.n)
        return false;
    const char *said = arena_strndup (s->arena, out.p, out.n);
    if (!parse_probe (s->arena, out.p, ret))
        return false;
    if (folder_make (path_join (s->arena, s->cache, "pythons"), 0700, &ignored) == 0 &&
        file_write (known, text_of (said), 0600, &ignored) == 0)
        return true;
    return true; /* not remembered: asked again next time */
}

static bool version_fits (const char *have, const char *want)
{
    size_t n = strlen (want);
    return !n || (!strncmp (have, want, n) && (!have[n] || have[n] == '.'));
}

static int none_found (struct search *s, const char *want, struct error *err)
{
    cleanup_str struct str list = { 0 };
    for (size_t i = 0; i < s->n; i++) {
        struct python p;
        if (probe (s, s->paths[i], &p))
            str_addf (&list, "%s%s (%s)", list.n ? ", " : "", p.version, s->paths[i]);
    }
    return error_set (err, ENOENT, "the task wants Python %s, which is not on this machine; found: %s",
                      want[0] ? want : "3", list.n ? list.p : "none");
}

int python_find (struct arena *a, const struct python_wish *wish, const char *cache, struct python *ret,
                 struct error *err)
{
    struct search s = { .arena = a, .cache = cache };
    struct python p;
    if (wish->configured && wish->configured[0]) {
        char *program = spawn_find (home_expand (a, wish->configured), NULL);
        bool ok = program && probe (&s, program, &p);
        free (program);
        if (!ok)
            return error_set (err, ENOENT, "agent.python_binary: '%s' does not run as a Python",
                              wish->configured);
        *ret = p;
        return 0;
    }
    const char *want = wish->ignore_version ? "" : python_version_of (a, wish->binary);
    if ((!want[0] || !strcmp (want, "3")) && wish->otherwise && wish->otherwise[0])
        want = wish->otherwise;
    if (want[0] == '2')
        return error_set (err, ENOENT, "the task wants Python %s: only Python 3 can be run", want);
    const char *names[] = { arena_printf (a, "python%s", want[0] ? want : "3"), "python3", "python", NULL };
    if (wish->binary && path_absolute (wish->binary) && file_exists (wish->binary) && want[0])
        add (&s, wish->binary);
    add_from_path (&s, names);
    for (int round = 0; round < 2; round++) {
        for (size_t i = 0; i < s.n; i++)
            if (probe (&s, s.paths[i], &p) && p.major == 3 && version_fits (p.version, want)) {
                *ret = p;
                return 0;
            }
        add_everywhere (&s);
    }
    return none_found (&s, want, err);
}
