/* room.h - private to server/: the parts of a running server and the steps a request goes through.
 *
 *   front.c     which front, which part: checks of Host and Origin, then one of
 *   dispatch.c  an API call: find, session, decode, run, wait, encode
 *   files.c     uploads and downloads
 *   assets.c    the pages
 */
#pragma once
#include "base/id.h"
#include "io/http_server.h"
#include "io/loop.h"
#include "io/pool.h"
#include "server/server.h"
#include "server/sweep.h"
#include "services/call.h"
#include "store/store.h"
#include "store/topic.h"
#include "store/volatile.h"
#include "wire/wire.h"

#include <stdatomic.h>

enum front { FRONT_WEB, FRONT_API, FRONT_FILES, FRONTS };
struct jobs;
enum { LISTENERS_MAX = 16, API_BODY_MAX = 64 << 20, STRANGER_BODY_MAX = 1 << 20 };

struct listener {
    enum front front;
    const char *address; /* without port */
    int port;
    bool loopback;
};

struct server {
    const struct server_options *options;
    struct arena *arena; /* lives as long as the server */
    struct loop *loop;
    struct store *store;
    struct topics *topics;
    struct volatile_store *volatiles;
    struct pool *pool;       /* calls */
    struct pool *files_pool; /* reads and writes of files: a slow disk must not hold up calls */
    struct http_server *http;
    struct auth *auth;
    struct waits *waits;
    struct server_facts facts;
    struct listener listeners[LISTENERS_MAX];
    int listeners_n;
    bool all_loopback;
    atomic_bool stopping;
    bool drained;
    const char *files_folder;
    struct live live;         /* files.c: blobs of uploads in progress */
    struct pool_job sweeping; /* files.c: after a crash */
    atomic_bool swept;        /* nothing is left of one */
    struct jobs *jobs;
    struct queues_background *queues_background;
    struct sweeper silence;      /* background.c, and of the writer thread: */
    struct arena *silence_arena; /* of one slice */
    struct effect *silence_effects;
    struct hearing {
        int64_t since; /* clock_monotonic */
    } lost, silent;
    int64_t looked; /* for tasks that are silent, clock_now */
    size_t body_max;
    struct loop_signal *signals[2];
    struct loop_timer *hurry;
};

/* -- front.c */
void front_request (struct http_request *r, void *server);
void front_refused (struct http_request *r, int status, const char *words, struct str *ret_body,
                    const char **ret_type, void *server);
void front_ended (struct http_request *r, int status, void *server);
/* Headers that every answer to a browser of another, listed origin needs. */
void front_cors (struct server *s, struct http_request *r, struct http_answer *a);
void answer_text (struct http_request *r, int status, const char *type, const char *text);
/* Is this request from a page of ours (or from no browser)? */
bool front_own_origin (const struct http_request *r);

/* -- session.c */
/* Who sends this? 0 and *ret filled; -1 with a wire error. any_method: the cookie also counts for GET (files). */
int session_check (struct server *s, struct http_request *r, struct arena *a, bool for_files,
                   struct identity *ret, struct error *err) warn_unused;
bool session_has_credentials (const struct http_request *r);
const char *session_address (const struct http_request *r);
/* Header "x-clearml-NAME" or "x-trains-NAME" as a string, NULL when there is none. */
const char *session_header (struct http_request *r, const char *name);

/* -- dispatch.c */
void api_start (struct server *s, struct http_request *r, struct text path);

/* -- wait.c: calls that wait for a bell or a time. All on the loop thread but wait_park. */
struct waiter;
struct waits *waits_create (struct server *s);
void waits_destroy (struct waits *w);
/* The call has run, wants to wait for the topic (unless it rang since seq) and its arena is at rest. `resume` is called
 * on the loop thread: last: the time is over or the server stops; gone: nobody listens any more. From any thread. */
void wait_park (struct waits *w, struct http_request *r, const char *topic, uint64_t seq, int64_t until,
                void (*resume) (void *arg, bool last, bool gone), void *arg);
/* A ring reached somebody who cannot use it: wake the next waiter of these topics ('\n' between them). */
void wait_pass_on (struct server *s, const char *topics);
void waits_end_all (struct waits *w); /* the server stops: everybody's time is over */
void effects_run (struct server *s, const struct effect *e);

/* -- assets.c */
bool asset_exists (struct text path);
void asset_start (struct server *s, struct http_request *r);

/* -- files.c */
int files_open (struct server *s, struct error *err) warn_unused; /* folders */
/* Left-overs of a crash go, beside the traffic. */
void files_sweep (struct server *s);
void files_close (struct server *s); /* clean: says that there are none; after the pools are gone */
/* The files service no longer needs what a url or path of ours names (after a commit; from any thread). */
void files_delete_later (struct server *s, const char *company, const char *url);
void files_start (struct server *s, struct http_request *r, struct text path);
