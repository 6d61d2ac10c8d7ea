/* known.c - see known.h. A table with one place for each hash: the newer token takes it. */
#include "services/auth/known.h"

#include "base/digest.h"

#include <pthread.h>
#include <stdlib.h>

enum { PLACES = 256 };

struct entry {
    struct arena *arena; /* of the entry and its texts */
    struct text token;
    struct identity who;
};
struct known {
    pthread_rwlock_t lock;
    struct entry *places[PLACES];
};

struct known *known_create (void)
{
    struct known *k = calloc (1, sizeof (*k));

    if (!k)
        abort ();
    pthread_rwlock_init (&k->lock, NULL);
    return k;
}

void known_destroy (struct known *k)
{
    if (!k)
        return;
    for (size_t i = 0; i < PLACES; i++)
        if (k->places[i])
            arena_destroy (k->places[i]->arena);
    pthread_rwlock_destroy (&k->lock);
    free (k);
}

/* By the end of the token: the signature, in which any two differ. */
static struct entry **place (struct known *k, struct text token)
{
    uint32_t h = 2166136261u;

    for (size_t i = token.n > 8 ? token.n - 8 : 0; i < token.n; i++)
        h = (h ^ (unsigned char)token.p[i]) * 16777619u;
    return &k->places[h % PLACES];
}

static const char *copy (struct arena *a, const char *s)
{
    return s ? arena_strdup (a, s) : NULL;
}

static struct identity identity_copy (struct arena *a, const struct identity *who)
{
    return (struct identity){
        .company = copy (a, who->company),
        .company_name = copy (a, who->company_name),
        .user = copy (a, who->user),
        .user_name = copy (a, who->user_name),
        .role = copy (a, who->role),
        .key = copy (a, who->key),
        .session = copy (a, who->session),
        .expires = who->expires,
        .page = who->page,
    };
}

bool known_find (struct known *k, struct arena *a, struct text token, struct identity *ret)
{
    const struct entry *e;
    bool found;

    pthread_rwlock_rdlock (&k->lock);
    e = *place (k, token);
    found = e && e->token.n == token.n && digest_equal (e->token.p, token.p, token.n);
    if (found)
        *ret = identity_copy (a, &e->who);
    pthread_rwlock_unlock (&k->lock);
    return found;
}

void known_add (struct known *k, struct text token, const struct identity *who)
{
    struct arena *a = arena_create ();
    struct entry *e = arena_new (a, struct entry), **at = place (k, token), *old;

    *e = (struct entry){ a, { arena_strndup (a, token.p, token.n), token.n }, identity_copy (a, who) };
    pthread_rwlock_wrlock (&k->lock);
    old = *at;
    *at = e;
    pthread_rwlock_unlock (&k->lock);
    if (old)
        arena_destroy (old->arena);
}
