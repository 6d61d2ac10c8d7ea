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

enum { SILENT_MS = 2 * 3600 * 1000 };

static int flush_keys (struct db *db, int64_t budget_ms, void *arg, struct error *err)
{
    struct server *s = arg;

    (void)budget_ms;
    return auth_flush (s->auth, db, err);
}

/* Tasks that say "running" but whose process has not been heard of. */
static int stop_silent (struct db *db, int64_t budget_ms, void *arg, struct error *err)
{
    int64_t stopped = 0;

    (void)budget_ms;
    (void)arg;
    if (tasks_stop_silent (db, clock_now (), SILENT_MS, &stopped, err) < 0)
        return -1;
    if (stopped)
        log_info ("server", "silent tasks stopped count=%lld", (long long)stopped);
    return 0;
}

static const struct sweeper rows[] = {
    { "last use of keys", 30000, flush_keys, NULL },
    { "silent tasks", 60000, stop_silent, NULL },
};

void background_add (struct server *s)
{
    for (size_t i = 0; i < sizeof (rows) / sizeof (*rows); i++)
        store_add_sweeper (s->store, &rows[i], s);
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
