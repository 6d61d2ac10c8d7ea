/* http_client_test.c - against a small server in a thread: bodies both ways, kept connections, aborts, errors. */
#include "base/unit.h"
#include "io/http_client.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

static int listener, port;
static atomic_int connections;

/* What one path answers; %B = the request's body is sent back. */
static const struct {
    const char *path, *answer;
} pages[] = {
    { "/hello", "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 5\r\n\r\nhello" },
    { "/chunked", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n" },
    { "/busy", "HTTP/1.1 503 Busy\r\nRetry-After: 7\r\nContent-Length: 4\r\n\r\nbusy" },
    { "/moved", "HTTP/1.1 302 Found\r\nLocation: /hello\r\nContent-Length: 4\r\n\r\ngone" },
    { "/cut", "HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\nonly this" },
};

static size_t read_request (int fd, char *buf, size_t room)
{
    size_t n = 0, need = 0;

    for (;;) {
        ssize_t r = recv (fd, buf + n, room - n - 1, 0);
        char *end, *length;

        if (r <= 0)
            return 0;
        n += (size_t)r;
        buf[n] = 0;
        end = strstr (buf, "\r\n\r\n");
        if (!end)
            continue;
        length = strcasestr (buf, "content-length:");
        need = (size_t)(end + 4 - buf) + (length && length < end ? strtoul (length + 15, NULL, 10) : 0);
        if (n >= need)
            return n;
    }
}

static void *talk (void *arg)
{
    int fd = (int)(intptr_t)arg;
    size_t room = 4 << 20;
    char *buf = malloc (room), *answer = malloc (room);
    size_t n;

    while ((n = read_request (fd, buf, room)) > 0) {
        char *path = strchr (buf, ' ') + 1, *body = strstr (buf, "\r\n\r\n") + 4;
        size_t len = strcspn (path, " ?"), out = 0;

        if (!strncmp (path, "/wait", len))
            continue; /* no answer */
        if (!strncmp (path, "/close", len))
            break;
        for (size_t i = 0; i < sizeof (pages) / sizeof (*pages); i++)
            if (strlen (pages[i].path) == len && !strncmp (pages[i].path, path, len))
                out = (size_t)sprintf (answer, "%s", pages[i].answer);
        if (!out) { /* echo: method, authorisation, body */
            char *auth = strcasestr (buf, "authorization: ");
            char head[256] = "";
            size_t size = n - (size_t)(body - buf);

            if (auth && auth < body)
                sscanf (auth, "%*s %200[^\r]", head);
            strcat (head, "|");
            out = (size_t)sprintf (answer, "HTTP/1.1 200 OK\r\nContent-Length: %zu\r\n\r\n%.*s|%s",
                                   (size_t)(path - 1 - buf) + 1 + strlen (head) + size, (int)(path - 1 - buf),
                                   buf, head);
            memcpy (answer + out, body, size);
            out += size;
        }
        for (size_t at = 0; at < out;) {
            ssize_t r = send (fd, answer + at, out - at, MSG_NOSIGNAL);

            if (r <= 0)
                break;
            at += (size_t)r;
        }
        if (!strncmp (path, "/cut", len))
            break;
    }
    close (fd);
    free (buf);
    free (answer);
    return NULL;
}

static void *serve (void *arg)
{
    for (;;) {
        int fd = accept (listener, NULL, NULL);
        pthread_t t;

        if (fd < 0)
            return arg;
        connections++;
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
    setenv ("no_proxy", "127.0.0.1", 1);
    listener = socket (AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (bind (listener, (struct sockaddr *)&sin, sizeof (sin)) || listen (listener, 16) ||
        getsockname (listener, (struct sockaddr *)&sin, &n))
        return -1;
    port = ntohs (sin.sin_port);
    if (pthread_create (&t, NULL, serve, NULL))
        return -1;
    pthread_detach (t);
    return 0;
}

static char *url (const char *path)
{
    static char room[4][128];
    static int at;
    char *p = room[at++ % 4];

    snprintf (p, sizeof (*room), "http://127.0.0.1:%d%s", port, path);
    return p;
}

static void test_plain (void **state)
{
    struct http_client *c = http_client_create (NULL);
    struct http_response r = { 0 };
    struct error err = { 0 };
    int before = connections;

    (void)state;
    assert_int_equal (http_client_send (c, &(struct http_request){ .url = url ("/hello") }, &r, &err), 0);
    assert_int_equal (r.status, 200);
    assert_string_equal (r.body.p, "hello");
    assert_string_equal (r.content_type, "text/plain");
    assert_int_equal (r.content_length, 5);
    str_reset (&r.body);
    assert_int_equal (http_client_send (c, &(struct http_request){ .url = url ("/chunked") }, &r, &err), 0);
    assert_string_equal (r.body.p, "abcde");
    assert_int_equal (http_client_send (c, &(struct http_request){ .url = url ("/busy") }, &r, &err), 0);
    assert_int_equal (r.status, 503);
    assert_int_equal (r.retry_after_ms, 7000);
    assert_int_equal (http_client_send (c, &(struct http_request){ .url = url ("/moved") }, &r, &err), 0);
    assert_int_equal (r.status, 302);
    assert_string_equal (r.location, "/hello");
    assert_int_equal (
        http_client_send (c, &(struct http_request){ .url = url ("/moved"), .redirects = 3 }, &r, &err), 0);
    assert_int_equal (r.status, 200);
    assert_string_equal (r.body.p, "hello");
    assert_int_equal (connections - before, 1); /* all on one kept connection */
    http_client_rest (c);
    assert_int_equal (http_client_send (c, &(struct http_request){ .url = url ("/hello") }, &r, &err), 0);
    str_done (&r.body);
    http_client_destroy (c);
}

static int temporary (const char *text, size_t n)
{
    int fd = memfd_create ("test", MFD_CLOEXEC);

    assert_int_equal (write (fd, text, n), n);
    lseek (fd, 0, SEEK_SET);
    return fd;
}

static void test_bodies (void **state)
{
    struct http_client *c = http_client_create (NULL);
    struct http_response r = { 0 };
    struct error err = { 0 };
    size_t size = 1 << 20;
    char *big = malloc (size);
    int in, out = memfd_create ("out", MFD_CLOEXEC);

    (void)state;
    for (size_t i = 0; i < size; i++)
        big[i] = (char)(i * 31 >> 3);
    assert_int_equal (
        http_client_send (c,
                          &(struct http_request){
                              .url = url ("/x"), .body = TEXT ("data"), .user = "ann", .password = "p:w" },
                          &r, &err),
        0);
    assert_string_equal (r.body.p, "POST|Basic YW5uOnA6dw==|data");
    str_reset (&r.body);
    assert_int_equal (
        http_client_send (c, &(struct http_request){ .url = url ("/x"), .method = "DELETE" }, &r, &err), 0);
    assert_string_equal (r.body.p, "DELETE||");
    in = temporary (big, size);
    assert_int_equal (http_client_send (c,
                                        &(struct http_request){ .url = url ("/x"),
                                                                .method = "PUT",
                                                                .body = TEXT ("<"),
                                                                .body_fd = in,
                                                                .body_fd_size = (int64_t)size,
                                                                .body_tail = TEXT (">"),
                                                                .out_fd = out },
                                        &r, &err),
                      0);
    close (in);
    char *back = malloc (size + 7);
    assert_int_equal (pread (out, back, size + 7, 0), size + 7);
    assert_memory_equal (back, "PUT||<", 6);
    assert_memory_equal (back + 6, big, size);
    assert_int_equal (back[size + 6], '>');
    in = temporary ("short", 5);
    assert_int_equal (
        http_client_send (c, &(struct http_request){ .url = url ("/x"), .body_fd = in, .body_fd_size = 9 },
                          &r, &err),
        -1);
    assert_non_null (strstr (err.text, "became shorter"));
    close (in);
    close (out);
    free (big);
    free (back);
    str_done (&r.body);
    http_client_destroy (c);
}

static void test_failures (void **state)
{
    struct http_client *c = http_client_create (NULL);
    struct http_response r = { 0 };
    struct error err = { 0 };
    int fd = eventfd (1, EFD_CLOEXEC);
    char closed[64];

    (void)state;
    snprintf (closed, sizeof (closed), "http://user:secret@127.0.0.1:1/x?token=secret");
    assert_int_equal (http_client_send (c, &(struct http_request){ .url = closed }, &r, &err), -1);
    assert_int_equal (err.code, ECONNREFUSED);
    assert_null (strstr (err.text, "secret"));
    assert_int_equal (
        http_client_send (c, &(struct http_request){ .url = url ("/wait"), .timeout_ms = 50 }, &r, &err), -1);
    assert_int_equal (err.code, ETIMEDOUT);
    assert_int_equal (
        http_client_send (c, &(struct http_request){ .url = url ("/wait"), .abort_fd = fd }, &r, &err), -1);
    assert_int_equal (err.code, ECANCELED);
    assert_int_equal (http_client_send (c, &(struct http_request){ .url = url ("/close") }, &r, &err), -1);
    assert_int_equal (err.code, EPIPE);
    assert_int_equal (http_client_send (c, &(struct http_request){ .url = url ("/cut") }, &r, &err), -1);
    assert_int_equal (err.code, EPIPE);
    str_reset (&r.body);
    assert_int_equal (
        http_client_send (c, &(struct http_request){ .url = url ("/hello"), .max = 4 }, &r, &err), -1);
    assert_int_equal (err.code, EFBIG);
    assert_int_equal (http_client_send (c, &(struct http_request){ .url = "file:///etc/passwd" }, &r, &err),
                      -1);
    assert_int_equal (err.code, EINVAL);
    close (fd);
    str_done (&r.body);
    http_client_destroy (c);
}

static void test_show (void **state)
{
    static const char *const rows[][2] = {
        { "https://u:p@ss@h:1/a@b?x=1#y", "https://h:1/a@b" },
        { "http://h", "http://h" },
        { "h/x?y", "h/x" },
    };

    (void)state;
    for (size_t i = 0; i < 3; i++) {
        cleanup_str struct str s = { 0 };

        http_url_show (&s, rows[i][0]);
        assert_string_equal (s.p, rows[i][1]);
    }
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (test_plain),
        cmocka_unit_test (test_bodies),
        cmocka_unit_test (test_failures),
        cmocka_unit_test (test_show),
    };
    return cmocka_run_group_tests (tests, start, NULL);
}
