/* client.h - a logged-in caller of a ClearML-compatible server: token, renewal, retries, errors with words.
 *
 * A client is used by one thread at a time; client_share gives another thread its own on the same login. Calls wait
 * for their answer. While a server is away they are repeated, as patiently as was asked for, with growing pauses. */
#pragma once
#include "base/arena.h"
#include "base/error.h"
#include "base/json.h"
#include "base/text.h"
#include "conf/conf.h"

#include <stdbool.h>
#include <stdint.h>

struct client;

/* How long a call is repeated when the server cannot be reached, is in trouble (5xx, 429), or something else answers in
 * its place (a gateway's page). */
enum client_patience {
    CLIENT_BRIEF,   /* 4 times, some 2 seconds: for people at a keyboard, and at start */
    CLIENT_ONCE,    /* not at all */
    CLIENT_PATIENT, /* api.http.retries.total times (503 without end), pauses of at most 5 s: minutes */
    CLIENT_FOREVER  /* without end; what the server itself calls its error (500) as often as PATIENT */
};

/* Takes what it needs out of the configuration (api.*). Nothing is sent yet. */
int client_create (const struct conf *conf, struct client **ret, struct error *err) warn_unused;
struct client *client_share (const struct client *c); /* settings are copied, the login is common */
void client_destroy (struct client *c);               /* NULL is fine */

void client_set_patience (struct client *c, enum client_patience p);
void client_set_worker (struct client *c,
                        const char *worker); /* what X-ClearML-Worker says; the host's name at first */
/* A descriptor that becomes readable when waiting calls (and pauses) shall end at once with ECANCELED; 0 = none. */
void client_set_abort (struct client *c, int fd);

/* Log in now, to see whether it works (calls do it by themselves). */
int client_login (struct client *c, struct error *err) warn_unused;
void client_logout (struct client *c); /* revoke the token; failures do not matter */
/* A member of the token's claims by its dotted path ("identity.user", "api_version"), NULL before the first login. */
char *client_claim (struct client *c, struct arena *a, const char *dotted);
const char *client_server (const struct client *c); /* its address without credentials */

/* One call: "tasks.get_by_id", version as major * 1000 + minor (0 = none asked for), a JSON object text. *ret is the
 * answer's `data` in the arena. The server's refusals: err->code = status * 10000 + subcode and its words (subcode
 * CLIENT_FOREIGN: the answer is not the server's but something's on the way); no answer: the codes of io/http_client.h. */
enum { CLIENT_FOREIGN = 9999 };
int client_call (struct client *c, struct arena *a, const char *call, int version, struct text body,
                 struct text *ret, struct error *err) warn_unused;

struct client_request {
    const char *call;
    int version;
    struct text body;
    bool batch;      /* body is JSON lines */
    int64_t wait_ms; /* how long the server may take on purpose (a long poll), on top of the usual timeout */
    int64_t timeout_ms; /* instead of the usual timeout, 0 = that */
};
int client_send (struct client *c, struct arena *a, const struct client_request *q, struct text *ret,
                 struct error *err) warn_unused;

/* Version of a call of ours that the server has ("claim", "log", or in full "x_queues.claim"), 0 = it has none (or is
 * another server), -1 = it did not say (away, broken): ask again. Once it has said so, the answer is kept. */
int client_feature (struct client *c, const char *name, struct error *err) warn_unused;

/* Words for who is at the keyboard, all -1: no server or no key is configured; add to a failed login which file or
 * variable holds what is wrong, and what to do. */
int client_no_server (const struct conf *conf, struct error *err);
int client_no_key (const struct conf *conf, struct error *err);
int client_advise (const struct conf *conf, struct error *err);

/* Did the server answer with this status? (err->code of a refusal) */
static inline bool client_refused (const struct error *err, int status)
{
    return err->code / 10000 == status && err->code % 10000 != CLIENT_FOREIGN;
}

/* A failed call has decided nothing: no answer, one that is not the server's, its own trouble, or a login that is not good
 * (now). Whoever asks may not take it for a no: the same call may be taken another time. */
static inline bool client_undecided (const struct error *err)
{
    int status = err->code / 10000;
    bool foreign = status && err->code % 10000 == CLIENT_FOREIGN;

    return !status || status >= 500 || status == 429 || status == 401 || (foreign && status != 413);
}
