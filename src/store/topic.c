/* topic.c - see topic.h. Topics exist only while somebody waits on them. The number of the last ring of a topic lives in
 * a fixed table by hash, so that a million tasks that rang once cost nothing; two topics that share a slot only wake a
 * waiter once too often: it looks again and finds nothing. */
#include "store/topic.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { SEQS = 4096, BUCKETS = 1024 };

struct link { /* a waiter's place in the list of one topic */
    struct link *next, *prev;
    struct topic_wait *wait;
    const char *topic;
    unsigned hash;
};
struct topic_wait {
    bool waiting;
    void (*wake) (void *arg);
    void *arg;
    size_t links_n;
    char *names;
    struct link links[];
};
struct bucket { /* oldest first */
    struct link *first, *last;
};
struct topics {
    pthread_mutex_t lock;
    uint64_t seq, last[SEQS];
    struct bucket buckets[BUCKETS];
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

/* Out of all its lists. */
static void forget (struct topics *t, struct topic_wait *w)
{
    for (size_t i = 0; i < w->links_n; i++) {
        struct link *l = &w->links[i];
        struct bucket *b = &t->buckets[l->hash % BUCKETS];

        *(l->prev ? &l->prev->next : &b->first) = l->next;
        *(l->next ? &l->next->prev : &b->last) = l->prev;
    }
    w->waiting = false;
}

static void remember (struct topics *t, struct topic_wait *w)
{
    for (size_t i = 0; i < w->links_n; i++) {
        struct link *l = &w->links[i];
        struct bucket *b = &t->buckets[l->hash % BUCKETS];

        l->prev = b->last;
        *(b->last ? &b->last->next : &b->first) = l;
        b->last = l;
    }
    w->waiting = true;
}

/* "a\nb" -> a waiter with two links */
static struct topic_wait *make (const char *topic)
{
    size_t n = 1, i = 0;
    struct topic_wait *w;

    for (const char *p = topic; *p; p++)
        n += *p == '\n';
    w = calloc (1, sizeof (*w) + n * sizeof (*w->links));
    if (!w || !(w->names = strdup (topic)))
        abort ();
    w->links_n = n;
    for (char *p = w->names, *end; i < n; p = end + 1, i++) {
        end = p + strcspn (p, "\n");
        *end = '\0';
        w->links[i] = (struct link){ .wait = w, .topic = p, .hash = hash_of (p) };
    }
    return w;
}

static struct topic_wait *wait_add (struct topics *t, const char *topic, uint64_t since,
                                    void (*wake) (void *arg), void *arg)
{
    struct topic_wait *w = make (topic);
    bool rang = false;

    w->wake = wake;
    w->arg = arg;
    pthread_mutex_lock (&t->lock);
    for (size_t i = 0; i < w->links_n; i++)
        rang |= t->last[w->links[i].hash % SEQS] > since;
    if (rang)
        wake (arg);
    else
        remember (t, w);
    pthread_mutex_unlock (&t->lock);
    return w;
}

struct topic_wait *topic_wait (struct topics *t, const char *topic, void (*wake) (void *arg), void *arg)
{
    return wait_add (t, topic, UINT64_MAX, wake, arg);
}

struct topic_wait *topic_wait_since (struct topics *t, const char *topic, uint64_t seq,
                                     void (*wake) (void *arg), void *arg)
{
    return wait_add (t, topic, seq, wake, arg);
}

void topic_leave (struct topics *t, struct topic_wait *w)
{
    if (!w)
        return;
    pthread_mutex_lock (&t->lock);
    if (w->waiting)
        forget (t, w);
    pthread_mutex_unlock (&t->lock);
    free (w->names);
    free (w);
}

int topic_ring (struct topics *t, const char *topic, int64_t n)
{
    unsigned hash = hash_of (topic);
    struct bucket *b = &t->buckets[hash % BUCKETS];
    int woken = 0;

    pthread_mutex_lock (&t->lock);
    t->last[hash % SEQS] = ++t->seq;
    for (struct link *l = b->first; l && (n < 0 || woken < n);) {
        struct topic_wait *w = l->wait;

        if (l->hash != hash || strcmp (l->topic, topic) != 0) {
            l = l->next;
            continue;
        }
        forget (t, w); /* may take neighbours of l out too: begin again */
        w->wake (w->arg);
        woken++;
        l = b->first;
    }
    pthread_mutex_unlock (&t->lock);
    return woken;
}

uint64_t topic_seq (struct topics *t)
{
    uint64_t seq;

    pthread_mutex_lock (&t->lock);
    seq = t->seq;
    pthread_mutex_unlock (&t->lock);
    return seq;
}
