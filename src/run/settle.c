/* settle.c - `stoker execute --id T --settle WHY`: what is left to do for a run whose supervisor is gone.
 *
 * In: the run's folder (STOKER_RUN_DIR) with its journal and its console spool; its processes are gone already. Out:
 * the lines that were not sent yet and a last one that says WHY, the final status (what the journal knows of the end
 * of the user's process, else failed with WHY; nothing when the task is no longer in progress), "reported" in the
 * journal. Waits for the server as long as it takes; started again it goes on where it was. */
#include "base/clock.h"
#include "base/digest.h"
#include "base/journal.h"
#include "base/json.h"
#include "base/log.h"
#include "base/path.h"
#include "client/client.h"
#include "run/run.h"
#include "run/ship.h"
#include "run/spool.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct settling {
    struct arena *a;
    const struct run_options *o;
    const char *folder, *journal, *worker, *why;
    struct journal_entry e; /* what the run wrote */
    struct client *client;
};

static int open_run (struct settling *s, struct error *err)
{
    const char *folder = getenv (JOURNAL_RUN_DIR);
    struct journal_entry me = { .stage = "settling" };

    if (!folder || !*folder)
        return error_set (err, EINVAL, "--settle: " JOURNAL_RUN_DIR " does not say which run");
    s->folder = arena_strdup (s->a, folder);
    s->journal = path_join (s->a, folder, "journal");
    if (journal_read (s->a, s->journal, &s->e, err) < 0)
        return -1;
    if (!s->e.run || !s->e.task)
        return error_set (err, EINVAL, "%s names no run", s->journal);
    s->worker = s->o->worker ? s->o->worker : s->e.worker ? s->e.worker : "";
    if (process_identify (getpid (), &me.process) <= 0)
        return error_set (err, ESRCH, "no process of our own");
    if (journal_append (s->journal, &me, err) < 0 || client_create (s->o->conf, &s->client, err) < 0)
        return -1;
    client_set_patience (s->client, CLIENT_FOREVER);
    client_set_worker (s->client, s->worker);
    return 0;
}

/* The lines nobody has sent yet, and why it ended. */
static int send_console (struct settling *s, struct error *err)
{
    struct spool_options o = { s->folder, s->e.task, s->worker, s->e.run, 1 << 30 };
    struct spool *spool;
    struct ship *ship;
    int r;

    if (spool_open (&o, &spool, err) < 0)
        return -1;
    spool_add (spool, "ERROR", text_of (s->why), clock_now ());
    r = ship_start (s->client, spool, s->folder, &ship, err);
    if (!r) {
        r = ship_flush (ship, 0, 0, err);
        ship_stop (ship);
    }
    if (r < 0)
        spool_close (spool);
    else
        spool_discard (spool);
    return r;
}

/* 1 = another agent has claimed the task since, 0 = none, or nobody can know (it is gone; a server of another make),
 * -1 = the server does not say. */
static int is_taken (struct settling *s, struct error *err)
{
    const char *ours = digest_mark (s->a, s->e.token);
    int can_watch = ours ? client_feature (s->client, "x_tasks.watch", err) : 0;
    struct text data;

    if (can_watch <= 0)
        return can_watch;
    if (client_call (s->client, s->a, "x_tasks.watch", 0,
                     text_of (arena_printf (s->a, "{\"task\":\"%s\"}", s->e.task)), &data, err) < 0)
        return client_undecided (err) ? -1 : 0;
    const char *run = json_string (s->a, json_get (data, "run"));
    return run && strcmp (run, ours);
}

/* 1 = yes, 0 = something else or gone, -1 = the server does not say. */
static int in_progress (struct settling *s, struct error *err)
{
    struct str body = { .arena = s->a };
    struct text data;
    char *status = NULL;

    str_puts (&body, "{\"id\":[");
    json_put_string (&body, s->e.task);
    str_puts (&body, "],\"only_fields\":[\"id\",\"status\"],\"search_hidden\":true}");
    if (client_call (s->client, s->a, "tasks.get_all", 0, str_text (&body), &data, err) < 0)
        return client_undecided (err) ? -1 : 0;
    for (struct json_iter it = json_iter (json_get (data, "tasks")); json_next (&it);)
        status = json_string (s->a, json_get (it.value, "status"));
    return status && !strcmp (status, "in_progress");
}

/* By what the journal knows of the user's process. */
static const char *choose (struct settling *s, const char **ret_call, const char **ret_reason)
{
    *ret_call = "tasks.failed";
    *ret_reason = s->why;
    if (!s->e.has_exit)
        return "failed";
    if (s->e.signal || s->e.exit_code) {
        *ret_reason =
            arena_printf (s->a, "worker execution exit code %d", s->e.signal ? -s->e.signal : s->e.exit_code);
        return "failed";
    }
    *ret_call = "tasks.completed";
    *ret_reason = "worker execution done";
    return "completed";
}

static int report (struct settling *s, struct error *err)
{
    const char *call, *reason, *status = choose (s, &call, &reason);
    struct str body = { .arena = s->a };
    struct text data;

    int ours = in_progress (s, err), taken = ours > 0 ? is_taken (s, err) : 0;
    if (ours < 0 || taken < 0)
        return -1;
    if (!ours || taken)
        status = "none";
    str_puts (&body, "{\"task\":");
    json_put_string (&body, s->e.task);
    json_put_key (&body, "status_reason");
    json_put_string (&body, reason);
    json_put_key (&body, "status_message");
    json_put_string (&body, arena_printf (s->a, "Changed by stoker agent %s", s->worker));
    str_putc (&body, '}');
    if (strcmp (status, "none") && client_call (s->client, s->a, call, 0, str_text (&body), &data, err) < 0) {
        if (client_undecided (err))
            return -1;
        status = "none"; /* somebody was faster */
    }
    return journal_append (
        s->journal, &(struct journal_entry){ .stage = "reported", .reported = status, .message = reason },
        err);
}

int run_tell_end (const struct run_options *o, const char *why)
{
    cleanup_arena struct arena *a = arena_create ();
    struct settling s = { .a = a, .o = o, .why = why };
    struct error err = { 0 };
    int r = open_run (&s, &err) < 0 || send_console (&s, &err) < 0 || report (&s, &err) < 0;

    if (r)
        log_error ("run", "settle: %s", err.text);
    client_destroy (s.client);
    return r;
}
