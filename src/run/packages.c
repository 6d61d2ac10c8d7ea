/* packages.c - the stations that give the task its Python: which interpreter, which requirements, the environment, and
 * the list of what was installed back to the server. */
#include "base/file.h"
#include "base/path.h"
#include "run/pyproject.h"
#include "run/room.h"
#include "run/words.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static bool given (const char *s)
{
    return s && s[0];
}

/* script.requirements.<key>: a text, or a list of lines */
static const char *listed (struct run *r, const char *key)
{
    struct text v = json_get (json_get (r->script, "requirements"), key);
    struct str s = { .arena = r->arena };
    if (json_kind (v) == JSON_STRING)
        return json_string (r->arena, v);
    struct json_iter it = json_iter (v);
    while (json_next (&it)) {
        char *line = json_string (r->arena, it.value);
        str_addf (&s, "%s\n", line ? line : "");
    }
    return s.n ? s.p : NULL;
}

/* requirements.txt of every folder from the root of the code down to the script's. */
static const char *repository_files (struct run *r)
{
    struct str s = { .arena = r->arena };
    const char *below = r->what.file ? path_folder (r->arena, r->what.file) : r->what.cwd;
    const char *folder = path_clean (r->arena, r->code), *to = path_clean (r->arena, below);
    if (!path_inside (to, folder))
        to = folder;
    for (;;) {
        const char *file = path_join (r->arena, folder, "requirements.txt");
        if (file_exists (file))
            str_addf (&s, "-r %s\n", file);
        if (!strcmp (folder, to))
            break;
        const char *next = to + strlen (folder) + 1;
        folder = path_join (r->arena, folder, arena_strndup (r->arena, next, strcspn (next, "/")));
    }
    return s.n ? s.p : "";
}

/* Does the script import the SDK? Then it must be there, also when nobody listed it. */
static bool uses_sdk (struct run *r)
{
    struct str s = { .arena = r->arena };
    struct error ignored;
    if (!r->what.file || file_read (r->what.file, 8 << 20, &s, &ignored) < 0 || !s.n)
        return false;
    for (const char *p = s.p; (p = strstr (p, "clearml")); p += 7) {
        const char *line = p;
        while (line > s.p && line[-1] != '\n')
            line--;
        line += strspn (line, " \t");
        if (!strncmp (line, "import ", 7) || !strncmp (line, "from ", 5))
            return true;
    }
    return false;
}

/* Where the requirements come from: a text, or a project whose files say it. */
struct source {
    const char *text;
    bool of_task;
    const struct pyproject *project;
};

/* The project of the code, told why it is used or not. Managers uv and poetry take it before the task's list; pip only
 * when nothing else is listed. */
static const struct pyproject *choose_project (struct run *r, const char *otherwise)
{
    const char *manager = r->conf->agent.package_manager;
    struct pyproject *p = arena_new (r->arena, struct pyproject);
    bool first = !strcmp (manager, "uv") || !strcmp (manager, "poetry");
    if (!given (run_field (r, "repository")) || (r->what.kind == SCRIPT_SHELL && !first))
        return NULL;
    if (!(pyproject_find (r->arena, r->code, p) && p->described) &&
        !pyproject_find (r->arena, r->what.cwd, p))
        return NULL;
    const char *files = p->uv_lock       ? "pyproject.toml and uv.lock"
                        : p->poetry_lock ? "pyproject.toml and poetry.lock"
                                         : "pyproject.toml";
    if (!p->described) {
        if (first || p->uv_lock || p->poetry_lock)
            run_notice (r, "INFO", "requirements: %s of the repository describes no project: not used",
                        files);
        return NULL;
    }
    if (!first && given (otherwise)) {
        if (p->uv_lock || p->poetry_lock)
            run_notice (r, "INFO",
                        "requirements: %s of the repository are not used: agent.package_manager.type is "
                        "'%s', and there is a list",
                        files, manager);
        return NULL;
    }
    run_notice (r, "INFO", "requirements: from %s of the repository: %s", files,
                first ? arena_printf (r->arena, "agent.package_manager.type is '%s'", manager)
                      : "there is no list of the task and no requirements.txt");
    if (p->poetry_lock && !p->uv_lock)
        run_notice (r, "WARNING",
                    "requirements: the versions of poetry.lock are not used: only poetry can read it");
    return p;
}

static struct source choose_source (struct run *r)
{
    const struct conf_agent *c = &r->conf->agent;
    struct source s = { 0 };
    if (!c->force_repo_requirements_txt) {
        s.text = listed (r, c->force_original_requirements ? "org_pip" : "pip");
        if (c->force_original_requirements && !given (s.text))
            s.text = listed (r, "pip");
        s.of_task = given (s.text);
    }
    if (!s.of_task)
        s.text = repository_files (r);
    if ((s.project = choose_project (r, s.text)))
        return s;
    if (s.of_task)
        run_notice (r, "INFO", "requirements: the task's own list");
    else if (s.text[0])
        run_notice (r, "INFO", "requirements: the task has no list, its repository has: %.*s",
                    (int)strlen (s.text) - 1, s.text);
    if (!s.of_task && given (listed (r, "conda")))
        run_notice (r, "WARNING",
                    "requirements: the task lists packages of conda only, which this agent does not install");
    return s;
}

/* Packages that the repository holds and asks for by their path: a list that was made where they were installed names them
 * with a version, which no index has. */
static int take_own_packages (struct run *r, struct error *err)
{
    struct requirements own;
    if (requirements_read (r->arena, text_of (repository_files (r)), r->code, r->code, NULL, &own, err) < 0)
        return error_wrap (err, "repository");
    for (size_t i = 0; i < own.n; i++) {
        const struct requirement *q = &own.v[i];
        const char *folder =
            path_clean (r->arena, arena_strndup (r->arena, q->text, strcspn (q->text, "[;")));
        if ((q->kind != REQUIREMENT_LOCAL && q->kind != REQUIREMENT_EDITABLE) ||
            !path_inside (folder, path_clean (r->arena, r->code)))
            continue;
        const char *name = pyproject_name (r->arena, folder);
        for (size_t k = 0; name && k < r->requirements.n; k++) {
            struct requirement *listed = &r->requirements.v[k];
            if (requirement_has_place (listed) || !listed->name || strcmp (listed->name, name))
                continue;
            run_notice (r, "INFO", "requirements: '%s' is installed from the repository: %s", listed->text,
                        q->asked);
            *listed = *q;
        }
    }
    return 0;
}

static int read_requirements (struct run *r, const char *text, const char *folder, struct error *err)
{
    mask_add_urls (&r->mask, text);
    if (requirements_read (r->arena, text_of (text), folder, r->code, &r->say, &r->requirements, err) < 0)
        return error_wrap (err, "script");
    if (!requirements_have (&r->requirements, "clearml") && !requirements_have (&r->requirements, "trains") &&
        uses_sdk (r))
        requirements_add (r->arena, &r->requirements, REQUIREMENT_NAME, "clearml");
    return 0;
}

static int choose_python (struct run *r, struct error *err)
{
    const struct conf_agent *c = &r->conf->agent;
    struct python_wish wish = { run_field (r, "binary"), c->python_binary, c->default_python,
                                c->ignore_requested_python_version };
    return python_find (r->arena, &wish, r->cache, &r->python, err);
}

static const char *const *flags (struct run *r, struct error *err)
{
    const struct conf_list *l = &r->conf->agent.extra_pip_install_flags;
    struct str line = { .arena = r->arena };
    const char *const *words;
    str_puts (&line, "");
    for (size_t i = 0; i < l->n; i++)
        str_addf (&line, "%s ", l->v[i]);
    if (words_split (r->arena, line.p, NULL, NULL, &words, NULL, err) < 0) {
        error_wrap (err, "agent.package_manager.extra_pip_install_flags");
        return NULL;
    }
    return words;
}

/* A shell script without requirements needs no Python at all. */
static bool needs_python (struct run *r)
{
    return r->what.kind != SCRIPT_SHELL || r->requirements.n;
}

/* VCS references of a task without a repository: the agent's credentials are for them, too. */
static int git_for_requirements (struct run *r, struct error *err)
{
    static const struct git_url none = { .scheme = "ssh", .host = "", .path = "" };
    struct git_rules rules = run_git_rules (r);
    for (size_t i = 0; i < r->requirements.n && !r->git; i++)
        if (strstr (r->requirements.v[i].text, "git+") &&
            git_create (&rules, GIT_BASIC, &none, &r->say, &r->git, err) < 0)
            return -1;
    return 0;
}

int station_environment (struct run *r, struct error *err)
{
    const struct conf_agent *c = &r->conf->agent;
    const char *store = given (c->venvs_cache) ? c->venvs_cache : path_join (r->arena, r->cache, "python");
    const char *skip = c->skip_pip_venv_install;
    struct source source = choose_source (r);
    if (!source.project && read_requirements (r, source.text, r->code, err) < 0)
        return -1;
    if (source.of_task && !source.project && given (run_field (r, "repository")) &&
        take_own_packages (r, err) < 0)
        return -1;
    if (c->skip_python_env_install)
        run_notice (r, "INFO",
                    "agent.skip_python_env_install: nothing is installed, python3 of PATH runs the task");
    if (c->skip_python_env_install || (!source.project && !needs_python (r)))
        return 0;
    if (r->options->standalone && !given (skip))
        skip = "true";
    if (given (skip) && strcmp (skip, "0") && strcmp (skip, "false")) {
        struct python_wish wish = { run_field (r, "binary"), strchr (skip, '/') ? skip : c->python_binary,
                                    c->default_python, true };
        return python_find (r->arena, &wish, r->cache, &r->python, err);
    }
    if (choose_python (r, err) < 0)
        return -1;
    r->indexes = indexes_read (r->arena, c->extra_index_url.v, c->extra_index_url.n);
    mask_add_urls (&r->mask, r->indexes.index);
    mask_add_urls (&r->mask, r->indexes.extra);
    mask_add_urls (&r->mask, r->indexes.find_links);
    if (git_for_requirements (r, err) < 0)
        return -1;
    r->install = (struct install){ .arena = r->arena,
                                   .store = store,
                                   .python = &r->python,
                                   .indexes = &r->indexes,
                                   .git = r->git,
                                   .say = &r->say,
                                   .folder = r->code,
                                   .upgrade = r->options->upgrade || c->force_upgrade };
    if (!(r->install.flags = flags (r, err)) || installer_choose (&r->install, c->uv_path, err) < 0)
        return -1;
    run_notice (r, "INFO", "packages are installed by %s: %s", r->install.how->name, r->install.why);
    struct str lines = { .arena = r->arena };
    if (source.project && (pyproject_requirements (&r->install, source.project, &lines, err) < 0 ||
                           read_requirements (r, lines.p, source.project->folder, err) < 0))
        return -1;
    r->env_wish = (struct env_wish){ .requirements = &r->requirements,
                                     .of_task = source.of_task && !source.project,
                                     .folder = path_join (r->arena, r->folder, "env"),
                                     .system_packages = c->system_site_packages,
                                     .most = c->venvs_cache_entries > 0 ? (size_t)c->venvs_cache_entries : 10,
                                     .bytes = 100LL << 30 };
    if (env_make (&r->install, &r->env_wish, &r->env, err) < 0)
        return -1;
    r->has_env = true;
    r->stage_note = r->env.entry.built ? "built" : "reused";
    console_finish (r->helper, 0);
    return 0;
}

static void put_lines (struct str *s, const char *text)
{
    str_putc (s, '[');
    for (const char *p = text; *p;) {
        size_t n = strcspn (p, "\n");
        if (n) {
            json_put_comma (s);
            str_add_json (s, p, n);
        }
        p += n + (p[n] == '\n');
    }
    str_putc (s, ']');
}

/* The list of what is installed becomes the task's; the list that was asked for is kept as org_pip. */
int station_packages (struct run *r, struct error *err)
{
    (void)err;
    struct text section = json_get (r->script, "requirements");
    const char *asked = listed (r, "pip"), *repository = run_field (r, "repository");
    if (!r->has_env || !r->ship || !r->rank0 || (!r->requirements.n && !given (repository)))
        return 0;
    struct str lines = { .arena = r->arena }, s = { .arena = r->arena };
    put_lines (&lines, r->env.frozen);
    if (given (asked) && !strcmp (asked, r->env.frozen))
        return 0;
    str_puts (&s, "{\"task\":");
    json_put_string (&s, r->task);
    str_puts (&s, ",\"requirements\":{");
    struct json_iter it = json_iter (section);
    bool has_original = false;
    while (json_next (&it)) {
        char *key = json_key (r->arena, it.key);
        has_original = has_original || !strcmp (key, "org_pip");
        if (!strcmp (key, "pip"))
            continue;
        json_put_key (&s, key);
        str_add_text (&s, it.value);
    }
    if (!has_original) {
        json_put_key (&s, "org_pip");
        json_put_string (&s, asked ? asked : "");
    }
    json_put_key (&s, "pip");
    str_addf (&s, "%s}}", lines.p);
    ship_post (r->ship, "tasks.set_requirements", str_text (&s), false);
    return 0;
}
