/* run.c - see run.h. The table of stations and the walk along it. In: a task's id. Out: the exit code.
 *
 * A station that fails ends the walk; finish.c comes last in any case. */
#include "base/clock.h"
#include "base/file.h"
#include "base/home.h"
#include "base/id.h"
#include "base/log.h"
#include "base/path.h"
#include "run/room.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

static const struct {
    const char *name;
    int (*go) (struct run *r, struct error *err);
    bool told; /* shown in the task's timeline */
} stations[] = {
    { "claim", station_claim, false },
    { "fetch", station_fetch, true },
    { "repository", station_repository, true },
    { "patch", station_patch, true },
    { "environment", station_environment, true },
    { "packages", station_packages, false },
    { "start", station_start, true },
    { "watch", station_watch, false },
};

/* -- helpers -------------------------------------------------------------------------------------------------------- */
const char *run_field (struct run *r, const char *name)
{
    return json_string (r->arena, json_get (r->script, name));
}

void run_notice (struct run *r, const char *level, const char *fmt, ...)
{
    va_list ap;
    va_start (ap, fmt);
    const char *text = arena_vprintf (r->arena, fmt, ap);
    va_end (ap);
    text = arena_text (r->arena, mask_apply (&r->mask, r->arena, text_of (text)));
    if (r->spool)
        spool_add (r->spool, level, text_of (text), clock_now ());
    if (r->options->echo || !r->spool)
        fprintf (stderr, "%s: %s\n", level, text);
}

/* To a person who started it by hand as any verb says it, to a daemon's file with the time. */
void run_complain (const struct run *r, const char *text)
{
    if (r->options->echo)
        fprintf (stderr, "stoker execute: %s\n", text);
    else
        log_error ("run", "%s", text);
}

void run_journal (struct run *r, struct journal_entry e)
{
    clerk_note (r->clerk, &e);
}

int run_call (struct run *r, const char *call, const char *body, struct text *ret, struct error *err)
{
    return client_call (r->client, r->arena, call, 0, text_of (body), ret, err);
}

static void say_notice (void *arg, const char *level, const char *text)
{
    run_notice (arg, level, "%s", text);
}

static void say_output (void *arg, const char *p, size_t n)
{
    struct run *r = arg;
    console_feed (r->helper, p, n, clock_now ());
}

static void helper_line (void *arg, struct text line, int64_t now)
{
    struct run *r = arg;
    cleanup_arena struct arena *a = arena_create ();
    if (r->spool)
        spool_add (r->spool, "DEBUG", mask_apply (&r->mask, a, line), now);
}

static void spool_line (void *arg, struct text line, int64_t now)
{
    struct run *r = arg;
    if (r->spool)
        spool_add (r->spool, "DEBUG", line, now);
}

/* -- opening -------------------------------------------------------------------------------------------------------- */
static int open_folder (struct run *r, struct error *err)
{
    const char *given = getenv (JOURNAL_RUN_DIR), *id = getenv (JOURNAL_RUN_ID);
    struct id fresh = id_random ();
    r->claimed = given && given[0];
    r->id =
        r->claimed && id && id_valid (id) ? arena_strdup (r->arena, id) : arena_strdup (r->arena, fresh.hex);
    r->folder = r->claimed ? arena_strdup (r->arena, given)
                           : arena_printf (r->arena, "%s/runs/%s", home_state (r->arena), r->id);
    r->journal = path_join (r->arena, r->folder, "journal");
    r->cache = home_cache (r->arena);
    setenv (JOURNAL_RUN_ID, r->id, 1);
    if (folder_make (r->folder, 0700, err) < 0)
        return -1;
    return clerk_start (r->journal, &r->clerk, err);
}

static void know_secrets (struct run *r)
{
    const struct conf_agent *c = &r->conf->agent;
    struct json_iter it = json_iter (c->git_extra_credentials);
    r->mask.arena = r->arena;
    mask_add (&r->mask, c->git_pass);
    mask_add (&r->mask, r->conf->api.secret_key);
    mask_add (&r->mask, r->conf->api.token);
    while (json_next (&it)) {
        mask_add (&r->mask, json_string (r->arena, json_get (it.value, "pass")));
        mask_add (&r->mask, json_string (r->arena, json_get (it.value, "password")));
    }
    for (size_t i = 0; i < c->extra_index_url.n; i++)
        mask_add_urls (&r->mask, c->extra_index_url.v[i]);
}

static void identify (struct run *r)
{
    char host[256] = "localhost";
    const char *given = r->options->worker ? r->options->worker : r->conf->agent.worker_id;
    const char *rank = getenv ("RANK") ? getenv ("RANK") : getenv ("SLURM_PROCID");
    gethostname (host, sizeof host - 1);
    r->worker = given && given[0] ? given : arena_printf (r->arena, "%s:%d", host, (int)getpid ());
    r->rank0 = !(getenv ("CLEARML_MULTI_NODE_SINGLE_TASK") && rank && strtol (rank, NULL, 10) != 0);
}

static int open_log (struct run *r, struct error *err)
{
    struct spool_options o = { r->folder, r->task, r->worker, r->id, 1 << 30 };
    if (r->options->log_file) {
        r->log_fd = open (r->options->log_file, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
        if (r->log_fd < 0)
            return error_errno (err, "--log-file %s", r->options->log_file);
    }
    r->helper = console_create (5000, helper_line, r);
    r->console = console_create (r->conf->agent.suppress_carriage_return ? 10000 : 1, spool_line, r);
    r->say = (struct say){ say_notice, say_output, r, r->stop.fd };
    if (r->options->quiet)
        return 0;
    if (spool_open (&o, &r->spool, err) < 0)
        return -1;
    return ship_start (r->client, r->spool, r->folder, &r->ship, err);
}

static int watch_server (struct run *r, struct error *err)
{
    const struct conf_agent *c = &r->conf->agent;
    struct journal_entry begun = { 0 };
    struct error none_yet; /* of a run without a daemon */
    (void)!journal_read (r->arena, r->journal, &begun, &none_yet);
    struct guard_options o = { .task = r->task,
                               .poll_ms = 1000,
                               .ping_ms = (int64_t)(1000 * c->ping_sec),
                               .callback_max_ms = (int64_t)(1000 * c->abort_callback_max),
                               .monitor_ms = 30000,
                               .disk = c->disk_use_path && c->disk_use_path[0] ? c->disk_use_path : "/",
                               .worker = r->worker,
                               .claim = begun.token,
                               .worker_report = !r->claimed };
    if (r->options->quiet)
        return 0;
    return guard_start (r->client, &o, &r->stop, &r->guard, err);
}

/* Everything before the first station; what fails here is told on standard error, since there is no task yet. */
static int run_open (struct run *r, struct error *err)
{
    struct process_identity self;
    identify (r);
    know_secrets (r);
    if (stop_open (&r->stop, err) < 0 ||
        open_folder (r, err) < 0) /* threads come after the signals are blocked */
        return -1;
    if (r->claimed && getsid (0) != getpid ())
        setsid ();
    prctl (PR_SET_CHILD_SUBREAPER, 1);
    if (client_create (r->conf, &r->client, err) < 0)
        return -1;
    client_set_worker (r->client, r->worker);
    client_set_patience (r->client, CLIENT_PATIENT);
    client_set_abort (r->client, r->stop.now_fd);
    if (process_identify (getpid (), &self) > 0) {
        run_journal (r, (struct journal_entry){ .stage = "supervisor",
                                                .task = r->options->task,
                                                .run = r->id,
                                                .server = client_server (r->client),
                                                .worker = r->worker,
                                                .process = self });
        clerk_flush (r->clerk); /* before anything else happens, somebody must be able to find us */
    }
    return 0;
}

/* -- the walk ------------------------------------------------------------------------------------------------------- */
static void tell_stage (struct run *r, const char *stage, int64_t started, const struct error *failure)
{
    cleanup_str struct str s = { 0 };
    if (!r->ship || !r->task)
        return;
    str_puts (&s, "{\"task\":");
    json_put_string (&s, r->task);
    str_addf (&s, ",\"stage\":\"%s\",\"started\":%lld,\"ended\":%lld,\"ok\":%s,\"detail\":", stage,
              (long long)started, (long long)clock_now (), failure ? "false" : "true");
    json_put_string (&s, failure ? failure->text : r->stage_note ? r->stage_note : "");
    str_puts (&s, "}");
    ship_post (r->ship, "x_tasks.stage", str_text (&s), true);
}

static void walk (struct run *r)
{
    for (size_t i = 0; i < sizeof stations / sizeof stations[0]; i++) {
        struct error err = { 0 };
        int64_t started = clock_now ();
        if (stop_get (&r->stop) != STOP_NONE &&
            (i || !r->claimed)) /* what an agent has claimed is ours to end */
            return;
        run_journal (r, (struct journal_entry){ .stage = stations[i].name });
        r->stage_note = NULL;
        int result = stations[i].go (r, &err);
        if (result < 0)
            snprintf (err.text, sizeof err.text, "%s",
                      arena_text (r->arena, mask_apply (&r->mask, r->arena,
                                                        text_of (arena_strdup (r->arena, err.text)))));
        if (stations[i].told || result < 0)
            tell_stage (r, stations[i].name, started, result < 0 ? &err : NULL);
        if (result < 0) {
            r->failed_at = stations[i].name;
            r->failure = err;
            return;
        }
        if (i ==
            0) { /* the task is ours and its id known: from here on it has a log and somebody who watches */
            if (open_log (r, &err) < 0 || watch_server (r, &err) < 0) {
                r->failed_at = "log", r->failure = err;
                return;
            }
        }
    }
}

int run_execute (const struct run_options *o)
{
    struct error err = { 0 };
    struct arena *a = arena_create ();
    struct run *r = arena_new (a, struct run);
    *r = (struct run){ .arena = a,
                       .options = o,
                       .conf = o->conf,
                       .log_fd = -1,
                       .pipe = -1,
                       .checkout.lease = -1,
                       .env.entry.lease = -1,
                       .child = { -1, -1 } };
    int code = 1;
    if (run_open (r, &err) < 0)
        run_complain (r, err.text);
    else {
        walk (r);
        code = run_finish (r);
    }
    clerk_stop (r->clerk);
    client_destroy (r->client);
    stop_close (&r->stop);
    arena_destroy (a);
    return code;
}
