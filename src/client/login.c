/* login.c - a token that is good now. It is renewed when less than a tenth of its life is left (a fixed margin would log
 * in at every call on servers whose tokens are short), and by client_send when a call is answered 401. */
#include "base/clock.h"
#include "base/log.h"
#include "client/room.h"

#include <errno.h>
#include <string.h>

/* Get a new token unless another thread has done so since `generation`. */
int token_renew (struct client *c, unsigned generation, struct error *err)
{
    cleanup_arena struct arena *a = arena_create ();
    struct session *s = c->s;
    struct client_request q = { .call = "auth.login", .body = TEXT ("{}") };
    const char *old = NULL, *token;
    struct text data;
    int r;

    pthread_mutex_lock (&s->lock);
    if (s->generation != generation) {
        pthread_mutex_unlock (&s->lock);
        return 0;
    }
    if (!*s->key && s->token)
        old = arena_strdup (a, s->token);
    pthread_mutex_unlock (&s->lock);
    if (s->lifetime_s)
        q.body = text_of (arena_printf (a, "{\"expiration_sec\":%lld}", (long long)s->lifetime_s));
    r = send_patiently (c, a, &q, old, &data, err);
    if (r < 0 && client_refused (err, 401))
        return error_set (err, err->code, "%s refuses the credentials: %s", s->server, err->text);
    if (r < 0 && (err->code == ECONNREFUSED || err->code == ETIMEDOUT))
        return error_wrap (err, "%s does not answer", s->server);
    if (r < 0)
        return error_wrap (err, "log in to %s", s->server);
    token = json_string (a, json_get (data, "token"));
    if (!token)
        return error_set (err, EPROTO, "log in: %s answered without a token", s->server);
    pthread_mutex_lock (&s->lock);
    if (s->generation == generation)
        session_take (s, token);
    pthread_mutex_unlock (&s->lock);
    return 0;
}

/* A copy of a token that is good now. */
int token_get (struct client *c, struct arena *a, const char **ret, unsigned *ret_generation,
               struct error *err)
{
    struct session *s = c->s;

    for (int tries = 0;; tries++) {
        bool stale;

        pthread_mutex_lock (&s->lock);
        if (s->token && !*s->claims && !s->generation)
            session_take (s, arena_strdup (a, s->token)); /* one that was given to us */
        *ret_generation = s->generation;
        stale = !s->token || (s->renew_at && clock_monotonic () >= s->renew_at);
        if (!stale || (tries && s->token))
            *ret = arena_strdup (a, s->token);
        pthread_mutex_unlock (&s->lock);
        if (!stale || (tries && *ret))
            return 0;
        if (token_renew (c, *ret_generation, err) < 0)
            return -1;
    }
}

int client_login (struct client *c, struct error *err)
{
    cleanup_arena struct arena *a = arena_create ();
    const char *token = NULL;
    unsigned generation;

    return token_get (c, a, &token, &generation, err);
}

void client_logout (struct client *c)
{
    cleanup_arena struct arena *a = arena_create ();
    struct client_request q = { .call = "auth.logout", .body = TEXT ("{}") };
    struct session *s = c->s;
    struct text data;
    struct error err;
    const char *token = NULL;
    int64_t after;

    pthread_mutex_lock (&s->lock);
    if (*s->key && s->token) { /* a token that was given to us belongs to whoever gave it */
        token = arena_strdup (a, s->token);
        replace_text (&s->token, NULL);
        s->generation++;
    }
    pthread_mutex_unlock (&s->lock);
    if (token && send_once (c, a, &q, token, &after, &data, &err) < 0)
        log_debug ("client", "log out: %s", err.text);
}
