/* url.c - see url.h. In: a remote as a task carries it and the rules. Out: the remote to use and its credentials. */
#include "run/url.h"
#include "base/str.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static int hex (char c)
{
    return c >= '0' && c <= '9'   ? c - '0'
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
           : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                  : -1;
}

static char *decode (struct arena *a, const char *p, size_t n)
{
    char *out = arena_alloc (a, n + 1), *o = out;
    for (size_t i = 0; i < n; i++)
        if (p[i] == '%' && i + 2 < n && hex (p[i + 1]) >= 0 && hex (p[i + 2]) >= 0) {
            *o++ = (char)(hex (p[i + 1]) * 16 + hex (p[i + 2]));
            i += 2;
        } else
            *o++ = p[i];
    *o = 0;
    return out;
}

static void add_encoded (struct str *s, const char *z)
{
    for (; *z; z++)
        if (isalnum ((unsigned char)*z) || strchr ("-._~", *z))
            str_putc (s, *z);
        else
            str_addf (s, "%%%02X", (unsigned char)*z);
}

static char *lower (struct arena *a, const char *p, size_t n)
{
    char *out = arena_strndup (a, p, n);
    for (char *o = out; *o; o++)
        *o = (char)tolower ((unsigned char)*o);
    return out;
}

/* "user:password@host:port" */
static int parse_authority (struct arena *a, const char *p, size_t n, struct git_url *u, struct error *err)
{
    size_t at = n;
    while (at && p[at - 1] != '@')
        at--;
    if (at) {
        size_t colon = 0;
        while (colon < at - 1 && p[colon] != ':')
            colon++;
        u->user = decode (a, p, colon);
        if (colon < at - 1)
            u->password = decode (a, p + colon + 1, at - 1 - colon - 1);
    }
    p += at, n -= at;
    size_t host = n;
    if (n && p[0] == '[') { /* IPv6 */
        const char *end = memchr (p, ']', n);
        if (!end)
            return error_set (err, EINVAL, "repository: '[' without ']' in the host");
        host = (size_t)(end - p) + 1;
    } else
        for (host = 0; host < n && p[host] != ':'; host++)
            ;
    u->host = lower (a, p, host);
    if (host < n) {
        char *end;
        long port = strtol (arena_strndup (a, p + host + 1, n - host - 1), &end, 10);
        if (*end || p[host] != ':' || port < 0 || port > 65535)
            return error_set (err, EINVAL, "repository: '%.*s' is no port number", (int)(n - host - 1),
                              p + host + 1);
        u->port = (int)port;
    }
    return u->host[0] ? 0 : error_set (err, EINVAL, "repository: the URL has no host");
}

static bool scp_form (const char *t, const char *colon)
{
    const char *slash = strchr (t, '/');
    if (!colon || colon == t || (slash && slash < colon) || !colon[1])
        return false;
    return memchr (t, '@', (size_t)(colon - t)) || memchr (t, '.', (size_t)(colon - t)) || !slash ||
           slash > colon;
}

int git_url_parse (struct arena *a, const char *text, struct git_url *ret, struct error *err)
{
    struct git_url u = { .scheme = "", .host = "", .path = "" };
    while (isspace ((unsigned char)*text))
        text++;
    size_t n = strlen (text);
    while (n && isspace ((unsigned char)text[n - 1]))
        n--;
    char *t = arena_strndup (a, text, n);
    if (!n)
        return error_set (err, EINVAL, "repository: the URL is empty");
    if (t[0] == '-')
        return error_set (err, EINVAL, "repository: '%s' begins with a dash", t);
    for (char *c = t; *c; c++)
        if ((unsigned char)*c < ' ' || *c == 127)
            return error_set (err, EINVAL, "repository: the URL holds a control character");
    char *sep = strstr (t, "://");
    if (sep) {
        char *rest = sep + 3, *scheme = lower (a, t, (size_t)(sep - t));
        u.scheme = !strcmp (scheme, "git+ssh") || !strcmp (scheme, "ssh+git") ? "ssh"
                   : !strncmp (scheme, "git+", 4)                             ? scheme + 4
                                                                              : scheme;
        static const char *const known[] = { "https", "http", "ssh", "git", "file", NULL };
        size_t k = 0;
        while (known[k] && strcmp (known[k], u.scheme))
            k++;
        if (!known[k])
            return error_set (err, EINVAL,
                              "repository: '%s://' is no scheme we clone by (https, http, ssh, git, file)",
                              scheme);
        if (!strcmp (u.scheme, "file")) {
            u.path = rest;
        } else {
            size_t authority = strcspn (rest, "/");
            if (parse_authority (a, rest, authority, &u, err) < 0)
                return -1;
            u.path = rest[authority] ? rest + authority : "/";
        }
    } else if (strstr (t, "::") && strcspn (t, ":") < strcspn (t, "/[")) {
        return error_set (err, EINVAL, "repository: '%s': remote helpers (name::address) are not allowed", t);
    } else if (strchr (t, ':') && scp_form (t, strchr (t, ':'))) {
        char *colon = strchr (t, ':');
        if (parse_authority (a, t, (size_t)(colon - t), &u, err) < 0)
            return -1;
        u.scheme = "ssh", u.scp = true;
        u.path = arena_strdup (a, colon + 1);
    } else
        u.path = t;
    *ret = u;
    return 0;
}

static bool is_http (const struct git_url *u)
{
    return !strcmp (u->scheme, "https") || !strcmp (u->scheme, "http");
}

const char *git_url_text (struct arena *a, const struct git_url *u, bool with_login)
{
    struct str s = { .arena = a };
    if (!u->scheme[0])
        return arena_strdup (a, u->path);
    if (u->scp && !u->password && !u->port) {
        if (u->user)
            str_addf (&s, "%s@", u->user);
        str_addf (&s, "%s:%s", u->host, u->path);
        return s.p;
    }
    str_addf (&s, "%s://", u->scheme);
    bool user = u->user && (with_login || !strcmp (u->scheme, "ssh"));
    if (user) {
        add_encoded (&s, u->user);
        if (u->password && with_login) {
            str_putc (&s, ':');
            add_encoded (&s, u->password);
        }
        str_putc (&s, '@');
    }
    str_puts (&s, u->host);
    if (u->port)
        str_addf (&s, ":%d", u->port);
    if (u->path[0] != '/' && strcmp (u->scheme, "file"))
        str_putc (&s, '/');
    str_puts (&s, u->path);
    return s.p;
}

const char *git_url_shown (struct arena *a, const struct git_url *u)
{
    struct git_url masked = *u;
    if (!u->password)
        return git_url_text (a, u, true);
    masked.password = "xx";
    char *t = arena_strdup (a, git_url_text (a, &masked, true));
    char *at = strstr (t, ":xx@");
    return at ? arena_printf (a, "%.*s:****%s", (int)(at - t), t, at + 3) : t;
}

struct git_url git_url_to_https (struct arena *a, const struct git_url *u, const char *scheme)
{
    struct git_url out = *u;
    if (strcmp (u->scheme, "ssh"))
        return out;
    out.scheme = scheme && scheme[0] ? scheme : "https";
    out.scp = false;
    out.port = 0; /* an ssh port is no https port */
    if (u->user && !u->password && (!strcasecmp (u->user, "git") || !strcasecmp (u->user, "hg")))
        out.user = NULL;
    out.path = arena_printf (a, "/%s", u->path + strspn (u->path, "/"));
    if (!strcmp (u->host, "ssh.dev.azure.com") && !strncmp (out.path, "/v3/", 4)) {
        const char *org = out.path + 4, *project = strchr (org, '/');
        const char *repo = project ? strchr (project + 1, '/') : NULL;
        if (repo) {
            out.host = "dev.azure.com";
            out.path = arena_printf (a, "/%.*s/_git%s", (int)(repo - org), org, repo);
        }
    }
    return out;
}

struct git_url git_url_to_ssh (struct arena *a, const struct git_url *u, int port, const char *user)
{
    (void)a;
    struct git_url out = *u;
    if (is_http (u)) {
        out.scheme = "ssh";
        out.user = user ? user : "git";
        out.password = NULL;
        out.port = port;
    } else if (!strcmp (u->scheme, "ssh") && !u->scp) {
        out.user = user ? user : u->user;
        out.port = port ? port : u->port;
    }
    return out;
}

static bool host_fits (struct arena *a, const struct git_rules *r, const char *host, const struct git_url *u)
{
    if (!host || !host[0])
        return true;
    if (r->host_match_prefix) {
        struct git_url bare = *u;
        bare.user = bare.password = NULL;
        const char *text = git_url_text (a, &bare, false);
        return !strncasecmp (text, host, strlen (host)) ||
               !strncasecmp (strstr (text, "://") + 3, host, strlen (host));
    }
    return !strcasecmp (host, u->host);
}

static bool whole (const struct git_login *l)
{
    return l->user && l->user[0] && l->password && l->password[0];
}

bool git_url_login (struct arena *a, const struct git_rules *r, const struct git_url *u,
                    struct git_login *ret)
{
    if (!is_http (u))
        return false;
    if (u->user && u->user[0] && u->password && u->password[0]) {
        *ret = (struct git_login){ u->host, u->user, u->password };
        return true;
    }
    for (size_t i = 0; i < r->extra_n; i++)
        if (whole (&r->extra[i]) && host_fits (a, r, r->extra[i].host, u)) {
            *ret = r->extra[i];
            return true;
        }
    if (whole (&r->login) && host_fits (a, r, r->login.host, u)) {
        *ret = r->login;
        return true;
    }
    return false;
}

struct git_url git_url_choose (struct arena *a, const struct git_rules *r, const struct git_url *u)
{
    struct git_login ignored;
    if (r->force_ssh)
        return git_url_to_ssh (a, u, r->ssh_port, r->ssh_user);
    if (strcmp (u->scheme, "ssh") || r->keep_ssh)
        return *u;
    struct git_url https = git_url_to_https (a, u, r->https_scheme);
    return git_url_login (a, r, &https, &ignored) ? https : *u;
}
