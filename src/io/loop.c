/* loop.c - see loop.h. libuv lives in this file only. Every handle is its own allocation, freed by libuv's close
 * callback, so that removing one inside its own callback is safe. Posts go through one locked list and one async
 * handle: a burst of posts costs one wake-up. */
#include "io/loop.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <uv.h>

struct post {
    struct post *next;
    void (*fn) (void *arg);
    void *arg;
};

struct loop {
    uv_loop_t uv;
    uv_async_t bell;
    pthread_mutex_t lock;
    struct post *first, **last; /* under lock */
    atomic_bool stopping;
};
struct loop_timer {
    uv_timer_t uv;
    bool repeat;
    void (*fn) (void *arg);
    void *arg;
};
struct loop_watch {
    uv_poll_t uv;
    int fd, events;
    void (*fn) (int fd, int events, void *arg);
    void *arg;
};
struct loop_signal {
    uv_signal_t uv;
    void (*fn) (int signum, void *arg);
    void *arg;
};

static void *new_handle (size_t size)
{
    void *p = calloc (1, size);

    if (!p)
        abort ();
    return p;
}

static void on_closed (uv_handle_t *h)
{
    free (h);
}

/* -- posts */
static struct post *posts_take (struct loop *l)
{
    struct post *list;

    pthread_mutex_lock (&l->lock);
    list = l->first;
    l->first = NULL;
    l->last = &l->first;
    pthread_mutex_unlock (&l->lock);
    return list;
}

static void on_bell (uv_async_t *h)
{
    struct loop *l = h->data;
    struct post *next;

    for (struct post *p = posts_take (l); p; p = next) {
        next = p->next;
        p->fn (p->arg);
        free (p);
    }
    if (atomic_load (&l->stopping))
        uv_stop (&l->uv);
}

void loop_post (struct loop *l, void (*fn) (void *arg), void *arg)
{
    struct post *p = new_handle (sizeof (*p));
    bool was_empty;

    *p = (struct post){ .fn = fn, .arg = arg };
    pthread_mutex_lock (&l->lock);
    was_empty = !l->first;
    *l->last = p;
    l->last = &p->next;
    if (was_empty)
        uv_async_send (&l->bell);
    pthread_mutex_unlock (&l->lock);
}

/* -- the loop */
int loop_create (struct loop **ret, struct error *err)
{
    struct loop *l = new_handle (sizeof (*l));
    int rc = uv_loop_init (&l->uv);

    if (rc < 0) {
        free (l);
        return error_set (err, -rc, "event loop: %s", uv_strerror (rc));
    }
    if ((rc = uv_async_init (&l->uv, &l->bell, on_bell)) < 0) {
        uv_loop_close (&l->uv);
        free (l);
        return error_set (err, -rc, "event loop: %s", uv_strerror (rc));
    }
    l->bell.data = l;
    pthread_mutex_init (&l->lock, NULL);
    l->last = &l->first;
    *ret = l;
    return 0;
}

static void close_left_over (uv_handle_t *h, void *arg)
{
    struct loop *l = arg;

    if (!uv_is_closing (h))
        uv_close (h, h == (uv_handle_t *)&l->bell ? NULL : on_closed);
}

void loop_destroy (struct loop *l)
{
    struct post *next;

    if (!l)
        return;
    uv_walk (&l->uv, close_left_over, l);
    while (uv_run (&l->uv, UV_RUN_DEFAULT))
        ;
    uv_loop_close (&l->uv);
    for (struct post *p = posts_take (l); p; p = next) {
        next = p->next;
        free (p);
    }
    pthread_mutex_destroy (&l->lock);
    free (l);
}

int loop_run (struct loop *l, struct error *err)
{
    if (!atomic_load (&l->stopping))
        uv_run (&l->uv, UV_RUN_DEFAULT);
    if (!atomic_exchange (&l->stopping, false))
        return error_set (err, 0, "event loop: ended without being stopped");
    return 0;
}

void loop_stop (struct loop *l)
{
    atomic_store (&l->stopping, true);
    uv_async_send (&l->bell);
}

/* -- timers */
static void on_timer (uv_timer_t *h)
{
    struct loop_timer *t = (struct loop_timer *)h;

    t->fn (t->arg);
}

void loop_timer_reset (struct loop_timer *t, int64_t ms)
{
    uint64_t after = ms > 0 ? (uint64_t)ms : 0;

    uv_update_time (t->uv.loop);
    uv_timer_start (&t->uv, on_timer, after, t->repeat ? (after ? after : 1) : 0);
}

struct loop_timer *loop_timer_add (struct loop *l, int64_t ms, bool repeat, void (*fn) (void *arg), void *arg)
{
    struct loop_timer *t = new_handle (sizeof (*t));

    t->repeat = repeat;
    t->fn = fn;
    t->arg = arg;
    uv_timer_init (&l->uv, &t->uv);
    loop_timer_reset (t, ms);
    return t;
}

void loop_timer_remove (struct loop_timer *t)
{
    if (t)
        uv_close ((uv_handle_t *)&t->uv, on_closed);
}

/* -- descriptors */
static void on_poll (uv_poll_t *h, int status, int events)
{
    struct loop_watch *w = (struct loop_watch *)h;
    int what = 0;

    if (events & UV_READABLE)
        what |= LOOP_READ;
    if (events & UV_WRITABLE)
        what |= LOOP_WRITE;
    if (status < 0) /* an error of the descriptor: its owner learns it by using it */
        what |= w->events;
    w->fn (w->fd, what, w->arg);
}

void loop_watch_set (struct loop_watch *w, int events)
{
    int mask = 0;

    if (events & LOOP_READ)
        mask |= UV_READABLE;
    if (events & LOOP_WRITE)
        mask |= UV_WRITABLE;
    w->events = events;
    if (mask)
        uv_poll_start (&w->uv, mask, on_poll);
    else
        uv_poll_stop (&w->uv);
}

struct loop_watch *loop_watch_add (struct loop *l, int fd, int events,
                                   void (*fn) (int fd, int events, void *arg), void *arg)
{
    struct loop_watch *w = new_handle (sizeof (*w));
    int rc = uv_poll_init (&l->uv, &w->uv, fd);

    if (rc < 0) {
        free (w);
        errno = -rc;
        return NULL;
    }
    w->fd = fd;
    w->fn = fn;
    w->arg = arg;
    loop_watch_set (w, events);
    return w;
}

void loop_watch_remove (struct loop_watch *w)
{
    if (!w)
        return;
    uv_poll_stop (&w->uv);
    uv_close ((uv_handle_t *)&w->uv, on_closed);
}

/* -- signals */
static void on_signal (uv_signal_t *h, int signum)
{
    struct loop_signal *s = (struct loop_signal *)h;

    s->fn (signum, s->arg);
}

struct loop_signal *loop_signal_add (struct loop *l, int signum, void (*fn) (int signum, void *arg),
                                     void *arg)
{
    struct loop_signal *s = new_handle (sizeof (*s));
    int rc;

    s->fn = fn;
    s->arg = arg;
    uv_signal_init (&l->uv, &s->uv);
    if ((rc = uv_signal_start (&s->uv, on_signal, signum)) < 0) {
        loop_signal_remove (s);
        errno = -rc;
        return NULL;
    }
    return s;
}

void loop_signal_remove (struct loop_signal *s)
{
    if (s)
        uv_close ((uv_handle_t *)&s->uv, on_closed);
}
