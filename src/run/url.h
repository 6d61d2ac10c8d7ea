/* url.h - git remotes: the forms they are written in, which one we clone by, and whose credentials go with it.
 *
 * Forms: `https://[user[:password]@]host[:port]/path`, http, `ssh://...` (also git+ssh), `[user@]host:path` (scp form),
 * `file:///path` and plain paths. User and password are kept decoded; a password may hold any character, the host
 * begins behind the LAST '@' before the path. Everything lives in the arena.
 */
#pragma once
#include "base/arena.h"
#include "base/error.h"

#include <stdbool.h>

struct git_url {
    const char *scheme;          /* "https", "http", "ssh", "git", "file"; "" = plain path */
    const char *user, *password; /* NULL = none */
    const char *host;            /* lower case; "" for file and path */
    int port;                    /* 0 = the scheme's */
    const char *path;            /* with a leading slash for all but relative plain paths */
    bool scp; /* was written host:path: such a path is relative to the user's home unless it began with / */
};

struct git_login {
    const char *host; /* NULL or "" = every host */
    const char *user, *password;
};

/* What agent.* of the configuration says about remotes. */
struct git_rules {
    struct git_login login;        /* git_user, git_pass, git_host */
    bool host_match_prefix;        /* git_host is a prefix of the whole URL instead of the host */
    const struct git_login *extra; /* git.extra_credentials, first match wins over `login` */
    size_t extra_n;
    bool force_ssh;           /* force_git_ssh_protocol */
    int ssh_port;             /* force_git_ssh_port, 0 = not given */
    const char *ssh_user;     /* force_git_ssh_user, NULL = not given: "git" for https URLs */
    bool keep_ssh;            /* translate_ssh: false */
    const char *https_scheme; /* translate_ssl_replacement_scheme, NULL = "https" */
};

int git_url_parse (struct arena *a, const char *text, struct git_url *ret, struct error *err) warn_unused;
/* As text again. with_login: with user and password, percent-encoded; else neither is in it (ssh keeps its user). */
const char *git_url_text (struct arena *a, const struct git_url *u, bool with_login);
/* For people and logs: with the user, "****" for the password. */
const char *git_url_shown (struct arena *a, const struct git_url *u);

struct git_url git_url_to_https (struct arena *a, const struct git_url *u, const char *scheme);
struct git_url git_url_to_ssh (struct arena *a, const struct git_url *u, int port, const char *user);

/* The user and password that go with an http(s) URL: its own pair, else the first extra that fits, else the login.
 * False: none. A pair of which one half is missing is none. */
bool git_url_login (struct arena *a, const struct git_rules *r, const struct git_url *u,
                    struct git_login *ret);
/* The URL to clone by: ssh forced, or ssh turned into https where credentials for that host are known. */
struct git_url git_url_choose (struct arena *a, const struct git_rules *r, const struct git_url *u);
