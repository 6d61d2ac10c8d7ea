/* clerk.c - see clerk.h. In: entries. Out: lines of the journal. */
#include "run/clerk.h"
#include "base/clock.h"
#include "base/log.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

struct note {
    struct note *next;
    struct arena *arena;
    struct journal_entry e;
};

struct clerk {
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    struct note *first, **last;
    char *journal;
    bool stopping, writing;
};

static void write_note (struct clerk *c, struct note *n)
{
    struct error err;
    if (journal_append (c->journal, &n->e, &err) < 0)
        log_error ("run", "journal: %s", err.text);
    arena_destroy (n->arena);
}

static void *clerk_main (void *arg)
{
    struct clerk *c = arg;
    pthread_mutex_lock (&c->lock);
    while (!c->stopping || c->first) {
        struct note *n = c->first;
        if (!n) {
            pthread_cond_wait (&c->changed, &c->lock);
            continue;
        }
        c->first = n->next;
        if (!c->first)
            c->last = &c->first;
        c->writing = true;
        pthread_mutex_unlock (&c->lock);
        write_note (c, n);
        pthread_mutex_lock (&c->lock);
        c->writing = false;
        pthread_cond_broadcast (&c->changed);
    }
    pthread_mutex_unlock (&c->lock);
    return NULL;
}

int clerk_start (const char *journal, struct clerk **ret, struct error *err)
{
    struct clerk *c = calloc (1, sizeof *c);
    c->journal = strdup (journal);
    c->last = &c->first;
    pthread_mutex_init (&c->lock, NULL);
    pthread_cond_init (&c->changed, NULL);
    int r = pthread_create (&c->thread, NULL, clerk_main, c);
    if (r)
        return error_set (err, r, "thread: %s", strerror (r));
    *ret = c;
    return 0;
}

void clerk_note (struct clerk *c, const struct journal_entry *e)
{
    struct arena *a = arena_create ();
    struct note *n = arena_new (a, struct note);
    n->arena = a;
    n->e = *e;
    n->e.t = e->t ? e->t : clock_now ();
    const char **texts[] = { &n->e.stage, &n->e.task,  &n->e.run,  &n->e.server,   &n->e.worker,
                             &n->e.queue, &n->e.token, &n->e.gpus, &n->e.reported, &n->e.message };
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        *texts[i] = arena_strdup (a, *texts[i]);
    pthread_mutex_lock (&c->lock);
    *c->last = n;
    c->last = &n->next;
    pthread_cond_broadcast (&c->changed);
    pthread_mutex_unlock (&c->lock);
}

void clerk_flush (struct clerk *c)
{
    pthread_mutex_lock (&c->lock);
    while (c->first || c->writing)
        pthread_cond_wait (&c->changed, &c->lock);
    pthread_mutex_unlock (&c->lock);
}

void clerk_stop (struct clerk *c)
{
    if (!c)
        return;
    pthread_mutex_lock (&c->lock);
    c->stopping = true;
    pthread_cond_broadcast (&c->changed);
    pthread_mutex_unlock (&c->lock);
    pthread_join (c->thread, NULL);
    pthread_cond_destroy (&c->changed);
    pthread_mutex_destroy (&c->lock);
    free (c->journal);
    free (c);
}
