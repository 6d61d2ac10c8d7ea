/* queue_bench.c - how many tasks a second a running server creates, enqueues and hands out.
 *
 *     queue_bench PORT TOKEN [CONNECTIONS] [SECONDS]
 *
 * CONNECTIONS threads, each with one keep-alive connection and one request under way: tasks.create, then tasks.enqueue
 * of that task, for SECONDS; then x_queues.claim until the queue is empty. Out: one JSON object a line. All calls are
 * durable before they are answered.
 */
#include "base/file.h"
#include "base/id.h"
#include "base/json.h"

#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <time.h>

enum { CONNECTIONS_MAX = 1024 };

static int port;
static const char *token;
static char queue[64];
static atomic_bool stop;

struct connection {
    int fd;
    struct arena *arena;
    struct str in;
    int64_t done;
    pthread_t thread;
};

static double now_s (void)
{
    struct timespec t;

    clock_gettime (CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void die (const char *what, struct text words)
{
    fprintf (stderr, "queue_bench: %s: %.*s\n", what, (int)(words.n > 600 ? 600 : words.n), words.p);
    exit (1);
}

static void connection_open (struct connection *c)
{
    struct sockaddr_in to = { .sin_family = AF_INET, .sin_port = htons ((uint16_t)port) };
    int one = 1;

    to.sin_addr.s_addr = htonl (INADDR_LOOPBACK);
    *c = (struct connection){ .fd = socket (AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0),
                              .arena = arena_create () };
    if (c->fd < 0 || connect (c->fd, (struct sockaddr *)&to, sizeof (to)) < 0)
        die ("connect", TEXT ("is the server there?"));
    setsockopt (c->fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof (one));
}

/* One whole answer into c->in; its body. */
static struct text receive (struct connection *c)
{
    size_t head = 0, length = 0;

    str_reset (&c->in);
    while (!head || c->in.n < head + length) {
        ssize_t n = recv (c->fd, str_room (&c->in, 65536), 65536, 0);
        char *end, *field;

        if (n <= 0)
            die ("receive", TEXT ("the connection ended"));
        c->in.n += (size_t)n;
        *str_room (&c->in, 1) = '\0';
        if (!head && (end = strstr (c->in.p, "\r\n\r\n"))) {
            head = (size_t)(end - c->in.p) + 4;
            field = strcasestr (c->in.p, "content-length:");
            length = field ? strtoul (field + 15, NULL, 10) : 0;
        }
    }
    return (struct text){ c->in.p + head, length };
}

/* The `data` of the answer. */
static struct text call (struct connection *c, const char *name, const char *body)
{
    cleanup_str struct str out = { 0 };
    struct error err = { 0 };
    struct text answer;

    str_addf (&out,
              "POST /v2.34/%s HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer %s\r\n"
              "Content-Type: application/json\r\nContent-Length: %zu\r\n\r\n%s",
              name, token, strlen (body), body);
    if (fd_write (c->fd, out.p, out.n, "request", &err) < 0)
        die (name, text_of (err.text));
    answer = receive (c);
    if (strncmp (c->in.p, "HTTP/1.1 200", 12) != 0 || json_check (answer, &answer, &err) < 0)
        die (name, answer);
    return json_get (answer, "data");
}

static void *fill (void *arg)
{
    struct connection *c = arg;

    while (!atomic_load (&stop)) {
        char body[256], task[64];
        struct text id;

        id = json_get (call (c, "tasks.create", "{\"name\":\"bench task\",\"type\":\"training\"}"), "id");
        snprintf (task, sizeof (task), "%.*s", (int)id.n, id.p);
        snprintf (body, sizeof (body), "{\"task\":%s,\"queue\":\"%s\"}", task, queue);
        call (c, "tasks.enqueue", body);
        c->done++;
    }
    return NULL;
}

static void *empty (void *arg)
{
    struct connection *c = arg;

    for (;;) {
        struct id token_id = id_random ();
        char body[256];

        snprintf (body, sizeof (body), "{\"queues\":[\"%s\"],\"worker\":\"bench\",\"token\":\"%s\"}", queue,
                  token_id.hex);
        if (!json_get (call (c, "x_queues.claim", body), "task").p)
            return NULL;
        c->done++;
    }
}

static void run (const char *name, struct connection *c, int n, void *(*fn) (void *), double seconds)
{
    double start = now_s ();
    int64_t done = 0;

    for (int i = 0; i < n; i++) {
        c[i].done = 0;
        if (pthread_create (&c[i].thread, NULL, fn, &c[i]))
            die ("start a thread", TEXT (""));
    }
    if (seconds > 0) {
        nanosleep (&(struct timespec){ (time_t)seconds, (long)((seconds - (double)(time_t)seconds) * 1e9) },
                   NULL);
        atomic_store (&stop, true);
    }
    for (int i = 0; i < n; i++) {
        pthread_join (c[i].thread, NULL);
        done += c[i].done;
    }
    printf ("{\"bench\":\"%s\",\"connections\":%d,\"tasks\":%lld,\"per_s\":%.0f}\n", name, n, (long long)done,
            (double)done / (now_s () - start));
}

int main (int argc, char **argv)
{
    static struct connection c[CONNECTIONS_MAX];
    int n = argc > 3 ? atoi (argv[3]) : 64;
    double seconds = argc > 4 ? atof (argv[4]) : 3;
    struct id name = id_random ();
    char body[128];
    struct text id;

    if (argc < 3 || n < 1 || n > CONNECTIONS_MAX) {
        fprintf (stderr, "usage: queue_bench PORT TOKEN [CONNECTIONS 1..%d] [SECONDS]\n", CONNECTIONS_MAX);
        return 2;
    }
    port = atoi (argv[1]);
    token = argv[2];
    for (int i = 0; i < n; i++)
        connection_open (&c[i]);
    snprintf (body, sizeof (body), "{\"name\":\"bench-%s\"}", name.hex);
    id = json_get (call (&c[0], "queues.create", body), "id");
    snprintf (queue, sizeof (queue), "%.*s", (int)id.n - 2, id.p + 1);
    run ("create and enqueue", c, n, fill, seconds);
    run ("claim", c, n, empty, 0);
    for (int i = 0; i < n; i++) {
        close (c[i].fd);
        arena_destroy (c[i].arena);
        str_done (&c[i].in);
    }
    return 0;
}
