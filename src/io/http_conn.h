/* http_conn.h - private to io: what http_server.c and http_answer.c share of a connection. */
#pragma once
#include "io/http_parse.h"

#include <netinet/in.h>
#include <pthread.h>
#include <stdatomic.h>

enum conn_phase {
    CONN_IDLE,  /* no byte of the next request */
    CONN_HEAD,  /* in the middle of a head */
    CONN_BODY,  /* in the middle of a body */
    CONN_WORK,  /* request complete (or answered early), answer not yet here */
    CONN_WRITE, /* answer on its way */
    CONN_LINGER, /* answered and shut down: reads what still comes, so that the answer is not lost to a reset */
    CONN_CLOSED /* no descriptor; lives on until its request is answered */
};
enum body_mode { BODY_NONE, BODY_READ, BODY_STREAM };

/* One connection. About 400 bytes while idle. */
struct http_conn {
    struct http_server *server;
    struct http_conn *prev, *next;
    struct loop_watch *watch;
    int fd, listener;
    uint8_t phase, mode, watching;
    bool in_step, paused, eof, early, must_close;
    bool served;    /* at least one request was answered */
    bool end_waits; /* the body is complete, but its reader is paused */
    struct http_parse parse;
    struct http_request *request; /* from the end of its headers until its answer is out */
    struct str later;             /* bytes read but not parsed */
    int64_t deadline;             /* clock_monotonic ms; 0: none */
    struct in6_addr peer;
    bool peer_v4;
};

struct http_out { /* in the request's arena */
    struct text head, body;
    int fd;
    int64_t file_from, file_n;
    int status;
    bool close, ready; /* ready: given to the loop */
    size_t done;       /* bytes of head and body written */
    /* how the body is read */
    void (*read_done) (struct http_request *r, void *arg);
    const struct http_sink *sink;
    void *arg;
    uint64_t max, got;
    int abort_status; /* why a streamed body ended early */
    const char *abort_words;
    void (*gone) (struct http_request *r, void *arg);
    void *gone_arg;
};

struct http_listener {
    struct http_listener *next;
    struct http_server *server;
    struct loop_watch *watch;
    int fd, number;
};

struct http_server {
    struct loop *loop;
    struct http_limits limits;
    struct http_handlers handlers;
    struct http_listener *listeners;
    struct http_conn *conns;
    size_t conns_n;
    struct loop_timer *timer;
    bool accepting, thread_known;
    atomic_bool draining;
    pthread_t thread; /* of the loop, known from the first connection on */
    void (*drained) (void *arg);
    void *drained_arg;
    char *buffer; /* what one read takes, shared by all connections */
};

enum { CONN_READ_BYTES = 131072 }; /* size of server->buffer */

/* http_conn.c; all on the loop thread */
void conn_watch (struct http_conn *c, int events);
void conn_phase_set (struct http_conn *c, enum conn_phase phase);
void conn_step (struct http_conn *c); /* go on as far as possible; may free c */
void conn_on_socket (int fd, int events, void *conn);
int conn_body (struct http_parse *p, struct text part, void *conn); /* parse.on_body */
void conn_late (struct http_conn *c);                               /* its deadline is over */
void conn_hang_up (struct http_conn *c);                            /* no descriptor any more */
void conn_free (struct http_conn *c);
void conn_cut (struct http_conn *c); /* all of it, whatever it is doing */

void http_server_conn_gone (
    struct http_server *s);                     /* one connection less: perhaps that was the last to drain */
void conn_answer_here (struct http_request *r); /* loop thread: out is ready */
void http_listener_add (struct http_server *s, int fd, int number); /* a listening socket, now ours */
void http_answer_build (struct http_request *r, const struct http_answer *a);
