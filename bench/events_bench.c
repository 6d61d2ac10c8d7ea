/* events_bench.c - metric events into the store, without HTTP: each thread reads a request of 500 events (50 series x 10
 * iterations of one task) as the pool does, hands it to the writer, waits for the commit (synchronous FULL unless
 * "nosync"), and reads last_metrics. Prints events a second.
 *
 *     events_bench [threads] [seconds] [nosync]
 */
#include "base/clock.h"
#include "services/events/batch.h"
#include "services/events/events.h"
#include "store/store.h"

#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { SERIES = 50, ITERS = 10 };

struct load {
    struct store *store;
    int64_t until;
    int number;
    int64_t events, requests, read_us, prepare_us, write_us;
    bool no_metrics;
};

struct write {
    struct store_write w;
    struct event_group *group;
    struct error err;
    sem_t done;
};

/* Made of pieces, so that the load generator does not outweigh what is measured. */
struct pieces {
    char head[SERIES][160], tail[96], values[1000][32];
};

static void make_pieces (struct pieces *p, const char *task)
{
    for (int k = 0; k < SERIES; k++)
        snprintf (
            p->head[k], sizeof (p->head[k]),
            "\"type\": \"training_stats_scalar\", \"task\": \"%s\", \"metric\": \"metric_%d\", \"variant\": "
            "\"variant_%d\", \"iter\": ",
            task, k / 5, k % 5);
    strcpy (p->tail, ", \"allow_locked\": false, \"model_event\": false, \"method\": \"get\"}\n");
    for (int i = 0; i < 1000; i++)
        snprintf (p->values[i], sizeof (p->values[i]), ", \"value\": %.17g", 1.0 / (i + 1));
}

static void make_request (struct str *s, const struct pieces *p, int64_t first)
{
    str_reset (s);
    for (int64_t i = first; i < first + ITERS; i++) {
        for (int k = 0; k < SERIES; k++) {
            str_puts (s, "{\"timestamp\": ");
            str_add_int (s, 1795973999516LL + i);
            str_puts (s, ", ");
            str_puts (s, p->head[k]);
            str_add_int (s, i);
            str_puts (s, p->values[(i * 7 + k) % 1000]);
            str_puts (s, p->tail);
        }
    }
}

static int run (struct store_write *w, struct db *db, struct error *err)
{
    struct write *job = (struct write *)w;
    struct event_group *g = job->group;
    struct stream s;

    if (stream_need (db, "c", g->task, &s, err) < 0 ||
        series_add (db, &s, 1795973999516LL, g->body, g->points, g->series, g->series_n, 2000, err) < 0)
        return -1;
    return stream_save (db, &s, err);
}

static void done (struct store_write *w, int rc, const struct error *err)
{
    struct write *job = (struct write *)w;

    if (rc < 0)
        fprintf (stderr, "%s\n", err->text);
    sem_post (&job->done);
}

static int read_metrics (struct db *db, void *arg, struct error *err)
{
    cleanup_arena struct arena *a = arena_create ();
    struct str s = { .arena = a };

    return events_last_metrics_of (
        &(struct query_source){ .db = db, .arena = a, .company = "c", .version = 2034 }, arg, &s, err);
}

static void *work (void *arg)
{
    struct event_defaults d = { .worker = "w", .now = 1795973999516LL };
    struct load *l = arg;
    struct pieces *pieces = malloc (sizeof (*pieces));
    cleanup_str struct str body = { 0 };
    char task[33];

    snprintf (task, sizeof (task), "%032d", l->number);
    make_pieces (pieces, task);
    for (int64_t first = 0; clock_now_us () < l->until; first += ITERS) {
        cleanup_arena struct arena *a = arena_create ();
        struct write job = { .w = { .run = run, .done = done } };
        struct event_batch *b;
        struct error err;
        int64_t t0, t1, t2;

        make_request (&body, pieces, first);
        t0 = clock_now_us ();
        if (event_batch_read (a, str_text (&body), true, &d, &b, &err) < 0) {
            fprintf (stderr, "%s\n", err.text);
            exit (1);
        }
        job.group = b->groups;
        job.w.weight = b->groups[0].body.n;
        sem_init (&job.done, 0, 0);
        t1 = clock_now_us ();
        store_submit (l->store, &job.w);
        sem_wait (&job.done);
        t2 = clock_now_us ();
        if (!l->no_metrics && store_read (l->store, read_metrics, task, &err) < 0) {
            fprintf (stderr, "%s\n", err.text);
            exit (1);
        }
        l->prepare_us += t1 - t0;
        l->write_us += t2 - t1;
        l->read_us += clock_now_us () - t2;
        l->events += b->groups[0].n;
        l->requests++;
    }
    free (pieces);
    return NULL;
}

int main (int argc, char **argv)
{
    int threads = argc > 1 ? atoi (argv[1]) : 4, seconds = argc > 2 ? atoi (argv[2]) : 5;
    char folder[] = "/tmp/events-bench-XXXXXX", command[64];
    struct load loads[64] = { 0 };
    pthread_t ids[64];
    struct store *store;
    struct error err;
    int64_t start, events = 0, requests = 0, prepare = 0, write = 0, reading = 0;

    threads = threads < 1 ? 1 : threads > 64 ? 64 : threads;
    if (!mkdtemp (folder) ||
        store_open (&(struct store_options){ .folder = folder, .readers = 4, .sync_off = argc > 3 }, &store,
                    &err) < 0) {
        fprintf (stderr, "%s\n", err.text);
        return 1;
    }
    store_add_sweeper (store, &events_sweeper, NULL);
    start = clock_now_us ();
    for (int i = 0; i < threads; i++) {
        loads[i] = (struct load){ .store = store, .until = start + (int64_t)seconds * 1000000, .number = i };
        pthread_create (&ids[i], NULL, work, &loads[i]);
    }
    for (int i = 0; i < threads; i++) {
        pthread_join (ids[i], NULL);
        events += loads[i].events;
        requests += loads[i].requests;
        prepare += loads[i].prepare_us;
        write += loads[i].write_us;
        reading += loads[i].read_us;
    }
    printf ("%d threads, %d s%s: %.0f events/s, a request: prepare %.0f us, write with commit %.0f us, "
            "last_metrics %.0f us\n",
            threads, seconds, argc > 3 ? ", not synced" : "",
            (double)events / ((double)(clock_now_us () - start) / 1e6), (double)prepare / (double)requests,
            (double)write / (double)requests, (double)reading / (double)requests);
    store_close (store);
    snprintf (command, sizeof (command), "rm -r %s", folder);
    return system (command) != 0;
}
