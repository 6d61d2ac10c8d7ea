/* report.c - what the courier tells the server about tasks: that one was pulled, that one was lost, that one goes back
 * to its queue. Everything else about a task is said by its supervisor. */
#include "agent/room.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/journal.h"
#include "base/log.h"
#include "base/path.h"

#include <errno.h>
#include <string.h>

enum { VERSION = 2015 };

static int call (struct agent *g, struct arena *a, const char *name, struct str *body, struct text *ret,
                 struct error *err)
{
    return client_call (g->courier.client, a, name, VERSION, str_text (body), ret, err);
}

/* One line into the task's console. */
static void send_line (struct agent *g, struct job *j, const char *level, const char *line)
{
    struct str body = { .arena = j->arena };
    struct text data;
    struct error err;

    str_puts (&body, "{\"type\":\"log\"");
    json_put_key (&body, "level");
    json_put_string (&body, level);
    json_put_key (&body, "task");
    json_put_string (&body, j->task);
    json_put_key (&body, "worker");
    json_put_string (&body, j->worker);
    json_put_key (&body, "msg");
    json_put_string (&body, line);
    str_addf (&body, ",\"timestamp\":%lld}\n", (long long)clock_now ());
    if (client_send (
            g->courier.client, j->arena,
            &(struct client_request){
                .call = "events.add_batch", .version = VERSION, .body = str_text (&body), .batch = true },
            &data, &err) < 0)
        log_warn ("agent", "console of task %s: %s", j->task, err.text);
}

static void do_pulled (struct agent *g, struct job *j)
{
    send_line (
        g, j, "INFO",
        arena_printf (j->arena, "task %s pulled from %s by worker %s\n", j->task, j->queue, j->worker));
}

void report_pulled (struct agent *g, const struct run *r)
{
    struct job *j = job_create (do_pulled);

    j->task = arena_strdup (j->arena, r->task);
    j->queue = arena_strdup (j->arena, r->queue_name);
    j->worker = arena_strdup (j->arena, r->worker);
    courier_post (g, j);
}

/* -- a lost supervisor ------------------------------------------------------------------------------------------ */

/* 1 the server says it is in progress, 0 it is something else or gone, -1 not known. */
static int is_in_progress (struct agent *g, struct job *j)
{
    struct str body = { .arena = j->arena };
    struct text data;
    struct error err;
    char *status = NULL;

    str_puts (&body, "{\"id\":[");
    json_put_string (&body, j->task);
    str_puts (&body, "],\"only_fields\":[\"id\",\"status\"],\"search_hidden\":true}");
    if (call (g, j->arena, "tasks.get_all", &body, &data, &err) < 0)
        return client_undecided (&err) ? -1 : 0;
    for (struct json_iter it = json_iter (json_get (data, "tasks")); json_next (&it);)
        status = json_string (j->arena, json_get (it.value, "status"));
    return status && !strcmp (status, "in_progress");
}

static void add_status (struct job *j, struct str *body, const char *reason)
{
    str_putc (body, '{');
    json_put_key (body, "task");
    json_put_string (body, j->task);
    json_put_key (body, "status_reason");
    json_put_string (body, reason);
    json_put_key (body, "status_message");
    json_put_string (body, arena_printf (j->arena, "Changed by clearml-agent %s", j->worker));
    str_putc (body, '}');
}

/* What became of the user's process when the journal knows it, else that nobody knows. */
static void final_status (struct job *j, const char **ret_call, const char **ret_reason)
{
    struct journal_entry e = { 0 };
    struct error err;

    *ret_call = j->code ? "tasks.stopped" : "tasks.failed";
    *ret_reason = j->text;
    if (journal_read (j->arena, path_join (j->arena, j->folder, "journal"), &e, &err) < 0 || !e.has_exit)
        return;
    if (!e.signal && !e.exit_code) {
        *ret_call = "tasks.completed";
        *ret_reason = "worker execution done";
    } else if (!j->code) {
        *ret_reason =
            arena_printf (j->arena, "worker execution exit code %d", e.signal ? -e.signal : e.exit_code);
    }
}

static void do_lost (struct agent *g, struct job *j)
{
    struct str body = { .arena = j->arena };
    const char *name, *reason;
    struct text data;
    struct error err;
    int there = is_in_progress (g, j);

    if (there < 0)
        return; /* the run's folder stays: told at the next start */
    if (there) {
        final_status (j, &name, &reason);
        send_line (g, j, "ERROR", arena_printf (j->arena, "%s\n", j->text));
        add_status (j, &body, reason);
        if (call (g, j->arena, name, &body, &data, &err) < 0) {
            log_warn ("agent", "task %s: %s", j->task, err.text);
            if (client_undecided (&err))
                return;
        }
    }
    if (folder_remove (j->folder, &err) < 0)
        log_warn ("agent", "%s", err.text);
}

void report_lost (struct agent *g, const struct run *r, const char *how, bool stopped)
{
    struct job *j = job_create (do_lost);

    j->task = arena_strdup (j->arena, r->task);
    j->worker = arena_strdup (j->arena, r->worker);
    j->text = arena_strdup (j->arena, how);
    j->folder = arena_strdup (j->arena, r->folder);
    j->code = stopped;
    courier_post (g, j);
}

/* -- back to the queue ------------------------------------------------------------------------------------------ */

static void do_give_back (struct agent *g, struct job *j)
{
    static const struct {
        const char *call, *body;
    } steps[] = {
        { "tasks.stopped", "{\"task\":\"%s\",\"force\":true,\"status_reason\":\"the agent was stopped\"}" },
        { "tasks.enqueue", "{\"task\":\"%s\",\"queue\":\"%s\",\"status_reason\":\"the agent was stopped\"}" },
        { "queues.move_task_to_front", "{\"task\":\"%s\",\"queue\":\"%s\"}" },
    };

    for (size_t i = 0; i < sizeof (steps) / sizeof (*steps); i++) {
        struct str body = { .arena = j->arena };
        struct text data;
        struct error err;

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
        str_addf (&body, steps[i].body, j->task, j->queue); /* ids of the server: hex digits */
#pragma GCC diagnostic pop
        if (call (g, j->arena, steps[i].call, &body, &data, &err) < 0) {
            log_warn ("agent", "give task %s back to its queue: %s", j->task, err.text);
            if (client_undecided (&err))
                return; /* the next agent finds the token, and the task with it */
        }               /* refused: it has been done, and the answer was lost */
    }
    taker_taken (g, j->text);
}

void report_give_back (struct agent *g, const struct taken *t)
{
    struct job *j = job_create (do_give_back);

    j->task = arena_strdup (j->arena, t->task);
    j->queue = arena_strdup (j->arena, t->queue);
    j->text = arena_strdup (j->arena, t->token);
    courier_post (g, j);
}
