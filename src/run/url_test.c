/* url_test.c - remotes in all their forms: to https, to ssh, credentials, and what is shown of them. */
#include "base/unit.h"
#include "run/url.h"

#include <errno.h>
#include <string.h>

static struct git_url parse (struct arena *a, const char *text)
{
    struct git_url u;
    struct error err = { 0 };
    if (git_url_parse (a, text, &u, &err) < 0)
        fail_msg ("%s: %s", text, err.text);
    return u;
}

static void to_https (void **state)
{
    (void)state;
    static const struct {
        const char *url, *https;
    } rows[] = {
        { "git@github.com:foo/bar.git", "https://github.com/foo/bar.git" },
        { "github.com:foo/bar.git", "https://github.com/foo/bar.git" },
        { "ssh://git@github.com/foo/bar.git", "https://github.com/foo/bar.git" },
        { "ssh://git@github.com:22/foo/bar.git", "https://github.com/foo/bar.git" },
        { "ssh://user@bitbucket.org/foo/bar.git", "https://user@bitbucket.org/foo/bar.git" },
        { "ssh://user:pw@github.com/foo/bar.git", "https://user:pw@github.com/foo/bar.git" },
        { "git@gitlab.com:group/sub/proj", "https://gitlab.com/group/sub/proj" },
        { "git@ssh.dev.azure.com:v3/org/proj/repo", "https://dev.azure.com/org/proj/_git/repo" },
        { "https://github.com/foo/bar.git", "https://github.com/foo/bar.git" },
        { "file:///srv/git/bar.git", "file:///srv/git/bar.git" },
        { "/srv/git/bar.git", "/srv/git/bar.git" },
        { "hg@bitbucket.org:foo/bar", "https://bitbucket.org/foo/bar" },
        { "git@192.168.1.5:foo/bar.git", "https://192.168.1.5/foo/bar.git" },
        { "git@host.example.com:~ann/repo.git", "https://host.example.com/~ann/repo.git" },
        { "org-123@github.com:org/repo.git", "https://org-123@github.com/org/repo.git" },
        { "https://user@dev.azure.com/org/proj/_git/repo", "https://user@dev.azure.com/org/proj/_git/repo" },
        { "git+ssh://git@github.com/foo/bar.git", "https://github.com/foo/bar.git" },
        { "GIT@GITHUB.COM:foo/bar.git", "https://github.com/foo/bar.git" },
    };
    cleanup_arena struct arena *a = arena_create ();
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct git_url u = parse (a, rows[i].url), h = git_url_to_https (a, &u, NULL);
        assert_string_equal (git_url_text (a, &h, true), rows[i].https);
    }
}

static void to_ssh (void **state)
{
    (void)state;
    static const struct {
        const char *url;
        int port;
        const char *user, *ssh;
    } rows[] = {
        { "https://github.com/foo/bar.git", 0, NULL, "ssh://git@github.com/foo/bar.git" },
        { "https://github.com/foo/bar.git", 2222, NULL, "ssh://git@github.com:2222/foo/bar.git" },
        { "https://github.com/foo/bar.git", 0, "ann", "ssh://ann@github.com/foo/bar.git" },
        { "https://user@dev.azure.com/org/proj/_git/repo", 0, NULL,
          "ssh://git@dev.azure.com/org/proj/_git/repo" },
        { "https://user@dev.azure.com/org/proj/_git/repo", 2222, NULL,
          "ssh://git@dev.azure.com:2222/org/proj/_git/repo" },
        { "https://user@dev.azure.com/org/proj/_git/repo", 0, "ann",
          "ssh://ann@dev.azure.com/org/proj/_git/repo" },
        { "ssh://root@git.example.net:2222/a/r.git", 0, "git", "ssh://git@git.example.net:2222/a/r.git" },
        { "ssh://git@gitlab.example.com:2222/team/app.git", 0, NULL,
          "ssh://git@gitlab.example.com:2222/team/app.git" },
        { "git@git.example.org:team/app.git", 0, NULL, "git@git.example.org:team/app.git" },
    };
    cleanup_arena struct arena *a = arena_create ();
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct git_url u = parse (a, rows[i].url), h = git_url_to_ssh (a, &u, rows[i].port, rows[i].user);
        assert_string_equal (git_url_text (a, &h, true), rows[i].ssh);
    }
}

static void credentials (void **state)
{
    (void)state;
    static const struct {
        struct git_login login, extra;
        const char *url, *with;
    } rows[] = {
        { { NULL, "U", "P" },
          { NULL, NULL, NULL },
          "https://github.com/foo/bar.git",
          "https://U:P@github.com/foo/bar.git" },
        { { NULL, "U", "P" },
          { NULL, NULL, NULL },
          "https://ann@github.com/foo/bar.git",
          "https://U:P@github.com/foo/bar.git" },
        { { NULL, "U", "P" },
          { NULL, NULL, NULL },
          "https://ann:x@github.com/foo/bar.git",
          "https://ann:x@github.com/foo/bar.git" },
        { { NULL, "U", "P" },
          { NULL, NULL, NULL },
          "https://gitlab.com/foo/bar.git",
          "https://U:P@gitlab.com/foo/bar.git" },
        { { NULL, "U", "P" },
          { NULL, NULL, NULL },
          "git@github.com:foo/bar.git",
          "git@github.com:foo/bar.git" },
        { { NULL, "U", "p@ss/w:rd" },
          { NULL, NULL, NULL },
          "https://github.com/foo/bar.git",
          "https://U:p%40ss%2Fw%3Ard@github.com/foo/bar.git" },
        { { NULL, "U", "p@ss/w:rd" },
          { NULL, NULL, NULL },
          "https://ann@github.com/foo/bar.git",
          "https://U:p%40ss%2Fw%3Ard@github.com/foo/bar.git" },
        { { NULL, "U", "p@ss/w:rd" },
          { NULL, NULL, NULL },
          "https://ann:x@github.com/foo/bar.git",
          "https://ann:x@github.com/foo/bar.git" },
        { { NULL, "U", "p@ss/w:rd" },
          { NULL, NULL, NULL },
          "https://gitlab.com/foo/bar.git",
          "https://U:p%40ss%2Fw%3Ard@gitlab.com/foo/bar.git" },
        { { NULL, "U", "p@ss/w:rd" },
          { NULL, NULL, NULL },
          "git@github.com:foo/bar.git",
          "git@github.com:foo/bar.git" },
        { { "github.com", "U", "P" },
          { NULL, NULL, NULL },
          "https://github.com/foo/bar.git",
          "https://U:P@github.com/foo/bar.git" },
        { { "github.com", "U", "P" },
          { NULL, NULL, NULL },
          "https://ann@github.com/foo/bar.git",
          "https://U:P@github.com/foo/bar.git" },
        { { "github.com", "U", "P" },
          { NULL, NULL, NULL },
          "https://ann:x@github.com/foo/bar.git",
          "https://ann:x@github.com/foo/bar.git" },
        { { "github.com", "U", "P" },
          { NULL, NULL, NULL },
          "https://gitlab.com/foo/bar.git",
          "https://gitlab.com/foo/bar.git" },
        { { "github.com", "U", "P" },
          { NULL, NULL, NULL },
          "git@github.com:foo/bar.git",
          "git@github.com:foo/bar.git" },
        { { NULL, NULL, "P" },
          { NULL, NULL, NULL },
          "https://github.com/foo/bar.git",
          "https://github.com/foo/bar.git" },
        { { NULL, NULL, "P" },
          { NULL, NULL, NULL },
          "https://ann@github.com/foo/bar.git",
          "https://ann@github.com/foo/bar.git" },
        { { NULL, NULL, "P" },
          { NULL, NULL, NULL },
          "https://ann:x@github.com/foo/bar.git",
          "https://ann:x@github.com/foo/bar.git" },
        { { NULL, NULL, "P" },
          { NULL, NULL, NULL },
          "https://gitlab.com/foo/bar.git",
          "https://gitlab.com/foo/bar.git" },
        { { NULL, NULL, "P" },
          { NULL, NULL, NULL },
          "git@github.com:foo/bar.git",
          "git@github.com:foo/bar.git" },
        { { NULL, "U", "P" },
          { "gitlab.com", "V", "Q" },
          "https://github.com/foo/bar.git",
          "https://U:P@github.com/foo/bar.git" },
        { { NULL, "U", "P" },
          { "gitlab.com", "V", "Q" },
          "https://ann@github.com/foo/bar.git",
          "https://U:P@github.com/foo/bar.git" },
        { { NULL, "U", "P" },
          { "gitlab.com", "V", "Q" },
          "https://ann:x@github.com/foo/bar.git",
          "https://ann:x@github.com/foo/bar.git" },
        { { NULL, "U", "P" },
          { "gitlab.com", "V", "Q" },
          "https://gitlab.com/foo/bar.git",
          "https://V:Q@gitlab.com/foo/bar.git" },
        { { NULL, "U", "P" },
          { "gitlab.com", "V", "Q" },
          "git@github.com:foo/bar.git",
          "git@github.com:foo/bar.git" },
    };
    cleanup_arena struct arena *a = arena_create ();
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct git_rules r = { .login = rows[i].login, .extra = &rows[i].extra, .extra_n = 1 };
        struct git_url u = parse (a, rows[i].url);
        struct git_login l;
        if (git_url_login (a, &r, &u, &l))
            u.user = l.user, u.password = l.password;
        assert_string_equal (git_url_text (a, &u, true), rows[i].with);
    }
}

static void choice (void **state)
{
    (void)state;
    static const struct {
        struct git_rules r;
        const char *url, *want;
    } rows[] = {
        { { .keep_ssh = false },
          "ssh://git@gitlab.example.com:2222/team/app.git",
          "ssh://git@gitlab.example.com:2222/team/app.git" },
        { { .login = { NULL, "u", "p" } },
          "git@host.example:/srv/git/app.git",
          "https://host.example/srv/git/app.git" },
        { { .login = { "other.example", "u", "p" } },
          "git@host.example:a/b.git",
          "git@host.example:a/b.git" },
        { { .login = { NULL, "u", "p" }, .keep_ssh = true },
          "git@host.example:a/b.git",
          "git@host.example:a/b.git" },
        { { .login = { NULL, "u", "p" }, .force_ssh = true },
          "git@git.example.org:team/app.git",
          "git@git.example.org:team/app.git" },
        { { .force_ssh = true, .ssh_user = "git" },
          "ssh://root@git.example.net:2222/a/r.git",
          "ssh://git@git.example.net:2222/a/r.git" },
        { { .login = { NULL, "u", "p" }, .https_scheme = "http" },
          "git@host.example:a/b.git",
          "http://host.example/a/b.git" },
        { { .login = { NULL, "u", "p" } }, "/srv/git/app", "/srv/git/app" },
    };
    cleanup_arena struct arena *a = arena_create ();
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct git_url u = parse (a, rows[i].url), h = git_url_choose (a, &rows[i].r, &u);
        assert_string_equal (git_url_text (a, &h, false), rows[i].want);
    }
}

static void shown_without_password (void **state)
{
    (void)state;
    cleanup_arena struct arena *a = arena_create ();
    struct git_url u = parse (a, "https://user:p@ss@git.example/team/app.git");
    assert_string_equal (u.host, "git.example");
    assert_string_equal (u.password, "p@ss");
    assert_string_equal (git_url_shown (a, &u), "https://user:****@git.example/team/app.git");
    assert_string_equal (git_url_text (a, &u, false), "https://git.example/team/app.git");
    u = parse (a, "https://u:p%2Fq@[::1]:8443/x");
    assert_string_equal (u.password, "p/q");
    assert_string_equal (u.host, "[::1]");
    assert_int_equal (u.port, 8443);
}

static void refused (void **state)
{
    (void)state;
    static const char *const rows[] = { "",
                                        "  ",
                                        "--upload-pack=x",
                                        "ext::sh -c id",
                                        "https://host:99999/x",
                                        "https:///x",
                                        "https://[::1/x",
                                        "a\nb" };
    cleanup_arena struct arena *a = arena_create ();
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct git_url u;
        struct error err = { 0 };
        assert_int_equal (git_url_parse (a, rows[i], &u, &err), -1);
        assert_int_equal (err.code, EINVAL);
    }
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (to_https),
        cmocka_unit_test (to_ssh),
        cmocka_unit_test (credentials),
        cmocka_unit_test (choice),
        cmocka_unit_test (shown_without_password),
        cmocka_unit_test (refused),
    };
    return cmocka_run_group_tests (tests, NULL, NULL);
}
