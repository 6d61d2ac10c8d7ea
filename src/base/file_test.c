/* file_test.c - files are whole or absent; paths as text. */
#include "base/unit.h"

#include "base/file.h"
#include "base/path.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static char folder[] = "/tmp/file_test.XXXXXX";

static const char *in (struct arena *a, const char *name)
{
    return path_join (a, folder, name);
}

static void write_then_read (void **state)
{
    cleanup_arena struct arena *a = arena_create ();
    cleanup_str struct str s = { 0 };
    struct error err = { 0 };
    struct stat st;
    const char *path = in (a, "one");

    (void)state;
    umask (077);
    assert_int_equal (file_write (path, TEXT ("old"), 0644, &err), 0);
    assert_int_equal (file_write (path, TEXT ("new \0 content"), 0640, &err), 0);
    assert_int_equal (file_read (path, 100, &s, &err), 0);
    assert_int_equal (s.n, 13);
    assert_memory_equal (s.p, "new \0 content", 13);
    assert_int_equal (stat (path, &st), 0);
    assert_int_equal (st.st_mode & 0777, 0640);
    assert_int_equal (file_append (path, TEXT ("!"), 0640, &err), 0);
    assert_int_equal (file_size (path), 14);
}

static void too_long_or_missing (void **state)
{
    cleanup_arena struct arena *a = arena_create ();
    cleanup_str struct str s = { 0 };
    struct error err = { 0 };
    const char *path = in (a, "long");

    (void)state;
    assert_int_equal (file_write (path, TEXT ("0123456789"), 0600, &err), 0);
    assert_int_equal (file_read (path, 10, &s, &err), 0);
    assert_int_equal (file_read (path, 9, &s, &err), -1);
    assert_int_equal (err.code, EFBIG);
    assert_int_equal (s.n, 10);
    assert_int_equal (file_read (in (a, "none"), 9, &s, &err), -1);
    assert_int_equal (err.code, ENOENT);
    assert_non_null (strstr (err.text, "none"));
    assert_int_equal (file_read (folder, 9, &s, &err), -1);
    assert_int_equal (err.code, EISDIR);
    assert_int_equal (file_write (in (a, "no/such/folder"), TEXT ("x"), 0600, &err), -1);
    assert_int_equal (err.code, ENOENT);
}

/* A pipe has no size: the maximum still holds. */
static void descriptor_maximum (void **state)
{
    cleanup_str struct str s = { 0 };
    struct error err = { 0 };
    int fds[2];

    (void)state;
    assert_int_equal (pipe (fds), 0);
    assert_int_equal (fd_write (fds[1], "abcdef", 6, "pipe", &err), 0);
    close (fds[1]);
    assert_int_equal (fd_read (fds[0], 5, &s, "pipe", &err), -1);
    assert_int_equal (err.code, EFBIG);
    assert_int_equal (s.n, 0);
    close (fds[0]);
}

static void folders (void **state)
{
    cleanup_arena struct arena *a = arena_create ();
    struct error err = { 0 };
    const char *outside = in (a, "outside"), *tree = in (a, "tree");

    (void)state;
    assert_int_equal (file_write (outside, TEXT ("keep"), 0600, &err), 0);
    assert_int_equal (folder_make (in (a, "tree/a/b"), 0700, &err), 0);
    assert_int_equal (folder_make (in (a, "tree/a/b"), 0700, &err), 0);
    assert_int_equal (file_write (in (a, "tree/a/b/f"), TEXT ("x"), 0400, &err), 0);
    assert_int_equal (symlink (folder, in (a, "tree/a/link")), 0);
    assert_int_equal (folder_make (in (a, "tree/a/b/f/c"), 0700, &err), -1);
    assert_int_equal (folder_make (outside, 0700, &err), -1);
    assert_int_equal (err.code, ENOTDIR);
    assert_int_equal (chmod (in (a, "tree/a"), 0500), 0);
    assert_int_equal (folder_remove (tree, &err), 0);
    assert_false (file_exists (tree));
    assert_true (file_exists (outside)); /* the link was removed, not what it names */
    assert_int_equal (folder_remove (tree, &err), 0);
    assert_int_equal (file_remove (tree, &err), 0);
}

static void paths (void **state)
{
    static const struct {
        const char *in, *clean;
    } rows[] = {
        { "a//b/./c/../d", "a/b/d" },
        { "", "." },
        { "/", "/" },
        { "/../x", "/x" },
        { "../../a/..", "../.." },
        { "a/..", "." },
        { "a/../..", ".." },
        { "/a/b/../../..", "/" },
        { "./x/", "x" },
        { "...", "..." },
        { "a/.../b", "a/.../b" },
        { "//a", "/a" },
        { "../a/../../b", "../../b" },
        { "..a/b", "..a/b" },
    };
    cleanup_arena struct arena *a = arena_create ();

    (void)state;
    for (size_t i = 0; i < sizeof (rows) / sizeof (*rows); i++)
        assert_string_equal (path_clean (a, rows[i].in), rows[i].clean);
    assert_string_equal (path_join (a, "a", "b"), "a/b");
    assert_string_equal (path_join (a, "a/", "b"), "a/b");
    assert_string_equal (path_join (a, "a", "/b"), "/b");
    assert_string_equal (path_join (a, "", "b"), "b");
    assert_string_equal (path_folder (a, "/a"), "/");
    assert_string_equal (path_folder (a, "a"), ".");
    assert_string_equal (path_folder (a, "a/b//c"), "a/b");
    assert_string_equal (path_base ("a/b.c"), "b.c");
    assert_string_equal (path_extension ("a.d/b.tar.gz"), ".gz");
    assert_string_equal (path_extension ("a.d/.bashrc"), "");
    assert_true (path_inside ("/a/b", "/a"));
    assert_true (path_inside ("/a", "/a"));
    assert_false (path_inside ("/ab", "/a"));
    assert_true (path_inside ("/ab", "/"));
    assert_string_equal (path_home (a, "~/x", "/h"), "/h/x");
    assert_string_equal (path_home (a, "~", "/h"), "/h");
    assert_string_equal (path_home (a, "~user/x", "/h"), "~user/x");
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (write_then_read),
        cmocka_unit_test (too_long_or_missing),
        cmocka_unit_test (descriptor_maximum),
        cmocka_unit_test (folders),
        cmocka_unit_test (paths),
    };
    struct error err = { 0 };
    int failed;

    if (!mkdtemp (folder))
        return 1;
    failed = cmocka_run_group_tests (tests, NULL, NULL);
    return folder_remove (folder, &err) < 0 ? 1 : failed;
}
