/* run.c - one task of this daemon: its folder and journal, its supervisor, its end.
 *
 * taken -> folder and journal (claimed) -> engine starts `stoker execute --id T` -> pidfd readable -> journal says
 * "reported": forget it; anything else: the supervisor is lost: kill what carries the run's id and report that. */
#include "agent/room.h"
#include "base/file.h"
#include "base/id.h"
#include "base/log.h"
#include "base/path.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { SWEEPS_MAX = 200, SWEEP_PAUSE_US = 20000 };

struct run *run_create (struct agent *g, const char *id)
{
    struct arena *a = arena_create ();
    struct run *r = arena_new (a, struct run);

    r->arena = a;
    r->agent = g;
    r->id = arena_strdup (a, id);
    r->folder = path_join (a, g->runs_folder, id);
    r->journal = path_join (a, r->folder, "journal");
    r->at.pidfd = -1;
    return r;
}

void run_destroy (struct run *r)
{
    if (r)
        arena_destroy (r->arena);
}

/* -- the supervisor's environment ------------------------------------------------------------------------------- */

struct env {
    struct arena *a;
    const char **v;
    size_t n, cap;
};

static const char *env_find (const struct env *e, const char *name, size_t *ret_at)
{
    size_t n = strlen (name);

    for (size_t i = 0; i < e->n; i++)
        if (!strncmp (e->v[i], name, n) && e->v[i][n] == '=') {
            if (ret_at)
                *ret_at = i;
            return e->v[i] + n + 1;
        }
    return NULL;
}

static void env_set (struct env *e, const char *name, const char *value)
{
    size_t at;

    if (env_find (e, name, &at)) {
        if (value)
            e->v[at] = arena_printf (e->a, "%s=%s", name, value);
        else
            e->v[at] = e->v[--e->n];
        return;
    }
    if (!value)
        return;
    if (e->n + 1 >= e->cap) {
        const char **wider = arena_array (e->a, const char *, e->cap *= 2);

        memcpy (wider, e->v, e->n * sizeof (*wider));
        e->v = wider;
    }
    e->v[e->n++] = arena_printf (e->a, "%s=%s", name, value);
}

static void env_set_gpus (struct env *e, const char *gpus)
{
    env_set (e, "CUDA_DEVICE_ORDER", "PCI_BUS_ID");
    if (!gpus)
        return;
    env_set (e, "NVIDIA_VISIBLE_DEVICES", gpus);
    env_set (e, "CUDA_VISIBLE_DEVICES", strcmp (gpus, "all") ? gpus : NULL);
}

/* Older clients read TRAINS_ names. */
static void env_add_twins (struct env *e)
{
    size_t n = e->n;

    for (size_t i = 0; i < n; i++) {
        const char *eq = strchr (e->v[i], '=');
        char *twin;

        if (strncmp (e->v[i], "CLEARML_", 8) || !eq)
            continue;
        twin = arena_printf (e->a, "TRAINS_%.*s", (int)(eq - e->v[i] - 8), e->v[i] + 8);
        if (!env_find (e, twin, NULL))
            env_set (e, twin, eq + 1);
    }
}

static const char *const *make_env (struct run *r)
{
    static const char *const dropped[] = { "STOKER_RESTART_WORKER", "STOKER_BOOTSTRAP_KEY",
                                           "STOKER_BOOTSTRAP_ROLE", "NOTIFY_SOCKET",
                                           "INVOCATION_ID",         "JOURNAL_STREAM" };
    struct env e = { .a = r->arena };

    while (environ[e.n])
        e.n++;
    e.cap = e.n + 64;
    e.v = arena_array (e.a, const char *, e.cap);
    memcpy (e.v, environ, e.n * sizeof (*e.v));
    for (size_t i = 0; i < sizeof (dropped) / sizeof (*dropped); i++)
        env_set (&e, dropped[i], NULL);
    env_set (&e, JOURNAL_RUN_ID, r->id);
    env_set (&e, JOURNAL_RUN_DIR, r->folder);
    env_set (&e, "CLEARML_WORKER_ID", r->worker);
    env_set (&e, "TRAINS_WORKER_ID", r->worker);
    if (r->agent->o->config_file) {
        env_set (&e, "CLEARML_CONFIG_FILE", r->agent->o->config_file);
        env_set (&e, "TRAINS_CONFIG_FILE", r->agent->o->config_file);
    }
    env_set_gpus (&e, r->gpus);
    env_add_twins (&e);
    e.v[e.n] = NULL;
    return e.v;
}

static const char *const *make_argv (struct run *r)
{
    const char *const *more = r->agent->o->execute;
    const char **v;
    size_t n = 0, k = 0;

    while (more && more[k])
        k++;
    v = arena_array (r->arena, const char *, k + 7);
    v[n++] = r->agent->o->program;
    v[n++] = "execute";
    v[n++] = "--id";
    v[n++] = r->task;
    for (size_t i = 0; i < k; i++)
        v[n++] = more[i];
    if (r->settle) {
        v[n++] = "--settle";
        v[n++] = r->settle;
    }
    return v;
}

/* -- begin ------------------------------------------------------------------------------------------------------ */

static const char *queue_name (struct agent *g, const char *id)
{
    const struct queues *queues = queues_get (g);

    for (size_t i = 0; id && i < queues->n; i++)
        if (!strcmp (queues->v[i].id, id))
            return queues->v[i].name;
    return id ? id : "";
}

static void add_run (struct agent *g, struct run *r)
{
    r->next = g->runs;
    g->runs = r;
    g->n_runs++;
}

static void on_end (int fd, int events, void *arg)
{
    struct run *r = arg;
    int code;

    (void)fd;
    (void)events;
    loop_watch_remove (r->watch);
    r->watch = NULL;
    r->agent->engine->end (&r->at, &code);
    run_settle (r, code);
}

void run_follow (struct run *r)
{
    struct agent *g = r->agent;

    add_run (g, r);
    if (r->slot) {
        r->slot->run = r;
        courier_slot (g, r->slot);
    }
    r->watch = loop_watch_add (g->loop, r->at.pidfd, LOOP_READ, on_end, r);
}

int run_begin (struct agent *g, struct run *r, struct error *err)
{
    struct placement p = { .argv = make_argv (r),
                           .env = make_env (r),
                           .log = path_join (r->arena, r->folder, "log"),
                           .gpus = r->gpus };

    return g->engine->start (&p, &r->at, err);
}

static int run_write_down (struct agent *g, struct run *r, const char *token, struct error *err)
{
    struct journal_entry e = { .stage = "claimed",
                               .task = r->task,
                               .run = r->id,
                               .server = client_server (g->client),
                               .worker = r->worker,
                               .queue = r->queue,
                               .token = *token ? token : NULL,
                               .gpus = r->gpus };

    if (folder_make (r->folder, 0700, err) < 0)
        return -1;
    return journal_append (r->journal, &e, err);
}

void run_take (struct agent *g, const struct taken *t)
{
    struct run *r;
    struct error err;

    if (g->mode == AGENT_STOPPING) {
        report_give_back (g, t);
        return;
    }
    r = run_create (g, id_random ().hex);
    r->slot = t->slot;
    r->worker = t->slot->worker;
    r->gpus = t->slot->gpus;
    r->task = arena_strdup (r->arena, t->task);
    r->queue = arena_strdup (r->arena, t->queue);
    r->queue_name = arena_strdup (r->arena, queue_name (g, r->queue));
    if (run_write_down (g, r, t->token, &err) < 0 || run_begin (g, r, &err) < 0) {
        agent_say (g, "task '%s' cannot be started: %s", r->task, err.text);
        report_lost (g, r, arena_printf (r->arena, "cannot be started: %s", err.text), false);
        taker_taken (g, t->token);
        run_destroy (r);
        taker_ask (g);
        return;
    }
    run_follow (r);
    taker_taken (g, t->token);
    agent_say (g, "Running task '%s' of queue '%s' as worker '%s'", r->task, r->queue_name, r->worker);
    report_pulled (g, r);
    worker_write (g);
    taker_ask (g);
}

/* -- end -------------------------------------------------------------------------------------------------------- */

static void remove_run (struct agent *g, struct run *r)
{
    for (struct run **at = &g->runs; *at; at = &(*at)->next) {
        if (*at != r)
            continue;
        *at = r->next;
        g->n_runs--;
        break;
    }
    if (r->slot) {
        r->slot->run = NULL;
        courier_slot (g, r->slot);
    }
}

/* Everything that carries the run's id, until there is nothing left. */
static size_t kill_rest (struct agent *g, const char *run_id)
{
    cleanup_arena struct arena *a = arena_create ();
    char *variable = arena_printf (a, JOURNAL_RUN_ID "=%s", run_id);
    size_t first = g->engine->sweep (variable, SIGKILL), left = first;

    for (int i = 0; left && i < SWEEPS_MAX; i++) {
        usleep (SWEEP_PAUSE_US);
        left = g->engine->sweep (variable, SIGKILL);
    }
    if (left)
        log_error ("agent", "%zu processes of run %s cannot be killed", left, run_id);
    return first;
}

/* The words for the task: what the journal knows of the end. */
static const char *lost_words (struct run *r, const struct journal_entry *e, int code, size_t killed)
{
    struct str s = { .arena = r->arena };

    str_puts (&s, "supervisor lost");
    if (code > 128 && code <= 128 + SIGRTMAX)
        str_addf (&s, " (signal %d)", code - 128);
    else if (code >= 0)
        str_addf (&s, " (exit code %d)", code);
    if (e->stage)
        str_addf (&s, " at stage %s", e->stage);
    if (killed)
        str_addf (&s, "; %zu processes of the task killed", killed);
    return s.p;
}

/* Start the one that tells the server, in the place of the lost one. False: it cannot be; the courier tells less. */
static bool settle_by_program (struct agent *g, struct run *r, const char *words)
{
    struct error err;

    if (r->settle || g->mode == AGENT_STOPPING)
        return false;
    r->settle = words;
    if (run_begin (g, r, &err) < 0) {
        log_warn ("agent", "settle task %s: %s", r->task, err.text);
        return false;
    }
    if (r->slot) { /* the slot is free for another task meanwhile */
        r->slot->run = NULL;
        courier_slot (g, r->slot);
        r->slot = NULL;
    }
    r->ended = false;
    r->watch = loop_watch_add (g->loop, r->at.pidfd, LOOP_READ, on_end, r);
    run_ended (g);
    return true;
}

void run_settle (struct run *r, int code)
{
    struct agent *g = r->agent;
    struct journal_entry e = { 0 };
    struct error err;
    int readable = journal_read (r->arena, r->journal, &e, &err);
    const char *words;
    size_t killed;

    r->ended = true;
    if (!readable && e.stage && !strcmp (e.stage, "reported")) {
        kill_rest (g, r->id); /* the supervisor leaves nothing; this makes sure */
        if (!r->settle)
            agent_say (g, "DONE: Running task '%s', exit status %d", r->task, code >= 0 ? code : e.exit_code);
        if (folder_remove (r->folder, &err) < 0)
            log_warn ("agent", "%s", err.text);
    } else {
        killed = kill_rest (g, r->id);
        words = r->settle ? r->settle : lost_words (r, &e, code, killed);
        agent_say (g, "Task '%s': %s", r->task, words);
        if (!readable && settle_by_program (g, r, words))
            return;
        report_lost (g, r, words, g->mode == AGENT_STOPPING);
    }
    remove_run (g, r);
    run_destroy (r);
    run_ended (g);
}

void run_lost (struct run *r)
{
    r->slot = NULL;
    add_run (r->agent, r);
    run_settle (r, -1);
}
