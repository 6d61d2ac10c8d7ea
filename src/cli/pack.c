/* pack.c - see pack.h. Git is asked through the git program; untracked files named by --include enter the diff through
 * an index of their own, so that the user's index is not touched. */
#include "cli/pack.h"

#include "base/file.h"
#include "base/path.h"
#include "base/str.h"
#include "base/utf8.h"
#include "cli/remote.h"
#include "cli/secrets.h"
#include "io/spawn.h"
#include "run/patch.h"
#include "run/url.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { DIFF_MAX = 1 << 20, DIFF_READ_MAX = 64 << 20, SCRIPT_MAX = 1 << 20 };

struct packer {
    struct arena *arena;
    const struct pack_wish *wish;
    struct pack *out;
    const char *script;     /* as typed; NULL for a module */
    size_t script_at;       /* where it (or -m) stands in the command */
    const char *cwd, *top;  /* top: of the repository, NULL = none */
    const char *const *env; /* for git */
    const char *attributes; /* a file of gitattributes for git, NULL = the user's */
};

/* Run git; what it printed is added to `out`. */
static int git_into (struct packer *p, struct error *err, size_t max, struct str *out,
                     const char *const *words)
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
static char *git_text (struct packer *p, struct error *err, size_t max, const char *const *words)
{
    struct str out = { .arena = p->arena };

    if (git_into (p, err, max, &out, words) < 0)
        return NULL;
    if (out.n && out.p[out.n - 1] == '\n')
        out.p[--out.n] = 0;
    return out.p;
}
#define GIT(p, err, ...) git_text ((p), (err), 1 << 16, (const char *const[]){ __VA_ARGS__, NULL })

/* What JSON can carry: UTF-8 without zero bytes. */
static bool is_text (struct text t)
{
    for (size_t i = 0, n; i < t.n; i += n)
        if (!t.p[i] || !(n = utf8_take (t.p + i, t.n - i, NULL)))
            return false;
    return true;
}

/* -- the command ---------------------------------------------------------------------------------------------------- */

static void add_quoted (struct str *s, const char *word)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_@%+=:,./-";

    if (s->n)
        str_putc (s, ' ');
    if (*word && strspn (word, plain) == strlen (word)) {
        str_puts (s, word);
        return;
    }
    str_putc (s, '\'');
    for (; *word; word++)
        if (*word == '\'')
            str_puts (s, "'\"'\"'");
        else
            str_putc (s, *word);
    str_putc (s, '\'');
}

/* The script by this name, then its arguments. */
static void put_entry_point (struct packer *p, const char *script)
{
    const struct opt_words *w = &p->wish->command;
    struct str entry = { .arena = p->arena };

    add_quoted (&entry, script);
    for (size_t i = p->script_at + 1; i < w->n; i++)
        add_quoted (&entry, w->v[i]);
    p->out->entry_point = entry.p;
}

static int read_command (struct packer *p, struct error *err)
{
    const struct opt_words *w = &p->wish->command;
    const char *program = path_base (w->v[0]), *script;
    size_t i = 1;

    if (!strncmp (program, "python", 6)) {
        p->out->binary = program;
        while (i < w->n && (!strcmp (w->v[i], "-u") || !strcmp (w->v[i], "-O")))
            i++;
    } else if (!strcmp (program, "bash") || !strcmp (program, "sh") || !strcmp (program, "zsh"))
        p->out->binary = w->v[0];
    else if (!strcmp (path_extension (w->v[0]), ".py")) {
        p->out->binary = "python3";
        i = 0;
    } else
        return error_set (err, EINVAL,
                          "%s: a task's command starts with python, bash, sh or zsh, or is a .py file",
                          w->v[0]);
    if (i >= w->n)
        return error_set (err, EINVAL, "%s: which script? As in: stoker run -- python train.py", w->v[0]);
    if (!strcmp (w->v[i], "-c"))
        return error_set (err, EINVAL, "%s -c: a task needs a script or a module (-m), not a command text",
                          w->v[0]);
    script = w->v[i];
    if (!strcmp (script, "-m")) {
        if (i + 1 >= w->n)
            return error_set (err, EINVAL, "-m: which module?");
        p->out->name = w->v[i + 1];
    } else {
        if (!file_exists (path_join (p->arena, p->cwd, script)))
            return error_set (err, ENOENT, "%s: no such script here", script);
        p->script = script;
        p->out->name = path_base (script);
    }
    p->script_at = i;
    put_entry_point (p, script);
    return 0;
}

/* -- the repository ----------------------------------------------------------------------------------------------------- */

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

static int find_repository (struct packer *p, struct error *err)
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

/* -- the diff ------------------------------------------------------------------------------------------------------------- */

static const char *const *index_env (struct arena *a, const char *index)
{
    size_t n = 0;
    const char **env;

    while (environ[n])
        n++;
    env = arena_array (a, const char *, n + 2);
    memcpy (env, environ, n * sizeof (*env));
    env[n] = arena_printf (a, "GIT_INDEX_FILE=%s", index);
    return env;
}

static int add_included (struct packer *p, const char *index, struct error *err)
{
    struct error lost;
    char *real = GIT (p, err, "rev-parse", "--path-format=absolute", "--git-path", "index");
    cleanup_str struct str content = { 0 };

    if (!real || file_read (real, 512 << 20, &content, err) < 0 ||
        file_write (index, str_text (&content), 0600, err) < 0)
        return -1;
    p->env = index_env (p->arena, index);
    for (size_t i = 0; i < p->wish->include.n; i++) {
        const char *path = path_join (p->arena, p->cwd, p->wish->include.v[i]);

        if (!file_exists (path))
            return error_set (err, ENOENT, "--include %s: no such file", p->wish->include.v[i]);
        if (!GIT (p, &lost, "add", "-N", "-f", "--", path))
            return error_set (err, EINVAL, "--include %s: %s", p->wish->include.v[i], lost.text);
    }
    return 0;
}

/* A script that git does not track stays here, and the agent would find none. */
static int check_script (struct packer *p, struct error *err)
{
    char real[PATH_MAX], top[PATH_MAX], *listed;
    const char *path;
    struct error lost;

    if (!p->script)
        return 0;
    path = path_clean (p->arena, path_join (p->arena, p->cwd, p->script));
    if (realpath (path, real) && realpath (p->top, top) && !path_inside (real, top))
        return error_set (err, EINVAL, "%s lies outside of the repository %s: only what is inside travels",
                          p->script, p->top);
    listed = GIT (p, &lost, "ls-files", "--recurse-submodules", "--", path);
    if (listed && !*listed)
        return error_set (err, EINVAL,
                          "git does not track %s, so it would not travel: 'git add' it, or give --include %s",
                          p->script, p->script);
    return 0;
}

static bool allowed (const struct pack_wish *w, const char *what)
{
    for (size_t i = 0; i < w->allow.n; i++)
        if (!strcmp (w->allow.v[i], what))
            return true;
    return false;
}

/* The file that "diff --git a/X b/X" names, in quotes where it has odd characters; NULL: it is no such line. */
static const char *file_of_diff (struct packer *p, const char *line, size_t n)
{
    const char *b;
    size_t quote;

    if (n < 11 || memcmp (line, "diff --git ", 11))
        return NULL;
    quote = line[n - 1] == '"';
    b = quote ? memmem (line, n, " \"b/", 4) : memmem (line, n, " b/", 3);
    b = b ? b + 3 + quote : line + 11;
    return arena_strndup (p->arena, b, (size_t)(line + n - b) - quote);
}

/* One line that travels as part of a file. */
static int check_line (struct packer *p, const char *file, const char *line, size_t n, struct error *err)
{
    if (!secret_token (line, n) || allowed (p->wish, file) || allowed (p->wish, "secrets"))
        return 0;
    return error_set (err, EPERM,
                      "%s: an added line holds what looks like a password or token, and would be stored with "
                      "the task; take it out, or --allow %s",
                      file, file);
}

/* A file that travels whole. */
static int check_text (struct packer *p, const char *file, struct text text, struct error *err)
{
    for (const char *line = text.p, *stop = line + text.n, *end; line < stop; line = end + 1) {
        end = memchr (line, '\n', (size_t)(stop - line));
        end = end ? end : stop;
        if (check_line (p, file, line, (size_t)(end - line), err) < 0)
            return -1;
    }
    return 0;
}

/* Each file that the patch names, and each line that it adds. */
static int check_diff (struct packer *p, struct error *err)
{
    const char *line = p->out->diff.p, *stop = line + p->out->diff.n, *end, *file = NULL, *next;

    for (; line < stop; line = end < stop ? end + 1 : end) {
        end = memchr (line, '\n', (size_t)(stop - line));
        end = end ? end : stop;
        next = file_of_diff (p, line, (size_t)(end - line));
        if (next) {
            file = next;
            if (secret_file (path_base (file)) && !allowed (p->wish, file))
                return error_set (
                    err, EPERM,
                    "%s looks like a secret and would travel in the task's diff; --allow %s if it is none",
                    file, file);
        } else if (*line == '+' && file && check_line (p, file, line + 1, (size_t)(end - line) - 1, err) < 0)
            return -1;
    }
    return 0;
}

/* -- bytes that are no text ------------------------------------------------------------------------------------------------ */

/* A line of gitattributes: the file is binary, so that its change is written in letters. */
static void add_attribute (struct str *s, const char *name)
{
    if (!name)
        return;
    str_puts (s, "\"/");
    for (; *name; name++) {
        if (strchr ("*?[", *name))
            str_puts (s, "\\\\"); /* of the pattern, within quotes */
        else if (*name == '\\')
            str_puts (s, "\\\\\\");
        if (*name == '"')
            str_putc (s, '\\');
        str_putc (s, *name);
    }
    str_puts (s, "\" -diff\n");
}

static const char *of_header (const char *path)
{
    return path && path[0] && path[1] == '/' ? path + 2 : NULL;
}

static int find_bytes (struct packer *p, struct text diff, struct str *attributes, struct error *err)
{
    struct patch patch;

    if (patch_read (p->arena, diff, &patch, err) < 0)
        return -1;
    for (size_t i = 0; i < patch.n; i++) {
        const struct patch_part *part = &patch.parts[i];

        if (!is_text (part->header))
            return error_set (err, EILSEQ,
                              "the name of a changed file is not UTF-8: rename it, or commit and push");
        if (is_text (part->body))
            continue;
        add_attribute (attributes, of_header (part->old_path));
        add_attribute (attributes, of_header (part->new_path));
    }
    return 0;
}

/* The changes, whatever the user's settings make of `git diff`. */
static int git_diff (struct packer *p, struct text *ret, struct error *err)
{
    struct str diff = { .arena = p->arena };
    const char *words[] = { "diff",
                            "--binary",
                            "--no-color",
                            "--no-ext-diff",
                            "--no-textconv",
                            "--no-relative",
                            "--full-index",
                            "--submodule=diff",
                            "--ignore-submodules=none",
                            "--src-prefix=a/",
                            "--dst-prefix=b/",
                            p->out->commit,
                            "--",
                            NULL };

    if (git_into (p, err, DIFF_READ_MAX, &diff, words) < 0)
        return -1;
    *ret = str_text (&diff);
    return 0;
}

static int check_size (struct packer *p, struct error *err)
{
    if (p->out->diff.n <= DIFF_MAX || allowed (p->wish, "size"))
        return 0;
    return error_set (
        err, EFBIG,
        "the diff against %.12s has %zu kB; over 1 MB is refused: commit and push, or --allow size",
        p->out->commit, p->out->diff.n / 1024);
}

/* Files whose changes JSON cannot carry (Latin-1 text and the like) travel as binary ones. They were looked through
 * before that. */
static int write_in_letters (struct packer *p, const char *temporary, struct error *err)
{
    struct str attributes = { .arena = p->arena };
    struct error lost;
    int r;

    if (is_text (p->out->diff))
        return 0;
    str_puts (&attributes, "");
    if (find_bytes (p, p->out->diff, &attributes, err) < 0 ||
        file_write (temporary, str_text (&attributes), 0600, err) < 0)
        return -1;
    p->attributes = temporary;
    r = git_diff (p, &p->out->diff, err);
    p->attributes = NULL;
    if (file_remove (temporary, &lost) < 0)
        return *err = lost, -1;
    if (r == 0 && !is_text (p->out->diff))
        return error_set (
            err, EILSEQ,
            "the changes hold bytes that are no UTF-8, in a file that .gitattributes says is text: commit "
            "and push it");
    return r < 0 ? -1 : check_size (p, err);
}

static int make_diff (struct packer *p, struct error *err)
{
    const char *folder = getenv ("TMPDIR") ? getenv ("TMPDIR") : "/tmp";
    char *index = arena_printf (p->arena, "%s/stoker-index-%d", folder, (int)getpid ()),
         *attributes = arena_printf (p->arena, "%s/stoker-attributes-%d", folder, (int)getpid ());
    struct error lost;
    int r = p->wish->include.n ? add_included (p, index, err) : 0;

    if (r == 0)
        r = check_script (p, err);
    if (r == 0)
        r = git_diff (p, &p->out->diff, err);
    if (r == 0)
        r = check_size (p, err);
    if (r == 0)
        r = check_diff (p, err);
    if (r == 0)
        r = write_in_letters (p, attributes, err);
    p->env = NULL;
    if (p->wish->include.n && file_remove (index, &lost) < 0)
        return *err = lost, -1;
    return r;
}

/* -- all together ----------------------------------------------------------------------------------------------------------- */

static int literal_script (struct packer *p, struct error *err)
{
    struct str s = { .arena = p->arena };

    if (!p->script)
        return error_set (
            err, EINVAL, "%s is in no git repository: only a single script can run without one, not a module",
            p->cwd);
    if (file_read (path_join (p->arena, p->cwd, p->script), SCRIPT_MAX, &s, err) < 0)
        return error_wrap (err, "outside a git repository the script itself travels with the task");
    if (!is_text (str_text (&s)))
        return error_set (err, EILSEQ, "%s: not UTF-8, which a script that travels alone must be", p->script);
    if (check_text (p, p->script, str_text (&s), err) < 0)
        return -1;
    p->out->diff = str_text (&s);
    put_entry_point (p, path_base (p->script)); /* its folder stays here */
    p->out->working_dir = ".";
    p->out->project = path_base (p->cwd);
    return 0;
}

static int read_requirements (struct packer *p, struct error *err)
{
    const char *given = p->wish->requirements;
    const char *tries[] = { given ? path_join (p->arena, p->cwd, given)
                                  : path_join (p->arena, p->cwd, "requirements.txt"),
                            !given && p->top ? path_join (p->arena, p->top, "requirements.txt") : NULL };

    for (int i = 0; i < 2; i++) {
        struct str s = { .arena = p->arena };

        if (given && i == 0 && !file_exists (tries[i]))
            return error_set (err, ENOENT, "--requirements %s: no such file", given);
        if (!tries[i] || !file_exists (tries[i]))
            continue;
        if (file_read (tries[i], 1 << 20, &s, err) < 0)
            return -1;
        if (!is_text (str_text (&s)))
            return error_set (err, EILSEQ, "%s: not UTF-8", tries[i]);
        if (check_text (p, given ? given : "requirements.txt", str_text (&s), err) < 0)
            return -1;
        p->out->requirements = str_text (&s);
        return 0;
    }
    return 0;
}

int pack_folder (struct arena *a, const struct pack_wish *wish, struct pack *ret, struct error *err)
{
    struct packer p = { .arena = a, .wish = wish, .out = ret };
    char cwd[PATH_MAX];

    *ret = (struct pack){ 0 };
    if (!getcwd (cwd, sizeof (cwd)))
        return error_errno (err, "find the current folder");
    p.cwd = cwd;
    if (read_command (&p, err) < 0 || find_repository (&p, err) < 0)
        return -1;
    if (p.top ? make_diff (&p, err) < 0 : literal_script (&p, err) < 0)
        return -1;
    if (!p.top && wish->include.n)
        return error_set (err, EINVAL,
                          "--include: %s is in no git repository; only a single script can travel", cwd);
    ret->project = strlen (ret->project) < PROJECT_LEAST ? arena_printf (a, "%s project", ret->project)
                                                         : arena_strdup (a, ret->project);
    return read_requirements (&p, err);
}
