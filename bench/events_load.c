/* events_load.c - metric events over HTTP: each connection sends batches of 500 events (50 series x 10 iterations of its
 * task) and waits for each answer. Every 20th time (or, with "read", every time) it then asks for the task and checks
 * that last_metrics holds the value just sent.
 *
 *     TOKEN=... events_load PORT SECONDS read|check TASK...      one connection a task
 *
 * Out: one JSON line: events a second, median and 99th percentile of the answer time.
 */
#include "base/clock.h"
#include "base/str.h"

#include <arpa/inet.h>
#include <math.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

enum { SERIES = 50, ITERS = 10, VALUES = 1000, SAMPLES = 1000000 };

struct pieces {
    char head[SERIES][192], tail[96], values[VALUES][32];
};
struct connection {
    int fd, number;
    const char *task, *token;
    int64_t until;
    bool read_always;
    int64_t requests, reads;
    int32_t *us;
};

static void die (const char *words)
{
    perror (words);
    exit (1);
}

static void make_pieces (struct pieces *p, const char *task)
{
    for (int k = 0; k < SERIES; k++)
        snprintf (
            p->head[k], sizeof (p->head[k]),
            "\"type\": \"training_stats_scalar\", \"task\": \"%s\", \"metric\": \"metric_%d\", \"variant\": "
            "\"variant_%d\", \"iter\": ",
            task, k / 5, k % 5);
    strcpy (p->tail, ", \"allow_locked\": false, \"model_event\": false, \"method\": \"get\"}\n");
    for (int i = 0; i < VALUES; i++)
        snprintf (p->values[i], sizeof (p->values[i]), ", \"value\": %.17g", 1.0 / (i + 1));
}

/* The value of the last series at the last iteration is the one that is checked. */
static void make_batch (struct str *s, const struct pieces *p, int64_t first)
{
    str_reset (s);
    for (int64_t i = first; i < first + ITERS; i++) {
        for (int k = 0; k < SERIES; k++) {
            str_puts (s, "{\"timestamp\": ");
            str_add_int (s, 1795973999516LL + i);
            str_puts (s, ", ");
            str_puts (s, p->head[k]);
            str_add_int (s, i);
            str_puts (s, p->values[(i * 7 + k) % VALUES]);
            str_puts (s, p->tail);
        }
    }
}

static int connect_to (int port)
{
    struct sockaddr_in at = { .sin_family = AF_INET, .sin_port = htons ((uint16_t)port) };
    int fd = socket (AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), on = 1;

    at.sin_addr.s_addr = htonl (INADDR_LOOPBACK);
    if (fd < 0 || connect (fd, (struct sockaddr *)&at, sizeof (at)) < 0)
        die ("connect");
    setsockopt (fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof (on));
    return fd;
}

static void send_all (int fd, const char *p, size_t n)
{
    while (n) {
        ssize_t k = send (fd, p, n, MSG_NOSIGNAL);

        if (k <= 0)
            die ("send");
        p += k;
        n -= (size_t)k;
    }
}

/* One answer into s (head and body); its status. */
static int receive (int fd, struct str *s)
{
    size_t want = 0;

    for (str_reset (s);;) {
        ssize_t k = recv (fd, str_room (s, 1 << 16), 1 << 16, 0);
        char *body, *length;

        if (k <= 0)
            die ("recv");
        s->n += (size_t)k;
        s->p[s->n] = 0;
        if (!want && (body = strstr (s->p, "\r\n\r\n"))) {
            length = strcasestr (s->p, "content-length:");
            if (!length || length > body) {
                fprintf (stderr, "no content-length: %.300s\n", s->p);
                exit (1);
            }
            want = (size_t)(body + 4 - s->p) + strtoul (length + 15, NULL, 10);
        }
        if (want && s->n >= want)
            return atoi (s->p + 9);
    }
}

static void request (struct connection *c, const char *path, const char *type, struct text body,
                     struct str *answer)
{
    char head[2048];
    int n =
        snprintf (head, sizeof (head),
                  "POST /v2.23/%s HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: %s\r\nAuthorization: Bearer "
                  "%s\r\nContent-Length: %zu\r\n\r\n",
                  path, type, c->token, body.n);

    send_all (c->fd, head, (size_t)n);
    send_all (c->fd, body.p, body.n);
    if (receive (c->fd, answer) != 200) {
        fprintf (stderr, "%s: %.600s\n", path, answer->p);
        exit (1);
    }
}

/* Does last_metrics hold what was just sent? */
static void check (struct connection *c, const struct pieces *p, int64_t last, struct str *answer)
{
    char body[128], want[256];

    snprintf (body, sizeof (body), "{\"task\":\"%s\"}", c->task);
    request (c, "tasks.get_by_id", "application/json", text_of (body), answer);
    snprintf (want, sizeof (want), "\"metric\":\"metric_%d\",\"variant\":\"variant_%d\",\"value\":%s,",
              (SERIES - 1) / 5, (SERIES - 1) % 5,
              p->values[(last * 7 + SERIES - 1) % VALUES] + strlen (", \"value\": "));
    if (!strstr (answer->p, want)) {
        double got = NAN, sent = strtod (p->values[(last * 7 + SERIES - 1) % VALUES] + 11, NULL);
        char *at;

        snprintf (want, sizeof (want),
                  "\"metric\":\"metric_%d\",\"variant\":\"variant_%d\",\"value\":", (SERIES - 1) / 5,
                  (SERIES - 1) % 5);
        if ((at = strstr (answer->p, want)))
            got = strtod (at + strlen (want), NULL);
        if (got != sent) {
            fprintf (stderr, "last_metrics says %.17g, %.17g was sent\n", got, sent);
            exit (1);
        }
    }
    c->reads++;
}

static void *work (void *arg)
{
    struct pieces *p = malloc (sizeof (*p));
    cleanup_str struct str body = { 0 }, answer = { 0 };
    struct connection *c = arg;

    make_pieces (p, c->task);
    for (int64_t first = 0; clock_now_us () < c->until; first += ITERS) {
        int64_t start;

        make_batch (&body, p, first);
        start = clock_now_us ();
        request (c, "events.add_batch", "application/json-lines", str_text (&body), &answer);
        if (c->requests < SAMPLES)
            c->us[c->requests] = (int32_t)(clock_now_us () - start);
        if (!strstr (answer.p, "\"added\":500,")) {
            fprintf (stderr, "not all were added: %.600s\n", answer.p);
            exit (1);
        }
        if (c->read_always || c->requests % 20 == 0)
            check (c, p, first + ITERS - 1, &answer);
        c->requests++;
    }
    free (p);
    return NULL;
}

static int by_size (const void *a, const void *b)
{
    return *(const int32_t *)a - *(const int32_t *)b;
}

int main (int argc, char **argv)
{
    int port = argc > 4 ? atoi (argv[1]) : 0, seconds = argc > 4 ? atoi (argv[2]) : 0, n = argc - 4;
    struct connection *c;
    pthread_t *threads;
    int32_t *all;
    int64_t start, requests = 0, reads = 0, us;

    if (argc < 5 || !getenv ("TOKEN")) {
        fputs ("TOKEN=... events_load PORT SECONDS read|check TASK...\n", stderr);
        return 2;
    }
    c = calloc ((size_t)n, sizeof (*c));
    threads = calloc ((size_t)n, sizeof (*threads));
    all = calloc ((size_t)n * SAMPLES, sizeof (*all));
    start = clock_now_us ();
    for (int i = 0; i < n; i++) {
        c[i] = (struct connection){ .fd = connect_to (port),
                                    .number = i,
                                    .task = argv[4 + i],
                                    .token = getenv ("TOKEN"),
                                    .until = start + (int64_t)seconds * 1000000,
                                    .read_always = !strcmp (argv[3], "read"),
                                    .us = calloc (SAMPLES, sizeof (int32_t)) };
        pthread_create (&threads[i], NULL, work, &c[i]);
    }
    for (int i = 0; i < n; i++) {
        pthread_join (threads[i], NULL);
        memcpy (all + requests, c[i].us,
                (size_t)(c[i].requests < SAMPLES ? c[i].requests : SAMPLES) * sizeof (*all));
        requests += c[i].requests < SAMPLES ? c[i].requests : SAMPLES;
        reads += c[i].reads;
    }
    us = clock_now_us () - start;
    qsort (all, (size_t)requests, sizeof (*all), by_size);
    printf ("{\"connections\": %d, \"events_per_s\": %.0f, \"requests\": %lld, \"checked\": %lld, "
            "\"p50_ms\": %.2f, "
            "\"p99_ms\": %.2f}\n",
            n, (double)requests * SERIES * ITERS / ((double)us / 1e6), (long long)requests, (long long)reads,
            all[requests / 2] / 1e3, all[requests * 99 / 100] / 1e3);
    return 0;
}
