/* installer.c - see installer.h. In: a file of requirements. Out: packages in a folder, or words why not. */
#include "run/installer.h"
#include "base/file.h"
#include "base/path.h"
#include "io/spawn.h"
#include "run/uv_pin.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

enum { WORDS = 64, OUTPUT_MAX = 16 << 20, TAIL = 1500 };

/* -- calling a program -------------------------------------------------------------------------------------------- */
/* The last lines of what it said, kept for the error; everything goes to the log as it comes. */
struct tail {
    const struct say *say;
    char text[TAIL];
    size_t n;
};

static void tail_add (void *arg, const char *p, size_t n)
{
    struct tail *t = arg;
    if (t->say && t->say->output)
        t->say->output (t->say->arg, p, n);
    if (n > sizeof t->text)
        p += n - sizeof t->text, n = sizeof t->text;
    size_t keep = t->n + n > sizeof t->text ? sizeof t->text - n : t->n;
    memmove (t->text, t->text + t->n - keep, keep);
    memcpy (t->text + keep, p, n);
    t->n = keep + n;
}

static const char *const *variables (const struct install *in, const int **keep, int *keep_n)
{
    static const char *const dropped[] = {
        "PYTHONPATH=", "PYTHONHOME=", "VIRTUAL_ENV=",   "CONDA_PREFIX=",        "PIP_REQUIRE_VIRTUALENV=",
        "PIP_TARGET=", "PIP_USER=",   "PIP_INDEX_URL=", "PIP_EXTRA_INDEX_URL=", "PIP_FIND_LINKS=",
        "UV_PYTHON=",  "UV_TARGET=",  "UV_PREFIX=",     "UV_SYSTEM_PYTHON=",    NULL
    };
    const char *const *base =
        in->git ? git_environment (in->git, keep, keep_n) : (const char *const *)environ;
    const char *const *index = indexes_variables (in->arena, in->indexes);
    size_t n = 0, m = 0, k = 0;
    while (base[n])
        n++;
    while (index[m])
        m++;
    const char **env = arena_array (in->arena, const char *, n + m + 9);
    for (size_t i = 0; i < n; i++) {
        size_t d = 0;
        while (dropped[d] && strncmp (base[i], dropped[d], strlen (dropped[d])))
            d++;
        if (!dropped[d])
            env[k++] = base[i];
    }
    for (size_t i = 0; i < m; i++)
        env[k++] = index[i];
    if (!getenv ("UV_CACHE_DIR"))
        env[k++] = arena_printf (in->arena, "UV_CACHE_DIR=%s/uv", in->store);
    env[k++] = "UV_NO_PROGRESS=1";
    env[k++] = "PIP_DISABLE_PIP_VERSION_CHECK=1";
    env[k++] = "PIP_NO_INPUT=1";
    env[k++] = "PIP_ROOT_USER_ACTION=ignore"; /* it installs into folders of ours */
    return env;
}

/* "uv ...": exit code 0 or an error with its last words. What it prints on standard output goes to out, if given. */
static int call (const struct install *in, const char *const *argv, struct str *out, const char *what,
                 struct error *err)
{
    const int *keep = NULL;
    int keep_n = 0;
    struct tail tail = { .say = in->say };
    struct spawn s = { .argv = argv,
                       .env = variables (in, &keep, &keep_n),
                       .cwd = in->folder,
                       .sink = tail_add,
                       .sink_arg = &tail,
                       .cancel = in->say ? in->say->cancel : 0 };
    struct spawn_end end;
    s.keep = keep, s.keep_n = keep_n;
    if (spawn_run (&s, (struct text){ 0 }, out, NULL, OUTPUT_MAX, 0, &end, err) < 0)
        return -1;
    if (!end.signaled && end.code == 0)
        return 0;
    size_t n = tail.n;
    while (n && strchr ("\r\n ", tail.text[n - 1]))
        n--;
    const char *from = tail.text + n; /* its last few lines, as far as they fit */
    for (int lines = 0; from > tail.text && tail.text + n - from < 400; from--)
        if (from[-1] == '\n' && ++lines == 4)
            break;
    cleanup_str struct str words = { 0 };
    spawn_end_words (&end, &words);
    return error_set (err, 0, "%s: %s ended with %s: %.*s", what, in->how->name, words.p,
                      (int)(tail.text + n - from), from);
}

static size_t add_flags (const struct install *in, const char **argv, size_t n)
{
    for (size_t i = 0; in->flags && in->flags[i] && n < WORDS - 16; i++)
        argv[n++] = in->flags[i];
    return n;
}

/* -- environments ------------------------------------------------------------------------------------------------- */
const char *environment_site (struct arena *a, const struct python *python, const char *folder)
{
    return arena_printf (a, "%s/lib/python%d.%d/site-packages", folder, python->major, python->minor);
}

int environment_create (struct arena *a, const struct python *python, const char *folder,
                        bool system_packages, struct error *err)
{
    const char *names[] = { "python", "python3",
                            arena_printf (a, "python%d.%d", python->major, python->minor) };
    const char *conf =
        arena_printf (a, "home = %s\ninclude-system-site-packages = %s\nversion = %s\nexecutable = %s\n",
                      path_folder (a, python->program), system_packages ? "true" : "false", python->version,
                      python->program);
    const char *path = path_join (a, folder, "pyvenv.cfg"), *bin = path_join (a, folder, "bin");
    if (folder_make (environment_site (a, python, folder), 0755, err) < 0 ||
        folder_make (bin, 0755, err) < 0 || file_append (path, text_of (conf), 0644, err) < 0)
        return -1;
    for (int i = 0; i < 3; i++)
        if (symlink (i ? "python" : python->program, path_join (a, bin, names[i])) < 0)
            return error_errno (err, "%s/%s", bin, names[i]);
    return 0;
}

static const char *interpreter (const struct install *in, const char *folder)
{
    return path_join (in->arena, folder, "bin/python");
}

/* -- uv ------------------------------------------------------------------------------------------------------------ */
static int uv_resolve (const struct install *in, const char *file, struct str *ret, struct error *err)
{
    const char *argv[WORDS] = { in->program,
                                "pip",
                                "compile",
                                file,
                                "--quiet",
                                "--no-header",
                                "--no-annotate",
                                "--no-strip-extras",
                                "--color",
                                "never",
                                "--python",
                                in->python->program,
                                in->upgrade ? "--upgrade" : NULL };
    size_t n = 0;
    while (argv[n])
        n++;
    add_flags (in, argv, n);
    return call (in, argv, ret, "the requirements cannot be resolved", err);
}

static int uv_project (const struct install *in, bool locked, struct str *ret, struct error *err)
{
    const char *argv[WORDS] = { in->program,
                                "export",
                                "--format",
                                "requirements-txt",
                                "--no-hashes",
                                "--no-header",
                                "--no-annotate",
                                "--emit-index-url",
                                "--quiet",
                                "--color",
                                "never",
                                "--python",
                                in->python->program,
                                locked ? "--locked" : NULL };
    return call (in, argv, ret, "the requirements of pyproject.toml cannot be resolved", err);
}

static int uv_create (const struct install *in, const char *folder, struct error *err)
{
    return environment_create (in->arena, in->python, folder, false, err);
}

static int uv_fill (const struct install *in, const char *folder, const char *file, bool no_deps,
                    struct error *err)
{
    const char *argv[WORDS] = { in->program,
                                "pip",
                                "install",
                                "--color",
                                "never",
                                "--python",
                                interpreter (in, folder),
                                "--link-mode",
                                "copy",
                                "--compile-bytecode",
                                "-r",
                                file };
    size_t n = 12;
    if (no_deps)
        argv[n++] = "--no-deps";
    add_flags (in, argv, n);
    return call (in, argv, NULL, "the requirements cannot be installed", err);
}

const struct installer installer_uv = { "uv", uv_resolve, uv_project, uv_create, uv_fill };

/* -- pip ----------------------------------------------------------------------------------------------------------- */
/* tomllib is there from 3.11 on; before that, pip carries its own. */
static const char read_pyproject[] =
    "try:\n import tomllib as toml\n"
    "except ImportError:\n from pip._vendor import tomli as toml\n"
    "with open ('pyproject.toml', 'rb') as f:\n t = toml.load (f)\n"
    "lines = list (t.get ('project', {}).get ('dependencies', []))\n"
    "lines += [x for x in t.get ('dependency-groups', {}).get ('dev', []) if isinstance (x, str)]\n"
    "if 'build-system' in t:\n lines.append ('-e .')\n"
    "print ('\\n'.join (lines))\n";

static int pip_project (const struct install *in, bool locked, struct str *ret, struct error *err)
{
    const char *argv[] = { in->python->program, "-c", read_pyproject, NULL };
    if (locked)
        return error_set (err, ENOTSUP, "pip cannot read it, and there is no uv");
    return call (in, argv, ret, "the requirements of pyproject.toml cannot be read", err);
}

/* An environment is taken only when it runs the Python it was made for: tools of old may choose another. */
static int check_version (const struct install *in, const char *folder, struct error *err)
{
    const char *argv[] = { interpreter (in, folder), "-c",
                           "import sys; print ('%d.%d' % tuple (sys.version_info[:2]))", NULL };
    const char *want = arena_printf (in->arena, "%d.%d", in->python->major, in->python->minor);
    struct str said = { .arena = in->arena };
    if (call (in, argv, &said, "the new environment's interpreter", err) < 0)
        return -1;
    while (said.n && strchr ("\r\n ", said.p[said.n - 1]))
        said.n--;
    return text_is (str_text (&said), want)
               ? 0
               : error_set (err, EPROTO, "the environment made for Python %s has Python %.*s", want,
                            (int)said.n, said.n ? said.p : "");
}

static int pip_create (const struct install *in, const char *folder, struct error *err)
{
    const char *venv[] = { in->python->program, "-m", "venv", folder, NULL };
    const char *virtualenv[] = { in->python->program, "-m", "virtualenv", "--quiet", folder, NULL };
    const char *const *ways[] = { venv, virtualenv };
    struct error wrong = { 0 };
    for (int i = 0; i < 2; i++) {
        if (call (in, ways[i], NULL, "make an environment", err) == 0) {
            if (check_version (in, folder, err) == 0)
                return 0;
            wrong = *err;
        }
        if (err->code == ECANCELED || folder_remove (folder, err) < 0)
            return -1;
    }
    if (wrong.text[0])
        return error_set (err, EPROTO, "%s: %s", in->python->program, wrong.text);
    return error_set (err, ENOENT,
                      "no way to make an environment for %s: there is no uv, and its venv module does not "
                      "work: install uv, or the "
                      "package python%d.%d-venv",
                      in->python->program, in->python->major, in->python->minor);
}

static int pip_fill (const struct install *in, const char *folder, const char *file, bool no_deps,
                     struct error *err)
{
    (void)no_deps; /* pip sees what the environment has already, so it installs no more than is missing */
    const char *argv[WORDS] = {
        interpreter (in, folder),        "-m", "pip", "install", "--progress-bar", "off", "-r", file,
        in->upgrade ? "--upgrade" : NULL
    };
    size_t n = 8 + in->upgrade;
    add_flags (in, argv, n);
    return call (in, argv, NULL, "the requirements cannot be installed", err);
}

const struct installer installer_pip = { "pip", NULL, pip_project, pip_create, pip_fill };

/* -- choice -------------------------------------------------------------------------------------------------------- */
/* Why uv could not be fetched, in words for the log. What pip says of a file with another hash is a list of all that
 * would do; its last line has the file's own. */
static const char *fetch_words (struct arena *a, const char *said)
{
    const char *got = strstr (said, " Got "), *hash = got ? got + strlen (" Got ") : "";
    hash += strspn (hash, " ");
    if (!got)
        return said;
    return arena_printf (
        a,
        "the package index has another uv %s than the one that was published (SHA-256 %.*s): it "
        "is not used",
        UV_VERSION, (int)strcspn (hash, " \r\n"), hash);
}

/* The Python itself where it has pip, else one of an environment made for this: distributions ship pip apart. */
static const char *python_with_pip (const struct install *in, const char *env, struct error *err)
{
    const char *look[] = { in->python->program, "-c",
                           "import importlib.util, sys; sys.exit (not importlib.util.find_spec ('pip'))",
                           NULL };
    if (call (in, look, NULL, "look for pip", err) == 0)
        return in->python->program;
    if (err->code == ECANCELED || folder_remove (env, err) < 0 || pip_create (in, env, err) < 0)
        return NULL;
    return interpreter (in, env);
}

/* Fetch the pinned uv into STORE/tools by pip; one process does it, others wait. False: could not. */
static bool fetch_uv (struct install *in, const char *folder)
{
    struct error err;
    const char *fresh = arena_printf (in->arena, "%s.new", folder);
    const char *pin = arena_printf (in->arena, "%s.pin", folder);
    const char *env = arena_printf (in->arena, "%s.pip", folder);
    if (folder_make (path_folder (in->arena, folder), 0700, &err) < 0)
        return false;
    cleanup_close int lock =
        open (arena_printf (in->arena, "%s.lock", folder), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (lock < 0 || flock (lock, LOCK_EX) < 0)
        return false;
    if (file_exists (path_join (in->arena, folder, "bin/uv")))
        return true;
    const char *argv[] = { NULL, /* the Python */
                           "-m",    "pip",       "install", "--quiet",          "--retries",
                           "1",     "--timeout", "20",      "--no-deps",        "--only-binary",
                           ":all:", "--target",  fresh,     "--require-hashes", "-r",
                           pin,     NULL };
    say (in->say, "INFO", "fetching uv %s (once)", UV_VERSION);
    bool fetched =
        folder_remove (fresh, &err) == 0 && file_write (pin, TEXT (UV_PIN "\n"), 0600, &err) == 0 &&
        (argv[0] = python_with_pip (in, env, &err)) && call (in, argv, NULL, "fetch uv", &err) == 0;
    if (!fetched)
        say (in->say, "WARNING", "%s; pip is used instead", fetch_words (in->arena, err.text));
    if (folder_remove (env, &err) < 0)
        say (in->say, "WARNING", "%s", err.text);
    return fetched && rename (fresh, folder) == 0;
}

int installer_choose (struct install *in, const char *uv_path, struct error *err)
{
    const char *fetched = arena_printf (in->arena, "%s/tools/uv-%s", in->store, UV_VERSION);
    const char *fetched_program = path_join (in->arena, fetched, "bin/uv");
    in->how = &installer_pip;
    in->why = "uv needs Python 3.8 or newer";
    if (in->python->minor < 8)
        return 0;
    bool named = uv_path && uv_path[0];
    char *found = spawn_find (named ? uv_path : "uv", NULL);
    if (named && !found)
        return error_set (err, ENOENT, "agent.uv_path: '%s' is no program", uv_path);
    in->why = "there is no uv";
    if (found) {
        in->program = arena_strdup (in->arena, found);
        in->why = named ? "agent.uv_path" : "it is on PATH";
        free (found);
    } else if (file_exists (fetched_program) || fetch_uv (in, fetched)) {
        in->program = fetched_program;
        in->why = "fetched for this agent";
    } else
        return 0;
    in->how = &installer_uv;
    return 0;
}
