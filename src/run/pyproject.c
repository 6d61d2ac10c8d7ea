/* pyproject.c - see pyproject.h. In: a folder of code. Out: what its pyproject.toml and lock ask for, as requirement lines. */
#include "run/pyproject.h"
#include "base/file.h"
#include "base/path.h"
#include "run/requirements.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>
#include <strings.h>

enum { PYPROJECT_MAX = 4 << 20 };

static const char *next_line (const char *p)
{
    p += strcspn (p, "\n");
    return p + (*p == '\n');
}

/* Behind the line that begins a table, "[project]"; below: or one within it, "[tool.poetry.dependencies]". NULL: none. */
static const char *find_table (const char *text, const char *name, bool below)
{
    size_t n = strlen (name);
    for (const char *p = text; *p; p = next_line (p)) {
        const char *line = p + strspn (p, " \t");
        if (line[0] != '[')
            continue;
        line += 1 + strspn (line + 1, " \t");
        if (strncmp (line, name, n))
            continue;
        line += n + strspn (line + n, " \t");
        if (line[0] == ']' || (below && line[0] == '.'))
            return next_line (line);
    }
    return NULL;
}

bool pyproject_find (struct arena *a, const char *folder, struct pyproject *ret)
{
    struct str toml = { .arena = a };
    struct error ignored;
    struct pyproject p = { .folder = folder,
                           .uv_lock = file_exists (path_join (a, folder, "uv.lock")),
                           .poetry_lock = file_exists (path_join (a, folder, "poetry.lock")) };
    bool there = file_read (path_join (a, folder, "pyproject.toml"), PYPROJECT_MAX, &toml, &ignored) == 0;
    if (there && toml.n)
        p.described = find_table (toml.p, "project", true) || find_table (toml.p, "tool.poetry", true);
    *ret = p;
    return there || p.uv_lock || p.poetry_lock;
}

/* The value behind "name" in "name = VALUE"; bare: it may stand without quotes. */
static const char *value_of (struct arena *a, const char *p, bool bare)
{
    p += strspn (p, " \t");
    if (*p != '=')
        return NULL;
    p += 1 + strspn (p + 1, " \t");
    bool quoted = *p == '"' || *p == '\'';
    if (!quoted && !bare)
        return NULL;
    p += quoted;
    return requirement_name (a, arena_strndup (a, p, strcspn (p, "\"'\r\n,)")));
}

/* Of the lines of one table that which begins with the name: an author has one, too. */
static const char *name_in_table (struct arena *a, const char *text, const char *table, bool bare)
{
    const char *p = find_table (text, table, false);
    for (; p && *p; p = next_line (p)) {
        const char *line = p + strspn (p, " \t"), *name = NULL;
        if (*line == '[')
            return NULL;
        if (!strncmp (line, "name", 4) && (name = value_of (a, line + 4, bare)))
            return name;
    }
    return NULL;
}

/* setup (..., name="VALUE", ...) */
static const char *name_in_call (struct arena *a, const char *text)
{
    const char *p = strstr (text, "setup");
    for (; p && (p = strstr (p, "name")); p += 4)
        if (strchr (" \t\n\r(,", p[-1]) && p[4 + strspn (p + 4, " \t")] == '=')
            return value_of (a, p + 4, false);
    return NULL;
}

const char *pyproject_name (struct arena *a, const char *folder)
{
    static const struct {
        const char *file, *table;
        bool bare;
    } places[] = { { "pyproject.toml", "project" },
                   { "pyproject.toml", "tool.poetry" },
                   { "setup.cfg", "metadata", true },
                   { "setup.py", NULL } };
    for (size_t i = 0; i < sizeof places / sizeof places[0]; i++) {
        struct str s = { .arena = a };
        struct error ignored;
        const char *name = NULL, *file = path_join (a, folder, places[i].file);
        if (file_read (file, PYPROJECT_MAX, &s, &ignored) == 0 && s.n)
            name = places[i].table ? name_in_table (a, s.p, places[i].table, places[i].bare)
                                   : name_in_call (a, s.p);
        if (name)
            return name;
    }
    return NULL;
}

/* An address as two that lead to the same place have it: without user and password, the port that it has anyway, slashes
 * at its end, and capitals of the host. */
static const char *plain_index (struct arena *a, struct text url)
{
    char *s = arena_strndup (a, url.p, url.n), *p = strstr (s, "://");
    if (!p)
        return s;
    char *host = p + 3, *path = host + strcspn (host, "/?#"),
         *at = memrchr (host, '@', (size_t)(path - host));
    const char *usual = !strncasecmp (s, "https:", 6) ? ":443" : ":80";
    size_t n;
    host = at ? at + 1 : host;
    for (char *c = s; c < path; c++)
        *c = (char)tolower ((unsigned char)*c);
    n = (size_t)(path - host);
    if (n > strlen (usual) && !strncmp (path - strlen (usual), usual, strlen (usual)))
        n -= strlen (usual);
    for (size_t k = strlen (path); k && path[k - 1] == '/'; k--)
        path[k - 1] = 0;
    return arena_printf (a, "%.*s%.*s%s", (int)(p + 3 - s), s, (int)n, host, path);
}

static bool is_one_of (struct arena *a, const char *list, const char *plain)
{
    for (const char *p = list ? list : ""; *p;) {
        size_t n = strcspn (p, " ");
        if (!strcmp (plain_index (a, (struct text){ p, n }), plain))
            return true;
        p += n + strspn (p + n, " ");
    }
    return false;
}

/* Options that name an index which the agent is configured for: it is asked anyway, and its password is not the task's. */
static struct str without_our_indexes (const struct install *in, const struct str *lines)
{
    struct arena *a = in->arena;
    struct str s = { .arena = a };
    str_puts (&s, "");
    for (const char *p = lines->p; *p;) {
        size_t n = strcspn (p, "\n"), option = strcspn (p, " \n");
        const char *url =
            *p == '-' && option < n ? plain_index (a, (struct text){ p + option + 1, n - option - 1 }) : NULL;
        bool ours =
            url && (is_one_of (a, in->indexes->index, url) || is_one_of (a, in->indexes->extra, url) ||
                    !strcmp (url, "https://pypi.org/simple"));
        if (!ours)
            str_addf (&s, "%.*s\n", (int)n, p);
        p += n + (p[n] == '\n');
    }
    return s;
}

static int read_lines (const struct install *in, bool locked, struct str *ret, struct error *err)
{
    struct str lines = { .arena = in->arena };
    str_puts (&lines, "");
    if (in->how->project (in, locked, &lines, err) < 0)
        return -1;
    *ret = without_our_indexes (in, &lines);
    return 0;
}

int pyproject_requirements (const struct install *in, const struct pyproject *p, struct str *ret,
                            struct error *err)
{
    struct install here = *in;
    const char *lock = path_join (in->arena, p->folder, "uv.lock");
    struct error first, ignored;
    here.folder = p->folder;
    if (p->uv_lock && read_lines (&here, true, ret, &first) == 0)
        return 0;
    if (p->uv_lock && first.code == ECANCELED) {
        *err = first;
        return -1;
    }
    if (p->uv_lock)
        say (in->say, "WARNING", "uv.lock cannot be used as it is, versions are chosen anew: %s", first.text);
    int r = read_lines (&here, false, ret, err);
    if (!p->uv_lock && file_remove (lock, &ignored) < 0) /* uv leaves one in the task's code */
        say (in->say, "WARNING", "%s", ignored.text);
    return r;
}
