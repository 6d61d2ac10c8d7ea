/* pyproject_test.c - what a repository's own files say of it: whether they describe a project, and under which name. */
#include "run/folder_test.h"
#include "run/pyproject.h"

static void names (void **state)
{
    (void)state;
    static const struct {
        const char *file, *text, *name;
    } rows[] = {
        { "pyproject.toml", "[build-system]\nrequires = []\n[project]\nversion = '1'\nname = 'My_App.x'\n",
          "my-app-x" },
        { "pyproject.toml", "[tool.poetry]\nname=\"p\"\n", "p" },
        { "pyproject.toml", "[tool.black]\nname = 'no'\n", NULL },
        { "pyproject.toml", "[ project ]\nauthors = [ {email = 'j', name = 'Jane'} ]\nname = 'late'\n",
          "late" },
        { "pyproject.toml", "[project]\nversion = '1'\n[[project.authors]]\nname = 'Jane'\n", NULL },
        { "pyproject.toml", "# [project]\n[tool.x]\nname = 'no'\n[project]\nname = 'yes'\n", "yes" },
        { "pyproject.toml", "[project]\nnames = 'no'\nname", NULL },
        { "pyproject.toml", "[project", NULL },
        { "setup.cfg", "[options]\n\n[metadata]\nfilename = no\nname = my_app\r\n", "my-app" },
        { "setup.py", "from setuptools import setup\nsetup (version='1', name = 'own',\n)\n", "own" },
        { "setup.py", "from setuptools import setup\nNAME='x'\nsetup (name=NAME)\n", NULL },
        { "README", "name = 'no'", NULL },
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct folder f = folder_new ();
        folder_write (&f, rows[i].file, rows[i].text);
        const char *name = pyproject_name (f.arena, f.path);
        if (rows[i].name)
            assert_string_equal (name ? name : "none", rows[i].name);
        else
            assert_null (name);
        folder_done (&f);
    }
}

static void projects (void **state)
{
    (void)state;
    static const struct {
        const char *file, *text;
        bool there, described, uv_lock, poetry_lock;
    } rows[] = {
        { "pyproject.toml", "[project]\nname = 'x'\n", true, true, false, false },
        { "pyproject.toml", "# [project]\n[tool.ruff]\n", true, false, false, false },
        { "pyproject.toml", "  [tool.poetry.dependencies]\n", true, true, false, false },
        { "pyproject.toml", "[projects]\n", true, false, false, false },
        { "uv.lock", "version = 1\n", true, false, true, false },
        { "poetry.lock", "\n", true, false, false, true },
        { "setup.py", "setup()", false, false, false, false },
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct folder f = folder_new ();
        struct pyproject p;
        folder_write (&f, rows[i].file, rows[i].text);
        assert_int_equal (pyproject_find (f.arena, f.path, &p), rows[i].there);
        assert_int_equal (p.described, rows[i].described);
        assert_int_equal (p.uv_lock, rows[i].uv_lock);
        assert_int_equal (p.poetry_lock, rows[i].poetry_lock);
        folder_done (&f);
    }
}

/* -- what the installer says of it */
static const char *said;

static int say_project (const struct install *in, bool locked, struct str *ret, struct error *err)
{
    (void)in;
    (void)locked;
    (void)err;
    str_puts (ret, said);
    return 0;
}

/* Our own indexes, as an installer may spell them, do not become the task's; foreign ones do. */
static void indexes (void **state)
{
    (void)state;
    static const struct installer how = { .name = "uv", .project = say_project };
    const struct indexes ours = { .index = "https://Bob:s%7Ccret@HOST.example",
                                  .extra = "http://a:b@one.example:80/x http://two.example/y/" };
    struct folder f = folder_new ();
    struct pyproject p = { .folder = f.path, .uv_lock = true };
    struct install in = { .arena = f.arena, .folder = f.path, .indexes = &ours, .how = &how };
    struct str lines;
    struct error err = { 0 };
    said = "--index-url https://Bob:s%7Ccret@host.example/\n--extra-index-url http://a:b@one.example/x\n"
           "--extra-index-url http://two.example/y\n--extra-index-url https://pypi.org/simple/\n"
           "--extra-index-url http://two.example/z\n--extra-index-url http://one.example.org/x\n-e "
           ".\nnumpy==1.0\n";
    assert_int_equal (pyproject_requirements (&in, &p, &lines, &err), 0);
    assert_string_equal (
        lines.p, "--extra-index-url http://two.example/z\n--extra-index-url http://one.example.org/x\n"
                 "-e .\nnumpy==1.0\n");
    folder_done (&f);
}

int main (void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test (names), cmocka_unit_test (projects),
                                        cmocka_unit_test (indexes) };
    return cmocka_run_group_tests (tests, NULL, NULL);
}
