/* variables.c - the environment of the user's process: ours, less what is ours alone, plus what the SDK expects.
 *
 * Of STOKER_* only STOKER_RUN_ID goes through (who carries it belongs to the run). */
#include "run/variables.h"
#include "base/file.h"
#include "base/path.h"
#include "run/room.h"

#include <langinfo.h>
#include <locale.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void variables_set (struct variables *v, const char *name, const char *value)
{
    char *pair = arena_printf (v->arena, "%s=%s", name, value);
    size_t n = strlen (name);
    for (size_t i = 0; i < v->n; i++)
        if (!strncmp (v->v[i], name, n) && v->v[i][n] == '=') {
            v->v[i] = pair;
            return;
        }
    if (v->n + 1 >= v->cap) {
        size_t cap = v->cap ? 2 * v->cap : 128;
        const char **wider = arena_array (v->arena, const char *, cap);
        if (v->n)
            memcpy (wider, v->v, v->n * sizeof *wider);
        v->v = wider, v->cap = cap;
    }
    v->v[v->n++] = pair;
    v->v[v->n] = NULL;
}

const char *variables_get (const struct variables *v, const char *name)
{
    size_t n = strlen (name);
    for (size_t i = 0; i < v->n; i++)
        if (!strncmp (v->v[i], name, n) && v->v[i][n] == '=')
            return v->v[i] + n + 1;
    return NULL;
}

static bool kept (const char *pair)
{
    static const char *const dropped[] = { "CLEARML_PROC_MASTER_ID=",
                                           "TRAINS_PROC_MASTER_ID=",
                                           "CLEARML_APT_INSTALL=",
                                           "UV_CACHE_DIR=",
                                           "UV_PYTHON_CACHE_DIR=",
                                           "UV_PYTHON_INSTALL_DIR=",
                                           "PYTHONHOME=",
                                           "VIRTUAL_ENV=",
                                           "CONDA_PREFIX=",
                                           "__PYVENV_LAUNCHER__=",
                                           "OLDPWD=",
                                           NULL };
    if (!strncmp (pair, "STOKER_", 7))
        return !strncmp (pair, JOURNAL_RUN_ID "=", strlen (JOURNAL_RUN_ID) + 1);
    for (size_t i = 0; dropped[i]; i++)
        if (!strncmp (pair, dropped[i], strlen (dropped[i])))
            return false;
    return true;
}

/* CLEARML_X and TRAINS_X */
static void set_both (struct variables *v, const char *name, const char *value)
{
    if (!value || !value[0])
        return;
    variables_set (v, arena_printf (v->arena, "CLEARML_%s", name), value);
    variables_set (v, arena_printf (v->arena, "TRAINS_%s", name), value);
}

static void set_server (struct run *r, struct variables *v)
{
    const struct conf_api *c = &r->conf->api;
    set_both (v, "API_HOST", c->api_server);
    set_both (v, "WEB_HOST", c->web_server);
    set_both (v, "FILES_HOST", c->files_server);
    set_both (v, "API_ACCESS_KEY", c->access_key);
    set_both (v, "API_SECRET_KEY", c->secret_key);
    if (c->token && c->token[0])
        variables_set (v, "CLEARML_AUTH_TOKEN", c->token);
    if (c->verify_certificate && strcmp (c->verify_certificate, "true"))
        set_both (v, "API_HOST_VERIFY_CERT", c->verify_certificate);
    if (r->conf->files && r->conf->files[0]) {
        size_t n = 0;
        while (r->conf->files[n])
            n++;
        char full[4096];
        set_both (v, "CONFIG_FILE", realpath (r->conf->files[n - 1], full) ? full : r->conf->files[n - 1]);
    }
}

static void set_python (struct run *r, struct variables *v)
{
    const char *old = variables_get (v, "PYTHONPATH"), *path = variables_get (v, "PATH"),
               *more = r->conf->agent.extra_python_path;
    const char *cwd = r->conf->agent.force_git_root_python_path ? r->code : r->what.cwd;
    const char *folder = r->what.file ? path_clean (r->arena, path_folder (r->arena, r->what.file)) : NULL;
    struct str s = { .arena = r->arena };
    str_addf (&s, "%s%s%s", old ? old : "", old && old[0] ? ":" : "", cwd ? cwd : "");
    if (folder && cwd && strcmp (folder, cwd))
        str_addf (&s, ":%s", folder);
    if (more && more[0])
        str_addf (&s, ":%s", more);
    variables_set (v, "PYTHONPATH", s.p);
    variables_set (v, "PYTHONUNBUFFERED", "1");
    if (!strcmp (nl_langinfo (CODESET), "ANSI_X3.4-1968"))
        variables_set (v, "PYTHONIOENCODING", "utf-8");
    if (r->has_env) {
        variables_set (v, "VIRTUAL_ENV", r->env.folder);
        variables_set (
            v, "PATH",
            arena_printf (r->arena, "%s:%s", r->env.path, path ? path : "/usr/local/bin:/usr/bin:/bin"));
    }
}

/* {"NAME": {"value": "..."}} of hyperparams.Environment, and the section environment { } of the file */
static void set_given (struct run *r, struct variables *v)
{
    struct json_iter it = json_iter (conf_get (r->conf, "environment"));
    while (r->conf->agent.apply_environment && json_next (&it)) {
        char *value = json_string (r->arena, it.value);
        variables_set (v, json_key (r->arena, it.key), value ? value : arena_text (r->arena, it.value));
    }
    it = json_iter (json_get (json_get (r->doc, "hyperparams"), "Environment"));
    while (r->conf->agent.enable_task_env && json_next (&it)) {
        char *value = json_string (r->arena, json_get (it.value, "value"));
        if (value)
            variables_set (v, json_key (r->arena, it.key), value);
    }
}

const char *const *run_environment (struct run *r)
{
    struct variables v = { .arena = r->arena };
    for (char **e = environ; *e; e++)
        if (kept (*e)) {
            const char *eq = strchr (*e, '=');
            if (eq)
                variables_set (&v, arena_strndup (r->arena, *e, (size_t)(eq - *e)), eq + 1);
        }
    set_given (r, &v);
    set_server (r, &v);
    set_both (&v, "TASK_ID", r->task);
    set_both (&v, "WORKER_ID", r->worker);
    set_both (&v, "LOG_LEVEL", r->options->log_level ? r->options->log_level : "INFO");
    set_both (&v, "LOG_TASK_TO_BACKEND", "0");
    if (!variables_get (&v, "CUDA_DEVICE_ORDER"))
        variables_set (&v, "CUDA_DEVICE_ORDER", "PCI_BUS_ID");
    set_python (r, &v);
    return v.v;
}

const char *run_variable (void *arg, const char *name)
{
    struct run *r = arg;
    struct variables v = { .arena = r->arena };
    set_given (r, &v);
    set_both (&v, "TASK_ID", r->task);
    set_both (&v, "WORKER_ID", r->worker);
    const char *own = variables_get (&v, name);
    return own ? own : getenv (name);
}
