/* env_test.c - real environments from packages that stand in a folder here: no index is asked. uv is used when it is
 * on this machine (and TEST_INSTALLER is not pip), else pip. One entry for two runs, one build for two at once, a run that installs for itself,
 * local packages, an entry that was changed, the store's limits. */
#include "run/env.h"
#include "run/folder_test.h"
#include "run/tree.h"

#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

struct bench {
    struct folder f;
    struct python python;
    struct indexes indexes;
    struct install in;
    struct str said;
    struct say say;
};

static void notice (void *arg, const char *level, const char *text)
{
    str_addf (&((struct bench *)arg)->said, "%s %s\n", level, text);
}
static void output (void *arg, const char *p, size_t n)
{
    str_add (&((struct bench *)arg)->said, p, n);
}

/* A wheel by hand: NAME-VERSION with one module that prints its version, and a script. */
static void wheel (struct bench *b, const char *name, const char *version, const char *needs)
{
    struct arena *a = b->f.arena;
    const char *info = arena_printf (a, "w/%s-%s.dist-info", name, version);
    folder_sh (&b->f, "rm -rf w && mkdir -p w wheels");
    folder_write (
        &b->f, arena_printf (a, "w/%s.py", name),
        arena_printf (a, "version = '%s'\ndef main():\n    import sys; print('%s', version, sys.prefix)\n",
                      version, name));
    folder_write (
        &b->f, arena_printf (a, "%s/METADATA", info),
        arena_printf (a, "Metadata-Version: 2.1\nName: %s\nVersion: %s\n%s\n", name, version, needs));
    folder_write (&b->f, arena_printf (a, "%s/WHEEL", info),
                  "Wheel-Version: 1.0\nGenerator: t\nRoot-Is-Purelib: true\nTag: py3-none-any\n");
    folder_write (&b->f, arena_printf (a, "%s/entry_points.txt", info),
                  arena_printf (a, "[console_scripts]\n%s-run = %s:main\n", name, name));
    folder_write (&b->f, arena_printf (a, "%s/RECORD", info),
                  arena_printf (a,
                                "%s.py,,\n%s-%s.dist-info/METADATA,,\n%s-%s.dist-info/"
                                "WHEEL,,\n%s-%s.dist-info/entry_points.txt,,\n%s-%s.dist-info/RECORD,,\n",
                                name, name, version, name, version, name, version, name, version));
    folder_sh (&b->f, arena_printf (a, "cd w && python3 -m zipfile -c ../wheels/%s-%s-py3-none-any.whl *",
                                    name, version));
}

static void bench_open (struct bench *b)
{
    struct error err = { 0 };
    *b = (struct bench){ .f = folder_new () };
    b->say = (struct say){ .notice = notice, .output = output, .arg = b };
    struct python_wish wish = { .otherwise = "3" };
    if (python_find (b->f.arena, &wish, path_join (b->f.arena, b->f.path, "cache"), &b->python, &err) < 0)
        fail_msg ("%s", err.text);
    /* the packages every environment gets, from the interpreter's own bundle */
    folder_sh (&b->f, "mkdir wheels");
    wheel (b, "setuptools", "70.0", "");
    folder_sh (&b->f, arena_printf (b->f.arena,
                                    "cp \"$('%s' -c 'import ensurepip, glob, os; "
                                    "own = os.path.dirname (ensurepip.__file__) + \"/_bundled\"; "
                                    "print ([*glob.glob (own + \"/pip-*.whl\"), "
                                    "*glob.glob (\"/usr/share/python-wheels/pip-*.whl\")][0])')\" wheels/",
                                    b->python.program)); /* the second place is Debian's */
    b->indexes = (struct indexes){ .find_links = path_join (b->f.arena, b->f.path, "wheels") };
    static const char *const none[] = { "--no-index", NULL };
    b->in = (struct install){ .arena = b->f.arena,
                              .store = path_join (b->f.arena, b->f.path, "store"),
                              .python = &b->python,
                              .indexes = &b->indexes,
                              .say = &b->say,
                              .flags = none,
                              .folder = b->f.path };
    b->in.how = &installer_pip;
    const char *forced = getenv ("TEST_INSTALLER");
    char *uv = forced && !strcmp (forced, "pip") ? NULL : spawn_find ("uv", NULL);
    if (!uv)
        return;
    b->in.program = arena_strdup (b->f.arena, uv);
    b->in.how = &installer_uv;
    free (uv);
}

static void bench_close (struct bench *b)
{
    struct error err;
    assert_int_equal (tree_remove (path_join (b->f.arena, b->f.path, "store"), &err), 0);
    str_done (&b->said);
    folder_done (&b->f);
}

static int make (struct bench *b, const char *text, const char *name, struct env *ret, struct error *err)
{
    struct requirements r;
    if (requirements_read (b->f.arena, text_of (text), b->f.path, b->f.path, &b->say, &r, err) < 0)
        return -1;
    struct env_wish wish = { .requirements = arena_memdup (b->f.arena, &r, sizeof r),
                             .folder = path_join (b->f.arena, b->f.path, name) };
    return env_make (&b->in, &wish, ret, err);
}

static struct env made (struct bench *b, const char *text, const char *name)
{
    struct env e;
    struct error err = { 0 };
    if (make (b, text, name, &e, &err) < 0)
        fail_msg ("%s\n%s", err.text, b->said.p ? b->said.p : "");
    return e;
}

static const char *python (struct bench *b, const struct env *e, const char *code)
{
    return folder_sh (&b->f, arena_printf (b->f.arena, "PATH=%s:$PATH; python -c \"%s\"", e->path, code));
}

static void one_entry_for_many (void **state)
{
    (void)state;
    struct bench b;
    bench_open (&b);
    wheel (&b, "two", "2.0", "");
    wheel (&b, "one", "1.0", "Requires-Dist: two\n");
    struct env e = made (&b, "one\n", "r1");
    assert_true (e.entry.built);
    assert_string_equal (python (&b, &e, "import one, two; print(one.version, two.version)"), "1.0 2.0");
    assert_string_equal (python (&b, &e, "import importlib.metadata as m; print(m.version('one'))"), "1.0");
    assert_string_equal (folder_sh (&b.f, arena_printf (b.f.arena, "PATH=%s:$PATH; one-run", e.path)),
                         arena_printf (b.f.arena, "one 1.0 %s/r1", b.f.path));
    assert_string_equal (e.frozen, "one==1.0\ntwo==2.0\n");
    wheel (&b, "one", "3.0", ""); /* a newer version on the index changes nothing for a known text */
    struct env e2 = made (&b, "one\n", "r2");
    assert_false (e2.entry.built);
    assert_false (e2.resolved);
    assert_string_equal (e2.entry.folder, e.entry.folder);
    assert_string_equal (python (&b, &e2, "import one; print(one.version)"), "1.0");
    b.in.upgrade = true;
    if (b.in.how->resolve) {
        struct env e3 = made (&b, "one\n", "r3");
        assert_string_equal (python (&b, &e3, "import one; print(one.version)"), "3.0");
        entry_release (&e3.entry);
    }
    entry_release (&e.entry);
    entry_release (&e2.entry);
    bench_close (&b);
}

static void own_installs_stay_own (void **state)
{
    (void)state;
    struct bench b;
    bench_open (&b);
    wheel (&b, "one", "1.0", "");
    wheel (&b, "extra", "5.0", "");
    struct env e = made (&b, "one==1.0", "r1"), other = made (&b, "one==1.0", "r2");
    wheel (&b, "one", "2.0", "");
    folder_sh (&b.f, arena_printf (
                         b.f.arena,
                         "PATH=%s:$PATH; python -m pip -q install --no-index -f wheels extra one==2.0 2>&1",
                         e.path));
    assert_string_equal (python (&b, &e, "import one, extra; print(one.version, extra.version)"), "2.0 5.0");
    assert_string_equal (
        python (&b, &other, "import one, importlib.util as u; print(one.version, u.find_spec('extra'))"),
        "1.0 None");
    assert_true (entry_check (b.f.arena, &e.entry, &b.say));
    entry_release (&e.entry);
    entry_release (&other.entry);
    bench_close (&b);
}

static void local_packages (void **state)
{
    (void)state;
    struct bench b;
    bench_open (&b);
    wheel (&b, "two", "2.0", "");
    wheel (&b, "mine", "0.1", "Requires-Dist: two\n");
    folder_sh (&b.f, "mkdir here && mv wheels/mine-* here/");
    struct env e = made (&b, "./here/mine-0.1-py3-none-any.whl\n", "r1");
    assert_string_equal (
        python (&b, &e, "import mine, two; print(mine.version, two.version, 'r1' in mine.__file__)"),
        "0.1 2.0 True");
    assert_non_null (strstr (e.frozen, "mine-0.1-py3-none-any.whl"));
    entry_release (&e.entry);
    bench_close (&b);
}

/* A package whose build imports another one: with --no-build-isolation that one is installed first. */
static void built_among_the_others (void **state)
{
    (void)state;
    struct bench b;
    static const char *const flags[] = { "--no-index", "--no-build-isolation", NULL };
    bench_open (&b);
    wheel (&b, "two", "2.0", "");
    wheel (&b, "needs", "0.1", "");
    folder_sh (&b.f, "mkdir src && mv wheels/needs-* src/");
    folder_write (&b.f, "src/pyproject.toml",
                  "[build-system]\nrequires = []\nbuild-backend = 'back'\n"
                  "backend-path = ['.']\n");
    folder_write (&b.f, "src/back.py",
                  "import shutil, glob, os, two\n"
                  "def build_wheel (folder, *more):\n"
                  "    return os.path.basename (shutil.copy (glob.glob ('needs-*')[0], folder))\n");
    for (int i = 0; i < 2; i++) { /* in both orders */
        b.in.flags = flags;
        struct env e = made (&b, i ? "two==2.0\n./src\n" : "./src\ntwo==2.0\n", "r1");
        assert_string_equal (python (&b, &e, "import needs, two; print(needs.version, two.version)"),
                             "0.1 2.0");
        assert_string_equal (e.frozen, "two==2.0\n./src\n");
        entry_release (&e.entry);
    }
    bench_close (&b);
}

static void wheels_of_the_chosen_python (void **state)
{
    (void)state;
    struct bench b;
    bench_open (&b);
    wheel (&b, "torch", "1.12.0", "");
    folder_sh (&b.f, "cd wheels && mv torch-1.12.0-py3-none-any.whl torch-1.12.0-cp27-none-any.whl");
    wheel (&b, "right", "1.0", "");
    folder_sh (
        &b.f,
        arena_printf (
            b.f.arena,
            "sed -i \"s/^version = .*/version = 'right'/\" w/right.py && cd w && mv right.py torch.py && "
            "rm -r right-1.0.dist-info && mkdir torch-1.12.0.dist-info && cd torch-1.12.0.dist-info && "
            "printf 'Metadata-Version: 2.1\\nName: torch\\nVersion: 1.12.0\\n' >METADATA && "
            "printf 'Wheel-Version: 1.0\\nGenerator: t\\nRoot-Is-Purelib: true\\nTag: cp%d%d-none-any\\n' "
            ">WHEEL && "
            "printf 'torch.py,,\\n' >RECORD && cd .. && "
            "python3 -m zipfile -c ../wheels/torch-1.12.0-cp%d%d-none-any.whl *",
            b.python.major, b.python.minor, b.python.major, b.python.minor));
    struct env e = made (&b, "torch==1.12.0", "r1");
    assert_string_equal (python (&b, &e, "import torch; print(torch.version)"), "right");
    entry_release (&e.entry);
    bench_close (&b);
}

/* virtualenv of old days made environments of python2 whoever started it. */
static void an_environment_of_another_python (void **state)
{
    (void)state;
    struct bench b;
    struct env e;
    struct error err = { 0 };
    bench_open (&b);
    b.in.how = &installer_pip;
    const char *real = b.python.program;
    folder_write (
        &b.f, "python",
        arena_printf (
            b.f.arena,
            "#!/bin/sh\ncase \"$2\" in venv) exit 1;; virtualenv) mkdir -p \"$4/bin\"\n"
            "printf '#!/bin/sh\\necho 2.7\\n' >\"$4/bin/python\"; chmod +x \"$4/bin/python\"; exit 0;; "
            "esac\nexec '%s' \"$@\"\n",
            real));
    folder_sh (&b.f, "chmod +x python");
    b.python.program = path_join (b.f.arena, b.f.path, "python");
    assert_int_equal (make (&b, "one", "r1", &e, &err), -1);
    if (!strstr (err.text, arena_printf (b.f.arena, "made for Python %d.%d has Python 2.7", b.python.major,
                                         b.python.minor)))
        fail_msg ("%s", err.text);
    bench_close (&b);
}

static void two_at_once_build_once (void **state)
{
    (void)state;
    struct bench b;
    bench_open (&b);
    wheel (&b, "one", "1.0", "");
    pid_t pids[3];
    for (int i = 0; i < 3; i++)
        if ((pids[i] = fork ()) == 0) {
            struct env e;
            struct error err = { 0 };
            int r = make (&b, "one", arena_printf (b.f.arena, "p%d", i), &e, &err);
            _exit (r < 0 ? 100 : e.entry.built);
        }
    int built = 0;
    for (int i = 0; i < 3; i++) {
        int status;
        assert_int_equal (waitpid (pids[i], &status, 0), pids[i]);
        assert_true (WIFEXITED (status) && WEXITSTATUS (status) < 2);
        built += WEXITSTATUS (status);
    }
    assert_int_equal (built, 1);
    bench_close (&b);
}

static void a_changed_entry_is_not_used_again (void **state)
{
    (void)state;
    struct bench b;
    bench_open (&b);
    wheel (&b, "one", "1.0", "");
    struct env e = made (&b, "one", "r1");
    const char *site = environment_site (b.f.arena, &b.python, e.entry.folder);
    struct stat st;
    assert_int_equal (stat (arena_printf (b.f.arena, "%s/one.py", site), &st), 0);
    assert_int_equal (st.st_mode & 0222, 0);
    folder_sh (&b.f,
               arena_printf (b.f.arena, "chmod u+w %s/one.py && echo 'version = 9' >>%s/one.py", site, site));
    assert_false (entry_check (b.f.arena, &e.entry, &b.say));
    assert_non_null (strstr (b.said.p, "site-packages/one.py): it will not be used again"));
    entry_release (&e.entry);
    struct env e2 = made (&b, "one", "r2");
    assert_true (e2.entry.built);
    assert_string_equal (python (&b, &e2, "import one; print(one.version)"), "1.0");
    folder_sh (&b.f, "cd store/envs; mkdir -p 0123.new/lib 4567.new/lib; touch 0123.lock");
    cleanup_close int building =
        open (path_join (b.f.arena, b.in.store, "envs/4567.lock"), O_RDWR | O_CREAT, 0600);
    assert_int_equal (flock (building, LOCK_EX), 0);
    entries_trim (b.f.arena, b.in.store, 10, INT64_MAX);
    assert_string_equal (folder_sh (&b.f, "cd store/envs; ls | grep -E '^(0123|4567)'"),
                         "4567.lock\n4567.new");
    assert_false (folder_exists (e.entry.folder));
    assert_true (folder_exists (e2.entry.folder));
    entries_trim (b.f.arena, b.in.store, 0, 0); /* in use: stays */
    assert_true (folder_exists (e2.entry.folder));
    entry_release (&e2.entry);
    entries_trim (b.f.arena, b.in.store, 0, 0);
    assert_false (folder_exists (e2.entry.folder));
    bench_close (&b);
}

static void what_is_missing_is_named (void **state)
{
    (void)state;
    struct bench b;
    bench_open (&b);
    struct env e;
    struct error err = { 0 };
    assert_int_equal (make (&b, "no-such-package-here==1.0", "r1", &e, &err), -1);
    if (!strstr (err.text, "no-such-package-here"))
        fail_msg ("%s", err.text);
    assert_string_equal (folder_sh (&b.f, "ls store/envs 2>/dev/null | grep -v lock || true"), "");
    bench_close (&b);
}

static void no_python_of_that_version (void **state)
{
    (void)state;
    struct folder f = folder_new ();
    struct python p;
    struct error err = { 0 };
    struct python_wish wish = { .binary = "python3.99" };
    assert_int_equal (python_find (f.arena, &wish, f.path, &p, &err), -1);
    assert_non_null (strstr (err.text, "wants Python 3.99, which is not on this machine; found: 3."));
    wish.ignore_version = true;
    assert_int_equal (python_find (f.arena, &wish, f.path, &p, &err), 0);
    wish = (struct python_wish){ .binary = "python2.7" };
    assert_int_equal (python_find (f.arena, &wish, f.path, &p, &err), -1);
    wish = (struct python_wish){ .configured = "/bin/false" };
    assert_int_equal (python_find (f.arena, &wish, f.path, &p, &err), -1);
    assert_string_equal (python_version_of (f.arena, "/opt/x/python3.9.1"), "3.9.1");
    assert_string_equal (python_version_of (f.arena, "python"), "");
    assert_string_equal (python_version_of (f.arena, "bash"), "");
    folder_done (&f);
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (no_python_of_that_version),
        cmocka_unit_test (one_entry_for_many),
        cmocka_unit_test (own_installs_stay_own),
        cmocka_unit_test (local_packages),
        cmocka_unit_test (built_among_the_others),
        cmocka_unit_test (wheels_of_the_chosen_python),
        cmocka_unit_test (an_environment_of_another_python),
        cmocka_unit_test (two_at_once_build_once),
        cmocka_unit_test (a_changed_entry_is_not_used_again),
        cmocka_unit_test (what_is_missing_is_named),
    };
    return cmocka_run_group_tests (tests, NULL, NULL);
}
