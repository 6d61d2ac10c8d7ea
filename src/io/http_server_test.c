/* http_server_test.c - the server with a loop of its own in a thread and clients by hand: what needs short limits (slow
 * and silent clients), answers from other threads, back-pressure, clients that go away. */
#include "base/unit.h"
#include "io/http_server.h"
#include "io/pool.h"

#include <arpa/inet.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

struct world {
    struct loop *loop;
    struct http_server *http;
    struct pool *pool;
    pthread_t thread;
    int port;
    atomic_int gone, aborted, ended;
};
struct ask { /* one request's work, in its arena */
    struct world *world;
    struct http_request *r;
    struct pool_job job;
    uint64_t got;
    atomic_bool resting;
};

static void respond_text (struct http_request *r, const char *text)
{
    http_respond (r, &(struct http_answer){ .status = 200, .type = "text/plain", .body = text_of (text) });
}

static struct ask *ask_of (struct http_request *r, struct world *w)
{
    struct ask *a = arena_new (r->arena, struct ask);

    a->world = w;
    a->r = r;
    return a;
}

/* /echo: the body, from a thread of the pool */
static void echo_job (struct pool_job *job)
{
    struct ask *a = (struct ask *)((char *)job - offsetof (struct ask, job));

    http_respond (a->r, &(struct http_answer){ .status = 200, .type = "text/plain", .body = a->r->body });
}
static void echo_body (struct http_request *r, void *arg)
{
    struct ask *a = arg;

    (void)r;
    a->job.run = echo_job;
    pool_submit (a->world->pool, &a->job);
}

/* /count: how many bytes came; after each piece the socket rests until a thread of the pool says go on */
static void resume_job (struct pool_job *job)
{
    struct ask *a = (struct ask *)((char *)job - offsetof (struct ask, job));

    atomic_store (&a->resting, false);
    http_body_resume (a->r);
}
static void count_data (struct http_request *r, struct text part, void *arg)
{
    struct ask *a = arg;

    a->got += part.n;
    if (atomic_exchange (&a->resting, true))
        return;
    http_body_pause (r);
    a->job.run = resume_job;
    pool_submit (a->world->pool, &a->job);
}
static void count_end (struct http_request *r, void *arg)
{
    struct ask *a = arg;

    (void)arg;
    respond_text (r, arena_printf (r->arena, "%llu", (unsigned long long)a->got));
}
static void count_abort (struct http_request *r, void *arg)
{
    struct ask *a = arg;
    const char *words;
    int status = http_abort_reason (r, &words);

    atomic_fetch_add (&a->world->aborted, 1);
    http_respond (r, &(struct http_answer){ .status = status ? status : 400 });
}
static const struct http_sink counting = { count_data, count_end, count_abort };

/* /sum: how many bytes came, never pausing */
static void sum_data (struct http_request *r, struct text part, void *arg)
{
    (void)r;
    ((struct ask *)arg)->got += part.n;
}
static const struct http_sink summing = { sum_data, count_end, count_abort };

/* /wait: answered only when the client is gone */
static void wait_gone (struct http_request *r, void *arg)
{
    struct ask *a = arg;

    atomic_fetch_add (&a->world->gone, 1);
    respond_text (r, "nobody reads this");
}

static void on_request (struct http_request *r, void *arg)
{
    struct world *w = arg;
    struct ask *a = ask_of (r, w);

    if (text_is (r->path, "/echo"))
        http_read_body (r, 100000, echo_body, a);
    else if (text_is (r->path, "/sum"))
        http_stream_body (r, 10000000, &summing, a);
    else if (text_is (r->path, "/count"))
        http_stream_body (r, 10000000, &counting, a);
    else if (text_is (r->path, "/wait"))
        http_on_gone (r, wait_gone, a);
    else if (text_is (r->path, "/big"))
        http_respond (r, &(struct http_answer){ .status = 200,
                                                .body = { arena_alloc (r->arena, 50000000), 50000000 } });
    else
        respond_text (r, "hello");
}

static void on_ended (struct http_request *r, int status, void *arg)
{
    (void)r;
    (void)status;
    atomic_fetch_add (&((struct world *)arg)->ended, 1);
}

static void *loop_thread (void *arg)
{
    struct world *w = arg;
    struct error err;

    assert_int_equal (loop_run (w->loop, &err), 0);
    return NULL;
}

/* A client that is to be slow is slower than `slow_ms` or `idle_ms`; all others have all the time they need. */
enum { PATIENT_MS = 60000, SHORT_MS = 300 };

static int start_with (void **state, int64_t idle_ms, int64_t slow_ms)
{
    static struct world w;
    struct http_limits limits = http_limits_default;
    struct http_handlers h = { .on_request = on_request, .on_ended = on_ended, .arg = &w };
    struct error err;
    bool loopback;

    w = (struct world){ 0 };
    limits.head_ms = limits.body_ms = slow_ms;
    limits.idle_ms = idle_ms;
    limits.connections = 8;
    assert_int_equal (loop_create (&w.loop, &err), 0);
    assert_int_equal (pool_create (2, &w.pool, &err), 0);
    assert_int_equal (http_server_create (w.loop, &limits, &h, &w.http, &err), 0);
    assert_int_equal (http_server_listen (w.http, "127.0.0.1:0", 0, &w.port, &loopback, &err), 0);
    assert_true (loopback);
    assert_int_equal (pthread_create (&w.thread, NULL, loop_thread, &w), 0);
    *state = &w;
    return 0;
}

static int start (void **state)
{
    return start_with (state, PATIENT_MS, PATIENT_MS);
}

static int start_idle (void **state)
{
    return start_with (state, SHORT_MS, PATIENT_MS);
}

static int start_slow (void **state)
{
    return start_with (state, PATIENT_MS, SHORT_MS);
}

static struct world *drained_world;

static void drained (void *arg)
{
    loop_stop (arg);
}
static void drain (void *arg)
{
    struct world *w = arg;

    http_server_drain (w->http, drained, w->loop);
}

static int stop (void **state)
{
    struct world *w = *state;

    loop_post (w->loop, drain, w);
    pthread_join (w->thread, NULL);
    assert_int_equal (http_server_connections (w->http), 0);
    http_server_destroy (w->http);
    pool_destroy (w->pool);
    loop_destroy (w->loop);
    return 0;
}

/* -- the client's side */
static int dial (struct world *w)
{
    struct sockaddr_in to = { .sin_family = AF_INET, .sin_port = htons ((uint16_t)w->port) };
    struct timeval guard = { .tv_sec = 60 };
    int fd = socket (AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    to.sin_addr.s_addr = htonl (INADDR_LOOPBACK);
    assert_int_equal (connect (fd, (struct sockaddr *)&to, sizeof (to)), 0);
    setsockopt (fd, SOL_SOCKET, SO_RCVTIMEO, &guard, sizeof (guard));
    return fd;
}

static void say (int fd, const char *text)
{
    assert_int_equal (send (fd, text, strlen (text), MSG_NOSIGNAL), (int)strlen (text));
}

/* All until the server closes. */
static char *hear (int fd)
{
    static char b[65536];
    size_t n = 0;
    ssize_t got;

    while ((got = recv (fd, b + n, sizeof (b) - 1 - n, 0)) > 0)
        n += (size_t)got;
    assert_int_equal (got, 0);
    b[n] = 0;
    close (fd);
    return b;
}
#define HEAD(method, path) method " " path " HTTP/1.1\r\nHost: h\r\n"

static void test_idle (void **state)
{
    assert_string_equal (hear (dial (*state)), ""); /* closed without a word */
}

static void test_silent (void **state)
{
    int fd = dial (*state);

    say (fd, HEAD ("GET", "/"));
    assert_non_null (strstr (hear (fd), "HTTP/1.1 408 "));
    fd = dial (*state);
    say (fd, HEAD ("POST", "/echo") "Content-Length: 10\r\n\r\nhalf");
    assert_non_null (strstr (hear (fd), "HTTP/1.1 408 "));
}

static void test_silent_stream (void **state)
{
    struct world *w = *state;
    int fd = dial (w);

    say (fd, HEAD ("POST", "/sum") "Content-Length: 10\r\n\r\nhalf");
    assert_non_null (strstr (hear (fd), "HTTP/1.1 408 "));
    assert_int_equal (atomic_load (&w->aborted), 1);
}

static void test_echo (void **state)
{
    int fd = dial (*state);
    char *all;

    say (fd, HEAD ("POST", "/echo") "Content-Length: 5\r\n\r\nfirst" HEAD (
                 "POST", "/echo") "Transfer-Encoding: chunked\r\nConnection: "
                                  "close\r\n\r\n3\r\nsec\r\n3\r\nond\r\n0\r\n\r\n");
    all = hear (fd);
    assert_non_null (strstr (all, "\r\n\r\nfirstHTTP/1.1 200 OK\r\n"));
    assert_non_null (strstr (all, "\r\n\r\nsecond"));
}

static void test_back_pressure (void **state)
{
    int fd = dial (*state);
    char *block = malloc (5000000);

    memset (block, 'x', 5000000);
    say (fd, HEAD ("POST", "/count") "Content-Length: 5000000\r\nConnection: close\r\n\r\n");
    for (size_t off = 0, n; off < 5000000; off += n) {
        ssize_t sent = send (fd, block + off, 5000000 - off, MSG_NOSIGNAL);

        assert_true (sent > 0);
        n = (size_t)sent;
    }
    free (block);
    assert_non_null (strstr (hear (fd), "\r\n\r\n5000000"));
}

static void test_too_large (void **state)
{
    struct world *w = *state;
    int fd = dial (w);

    say (fd, HEAD ("POST", "/echo") "Content-Length: 100001\r\n\r\n");
    assert_non_null (strstr (hear (fd), "HTTP/1.1 413 "));
    fd = dial (w);
    say (fd, HEAD ("POST", "/sum") "Content-Length: 10000001\r\n\r\n");
    assert_non_null (strstr (hear (fd), "HTTP/1.1 413 "));
    assert_int_equal (atomic_load (&w->aborted), 1);
}

static void test_answer_before_the_body (void **state)
{
    int fd = dial (*state);
    char *all;

    say (fd, HEAD ("POST", "/hello") "Content-Length: 100\r\n\r\nsome");
    all = hear (fd);
    assert_non_null (strstr (all, "Connection: close"));
    assert_non_null (strstr (all, "hello"));
}

static void test_gone (void **state)
{
    struct world *w = *state;

    for (int i = 0; i < 20; i++) {
        int fd = dial (w);

        say (fd, HEAD ("GET", "/wait") "\r\n");
        close (fd);
    }
    for (int i = 0; i < 60000 && atomic_load (&w->gone) < 20; i++)
        usleep (1000);
    assert_int_equal (atomic_load (&w->gone), 20);
}

/* A client that never reads is cut off; meanwhile others are served. */
static void test_never_reads (void **state)
{
    struct world *w = *state;
    int deaf = dial (w), fd = dial (w);

    say (deaf, HEAD ("GET", "/big") "\r\n");
    say (fd, HEAD ("GET", "/hello") "Connection: close\r\n\r\n");
    assert_non_null (strstr (hear (fd), "hello"));
    for (int i = 0; i < 60000 && atomic_load (&w->ended) < 2; i++)
        usleep (1000);
    assert_int_equal (atomic_load (&w->ended), 2);
    close (deaf);
}

/* More clients than there is room for: who has been idle for longest makes room. */
static void test_crowd (void **state)
{
    int fds[12];

    for (int i = 0; i < 12; i++) {
        fds[i] = dial (*state);
        say (fds[i], HEAD ("GET", "/hello") "\r\n");
        assert_true (recv (fds[i], (char[4096]){ 0 }, 4096, 0) > 0);
    }
    for (int i = 0; i < 4; i++)
        assert_string_equal (hear (fds[i]), "");
    for (int i = 4; i < 12; i++)
        close (fds[i]);
}

/* The client was faster than the order to end: one who has come and asked is answered, also on a connection that was idle. */
static void ask_and_drain (void *arg)
{
    int *fds = arg;

    fds[1] = dial (drained_world);
    for (int i = 0; i < 2; i++)
        say (fds[i], HEAD ("GET", "/hello") "\r\n");
    drain (drained_world);
}

static void test_drain_answers_who_has_asked (void **state)
{
    struct world *w = drained_world = *state;
    int fds[2] = { dial (w) };

    say (fds[0], HEAD ("GET", "/hello") "\r\n");
    assert_true (recv (fds[0], (char[4096]){ 0 }, 4096, 0) > 0);
    loop_post (w->loop, ask_and_drain, fds);
    pthread_join (w->thread, NULL);
    for (int i = 0; i < 2; i++) {
        char *all = hear (fds[i]);

        assert_non_null (strstr (all, "hello"));
        assert_non_null (strstr (all, "Connection: close"));
    }
    assert_int_equal (pthread_create (&w->thread, NULL, loop_thread, w), 0);
}

static void test_listen_errors (void **state)
{
    struct world *w = *state;
    struct error err;
    char busy[32];
    bool loopback;
    int port;

    snprintf (busy, sizeof (busy), "127.0.0.1:%d", w->port);
    assert_int_equal (http_server_listen (w->http, busy, 0, &port, &loopback, &err), -1);
    assert_non_null (strstr (err.text, "is busy"));
    assert_int_equal (http_server_listen (w->http, "nohost", 0, &port, &loopback, &err), -1);
    assert_int_equal (http_server_listen (w->http, "127.0.0.1:70000", 0, &port, &loopback, &err), -1);
    assert_int_equal (http_server_listen (w->http, "::1:80", 0, &port, &loopback, &err), -1);
}

#define T(f)      cmocka_unit_test_setup_teardown (f, start, stop)
#define T_SLOW(f) cmocka_unit_test_setup_teardown (f, start_slow, stop)

int main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown (test_idle, start_idle, stop),
        T_SLOW (test_silent),
        T_SLOW (test_silent_stream),
        T_SLOW (test_never_reads),
        T (test_echo),
        T (test_back_pressure),
        T (test_too_large),
        T (test_answer_before_the_body),
        T (test_gone),
        T (test_crowd),
        T (test_drain_answers_who_has_asked),
        T (test_listen_errors),
    };

    return cmocka_run_group_tests (tests, NULL, NULL);
}
