/* jobs.c - see jobs.h. One worker at a time: take a row, do it, say what became of it, until none is due. */
#include "server/jobs.h"

#include "base/clock.h"
#include "base/json.h"
#include "base/log.h"
#include "server/blob.h"
#include "server/room.h"
#include "services/files/files.h"
#include "store/job.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

enum { PERIOD_MS = 5000 };

struct jobs {
    struct server *server;
    struct loop_timer *timer;
    struct pool_job work;
    atomic_bool busy;
};

struct one {
    struct arena *arena;
    struct job job;
    int rc;
    struct error err;
};

static int remove_blob (struct server *s, const struct job *job, struct arena *a, struct error *err)
{
    char *id = json_string (a, json_get (job->body, "blob"));

    if (!id || !id_valid (id))
        return error_set (err, 0, "job %lld names no blob", (long long)job->id);
    return blob_remove (s->files_folder, id, err);
}

static const struct {
    const char *kind;
    int (*run) (struct server *s, const struct job *job, struct arena *a, struct error *err);
} kinds[] = {
    { FILE_JOB_BLOB, remove_blob },
};

static int run_take (struct db *db, void *arg, struct error *err)
{
    struct one *o = arg;

    return (o->rc = job_take (db, o->arena, clock_now (), &o->job, err)) < 0 ? -1 : 0;
}

static int run_report (struct db *db, void *arg, struct error *err)
{
    struct one *o = arg;

    return o->rc == 0 ? job_done (db, o->job.id, err)
                      : job_fail (db, &o->job, o->err.text, clock_now (), err);
}

/* False: nothing (more) to do. */
static bool do_one (struct server *s)
{
    cleanup_arena struct arena *a = arena_create ();
    struct one o = { .arena = a };
    struct error err = { 0 };

    if (store_write_wait (s->store, run_take, &o, &err) < 0) {
        log_warn ("jobs", "take failed words=%s", err.text);
        return false;
    }
    if (!o.rc)
        return false;
    o.rc = error_set (&o.err, 0, "no worker knows jobs of kind %s", o.job.kind);
    for (size_t i = 0; i < sizeof (kinds) / sizeof (*kinds); i++)
        if (!strcmp (kinds[i].kind, o.job.kind))
            o.rc = kinds[i].run (s, &o.job, a, &o.err);
    if (o.rc < 0)
        log_warn ("jobs", "job=%lld kind=%s failed words=%s", (long long)o.job.id, o.job.kind, o.err.text);
    return store_write_wait (s->store, run_report, &o, &err) == 0;
}

static void work (struct pool_job *job)
{
    struct jobs *j = (struct jobs *)((char *)job - offsetof (struct jobs, work));

    while (!j->server->stopping && do_one (j->server))
        ;
    atomic_store (&j->busy, false);
}

static void on_timer (void *arg)
{
    struct jobs *j = arg;

    if (j->server->stopping || atomic_exchange (&j->busy, true))
        return;
    pool_submit (j->server->files_pool, &j->work);
}

struct jobs *jobs_create (struct server *s)
{
    struct jobs *j = calloc (1, sizeof (*j));

    if (!j)
        abort ();
    j->server = s;
    j->work.run = work;
    j->timer = loop_timer_add (s->loop, PERIOD_MS, true, on_timer, j);
    return j;
}

void jobs_destroy (struct jobs *j)
{
    if (!j)
        return;
    loop_timer_remove (j->timer);
    free (j);
}
