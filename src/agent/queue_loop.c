/* queue_loop.c - the taker: a thread that looks for one task at a time, for the slot the loop hands it.
 *
 * On our server: x_queues.claim, a long poll. The token is in the journal before it is sent, and the same token is
 * sent until an answer has come and is in a run's journal: a lost answer, a crash in between, cost nothing. On other
 * servers: queues.get_next_task over the queues, a pause, again, as the reference agent does. */
#include "agent/room.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/id.h"
#include "base/log.h"
#include "base/path.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

enum {
    VERSION = 2015,
    CLAIM_WAIT_MS = 50000,
    PAUSE_ERROR_MS = 2000,
    REFRESH_MS = 10000,
    LAST_TRY_MS = 3000,
    STACK = 256 << 10
};

/* -- small things ----------------------------------------------------------------------------------------------- */

static bool must_stop (struct taker *t)
{
    bool stop;

    pthread_mutex_lock (&t->lock);
    stop = t->stop;
    pthread_mutex_unlock (&t->lock);
    return stop;
}

/* Wait so long, or until told to stop. */
static void rest (struct taker *t, int64_t ms)
{
    struct pollfd p = { .fd = t->abort_fd, .events = POLLIN };

    poll (&p, 1, (int)ms);
}

struct posted {
    struct agent *g;
    struct taken t;
};

static void on_taken (void *arg)
{
    struct posted *p = arg;

    p->t.slot->asked = false;
    run_take (p->g, &p->t);
    run_ended (p->g);
    free (p);
}

static void on_nothing (void *arg)
{
    struct posted *p = arg;

    p->t.slot->asked = false;
    run_ended (p->g);
    free (p);
}

static void post (struct agent *g, struct slot *slot, const struct taken *t)
{
    struct posted *p = calloc (1, sizeof (*p));

    if (!p)
        abort ();
    p->g = g;
    if (t)
        p->t = *t;
    p->t.slot = slot;
    loop_post (g->loop, t ? on_taken : on_nothing, p);
}

/* Queue number i of this round: in order, or from where the last one was taken. */
static const struct queue *queue_at (const struct agent *g, const struct queues *queues, size_t i)
{
    return &queues->v[(g->taker.first + i) % queues->n];
}

static void took_from (struct agent *g, const struct queues *queues, const char *queue)
{
    if (!g->o->order_fairness)
        return;
    for (size_t i = 0; i < queues->n; i++)
        if (queue && !strcmp (queues->v[i].id, queue))
            g->taker.first = (i + 1) % queues->n;
}

static void fill (struct taken *t, const char *task, const char *queue, const char *token)
{
    snprintf (t->task, sizeof (t->task), "%s", task);
    snprintf (t->queue, sizeof (t->queue), "%s", queue ? queue : "");
    snprintf (t->token, sizeof (t->token), "%s", token ? token : "");
}

/* -- our server: claim ------------------------------------------------------------------------------------------ */

static char *claim_path (const struct agent *g, struct arena *a)
{
    return path_join (a, g->folder, "claim");
}

/* The token to send: the one that has no answer yet, else a new one, which is written down first. */
static int token_make (struct agent *g, struct arena *a, const struct slot *slot, struct error *err)
{
    struct taker *t = &g->taker;
    const char *path = claim_path (g, a);

    if (t->token[0])
        return 0;
    if (file_remove (path, err) < 0) /* what is in it has been taken: see taker_taken */
        return -1;
    strcpy (t->token, id_random ().hex);
    return journal_append (
        path, &(struct journal_entry){ .stage = "asking", .token = t->token, .worker = slot->worker }, err);
}

static void add_claim (struct agent *g, const struct queues *queues, const struct slot *slot, int64_t wait_ms,
                       struct str *body)
{
    str_putc (body, '{');
    json_put_key (body, "queues");
    str_putc (body, '[');
    for (size_t i = 0; i < queues->n; i++) {
        json_put_comma (body);
        json_put_string (body, queue_at (g, queues, i)->id);
    }
    str_puts (body, "]");
    json_put_key (body, "worker");
    json_put_string (body, slot->worker);
    json_put_key (body, "token");
    json_put_string (body, g->taker.token);
    str_addf (body, ",\"wait_ms\":%lld}", (long long)wait_ms);
}

/* 1 a task, 0 none in this time, -1 error. */
static int claim (struct agent *g, struct arena *a, const struct slot *slot, int64_t wait_ms,
                  struct taken *ret, struct error *err)
{
    struct str body = { .arena = a };
    struct client_request q = { .call = "x_queues.claim",
                                .wait_ms = wait_ms,
                                .timeout_ms = wait_ms ? 0 : LAST_TRY_MS };
    const struct queues *queues = queues_get (g);
    struct text data, task;
    char *id, *queue;

    if (token_make (g, a, slot, err) < 0)
        return -1;
    add_claim (g, queues, slot, wait_ms, &body);
    q.body = str_text (&body);
    if (client_send (g->taker.client, a, &q, &data, err) < 0)
        return -1;
    task = json_get (data, "task");
    id = json_string (a, json_kind (task) == JSON_OBJECT ? json_get (task, "id") : task);
    queue = json_string (a, json_get (data, "queue"));
    if (!id || !*id)
        return 0; /* the token was not used: it stays good */
    fill (ret, id, queue, g->taker.token);
    took_from (g, queues, queue);
    g->taker.token[0] = 0;
    return 1;
}

/* We were told to stop while an answer may have been on its way: ask once more, without waiting. */
static int claim_once_more (struct agent *g, struct arena *a, const struct slot *slot, struct taken *ret)
{
    struct client *c = g->taker.client;
    struct error err;
    int r;

    client_set_abort (c, 0);
    client_set_patience (c, CLIENT_ONCE);
    r = claim (g, a, slot, 0, ret, &err);
    client_set_patience (c, CLIENT_FOREVER);
    client_set_abort (c, g->taker.abort_fd);
    return r > 0;
}

/* -- other servers: poll ---------------------------------------------------------------------------------------- */

static int poll_queue (struct agent *g, struct arena *a, const struct queue *q, struct taken *ret,
                       struct error *err)
{
    struct str body = { .arena = a };
    struct text data, entry;
    char *task;

    str_putc (&body, '{');
    json_put_key (&body, "queue");
    json_put_string (&body, q->id);
    str_putc (&body, '}');
    if (client_call (g->taker.client, a, "queues.get_next_task", VERSION, str_text (&body), &data, err) < 0)
        return -1;
    entry = json_get (data, "entry");
    task = json_string (a, json_get (entry, "task"));
    if (!task || !*task)
        return 0;
    fill (ret, task, q->id, NULL);
    return 1;
}

/* Tell the server that it is ours now. */
static int start_pulled (struct agent *g, struct arena *a, const struct slot *slot, const char *task,
                         struct error *err)
{
    struct str body = { .arena = a };
    struct text data;

    str_putc (&body, '{');
    json_put_key (&body, "task");
    json_put_string (&body, task);
    str_puts (&body, ",\"force\":true,\"status_reason\":\"pulled by agent\"");
    json_put_key (&body, "status_message");
    json_put_string (&body, arena_printf (a, "Changed by clearml-agent %s", slot->worker));
    str_putc (&body, '}');
    return client_call (g->taker.client, a, "tasks.started", VERSION, str_text (&body), &data, err);
}

static int poll_all (struct agent *g, struct arena *a, const struct slot *slot, struct taken *ret,
                     struct error *err)
{
    const struct queues *queues = queues_get (g);

    for (size_t i = 0; i < queues->n && !must_stop (&g->taker); i++) {
        const struct queue *q = queue_at (g, queues, i);
        int r = poll_queue (g, a, q, ret, err);

        if (r < 0)
            return -1;
        if (!r)
            continue;
        if (!start_pulled (g, a, slot, ret->task, err) || client_undecided (err)) { /* its run tries again */
            took_from (g, queues, q->id);
            return 1;
        }
        log_warn ("agent", "task %s of queue %s is passed over: %s", ret->task, q->name, err->text);
        i--; /* the next entry of the same queue */
    }
    return 0;
}

/* -- the thread ------------------------------------------------------------------------------------------------- */

/* Look the queues up again: one was refused, or was not there the last time. */
static void refresh (struct agent *g)
{
    struct taker *t = &g->taker;
    struct error err;

    t->refreshed = clock_monotonic ();
    t->first = 0;
    if (queues_resolve (g, t->client, false, &err) < 0)
        log_warn ("agent", "look up the queues: %s", err.text);
    else
        courier_slot_changed (g);
}

/* A queue may have been deleted; other refusals (no rights, wrong version) are said. */
static void on_error (struct agent *g, const struct error *err)
{
    log_warn ("agent", "looking for a task: %s", err->text);
    if (client_refused (err, 400))
        refresh (g);
    rest (&g->taker, PAUSE_ERROR_MS);
}

/* How long a claim may wait: not over the full hour when there are working hours; 0 = these are not. */
static int64_t working_ms (const struct agent *g)
{
    time_t now = time (NULL);
    struct tm tm;
    int64_t left;

    if (!g->uptime.given && !g->downtime.given)
        return CLAIM_WAIT_MS;
    localtime_r (&now, &tm);
    if (g->uptime.given ? !hours_hold (&g->uptime, tm.tm_wday, tm.tm_hour)
                        : hours_hold (&g->downtime, tm.tm_wday, tm.tm_hour))
        return 0;
    left = ((59 - tm.tm_min) * 60 + 60 - tm.tm_sec) * 1000;
    return left < CLAIM_WAIT_MS ? left : CLAIM_WAIT_MS;
}

static void look_for (struct agent *g, struct slot *slot)
{
    struct taker *t = &g->taker;
    int64_t poll_ms = g->o->poll_ms;

    for (;;) {
        cleanup_arena struct arena *a = arena_create ();
        struct taken got = { 0 };
        struct error err;
        const struct queues *queues = queues_get (g);
        int64_t wait_ms = queues->n ? working_ms (g) : 0;
        int r = !wait_ms ? 0
                : g->claims
                    ? claim (g, a, slot, queues->missing && wait_ms > REFRESH_MS ? REFRESH_MS : wait_ms, &got,
                             &err)
                    : poll_all (g, a, slot, &got, &err);

        if (r < 0 && err.code == ECANCELED && g->claims && claim_once_more (g, a, slot, &got))
            r = 1;
        if (r > 0) {
            post (g, slot, &got);
            return;
        }
        if (must_stop (t))
            break;
        if (r < 0)
            on_error (g, &err);
        else if (!g->claims || !wait_ms)
            rest (t, wait_ms ? poll_ms : PAUSE_ERROR_MS);
        if (queues_get (g)->missing && clock_monotonic () > t->refreshed + REFRESH_MS)
            refresh (g);
    }
    post (g, slot, NULL);
}

static void *taker_main (void *arg)
{
    struct agent *g = arg;
    struct taker *t = &g->taker;

    for (;;) {
        struct slot *slot;
        bool stop;

        pthread_mutex_lock (&t->lock);
        while (!t->wanted && !t->stop)
            pthread_cond_wait (&t->bell, &t->lock);
        slot = t->wanted;
        t->wanted = NULL;
        stop = t->stop;
        pthread_mutex_unlock (&t->lock);
        if (stop && slot)
            post (g, slot, NULL); /* the loop waits for a word about each slot it asked for */
        if (stop)
            return NULL;
        look_for (g, slot);
    }
}

void taker_taken (struct agent *g, const char *token)
{
    cleanup_arena struct arena *a = arena_create ();
    struct error err;

    if (*token && journal_append (claim_path (g, a),
                                  &(struct journal_entry){ .stage = "taken", .token = token }, &err) < 0)
        log_warn ("agent", "%s", err.text);
}

/* A token that was sent before a crash and is in no run's journal: its answer may have been lost. Send it again. */
static int token_recover (struct agent *g, struct error *err)
{
    cleanup_arena struct arena *a = arena_create ();
    struct agent_task *tasks;
    struct journal_entry e;
    size_t n;

    if (journal_read (a, claim_path (g, a), &e, err) < 0)
        return err->code == ENOENT ? 0 : -1;
    if (!e.token || !e.stage || strcmp (e.stage, "asking") || strlen (e.token) >= sizeof (g->taker.token))
        return 0;
    if (agent_tasks (a, &tasks, &n, err) < 0)
        return -1;
    for (size_t i = 0; i < n; i++)
        if (tasks[i].token && !strcmp (tasks[i].token, e.token))
            return 0;
    strcpy (g->taker.token, e.token);
    return 0;
}

int taker_start (struct agent *g, struct error *err)
{
    struct taker *t = &g->taker;
    pthread_attr_t small;

    if (token_recover (g, err) < 0)
        return -1;
    t->abort_fd = eventfd (0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (t->abort_fd < 0)
        return error_errno (err, "eventfd");
    t->client = client_share (g->client);
    client_set_worker (t->client, g->worker);
    client_set_patience (t->client, CLIENT_FOREVER);
    client_set_abort (t->client, t->abort_fd);
    pthread_mutex_init (&t->lock, NULL);
    pthread_cond_init (&t->bell, NULL);
    pthread_attr_init (&small);
    pthread_attr_setstacksize (&small, STACK);
    errno = pthread_create (&t->thread, &small, taker_main, g);
    if (errno)
        return error_errno (err, "start a thread");
    t->started = true;
    return 0;
}

void taker_ask (struct agent *g)
{
    struct taker *t = &g->taker;
    struct slot *slot = g->mode == AGENT_RUNNING ? slots_free (g) : NULL;

    for (int i = 0; i < g->o->slots; i++)
        if (g->slots[i].asked)
            return; /* it is looking already; the next slot when it has found */
    if (!slot || !t->started || g->adopting)
        return;
    slot->asked = true;
    pthread_mutex_lock (&t->lock);
    t->wanted = slot;
    pthread_cond_signal (&t->bell);
    pthread_mutex_unlock (&t->lock);
}

void taker_stop (struct agent *g)
{
    struct taker *t = &g->taker;

    if (!t->started)
        return;
    pthread_mutex_lock (&t->lock);
    t->stop = true;
    pthread_cond_signal (&t->bell);
    pthread_mutex_unlock (&t->lock);
    eventfd_write (t->abort_fd, 1);
}

void taker_join (struct agent *g)
{
    struct taker *t = &g->taker;

    if (!t->started)
        return;
    pthread_join (t->thread, NULL);
    client_destroy (t->client);
    close (t->abort_fd);
    t->started = false;
}
