/* git.c - see git.h. In: arguments. Out: git's output, or its last words as an error. */
#include "run/git.h"
#include "io/spawn.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/mman.h>
#include <unistd.h>

enum { LOGINS = 8, ALIASES = 3 * (LOGINS + 3), OUTPUT_MAX = 64 << 20 };

struct git {
    struct arena *arena;
    const struct say *say;
    const char *program;
    const char **head; /* "git", "-c", ... */
    size_t head_n;
    const char **env;
    int fds[LOGINS]; /* memory files with credentials */
    int fd_n;
};

static const char *const always[] = { "core.hooksPath=/dev/null",
                                      "core.fsmonitor=false",
                                      "protocol.ext.allow=never",
                                      "gc.auto=0",
                                      "maintenance.auto=false",
                                      "core.autocrlf=false",
                                      "advice.detachedHead=false",
                                      "fetch.unpackLimit=1",
                                      "transfer.fsckObjects=false",
                                      "safe.directory=*",
                                      "submodule.recurse=false",
                                      "apply.whitespace=nowarn",
                                      "core.askPass=",
                                      "fetch.recurseSubmodules=false",
                                      "init.defaultBranch=main",
                                      NULL };

static void head_add (struct git *g, const char *word)
{
    g->head[g->head_n++] = word;
}

static void config (struct git *g, const char *setting)
{
    head_add (g, "-c");
    head_add (g, setting);
}

/* One credential for remotes below `where` ("" = all): a memory file and the helper that prints it. */
static int add_login (struct git *g, const char *where, const struct git_login *l, struct error *err)
{
    if (strpbrk (l->user, "\r\n") || strpbrk (l->password, "\r\n"))
        return error_set (err, EINVAL, "git credentials for %s: a line break in user or password",
                          where[0] ? where : "all hosts");
    int fd = memfd_create ("git-login", MFD_CLOEXEC);
    if (fd < 0)
        return error_errno (err, "memory file for git credentials");
    g->fds[g->fd_n++] = fd;
    cleanup_str struct str s = { 0 };
    str_addf (&s, "username=%s\npassword=%s\n", l->user, l->password);
    ssize_t n = write (fd, s.p, s.n);
    explicit_bzero (s.p, s.n);
    if (n != (ssize_t)s.n)
        return error_errno (err, "memory file for git credentials");
    config (g, arena_printf (g->arena,
                             "credential.%s%shelper=!f() { test \"$1\" = get && cat /proc/self/fd/%d; }; f",
                             where, where[0] ? "." : "", fd));
    return 0;
}

static const char *origin (struct arena *a, const struct git_url *u)
{
    return u->port ? arena_printf (a, "%s://%s:%d", u->scheme, u->host, u->port)
                   : arena_printf (a, "%s://%s", u->scheme, u->host);
}

static bool whole (const struct git_login *l)
{
    return l->user && l->user[0] && l->password && l->password[0];
}

static bool is_http (const struct git_url *u)
{
    return !strcmp (u->scheme, "https") || !strcmp (u->scheme, "http");
}

/* Credentials of the remote itself, of the extra hosts and of the rest, in the order in which git shall ask. */
static int add_logins (struct git *g, const struct git_rules *r, const struct git_url *u, struct error *err)
{
    struct git_login l;
    if (is_http (u) && git_url_login (g->arena, r, u, &l)) {
        config (g, "credential.helper="); /* forget the machine's own helpers: ours decide */
        if (add_login (g, origin (g->arena, u), &l, err) < 0)
            return -1;
    }
    const char *scheme = is_http (u) ? u->scheme : "https";
    for (size_t i = 0; i < r->extra_n && g->fd_n < LOGINS - 1; i++)
        if (whole (&r->extra[i])) {
            const char *host = r->extra[i].host;
            const char *where = host && host[0] ? arena_printf (g->arena, "%s://%s", scheme, host) : "";
            if (add_login (g, where, &r->extra[i], err) < 0)
                return -1;
        }
    if (whole (&r->login) && !r->host_match_prefix) {
        const char *host = r->login.host;
        return add_login (g, host && host[0] ? arena_printf (g->arena, "%s://%s", scheme, host) : "",
                          &r->login, err);
    }
    return 0;
}

/* Remotes of `host` as .gitmodules and requirements write them, taken as `base` is. */
static void add_alias (struct git *g, const char *base, const char *host, const char *const *forms)
{
    for (; *forms; forms++)
        config (g, arena_printf (g->arena, "url.%s/.insteadOf=%s%s%s", base, forms[0], host,
                                 strchr (forms[0], ':') ? "/" : ":"));
}

/* The choice between ssh and https that was made for the remote holds for what it refers to, too. */
static void add_aliases (struct git *g, const struct git_rules *r, const struct git_url *u)
{
    static const char *const of_ssh[] = { "git@", "ssh://git@", "ssh://", NULL };
    static const char *const of_https[] = { "https://", "http://", NULL };
    struct git_login l;
    const char *scheme = r->https_scheme && r->https_scheme[0] ? r->https_scheme : "https";
    if (r->force_ssh && !strcmp (u->scheme, "ssh") && u->host[0])
        add_alias (g,
                   arena_printf (g->arena, "ssh://%s@%s%s", u->user ? u->user : "git", u->host,
                                 u->port ? arena_printf (g->arena, ":%d", u->port) : ""),
                   u->host, of_https);
    if (r->force_ssh || r->keep_ssh)
        return;
    if (is_http (u) && git_url_login (g->arena, r, u, &l))
        add_alias (g, origin (g->arena, u), u->host, of_ssh);
    size_t extra_n = r->extra_n < LOGINS ? r->extra_n : LOGINS;
    for (size_t i = 0; i <= extra_n; i++) {
        const struct git_login *known = i < extra_n ? &r->extra[i] : &r->login;
        if (whole (known) && known->host && known->host[0] && strcasecmp (known->host, u->host) &&
            !(known == &r->login && r->host_match_prefix))
            add_alias (g, arena_printf (g->arena, "%s://%s", scheme, known->host), known->host, of_ssh);
    }
}

static void add_variable (struct git *g, size_t *n, const char *value)
{
    g->env[(*n)++] = value;
}

static char *base64 (struct arena *a, const char *p)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    size_t n = strlen (p);
    char *out = arena_alloc (a, (n + 2) / 3 * 4 + 1), *o = out;
    for (size_t i = 0; i < n; i += 3) {
        unsigned v = (unsigned)(unsigned char)p[i] << 16 |
                     (i + 1 < n ? (unsigned)(unsigned char)p[i + 1] << 8 : 0) |
                     (i + 2 < n ? (unsigned char)p[i + 2] : 0);
        *o++ = digits[v >> 18];
        *o++ = digits[v >> 12 & 63];
        *o++ = i + 1 < n ? digits[v >> 6 & 63] : '=';
        *o++ = i + 2 < n ? digits[v & 63] : '=';
    }
    return out;
}

/* Tokens that go as a header travel in git's configuration variables, which only its children read. */
static void add_header (struct git *g, size_t *n, enum git_scheme scheme, const struct git_rules *r,
                        const struct git_url *u)
{
    struct git_login l;
    if (scheme == GIT_BASIC || !r || !git_url_login (g->arena, r, u, &l))
        return;
    add_variable (g, n, "GIT_CONFIG_COUNT=1");
    add_variable (g, n,
                  arena_printf (g->arena, "GIT_CONFIG_KEY_0=http.%s/.extraHeader", origin (g->arena, u)));
    if (scheme == GIT_BEARER)
        add_variable (g, n,
                      arena_printf (g->arena, "GIT_CONFIG_VALUE_0=Authorization: Bearer %s", l.password));
    else
        add_variable (g, n,
                      arena_printf (g->arena, "GIT_CONFIG_VALUE_0=Authorization: Basic %s",
                                    base64 (g->arena, arena_printf (g->arena, "%s:%s", l.user, l.password))));
}

static void environment (struct git *g, enum git_scheme scheme, const struct git_rules *r,
                         const struct git_url *u)
{
    static const char *const dropped[] = { "GIT_DIR=",
                                           "GIT_WORK_TREE=",
                                           "GIT_INDEX_FILE=",
                                           "GIT_OBJECT_DIRECTORY=",
                                           "GIT_ALTERNATE_OBJECT_DIRECTORIES=",
                                           "GIT_CONFIG_",
                                           "GIT_ASKPASS=",
                                           "SSH_ASKPASS=",
                                           "GIT_TERMINAL_PROMPT=",
                                           "LC_ALL=",
                                           "LANGUAGE=",
                                           "GIT_NAMESPACE=",
                                           "GIT_EXTERNAL_DIFF=",
                                           NULL };
    size_t count = 0, n = 0;
    while (environ[count])
        count++;
    g->env = arena_array (g->arena, const char *, count + 8);
    for (size_t i = 0; i < count; i++) {
        size_t d = 0;
        while (dropped[d] && strncmp (environ[i], dropped[d], strlen (dropped[d])))
            d++;
        if (!dropped[d])
            add_variable (g, &n, environ[i]);
    }
    add_variable (g, &n, "GIT_TERMINAL_PROMPT=0");
    add_variable (g, &n, "LC_ALL=C");
    if (!getenv ("GIT_SSH_COMMAND") && !getenv ("GIT_SSH"))
        add_variable (g, &n, "GIT_SSH_COMMAND=ssh -oBatchMode=yes");
    add_header (g, &n, scheme, r, u);
}

int git_create (const struct git_rules *rules, enum git_scheme scheme, const struct git_url *u,
                const struct say *say, struct git **ret, struct error *err)
{
    struct arena *a = arena_create ();
    struct git *g = arena_new (a, struct git);
    g->arena = a, g->say = say;
    char *program = spawn_find ("git", NULL);
    if (!program) {
        arena_destroy (a);
        return error_set (err, ENOENT, "git is not installed: install the package 'git'");
    }
    g->program = arena_strdup (a, program);
    free (program);
    g->head = arena_array (a, const char *, 2 * (sizeof always / sizeof always[0] + LOGINS + ALIASES + 8));
    head_add (g, g->program);
    for (size_t i = 0; always[i]; i++)
        config (g, always[i]);
    if (!u->scheme[0] || !strcmp (u->scheme, "file"))
        config (g, "protocol.file.allow=always"); /* submodules of a local repository are local, too */
    if (rules)
        add_aliases (g, rules, u);
    environment (g, scheme, rules, u);
    if (rules && scheme == GIT_BASIC && add_logins (g, rules, u, err) < 0) {
        git_destroy (g);
        return -1;
    }
    *ret = g;
    return 0;
}

void git_destroy (struct git *g)
{
    if (!g)
        return;
    for (int i = 0; i < g->fd_n; i++)
        close (g->fds[i]);
    arena_destroy (g->arena);
}

/* git's own words: the lines that begin with "fatal:" or "error:", else the last line. */
static const char *last_words (const struct str *s)
{
    static const char *const marks[] = { "fatal: ", "error: ", NULL };
    if (!s->n)
        return "it said nothing";
    while (s->n && strchr ("\r\n ", s->p[s->n - 1]))
        s->p[--((struct str *)s)->n] = 0;
    for (size_t i = 0; marks[i]; i++) {
        char *m = strstr (s->p, marks[i]);
        if (m) {
            m[strcspn (m, "\n")] = 0;
            return m;
        }
    }
    char *line = strrchr (s->p, '\n');
    return line ? line + 1 : s->p;
}

static int run (struct git *g, const char *cwd, struct text input, struct str *out, struct error *err,
                const char *const *args)
{
    size_t n = 0;
    while (args[n])
        n++;
    const char **argv = calloc (g->head_n + n + 1, sizeof *argv);
    memcpy (argv, g->head, g->head_n * sizeof *argv);
    memcpy (argv + g->head_n, args, n * sizeof *argv);
    struct spawn s = { .argv = argv,
                       .env = g->env,
                       .cwd = cwd,
                       .keep = g->fds,
                       .keep_n = g->fd_n,
                       .cancel = g->say ? g->say->cancel : 0 };
    cleanup_str struct str errors = { 0 };
    struct spawn_end end;
    int r = spawn_run (&s, input, out, &errors, OUTPUT_MAX, 0, &end, err);
    free (argv);
    if (r < 0)
        return -1;
    if (!end.signaled && end.code == 0)
        return 0;
    return error_set (err, 0, "git %s: %s", args[0], last_words (&errors));
}

int git_run (struct git *g, const char *cwd, struct str *out, struct error *err, const char *const *args)
{
    return run (g, cwd, (struct text){ 0 }, out, err, args);
}

int git_feed (struct git *g, const char *cwd, struct text input, struct error *err, const char *const *args)
{
    return run (g, cwd, input, NULL, err, args);
}

const char *const *git_environment (struct git *g, const int **keep, int *keep_n)
{
    size_t n = 0, settings = 0;
    while (g->env[n])
        n++;
    const char **env = arena_array (g->arena, const char *, n + g->head_n + 2);
    size_t k = 0;
    for (size_t i = 0; i < n; i++)
        if (strncmp (g->env[i], "GIT_CONFIG_COUNT=", 17))
            env[k++] = g->env[i];
    settings = k < n; /* the header of git_create is setting 0 */
    for (size_t i = 2; i < g->head_n; i += 2) {
        const char *eq = strchr (g->head[i], '=');
        env[k++] =
            arena_printf (g->arena, "GIT_CONFIG_KEY_%zu=%.*s", settings, (int)(eq - g->head[i]), g->head[i]);
        env[k++] = arena_printf (g->arena, "GIT_CONFIG_VALUE_%zu=%s", settings++, eq + 1);
    }
    env[k++] = arena_printf (g->arena, "GIT_CONFIG_COUNT=%zu", settings);
    *keep = g->fds, *keep_n = g->fd_n;
    return env;
}
