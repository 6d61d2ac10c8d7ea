/* room.h - inside of client/ only. A session is common to all clients of a login; a client has its own connection.
 *
 *   client.c   the door: make, share, calls, features
 *   login.c    a token that is good now, from auth.login
 *   send.c     one request, and again while the server is away
 *   session.c  what is common, and the claims of a token */
#pragma once
#include "client/client.h"
#include "io/http_client.h"

#include <pthread.h>

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

/* session.c */
struct session *session_create (const struct conf *conf);
void session_hold (struct session *s); /* one more user */
void session_release (struct session *s);
void session_take (struct session *s, const char *token); /* under the lock: this is the token now */
char *copy_text (const char *s);                          /* NULL gives "" */
void replace_text (char **at, char *with);                /* what stood there is freed */

/* login.c */
/* A copy of a token that is good now, and which login it is of. */
int token_get (struct client *c, struct arena *a, const char **ret, unsigned *ret_generation,
               struct error *err) warn_unused;
/* Log in anew unless another thread has done so since `generation`. */
int token_renew (struct client *c, unsigned generation, struct error *err) warn_unused;

/* send.c */
/* Once; token NULL: with the key. *ret_after_ms: how long the server asks to wait. */
int send_once (struct client *c, struct arena *a, const struct client_request *q, const char *token,
               int64_t *ret_after_ms, struct text *ret, struct error *err) warn_unused;
/* Again and again while the server is away, as patiently as the client is. */
int send_patiently (struct client *c, struct arena *a, const struct client_request *q, const char *token,
                    struct text *ret, struct error *err) warn_unused;
/* After `logins` of them, is another worth a try? Only to a 401: the token was revoked, or the server has new secrets.
 * From the second on it waits before that. */
bool login_may_help (struct client *c, int logins, struct error *err);
