/* env.c - see env.h. In: requirements and an interpreter. Out: an environment that has them. */
#include "run/env.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/path.h"

#include <errno.h>
#include <openssl/sha.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { LIST_MAX = 8 << 20 };

struct lists {
    const char *shared; /* lines for the entry */
    const char *local;  /* lines for the thin environment */
};

static const char *digest (struct arena *a, const struct str *s)
{
    unsigned char d[SHA256_DIGEST_LENGTH];
    SHA256 ((const unsigned char *)s->p, s->n, d);
    char *out = arena_alloc (a, 41);
    for (int i = 0; i < 20; i++)
        snprintf (out + 2 * i, 3, "%02x", d[i]);
    return out;
}

/* What the choice of packages depends on, and nothing that may change without changing it. */
static const char *text_key (const struct install *in, const struct requirements *r)
{
    struct str s = { .arena = in->arena };
    str_addf (&s, "%s\n%s\n%s\n%s\n%s\n", in->how->name, in->python->id,
              in->indexes->index ? in->indexes->index : "", in->indexes->extra ? in->indexes->extra : "",
              in->indexes->find_links ? in->indexes->find_links : "");
    for (size_t i = 0; in->flags && in->flags[i]; i++)
        str_addf (&s, "%s\n", in->flags[i]);
    requirements_write (r, &s);
    return digest (in->arena, &s);
}

static const char *entry_key (const struct install *in, const char *shared)
{
    struct str s = { .arena = in->arena };
    str_addf (&s, "%s\n%s\n%s", in->how->name, in->python->id, shared);
    return digest (in->arena, &s);
}

/* Sort the lines of a list: what may be shared, what belongs to this run. Options of the index go to both. */
static struct lists split (struct arena *a, const struct requirements *r)
{
    struct str shared = { .arena = a }, local = { .arena = a };
    size_t locals = 0;
    str_puts (&shared, "");
    str_puts (&local, "");
    for (size_t i = 0; i < r->n; i++) {
        const struct requirement *q = &r->v[i];
        bool both = q->kind == REQUIREMENT_OPTION, mine = q->kind != REQUIREMENT_NAME && !both;
        locals += mine;
        if (both || !mine)
            str_addf (&shared, "%s\n", q->text);
        if (both || mine)
            str_addf (&local, "%s%s\n",
                      q->kind == REQUIREMENT_EDITABLE && !strstr (q->text, "git+") ? "-e " : "", q->text);
    }
    return (struct lists){ shared.p, locals ? local.p : "" };
}

/* uv refuses -e for VCS references: they are installed as they stand. */
static void write_for (const struct install *in, const struct requirements *r, struct str *s)
{
    for (size_t i = 0; i < r->n; i++) {
        bool plain = r->v[i].kind != REQUIREMENT_EDITABLE ||
                     (in->how == &installer_uv && strstr (r->v[i].text, "git+"));
        str_addf (s, "%s%s\n", plain ? "" : "-e ", r->v[i].text);
    }
}

static bool known (const struct install *in, const struct env_wish *wish, const char *file, struct str *ret)
{
    struct stat st;
    struct error ignored;
    if (in->upgrade || stat (file, &st) < 0)
        return false;
    if (wish->known_for_ms && clock_now () - (int64_t)st.st_mtim.tv_sec * 1000 > wish->known_for_ms)
        return false;
    return file_read (file, LIST_MAX, ret, &ignored) == 0;
}

/* One .pth line that adds the entry as site-packages, with the .pth files in it. */
static int link_entry (const struct install *in, const char *folder, const struct entry *entry,
                       struct error *err)
{
    struct arena *a = in->arena;
    const char *site = environment_site (a, in->python, entry->folder);
    cleanup_str struct str line = { 0 };
    str_puts (&line, "import site; site.addsitedir('");
    for (const char *p = site; *p; p++) {
        if (*p == '\'' || *p == '\\')
            str_putc (&line, '\\');
        str_putc (&line, *p);
    }
    str_puts (&line, "')\n");
    const char *file = path_join (a, environment_site (a, in->python, folder), "_stoker.pth");
    return file_append (file, str_text (&line), 0644, err);
}

/* What is built must see the other packages: agent.package_manager.extra_pip_install_flags says so. */
static bool builds_unisolated (const struct install *in)
{
    for (size_t i = 0; in->flags && in->flags[i]; i++)
        if (!strcmp (in->flags[i], "--no-build-isolation"))
            return true;
    return false;
}

/* The packages that have names alone, installed, and an environment that sees them: there the rest can be asked what it
 * needs, which may mean to build it. `ret` is the entry; its Python becomes in->python. */
static int make_names_first (struct install *in, const struct env_wish *wish, struct entry *ret,
                             struct error *err)
{
    struct arena *a = in->arena;
    struct requirements names = { 0 }, pinned;
    struct str text = { .arena = a }, list = { .arena = a };
    const char *input = arena_printf (a, "%s-names.txt", wish->folder);
    for (size_t i = 0; i < wish->requirements->n; i++)
        if (wish->requirements->v[i].kind == REQUIREMENT_NAME ||
            wish->requirements->v[i].kind == REQUIREMENT_OPTION)
            requirements_add (a, &names, wish->requirements->v[i].kind, wish->requirements->v[i].text);
    write_for (in, &names, &text);
    if (file_write (input, str_text (&text), 0600, err) < 0 || in->how->resolve (in, input, &list, err) < 0 ||
        requirements_read (a, str_text (&list), NULL, NULL, in->say, &pinned, err) < 0)
        return -1;
    for (size_t i = 0; i < names.n; i++)
        if (names.v[i].kind == REQUIREMENT_OPTION && strncmp (names.v[i].text, "-c ", 3))
            requirements_add (a, &pinned, REQUIREMENT_OPTION, names.v[i].text);
    const char *shared = split (a, &pinned).shared;
    if (entry_get (in, entry_key (in, shared), shared, true, ret, err) < 0)
        return -1;
    struct python *seeing = arena_memdup (a, in->python, sizeof *seeing);
    seeing->program = path_join (a, wish->folder, "bin/python");
    if (folder_remove (wish->folder, err) < 0 ||
        environment_create (a, in->python, wish->folder, wish->system_packages, err) < 0 ||
        link_entry (in, wish->folder, ret, err) < 0) {
        entry_release (ret);
        return -1;
    }
    in->python = seeing;
    return 0;
}

static int resolve_text (const struct install *in, const struct env_wish *wish, const char *input,
                         struct str *ret, struct error *err)
{
    struct install with = *in;
    struct entry names = { .lease = -1 };
    if (builds_unisolated (in) && split (in->arena, wish->requirements).local[0] &&
        make_names_first (&with, wish, &names, err) < 0)
        return -1;
    int r = in->how->resolve (&with, input, ret, err);
    entry_release (&names);
    return r;
}

/* The pinned list of requirements that name versions loosely. */
static int resolve (const struct install *in, const struct env_wish *wish, const char *key, struct env *e,
                    struct lists *ret, struct error *err)
{
    struct arena *a = in->arena;
    const char *folder = path_join (a, in->store, "resolved"), *file = path_join (a, folder, key);
    struct str list = { .arena = a }, text = { .arena = a };
    struct requirements pinned;
    bool fixed = requirements_fixed (wish->requirements);
    if (!fixed || !known (in, wish, file, &list)) {
        const char *input = arena_printf (a, "%s.txt", wish->folder);
        write_for (in, wish->requirements, &text);
        say (in->say, "INFO", "resolving %zu requirements", wish->requirements->n);
        if (folder_make (folder, 0700, err) < 0 || file_write (input, str_text (&text), 0600, err) < 0 ||
            resolve_text (in, wish, input, &list, err) < 0)
            return -1;
        e->resolved = true;
        if (fixed && file_write (file, str_text (&list), 0600, err) < 0)
            return -1;
    }
    if (requirements_read (a, str_text (&list), NULL, NULL, in->say, &pinned, err) < 0)
        return -1;
    for (size_t i = 0; i < wish->requirements->n;
         i++) /* indexes named in the text are needed for installing, too */
        if (wish->requirements->v[i].kind == REQUIREMENT_OPTION &&
            strncmp (wish->requirements->v[i].text, "-c ", 3))
            requirements_add (a, &pinned, REQUIREMENT_OPTION, wish->requirements->v[i].text);
    *ret = split (a, &pinned);
    return 0;
}

static bool wanted_in_report (const struct requirements *asked, const char *name)
{
    static const char *const tools[] = { "pip", "setuptools", "wheel", NULL };
    for (size_t i = 0; tools[i]; i++)
        if (!strcmp (name, tools[i]))
            return requirements_have (asked, name);
    return true;
}

/* An option that a second run needs, too. One with a password goes back only to the list that it came from. */
static bool option_returns (struct arena *a, const struct env_wish *wish, const char *line)
{
    return strncmp (line, "-c ", 3) && (wish->of_task || requirement_shown (a, line) == line);
}

static const struct requirement *find_placed (const struct requirements *r, const char *name)
{
    for (size_t i = 0; i < r->n; i++)
        if (r->v[i].name && requirement_has_place (&r->v[i]) && !strcmp (r->v[i].name, name))
            return &r->v[i];
    return NULL;
}

/* The installed packages as requirements that install the same again: options of the index, names with versions, and
 * what has a place (URL, path, VCS) as it was asked for. */
static const char *report (struct arena *a, const struct env_wish *wish, const char *frozen)
{
    const struct requirements *asked = wish->requirements;
    struct str s = { .arena = a };
    str_puts (&s, "");
    for (size_t i = 0; i < asked->n; i++)
        if (asked->v[i].kind == REQUIREMENT_OPTION && option_returns (a, wish, asked->v[i].text))
            str_addf (&s, "%s\n", asked->v[i].asked);
    for (const char *p = frozen; *p;) {
        size_t n = strcspn (p, "\n");
        const char *line = arena_strndup (a, p, n), *name = requirement_name (a, line);
        if (name && wanted_in_report (asked, name) && !find_placed (asked, name))
            str_addf (&s, "%s\n", line);
        p += n + (p[n] == '\n');
    }
    for (size_t i = 0; i < asked->n; i++)
        if (requirement_has_place (&asked->v[i]))
            str_addf (&s, "%s\n", asked->v[i].asked);
    return s.p;
}

/* `python -m pip` must work in every run; before 3.12 an environment also had setuptools. */
static struct requirements with_tools (const struct install *in, const struct requirements *asked)
{
    struct requirements r = { 0 };
    for (size_t i = 0; i < asked->n; i++)
        requirements_add (in->arena, &r, asked->v[i].kind, asked->v[i].text);
    if (!requirements_have (&r, "pip"))
        requirements_add (in->arena, &r, REQUIREMENT_NAME, "pip");
    if (in->python->minor < 12 && !requirements_have (&r, "setuptools"))
        requirements_add (in->arena, &r, REQUIREMENT_NAME, "setuptools<81");
    return r;
}

int env_make (const struct install *in, const struct env_wish *given, struct env *ret, struct error *err)
{
    struct arena *a = in->arena;
    struct env_wish wish = *given;
    struct requirements all = with_tools (in, given->requirements);
    struct env e = { .folder = wish.folder, .entry.lease = -1 };
    struct lists lists = split (a, &all);
    wish.requirements = &all;
    bool pinned = in->how->resolve != NULL;
    const char *key = text_key (in, &all);
    if (pinned && resolve (in, &wish, key, &e, &lists, err) < 0)
        return -1;
    if (entry_get (in, pinned ? entry_key (in, lists.shared) : entry_key (in, lists.shared), lists.shared,
                   pinned, &e.entry, err) < 0)
        return -1;
    e.python = path_join (a, e.folder, "bin/python");
    e.path = arena_printf (a, "%s/bin:%s/bin", e.folder, e.entry.folder);
    int r = folder_remove (e.folder, err);
    if (r == 0)
        r = environment_create (a, in->python, e.folder, wish.system_packages, err);
    if (r == 0)
        r = link_entry (in, e.folder, &e.entry, err);
    if (r == 0 && lists.local[0]) {
        const char *file = arena_printf (a, "%s-local.txt", e.folder);
        say (in->say, "INFO", "installing what belongs to this task alone");
        r = file_write (file, text_of (lists.local), 0600, err);
        if (r == 0)
            r = in->how->fill (in, e.folder, file, pinned, err);
    }
    if (r < 0) {
        entry_release (&e.entry);
        return -1;
    }
    e.frozen = report (a, given, e.entry.frozen);
    *ret = e;
    return 0;
}

void env_finish (const struct install *in, const struct env_wish *wish, struct env *e)
{
    if (e->entry.lease < 0)
        return;
    entry_check (in->arena, &e->entry, in->say);
    entry_release (&e->entry);
    entries_trim (in->arena, in->store, wish->most, wish->bytes);
}
