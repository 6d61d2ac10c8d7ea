/* http_server.h - HTTP/1.1 for a server: listeners, connections, requests, answers. It knows nothing of what is
 * asked for.
 *
 * One loop thread owns all connections. For each request the room above is called when the headers are complete
 * (`on_request`), on the loop thread, and must do one of:
 *   http_read_body     the whole body in memory, then a callback
 *   http_stream_body   the body piece by piece, with back-pressure
 *   http_respond       an answer at once; what is left of the body is thrown away and the connection closed
 * Every request is ended by exactly one http_respond, from any thread, also when its client is gone. The request
 * and its arena live until the answer is written; they belong to one thread at a time. A request that is cut off
 * before its body was complete ends by itself: `done` / `on_end` never come for it (streams get `on_abort`).
 *
 * Limits are of struct http_limits; a request that breaks one or that is not strict HTTP/1.1 is answered by this
 * room (400, 405, 408, 413, 414, 431, 501, 505) and its connection closed. One request of a connection is in work
 * at a time; bytes of later ones wait.
 */
#pragma once
#include "base/arena.h"
#include "base/error.h"
#include "base/str.h"
#include "base/text.h"
#include "io/loop.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

enum http_method {
    HTTP_M_GET,
    HTTP_M_HEAD,
    HTTP_M_POST,
    HTTP_M_PUT,
    HTTP_M_DELETE,
    HTTP_M_PATCH,
    HTTP_M_OPTIONS
};

struct http_limits {
    size_t head_bytes;   /* request line and headers together, 65536 */
    size_t target_bytes; /* 16384 */
    size_t headers;      /* how many, 128 */
    size_t trailing;     /* bytes of pipelined requests kept, 65536 */
    int connections; /* 16384; then the one idle for longest goes, or new ones wait in the kernel's queue */
    int64_t head_ms; /* from the first byte to the end of the headers, 20000 */
    int64_t body_ms; /* between two pieces of a body or of an answer, 60000 */
    int64_t idle_ms; /* between two requests, 300000 */
};
extern const struct http_limits http_limits_default;

struct http_header {
    struct text name, value; /* name in lower case */
};

struct http_request {
    struct arena *arena;
    enum http_method method;
    const char *method_name;
    struct text target;      /* as sent */
    struct text path, query; /* of the target, still percent-encoded; query without `?`, absent if none */
    const struct http_header *headers;
    size_t headers_n;
    struct text body;    /* after http_read_body */
    int listener;        /* the number given to http_server_listen */
    const char *address; /* of the peer, without port */
    int64_t started_us;  /* clock_now_us at the first byte, for the access log */
    void *data;          /* of the room above */
    bool expect_continue, keep_alive, chunked;
    int64_t content_length; /* -1: chunked or none */

    struct http_conn *conn; /* private from here on */
    struct http_out *out;
    struct str head_bytes, body_bytes;
    struct http_span *spans;
    size_t spans_n, spans_cap;
    bool in_value;
    atomic_bool whole; /* the body came to its end */
};

struct text http_header (const struct http_request *r,
                         const char *name); /* lower case; absent if not there */
/* Value of a cookie, the absent text when there is none; the last one of that name wins. */
struct text http_cookie (const struct http_request *r, const char *name);
/* Percent-decode (plus: also + to blank) into the arena. Absent text when a sequence is broken or gives NUL. */
struct text http_unescape (struct arena *a, struct text t, bool plus);

/* -- the server */
struct http_server;
struct http_handlers {
    void (*on_request) (struct http_request *r, void *arg);
    /* The body and content type for an answer that this room gives (NULL: plain words). `r` may be half-made. */
    void (*on_refused) (struct http_request *r, int status, const char *words, struct str *ret_body,
                        const char **ret_type, void *arg);
    void (*on_ended) (struct http_request *r, int status, void *arg); /* for the access log; may be NULL */
    void *arg;
};

int http_server_create (struct loop *l, const struct http_limits *limits, const struct http_handlers *h,
                        struct http_server **ret, struct error *err) warn_unused;
void http_server_destroy (
    struct http_server *s); /* cuts what is left; every request must have been answered */

/* "127.0.0.1:8080", "[::1]:0", "localhost:80", "8080" (= all addresses). ret_port: the real one. A busy port names
 * who holds it. */
int http_server_listen (struct http_server *s, const char *address, int listener, int *ret_port,
                        bool *ret_loopback, struct error *err) warn_unused;

/* No new connections or requests; idle connections are closed; `drained` comes on the loop thread when the last
 * answer is out. */
void http_server_drain (struct http_server *s, void (*drained) (void *arg), void *arg);
bool http_server_draining (const struct http_server *s);
size_t http_server_connections (const struct http_server *s);

/* -- reading the body (loop thread, inside on_request) */
void http_read_body (struct http_request *r, size_t max, void (*done) (struct http_request *r, void *arg),
                     void *arg);
struct http_sink {
    void (*on_data) (struct http_request *r, struct text part, void *arg); /* part lives during the call */
    void (*on_end) (struct http_request *r, void *arg);
    /* The client broke off or broke the rules (http_abort_reason says which): clean up and respond. */
    void (*on_abort) (struct http_request *r, void *arg);
};
void http_stream_body (struct http_request *r, uint64_t max, const struct http_sink *sink, void *arg);
/* In on_abort: the status to answer with (400, 408, 413), or 0 when the client is gone. */
int http_abort_reason (const struct http_request *r, const char **ret_words);
/* Between pause and resume at most what is already read comes (128 kB), but neither the end nor an abort. */
void http_body_pause (struct http_request *r);  /* loop thread */
void http_body_resume (struct http_request *r); /* from any thread */

/* Inflate r->body in place when Content-Encoding says gzip or deflate (for the pool). -1: 413 or 400 or 415 in
 * err->code, with words. */
int http_body_inflate (struct http_request *r, size_t max, struct error *err) warn_unused;

/* Call fn on the loop thread when the client is gone while the request is in work (so that a waiter can be
 * dropped). At most once, never after http_respond. fn NULL: no longer interested. Loop thread. */
void http_on_gone (struct http_request *r, void (*fn) (struct http_request *r, void *arg), void *arg);
bool http_is_gone (const struct http_request *r); /* loop thread */

/* -- the answer */
struct http_answer {
    int status;
    const char *type;   /* Content-Type; NULL: none */
    struct text body;   /* lives as long as the request's arena, or is constant */
    struct str headers; /* further lines, each "Name: value\r\n"; in the request's arena */
    bool close;         /* close the connection afterwards */
    int fd;             /* with has_fd: the body is this part of a file; closed by this room */
    int64_t file_from, file_n;
    bool has_fd;
};
/* Adds "Name: value\r\n"; control characters in the value become blanks. */
void http_answer_header (struct http_request *r, struct http_answer *a, const char *name, const char *value);
/* gzip the body when the client accepts it, it has 500 bytes or more and its type is text or JSON (for the pool).
 * Adds Content-Encoding and Vary. */
void http_answer_gzip (struct http_request *r, struct http_answer *a);
/* Does the client take gzip? (`Accept-Encoding` with a q that is not 0) */
bool http_accepts_gzip (const struct http_request *r);
/* End the request. From any thread; the caller must not touch the request any more. */
void http_respond (struct http_request *r, const struct http_answer *a);
const char *http_reason (int status);
