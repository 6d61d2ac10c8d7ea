/* requirements_test.c - the kinds of lines, files by -r, references to files that are not there, what is shown. */
#include "run/folder_test.h"
#include "run/requirements.h"

#include <string.h>

static struct str notices;
static void notice (void *arg, const char *level, const char *text)
{
    (void)arg;
    str_addf (&notices, "%s %s\n", level, text);
}
static const struct say teller = { .notice = notice };

static void kinds (void **state)
{
    (void)state;
    static const struct {
        const char *line;
        enum requirement_kind kind;
        const char *name;
        bool pinned;
    } rows[] = {
        { "six==1.16.0", REQUIREMENT_NAME, "six", false },
        { "Foo_Bar.baz [x,y] >= 1, < 2 ; python_version < \"3.12\"", REQUIREMENT_NAME, "foo-bar-baz", false },
        { "pkg @ https://example.org/pkg-1.0-py3-none-any.whl ; python_version < \"3.12\"", REQUIREMENT_NAME,
          "pkg", false },
        { "https://example.org/Pkg_x-1.0-py3-none-any.whl", REQUIREMENT_NAME, "pkg-x", false },
        { "https://example.org/pkg.zip#sha256=1", REQUIREMENT_NAME, NULL, false },
        { "torch", REQUIREMENT_NAME, "torch", false },
        { "git+ssh://git@git.example/MyPackage.git@12365", REQUIREMENT_VCS, NULL, false },
        { "git+https://h/x.git@0123456789012345678901234567890123456789#egg=My_Pkg", REQUIREMENT_VCS,
          "my-pkg", true },
        { "x @ git+https://u@h/x.git@v1", REQUIREMENT_VCS, "x", false },
        { "x[extra] @ git+https://h/x.git@0123456789012345678901234567890123456789 ; python_version > '3'",
          REQUIREMENT_VCS, "x", true },
        { "./local_package", REQUIREMENT_LOCAL, NULL, false },
        { "/abs/dir", REQUIREMENT_LOCAL, NULL, false },
        { "wheels/x-1.0-py3-none-any.whl", REQUIREMENT_LOCAL, NULL, false },
        { "file:///abs/x.tar.gz", REQUIREMENT_LOCAL, NULL, false },
        { "--extra-index-url https://u:t@h/simple", REQUIREMENT_OPTION, NULL, false },
        { "--pre", REQUIREMENT_OPTION, NULL, false },
        { "-f https://h/wheels", REQUIREMENT_OPTION, NULL, false },
    };
    cleanup_arena struct arena *a = arena_create ();
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct requirements r;
        struct error err = { 0 };
        assert_int_equal (requirements_read (a, text_of (rows[i].line), NULL, NULL, &teller, &r, &err), 0);
        assert_int_equal (r.n, 1);
        assert_string_equal (r.v[0].text, rows[i].line);
        assert_int_equal (r.v[0].kind, rows[i].kind);
        if (rows[i].name)
            assert_string_equal (r.v[0].name, rows[i].name);
        else
            assert_null (r.v[0].name);
        assert_int_equal (r.v[0].pinned_vcs, rows[i].pinned);
    }
}

static const char *read_and_write (struct arena *a, const char *text, const char *folder)
{
    struct requirements r;
    struct error err = { 0 };
    struct str s = { .arena = a };
    str_reset (&notices);
    if (requirements_read (a, text_of (text), folder, folder, &teller, &r, &err) < 0)
        return arena_strdup (a, err.text);
    str_puts (&s, "");
    requirements_write (&r, &s);
    return s.p;
}

static void text_is_cleaned (void **state)
{
    (void)state;
    cleanup_arena struct arena *a = arena_create ();
    assert_string_equal (
        read_and_write (a, "# Python 3.11\n\n  six==1 # why\r\nfoo==1 \\\n  --hash=sha256:ab\n\n#x\nbar#1\n",
                        NULL),
        "six==1\nfoo==1   --hash=sha256:ab\nbar#1\n");
    assert_string_equal (read_and_write (a, "-e git+https://github.com/org/api.git@8c9bcc3#egg=pyapi", NULL),
                         "-e git+https://github.com/org/api.git@8c9bcc3#egg=pyapi\n");
    assert_string_equal (read_and_write (a, "--editable= git+https://h/x.git\n--editable ./p\n-e.", "/r"),
                         "-e git+https://h/x.git\n-e /r/./p\n-e /r/.\n");
    assert_string_equal (read_and_write (a, "./p\n../q[x]\n", "/r/s"), "/r/s/./p\n/r/s/../q[x]\n");
    assert_string_equal (
        read_and_write (a, "mine @ file:///nowhere/mine-1.whl ; python_version > '3'\nother==2", NULL),
        "mine ; python_version > '3'\nother==2\n");
    assert_non_null (strstr (notices.p, "WARNING requirement 'mine @ file"));
    assert_string_equal (read_and_write (a, "--no-index\n-Z\nsix", NULL), "six\n");
    assert_string_equal (read_and_write (a, "", NULL), "");
    assert_string_equal (read_and_write (a, "x\\", NULL), "x\n");
}

/* What goes back to the task: a path of this machine says nothing on another one. */
static void paths_go_back_relative_to_the_root (void **state)
{
    (void)state;
    static const struct {
        const char *line, *asked;
    } rows[] = {
        { "./p[x]", "./s/p[x]" },
        { "-e .", "-e ./s" },
        { "-e ../q", "-e ./q" },
        { "../../out", "/out" },
        { "/abs/p", "/abs/p" },
        { "/r/in/p", "./in/p" },
        { "-e /r", "-e ." },
        { "-e git+https://h/x@v1", "-e git+https://h/x@v1" },
        { "p @ https://h/p.whl ; python_version < '3.12'", "p @ https://h/p.whl ; python_version < '3.12'" },
        { "--pre", "--pre" },
    };
    cleanup_arena struct arena *a = arena_create ();
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct requirements r;
        struct error err = { 0 };
        assert_int_equal (requirements_read (a, text_of (rows[i].line), "/r/s", "/r", &teller, &r, &err), 0);
        if (!strstr (rows[i].asked, "out"))
            assert_string_equal (r.v[0].asked, rows[i].asked);
        else
            assert_string_equal (path_clean (a, r.v[0].asked), rows[i].asked);
    }
}

static void files_are_followed (void **state)
{
    (void)state;
    struct folder f = folder_new ();
    folder_write (&f, "requirements.txt", "-r sub/more.txt\nsix\n-r missing.txt\n");
    folder_write (&f, "sub/more.txt", "./here\n-c limits.txt\n--requirement=../third.txt");
    folder_write (&f, "sub/limits.txt", "numpy<2");
    folder_write (&f, "third.txt", "third");
    folder_write (&f, "loop.txt", "-r loop.txt");
    assert_string_equal (
        read_and_write (f.arena, "-r requirements.txt", f.path),
        arena_printf (f.arena, "%s/sub/./here\n-c %s/sub/limits.txt\nthird\nsix\n", f.path, f.path));
    assert_non_null (strstr (notices.p, "'-r missing.txt'"));
    assert_non_null (strstr (read_and_write (f.arena, "-r loop.txt", f.path), "more than 64 files"));
    folder_done (&f);
}

static void passwords_are_masked (void **state)
{
    (void)state;
    cleanup_arena struct arena *a = arena_create ();
    assert_string_equal (requirement_shown (a, "--extra-index-url https://user:tok@pypi.example/simple"),
                         "--extra-index-url https://user:****@pypi.example/simple");
    assert_string_equal (requirement_shown (a, "x @ git+https://token@h/x@v1"),
                         "x @ git+https://****@h/x@v1");
    assert_string_equal (requirement_shown (a, "x @ https://h/x@v1"), "x @ https://h/x@v1");
    assert_string_equal (requirement_shown (a, "six==1"), "six==1");
}

static void what_is_fixed (void **state)
{
    (void)state;
    static const struct {
        const char *text;
        bool fixed;
    } rows[] = { { "six\nnumpy>1", true },
                 { "six\n./x", false },
                 { "-e .", false },
                 { "git+https://h/x.git", false },
                 { "git+https://h/x.git@0123456789012345678901234567890123456789", true } };
    cleanup_arena struct arena *a = arena_create ();
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct requirements r;
        struct error err;
        assert_int_equal (requirements_read (a, text_of (rows[i].text), "/r", NULL, &teller, &r, &err), 0);
        assert_int_equal (requirements_fixed (&r), rows[i].fixed);
    }
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (kinds),
        cmocka_unit_test (text_is_cleaned),
        cmocka_unit_test (paths_go_back_relative_to_the_root),
        cmocka_unit_test (files_are_followed),
        cmocka_unit_test (passwords_are_masked),
        cmocka_unit_test (what_is_fixed),
    };
    int r = cmocka_run_group_tests (tests, NULL, NULL);
    str_done (&notices);
    return r;
}
