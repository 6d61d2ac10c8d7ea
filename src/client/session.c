/* session.c - what all clients of a login have in common: address, key, token and its claims, under a mutex. */
#include "base/clock.h"
#include "client/room.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

char *copy_text (const char *s)
{
    char *p = strdup (s ? s : "");

    if (!p)
        abort ();
    return p;
}

void replace_text (char **at, char *with)
{
    free (*at);
    *at = with;
}

struct session *session_create (const struct conf *conf)
{
    struct session *s = calloc (1, sizeof (*s));
    size_t n = strlen (conf->api.api_server);

    if (!s || pthread_mutex_init (&s->lock, NULL))
        abort ();
    s->users = 1;
    s->server = copy_text (conf->api.api_server);
    while (n && s->server[n - 1] == '/')
        s->server[--n] = 0;
    s->key = copy_text (conf->api.access_key);
    s->secret = copy_text (conf->api.secret_key);
    s->token = conf->api.token ? copy_text (conf->api.token) : NULL;
    s->claims = copy_text ("");
    s->lifetime_s = conf->api.token_expiration_sec;
    s->method = copy_text (strcasecmp (conf->api.default_method, "get")
                               ? strcasecmp (conf->api.default_method, "put") ? "POST" : "PUT"
                               : "GET");
    return s;
}

void session_hold (struct session *s)
{
    pthread_mutex_lock (&s->lock);
    s->users++;
    pthread_mutex_unlock (&s->lock);
}

void session_release (struct session *s)
{
    bool last;

    pthread_mutex_lock (&s->lock);
    last = !--s->users;
    pthread_mutex_unlock (&s->lock);
    if (!last)
        return;
    pthread_mutex_destroy (&s->lock);
    explicit_bzero (s->secret, strlen (s->secret));
    free (s->server);
    free (s->key);
    free (s->secret);
    free (s->method);
    free (s->token);
    free (s->claims);
    free (s->features);
    free (s);
}

/* -- the token -------------------------------------------------------------------------------------------------- */

static int digit64 (char c)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    const char *at = c ? strchr (digits, c) : NULL;

    return at ? (int)(at - digits) : -1;
}

/* The claims of a token: its middle part, decoded; "" when it is no JWT. */
static char *claims_of (const char *token)
{
    const char *p = strchr (token, '.');
    cleanup_str struct str out = { 0 };
    unsigned bits = 0;
    int n = 0;
    struct text checked;
    struct error err;

    for (p = p ? p + 1 : ""; *p && *p != '.'; p++) {
        int d = digit64 (*p);

        if (d < 0)
            return copy_text ("");
        bits = bits << 6 | (unsigned)d;
        n += 6;
        if (n >= 8) {
            n -= 8;
            str_putc (&out, (char)(bits >> n & 0xff));
        }
    }
    if (json_check (str_text (&out), &checked, &err) < 0)
        return copy_text ("");
    return copy_text (out.p);
}

/* Under the lock. What is left of its life is counted from now, whatever our clock and the server's say: they may be hours
 * apart, and ours may be set. */
void session_take (struct session *s, const char *token)
{
    struct text claims;
    int64_t now = clock_now () / 1000, end, begun;

    replace_text (&s->token, copy_text (token));
    replace_text (&s->claims, claims_of (token));
    claims = text_of (s->claims);
    end = json_int (json_get (claims, "exp"), 0);
    begun = json_int (json_get (claims, "iat"), now);
    if (now > begun && now < end) /* one that was given to us may be old */
        begun = now;
    s->renew_at = end ? clock_monotonic () + (end - begun) * 900 : 0;
    s->generation++;
}

char *client_claim (struct client *c, struct arena *a, const char *dotted)
{
    struct text v;
    char *out;

    pthread_mutex_lock (&c->s->lock);
    v = text_of (arena_strdup (a, c->s->claims));
    pthread_mutex_unlock (&c->s->lock);
    for (; v.n; dotted++) {
        size_t n = strcspn (dotted, ".");

        v = json_get (v, arena_strndup (a, dotted, n));
        dotted += n;
        if (!*dotted)
            break;
    }
    if (!v.n)
        return NULL;
    out = json_string (a, v);
    return out || json_kind (v) == JSON_NULL ? out : arena_text (a, v);
}
