/* repo.c - see repo.h. In: a remote and what is wished of it. Out: a folder at exactly that commit. */
#include "run/repo.h"
#include "base/file.h"
#include "base/path.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <openssl/sha.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

enum { CLONES_MAX = 256 };

struct repo {
    struct arena *arena;
    struct git *git;
    const struct repo_wish *wish;
    const struct say *say;
    const char *url;    /* without secrets */
    const char *name;   /* last part of the path, without .git */
    const char *mirror; /* folder */
    const char *clones; /* folder */
    bool fetched;
};

static bool given (const char *s)
{
    return s && s[0];
}

static const char *digest (struct arena *a, const char *text)
{
    unsigned char d[SHA256_DIGEST_LENGTH];
    SHA256 ((const unsigned char *)text, strlen (text), d);
    char *out = arena_alloc (a, 17);
    for (int i = 0; i < 8; i++)
        snprintf (out + 2 * i, 3, "%02x", d[i]);
    return out;
}

/* A name that is safe as a folder and an import: letters, digits, dot, dash, underscore. */
static const char *repo_name (struct arena *a, const char *path)
{
    char *p = arena_strdup (a, path);
    size_t n = strlen (p);
    while (n && p[n - 1] == '/')
        p[--n] = 0;
    if (n > 5 && !strcmp (p + n - 5, "/.git"))
        p[n -= 5] = 0;
    char *base = p + n;
    while (base > p && base[-1] != '/' && base[-1] != ':')
        base--;
    size_t k = strlen (base);
    if (k > 4 && !strcmp (base + k - 4, ".git"))
        base[k - 4] = 0;
    for (char *c = base; *c; c++)
        if (!isalnum ((unsigned char)*c) && !strchr ("._-", *c))
            *c = '_';
    if (base[0] == '.')
        base[0] = '_';
    return base[0] ? arena_strndup (a, base, strnlen (base, 64)) : "repository";
}

static int lock_file (const char *path, int how, struct error *err)
{
    cleanup_close int fd = open (path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (fd < 0)
        return error_errno (err, "%s", path);
    while (flock (fd, how) < 0)
        if (errno != EINTR)
            return error_errno (err, "lock %s", path);
    return TAKE_FD (fd);
}

static void trim (struct str *s)
{
    while (s->n && isspace ((unsigned char)s->p[s->n - 1]))
        s->p[--s->n] = 0;
}

/* -- the mirror ----------------------------------------------------------------------------------------------- */
static int mirror_create (struct repo *r, struct error *err)
{
    if (folder_exists (r->mirror))
        return 0;
    const char *fresh = arena_printf (r->arena, "%s.new", r->mirror);
    if (folder_remove (fresh, err) < 0 ||
        git (r->git, NULL, NULL, err, "init", "--quiet", "--bare", fresh) < 0)
        return -1;
    if (rename (fresh, r->mirror) < 0)
        return error_errno (err, "%s", r->mirror);
    return 0;
}

static int drop_left_over (const char *path, const struct stat *st, int type, struct FTW *at)
{
    const char *name = path + at->base;
    size_t n = strlen (name);
    (void)st;
    if (type == FTW_F && ((n > 5 && !strcmp (name + n - 5, ".lock")) || !strncmp (name, "tmp_", 4)))
        unlink (path);
    return 0;
}

/* A fetch that was killed leaves git's own locks, at which each later one would fail, and halves of packs. We hold the
 * mirror's lock: nobody else is at it. */
static int mirror_begin_fetch (struct repo *r, struct error *err)
{
    const char *fetching = arena_printf (r->arena, "%s.fetching", r->mirror);
    if (file_exists (fetching))
        nftw (r->mirror, drop_left_over, 16, FTW_PHYS);
    return file_append (fetching, TEXT (""), 0600, err);
}

static int mirror_end_fetch (struct repo *r, struct error *err)
{
    return file_remove (arena_printf (r->arena, "%s.fetching", r->mirror), err);
}

static int mirror_fetch (struct repo *r, struct error *err)
{
    if (r->fetched)
        return 0;
    if (mirror_begin_fetch (r, err) < 0)
        return -1;
    say (r->say, "INFO", "fetching %s", git_url_shown (r->arena, r->wish->url));
    if (git (r->git, r->mirror, NULL, err, "fetch", "--quiet", "--force", "--prune", "--no-tags", r->url,
             "+refs/heads/*:refs/heads/*", "+refs/tags/*:refs/tags/*") < 0)
        return error_wrap (err, "fetch %s", git_url_shown (r->arena, r->wish->url));
    struct error ignored; /* an empty remote has no HEAD: told when somebody asks for it */
    if (git (r->git, r->mirror, NULL, &ignored, "fetch", "--quiet", "--no-tags", r->url,
             "+HEAD:refs/stoker/HEAD") < 0)
        say (r->say, "WARNING", "%s has no HEAD", git_url_shown (r->arena, r->wish->url));
    r->fetched = true;
    return mirror_end_fetch (r, err);
}

/* The commit a revision stands for, or NULL. */
static const char *mirror_resolve (struct repo *r, const char *revision)
{
    struct error ignored;
    struct str out = { .arena = r->arena };
    const char *arg = arena_printf (r->arena, "%s^{commit}", revision);
    if (git (r->git, r->mirror, &out, &ignored, "rev-parse", "--verify", "--quiet", arg) < 0)
        return NULL;
    trim (&out);
    return out.n ? out.p : NULL;
}

static size_t count_refs (struct repo *r, const char *below)
{
    struct error ignored;
    struct str out = { .arena = r->arena };
    size_t n = 0;
    if (git (r->git, r->mirror, &out, &ignored, "for-each-ref", "--format=x", below) < 0)
        return 0;
    for (size_t i = 0; i < out.n; i++)
        n += out.p[i] == '\n';
    return n;
}

static bool is_hex (const char *s)
{
    return strlen (s) == strspn (s, "0123456789abcdefABCDEF");
}

static int find_commit (struct repo *r, const char **ret, struct error *err)
{
    const char *commit = r->wish->commit, *found;
    size_t n = strlen (commit);
    bool full = is_hex (commit) && (n == 40 || n == 64);
    if (commit[0] == '-')
        return error_set (err, EINVAL, "script.version_num: '%s' is no commit", commit);
    if ((!is_hex (commit) || n < 7) && mirror_fetch (r, err) < 0) /* a name: it may have moved */
        return -1;
    if ((found = mirror_resolve (r, commit))) {
        *ret = found;
        return 0;
    }
    if (mirror_fetch (r, err) < 0)
        return -1;
    found = mirror_resolve (r, commit);
    if (!found && full) { /* reachable from no branch or tag: ask for it by its number */
        struct error ignored;
        if (git (r->git, r->mirror, NULL, &ignored, "fetch", "--quiet", "--no-tags", r->url, commit) == 0)
            found = mirror_resolve (r, commit);
    }
    if (!found)
        return error_set (
            err, ENOENT,
            "commit %s is not in %s (looked through %zu branches and %zu tags%s): was it pushed?", commit,
            git_url_shown (r->arena, r->wish->url), count_refs (r, "refs/heads"), count_refs (r, "refs/tags"),
            full ? ", and asked for it by its number" : "");
    *ret = found;
    return 0;
}

/* A tag, a branch (or a tag named as a branch), or what the remote says its HEAD is. */
static int find_ref (struct repo *r, const char **ret, struct error *err)
{
    const char *tag = r->wish->tag, *branch = r->wish->branch;
    if (mirror_fetch (r, err) < 0)
        return -1;
    if (given (tag)) {
        *ret = mirror_resolve (r, arena_printf (r->arena, "refs/tags/%s", tag));
        return *ret ? 0
                    : error_set (err, ENOENT, "%s has no tag '%s'", git_url_shown (r->arena, r->wish->url),
                                 tag);
    }
    if (!given (branch)) {
        *ret = mirror_resolve (r, "refs/stoker/HEAD");
        return *ret ? 0
                    : error_set (err, ENOENT,
                                 "%s: the task names no commit, tag or branch, and the remote has no HEAD",
                                 git_url_shown (r->arena, r->wish->url));
    }
    if (!strncmp (branch, "origin/", 7))
        branch += 7;
    static const char *const places[] = { "refs/heads/", "refs/tags/", "refs/", NULL };
    for (size_t i = 0; places[i]; i++)
        if ((*ret = mirror_resolve (r, arena_printf (r->arena, "%s%s", places[i], branch))))
            return 0;
    return error_set (err, ENOENT, "%s has no branch or tag '%s'", git_url_shown (r->arena, r->wish->url),
                      branch);
}

static int mirror_commit (struct repo *r, const char **ret, struct error *err)
{
    cleanup_close int lock = lock_file (arena_printf (r->arena, "%s.lock", r->mirror), LOCK_EX, err);
    if (lock < 0 || mirror_create (r, err) < 0)
        return -1;
    return given (r->wish->commit) ? find_commit (r, ret, err) : find_ref (r, ret, err);
}

/* -- the clone ------------------------------------------------------------------------------------------------ */
/* Lease a kept clone, best one that stands at `commit` already (NULL: any). Makes the next number when all are out. */
static int clone_lease (struct repo *r, const char *commit, struct checkout *c, struct error *err)
{
    for (int n = 0; n < CLONES_MAX; n++) {
        const char *slot = arena_printf (r->arena, "%s/%d", r->clones, n);
        const char *folder = arena_printf (r->arena, "%s/%s", slot, r->name);
        if (commit) {
            struct str head = { .arena = r->arena };
            struct error ignored;
            if (!folder_exists (slot))
                return 1;
            if (file_read (arena_printf (r->arena, "%s/.git/HEAD", folder), 4096, &head, &ignored) < 0)
                continue;
            trim (&head);
            if (!text_is (str_text (&head), commit))
                continue;
        }
        if (folder_make (slot, 0700, err) < 0)
            return -1;
        struct error busy;
        int fd = lock_file (arena_printf (r->arena, "%s.lease", slot), LOCK_EX | LOCK_NB, &busy);
        if (fd < 0 && busy.code == EWOULDBLOCK)
            continue;
        if (fd < 0) {
            *err = busy;
            return -1;
        }
        c->lease = fd;
        c->folder = folder;
        return 0;
    }
    return commit ? 1 : error_set (err, EBUSY, "%s: all %d clones are in use", r->clones, CLONES_MAX);
}

/* .git as a task may not change it: no hooks, no config of its own, no refs but where it stands. */
static int clone_reset_git (struct repo *r, const struct checkout *c, struct error *err)
{
    struct arena *a = r->arena;
    const char *dot = path_join (a, c->folder, ".git");
    struct str conf = { .arena = a };
    str_addf (&conf, "[core]\n\trepositoryformatversion = 0\n\tfilemode = true\n\tbare = "
                     "false\n\tlogallrefupdates = false\n"
                     "[remote \"origin\"]\n\turl = \"");
    for (const char *u = r->url; *u; u++) {
        if (*u == '"' || *u == '\\')
            str_putc (&conf, '\\');
        str_putc (&conf, *u);
    }
    str_puts (&conf, "\"\n\tfetch = +refs/heads/*:refs/remotes/origin/*\n");
    const char *alternates = arena_printf (a, "%s/objects\n", r->mirror);
    static const char *const gone[] = { "hooks", "refs", "info", "logs", NULL };
    static const char *const lost[] = {
        "packed-refs",     "index.lock",   "HEAD.lock",  "config.lock", "MERGE_HEAD",
        "config.worktree", "shallow.lock", "FETCH_HEAD", "ORIG_HEAD",   NULL
    };
    for (size_t i = 0; gone[i]; i++)
        if (folder_remove (path_join (a, dot, gone[i]), err) < 0)
            return -1;
    for (size_t i = 0; lost[i]; i++)
        if (file_remove (path_join (a, dot, lost[i]), err) < 0)
            return -1;
    if (folder_make (path_join (a, dot, "refs/heads"), 0700, err) < 0 ||
        folder_make (path_join (a, dot, "objects/info"), 0700, err) < 0)
        return -1;
    struct {
        const char *name;
        const char *text;
    } files[] = { { "config", conf.p },
                  { "objects/info/alternates", alternates },
                  { "HEAD", arena_printf (a, "%s\n", c->commit) } };
    for (size_t i = 0; i < 3; i++) {
        const char *path = path_join (a, dot, files[i].name);
        cleanup_close int fd = open (path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
        if (fd < 0)
            return error_errno (err, "%s", path);
        if (fd_write (fd, files[i].text, strlen (files[i].text), path, err) < 0)
            return -1;
    }
    return 0;
}

static int clone_submodules (struct repo *r, const struct checkout *c, struct error *err)
{
    if (!file_exists (path_join (r->arena, c->folder, ".gitmodules")))
        return 0;
    if (git (r->git, c->folder, NULL, err, "submodule", "--quiet", "sync", "--recursive") < 0 ||
        git (r->git, c->folder, NULL, err, "submodule", "--quiet", "update", "--init", "--recursive",
             "--force") < 0 ||
        git (r->git, c->folder, NULL, err, "submodule", "--quiet", "foreach", "--recursive",
             "git clean -ffdxq") < 0)
        return error_wrap (err, "submodules of %s", git_url_shown (r->arena, r->wish->url));
    return 0;
}

static int clone_to_commit (struct repo *r, const struct checkout *c, struct error *err)
{
    if (clone_reset_git (r, c, err) < 0)
        return -1;
    if (git (r->git, c->folder, NULL, err, "reset", "--quiet", "--hard", c->commit) < 0)
        return -1;
    if (git (r->git, c->folder, NULL, err, "clean", "-ffdxq") < 0)
        return -1;
    return clone_submodules (r, c, err);
}

static int clone_prepare (struct repo *r, struct checkout *c, struct error *err)
{
    struct error first;
    if (folder_exists (path_join (r->arena, c->folder, ".git"))) {
        if (clone_to_commit (r, c, &first) == 0)
            return 0;
        if (first.code == ECANCELED) {
            *err = first;
            return -1;
        }
        say (r->say, "WARNING", "the kept clone could not be used (%s): made anew", first.text);
        c->reused = false;
    }
    if (folder_remove (c->folder, err) < 0 ||
        folder_make (path_join (r->arena, c->folder, ".git"), 0700, err) < 0)
        return -1;
    return clone_to_commit (r, c, err);
}

static void warn_lfs (struct repo *r, const struct checkout *c)
{
    struct str attributes = { .arena = r->arena };
    struct error ignored;
    if (file_read (path_join (r->arena, c->folder, ".gitattributes"), 1 << 20, &attributes, &ignored) < 0 ||
        !attributes.n || !strstr (attributes.p, "filter=lfs"))
        return;
    if (git (r->git, c->folder, NULL, &ignored, "lfs", "version") < 0)
        say (r->say, "WARNING",
             "the repository keeps files in Git LFS and git-lfs is not installed: they are pointers only");
}

/* Objects that a crash or a full disk left empty: the tips of the refs cannot be read. */
static bool mirror_is_damaged (struct repo *r)
{
    struct error ignored;
    return folder_exists (r->mirror) &&
           git (r->git, r->mirror, NULL, &ignored, "for-each-ref", "--format=%(objecttype)") < 0;
}

static int mirror_remove (struct repo *r, struct error *err)
{
    cleanup_close int lock = lock_file (arena_printf (r->arena, "%s.lock", r->mirror), LOCK_EX, err);
    r->fetched = false;
    if (lock < 0)
        return -1;
    return mirror_is_damaged (r) ? folder_remove (r->mirror, err) : 0; /* else another run has mended it */
}

static int obtain (struct repo *r, struct checkout *ret, struct error *err)
{
    const char *commit = r->wish->commit;
    struct checkout c = { .lease = -1 };
    int found = 1;
    if (given (commit) && strlen (commit) >= 40 && is_hex (commit))
        found = clone_lease (r, commit, &c, err);
    if (found == 0)
        c.commit = arena_strdup (r->arena, commit), c.reused = true;
    else if (found < 0 || mirror_commit (r, &c.commit, err) < 0 || clone_lease (r, NULL, &c, err) < 0)
        return -1;
    if (clone_prepare (r, &c, err) < 0) {
        repo_release (&c);
        return -1;
    }
    *ret = c;
    return 0;
}

int repo_checkout (struct arena *a, struct git *g, const char *root, const struct repo_wish *wish,
                   const struct say *say_to, struct checkout *ret, struct error *err)
{
    struct repo r = { .arena = a,
                      .git = g,
                      .wish = wish,
                      .say = say_to,
                      .url = git_url_text (a, wish->url, false),
                      .name = repo_name (a, wish->url->path) };
    const char *key = digest (a, r.url), *owner = digest (a, given (wish->owner) ? wish->owner : "");
    r.mirror = arena_printf (a, "%s/mirrors/%s-%s.git", root, r.name, key);
    r.clones = arena_printf (a, "%s/clones/%s-%s-%.8s", root, r.name, key, owner);
    if (folder_make (path_join (a, root, "mirrors"), 0700, err) < 0 || folder_make (r.clones, 0700, err) < 0)
        return -1;
    if (obtain (&r, ret, err) < 0) {
        if (err->code == ECANCELED || !mirror_is_damaged (&r))
            return -1;
        say (r.say, "WARNING", "the kept mirror of %s is damaged (%s): fetched anew",
             git_url_shown (a, wish->url), err->text);
        if (mirror_remove (&r, err) < 0 || obtain (&r, ret, err) < 0)
            return -1;
    }
    warn_lfs (&r, ret);
    return 0;
}

void repo_release (struct checkout *c)
{
    if (c && c->lease >= 0)
        close (c->lease);
    if (c)
        c->lease = -1;
}
