/* status.c - the courier: a thread that tells the server what the daemon has to say, one thing after the other, so
 * that a server that is away never holds up the loop. Jobs go first (they are about tasks), then the reports.
 *
 * Each slot is a worker on the server: registered at the start, reported every agent.status_report_sec and whenever its
 * task changes, unregistered at the end. */
#include "agent/machine.h"
#include "agent/room.h"
#include "base/clock.h"
#include "base/log.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

enum {
    VERSION = 2015,
    FIRST_REPORT_MS = 3000,
    AGAIN_MS = 2000,
    TIMEOUT_MIN_S = 10,
    REPORTS_MISSED = 3,
    END_MS = 5000,
    STACK = 256 << 10
};

/* -- calls about workers ---------------------------------------------------------------------------------------- */

static void put_worker (struct agent *g, const struct slot *slot, struct arena *a, struct str *s)
{
    const struct queues *queues = queues_get (g);
    const char **ids = arena_array (a, const char *, queues->n + 1);
    const struct conf_list *tags = &g->conf->agent.tags;

    for (size_t i = 0; i < queues->n; i++)
        ids[i] = queues->v[i].id;
    str_putc (s, '{');
    json_put_key (s, "worker");
    json_put_string (s, slot->worker);
    json_put_strings (s, "queues", ids, queues->n);
    if (g->o->tags.n)
        json_put_strings (s, "tags", g->o->tags.v, g->o->tags.n);
    else if (tags->n)
        json_put_strings (s, "tags", tags->v, tags->n);
}

/* After so many seconds without a report the server takes the worker for gone. */
static int64_t timeout_s (const struct agent *g)
{
    int64_t s = (int64_t)(REPORTS_MISSED * g->conf->agent.report_sec + 0.5);

    return s < TIMEOUT_MIN_S ? TIMEOUT_MIN_S : s;
}

int worker_register (struct agent *g, struct error *err)
{
    for (int i = 0; i < g->o->slots; i++) {
        cleanup_arena struct arena *a = arena_create ();
        struct str body = { .arena = a };
        struct text data;

        put_worker (g, &g->slots[i], a, &body);
        str_addf (&body, ",\"timeout\":%lld}", (long long)timeout_s (g));
        if (client_call (g->client, a, "workers.register", VERSION, str_text (&body), &data, err) < 0)
            return -1;
    }
    return 0;
}

static void unregister (struct agent *g, struct client *c)
{
    for (int i = 0; i < g->o->slots; i++) {
        cleanup_arena struct arena *a = arena_create ();
        struct str body = { .arena = a };
        struct text data;
        struct error err;

        str_puts (&body, "{");
        json_put_key (&body, "worker");
        json_put_string (&body, g->slots[i].worker);
        str_puts (&body, "}");
        if (client_call (c, a, "workers.unregister", VERSION, str_text (&body), &data, &err) < 0) {
            log_warn ("agent", "unregister %s: %s", g->slots[i].worker, err.text);
            if (client_undecided (&err))
                return; /* nobody there: the others would wait as long */
        }
    }
}

/* Not repeated here: what there is to say about tasks must not wait for it. 0 = told, or refused; -1 = not told. */
static int report_slot (struct agent *g, const struct slot *slot, bool stats, bool fresh)
{
    struct courier *k = &g->courier;
    cleanup_arena struct arena *a = arena_create ();
    struct str body = { .arena = a };
    struct slot_report r;
    struct text data;
    struct error err;

    pthread_mutex_lock (&k->lock);
    r = g->reports[slot->index];
    g->reports[slot->index].changed = false;
    pthread_mutex_unlock (&k->lock);
    put_worker (g, slot, a, &body);
    str_addf (&body, ",\"timestamp\":%lld", (long long)(clock_now () / 1000 * 1000));
    if (g->claims) /* a server with calls of ours */
        str_addf (&body, ",\"x_timeout\":%lld", (long long)timeout_s (g));
    if (r.task[0]) {
        json_put_key (&body, "task");
        json_put_string (&body, r.task);
        json_put_key (&body, "queue");
        json_put_string (&body, r.queue);
    }
    if (stats) {
        json_put_key (&body, "machine_stats");
        machine_write (k->machine, slot->gpus, fresh, &body);
    }
    str_putc (&body, '}');
    client_set_patience (k->client, CLIENT_ONCE);
    int told = client_call (k->client, a, "workers.status_report", VERSION, str_text (&body), &data, &err);
    client_set_patience (k->client, CLIENT_FOREVER);
    bool again = told < 0 && client_undecided (&err);
    if (told < 0 && err.code != ECANCELED && !k->in_trouble)
        log_warn ("agent", "report of %s: %s", slot->worker, err.text);
    if (told == 0 && k->in_trouble)
        log_info ("agent", "report of %s: the server hears us again", slot->worker);
    k->in_trouble = again;
    if (again) {
        pthread_mutex_lock (&k->lock);
        g->reports[slot->index].changed = true;
        pthread_mutex_unlock (&k->lock);
    }
    return again ? -1 : 0;
}

/* All of them with their statistics, or only those whose task changed, until one cannot be told. */
static int report_all (struct agent *g, bool stats)
{
    bool fresh = stats;

    for (int i = 0; i < g->o->slots; i++) {
        bool changed;

        pthread_mutex_lock (&g->courier.lock);
        changed = g->reports[i].changed;
        pthread_mutex_unlock (&g->courier.lock);
        if (!stats && !changed)
            continue;
        if (report_slot (g, &g->slots[i], stats, fresh) < 0)
            return -1;
        fresh = false;
    }
    return 0;
}

/* -- the thread ------------------------------------------------------------------------------------------------- */

static void do_job (struct agent *g, struct job *j)
{
    j->fn (g, j);
    arena_destroy (j->arena);
}

/* Wait for a job, a wish to report, or the time; under the lock. */
static void wait_until (struct courier *k, int64_t due)
{
    struct timespec ts;
    int64_t left = due - clock_monotonic ();

    if (k->first || k->stop || k->report_now || left <= 0)
        return;
    clock_gettime (CLOCK_MONOTONIC, &ts);
    ts.tv_sec += left / 1000;
    ts.tv_nsec += left % 1000 * 1000000;
    if (ts.tv_nsec >= 1000000000)
        ts.tv_sec++, ts.tv_nsec -= 1000000000;
    pthread_cond_timedwait (&k->bell, &k->lock, &ts);
}

static struct job *take_job (struct courier *k)
{
    struct job *j = k->first;

    if (j && !(k->first = j->next))
        k->last = &k->first;
    return j;
}

static void *courier_main (void *arg)
{
    struct agent *g = arg;
    struct courier *k = &g->courier;
    int64_t period = (int64_t)(g->conf->agent.report_sec * 1000), due, again;
    cleanup_str struct str unused = { 0 };

    if (period < 100)
        period = 100;
    due = clock_monotonic () + (period < FIRST_REPORT_MS ? period : FIRST_REPORT_MS);
    machine_write (k->machine, NULL, true, &unused); /* what the first report compares with */
    pthread_mutex_lock (&k->lock);
    for (;;) {
        bool now = k->report_now, time = clock_monotonic () >= due;
        struct job *j = take_job (k);

        if (!j && !now && !time) {
            if (k->stop)
                break;
            wait_until (k, due);
            continue;
        }
        k->report_now = j ? now : false;
        pthread_mutex_unlock (&k->lock);
        if (j)
            do_job (g, j);
        else if (report_all (g, time) < 0) {
            again = clock_monotonic () + (period < AGAIN_MS ? period : AGAIN_MS);
            due = time || again < due ? again : due;
        } else if (time)
            due = clock_monotonic () + period;
        pthread_mutex_lock (&k->lock);
    }
    pthread_mutex_unlock (&k->lock);
    return NULL;
}

int courier_start (struct agent *g, struct error *err)
{
    struct courier *k = &g->courier;
    pthread_condattr_t monotonic;
    pthread_attr_t small;

    k->last = &k->first;
    k->abort_fd = eventfd (0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (k->abort_fd < 0)
        return error_errno (err, "eventfd");
    k->machine = machine_create (g->conf->agent.disk_use_path);
    k->client = client_share (g->client);
    client_set_worker (k->client, g->worker);
    client_set_patience (k->client, CLIENT_FOREVER);
    client_set_abort (k->client, k->abort_fd);
    pthread_mutex_init (&k->lock, NULL);
    pthread_condattr_init (&monotonic);
    pthread_condattr_setclock (&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init (&k->bell, &monotonic);
    pthread_attr_init (&small);
    pthread_attr_setstacksize (&small, STACK);
    errno = pthread_create (&k->thread, &small, courier_main, g);
    if (errno)
        return error_errno (err, "start a thread");
    k->started = true;
    return 0;
}

struct job *job_create (void (*fn) (struct agent *, struct job *))
{
    struct arena *a = arena_create ();
    struct job *j = arena_new (a, struct job);

    j->arena = a;
    j->fn = fn;
    return j;
}

void courier_post (struct agent *g, struct job *j)
{
    struct courier *k = &g->courier;

    pthread_mutex_lock (&k->lock);
    *k->last = j;
    k->last = &j->next;
    pthread_cond_signal (&k->bell);
    pthread_mutex_unlock (&k->lock);
}

void courier_slot (struct agent *g, const struct slot *s)
{
    struct courier *k = &g->courier;
    struct slot_report *r = &g->reports[s->index];

    pthread_mutex_lock (&k->lock);
    *r = (struct slot_report){ .changed = true };
    if (s->run) {
        snprintf (r->task, sizeof (r->task), "%s", s->run->task);
        snprintf (r->queue, sizeof (r->queue), "%s", s->run->queue);
    }
    k->report_now = true;
    pthread_cond_signal (&k->bell);
    pthread_mutex_unlock (&k->lock);
}

void courier_slot_changed (struct agent *g)
{
    struct courier *k = &g->courier;

    pthread_mutex_lock (&k->lock);
    for (int i = 0; i < g->o->slots; i++)
        g->reports[i].changed = true;
    k->report_now = true;
    pthread_cond_signal (&k->bell);
    pthread_mutex_unlock (&k->lock);
}

/* A thread that cannot be waited for longer than END_MS: ring its abort descriptor then. */
static void join_bounded (struct courier *k)
{
    struct timespec ts;

    clock_gettime (CLOCK_MONOTONIC, &ts);
    ts.tv_sec += END_MS / 1000;
    if (pthread_clockjoin_np (k->thread, NULL, CLOCK_MONOTONIC, &ts)) {
        eventfd_write (k->abort_fd, 1);
        pthread_join (k->thread, NULL);
    }
}

void courier_end (struct agent *g)
{
    struct courier *k = &g->courier;
    struct job *next;

    if (!k->started)
        return;
    pthread_mutex_lock (&k->lock);
    k->stop = true;
    k->report_now = false;
    pthread_cond_signal (&k->bell);
    pthread_mutex_unlock (&k->lock);
    join_bounded (k);
    for (struct job *j = k->first; j; j = next) { /* their runs' folders stay: the next daemon tells it */
        next = j->next;
        arena_destroy (j->arena);
    }
    if (!g->restart) {
        client_set_patience (g->client, CLIENT_ONCE);
        unregister (g, g->client);
    }
    client_destroy (k->client);
    machine_destroy (k->machine);
    close (k->abort_fd);
    k->started = false;
}
