/* send.c - one request and its answer; and again while the server is away, with growing pauses. */
#include "base/log.h"
#include "client/room.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>

enum {
    TIMEOUT_MS = 30000,      /* of an answer */
    TIMEOUT_BIG_MS = 120000, /* when the body is long */
    BIG = 15000,
    PAUSE_FIRST_MS = 100,
    BRIEF_TRIES = 5,
    LOGIN_TRIES = 8, /* of the patient: a server that starts anew, one of several, may say 401 for a moment */
    WARN_FROM = 3    /* failed tries before a word is said */
};

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
int send_once (struct client *c, struct arena *a, const struct client_request *q, const char *token,
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
int send_patiently (struct client *c, struct arena *a, const struct client_request *q, const char *token,
                    struct text *ret, struct error *err)
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

bool login_may_help (struct client *c, int logins, struct error *err)
{
    return is_unauthorized (err) && logins < (is_patient (c) ? LOGIN_TRIES : 1) &&
           (!logins || pause_before (c, logins, 0, err) == 0);
}
