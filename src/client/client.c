/* client.c - see client.h; room.h says what stands where. */
#include "client/client.h"
#include "client/room.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

enum { PAUSE_MAX_MS = 5000 };

/* -- making ----------------------------------------------------------------------------------------------------- */

static int check_server (const struct conf *conf, struct error *err)
{
    const char *server = conf->api.api_server;

    if (!server || !*server)
        return client_no_server (conf, err);
    if (strncmp (server, "http://", 7) && strncmp (server, "https://", 8))
        return error_set (err, EINVAL, "api.api_server = '%s': it must begin with http:// or https://",
                          server);
    return 0;
}

static struct http_client *http_of (struct client *c)
{
    c->http_options.ca = c->ca;
    c->http_options.user_agent = "stoker";
    return http_client_create (&c->http_options);
}

int client_create (const struct conf *conf, struct client **ret, struct error *err)
{
    const char *verify = conf->api.verify_certificate;
    struct client *c;
    char host[256] = "";

    if (check_server (conf, err) < 0)
        return -1;
    if (!(conf->api.access_key && conf->api.secret_key) && !conf->api.token)
        return client_no_key (conf, err);
    c = calloc (1, sizeof (*c));
    if (!c)
        abort ();
    gethostname (host, sizeof (host) - 1);
    c->s = session_create (conf);
    c->worker = copy_text (host);
    c->retries = conf->api.retries;
    c->pause_max_ms = (int64_t)(conf->api.backoff_max * 1000);
    if (c->pause_max_ms > PAUSE_MAX_MS || c->pause_max_ms <= 0)
        c->pause_max_ms = PAUSE_MAX_MS;
    c->wait_on_maintenance = conf->api.wait_on_maintenance;
    if (!strcasecmp (verify, "false") || !strcmp (verify, "0"))
        c->http_options.no_verify = true;
    else if (strcasecmp (verify, "true") && strcmp (verify, "1"))
        c->ca = copy_text (verify);
    c->http = http_of (c);
    *ret = c;
    return 0;
}

struct client *client_share (const struct client *from)
{
    struct client *c = calloc (1, sizeof (*c));

    if (!c)
        abort ();
    *c = *from;
    session_hold (c->s);
    c->worker = copy_text (from->worker);
    c->ca = from->ca ? copy_text (from->ca) : NULL;
    c->http = http_of (c);
    return c;
}

void client_destroy (struct client *c)
{
    if (!c)
        return;
    http_client_destroy (c->http);
    session_release (c->s);
    free (c->worker);
    free (c->ca);
    free (c);
}

void client_set_patience (struct client *c, enum client_patience p)
{
    c->patience = p;
}

void client_set_worker (struct client *c, const char *worker)
{
    replace_text (&c->worker, copy_text (worker));
}

void client_set_abort (struct client *c, int fd)
{
    c->abort_fd = fd;
}

const char *client_server (const struct client *c)
{
    return c->s->server;
}

/* -- calls ------------------------------------------------------------------------------------------------------ */

int client_send (struct client *c, struct arena *a, const struct client_request *q, struct text *ret,
                 struct error *err)
{
    const char *token = NULL;
    unsigned generation;

    for (int logins = 0;; logins++) {
        if (token_get (c, a, &token, &generation, err) < 0)
            return -1;
        if (!send_patiently (c, a, q, token, ret, err))
            return 0;
        if (!login_may_help (c, logins, err) || token_renew (c, generation, err) < 0)
            return -1;
    }
}

int client_call (struct client *c, struct arena *a, const char *call, int version, struct text body,
                 struct text *ret, struct error *err)
{
    return client_send (c, a, &(struct client_request){ .call = call, .version = version, .body = body }, ret,
                        err);
}

/* Asks server.info and keeps what it says of us. */
static int ask_features (struct client *c, struct error *err)
{
    cleanup_arena struct arena *a = arena_create ();
    struct text data = { 0 }, v;

    if (client_call (c, a, "server.info", 0, TEXT ("{}"), &data, err) < 0) {
        if (client_undecided (err)) /* another time it may say more */
            return -1;
        data = TEXT ("{}");
    }
    v = json_get (data, "x_features");
    pthread_mutex_lock (&c->s->lock);
    replace_text (&c->s->features, copy_text (v.p ? arena_text (a, v) : "{}"));
    pthread_mutex_unlock (&c->s->lock);
    return 0;
}

/* Under the lock: the version in what the server said, 0 = it named no such call, -1 = it was not asked yet. */
static int find_feature (const struct session *s, const char *name)
{
    const char *dot = strrchr (name, '.');
    int found = 0;

    if (!s->features)
        return -1;
    for (struct json_iter it = json_iter (text_of (s->features)); json_next (&it);) {
        char key[128];
        const char *key_dot;

        snprintf (key, sizeof (key), "%.*s", (int)it.key.n, it.key.p);
        key_dot = strrchr (key, '.');
        if (!strcmp (key, name) || (dot && !strcmp (key, dot + 1)) ||
            (key_dot && !strcmp (key_dot + 1, name)))
            found = (int)json_int (it.value, 1);
    }
    return found;
}

int client_feature (struct client *c, const char *name, struct error *err)
{
    int found;

    do {
        pthread_mutex_lock (&c->s->lock);
        found = find_feature (c->s, name);
        pthread_mutex_unlock (&c->s->lock);
        if (found >= 0)
            return found;
    } while (ask_features (c, err) == 0);
    return -1;
}
