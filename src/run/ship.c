/* ship.c - see ship.h. In: spool and posted calls. Out: events.add_batch and the calls. */
#include "run/ship.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/log.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

enum { BATCH = 512 << 10, GATHER_MS = 25, PAUSE_MAX = 1000, REFUSED_TRIES = 3, UNKNOWN_MAX = 8 };

struct post {
    struct post *next;
    bool optional;
    char *body;
    char call[];
};

struct ship {
    struct client *client;
    struct spool *spool;
    char *refused_path;
    pthread_t thread;
    pthread_mutex_t lock;
    struct post *first, **last;
    const char *unknown[UNKNOWN_MAX]; /* calls the server does not have */
    size_t unknown_n;
    _Atomic bool stopping, flushing;
    int stop_fd; /* cuts a waiting request and the pauses */
    int idle_fd; /* rung each time nothing is left */
    int64_t pause;
};

static void ring (int fd)
{
    uint64_t one = 1;
    ssize_t ignored = write (fd, &one, sizeof one);
    (void)ignored;
}

static void rest (struct ship *s)
{
    struct pollfd p = { s->stop_fd, POLLIN, 0 };
    s->pause = s->pause ? 2 * s->pause : 50;
    if (s->pause > PAUSE_MAX)
        s->pause = PAUSE_MAX;
    poll (&p, 1, (int)(s->pause - s->pause * (clock_now_us () % 100) / 400)); /* up to a quarter less */
}

/* Worth another try with the same bytes. What stands on the way may refuse bytes for what they say (a firewall), for ever. */
static bool server_away (const struct error *err)
{
    int status = err->code / 10000;
    return client_undecided (err) && status != 400 && status != 403 && status != 406;
}

/* -- console lines -------------------------------------------------------------------------------------------------- */
static int send_lines (struct ship *s, struct text lines, struct error *err)
{
    cleanup_arena struct arena *a = arena_create ();
    struct client_request q = { .call = "events.add_batch", .body = lines, .batch = true };
    struct text ignored;
    return client_send (s->client, a, &q, &ignored, err);
}

/* Send until taken or refused for good; false when we must stop. */
static bool deliver (struct ship *s, struct text lines)
{
    struct error err = { 0 };
    for (int refused = 0; !atomic_load (&s->stopping);) {
        if (send_lines (s, lines, &err) == 0) {
            s->pause = 0;
            return true;
        }
        if (!server_away (&err) && ++refused >= (memchr (lines.p, '\n', lines.n - 1) ? 1 : REFUSED_TRIES)) {
            size_t half = lines.n / 2;
            while (half < lines.n && lines.p[half - 1] != '\n')
                half++;
            if (half == lines.n)
                for (half = lines.n / 2; half && lines.p[half - 1] != '\n';)
                    half--;
            if (half)
                return deliver (s, (struct text){ lines.p, half }) &&
                       deliver (s, (struct text){ lines.p + half, lines.n - half });
            struct error ignored;
            log_warn ("ship", "the server refuses a console line: %s", err.text);
            if (file_append (s->refused_path, lines, 0600, &ignored) < 0)
                log_warn ("ship", "%s", ignored.text);
            return true;
        }
        rest (s);
    }
    return false;
}

static void ship_lines (struct ship *s, struct str *buf)
{
    str_reset (buf);
    if (!spool_next (s->spool, BATCH, buf))
        return;
    if (deliver (s, str_text (buf)))
        spool_done (s->spool, buf->n);
}

/* -- calls ---------------------------------------------------------------------------------------------------------- */
static bool unknown (struct ship *s, const char *call)
{
    for (size_t i = 0; i < s->unknown_n; i++)
        if (!strcmp (s->unknown[i], call))
            return true;
    return false;
}

static struct post *take_post (struct ship *s)
{
    pthread_mutex_lock (&s->lock);
    struct post *p = s->first;
    pthread_mutex_unlock (&s->lock);
    return p;
}

static void drop_post (struct ship *s)
{
    pthread_mutex_lock (&s->lock);
    struct post *p = s->first;
    s->first = p->next;
    if (!s->first)
        s->last = &s->first;
    pthread_mutex_unlock (&s->lock);
    free (p->body);
    free (p);
}

static void ship_calls (struct ship *s)
{
    struct post *p;
    while (!atomic_load (&s->stopping) && (p = take_post (s))) {
        cleanup_arena struct arena *a = arena_create ();
        struct text ignored;
        struct error err = { 0 };
        if (!unknown (s, p->call) &&
            client_call (s->client, a, p->call, 0, text_of (p->body), &ignored, &err) < 0) {
            if (server_away (&err)) {
                rest (s);
                continue;
            }
            if (p->optional && client_refused (&err, 404) && s->unknown_n < UNKNOWN_MAX)
                s->unknown[s->unknown_n++] = strdup (p->call);
            else
                log_info ("ship", "%s: %s", p->call, err.text);
        }
        s->pause = 0;
        drop_post (s);
    }
}

static void *ship_main (void *arg)
{
    struct ship *s = arg;
    struct str buf = { 0 };
    int64_t sent = 0;
    while (!atomic_load (&s->stopping)) {
        bool work = take_post (s) || (s->spool && spool_waiting (s->spool) > 0);
        if (!work) {
            ring (s->idle_fd);
            spool_wait (s->spool, 60000);
        }
        int64_t since = clock_monotonic () - sent;
        if (since < GATHER_MS && !atomic_load (&s->flushing)) { /* lines that come in a flood go together */
            struct pollfd p = { s->stop_fd, POLLIN, 0 };
            poll (&p, 1, (int)(GATHER_MS - since));
        }
        ship_lines (s, &buf);
        ship_calls (s);
        sent = clock_monotonic ();
    }
    str_done (&buf);
    return NULL;
}

int ship_start (const struct client *c, struct spool *spool, const char *folder, struct ship **ret,
                struct error *err)
{
    struct ship *s = calloc (1, sizeof *s);
    s->client = client_share (c);
    s->spool = spool;
    s->last = &s->first;
    s->stop_fd = eventfd (0, EFD_CLOEXEC | EFD_NONBLOCK);
    s->idle_fd = eventfd (0, EFD_CLOEXEC | EFD_NONBLOCK);
    pthread_mutex_init (&s->lock, NULL);
    if (asprintf (&s->refused_path, "%s/refused", folder) < 0)
        abort ();
    client_set_patience (s->client, CLIENT_ONCE);
    client_set_abort (s->client, s->stop_fd);
    int r = pthread_create (&s->thread, NULL, ship_main, s);
    if (r)
        return error_set (err, r, "thread: %s", strerror (r));
    *ret = s;
    return 0;
}

void ship_post (struct ship *s, const char *call, struct text body, bool optional)
{
    struct post *p = malloc (sizeof *p + strlen (call) + 1);
    if (!p)
        abort ();
    *p = (struct post){ .optional = optional, .body = strndup (body.p, body.n) };
    strcpy (p->call, call);
    pthread_mutex_lock (&s->lock);
    *s->last = p;
    s->last = &p->next;
    pthread_mutex_unlock (&s->lock);
    spool_wake (s->spool);
}

static bool all_sent (struct ship *s)
{
    pthread_mutex_lock (&s->lock);
    bool none = !s->first;
    pthread_mutex_unlock (&s->lock);
    return none && spool_waiting (s->spool) <= 0;
}

int ship_flush (struct ship *s, int cut, int64_t most_ms, struct error *err)
{
    uint64_t drain;
    ssize_t ignored = read (s->idle_fd, &drain, sizeof drain);
    (void)ignored;
    int64_t end = most_ms ? clock_monotonic () + most_ms : INT64_MAX;
    atomic_store (&s->flushing, true);
    while (!all_sent (s)) {
        struct pollfd p[2] = { { s->idle_fd, POLLIN, 0 }, { cut > 0 ? cut : -1, POLLIN, 0 } };
        poll (p, 2, 1000);
        if (p[1].revents || clock_monotonic () > end)
            return error_set (err, ECANCELED, "%lld bytes of console output are not sent",
                              (long long)spool_waiting (s->spool));
        if (p[0].revents)
            ignored = read (s->idle_fd, &drain, sizeof drain);
    }
    atomic_store (&s->flushing, false);
    return 0;
}

void ship_stop (struct ship *s)
{
    if (!s)
        return;
    atomic_store (&s->stopping, true);
    ring (s->stop_fd);
    spool_wake (s->spool);
    pthread_join (s->thread, NULL);
    while (s->first)
        drop_post (s);
    for (size_t i = 0; i < s->unknown_n; i++)
        free ((char *)s->unknown[i]);
    client_destroy (s->client);
    close (s->stop_fd), close (s->idle_fd);
    pthread_mutex_destroy (&s->lock);
    free (s->refused_path);
    free (s);
}
