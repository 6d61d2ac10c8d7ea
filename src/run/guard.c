/* guard.c - see guard.h. In: the task's status on the server. Out: a reason to stop. */
#include "run/guard.h"
#include "base/clock.h"
#include "base/digest.h"
#include "base/json.h"
#include "base/log.h"
#include "run/load.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

enum {
    REPORT_MS = 30000,
    WATCH_MS = 10000,   /* how long the server may hold a question */
    QUICK_MS = 20,      /* an answer sooner than this was not held; many of them are no reason to hurry */
    RESETS_SEEN = 2,    /* "created" must be seen so often: a reset may be followed by an enqueue */
    UNKNOWN_MS = 10000, /* an abort waits no longer to hear whether the task has a callback */
    REVIVALS_MAX = 20   /* so often we tell a server that took us for dead that we live */
};

struct guard {
    struct client *client;
    struct guard_options o;
    struct arena *arena;
    struct stop *stop;
    pthread_t thread;
    int stop_fd;
    int resets, revivals, quick;
    int can_watch;           /* the server has x_tasks.watch (-1 = it has not said so yet), */
    char *status, *message;  /* with what it said last; NULL = nothing yet */
    const char *run;         /* and what it calls our run; NULL = nobody claimed it */
    bool heard;              /* it answered just now */
    _Atomic int64_t running; /* since when (ms), 0 = not yet */
    struct load load;
    int64_t reported;   /* when the load was reported last */
    int reports_itself; /* the task reports the machine's load: 1 yes, 0 no, -1 not known yet */
};

static int call (struct guard *g, struct arena *a, const char *name, const char *body, struct text *ret)
{
    struct error err = { 0 };
    if (client_call (g->client, a, name, 0, text_of (body), ret, &err) == 0)
        return 0;
    if (err.code != ECANCELED)
        log_debug ("guard", "%s: %s", name, err.text);
    return -1;
}

/* The task's members as of now: 1 = there, 0 = no such task, -1 = cannot be told. */
static int look (struct guard *g, struct arena *a, const char *fields, struct text *ret)
{
    struct text data;
    const char *body =
        arena_printf (a, "{\"id\":[\"%s\"],\"only_fields\":[%s],\"search_hidden\":true}", g->o.task, fields);
    if (call (g, a, "tasks.get_all", body, &data) < 0)
        return -1;
    struct json_iter it = json_iter (json_get (data, "tasks"));
    if (json_kind (json_get (data, "tasks")) != JSON_ARRAY)
        return -1;
    if (!json_next (&it))
        return 0;
    *ret = it.value;
    return 1;
}

static const struct {
    const char *status;
    enum stop_reason reason;
} moves[] = {
    { "closed", STOP_CHANGED }, { "stopped", STOP_CHANGED }, { "published", STOP_CHANGED },
    { "queued", STOP_CHANGED }, { "failed", STOP_FAILED },   { NULL, STOP_NONE },
};

static void ping (struct guard *g)
{
    cleanup_arena struct arena *a = arena_create ();
    struct text ignored;
    if (call (g, a, "tasks.ping", arena_printf (a, "{\"task\":\"%s\"}", g->o.task), &ignored) < 0)
        return;
}

/* The server had not heard of us for so long that it ended the task by itself. Nobody wants it ended: a sign of life
 * revives it. */
static bool taken_for_dead (struct text status, const char *message)
{
    return message && !strncmp (message, "Forced stop (", 13) &&
           (json_string_is (status, "stopped") || json_string_is (status, "failed"));
}

/* An answer of x_tasks.watch names another run than ours. */
static bool is_taken (const struct guard *g, struct arena *a, struct text task)
{
    const char *run = json_string (a, json_get (task, "run"));
    return g->run && run && strcmp (g->run, run);
}

static bool wants_stop (const char *message)
{
    return message && strstr (message, "stopping");
}

static enum stop_reason judge (struct guard *g, struct arena *a, struct text task)
{
    struct text status = json_get (task, "status");
    char *message = json_string (a, json_get (task, "status_message"));
    if (taken_for_dead (status, message) && g->revivals < REVIVALS_MAX) {
        g->revivals++;
        ping (g);
        return STOP_NONE;
    }
    g->revivals = 0;
    if (wants_stop (message) &&
        (json_string_is (status, "in_progress") || json_string_is (status, "stopped")))
        return STOP_USER; /* "stopped": we were taken for dead before we could hear it */
    if (json_string_is (status, "in_progress"))
        return is_taken (g, a, task) ? STOP_TAKEN : STOP_NONE;
    if (json_string_is (status, "created"))
        return ++g->resets >= RESETS_SEEN ? STOP_RESET : STOP_NONE;
    g->resets = 0;
    for (size_t i = 0; moves[i].status; i++)
        if (json_string_is (status, moves[i].status))
            return moves[i].reason;
    return STOP_NONE; /* completed by the task itself: it may have more to do */
}

enum stop_reason guard_first_look (struct text task)
{
    cleanup_arena struct arena *a = arena_create ();
    struct text status = json_get (task, "status");
    char *message = json_string (a, json_get (task, "status_message"));
    if (json_string_is (status, "in_progress"))
        return wants_stop (message) ? STOP_USER : STOP_NONE;
    if (taken_for_dead (status, message) || json_string_is (status, "queued"))
        return STOP_NONE;
    for (size_t i = 0; moves[i].status; i++)
        if (json_string_is (status, moves[i].status))
            return moves[i].reason;
    return json_string_is (status, "completed") ? STOP_CHANGED : STOP_NONE;
}

/* True when the guard itself is to end. */
static bool pause_for (struct guard *g, int64_t ms)
{
    struct pollfd p = { g->stop_fd, POLLIN, 0 };
    return poll (&p, 1, (int)ms) > 0;
}

/* A task that has a callback for its abort gets the time it asked for (runtime._abort_callback_timeout). */
static void await_callback (struct guard *g)
{
    int64_t begun = clock_monotonic (), end = 0;
    do {
        cleanup_arena struct arena *a = arena_create ();
        struct text task;
        int there = look (g, a, "\"runtime\"", &task);
        if (there < 0) /* not known now; at first it may have none */
            continue;
        if (!there)
            return;
        struct text runtime = json_get (task, "runtime");
        double timeout = json_double (json_get (runtime, "_abort_callback_timeout"), 0);
        if (timeout <= 0 || json_double (json_get (runtime, "_abort_callback_completed"), 0) > 0)
            return;
        if (!end) {
            int64_t ms =
                (int64_t)(1000 * (timeout + json_double (json_get (runtime, "_abort_poll_freq"), 0)));
            end = clock_monotonic () + (ms < g->o.callback_max_ms ? ms : g->o.callback_max_ms);
        }
    } while (clock_monotonic () < (end ? end : begun + UNKNOWN_MS) && !pause_for (g, 500));
}

/* As look, from a server that answers when something changed, or after a while. */
static int wait_for_change (struct guard *g, struct arena *a, struct text *ret)
{
    struct error err = { 0 };
    struct str body = { .arena = a };
    str_puts (&body, "{\"task\":");
    json_put_string (&body, g->o.task);
    str_puts (&body, ",\"status\":");
    json_put_string (&body, g->status);
    str_puts (&body, ",\"status_message\":");
    json_put_string (&body, g->message);
    if (g->run) {
        str_puts (&body, ",\"run\":");
        json_put_string (&body, g->run);
    }
    int64_t wait = g->o.ping_ms && g->o.ping_ms < WATCH_MS ? g->o.ping_ms : WATCH_MS; /* pings are due */
    str_addf (&body, ",\"wait_ms\":%lld}", (long long)wait);
    struct client_request q = { .call = "x_tasks.watch", .body = str_text (&body), .wait_ms = wait };
    if (client_send (g->client, a, &q, ret, &err) < 0) {
        if (client_refused (&err, 404))
            g->can_watch = 0;
        /* two must say that it is gone: a run is ended for it */
        return client_refused (&err, 400) ? look (g, a, "\"status\"", ret) : -1;
    }
    char *status = json_string (a, json_get (*ret, "status")),
         *message = json_string (a, json_get (*ret, "status_message"));
    free (g->status), free (g->message);
    g->status = strdup (status ? status : "");
    g->message = strdup (message ? message : "");
    return 1;
}

static int can_watch (struct guard *g)
{
    struct error err = { 0 };
    int can = client_feature (g->client, "x_tasks.watch", &err);
    if (can < 0 && err.code != ECANCELED)
        log_debug ("guard", "%s", err.text);
    return can;
}

static void check_status (struct guard *g)
{
    cleanup_arena struct arena *a = arena_create ();
    struct text task;
    int64_t asked = clock_monotonic ();
    if (g->can_watch < 0)
        g->can_watch = can_watch (g);
    int there = g->can_watch > 0 ? wait_for_change (g, a, &task)
                                 : look (g, a, "\"status\",\"status_message\"", &task);
    g->quick = there > 0 && clock_monotonic () - asked < QUICK_MS ? g->quick + 1 : 0;
    g->heard = there > 0 && g->quick < 4;
    enum stop_reason reason = there == 0 ? STOP_GONE : there < 0 ? STOP_NONE : judge (g, a, task);
    if (g->resets || g->revivals) { /* look again soon, whatever the server would wait for */
        free (g->status);
        g->status = NULL;
        g->heard = false;
    }
    if (reason == STOP_USER)
        await_callback (g);
    if (reason != STOP_NONE)
        stop_set (g->stop, reason);
}

/* A run without a daemon is a worker of its own, as long as it lasts. */
static void report_worker (struct guard *g)
{
    cleanup_arena struct arena *a = arena_create ();
    struct str s = { .arena = a };
    struct text ignored;
    str_puts (&s, "{\"worker\":");
    json_put_string (&s, g->o.worker);
    str_addf (&s, ",\"task\":\"%s\",\"queues\":[],\"timestamp\":%lld}", g->o.task, (long long)clock_now ());
    if (call (g, a, "workers.status_report", s.p, &ignored) < 0)
        return;
}

static void forget_worker (struct guard *g)
{
    cleanup_arena struct arena *a = arena_create ();
    struct str s = { .arena = a };
    struct text ignored;
    str_puts (&s, "{\"worker\":");
    json_put_string (&s, g->o.worker);
    str_puts (&s, "}");
    client_set_abort (g->client, 0);
    if (call (g, a, "workers.unregister", s.p, &ignored) < 0)
        return;
}

/* The SDK reports the same scalars when the script uses it: then we keep silent for good. 1 yes, 0 no, -1 not known. */
static int task_reports_itself (struct guard *g, struct arena *a)
{
    struct text data;
    const char *body =
        arena_printf (a, "{\"tasks\":[\"%s\"],\"event_type\":\"training_stats_scalar\"}", g->o.task);
    if (call (g, a, "events.get_task_metrics", body, &data) < 0)
        return -1;
    struct json_iter tasks = json_iter (json_get (data, "metrics"));
    while (json_next (&tasks)) {
        struct json_iter names = json_iter (json_get (tasks.value, "metrics"));
        while (json_next (&names))
            if (text_starts (names.value, "\":monitor:")) /* on many nodes: ":monitor:machine:<node>" */
                return 1;
    }
    return 0;
}

static void report_load (struct guard *g, int64_t now)
{
    cleanup_arena struct arena *a = arena_create ();
    int64_t since = atomic_load (&g->running);
    struct str lines = { .arena = a };
    struct text ignored;
    struct error err = { 0 };
    g->reported = now;
    if (g->reports_itself < 0)
        g->reports_itself = task_reports_itself (g, a);
    if (g->reports_itself)
        return;
    struct load_report r = { .task = g->o.task,
                             .worker = g->o.worker,
                             .disk = g->o.disk,
                             .gpus = load_gpus (),
                             .iteration = (now - since) / 1000 };
    load_write (&g->load, &r, &lines);
    struct client_request q = { .call = "events.add_batch", .body = str_text (&lines), .batch = true };
    if (lines.n && client_send (g->client, a, &q, &ignored, &err) < 0 && err.code != ECANCELED)
        log_debug ("guard", "load: %s", err.text);
}

static void *guard_main (void *arg)
{
    struct guard *g = arg;
    int64_t pinged = clock_monotonic (), told = pinged;
    if (g->o.worker_report)
        report_worker (g);
    g->can_watch = can_watch (g);
    while (
        !pause_for (g, g->can_watch > 0 && g->heard && stop_get (g->stop) == STOP_NONE ? 0 : g->o.poll_ms)) {
        int64_t now = clock_monotonic (), running = atomic_load (&g->running);
        if (stop_get (g->stop) == STOP_NONE)
            check_status (g);
        if (g->o.ping_ms && now - pinged >= g->o.ping_ms) {
            ping (g);
            pinged = now;
        }
        if (g->o.worker_report && now - told >= REPORT_MS) {
            report_worker (g);
            told = now;
        }
        /* the SDK's own report comes after 30 s at the earliest: we wait twice as long before the first */
        int64_t due = g->reported ? g->reported + g->o.monitor_ms : running + 2 * g->o.monitor_ms;
        if (g->o.monitor_ms && running && g->reports_itself <= 0 && now >= due)
            report_load (g, now);
    }
    if (g->o.worker_report)
        forget_worker (g);
    return NULL;
}

int guard_start (const struct client *c, const struct guard_options *o, struct stop *stop, struct guard **ret,
                 struct error *err)
{
    struct arena *a = arena_create ();
    struct guard *g = arena_new (a, struct guard);
    g->arena = a, g->o = *o, g->stop = stop;
    g->can_watch = g->reports_itself = -1;
    g->o.task = arena_strdup (a, o->task);
    g->o.disk = arena_strdup (a, o->disk);
    g->o.worker = arena_strdup (a, o->worker);
    g->run = digest_mark (a, o->claim);
    g->client = client_share (c);
    g->stop_fd = eventfd (0, EFD_CLOEXEC | EFD_NONBLOCK);
    client_set_patience (g->client, CLIENT_ONCE);
    client_set_abort (g->client, g->stop_fd);
    load_start (&g->load);
    int r = pthread_create (&g->thread, NULL, guard_main, g);
    if (r)
        return error_set (err, r, "thread: %s", strerror (r));
    *ret = g;
    return 0;
}

void guard_running (struct guard *g)
{
    if (g)
        atomic_store (&g->running, clock_monotonic ());
}

int guard_task_taken (struct guard *g, struct client *c, struct error *err)
{
    cleanup_arena struct arena *a = arena_create ();
    struct text task;
    if (!g || !g->run)
        return 0;
    const char *body = arena_printf (a, "{\"task\":\"%s\"}", g->o.task);
    if (client_call (c, a, "x_tasks.watch", 0, text_of (body), &task, err) < 0)
        return client_undecided (err) ? -1 : 0; /* it is gone, or the server has no such call */
    return json_string_is (json_get (task, "status"), "in_progress") && is_taken (g, a, task);
}

void guard_stop (struct guard *g)
{
    uint64_t one = 1;
    if (!g)
        return;
    ssize_t ignored = write (g->stop_fd, &one, sizeof one);
    (void)ignored;
    pthread_join (g->thread, NULL);
    load_end (&g->load);
    client_destroy (g->client);
    close (g->stop_fd);
    free (g->status), free (g->message);
    arena_destroy (g->arena);
}
