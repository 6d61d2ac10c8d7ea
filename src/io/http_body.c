/* http_body.c - what a handler calls while its request is in work: how the body is read, with back-pressure, and whether
 * the client is still there. See http_server.h. */
#include "io/http_conn.h"

#include "base/clock.h"

void conn_answer_here (struct http_request *r)
{
    struct http_conn *c = r->conn;

    r->out->ready = true;
    r->out->gone = NULL;
    if (c->phase == CONN_BODY) /* answered before the body was complete */
        c->early = r->chunked || r->content_length > 0;
    c->paused = false;
    conn_step (c);
}

void http_read_body (struct http_request *r, size_t max, void (*done) (struct http_request *r, void *arg),
                     void *arg)
{
    r->conn->mode = BODY_READ;
    r->out->read_done = done;
    r->out->arg = arg;
    r->out->max = max;
    if (r->content_length > 0 && (uint64_t)r->content_length <= max)
        str_room (&r->body_bytes, r->content_length < 262144 ? (size_t)r->content_length : 262144);
}

void http_stream_body (struct http_request *r, uint64_t max, const struct http_sink *sink, void *arg)
{
    r->conn->mode = BODY_STREAM;
    r->out->sink = sink;
    r->out->arg = arg;
    r->out->max = max;
}

void http_body_pause (struct http_request *r)
{
    r->conn->paused = true;
    r->conn->deadline = 0;
    if (!r->conn->in_step)
        conn_watch (r->conn, 0);
}

static void resume_here (void *arg)
{
    struct http_conn *c = ((struct http_request *)arg)->conn;

    c->paused = false;
    if (c->end_waits) {
        c->end_waits = false;
        c->in_step = true;
        c->request->out->sink->on_end (c->request, c->request->out->arg);
        c->in_step = false;
    }
    if (c->phase == CONN_BODY)
        c->deadline = clock_monotonic () + c->server->limits.body_ms;
    conn_step (c);
}

void http_body_resume (struct http_request *r)
{
    if (pthread_equal (pthread_self (), r->conn->server->thread))
        resume_here (r);
    else
        loop_post (r->conn->server->loop, resume_here, r);
}

void http_on_gone (struct http_request *r, void (*fn) (struct http_request *r, void *arg), void *arg)
{
    r->out->gone = fn;
    r->out->gone_arg = arg;
}

int http_abort_reason (const struct http_request *r, const char **ret_words)
{
    *ret_words = r->out->abort_words;
    return r->out->abort_status;
}

bool http_is_gone (const struct http_request *r)
{
    return r->conn->phase == CONN_CLOSED || r->conn->eof;
}
