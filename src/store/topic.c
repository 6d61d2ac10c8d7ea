/* topic.c - see topic.h. Topics exist only while somebody waits on them; the sequence numbers live in a fixed table by
 * hash, so that a million tasks that rang once cost nothing. Two topics that share a number only wake a waiter once too
 * often: it looks again and finds nothing. */
#include "store/topic.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { SEQS = 4096, BUCKETS = 1024 };

struct topic_wait {
    struct topic_wait *next, *prev; /* in its bucket, oldest first */
    bool waiting;
    void (*wake) (void *arg);
    void *arg;
    unsigned hash;
    char topic[];
};
struct topics {
    pthread_mutex_t lock;
    uint64_t seqs[SEQS];
    struct {
        struct topic_wait *first, *last;
    } buckets[BUCKETS];
};

static unsigned hash_of (const char *s)
{
    unsigned h = 2166136261u;

    for (; *s; s++)
        h = (h ^ (unsigned char)*s) * 16777619u;
    return h ^ h >> 15;
}

struct topics *topics_create (void)
{
    struct topics *t = calloc (1, sizeof (*t));

    if (!t)
        abort ();
    pthread_mutex_init (&t->lock, NULL);
    return t;
}

void topics_destroy (struct topics *t)
{
    if (!t)
        return;
    pthread_mutex_destroy (&t->lock);
    free (t);
}

static void unlink_wait (struct topics *t, struct topic_wait *w)
{
    __typeof__ (t->buckets[0]) *b = &t->buckets[w->hash % BUCKETS];

    *(w->prev ? &w->prev->next : &b->first) = w->next;
    *(w->next ? &w->next->prev : &b->last) = w->prev;
    w->waiting = false;
}

static void link_wait (struct topics *t, struct topic_wait *w)
{
    __typeof__ (t->buckets[0]) *b = &t->buckets[w->hash % BUCKETS];

    w->prev = b->last;
    *(b->last ? &b->last->next : &b->first) = w;
    b->last = w;
    w->waiting = true;
}

static struct topic_wait *wait_add (struct topics *t, const char *topic, const uint64_t *since,
                                    void (*wake) (void *arg), void *arg)
{
    size_t n = strlen (topic) + 1;
    struct topic_wait *w = calloc (1, sizeof (*w) + n);

    if (!w)
        abort ();
    w->wake = wake;
    w->arg = arg;
    w->hash = hash_of (topic);
    memcpy (w->topic, topic, n);
    pthread_mutex_lock (&t->lock);
    if (since && *since != t->seqs[w->hash % SEQS])
        wake (arg);
    else
        link_wait (t, w);
    pthread_mutex_unlock (&t->lock);
    return w;
}

struct topic_wait *topic_wait (struct topics *t, const char *topic, void (*wake) (void *arg), void *arg)
{
    return wait_add (t, topic, NULL, wake, arg);
}

struct topic_wait *topic_wait_since (struct topics *t, const char *topic, uint64_t seq,
                                     void (*wake) (void *arg), void *arg)
{
    return wait_add (t, topic, &seq, wake, arg);
}

void topic_leave (struct topics *t, struct topic_wait *w)
{
    if (!w)
        return;
    pthread_mutex_lock (&t->lock);
    if (w->waiting)
        unlink_wait (t, w);
    pthread_mutex_unlock (&t->lock);
    free (w);
}

int topic_ring (struct topics *t, const char *topic, int64_t n)
{
    unsigned hash = hash_of (topic);
    int woken = 0;

    pthread_mutex_lock (&t->lock);
    t->seqs[hash % SEQS]++;
    for (struct topic_wait *w = t->buckets[hash % BUCKETS].first, *next; w && (n < 0 || woken < n);
         w = next) {
        next = w->next;
        if (w->hash == hash && !strcmp (w->topic, topic)) {
            unlink_wait (t, w);
            w->wake (w->arg);
            woken++;
        }
    }
    pthread_mutex_unlock (&t->lock);
    return woken;
}

uint64_t topic_seq (struct topics *t, const char *topic)
{
    uint64_t seq;

    pthread_mutex_lock (&t->lock);
    seq = t->seqs[hash_of (topic) % SEQS];
    pthread_mutex_unlock (&t->lock);
    return seq;
}
