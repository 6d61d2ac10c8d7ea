/* repo_test.c - real git on local remotes: commits, tags, branches, HEAD, pull requests, submodules, what a former
 * task left behind, leases, hooks that must not run, and what is said of a commit that is not there. */
#include "run/folder_test.h"
#include "run/repo.h"

#include <errno.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static const char make_origin[] = "git init -q -b trunk work && cd work && echo one >a.txt && git add . && "
                                  "git commit -qm one && git tag v1\n"
                                  "echo two >a.txt && git commit -qam two && git branch dev\n"
                                  "echo three >a.txt && git commit -qam three && git checkout -q dev && echo "
                                  "dev >a.txt && git commit -qam dev\n"
                                  "git checkout -q trunk && cd .. && git clone -q --bare work origin.git\n"
                                  "cd work && git checkout -q --detach && echo pull >a.txt && git commit "
                                  "-qam pull && git push -q ../origin.git HEAD:refs/pull/7/head\n";

struct wish {
    const char *commit, *tag, *branch, *owner;
};

static int check_out (struct folder *f, struct wish w, struct checkout *c, struct error *err)
{
    struct git_url u;
    struct git *g;
    struct repo_wish wish = { &u, w.commit, w.tag, w.branch, w.owner };
    assert_int_equal (git_url_parse (f->arena, path_join (f->arena, f->path, "origin.git"), &u, err), 0);
    assert_int_equal (git_create (NULL, GIT_BASIC, &u, NULL, &g, err), 0);
    int r = repo_checkout (f->arena, g, path_join (f->arena, f->path, "store"), &wish, NULL, c, err);
    git_destroy (g);
    return r;
}

static const char *content (struct folder *f, const struct checkout *c, const char *name)
{
    return folder_read (f, path_join (f->arena, c->folder, name));
}

static void must (struct folder *f, struct wish w, const char *want)
{
    struct checkout c;
    struct error err = { 0 };
    if (check_out (f, w, &c, &err) < 0)
        fail_msg ("%s", err.text);
    assert_string_equal (content (f, &c, "a.txt"), want);
    repo_release (&c);
}

static const char *sha (struct folder *f, const char *revision)
{
    return folder_sh (f, arena_printf (f->arena, "git -C origin.git rev-parse '%s'", revision));
}

static void revisions (void **state)
{
    (void)state;
    struct folder f = folder_new ();
    folder_sh (&f, make_origin);
    must (&f, (struct wish){ .commit = sha (&f, "trunk~1") }, "two\n");
    must (&f, (struct wish){ .commit = sha (&f, "trunk") }, "three\n");
    must (&f, (struct wish){ .commit = sha (&f, "trunk"), .branch = "dev", .tag = "v1" }, "three\n");
    must (&f, (struct wish){ .commit = arena_strndup (f.arena, sha (&f, "dev"), 9) }, "dev\n");
    must (&f, (struct wish){ .tag = "v1", .branch = "dev" }, "one\n");
    must (&f, (struct wish){ .branch = "dev" }, "dev\n");
    must (&f, (struct wish){ .branch = "origin/dev" }, "dev\n");
    must (&f, (struct wish){ .branch = "v1" }, "one\n");
    must (&f, (struct wish){ .commit = "" }, "three\n");
    must (&f, (struct wish){ .commit = sha (&f, "refs/pull/7/head") }, "pull\n");
    folder_sh (&f, "cd work && git checkout -q dev && echo newer >a.txt && git commit -qam newer && git push "
                   "-q ../origin.git dev");
    must (&f, (struct wish){ .branch = "dev" }, "newer\n");
    folder_done (&f);
}

static void what_is_not_there (void **state)
{
    (void)state;
    struct folder f = folder_new ();
    folder_sh (&f, make_origin);
    static const struct {
        struct wish w;
        const char *words;
    } rows[] = {
        { { .commit = "0123456789012345678901234567890123456789" }, "looked through 2 branches and 1 tags" },
        { { .commit = "0123456789012345678901234567890123456789" }, "was it pushed?" },
        { { .tag = "v9" }, "has no tag 'v9'" },
        { { .branch = "nobody" }, "has no branch or tag 'nobody'" },
        { { .commit = "--upload-pack=x" }, "is no commit" },
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct checkout c;
        struct error err = { 0 };
        assert_int_equal (check_out (&f, rows[i].w, &c, &err), -1);
        if (!strstr (err.text, rows[i].words))
            fail_msg ("'%s' does not say '%s'", err.text, rows[i].words);
    }
    folder_sh (&f, "rm -rf origin.git");
    struct checkout c;
    struct error err = { 0 };
    assert_int_equal (check_out (&f, (struct wish){ .branch = "dev" }, &c, &err), -1);
    assert_non_null (strstr (err.text, "fetch "));
    folder_done (&f);
}

static void a_kept_clone_is_as_new (void **state)
{
    (void)state;
    struct folder f = folder_new ();
    folder_sh (&f, make_origin);
    struct checkout c, d;
    struct error err = { 0 };
    const char *commit = sha (&f, "trunk");
    assert_int_equal (check_out (&f, (struct wish){ .commit = commit }, &c, &err), 0);
    assert_false (c.reused);
    folder_sh (&f, arena_printf (
                       f.arena,
                       "cd '%s' && echo dirt >a.txt && echo x >untracked && mkdir ignored && echo '*' "
                       ">ignored/.gitignore &&"
                       "echo y >ignored/z && git init -q nested && mkdir -p .git/hooks &&"
                       "printf '#!/bin/sh\\ntouch hook-ran\\n' >.git/hooks/post-checkout && chmod +x "
                       ".git/hooks/post-checkout &&"
                       "cp .git/hooks/post-checkout .git/hooks/reference-transaction &&"
                       "git config core.hooksPath .git/hooks && git config core.fsmonitor 'touch hook-ran' &&"
                       "touch .git/index.lock && ln -sf /etc/passwd .git/config.lock",
                       c.folder));
    repo_release (&c);
    assert_int_equal (check_out (&f, (struct wish){ .commit = commit }, &d, &err), 0);
    assert_true (d.reused);
    assert_string_equal (d.folder, c.folder);
    assert_string_equal (content (&f, &d, "a.txt"), "three\n");
    assert_string_equal (
        folder_sh (&f,
                   arena_printf (f.arena, "cd '%s' && ls -A && git status --porcelain && git rev-parse HEAD",
                                 d.folder)),
        arena_printf (f.arena, ".git\na.txt\n%s", commit));
    repo_release (&d);
    folder_sh (&f, arena_printf (f.arena, "echo broken >'%s/.git/index'; rm -rf '%s/.git/objects'", d.folder,
                                 d.folder));
    must (&f, (struct wish){ .commit = commit }, "three\n");
    folder_done (&f);
}

static void leases_keep_runs_apart (void **state)
{
    (void)state;
    struct folder f = folder_new ();
    folder_sh (&f, make_origin);
    struct checkout c, d, e;
    struct error err = { 0 };
    const char *commit = sha (&f, "trunk");
    assert_int_equal (check_out (&f, (struct wish){ .commit = commit, .owner = "ann" }, &c, &err), 0);
    assert_int_equal (check_out (&f, (struct wish){ .commit = commit, .owner = "ann" }, &d, &err), 0);
    assert_string_not_equal (c.folder, d.folder);
    repo_release (&c);
    assert_int_equal (check_out (&f, (struct wish){ .commit = commit, .owner = "bob" }, &e, &err), 0);
    assert_string_not_equal (c.folder, e.folder); /* another owner never gets ann's clone */
    repo_release (&d), repo_release (&e);
    folder_done (&f);
}

/* Workers of one machine share the mirror: each gets what it asked for, whoever is first. */
static void many_at_once (void **state)
{
    (void)state;
    struct folder f = folder_new ();
    folder_sh (&f, make_origin);
    static const char *const revisions[] = { "trunk", "trunk~1", "dev", "v1" };
    static const char *const contents[] = { "three\n", "two\n", "dev\n", "one\n" };
    enum { RUNS = 8 };
    pid_t pids[RUNS];
    const char *commits[4];
    for (int i = 0; i < 4; i++)
        commits[i] = sha (&f, revisions[i]);
    for (int i = 0; i < RUNS; i++)
        if ((pids[i] = fork ()) == 0) {
            struct checkout c;
            struct error err = { 0 };
            if (check_out (&f, (struct wish){ .commit = commits[i % 4] }, &c, &err) < 0)
                _exit (2);
            _exit (strcmp (content (&f, &c, "a.txt"), contents[i % 4]) != 0);
        }
    for (int i = 0; i < RUNS; i++) {
        int status;
        assert_int_equal (waitpid (pids[i], &status, 0), pids[i]);
        assert_true (WIFEXITED (status));
        assert_int_equal (WEXITSTATUS (status), 0);
    }
    folder_done (&f);
}

/* What a crash leaves: objects of no length, in the mirror all clones borrow from. */
static void a_damaged_mirror_is_fetched_anew (void **state)
{
    (void)state;
    static const char *const damage[] = {
        "find store/mirrors -name '*.pack' -exec truncate -s 0 {} +",
        "rm -rf store/mirrors/*/objects/pack",
        "rm -rf store/mirrors/*.git/HEAD",
    };
    for (size_t i = 0; i < sizeof damage / sizeof damage[0]; i++) {
        struct folder f = folder_new ();
        folder_sh (&f, make_origin);
        must (&f, (struct wish){ .commit = sha (&f, "trunk") }, "three\n");
        folder_sh (&f, "chmod -R u+w store");
        folder_sh (&f, damage[i]);
        must (&f, (struct wish){ .commit = sha (&f, "dev") }, "dev\n");
        must (&f, (struct wish){ .branch = "trunk" }, "three\n");
        folder_done (&f);
    }
}

/* git was killed in the middle of a fetch: its locks are still there, and what had come of a pack. */
static void a_fetch_that_was_killed (void **state)
{
    (void)state;
    struct folder f = folder_new ();
    folder_sh (&f, make_origin);
    must (&f, (struct wish){ .branch = "dev" }, "dev\n");
    folder_sh (
        &f, "cd store/mirrors; cd *.git; touch refs/heads/dev.lock packed-refs.lock shallow.lock config.lock "
            "objects/pack/tmp_pack_half; touch \"$PWD.fetching\"\n"
            "cd ../../../work && git checkout -q dev && echo newer >a.txt && git commit -qam newer && git "
            "push -q "
            "../origin.git dev && git -C ../origin.git branch -D v1 trunk >/dev/null 2>&1 || true");
    must (&f, (struct wish){ .branch = "dev" }, "newer\n");
    assert_string_equal (
        folder_sh (&f, "find store/mirrors -name '*.lock' -path '*.git/*' -o -name 'tmp_*' -o -name "
                       "'*.fetching'"),
        "");
    folder_done (&f);
}

/* So that the next one sees it: what says that a fetch is going on stays when it fails. */
static void a_fetch_that_failed_is_remembered (void **state)
{
    (void)state;
    struct folder f = folder_new ();
    struct checkout c;
    struct error err = { 0 };
    folder_sh (&f, make_origin);
    must (&f, (struct wish){ .branch = "dev" }, "dev\n");
    folder_sh (&f, "mv origin.git away");
    assert_int_equal (check_out (&f, (struct wish){ .branch = "dev" }, &c, &err), -1);
    assert_string_equal (folder_sh (&f, "ls store/mirrors | grep -c fetching"), "1");
    folder_sh (&f, "mv away origin.git");
    must (&f, (struct wish){ .branch = "dev" }, "dev\n");
    assert_string_equal (folder_sh (&f, "ls store/mirrors | grep -c fetching || true"), "0");
    folder_done (&f);
}

static void submodules_follow (void **state)
{
    (void)state;
    struct folder f = folder_new ();
    folder_sh (&f, make_origin);
    const char *before = sha (&f, "trunk");
    folder_sh (&f, "git init -q lib && cd lib && echo lib1 >l.txt && git add . && git commit -qm l1 && cd "
                   "../work && git checkout -q trunk &&"
                   "git submodule --quiet add ../lib lib && git commit -qm sub && cd ../lib && echo lib2 "
                   ">l.txt && git commit -qam l2 &&"
                   "cd ../work && git push -q ../origin.git trunk");
    folder_sh (&f, "ln -s lib lib.git");
    must (&f, (struct wish){ .commit = before }, "three\n");
    struct checkout c;
    struct error err = { 0 };
    if (check_out (&f, (struct wish){ .commit = sha (&f, "trunk") }, &c, &err) < 0)
        fail_msg ("%s", err.text);
    assert_string_equal (content (&f, &c, "lib/l.txt"), "lib1\n");
    repo_release (&c);
    folder_done (&f);
}

/* However many hosts there are credentials for, those of the agent's own host count for what is written as ssh, too. */
static void many_logins (void **state)
{
    struct folder f = folder_new ();
    struct git_login extra[12];
    struct git_rules rules = { .login = { "own.example", "u", "p" }, .extra = extra, .extra_n = 12 };
    struct git_url u;
    struct git *g;
    struct error err = { 0 };
    const int *keep;
    bool found = false;
    int keep_n;
    (void)state;
    for (int i = 0; i < 12; i++)
        extra[i] = (struct git_login){ arena_printf (f.arena, "host%d.example", i), "u", "p" };
    assert_int_equal (git_url_parse (f.arena, "https://code.example/a/b.git", &u, &err), 0);
    assert_int_equal (git_create (&rules, GIT_BASIC, &u, NULL, &g, &err), 0);
    for (const char *const *v = git_environment (g, &keep, &keep_n); *v; v++)
        found = found || strstr (*v, "=url.https://own.example/.insteadOf");
    assert_true (found);
    git_destroy (g);
    folder_done (&f);
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (many_logins),
        cmocka_unit_test (revisions),
        cmocka_unit_test (what_is_not_there),
        cmocka_unit_test (a_kept_clone_is_as_new),
        cmocka_unit_test (leases_keep_runs_apart),
        cmocka_unit_test (many_at_once),
        cmocka_unit_test (a_damaged_mirror_is_fetched_anew),
        cmocka_unit_test (a_fetch_that_was_killed),
        cmocka_unit_test (a_fetch_that_failed_is_remembered),
        cmocka_unit_test (submodules_follow),
    };
    return cmocka_run_group_tests (tests, NULL, NULL);
}
