/* patch_test.c - diffs that real git makes, and those that other hands made of them, applied to real trees. */
#include "run/folder_test.h"
#include "run/patch.h"

#include <stdio.h>
#include <string.h>

static const char base[] =
    "git init -q -b main r && cd r && git config core.autocrlf false && printf 'one\\ntwo\\nthree\\n' >t.txt "
    "&& printf 'a\\r\\nb\\r\\nc\\r\\n' >dos.txt &&"
    "printf 'x\\n' >'file with space.txt' && seq 1 30 >old.txt && (printf '\\000\\001\\377'; seq 90) >b.bin "
    "&& printf "
    "'gone\\n' >gone.txt && mkdir d && echo q >d/q.sql &&"
    "git add . && git commit -qm base";

static struct str notices;
static void notice (void *arg, const char *level, const char *text)
{
    (void)arg;
    str_addf (&notices, "%s %s\n", level, text);
}

static int apply (struct folder *f, struct text diff, struct error *err)
{
    static const struct say s = { .notice = notice };
    struct git_url u;
    struct git *g;
    str_reset (&notices);
    assert_int_equal (git_url_parse (f->arena, f->path, &u, err), 0);
    assert_int_equal (git_create (NULL, GIT_BASIC, &u, &s, &g, err), 0);
    int r = patch_apply (f->arena, g, path_join (f->arena, f->path, "r"), diff, &s, err);
    git_destroy (g);
    return r;
}

/* Make changes, record them as the diff, take them back, apply: the tree must be as it was with the changes. */
static void round_trip_with (const char *change, const char *diff_args, const char *mangle)
{
    struct folder f = folder_new ();
    folder_sh (&f, base);
    folder_sh (&f, arena_printf (f.arena, "cd r && %s", change));
    folder_sh (&f, arena_printf (f.arena,
                                 "cd r && git add -A -N . && git diff --submodule=diff %s HEAD >../d && cp "
                                 "-a . ../want && git reset -q --hard && git clean -fdqx; cd .. && %s",
                                 diff_args, mangle));
    struct error err = { 0 };
    struct str diff = { .arena = f.arena };
    assert_int_equal (file_read (path_join (f.arena, f.path, "d"), PATCH_MAX, &diff, &err), 0);
    assert_true (patch_is (str_text (&diff)));
    if (apply (&f, str_text (&diff), &err) < 0)
        fail_msg ("%s: %s\n%s", change, err.text, diff.p);
    folder_sh (&f, "rm -rf want/.git; find want -type d -empty -delete; diff -r -x .git r want");
    folder_done (&f);
}
static void round_trip (const char *change)
{
    round_trip_with (change, "--binary", "true");
}

static void changes_come_back (void **state)
{
    (void)state;
    round_trip ("sed -i s/two/2/ t.txt");
    round_trip ("printf 'no newline' >t.txt");
    round_trip ("echo new >n.txt && mkdir e && echo new >e/n.txt && : >e/empty");
    round_trip ("rm gone.txt && rm d/q.sql");
    round_trip ("git mv old.txt new.txt && sed -i s/7/seven/ new.txt");
    round_trip ("printf '\\000\\002\\376more' >b.bin && head -c 3000 /dev/urandom >n.bin");
    round_trip ("sed -i 's/b/B/' dos.txt");
    round_trip ("printf 'y\\n' >'file with space.txt' && echo z >'two words.txt'");
    round_trip ("printf 'm\\303\\274ll\\n' >'\303\274.txt' && sed -i s/one/eins/ t.txt");
    round_trip ("chmod +x t.txt && ln -s t.txt link");
    round_trip (
        "sed -i 's/one/diff --git a b/; s/two/@@ -1 +1 @@/; s/three/--- a/' t.txt && echo more >>t.txt");
    round_trip_with ("sed -i s/two/2/ t.txt", "-U0", "true");
}

static void made_by_other_hands (void **state)
{
    (void)state;
    round_trip_with ("sed -i s/q/Q/ d/q.sql && echo n >n.txt", "--no-prefix", "true");
    round_trip_with ("git mv d/q.sql d/r.sql && echo more >>d/r.sql", "--no-prefix -M10", "true");
    round_trip_with ("git mv t.txt d/t.txt", "--no-prefix", "true");
    round_trip_with ("mkdir a && git mv t.txt a/t.txt && sed -i s/two/2/ a/t.txt", "-M10", "true");
    round_trip_with ("printf 'm\\303\\274ll\\r\\n' >'\303\274.txt' && sed -i s/one/eins/ t.txt",
                     "--no-prefix", "true");
    round_trip_with ("sed -i s/two/2/ t.txt && echo n >n.txt", "--src-prefix=c/ --dst-prefix=w/", "true");
    round_trip_with ("sed -i s/two/2/ t.txt", "",
                     "sed -i 's/$/\\r/; 1s/.*/diff -u t.txt t.txt/; 2d; s: [ab]/: :' d");
    round_trip_with ("sed -i s/two/2/ t.txt", "", "sed -i 's/$/\\r/' d");
    round_trip_with (
        "sed -i s/two/2/ t.txt && printf '#!/bin/sh\\n' >n.sh && sed -i s/b/B/ dos.txt && rm gone.txt",
        "--binary", "sed -i 's/$/\\r/' d");
    round_trip_with ("sed -i s/two/2/ t.txt && sed -i s/b/B/ dos.txt", "", "sed -i 's/\\r$//; s/$/\\r/' d");
    round_trip_with ("sed -i s/b/B/ dos.txt", "", "sed -i 's/\\r$//' d");
    round_trip_with ("sed -i s/b/B/ dos.txt", "--no-prefix", "sed -i 's/\\r$//' d");
    round_trip_with ("echo new >n.txt", "", "sed -i '/^new file mode/d; s:^--- /dev/null:--- a/n.txt:' d");
    round_trip_with ("sed -i s/two/2/ t.txt", "", "truncate -s -1 d");
}

/* A diff without --binary: the text applies, each binary file is named; what needs no content is done. */
static void binary_files_without_content (void **state)
{
    (void)state;
    static const struct {
        const char *change, *diff_args, *notices, *files;
    } rows[] = {
        { "printf '\\000\\002' >b.bin", "",
          "WARNING b.bin: the task's changes say that this binary file differs, "
          "but do not hold its content: it stays as committed\n",
          "b.bin" },
        { "printf '\\000\\002' >b.bin", "--no-prefix",
          "WARNING b.bin: the task's changes say that this binary file "
          "differs, but do not hold its content: it stays as committed\n",
          "b.bin" },
        { "printf '\\000' >'d/n 1.bin'", "",
          "WARNING d/n 1.bin: the task's changes say that this binary file is new, "
          "but do not hold its content: it is missing\n",
          "b.bin" },
        { "rm b.bin", "", "", "" },
        { "git mv b.bin '\303\274.bin' && printf x >>'\303\274.bin'", "-M10",
          "WARNING \303\274.bin: the task's changes "
          "say that this binary file differs, but do not hold its content: it stays as committed\n",
          "\303\274.bin" },
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct folder f = folder_new ();
        struct error err = { 0 };
        folder_sh (&f, base);
        folder_sh (&f, arena_printf (f.arena,
                                     "cd r && sed -i s/two/2/ t.txt && %s && git add -A && git diff %s "
                                     "HEAD >../d && git reset -q --hard",
                                     rows[i].change, rows[i].diff_args));
        if (apply (&f, text_of (folder_read (&f, "d")), &err) < 0)
            fail_msg ("%s: %s", rows[i].change, err.text);
        assert_string_equal (folder_read (&f, "r/t.txt"), "one\n2\nthree\n");
        assert_string_equal (notices.n ? notices.p : "", rows[i].notices);
        assert_string_equal (
            folder_sh (
                &f, "(printf '\\000\\001\\377'; seq 90) >b; cd r && find . -name '*.bin' -exec cmp ../b {} "
                    "';' -print | cut -c3-"),
            rows[i].files);
        folder_done (&f);
    }
}

static void what_does_not_fit_changes_nothing (void **state)
{
    (void)state;
    struct folder f = folder_new ();
    folder_sh (&f, base);
    struct error err = { 0 };
    const char *diff =
        "diff --git a/gone.txt b/gone.txt\n--- a/gone.txt\n+++ b/gone.txt\n@@ -1 +1 @@\n-gone\n+here\n"
        "diff --git a/t.txt b/t.txt\n--- a/t.txt\n+++ b/t.txt\n@@ -1,2 +1,2 @@\n-uno\n+eins\n two\n";
    assert_int_equal (apply (&f, text_of (diff), &err), -1);
    assert_non_null (strstr (err.text, "do not fit the commit"));
    assert_non_null (strstr (err.text, "t.txt"));
    assert_string_equal (folder_sh (&f, "cd r && git status --porcelain"), "");
    diff = "diff --git a/../out.txt b/../out.txt\nnew file mode 100644\n--- /dev/null\n+++ b/../out.txt\n@@ "
           "-0,0 +1 @@\n+x\n";
    assert_int_equal (apply (&f, text_of (diff), &err), -1);
    assert_null (folder_read (&f, "out.txt"));
    diff =
        "diff --git a/t.txt b/t.txt\nnew file mode 100644\n--- /dev/null\n+++ b/t.txt\n@@ -0,0 +1 @@\n+x\n";
    assert_int_equal (apply (&f, text_of (diff), &err), -1);
    assert_string_equal (folder_sh (&f, "cd r && git status --porcelain"), "");
    diff = "diff --cc t.txt\nindex 1,2..3\n--- a/t.txt\n+++ b/t.txt\n@@@ -1,1 -1,1 +1,1 @@@\n++x\n";
    assert_int_equal (apply (&f, text_of (diff), &err), -1);
    assert_non_null (strstr (err.text, "merge in progress"));
    folder_done (&f);
}

static void scripts_are_no_patches (void **state)
{
    (void)state;
    assert_false (patch_is (TEXT ("")));
    assert_false (patch_is (TEXT ("print('diff ')\ndiff x\n")));
    assert_false (patch_is (TEXT ("submodule = 3\n")));
    assert_true (patch_is (TEXT ("Submodule lib 12..34:\ndiff --git a/lib/x b/lib/x\n")));
    assert_true (patch_is (TEXT ("diff --git a/x b/x\n")));
}

/* Whichever way the paths are read, with prefixes or without: what they name lies within the checkout and not in .git. */
static void nothing_outside (void **state)
{
    static const char *const paths[] = { "../out/x",     "d/../../out/x", "/tmp/stoker-patch-out", "link/x",
                                         ".git/hooks/x", ".GIT/hooks/x",  "d/../.git/x",           "link" };
    static const char *const prefixes[][2] = { { "a/", "b/" }, { "", "" }, { "c/", "w/" }, { "a/", "" } };
    static const char *const forms[] = {
        "diff --git %1$s%3$s %2$s%3$s\nnew file mode 100644\n--- /dev/null\n+++ %2$s%3$s\n@@ -0,0 +1 "
        "@@\n+b\n",
        "diff --git %1$s%3$s %2$s%3$s\n--- %1$s%3$s\n+++ %2$s%3$s\n@@ -1 +1 @@\n-old\n+b\n",
        "diff --git %1$s%3$s %2$s%3$s\n--- %1$s%3$s\n+++ %2$s%3$s\n@@ -0,0 +1 @@\n+b\n",
        "diff --git %1$sd/q.sql %2$s%3$s\nsimilarity index 100%%\nrename from d/q.sql\nrename to %3$s\n",
        "diff --git %1$s%3$s %2$s%3$s\ndeleted file mode 100644\nindex 1..0\nBinary files %1$s%3$s and "
        "/dev/null "
        "differ\n",
    };
    struct folder f = folder_new ();
    struct error err = { 0 };

    (void)state;
    folder_sh (&f, base);
    folder_sh (
        &f,
        "mkdir out && echo old >out/x && cd r && ln -s ../out link && git add . && git commit -qm link && "
        "cd .. && cp -a out before && cp -a r/.git/hooks hooks");
    for (size_t i = 0; i < sizeof paths / sizeof paths[0]; i++)
        for (size_t k = 0; k < sizeof prefixes / sizeof prefixes[0]; k++)
            for (size_t n = 0; n < sizeof forms / sizeof forms[0]; n++) {
                char diff[1024];

                snprintf (diff, sizeof diff, forms[n], prefixes[k][0], prefixes[k][1], paths[i]);
                (void)!apply (&f, text_of (diff), &err);
                folder_sh (
                    &f, "diff -r out before && diff -r hooks r/.git/hooks && test ! -e r/.git/x && test ! -e "
                        "/tmp/stoker-patch-out && cd r && git reset -q --hard && git clean -fdqx");
            }
    folder_done (&f);
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (changes_come_back),
        cmocka_unit_test (nothing_outside),
        cmocka_unit_test (made_by_other_hands),
        cmocka_unit_test (binary_files_without_content),
        cmocka_unit_test (what_does_not_fit_changes_nothing),
        cmocka_unit_test (scripts_are_no_patches),
    };
    int r = cmocka_run_group_tests (tests, NULL, NULL);
    str_done (&notices);
    return r;
}
