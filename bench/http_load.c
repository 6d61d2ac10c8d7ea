/* http_load.c - one request over and over on keep-alive connections, each of which waits for its answer.
 *
 *     TOKEN=... http_load PORT CONNECTIONS SECONDS PATH BODY     BODY may be ""
 *     http_load PORT CONNECTIONS SECONDS idle                    opens connections, one request each, then holds them
 *
 * Out: one JSON line: requests a second, median and 99th percentile of the answer time in microseconds.
 */
#include "base/clock.h"
#include "base/str.h"

#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { SAMPLES = 2000000 };

struct connection {
    int port;
    int64_t until, requests;
    const struct str *request;
    int32_t *us;
};

static void die (const char *words)
{
    perror (words);
    exit (1);
}

static int open_connection (int port)
{
    struct sockaddr_in to = { .sin_family = AF_INET, .sin_port = htons ((uint16_t)port) };
    int fd = socket (AF_INET, SOCK_STREAM, 0), one = 1;

    to.sin_addr.s_addr = htonl (INADDR_LOOPBACK);
    if (fd < 0 || connect (fd, (struct sockaddr *)&to, sizeof (to)) < 0)
        die ("connect");
    setsockopt (fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof (one));
    return fd;
}

/* One request and its whole answer, which must be a 200. */
static void ask (int fd, const struct str *request)
{
    static _Thread_local char b[1 << 20];
    size_t n = 0, want = 0;

    if (write (fd, request->p, request->n) != (ssize_t)request->n)
        die ("write");
    while (!want || n < want) {
        ssize_t got = read (fd, b + n, sizeof (b) - 1 - n);
        char *end, *length;

        if (got <= 0)
            die ("read");
        b[n += (size_t)got] = 0;
        if (want || !(end = strstr (b, "\r\n\r\n")) || !(length = strstr (b, "Content-Length: ")))
            continue;
        want = (size_t)(end + 4 - b) + strtoul (length + 16, NULL, 10);
        if (strncmp (b, "HTTP/1.1 200", 12)) {
            fprintf (stderr, "%s\n", b);
            exit (1);
        }
    }
}

static void *run (void *arg)
{
    struct connection *c = arg;
    int fd = open_connection (c->port);

    while (clock_now_us () < c->until && c->requests < SAMPLES) {
        int64_t start = clock_now_us ();

        ask (fd, c->request);
        c->us[c->requests++] = (int32_t)(clock_now_us () - start);
    }
    close (fd);
    return NULL;
}

static int compare (const void *a, const void *b)
{
    return *(const int32_t *)a < *(const int32_t *)b ? -1 : *(const int32_t *)a > *(const int32_t *)b;
}

static void report (struct connection *c, int n, double seconds)
{
    int64_t total = 0;
    int32_t *all;

    for (int i = 0; i < n; i++)
        total += c[i].requests;
    all = malloc ((size_t)total * sizeof (*all) + 1);
    total = 0;
    for (int i = 0; i < n; i++) {
        memcpy (all + total, c[i].us, (size_t)c[i].requests * sizeof (*all));
        total += c[i].requests;
    }
    qsort (all, (size_t)total, sizeof (*all), compare);
    printf ("{\"per_s\": %.0f, \"p50_us\": %d, \"p99_us\": %d}\n", (double)total / seconds, all[total / 2],
            all[total * 99 / 100]);
    free (all);
}

static void hold (int port, int n, int seconds)
{
    static const char text[] = "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n";
    struct str request = { (char *)(uintptr_t)text, sizeof (text) - 1, 0, NULL };

    for (int i = 0; i < n; i++)
        ask (open_connection (port), &request);
    printf ("{\"held\": %d}\n", n);
    fflush (stdout);
    sleep ((unsigned)seconds);
}

int main (int argc, char **argv)
{
    int port = argc > 1 ? atoi (argv[1]) : 0, n = argc > 2 ? atoi (argv[2]) : 0,
        seconds = argc > 3 ? atoi (argv[3]) : 0;
    const char *token = getenv ("TOKEN"), *body = argc > 5 ? argv[5] : "";
    struct connection *c = calloc ((size_t)n + 1, sizeof (*c));
    pthread_t *threads = calloc ((size_t)n + 1, sizeof (*threads));
    struct str request = { 0 };

    if (argc < 5 || !c || !threads)
        return 2;
    if (!strcmp (argv[4], "idle")) {
        hold (port, n, seconds);
        return 0;
    }
    str_addf (&request, "POST %s HTTP/1.1\r\nHost: localhost\r\n", argv[4]);
    if (token)
        str_addf (&request, "Authorization: Bearer %s\r\n", token);
    str_addf (&request, "Content-Type: application/json\r\nContent-Length: %zu\r\n\r\n%s", strlen (body),
              body);
    for (int i = 0; i < n; i++) {
        c[i] = (struct connection){ port, clock_now_us () + seconds * 1000000LL, 0, &request,
                                    malloc (SAMPLES * sizeof (int32_t)) };
        pthread_create (&threads[i], NULL, run, &c[i]);
    }
    for (int i = 0; i < n; i++)
        pthread_join (threads[i], NULL);
    report (c, n, seconds);
    return 0;
}
