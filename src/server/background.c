/* background.c - rows of background work (store.h: sweeper). The work itself belongs to the services. */
#include "server/background.h"

#include "base/clock.h"
#include "base/log.h"
#include "server/room.h"
#include "services/auth/auth.h"
#include "services/events/events.h"
#include "services/queues/queues.h"
#include "services/tasks/tasks.h"
#include "services/workers/workers.h"

enum { SILENT_PERIOD_MS = 15000, SILENT_PERIOD_MIN_MS = 100, SILENT_SLICE = 100 };

static int flush_keys (struct db *db, int64_t budget_ms, void *arg, struct error *err)
{
    struct server *s = arg;

    (void)budget_ms;
    return auth_flush (s->auth, db, err);
}

static void keys_flushed (void *arg)
{
    auth_flushed (((struct server *)arg)->auth);
}

/* A limit counts from the moment since when we can hear: our start, or the end of a time in which we did not look for half
 * the limit (the machine slept, the disk stood still) or the clock was put forward. 0: too early to tell. */
static int64_t limit (struct hearing *h, int64_t sec, int64_t unseen)
{
    int64_t ms = sec * 1000;

    if (unseen > ms / 2)
        h->since = clock_monotonic ();
    return clock_monotonic () - h->since < ms ? 0 : ms;
}

/* Tasks that say "running" but whose process has not been heard of. */
static int stop_silent (struct db *db, int64_t budget_ms, void *arg, struct error *err)
{
    struct server *s = arg;
    struct call c = { .db = db, .now = clock_now () };
    int64_t unseen = c.now - s->looked, stopped;
    struct task_silence limits = { .lost_ms = limit (&s->lost, s->options->worker_lost_sec, unseen),
                                   .silent_ms = limit (&s->silent, s->options->task_silent_sec, unseen) };

    (void)budget_ms; /* bounded by SILENT_SLICE */
    s->looked = c.now;
    arena_destroy (s->silence_arena);
    c.arena = s->silence_arena = arena_create ();
    s->silence_effects = NULL;
    if (tasks_stop_silent (&c, &limits, SILENT_SLICE, &stopped, err) < 0)
        return -1;
    if (stopped)
        log_info ("server", "silent tasks stopped count=%lld", (long long)stopped);
    s->silence_effects = c.effects;
    return stopped == SILENT_SLICE;
}

static void silent_stopped (void *arg)
{
    struct server *s = arg;

    effects_run (s, s->silence_effects);
}

static const struct sweeper keys = { "last use of keys", 30000, flush_keys, keys_flushed };

/* How often to look: a quarter of the shorter limit, in bounds. */
static int64_t silent_period (const struct server_options *o)
{
    int64_t a = o->worker_lost_sec, b = o->task_silent_sec, ms = (!b || (a && a < b) ? a : b) * 1000 / 4;

    return ms > SILENT_PERIOD_MS || !ms ? SILENT_PERIOD_MS
           : ms < SILENT_PERIOD_MIN_MS  ? SILENT_PERIOD_MIN_MS
                                        : ms;
}

void background_add (struct server *s)
{
    s->looked = clock_now ();
    s->lost.since = s->silent.since = clock_monotonic ();
    s->silence = (struct sweeper){ "silent tasks", silent_period (s->options), stop_silent, silent_stopped };
    store_add_sweeper (s->store, &keys, s);
    store_add_sweeper (s->store, &s->silence, s);
    store_add_sweeper (s->store, &events_sweeper, NULL);
    workers_background_start (s->store);
    s->queues_background = queues_background_start (s->store, s->topics);
}

static int flush_last (struct db *db, void *arg, struct error *err)
{
    return auth_flush (arg, db, err);
}

void background_finish (struct server *s)
{
    struct error err = { 0 };

    if (s->store && s->auth && store_write_wait (s->store, flush_last, s->auth, &err) < 0)
        log_warn ("server", "%s", err.text);
}
