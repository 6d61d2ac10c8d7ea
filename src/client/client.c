/* client.c - see client.h. One `session` (address, key, token) is common to all clients of a login and guarded by a
 * mutex; each client has its own connection.
 *
 * The token is renewed when less than a tenth of its life is left (a fixed margin would log in at every call on
 * servers whose tokens are short), and when a call is answered 401. */
#include "client/client.h"
#include "base/clock.h"
#include "base/log.h"
#include "io/http_client.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/random.h>
#include <unistd.h>

enum {
    TIMEOUT_MS = 30000,      /* of an answer */
    TIMEOUT_BIG_MS = 120000, /* when the body is long */
    BIG = 15000,
    PAUSE_FIRST_MS = 100,
    PAUSE_MAX_MS = 5000,
    BRIEF_TRIES = 5,
    LOGIN_TRIES = 8, /* of the patient: a server that starts anew, one of several, may say 401 for a moment */
    WARN_FROM = 3    /* failed tries before a word is said */
};

struct session {
    pthread_mutex_t lock;
    int users;
    char *server, *key, *secret, *method;
    int64_t lifetime_s; /* to ask for, 0 = the server's choice */
    /* under the lock: */
    char *token;
    char *claims;        /* JSON text of the token's middle, "" before the first login */
    int64_t renew_at;    /* of the monotonic clock, ms; 0 = never */
    unsigned generation; /* counts logins */
    char *features;      /* JSON text of x_features, NULL = not asked yet */
};

struct client {
    struct session *s;
    struct http_client *http;
    struct http_client_options http_options;
    char *ca, *worker;
    enum client_patience patience;
    int64_t retries;
    int64_t pause_max_ms;
    bool wait_on_maintenance;
    int abort_fd;
};

static char *copy (const char *s)
{
    char *p = strdup (s ? s : "");

    if (!p)
        abort ();
    return p;
}

static void replace (char **at, char *with)
{
    free (*at);
    *at = with;
}

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

static struct session *session_create (const struct conf *conf)
{
    struct session *s = calloc (1, sizeof (*s));
    size_t n = strlen (conf->api.api_server);

    if (!s || pthread_mutex_init (&s->lock, NULL))
        abort ();
    s->users = 1;
    s->server = copy (conf->api.api_server);
    while (n && s->server[n - 1] == '/')
        s->server[--n] = 0;
    s->key = copy (conf->api.access_key);
    s->secret = copy (conf->api.secret_key);
    s->token = conf->api.token ? copy (conf->api.token) : NULL;
    s->claims = copy ("");
    s->lifetime_s = conf->api.token_expiration_sec;
    s->method = copy (strcasecmp (conf->api.default_method, "get")
                          ? strcasecmp (conf->api.default_method, "put") ? "POST" : "PUT"
                          : "GET");
    return s;
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
    c->worker = copy (host);
    c->retries = conf->api.retries;
    c->pause_max_ms = (int64_t)(conf->api.backoff_max * 1000);
    if (c->pause_max_ms > PAUSE_MAX_MS || c->pause_max_ms <= 0)
        c->pause_max_ms = PAUSE_MAX_MS;
    c->wait_on_maintenance = conf->api.wait_on_maintenance;
    if (!strcasecmp (verify, "false") || !strcmp (verify, "0"))
        c->http_options.no_verify = true;
    else if (strcasecmp (verify, "true") && strcmp (verify, "1"))
        c->ca = copy (verify);
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
    pthread_mutex_lock (&c->s->lock);
    c->s->users++;
    pthread_mutex_unlock (&c->s->lock);
    c->worker = copy (from->worker);
    c->ca = from->ca ? copy (from->ca) : NULL;
    c->http = http_of (c);
    return c;
}

static void session_release (struct session *s)
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
    replace (&c->worker, copy (worker));
}

void client_set_abort (struct client *c, int fd)
{
    c->abort_fd = fd;
}

const char *client_server (const struct client *c)
{
    return c->s->server;
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
            return copy ("");
        bits = bits << 6 | (unsigned)d;
        n += 6;
        if (n >= 8) {
            n -= 8;
            str_putc (&out, (char)(bits >> n & 0xff));
        }
    }
    if (json_check (str_text (&out), &checked, &err) < 0)
        return copy ("");
    return copy (out.p);
}

/* Under the lock. What is left of its life is counted from now, whatever our clock and the server's say: they may be hours
 * apart, and ours may be set. */
static void session_take (struct session *s, const char *token)
{
    struct text claims;
    int64_t now = clock_now () / 1000, end, begun;

    replace (&s->token, copy (token));
    replace (&s->claims, claims_of (token));
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

/* -- one try ---------------------------------------------------------------------------------------------------- */

/* Turn an answer into its data, or into an error. */
static int read_answer (struct arena *a, const char *call, const struct http_response *r, struct text *ret,
                        struct error *err)
{
    struct text doc, meta, data;
    struct error why;
    char *words;
    int code, sub;

    if (json_check (str_text (&r->body), &doc, &why) < 0 || json_kind (doc) != JSON_OBJECT ||
        json_kind (meta = json_get (doc, "meta")) != JSON_OBJECT) {
        int n = (int)(r->body.n < 200 ? r->body.n : 200);

        return error_set (err, (r->status < 400 ? 502 : r->status) * 10000 + CLIENT_FOREIGN,
                          "%s: the server answered %d: %.*s", call, r->status, n, r->body.p ? r->body.p : "");
    }
    code = (int)json_int (json_get (meta, "result_code"), r->status);
    sub = (int)json_int (json_get (meta, "result_subcode"), 0);
    if (code == 200) {
        data = json_get (doc, "data");
        *ret = data.p ? data : TEXT ("{}");
        return 0;
    }
    words = json_string (a, json_get (meta, "result_msg"));
    return error_set (err, code * 10000 + sub, "%s: %s", call, words ? words : "refused");
}

static const char *add_header (struct arena *a, const char **headers, size_t *n, const char *fmt,
                               const char *v)
{
    return headers[(*n)++] = arena_printf (a, fmt, v);
}

/* Send once. `token` NULL: Basic with the key. Only an answer that counts stays in the arena: tries may go on for days. */
static int send_once (struct client *c, struct arena *a, const struct client_request *q, const char *token,
                      int64_t *ret_after_ms, struct text *ret, struct error *err)
{
    cleanup_arena struct arena *once = arena_create ();
    const char *headers[8];
    size_t n = 0;
    struct http_request hq = { .body = q->body,
                               .abort_fd = c->abort_fd,
                               .headers = headers,
                               .method = q->batch ? "POST" : c->s->method,
                               .timeout_ms = q->wait_ms + (q->timeout_ms     ? q->timeout_ms
                                                           : q->body.n > BIG ? TIMEOUT_BIG_MS
                                                                             : TIMEOUT_MS) };
    struct http_response r = { .body.arena = once };
    struct text data = { 0 };
    int sent;

    *ret_after_ms = 0;
    hq.url = q->version ? arena_printf (once, "%s/v%d.%d/%s", c->s->server, q->version / 1000,
                                        q->version % 1000, q->call)
                        : arena_printf (once, "%s/%s", c->s->server, q->call);
    add_header (once, headers, &n, "Content-Type: %s",
                q->batch ? "application/json-lines" : "application/json");
    add_header (once, headers, &n, "X-ClearML-Worker: %s", c->worker);
    add_header (once, headers, &n, "X-Trains-Worker: %s", c->worker);
    headers[n++] = "X-ClearML-Agent: stoker-1";
    if (token) {
        add_header (once, headers, &n, "Authorization: Bearer %s", token);
    } else {
        hq.user = c->s->key;
        hq.password = c->s->secret;
    }
    headers[n] = NULL;
    sent = http_client_send (c->http, &hq, &r, err);
    if (token)
        explicit_bzero ((char *)(uintptr_t)headers[n - 1], strlen (headers[n - 1]));
    if (sent < 0)
        return -1;
    *ret_after_ms = r.retry_after_ms;
    if (read_answer (once, q->call, &r, &data, err) < 0)
        return -1;
    *ret = (struct text){ arena_memdup (a, data.p, data.n), data.n };
    return 0;
}

/* -- patience --------------------------------------------------------------------------------------------------- */

static bool is_patient (const struct client *c)
{
    return c->patience == CLIENT_PATIENT || c->patience == CLIENT_FOREVER;
}

static bool is_unauthorized (const struct error *err)
{
    return err->code / 10000 == 401;
}

static bool is_away (const struct error *err)
{
    if (err->code < 10000)
        return err->code == ECONNREFUSED || err->code == ETIMEDOUT || err->code == EPIPE;
    return !is_unauthorized (err) && client_undecided (err);
}

static bool may_repeat (const struct client *c, int tries, const struct error *err)
{
    switch (c->patience) {
        case CLIENT_ONCE:
            return false;
        case CLIENT_BRIEF:
            return tries < BRIEF_TRIES;
        case CLIENT_PATIENT:
            return (err->code / 10000 == 503 && c->wait_on_maintenance) || tries < c->retries;
        case CLIENT_FOREVER:
            return !client_refused (err, 500) || tries < c->retries;
    }
    return false;
}

/* Wait before try number `tries` + 1: doubling, cut at the most, and by chance up to half shorter, so that a thousand
 * agents do not come back in one moment. */
static int pause_before (struct client *c, int tries, int64_t after_ms, struct error *err)
{
    int64_t ms = PAUSE_FIRST_MS << (tries < 7 ? tries - 1 : 6);
    struct pollfd p = { .fd = c->abort_fd ? c->abort_fd : -1, .events = POLLIN };
    unsigned chance = 0;

    if (ms > c->pause_max_ms)
        ms = c->pause_max_ms;
    if (after_ms > ms)
        ms = after_ms < 60000 ? after_ms : 60000;
    if (getrandom (&chance, sizeof (chance), 0) == sizeof (chance))
        ms -= (int64_t)(chance % 512) * ms / 1024;
    if (poll (&p, 1, (int)ms) > 0)
        return error_set (err, ECANCELED, "given up: %s", err->text);
    return 0;
}

static void say_away (const struct client *c, int tries, const struct error *err)
{
    if (tries == WARN_FROM || (tries > WARN_FROM && tries % 50 == 0))
        log_warn ("client", "%s cannot be reached (%d tries): %s", c->s->server, tries, err->text);
}

/* Repeat send_once while the server is away; a login (token NULL) also when it is refused, for a moment. */
static int send_patiently (struct client *c, struct arena *a, const struct client_request *q,
                           const char *token, struct text *ret, struct error *err)
{
    int64_t after_ms;

    for (int tries = 1;; tries++) {
        if (!send_once (c, a, q, token, &after_ms, ret, err)) {
            if (tries > WARN_FROM && c->patience != CLIENT_BRIEF)
                log_info ("client", "%s is back after %d tries", c->s->server, tries);
            return 0;
        }
        bool again = is_away (err)                     ? may_repeat (c, tries, err)
                     : !token && is_unauthorized (err) ? is_patient (c) && tries < LOGIN_TRIES
                                                       : false;
        if (!again)
            return -1;
        if (c->patience != CLIENT_BRIEF)
            say_away (c, tries, err);
        if (pause_before (c, tries, after_ms, err) < 0)
            return -1;
    }
}

/* -- login ------------------------------------------------------------------------------------------------------ */

/* Get a new token unless another thread has done so since `generation`. */
static int renew (struct client *c, unsigned generation, struct error *err)
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
static int token_get (struct client *c, struct arena *a, const char **ret, unsigned *ret_generation,
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
        if (renew (c, *ret_generation, err) < 0)
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
        replace (&s->token, NULL);
        s->generation++;
    }
    pthread_mutex_unlock (&s->lock);
    if (token && send_once (c, a, &q, token, &after, &data, &err) < 0)
        log_debug ("client", "log out: %s", err.text);
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
        if (!is_unauthorized (err) || logins >= (is_patient (c) ? LOGIN_TRIES : 1) ||
            (logins && pause_before (c, logins, 0, err) < 0))
            return -1;
        if (renew (c, generation, err) < 0) /* revoked, or the server has new secrets */
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
    replace (&c->s->features, copy (v.p ? arena_text (a, v) : "{}"));
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
