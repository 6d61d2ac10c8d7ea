/* client_test.c - against a scripted server in a thread: login, renewal, 401, repeats, refusals, features. */
#include "base/clock.h"
#include "base/unit.h"
#include "client/client.h"

#include <arpa/inet.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

static int listener, port;
static atomic_int logins, calls, refused, infos; /* a call that was given up may be counted late */
static atomic_int away, no_token; /* away: how many times to give `away_answer`; no_token: how many 401 */
static const char *away_answer;
static atomic_long token_life = 1000000, skew; /* of the server's clock, s */
#define BUSY "HTTP/1.1 503 Busy\r\nContent-Length: 4\r\n\r\nbusy"
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static char last[4096]; /* the last request */

static void put64 (struct str *s, const char *p)
{
    static const char d[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    size_t n = strlen (p);

    for (size_t i = 0; i < n; i += 3) {
        unsigned v = (unsigned char)p[i] << 16 | (i + 1 < n ? (unsigned char)p[i + 1] << 8 : 0) |
                     (i + 2 < n ? (unsigned char)p[i + 2] : 0);

        str_putc (s, d[v >> 18]);
        str_putc (s, d[v >> 12 & 63]);
        if (i + 1 < n)
            str_putc (s, d[v >> 6 & 63]);
        if (i + 2 < n)
            str_putc (s, d[v & 63]);
    }
}

static void answer (struct str *out, int status, int code, int sub, const char *msg, const char *data)
{
    cleanup_str struct str body = { 0 };

    str_addf (&body,
              "{\"meta\":{\"result_code\":%d,\"result_subcode\":%d,\"result_msg\":\"%s\"},\"data\":%s}", code,
              sub, msg, data);
    str_addf (out, "HTTP/1.1 %d X\r\nContent-Length: %zu\r\n\r\n%s", status, body.n, body.p);
}

static void reply (struct str *out, const char *path)
{
    cleanup_str struct str claims = { 0 }, data = { 0 };
    long now = (long)(clock_now () / 1000) + skew;

    if (!strncmp (path, "/auth.login ", 12)) {
        logins++;
        str_addf (&claims,
                  "{\"exp\":%ld,\"iat\":%ld,\"api_version\":\"2.34\",\"identity\":{\"user\":\"u1\"}}",
                  now + token_life, now);
        str_puts (&data, "{\"token\":\"h.");
        put64 (&data, claims.p);
        str_addf (&data, ".s%d\"}", (int)logins);
        answer (out, 200, 200, 0, "OK", data.p);
        return;
    }
    calls++;
    if (away > 0) {
        away--;
        str_puts (out, away_answer);
    } else if (no_token > 0) {
        no_token--;
        answer (out, 401, 401, 30, "Unauthorized (invalid token)", "{}");
    } else if (strstr (path, "/tasks.bad ")) {
        refused++;
        answer (out, 400, 400, 101, "Invalid task id: id=x, company=d", "{}");
    } else if (!strncmp (path, "/server.info ", 13)) {
        infos++;
        answer (out, 200, 200, 0, "OK", "{\"x_features\":{\"claim\":2,\"x_events.log\":1}}");
    } else {
        answer (out, 200, 200, 0, "OK", "{\"n\":1}");
    }
}

static void *talk (void *arg)
{
    int fd = (int)(intptr_t)arg;
    char buf[8192];
    size_t n = 0;

    for (;;) {
        ssize_t r = recv (fd, buf + n, sizeof (buf) - n - 1, 0);
        cleanup_str struct str out = { 0 };
        char *end, *length;

        if (r <= 0)
            break;
        n += (size_t)r;
        buf[n] = 0;
        end = strstr (buf, "\r\n\r\n");
        length = strcasestr (buf, "content-length:");
        if (!end || n < (size_t)(end + 4 - buf) + (length ? strtoul (length + 15, NULL, 10) : 0))
            continue;
        pthread_mutex_lock (&lock);
        snprintf (last, sizeof (last), "%s", buf);
        pthread_mutex_unlock (&lock);
        reply (&out, strchr (buf, ' ') + 1);
        if (send (fd, out.p, out.n, MSG_NOSIGNAL) < 0)
            break;
        n = 0;
    }
    close (fd);
    return NULL;
}

static void *serve (void *arg)
{
    for (;;) {
        int fd = accept (listener, NULL, NULL);
        pthread_t t;

        if (fd < 0)
            return arg;
        if (!pthread_create (&t, NULL, talk, (void *)(intptr_t)fd))
            pthread_detach (t);
    }
}

static int start (void **state)
{
    struct sockaddr_in sin = { .sin_family = AF_INET, .sin_addr.s_addr = htonl (INADDR_LOOPBACK) };
    socklen_t n = sizeof (sin);
    pthread_t t;

    (void)state;
    clearenv ();
    setenv ("HOME", "/nonexistent", 1);
    setenv ("XDG_DATA_HOME", "/nonexistent", 1); /* as root, home_data is a folder of this machine */
    listener = socket (AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (bind (listener, (struct sockaddr *)&sin, sizeof (sin)) || listen (listener, 16) ||
        getsockname (listener, (struct sockaddr *)&sin, &n) || pthread_create (&t, NULL, serve, NULL))
        return -1;
    port = ntohs (sin.sin_port);
    pthread_detach (t);
    return 0;
}

static struct client *client_of (struct arena *a, int to)
{
    const struct conf *conf;
    struct client *c = NULL;
    struct error err = { 0 };

    setenv ("CLEARML_API_HOST", arena_printf (a, "http://127.0.0.1:%d/", to), 1);
    setenv ("CLEARML_API_ACCESS_KEY", "KEY", 1);
    setenv ("CLEARML_API_SECRET_KEY", "SECRET", 1);
    if (conf_load (a, NULL, &conf, &err) < 0 || client_create (conf, &c, &err) < 0)
        fail_msg ("%s", err.text);
    logins = calls = away = no_token = 0;
    token_life = 1000000;
    skew = 0;
    away_answer = BUSY;
    return c;
}

static void test_login (void **state)
{
    cleanup_arena struct arena *a = arena_create ();
    struct client *c = client_of (a, port), *other;
    struct error err = { 0 };
    struct text data;

    (void)state;
    assert_null (client_claim (c, a, "api_version"));
    assert_int_equal (client_call (c, a, "tasks.get_all", 2023, TEXT ("{\"a\":1}"), &data, &err), 0);
    assert_true (text_is (data, "{\"n\":1}"));
    pthread_mutex_lock (&lock);
    assert_non_null (strstr (last, "POST /v2.23/tasks.get_all HTTP/1.1\r\n"));
    assert_non_null (strstr (last, "Content-Type: application/json\r\n"));
    assert_non_null (strstr (last, "Authorization: Bearer h."));
    assert_non_null (strstr (last, "\r\n\r\n{\"a\":1}"));
    pthread_mutex_unlock (&lock);
    assert_string_equal (client_claim (c, a, "api_version"), "2.34");
    assert_string_equal (client_claim (c, a, "identity.user"), "u1");
    assert_null (client_claim (c, a, "identity.nobody"));
    other = client_share (c);
    assert_int_equal (client_call (other, a, "tasks.get_all", 0, TEXT ("{}"), &data, &err), 0);
    client_destroy (c);
    assert_int_equal (client_call (other, a, "tasks.get_all", 0, TEXT ("{}"), &data, &err), 0);
    assert_int_equal (logins, 1); /* one login for both */
    client_destroy (other);
}

static void test_renewal (void **state)
{
    cleanup_arena struct arena *a = arena_create ();
    struct client *c = client_of (a, port);
    struct error err = { 0 };
    struct text data;

    (void)state;
    token_life = 1000;
    assert_int_equal (client_call (c, a, "x.y", 0, TEXT ("{}"), &data, &err), 0);
    clock_turn (800 * 1000);
    assert_int_equal (client_call (c, a, "x.y", 0, TEXT ("{}"), &data, &err), 0);
    assert_int_equal (logins, 1); /* short tokens are used while they are good */
    clock_turn (150 * 1000);
    assert_int_equal (client_call (c, a, "x.y", 0, TEXT ("{}"), &data, &err), 0);
    assert_int_equal (logins, 2); /* and renewed before they end */
    no_token = 1;
    assert_int_equal (client_call (c, a, "x.y", 0, TEXT ("{}"), &data, &err), 0);
    assert_int_equal (logins, 3); /* revoked: once more */
    no_token = 2;
    assert_int_equal (client_call (c, a, "x.y", 0, TEXT ("{}"), &data, &err), -1);
    assert_int_equal (logins, 4); /* and not for ever */
    assert_true (client_refused (&err, 401));
    client_set_patience (c, CLIENT_FOREVER);
    no_token = 3;
    assert_int_equal (client_call (c, a, "x.y", 0, TEXT ("{}"), &data, &err),
                      0); /* who may wait asks more often */
    assert_int_equal (logins, 7);
    client_destroy (c);
    clock_turn (-950 * 1000);
}

/* Clocks that are hours apart, and one that is set. */
static void test_clocks (void **state)
{
    cleanup_arena struct arena *a = arena_create ();
    struct error err = { 0 };
    struct text data;

    (void)state;
    for (long apart = -20000; apart <= 20000; apart += 10000) {
        struct client *c = client_of (a, port);

        token_life = 1000;
        skew = apart;
        for (int i = 0; i < 3; i++)
            assert_int_equal (client_call (c, a, "x.y", 0, TEXT ("{}"), &data, &err), 0);
        assert_int_equal (logins, 1);
        clock_turn (950 * 1000);
        assert_int_equal (client_call (c, a, "x.y", 0, TEXT ("{}"), &data, &err), 0);
        assert_int_equal (logins, 2);
        clock_turn (-950 * 1000);
        client_destroy (c);
    }
}

/* A wish that is not answered by the server itself has decided nothing, and is repeated. */
static void test_in_place_of_the_server (void **state)
{
    static const struct {
        const char *answer;
        int code;
    } rows[] = {
        { "HTTP/1.1 500 X\r\nContent-Length: 30\r\n\r\n{\"meta\":{\"result_code\":500}}  ", 5000000 },
        { "HTTP/1.1 500 X\r\nContent-Length: 4\r\n\r\n<h1>", 5000000 + CLIENT_FOREIGN },
        { "HTTP/1.1 504 X\r\nContent-Length: 4\r\n\r\n<h1>", 5040000 + CLIENT_FOREIGN },
        { "HTTP/1.1 404 X\r\nContent-Length: 4\r\n\r\n<h1>", 4040000 + CLIENT_FOREIGN },
        { "HTTP/1.1 404 X\r\nContent-Length: 14\r\n\r\n{\"error\":\"no\"}", 4040000 + CLIENT_FOREIGN },
        { "HTTP/1.1 400 X\r\nContent-Length: 4\r\n\r\n<h1>", 4000000 + CLIENT_FOREIGN },
        { "HTTP/1.1 200 X\r\nContent-Length: 4\r\n\r\n<h1>", 5020000 + CLIENT_FOREIGN },
        { "HTTP/1.1 302 X\r\nLocation: /login\r\nContent-Length: 0\r\n\r\n", 5020000 + CLIENT_FOREIGN },
        { "SSH-2.0-OpenSSH_9.2\r\n", EPIPE },
    };
    cleanup_arena struct arena *a = arena_create ();

    (void)state;
    for (size_t i = 0; i < sizeof (rows) / sizeof (*rows); i++) {
        struct client *c = client_of (a, port);
        struct error err = { 0 };
        struct text data;

        client_set_patience (c, CLIENT_PATIENT);
        away_answer = rows[i].answer;
        away = 2;
        assert_int_equal (client_call (c, a, "x.y", 0, TEXT ("{}"), &data, &err), 0);
        assert_true (text_is (data, "{\"n\":1}"));
        client_set_patience (c, CLIENT_ONCE);
        away = 1;
        assert_int_equal (client_feature (c, "claim", &err), -1);
        assert_int_equal (err.code, rows[i].code);
        assert_true (client_undecided (&err));
        assert_false (client_refused (&err, 400) || client_refused (&err, 404));
        assert_int_equal (client_feature (c, "claim", &err), 2);
        client_destroy (c);
    }
}

static void test_repeats (void **state)
{
    cleanup_arena struct arena *a = arena_create ();
    struct client *c = client_of (a, port);
    struct error err = { 0 };
    struct text data;
    int fd = eventfd (1, EFD_CLOEXEC);

    (void)state;
    away = 2;
    assert_int_equal (client_call (c, a, "x.y", 0, TEXT ("{}"), &data, &err), 0);
    assert_int_equal (calls, 3);
    away = 100;
    client_set_patience (c, CLIENT_ONCE);
    assert_int_equal (client_call (c, a, "x.y", 0, TEXT ("{}"), &data, &err), -1);
    assert_int_equal (calls, 4);
    assert_int_equal (err.code, 5030000 + CLIENT_FOREIGN);
    client_set_patience (c, CLIENT_FOREVER);
    client_set_abort (c, fd);
    assert_int_equal (client_call (c, a, "x.y", 0, TEXT ("{}"), &data, &err),
                      -1); /* ends because it is told to */
    assert_int_equal (err.code, ECANCELED);
    away = 0;
    client_set_abort (c, 0);
    assert_int_equal (client_call (c, a, "tasks.bad", 2005, TEXT ("{}"), &data, &err), -1);
    assert_int_equal (refused, 1); /* a refusal is not repeated */
    assert_int_equal (err.code, 4000101);
    assert_string_equal (err.text, "tasks.bad: Invalid task id: id=x, company=d");
    close (fd);
    client_destroy (c);
}

static void test_features (void **state)
{
    cleanup_arena struct arena *a = arena_create ();
    struct client *c = client_of (a, port);
    struct error err = { 0 };
    int before = infos;

    (void)state;
    assert_int_equal (client_feature (c, "claim", &err), 2);
    assert_int_equal (client_feature (c, "x_queues.claim", &err), 2);
    assert_int_equal (client_feature (c, "log", &err), 1);
    assert_int_equal (client_feature (c, "x_events.log", &err), 1);
    assert_int_equal (client_feature (c, "x_other", &err), 0);
    assert_int_equal (infos, before + 1);
    client_destroy (c);
}

static void test_unusable (void **state)
{
    cleanup_arena struct arena *a = arena_create ();
    struct client *c = client_of (a, 1);
    struct error err = { 0 };
    const struct conf *conf;

    (void)state;
    client_set_patience (c, CLIENT_ONCE);
    assert_int_equal (client_login (c, &err), -1);
    assert_int_equal (err.code, ECONNREFUSED);
    assert_int_equal (client_feature (c, "claim", &err), -1);
    assert_int_equal (err.code, ECONNREFUSED);
    client_destroy (c);
    setenv ("CLEARML_API_HOST", "localhost:8008", 1);
    assert_int_equal (conf_load (a, NULL, &conf, &err), 0);
    assert_int_equal (client_create (conf, &c, &err), -1);
    assert_non_null (strstr (err.text, "must begin with http://"));
    unsetenv ("CLEARML_API_HOST");
    assert_int_equal (conf_load (a, NULL, &conf, &err), 0);
    assert_int_equal (client_create (conf, &c, &err), -1);
    assert_non_null (strstr (err.text, "stoker up"));
    setenv ("CLEARML_API_HOST", "http://localhost", 1);
    unsetenv ("CLEARML_API_SECRET_KEY");
    assert_int_equal (conf_load (a, NULL, &conf, &err), 0);
    assert_int_equal (client_create (conf, &c, &err), -1);
    assert_non_null (strstr (err.text, "no credentials for http://localhost"));
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (test_login),
        cmocka_unit_test (test_renewal),
        cmocka_unit_test (test_repeats),
        cmocka_unit_test (test_clocks),
        cmocka_unit_test (test_in_place_of_the_server),
        cmocka_unit_test (test_features),
        cmocka_unit_test (test_unusable),
    };
    return cmocka_run_group_tests (tests, start, NULL);
}
