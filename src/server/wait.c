/* wait.c - see room.h. A waiter ends in one of four ways: its topic rings, its time comes, its client goes away, the
 * server stops. The loop thread alone decides which: a ring comes from any thread and only posts. The waiter counts
 * that post, so that one which is under way when the waiter ends otherwise finds an empty shell and frees it.
 *
 * A ring that woke a waiter whose client is gone is passed on to the next in line, so that no entry waits unseen.
 */
#include "base/clock.h"
#include "base/log.h"
#include "server/room.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

struct waiter {
    struct waits *waits;
    struct waiter *prev, *next;
    struct http_request *request; /* NULL: over */
    struct topic_wait *bell;
    char *topic;
    uint64_t seq;
    int64_t until;
    atomic_bool rung;
    void (*resume) (void *arg, bool last, bool gone);
    void *arg;
};
struct waits {
    struct server *server;
    struct waiter *first;
    struct loop_timer *timer;
    int64_t timer_at;
    bool stopping;
};

static void waiter_free (struct waiter *w)
{
    free (w->topic);
    free (w);
}

/* Out of the list; returns whether a ring had reached it. */
static bool waiter_end (struct waiter *w)
{
    struct waits *ws = w->waits;

    *(w->prev ? &w->prev->next : &ws->first) = w->next;
    if (w->next)
        w->next->prev = w->prev;
    http_on_gone (w->request, NULL, NULL);
    topic_leave (ws->server->topics, w->bell);
    w->request = NULL;
    return atomic_load (&w->rung);
}

static void timer_set (struct waits *ws)
{
    int64_t soonest = INT64_MAX, now = clock_now ();

    for (struct waiter *w = ws->first; w; w = w->next)
        if (w->until < soonest)
            soonest = w->until;
    if (soonest != INT64_MAX)
        loop_timer_reset (ws->timer, soonest > now ? soonest - now : 0);
    ws->timer_at = soonest;
}

void wait_pass_on (struct server *s, const char *topics)
{
    char one[256];

    while (*topics) {
        size_t n = strcspn (topics, "\n");

        if (n < sizeof (one)) {
            memcpy (one, topics, n);
            one[n] = 0;
            topic_ring (s->topics, one, 1);
        }
        topics += n + (topics[n] == '\n');
    }
}

static void waiter_finish (struct waiter *w, bool last, bool gone)
{
    void (*resume) (void *, bool, bool) = w->resume;
    void *arg = w->arg;
    bool rung = waiter_end (w);

    if (rung && gone)
        wait_pass_on (w->waits->server, w->topic);
    if (!rung)
        waiter_free (w); /* else its post does */
    resume (arg, last, gone);
}

static void on_rung_here (void *arg)
{
    struct waiter *w = arg;
    void (*resume) (void *, bool, bool) = w->resume;
    void *owner = w->arg;
    bool alive = w->request != NULL;

    if (alive)
        waiter_end (w);
    waiter_free (w);
    if (alive)
        resume (owner, false, false);
}

static void on_rung (void *arg)
{
    struct waiter *w = arg;

    atomic_store (&w->rung, true);
    loop_post (w->waits->server->loop, on_rung_here, w);
}

static void on_gone (struct http_request *r, void *arg)
{
    (void)r;
    waiter_finish (arg, true, true);
}

static void on_timer (void *arg)
{
    struct waits *ws = arg;
    int64_t now = clock_now ();

    for (struct waiter *w = ws->first, *next; w; w = next) {
        next = w->next;
        if (w->until <= now)
            waiter_finish (w, true, false);
    }
    timer_set (ws);
}

static void park_here (void *arg)
{
    struct waiter *w = arg;
    struct waits *ws = w->waits;

    if ((w->next = ws->first))
        w->next->prev = w;
    ws->first = w;
    http_on_gone (w->request, on_gone, w);
    w->bell = topic_wait_since (ws->server->topics, w->topic, w->seq, on_rung, w);
    if (http_is_gone (w->request)) {
        waiter_finish (w, true, true);
    } else if (ws->stopping || w->until <= clock_now ()) {
        waiter_finish (w, true, false);
    } else if (w->until < ws->timer_at) {
        ws->timer_at = w->until;
        loop_timer_reset (ws->timer, w->until - clock_now ());
    }
}

void wait_park (struct waits *ws, struct http_request *r, const char *topic, uint64_t seq, int64_t until,
                void (*resume) (void *arg, bool last, bool gone), void *arg)
{
    struct waiter *w = calloc (1, sizeof (*w));

    if (!w || !(w->topic = strdup (topic)))
        abort ();
    w->waits = ws;
    w->request = r;
    w->seq = seq;
    w->until = until;
    w->resume = resume;
    w->arg = arg;
    loop_post (ws->server->loop, park_here, w);
}

void waits_end_all (struct waits *ws)
{
    ws->stopping = true;
    while (ws->first)
        waiter_finish (ws->first, true, false);
}

struct waits *waits_create (struct server *s)
{
    struct waits *ws = calloc (1, sizeof (*ws));

    if (!ws)
        abort ();
    ws->server = s;
    ws->timer_at = INT64_MAX;
    ws->timer = loop_timer_add (s->loop, 3600 * 1000, false, on_timer, ws);
    return ws;
}

void waits_destroy (struct waits *ws)
{
    if (!ws)
        return;
    loop_timer_remove (ws->timer);
    free (ws);
}
