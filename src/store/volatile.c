/* volatile.c - see volatile.h. A hash table under one lock; entries past their time are invisible at once and freed by
 * a look at a few buckets with each put. Listing collects, then sorts: lists are rare and short. */
#include "store/volatile.h"

#include "base/clock.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

struct entry {
    struct entry *next;
    int64_t until; /* clock_monotonic ms */
    unsigned hash;
    size_t key_n, value_n;
    char mem[]; /* key NUL value NUL */
};
struct volatile_store {
    pthread_mutex_t lock;
    struct entry **buckets;
    size_t buckets_n, entries_n, sweep_at;
};

static unsigned hash_of (const char *s)
{
    unsigned h = 2166136261u;

    for (; *s; s++)
        h = (h ^ (unsigned char)*s) * 16777619u;
    return h ^ h >> 15;
}

struct volatile_store *volatile_create (void)
{
    struct volatile_store *v = calloc (1, sizeof (*v));

    if (!v || !(v->buckets = calloc (v->buckets_n = 256, sizeof (*v->buckets))))
        abort ();
    pthread_mutex_init (&v->lock, NULL);
    return v;
}

void volatile_destroy (struct volatile_store *v)
{
    if (!v)
        return;
    for (size_t i = 0; i < v->buckets_n; i++)
        for (struct entry *e = v->buckets[i], *next; e; e = next) {
            next = e->next;
            free (e);
        }
    free (v->buckets);
    pthread_mutex_destroy (&v->lock);
    free (v);
}

/* The link that points to the entry, live or not; NULL when there is none. */
static struct entry **find (struct volatile_store *v, const char *key, unsigned hash)
{
    for (struct entry **at = &v->buckets[hash % v->buckets_n]; *at; at = &(*at)->next)
        if ((*at)->hash == hash && !strcmp ((*at)->mem, key))
            return at;
    return NULL;
}

static void drop_at (struct volatile_store *v, struct entry **at)
{
    struct entry *e = *at;

    *at = e->next;
    v->entries_n--;
    free (e);
}

static void drop_old (struct volatile_store *v, int64_t now)
{
    for (int i = 0; i < 8; i++, v->sweep_at++)
        for (struct entry **at = &v->buckets[v->sweep_at % v->buckets_n]; *at;) {
            if ((*at)->until <= now)
                drop_at (v, at);
            else
                at = &(*at)->next;
        }
}

static void grow (struct volatile_store *v)
{
    size_t n = v->buckets_n * 4;
    struct entry **buckets = calloc (n, sizeof (*buckets));

    if (!buckets)
        return;
    for (size_t i = 0; i < v->buckets_n; i++)
        for (struct entry *e = v->buckets[i], *next; e; e = next) {
            next = e->next;
            e->next = buckets[e->hash % n];
            buckets[e->hash % n] = e;
        }
    free (v->buckets);
    v->buckets = buckets;
    v->buckets_n = n;
}

void volatile_put (struct volatile_store *v, const char *key, struct text value, int64_t ttl_ms)
{
    size_t key_n = strlen (key);
    struct entry *e = malloc (sizeof (*e) + key_n + value.n + 2), **old;
    int64_t now = clock_monotonic ();

    if (!e)
        abort ();
    *e = (struct entry){ .until = now + ttl_ms, .hash = hash_of (key), .key_n = key_n, .value_n = value.n };
    memcpy (e->mem, key, key_n + 1);
    if (value.n)
        memcpy (e->mem + key_n + 1, value.p, value.n);
    e->mem[key_n + 1 + value.n] = '\0';
    pthread_mutex_lock (&v->lock);
    if ((old = find (v, key, e->hash)))
        drop_at (v, old);
    drop_old (v, now);
    if (v->entries_n > v->buckets_n * 2)
        grow (v);
    e->next = v->buckets[e->hash % v->buckets_n];
    v->buckets[e->hash % v->buckets_n] = e;
    v->entries_n++;
    pthread_mutex_unlock (&v->lock);
}

static struct entry *find_live (struct volatile_store *v, const char *key)
{
    struct entry **at = find (v, key, hash_of (key));

    return at && (*at)->until > clock_monotonic () ? *at : NULL;
}

bool volatile_get (struct volatile_store *v, struct arena *a, const char *key, struct text *ret)
{
    struct entry *e;

    pthread_mutex_lock (&v->lock);
    if ((e = find_live (v, key)))
        *ret = (struct text){ arena_strndup (a, e->mem + e->key_n + 1, e->value_n), e->value_n };
    pthread_mutex_unlock (&v->lock);
    return e != NULL;
}

bool volatile_touch (struct volatile_store *v, const char *key, int64_t ttl_ms)
{
    struct entry *e;

    pthread_mutex_lock (&v->lock);
    if ((e = find_live (v, key)))
        e->until = clock_monotonic () + ttl_ms;
    pthread_mutex_unlock (&v->lock);
    return e != NULL;
}

bool volatile_drop (struct volatile_store *v, const char *key)
{
    struct entry **at;
    bool live = false;

    pthread_mutex_lock (&v->lock);
    if ((at = find (v, key, hash_of (key)))) {
        live = (*at)->until > clock_monotonic ();
        drop_at (v, at);
    }
    pthread_mutex_unlock (&v->lock);
    return live;
}

static int by_key (const void *a, const void *b)
{
    return strcmp ((*(struct entry *const *)a)->mem, (*(struct entry *const *)b)->mem);
}

void volatile_each (struct volatile_store *v, const char *prefix,
                    bool (*fn) (const char *key, struct text value, void *arg), void *arg)
{
    int64_t now = clock_monotonic ();
    size_t prefix_n = strlen (prefix), n = 0;
    struct entry **list;

    pthread_mutex_lock (&v->lock);
    if (!(list = calloc (v->entries_n + 1, sizeof (*list))))
        abort ();
    for (size_t i = 0; i < v->buckets_n; i++)
        for (struct entry *e = v->buckets[i]; e; e = e->next)
            if (e->until > now && !strncmp (e->mem, prefix, prefix_n))
                list[n++] = e;
    qsort (list, n, sizeof (*list), by_key);
    for (size_t i = 0; i < n; i++)
        if (!fn (list[i]->mem, (struct text){ list[i]->mem + list[i]->key_n + 1, list[i]->value_n }, arg))
            break;
    pthread_mutex_unlock (&v->lock);
    free (list);
}
