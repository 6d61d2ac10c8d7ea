/* http_conn.c - one connection: reads, hands over, writes, closes. See http_server.h and http_conn.h.
 *
 * A connection is driven by conn_step: it is called after anything that happened (bytes came, an answer came, the
 * socket takes bytes again, a pause ended) and goes on as far as it can. Handlers are called from inside it and may
 * answer at once; conn_step then sees the answer when the handler returns, so nothing re-enters.
 */
#include "io/http_conn.h"

#include "base/clock.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <unistd.h>

enum { SENDFILE_BYTES = 1 << 20, LINGER_MS = 2000 };

/* -- the life of a connection */
void conn_watch (struct http_conn *c, int events)
{
    if (c->watch && c->watching != events) {
        c->watching = (uint8_t)events;
        loop_watch_set (c->watch, events);
    }
}

void conn_phase_set (struct http_conn *c, enum conn_phase phase)
{
    const struct http_limits *m = &c->server->limits;
    const int64_t ms[] = {
        [CONN_IDLE] = m->idle_ms,  [CONN_HEAD] = m->head_ms,  [CONN_BODY] = m->body_ms, [CONN_WORK] = 0,
        [CONN_WRITE] = m->body_ms, [CONN_LINGER] = LINGER_MS, [CONN_CLOSED] = 0
    };

    c->phase = (uint8_t)phase;
    c->deadline = ms[phase] ? clock_monotonic () + ms[phase] : 0;
}

void conn_free (struct http_conn *c)
{
    struct http_server *s = c->server;

    if (c->prev)
        c->prev->next = c->next;
    else
        s->conns = c->next;
    if (c->next)
        c->next->prev = c->prev;
    s->conns_n--;
    str_done (&c->later);
    http_parse_done (&c->parse);
    free (c);
    http_server_conn_gone (s);
}

static void request_end (struct http_conn *c)
{
    struct http_request *r = c->request;

    c->request = NULL;
    if (!r)
        return;
    if (c->parse.request == r)
        c->parse.request = NULL;
    if (c->server->handlers.on_ended)
        c->server->handlers.on_ended (r, r->out->status, c->server->handlers.arg);
    if (r->out->fd >= 0)
        close (r->out->fd);
    http_request_destroy (r);
}

void conn_hang_up (struct http_conn *c)
{
    loop_watch_remove (c->watch);
    c->watch = NULL;
    if (c->fd >= 0)
        close (c->fd);
    c->fd = -1;
    conn_phase_set (c, CONN_CLOSED);
}

static void tell_gone (struct http_conn *c)
{
    struct http_out *out = c->request->out;
    void (*fn) (struct http_request *, void *) = out->gone;

    out->gone = NULL;
    if (fn)
        fn (c->request, out->gone_arg);
}

/* The client is away for good. A request in work lives on, without a socket, until it is answered. */
static void conn_drop (struct http_conn *c)
{
    struct http_request *r = c->request;
    bool reading = c->phase == CONN_BODY;

    conn_hang_up (c);
    if (!r) {
        conn_free (c);
    } else if (r->out->ready || (reading && c->mode == BODY_READ)) {
        request_end (c);
        conn_free (c);
    } else if (reading && c->mode == BODY_STREAM) {
        c->mode = BODY_NONE;
        r->out->sink->on_abort (r, r->out->arg); /* may answer, which frees c */
    } else {
        tell_gone (c);
    }
}

static void conn_linger (struct http_conn *c)
{
    shutdown (c->fd, SHUT_WR);
    str_done (&c->later);
    conn_phase_set (c, CONN_LINGER);
    conn_watch (c, LOOP_READ);
}

/* -- writing */
/* 1 all written, 0 the socket is full, -1 gone */
static int write_bytes (struct http_conn *c, struct http_out *out)
{
    size_t all = out->head.n + out->body.n;

    while (out->done < all) {
        struct iovec v[2];
        struct msghdr m = { .msg_iov = v };
        size_t in_body = out->done > out->head.n ? out->done - out->head.n : 0;
        ssize_t n;

        if (out->done < out->head.n)
            v[m.msg_iovlen++] =
                (struct iovec){ (char *)(uintptr_t)out->head.p + out->done, out->head.n - out->done };
        if (out->body.n)
            v[m.msg_iovlen++] =
                (struct iovec){ (char *)(uintptr_t)out->body.p + in_body, out->body.n - in_body };
        n = sendmsg (c->fd, &m, MSG_NOSIGNAL | (out->file_n ? MSG_MORE : 0));
        if (n < 0)
            return errno == EAGAIN || errno == EINTR ? 0 : -1;
        out->done += (size_t)n;
    }
    return 1;
}

static int write_file (struct http_conn *c, struct http_out *out)
{
    off_t from = out->file_from;
    size_t want = out->file_n > SENDFILE_BYTES ? SENDFILE_BYTES : (size_t)out->file_n;
    ssize_t n;

    if (!out->file_n)
        return 1;
    n = sendfile (c->fd, out->fd, &from, want);
    if (n <= 0)
        return n < 0 && (errno == EAGAIN || errno == EINTR) ? 0 : -1; /* 0: the file is shorter than it was */
    out->file_from += n;
    out->file_n -= n;
    if (out->file_n)
        posix_fadvise (out->fd, out->file_from, SENDFILE_BYTES * 2, POSIX_FADV_WILLNEED);
    return out->file_n ? 0 : 1; /* one piece a turn: other connections get theirs */
}

static int conn_write (struct http_conn *c)
{
    struct http_out *out = c->request->out;
    int rc = write_bytes (c, out);

    return rc == 1 ? write_file (c, out) : rc;
}

/* After a complete answer: 1 the next request, 0 the end is being awaited (linger), -1 c is gone. */
static int conn_next (struct http_conn *c)
{
    bool close_it = c->request->out->close || c->must_close || c->early || c->server->draining;
    bool unread = c->early || c->later.n;

    request_end (c);
    if (close_it && unread && !c->eof) {
        conn_linger (c);
        return 0;
    }
    if (close_it || (c->eof && !c->later.n)) {
        conn_hang_up (c);
        conn_free (c);
        return -1;
    }
    http_parse_next (&c->parse);
    c->served = true;
    c->mode = BODY_NONE;
    c->paused = false;
    conn_phase_set (c, CONN_IDLE);
    return 1;
}

/* -- refusing */
static void conn_refuse (struct http_conn *c, int status, const char *words)
{
    struct http_request *r = c->request ? c->request : c->parse.request;
    struct http_answer a = { .status = status, .type = "text/plain; charset=utf-8", .close = true };
    struct str body;

    c->parse.request = NULL;
    if (!r)
        r = http_request_create ();
    if (!c->request) {
        r->conn = c;
        r->listener = c->listener;
        r->out = arena_new (r->arena, struct http_out);
        r->out->fd = -1;
        c->request = r;
    }
    if (!r->method_name) {
        r->method = HTTP_M_GET;
        r->method_name = "-";
    }
    body = (struct str){ .arena = r->arena };
    if (c->server->handlers.on_refused)
        c->server->handlers.on_refused (r, status, words, &body, &a.type, c->server->handlers.arg);
    if (!body.n)
        str_addf (&body, "%s\n", words);
    a.body = str_text (&body);
    c->early = true;
    c->mode = BODY_NONE;
    conn_phase_set (c, CONN_WORK);
    http_answer_build (r, &a);
    r->out->ready = true;
}

/* A request that cannot be read to its end although the client is there. */
static void conn_break (struct http_conn *c, int status, const char *words)
{
    struct http_request *r = c->request;

    c->early = true;
    if (r && c->mode == BODY_STREAM) {
        c->mode = BODY_NONE;
        r->out->abort_status = status;
        r->out->abort_words = words;
        conn_phase_set (c, CONN_WORK);
        r->out->sink->on_abort (r, r->out->arg);
    } else if (!r || !r->out->ready) {
        conn_refuse (c, status, words);
    }
}

/* -- reading */
static const char *too_large (struct http_request *r)
{
    return arena_printf (r->arena, "the body is larger than the limit of %llu bytes",
                         (unsigned long long)r->out->max);
}

int conn_body (struct http_parse *p, struct text part, void *arg)
{
    struct http_conn *c = arg;
    struct http_request *r = c->request;

    if (!r || r->out->ready || c->mode == BODY_NONE) /* answered before its end: the rest is thrown away */
        return 0;
    if ((r->out->got += part.n) > r->out->max)
        return http_parse_refuse (p, 413, too_large (r));
    if (c->mode == BODY_READ)
        str_add (&r->body_bytes, part.p, part.n);
    else
        r->out->sink->on_data (r, part, r->out->arg);
    return 0;
}

static void address_take (struct http_conn *c, struct http_request *r)
{
    char *b = arena_alloc (r->arena, INET6_ADDRSTRLEN);

    if (c->peer_v4)
        inet_ntop (AF_INET, &c->peer.s6_addr[12], b, INET6_ADDRSTRLEN);
    else
        inet_ntop (AF_INET6, &c->peer, b, INET6_ADDRSTRLEN);
    r->address = b;
}

static void send_continue (struct http_conn *c)
{
    static const char line[] = "HTTP/1.1 100 Continue\r\n\r\n";

    if (send (c->fd, line, sizeof (line) - 1, MSG_NOSIGNAL) != (ssize_t)sizeof (line) - 1)
        c->must_close = true;
}

static void conn_headers (struct http_conn *c)
{
    struct http_request *r = c->parse.request;

    c->parse.request->conn = c;
    c->request = r;
    r->listener = c->listener;
    r->out = arena_new (r->arena, struct http_out);
    r->out->fd = -1;
    r->out->max = UINT64_MAX;
    address_take (c, r);
    conn_phase_set (c, CONN_BODY);
    c->server->handlers.on_request (r, c->server->handlers.arg);
    if (r->out->ready || c->mode == BODY_NONE) /* (none: the answer comes from another thread, body unread) */
        c->early = r->chunked || r->content_length > 0;
    else if (r->content_length > 0 && (uint64_t)r->content_length > r->out->max)
        conn_break (c, 413, too_large (r));
    else if (r->expect_continue && (r->chunked || r->content_length > 0))
        send_continue (c);
    if (c->early && !r->out->ready)
        conn_phase_set (c, CONN_WORK);
}

static void conn_message (struct http_conn *c)
{
    struct http_request *r = c->request;

    c->parse.request = NULL; /* ours alone now */
    atomic_store (&r->whole, true);
    if (r->out->ready)
        return;
    conn_phase_set (c, CONN_WORK);
    if (c->mode == BODY_READ) {
        r->body = str_text (&r->body_bytes);
        r->out->read_done (r, r->out->arg);
    } else if (c->mode == BODY_STREAM && c->paused) {
        c->end_waits = true;
    } else if (c->mode == BODY_STREAM) {
        r->out->sink->on_end (r, r->out->arg);
    }
}

/* Parse as far as it goes. Returns the bytes used. */
static size_t conn_feed (struct http_conn *c, struct text in)
{
    size_t used = 0, n;
    bool again = true;

    while ((again || used < in.n) && !c->early && !c->paused && c->phase < CONN_WORK &&
           !(c->request && c->request->out->ready)) {
        enum http_parse_result rc;

        if (c->phase == CONN_IDLE && in.n > used)
            conn_phase_set (c, CONN_HEAD);
        rc = http_parse_feed (&c->parse, (struct text){ in.p + used, in.n - used }, &n);
        used += n;
        again = rc == HTTP_PARSE_HEADERS;
        if (rc == HTTP_PARSE_REFUSED) {
            conn_break (c, c->parse.status, c->parse.words);
        } else if (again) {
            conn_headers (c);
        } else if (rc == HTTP_PARSE_DONE) {
            conn_message (c);
            break;
        }
    }
    return used;
}

static void feed_later (struct http_conn *c)
{
    struct str bytes = c->later;
    size_t used;

    c->later = (struct str){ 0 };
    used = conn_feed (c, str_text (&bytes));
    if (used < bytes.n) {
        memmove (bytes.p, bytes.p + used, bytes.n - used);
        bytes.n -= used;
        c->later = bytes;
    } else {
        str_done (&bytes);
    }
}

/* Go on as far as possible. May free c. */
void conn_step (struct http_conn *c)
{
    int rc;

    if (c->in_step)
        return;
    c->in_step = true;
    for (;;) {
        if (c->request && c->request->out->ready) {
            if (c->phase == CONN_CLOSED) {
                request_end (c);
                conn_free (c);
                return;
            }
            if (c->phase != CONN_WRITE)
                conn_phase_set (c, CONN_WRITE);
            if ((rc = conn_write (c)) == 0) {
                conn_watch (c, LOOP_WRITE);
                break;
            }
            if (rc < 0) {
                conn_drop (c);
                return;
            }
            if ((rc = conn_next (c)) < 0)
                return;
            if (rc == 0)
                break;
        }
        if (c->phase >= CONN_WORK || c->paused || !c->later.n)
            break;
        feed_later (c);
        if (c->phase < CONN_WORK && !c->paused && !c->later.n && !(c->request && c->request->out->ready))
            break;
    }
    c->in_step = false;
    if (c->phase < CONN_WORK && c->eof && !c->paused && !(c->request && c->request->out->ready)) {
        conn_drop (c);
        return;
    }
    if (c->phase <= CONN_WORK)
        conn_watch (c, c->paused || c->eof || c->later.n >= c->server->limits.trailing ? 0 : LOOP_READ);
}

static void conn_eof (struct http_conn *c)
{
    c->eof = true;
    conn_watch (c, 0);
    if (c->phase == CONN_WORK && c->request)
        tell_gone (c);
    else if (c->phase == CONN_LINGER || c->phase < CONN_WORK)
        conn_drop (c);
}

static void conn_read (struct http_conn *c)
{
    struct text in = { c->server->buffer, 0 };
    ssize_t n = recv (c->fd, c->server->buffer, CONN_READ_BYTES, 0);
    size_t used;

    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (n < 0) {
        conn_drop (c);
        return;
    }
    if (n == 0) {
        conn_eof (c);
        return;
    }
    if (c->phase == CONN_LINGER)
        return;
    in.n = (size_t)n;
    if (c->phase == CONN_BODY || c->phase == CONN_HEAD)
        c->deadline = c->phase == CONN_BODY ? clock_monotonic () + c->server->limits.body_ms : c->deadline;
    c->in_step = true;
    used = c->later.n ? 0 : conn_feed (c, in);
    if (used < in.n && !c->early)
        str_add (&c->later, in.p + used, in.n - used);
    c->in_step = false;
    conn_step (c);
}

void conn_on_socket (int fd, int events, void *arg)
{
    struct http_conn *c = arg;

    (void)fd;
    if ((events & LOOP_WRITE) && c->phase == CONN_WRITE) {
        c->deadline = clock_monotonic () + c->server->limits.body_ms;
        conn_step (c);
    } else if ((events & LOOP_READ) && c->phase != CONN_WRITE) {
        conn_read (c);
    }
}

/* -- time */
void conn_late (struct http_conn *c)
{
    switch (c->phase) {
        case CONN_HEAD:
        case CONN_BODY:
            c->in_step = true; /* an answer that is given at once waits for the step below */
            conn_break (c, 408,
                        c->phase == CONN_HEAD ? "the request head took too long" : "the body took too long");
            c->in_step = false;
            conn_step (c);
            break;
        default:
            conn_drop (c);
    }
}

void conn_cut (struct http_conn *c)
{
    conn_hang_up (c);
    request_end (c);
    conn_free (c);
}
