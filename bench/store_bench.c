/* store_bench.c - what the store gives on this machine, without HTTP and JSON.
 *
 *     store_bench [FOLDER] [SECONDS]     (FOLDER: where the data folder is made; default the current one)
 *
 * Out: one JSON object a line. "durable commit": one writer, one row, median and 99th percentile of the time until it
 * is on the disk. "durable writes": rows a second from 1, 4, 16 and 256 callers at once, each waiting for its own
 * commit. "fsync": the disk alone, 4 kB appended and fdatasynced, to set the others against.
 */
#include "base/clock.h"
#include "base/file.h"
#include "base/log.h"
#include "base/path.h"
#include "sql/sql.h"
#include "store/store.h"

#include <fcntl.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { CALLERS_MAX = 256, SAMPLES_MAX = 200000 };

static double now_s (void)
{
    struct timespec t;

    clock_gettime (CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static int double_order (const void *a, const void *b)
{
    double l = *(const double *)a, r = *(const double *)b;

    return l < r ? -1 : l > r;
}

struct caller {
    struct store_write base;
    struct store *store;
    sem_t done;
    int64_t number, n;
    atomic_bool *stop;
    pthread_t thread;
};

static int put_run (struct store_write *w, struct db *db, struct error *err)
{
    struct caller *c = (struct caller *)w;
    char key[48];

    snprintf (key, sizeof (key), "%lld.%lld", (long long)c->number, (long long)c->n);
    return db_exec (db, &sql_setting_put, err, V_STR ("bench"), V_STR (key),
                    V_STR ("a value of some forty characters, say")) < 0
               ? -1
               : 0;
}

static void put_done (struct store_write *w, int rc, const struct error *err)
{
    struct caller *c = (struct caller *)w;

    if (rc < 0) {
        fprintf (stderr, "%s\n", err->text);
        abort ();
    }
    sem_post (&c->done);
}

static void put_one (struct caller *c)
{
    store_submit (c->store, &c->base);
    sem_wait (&c->done);
    c->n++;
}

static void *caller_main (void *arg)
{
    struct caller *c = arg;

    while (!atomic_load (c->stop))
        put_one (c);
    return NULL;
}

static void caller_init (struct caller *c, struct store *s, int number, atomic_bool *stop)
{
    *c = (struct caller){
        .base = { .run = put_run, .done = put_done }, .store = s, .number = number, .stop = stop
    };
    sem_init (&c->done, 0, 0);
}

static void bench_commit (struct store *s, double seconds)
{
    static double times[SAMPLES_MAX];
    struct caller c;
    double end = now_s () + seconds;
    size_t n = 0;

    caller_init (&c, s, 100000, NULL);
    while (n < SAMPLES_MAX && now_s () < end) {
        double start = now_s ();

        put_one (&c);
        times[n++] = now_s () - start;
    }
    qsort (times, n, sizeof (*times), double_order);
    printf ("{\"bench\":\"durable commit\",\"n\":%zu,\"p50_ms\":%.3f,\"p99_ms\":%.3f}\n", n,
            times[n / 2] * 1000, times[n * 99 / 100] * 1000);
}

static void bench_callers (struct store *s, int callers, double seconds)
{
    static struct caller c[CALLERS_MAX];
    struct store_stats before = store_stats (s), after;
    atomic_bool stop = false;
    int64_t n = 0;
    double start = now_s (), took;

    for (int i = 0; i < callers; i++) {
        caller_init (&c[i], s, callers * 1000 + i, &stop);
        if (pthread_create (&c[i].thread, NULL, caller_main, &c[i]))
            abort ();
    }
    nanosleep (&(struct timespec){ (time_t)seconds, (long)((seconds - (double)(time_t)seconds) * 1e9) },
               NULL);
    atomic_store (&stop, true);
    for (int i = 0; i < callers; i++) {
        pthread_join (c[i].thread, NULL);
        n += c[i].n;
    }
    took = now_s () - start;
    after = store_stats (s);
    printf ("{\"bench\":\"durable writes\",\"callers\":%d,\"per_s\":%.0f,\"writes_a_group\":%.1f}\n", callers,
            (double)n / took,
            (double)(after.writes - before.writes) / (double)(after.groups - before.groups));
}

static void bench_disk (const char *path, double seconds)
{
    static double times[SAMPLES_MAX];
    static char page[4096];
    cleanup_close int fd = open (path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    double end = now_s () + seconds;
    size_t n = 0;

    while (fd >= 0 && n < SAMPLES_MAX && now_s () < end) {
        double start = now_s ();

        if (write (fd, page, sizeof (page)) != sizeof (page) || fdatasync (fd) < 0)
            abort ();
        times[n++] = now_s () - start;
    }
    if (!n)
        return;
    qsort (times, n, sizeof (*times), double_order);
    printf ("{\"bench\":\"fsync\",\"n\":%zu,\"p50_ms\":%.3f,\"p99_ms\":%.3f}\n", n, times[n / 2] * 1000,
            times[n * 99 / 100] * 1000);
}

int main (int argc, char **argv)
{
    cleanup_arena struct arena *a = arena_create ();
    char *folder = path_join (a, argc > 1 ? argv[1] : ".", "store-bench.XXXXXX");
    double seconds = argc > 2 ? atof (argv[2]) : 2;
    struct error err = { 0 };
    struct store *s = NULL;

    log_set_level (LOG_WARN);
    if (!mkdtemp (folder) ||
        store_open (&(struct store_options){ .folder = folder, .readers = 1 }, &s, &err) < 0) {
        fprintf (stderr, "store_bench: %s: %s\n", folder, err.text);
        return 1;
    }
    bench_disk (path_join (a, folder, "page"), seconds / 2);
    bench_commit (s, seconds);
    for (int callers = 1; callers <= CALLERS_MAX; callers *= callers < 16 ? 4 : 16)
        bench_callers (s, callers, seconds);
    store_close (s);
    if (folder_remove (folder, &err) < 0)
        fprintf (stderr, "store_bench: %s\n", err.text);
    return 0;
}
