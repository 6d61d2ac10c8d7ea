/* http_server.c - the server around its connections: accepting, time limits, draining. See http_server.h; one connection
 * is http_conn.c. */
#include "io/http_conn.h"

#include "base/clock.h"

#include <errno.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { TICK_MS = 500 };

const struct http_limits http_limits_default = {
    .head_bytes = 65536,
    .target_bytes = 16384,
    .headers = 128,
    .trailing = 65536,
    .connections = 16384,
    .head_ms = 20000,
    .body_ms = 60000,
    .idle_ms = 300000,
};

/* -- time and room */
void http_server_conn_gone (struct http_server *s)
{
    if (s->draining && !s->conns && s->drained) {
        void (*fn) (void *) = s->drained;

        s->drained = NULL;
        fn (s->drained_arg);
    }
}

static void on_tick (void *arg);

/* Out of room (connections or descriptors): the kernel's queue holds new ones until a tick finds room again. */
static void accept_set (struct http_server *s, bool on)
{
    s->accepting = on;
    for (struct http_listener *l = s->listeners; l; l = l->next)
        loop_watch_set (l->watch, on ? LOOP_READ : 0);
    if (!s->timer)
        s->timer = loop_timer_add (s->loop, TICK_MS, true, on_tick, s);
}

static void on_tick (void *arg)
{
    struct http_server *s = arg;
    int64_t now = clock_monotonic ();

    for (struct http_conn *c = s->conns, *next; c; c = next) {
        next = c->next;
        if (c->deadline && now >= c->deadline)
            conn_late (c);
    }
    if (!s->accepting && !s->draining && (int)s->conns_n < s->limits.connections)
        accept_set (s, true);
    if (!s->conns && s->accepting) {
        loop_timer_remove (s->timer);
        s->timer = NULL;
    }
}

/* -- accepting */
static void peer_take (struct http_conn *c, const struct sockaddr_storage *from)
{
    if (from->ss_family == AF_INET) {
        c->peer_v4 = true;
        memcpy (&c->peer.s6_addr[12], &((const struct sockaddr_in *)from)->sin_addr, 4);
    } else {
        c->peer = ((const struct sockaddr_in6 *)from)->sin6_addr;
        c->peer_v4 = IN6_IS_ADDR_V4MAPPED (&c->peer);
    }
}

static void conn_create (struct http_listener *l, int fd, const struct sockaddr_storage *from)
{
    struct http_server *s = l->server;
    struct http_conn *c = calloc (1, sizeof (*c));
    int one = 1;

    if (!c)
        abort ();
    c->server = s;
    c->fd = fd;
    c->listener = l->number;
    peer_take (c, from);
    setsockopt (fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof (one));
    http_parse_init (&c->parse, &s->limits);
    c->parse.on_body = conn_body;
    c->parse.arg = c;
    if (!(c->watch = loop_watch_add (s->loop, fd, LOOP_READ, conn_on_socket, c))) {
        close (fd);
        free (c);
        return;
    }
    c->watching = LOOP_READ;
    if ((c->next = s->conns))
        s->conns->prev = c;
    s->conns = c;
    s->conns_n++;
    conn_phase_set (c, CONN_IDLE);
    if (!s->timer)
        s->timer = loop_timer_add (s->loop, TICK_MS, true, on_tick, s);
}

static bool has_bytes (const struct http_conn *c)
{
    char byte;

    return c->later.n || recv (c->fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) > 0;
}

/* Room for a new client: the connection that has been idle for longest goes. False: none is idle. (One that has just
 * come, or has bytes waiting, is not idle.) */
static bool evict_idle (struct http_server *s)
{
    struct http_conn *oldest = NULL;

    for (struct http_conn *c = s->conns; c; c = c->next)
        if (c->phase == CONN_IDLE && c->served && (!oldest || c->deadline <= oldest->deadline))
            oldest = c;
    if (!oldest || has_bytes (oldest))
        return false;
    conn_hang_up (oldest);
    conn_free (oldest);
    return true;
}

static void on_listener (int fd, int events, void *arg)
{
    struct http_listener *l = arg;
    struct http_server *s = l->server;

    (void)events;
    if (!s->thread_known) {
        s->thread = pthread_self ();
        s->thread_known = true;
    }
    for (int i = 0; i < 64; i++) {
        struct sockaddr_storage from = { 0 };
        socklen_t n = sizeof (from);
        int c;

        if ((int)s->conns_n >= s->limits.connections && !evict_idle (s)) {
            accept_set (s, false);
            return;
        }
        if ((c = accept4 (fd, (struct sockaddr *)&from, &n, SOCK_NONBLOCK | SOCK_CLOEXEC)) < 0) {
            if ((errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM) &&
                !evict_idle (s))
                accept_set (s, false);
            return;
        }
        conn_create (l, c, &from);
    }
}

void http_listener_add (struct http_server *s, int fd, int number)
{
    struct http_listener *l = calloc (1, sizeof (*l));

    if (!l)
        abort ();
    l->server = s;
    l->fd = fd;
    l->number = number;
    l->watch = loop_watch_add (s->loop, fd, LOOP_READ, on_listener, l);
    l->next = s->listeners;
    s->listeners = l;
}

/* -- the server as a whole */
int http_server_create (struct loop *l, const struct http_limits *limits, const struct http_handlers *h,
                        struct http_server **ret, struct error *err)
{
    struct http_server *s = calloc (1, sizeof (*s));

    if (!s || !(s->buffer = malloc (CONN_READ_BYTES))) {
        free (s);
        return error_set (err, ENOMEM, "http server: out of memory");
    }
    signal (SIGPIPE,
            SIG_IGN); /* sendfile has no MSG_NOSIGNAL; a client that is gone is an error value here */
    s->loop = l;
    s->limits = limits ? *limits : http_limits_default;
    s->handlers = *h;
    s->accepting = true;
    *ret = s;
    return 0;
}

static void listeners_close (struct http_server *s)
{
    for (struct http_listener *l = s->listeners, *next; l; l = next) {
        next = l->next;
        loop_watch_remove (l->watch);
        close (l->fd);
        free (l);
    }
    s->listeners = NULL;
}

void http_server_drain (struct http_server *s, void (*drained) (void *arg), void *arg)
{
    s->draining = true;
    s->drained = drained;
    s->drained_arg = arg;
    for (struct http_listener *l = s->listeners; l;
         l = l->next) { /* who has come already and asks is answered */
        size_t before;

        do {
            before = s->conns_n;
            on_listener (l->fd, LOOP_READ, l);
        } while (s->conns_n > before);
    }
    listeners_close (s);
    for (struct http_conn *c = s->conns, *next; c; c = next) {
        next = c->next;
        if (c->phase == CONN_IDLE && !has_bytes (c)) {
            conn_hang_up (c);
            conn_free (c);
        }
    }
    http_server_conn_gone (s);
}

bool http_server_draining (const struct http_server *s)
{
    return s->draining;
}

size_t http_server_connections (const struct http_server *s)
{
    return s->conns_n;
}

void http_server_destroy (struct http_server *s)
{
    if (!s)
        return;
    s->draining = true;
    s->drained = NULL;
    listeners_close (s);
    while (s->conns)
        conn_cut (s->conns);
    loop_timer_remove (s->timer);
    free (s->buffer);
    free (s);
}
