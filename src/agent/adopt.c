/* adopt.c - runs that were there before us: a daemon was killed, crashed or started anew, their supervisors live on.
 *
 * In: the journals in STATE/runs. Of our own worker ids: a live supervisor is followed like one we started; a run that
 * was written down but never started is started; one whose supervisor has not signed yet, or of which nothing can be told
 * (no descriptor is free), is looked at again; a dead one is settled. Of workers whose daemon is gone: only dead
 * ones are settled (a live supervisor ends its task by itself). */
#include "agent/room.h"
#include "base/file.h"
#include "base/log.h"
#include "base/path.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

enum { AGAIN_MS = 100 };

static struct slot *slot_of (struct agent *g, const char *worker)
{
    for (int i = 0; i < g->o->slots; i++)
        if (!strcmp (g->slots[i].worker, worker))
            return &g->slots[i];
    return NULL;
}

/* "id" or "id:s3" of ours, also when we have fewer slots now. */
static bool is_ours (const struct agent *g, const char *worker)
{
    size_t n = strlen (g->worker);

    return !strncmp (worker, g->worker, n) && (!worker[n] || !strncmp (worker + n, ":s", 2));
}

/* Runs of another server are left to a daemon of that server: ours could not tell it anything. */
static bool is_elsewhere (const struct agent *g, const struct agent_task *t)
{
    return *t->server && strcmp (t->server, client_server (g->client));
}

static bool is_followed (const struct agent *g, const char *run_id)
{
    for (const struct run *r = g->runs; r; r = r->next)
        if (!strcmp (r->id, run_id))
            return true;
    return false;
}

static struct run *read_run (struct agent *g, const struct agent_task *t, struct journal_entry *ret)
{
    struct run *r = run_create (g, path_base (t->folder));
    struct error err;

    if (journal_read (r->arena, r->journal, ret, &err) < 0 || !ret->task) {
        run_destroy (r);
        return NULL;
    }
    r->task = ret->task;
    r->queue = ret->queue ? ret->queue : "";
    r->queue_name = r->queue;
    r->worker = ret->worker ? ret->worker : g->worker;
    r->gpus = ret->gpus;
    return r;
}

/* It was written down but no supervisor has signed. */
static bool is_unsigned (const struct journal_entry *e)
{
    return e->stage && !strcmp (e->stage, "claimed");
}

static size_t carriers (struct agent *g, struct run *r)
{
    return g->engine->sweep (arena_printf (r->arena, JOURNAL_RUN_ID "=%s", r->id), 0);
}

/* False: what it is cannot be told yet, look again. `again`: a supervisor had been started. */
static bool adopt_one (struct agent *g, const struct agent_task *t, bool again)
{
    struct journal_entry e = { 0 };
    struct run *r = read_run (g, t, &e);
    struct slot *slot = r ? slot_of (g, t->worker) : NULL;
    struct error err;

    if (!r)
        return true;
    if (!slot || slot->run)
        slot = slots_free (g); /* NULL: more runs than slots; it is followed without one */
    bool settling = e.stage && !strcmp (e.stage, "settling");
    if (settling)
        slot = NULL;
    r->slot = slot;
    if (!g->engine->adopt (&e.process, &r->at, &err)) {
        if (settling) /* one that is dead is started again: it may have lines to send */
            r->settle = "supervisor lost";
        agent_say (g, "Adopted task '%s' (stage %s, process %d)", r->task, e.stage, (int)e.process.pid);
        run_follow (r);
        if (g->mode == AGENT_STOPPING && g->engine->signal (&r->at, SIGTERM, &err) < 0)
            log_warn ("agent", "task %s: %s", r->task, err.text);
        return true;
    }
    if (err.code != ESRCH || (is_unsigned (&e) && carriers (g, r))) {
        run_destroy (r);
        return false;
    }
    if (slot && g->mode != AGENT_STOPPING && is_unsigned (&e) && !again && !run_begin (g, r, &err)) {
        agent_say (g, "Running task '%s': it was claimed before this daemon was started anew", r->task);
        run_follow (r);
        return true;
    }
    run_lost (r);
    return true;
}

static void adopt (struct agent *g, bool again)
{
    cleanup_arena struct arena *a = arena_create ();
    struct agent_task *tasks;
    struct error err;
    size_t n, open = 0;

    if (agent_tasks (a, &tasks, &n, &err) < 0) {
        log_warn ("agent", "look for runs: %s", err.text);
        open++, n = 0;
    }
    for (size_t i = 0; i < n; i++)
        if (is_elsewhere (g, &tasks[i]))
            log_info ("agent", "task %s is of %s: left alone", tasks[i].task, tasks[i].server);
        else if (is_ours (g, tasks[i].worker) && !is_followed (g, path_base (tasks[i].folder)))
            open += !adopt_one (g, &tasks[i], again);
    g->adopting = open > 0;
}

static void on_again (void *arg)
{
    struct agent *g = arg;

    adopt (g, true);
    if (g->adopting)
        loop_timer_reset (g->adopt_timer, AGAIN_MS);
    else
        run_ended (g); /* nothing was taken meanwhile */
}

void adopt_all (struct agent *g)
{
    adopt (g, false);
    if (g->adopting)
        g->adopt_timer = loop_timer_add (g->loop, AGAIN_MS, false, on_again, g);
}

/* No daemon holds the lock of that worker (nor of the daemon it was a slot of). */
static bool daemon_is_gone (struct arena *a, const struct agent *g, const char *worker)
{
    const char *slot = strstr (worker, ":s");
    const char *names[2] = { worker, slot ? arena_strndup (a, worker, (size_t)(slot - worker)) : NULL };

    for (int i = 0; i < 2 && names[i]; i++) {
        cleanup_close int fd =
            open (path_join (a, worker_folder (a, g->state, names[i]), "lock"), O_RDWR | O_CLOEXEC);

        if (fd >= 0 && flock (fd, LOCK_SH | LOCK_NB) < 0)
            return false;
    }
    return true;
}

void adopt_orphans (struct agent *g)
{
    cleanup_arena struct arena *a = arena_create ();
    struct agent_task *tasks;
    struct error err;
    size_t n;

    if (agent_tasks (a, &tasks, &n, &err) < 0)
        return;
    for (size_t i = 0; i < n; i++) {
        struct journal_entry e = { 0 };
        struct run *r;

        if (tasks[i].alive || is_elsewhere (g, &tasks[i]) || !*tasks[i].worker ||
            is_ours (g, tasks[i].worker) || !daemon_is_gone (a, g, tasks[i].worker) ||
            !(r = read_run (g, &tasks[i], &e)))
            continue;
        if (!e.process.pid && carriers (g, r)) {
            run_destroy (r); /* a supervisor that has not signed yet */
            continue;
        }
        run_lost (r);
    }
}
