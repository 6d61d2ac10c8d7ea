/* pyproject.c - see pyproject.h. In: a folder of code. Out: what its pyproject.toml and lock ask for, as requirement lines. */
#include "run/pyproject.h"
#include "base/file.h"
#include "base/path.h"
#include "run/requirements.h"

#include <errno.h>
#include <string.h>

enum { PYPROJECT_MAX = 4 << 20 };

/* A line that begins a table of TOML: "[project]", "[tool.poetry.dependencies]" */
static bool has_table (const char *toml, const char *name)
{
    size_t n = strlen (name);
    for (const char *p = toml; *p;) {
        const char *line = p + strspn (p, " \t");
        if (line[0] == '[' && !strncmp (line + 1, name, n) && (line[n + 1] == ']' || line[n + 1] == '.'))
            return true;
        p += strcspn (p, "\n");
        p += *p == '\n';
    }
    return false;
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
        p.described = has_table (toml.p, "project") || has_table (toml.p, "tool.poetry");
    *ret = p;
    return there || p.uv_lock || p.poetry_lock;
}

/* The value of the first `name = VALUE` behind `from`; bare: it may stand without quotes. */
static const char *name_behind (struct arena *a, const char *from, bool bare)
{
    for (const char *p = from; p && (p = strstr (p, "name")); p += 4) {
        const char *v = p + 4 + strspn (p + 4, " \t");
        bool whole = p == from || strchr (" \t\n\r(,", p[-1]);
        if (!whole || *v != '=')
            continue;
        v += 1 + strspn (v + 1, " \t");
        bool quoted = *v == '"' || *v == '\'';
        if (!quoted && !bare)
            return NULL;
        v += quoted;
        return requirement_name (a, arena_strndup (a, v, strcspn (v, "\"'\r\n,)")));
    }
    return NULL;
}

const char *pyproject_name (struct arena *a, const char *folder)
{
    static const struct {
        const char *file, *behind;
        bool bare;
    } places[] = { { "pyproject.toml", "[project]" },
                   { "pyproject.toml", "[tool.poetry]" },
                   { "setup.cfg", "[metadata]", true },
                   { "setup.py", "setup" } };
    for (size_t i = 0; i < sizeof places / sizeof places[0]; i++) {
        struct str s = { .arena = a };
        struct error ignored;
        const char *name = NULL, *file = path_join (a, folder, places[i].file);
        if (file_read (file, PYPROJECT_MAX, &s, &ignored) == 0 && s.n &&
            (name = strstr (s.p, places[i].behind)))
            name = name_behind (a, name + strlen (places[i].behind), places[i].bare);
        if (name)
            return name;
    }
    return NULL;
}

static bool is_word_of (const char *list, struct text word)
{
    for (const char *p = list ? list : ""; *p;) {
        size_t n = strcspn (p, " ");
        if (text_equal ((struct text){ p, n }, word))
            return true;
        p += n + strspn (p + n, " ");
    }
    return false;
}

/* Options that name an index which the agent is configured for: it is asked anyway, and its password is not the task's. */
static struct str without_our_indexes (const struct install *in, const struct str *lines)
{
    struct str s = { .arena = in->arena };
    str_puts (&s, "");
    for (const char *p = lines->p; *p;) {
        size_t n = strcspn (p, "\n"), option = strcspn (p, " ");
        struct text url = { p + option + 1, option < n ? n - option - 1 : 0 };
        bool ours =
            *p == '-' && (is_word_of (in->indexes->index, url) || is_word_of (in->indexes->extra, url) ||
                          text_is (url, "https://pypi.org/simple"));
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
