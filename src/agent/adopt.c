/* adopt.c - runs that were there before us: a daemon was killed, crashed or started anew, their supervisors live on.
 *
 * In: the journals in STATE/runs. Of our own worker ids: a live supervisor is followed like one we started; a run that
 * was written down but never started is started; a dead one is settled. Of workers whose daemon is gone: only dead
 * ones are settled (a live supervisor ends its task by itself). */
#include "agent/room.h"
#include "base/file.h"
#include "base/log.h"
#include "base/path.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

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
static bool never_started (struct agent *g, struct run *r, const struct journal_entry *e)
{
    char *variable = arena_printf (r->arena, JOURNAL_RUN_ID "=%s", r->id);

    return e->stage && !strcmp (e->stage, "claimed") && !g->engine->sweep (variable, 0);
}

static void adopt_one (struct agent *g, const struct agent_task *t)
{
    struct journal_entry e = { 0 };
    struct run *r = read_run (g, t, &e);
    struct slot *slot = r ? slot_of (g, t->worker) : NULL;
    struct error err;

    if (!r)
        return;
    if (!slot || slot->run)
        slot = slots_free (g); /* NULL: more runs than slots; it is followed without one */
    if (e.stage && !strcmp (e.stage, "settling")) {
        r->settle = "supervisor lost";
        slot = NULL;
    }
    r->slot = slot;
    if (!g->engine->adopt (&e.process, &r->at, &err)) {
        agent_say (g, "Adopted task '%s' (stage %s, process %d)", r->task, e.stage, (int)e.process.pid);
        run_follow (r);
        return;
    }
    if (slot && never_started (g, r, &e) && !run_begin (g, r, &err)) {
        agent_say (g, "Running task '%s': it was claimed before this daemon was started anew", r->task);
        run_follow (r);
        return;
    }
    run_lost (r);
}

void adopt_all (struct agent *g)
{
    cleanup_arena struct arena *a = arena_create ();
    struct agent_task *tasks;
    struct error err;
    size_t n;

    if (agent_tasks (a, &tasks, &n, &err) < 0)
        return;
    for (size_t i = 0; i < n; i++)
        if (is_elsewhere (g, &tasks[i]))
            log_info ("agent", "task %s is of %s: left alone", tasks[i].task, tasks[i].server);
        else if (is_ours (g, tasks[i].worker) && !is_followed (g, path_base (tasks[i].folder)))
            adopt_one (g, &tasks[i]);
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
        if (!e.process.pid && g->engine->sweep (arena_printf (a, JOURNAL_RUN_ID "=%s", r->id), 0)) {
            run_destroy (r); /* a supervisor that has not signed yet */
            continue;
        }
        run_lost (r);
    }
}
