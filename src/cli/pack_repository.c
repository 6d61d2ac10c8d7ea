/* pack_repository.c - the git repository around a folder: git is asked through the git program. Out: remote, branch and commit
 * as another machine can use them. */
#include "base/file.h"
#include "base/path.h"
#include "base/str.h"
#include "cli/pack_room.h"
#include "io/spawn.h"
#include "run/url.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

/* Run git; what it printed is added to `out`. */
int pack_git_into (struct packer *p, struct error *err, size_t max, struct str *out, const char *const *words)
{
    cleanup_str struct str said = { 0 };
    const char *argv[64] = { "git", "-c", "core.quotepath=false", "-c", "core.fsmonitor=false" };
    struct spawn s = { .argv = argv, .env = p->env, .cwd = p->top ? p->top : p->cwd };
    struct spawn_end end;
    size_t n = 5;

    if (p->attributes) {
        argv[n++] = "-c";
        argv[n++] = arena_printf (p->arena, "core.attributesFile=%s", p->attributes);
    }
    for (size_t i = 0; words[i] && n < 63; i++)
        argv[n++] = words[i];
    if (spawn_run (&s, (struct text){ 0 }, out, &said, max, 0, &end, err) < 0)
        return -1;
    if (end.signaled || end.code) {
        while (said.n && said.p[said.n - 1] == '\n')
            said.p[--said.n] = 0;
        return error_set (err, EPROTO, "git %s: %s", words[0], said.n ? said.p : "failed");
    }
    str_add (out, "", 0);
    return 0;
}

/* What git printed, without the last newline, or NULL when it failed (words in err). */
char *pack_git_text (struct packer *p, struct error *err, size_t max, const char *const *words)
{
    struct str out = { .arena = p->arena };

    if (pack_git_into (p, err, max, &out, words) < 0)
        return NULL;
    if (out.n && out.p[out.n - 1] == '\n')
        out.p[--out.n] = 0;
    return out.p;
}

static const char *choose_remote (struct packer *p, const char *branch)
{
    struct error err;
    char *remote =
             branch ? GIT (p, &err, "config", arena_printf (p->arena, "branch.%s.remote", branch)) : NULL,
         *list;

    if (remote && *remote && strcmp (remote, "."))
        return remote;
    list = GIT (p, &err, "remote");
    if (!list || !*list)
        return NULL;
    if (strstr (arena_printf (p->arena, "\n%s\n", list), "\norigin\n"))
        return "origin";
    return arena_strndup (p->arena, list, strcspn (list, "\n"));
}

/* HEAD if the remote has it, else the newest ancestor that it has. */
static char *choose_base (struct packer *p, const char *remote, struct error *err)
{
    char *refs = arena_printf (p->arena, "--remotes=%s", remote), *unpushed, *base;

    if (p->wish->base) {
        base = GIT (p, err, "rev-parse", "--verify", "-q",
                    arena_printf (p->arena, "%s^{commit}", p->wish->base));
        if (!base)
            error_set (err, ENOENT, "--base %s: no such commit here", p->wish->base);
        return base;
    }
    if (!(base = GIT (p, err, "rev-parse", "--verify", "HEAD^{commit}")))
        return NULL;
    unpushed = GIT (p, err, "rev-list", "--first-parent", "--max-count=100000", "HEAD", "--not", refs);
    if (!unpushed || !*unpushed)
        return unpushed ? base : NULL;
    base = strrchr (unpushed, '\n');
    base = GIT (p, err, "rev-parse", "--verify", "-q",
                arena_printf (p->arena, "%s^", base ? base + 1 : unpushed));
    if (!base)
        error_set (err, ENOENT,
                   "no commit of this branch is on %s: push it once, and the rest travels as a diff", remote);
    return base;
}

/* The remote as another machine can use it: without the login that a URL may carry, which is nobody else's, and a path in
 * full. */
static int name_remote (struct packer *p, const char *remote, struct error *err)
{
    struct git_url url;
    const char *text = GIT (p, err, "remote", "get-url", remote);

    if (!text || git_url_parse (p->arena, text, &url, err) < 0)
        return text ? error_wrap (err, "remote %s", remote) : -1;
    if (!*url.scheme)
        url.path = path_clean (p->arena, path_join (p->arena, p->top, url.path));
    p->out->repository = git_url_text (p->arena, &url, false);
    return 0;
}

/* So says the folder, whether git is there or not. */
static bool below_git (const struct packer *p)
{
    for (const char *at = p->cwd;; at = path_folder (p->arena, at)) {
        if (file_exists (path_join (p->arena, at, ".git")))
            return true;
        if (!strcmp (at, "/"))
            return false;
    }
}

int pack_find_repository (struct packer *p, struct error *err)
{
    const char *remote;
    char *branch, *top = GIT (p, err, "rev-parse", "--show-toplevel"), real[PATH_MAX];

    if (!top && below_git (p) && !strstr (err->text, "not a git repository"))
        return error_wrap (err, "%s is in a git repository that cannot be read", p->cwd);
    if (!top || !*top)
        return 0; /* not a repository: the script alone */
    p->top = top;
    branch = GIT (p, err, "symbolic-ref", "-q", "--short", "HEAD");
    if (!(remote = choose_remote (p, branch)))
        return error_set (
            err, ENOENT,
            "the repository %s has no remote; an agent needs one to clone from: git remote add origin URL",
            top);
    if (name_remote (p, remote, err) < 0 || !(p->out->commit = choose_base (p, remote, err)))
        return -1;
    p->out->branch = branch;
    if (realpath (top, real) && path_inside (p->cwd, real) && strlen (p->cwd) > strlen (real))
        p->out->working_dir = arena_strdup (p->arena, p->cwd + strlen (real) + 1);
    else
        p->out->working_dir = ".";
    p->out->project = path_base (top);
    return 0;
}
