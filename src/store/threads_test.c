/* threads_test.c - many threads on one store: writers, readers, bells, volatile entries, sweepers at once. Made for the
 * thread sanitizer, but its sums must come out right in any build. */
#include "base/unit.h"

#include "base/clock.h"
#include "base/file.h"
#include "sql/sql.h"
#include "store/store.h"
#include "store/topic.h"
#include "store/volatile.h"

#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

enum { WRITERS = 4, READERS = 4, WRITES = 150 };

struct world {
    struct store *store;
    struct topics *topics;
    struct volatile_store *volatiles;
    atomic_int written, woken, slices;
    atomic_bool stop;
};
struct writer_arg {
    struct world *w;
    int number;
};

/* -- writers: a counter in a setting, raised by each write; bells after it --------------------------------------- */
struct raise {
    struct store_write base;
    struct world *w;
    sem_t done;
    int rc;
};

static int raise_run (struct store_write *base, struct db *db, struct error *err)
{
    cleanup_rows struct rows r = { 0 };
    char text[32];
    int64_t n = 0;
    int found;

    (void)base;
    if (db_query (db, &sql_setting_get, &r, err, V_STR (""), V_STR ("counter")) < 0 ||
        (found = db_next (&r, err)) < 0)
        return -1;
    if (found)
        n = strtoll (row_text (&r, 0).p, NULL, 10);
    rows_done (&r);
    snprintf (text, sizeof (text), "%lld", (long long)n + 1);
    return db_exec (db, &sql_setting_put, err, V_STR (""), V_STR ("counter"), V_STR (text)) < 0 ? -1 : 0;
}

static void raise_done (struct store_write *base, int rc, const struct error *err)
{
    struct raise *r = (struct raise *)base;

    (void)err;
    r->rc = rc;
    topic_ring (r->w->topics, "counter", 1);
    sem_post (&r->done);
}

static void *writer_main (void *arg)
{
    struct writer_arg *a = arg;
    struct raise r = { .base = { .run = raise_run, .done = raise_done }, .w = a->w };
    char key[32];

    sem_init (&r.done, 0, 0);
    for (int i = 0; i < WRITES; i++) {
        r.base.control = i % 3 == 0;
        store_submit (a->w->store, &r.base);
        sem_wait (&r.done);
        if (r.rc == 0)
            atomic_fetch_add (&a->w->written, 1);
        snprintf (key, sizeof (key), "k/%d/%d", a->number, i % 20);
        volatile_put (a->w->volatiles, key, text_of (key), i % 5 ? 60000 : 0);
    }
    sem_destroy (&r.done);
    return NULL;
}

/* -- readers: the counter never goes back; bells wake them ------------------------------------------------------- */
static int counter_get (struct db *db, void *arg, struct error *err)
{
    cleanup_rows struct rows r = { 0 };
    int found;

    if (db_query (db, &sql_setting_get, &r, err, V_STR (""), V_STR ("counter")) < 0 ||
        (found = db_next (&r, err)) < 0)
        return -1;
    *(int64_t *)arg = found ? strtoll (row_text (&r, 0).p, NULL, 10) : 0;
    return 0;
}

static void on_wake (void *arg)
{
    sem_post (arg);
}

static bool count_entry (const char *key, struct text value, void *arg)
{
    *(int *)arg += text_is (value, key);
    return true;
}

static void *reader_main (void *arg)
{
    struct world *w = arg;
    int64_t last = 0, now = 0;
    struct error err = { 0 };
    cleanup_arena struct arena *a = arena_create ();
    sem_t woken;

    sem_init (&woken, 0, 0);
    while (!atomic_load (&w->stop)) {
        uint64_t seq = topic_seq (w->topics);
        struct topic_wait *wait;
        struct text got;
        int n = 0;

        if (store_read (w->store, counter_get, &now, &err) < 0 || now < last)
            return (void *)1;
        last = now;
        wait = topic_wait_since (w->topics, "other\ncounter", seq, on_wake, &woken);
        volatile_each (w->volatiles, "k/", count_entry, &n);
        volatile_get (w->volatiles, a, "k/1/3", &got);
        topic_leave (w->topics, wait);
        while (sem_trywait (&woken) == 0)
            atomic_fetch_add (&w->woken, 1);
    }
    sem_destroy (&woken);
    return NULL;
}

static int slice (struct db *db, int64_t budget_ms, void *arg, struct error *err)
{
    struct world *w = arg;

    (void)budget_ms;
    atomic_fetch_add (&w->slices, 1);
    return db_exec (db, &sql_setting_put, err, V_STR (""), V_STR ("swept"), V_STR ("1")) < 0 ? -1 : 1;
}

static void together (void **state)
{
    static const struct sweeper sweeper = { "test", 1, slice, NULL };
    char folder[] = "/tmp/threads_test.XXXXXX";
    struct world w = { .topics = topics_create (), .volatiles = volatile_create () };
    struct writer_arg args[WRITERS];
    pthread_t writers[WRITERS], readers[READERS];
    struct error err = { 0 };
    int64_t counter = 0;
    void *bad;

    (void)state;
    assert_non_null (mkdtemp (folder));
    if (store_open (&(struct store_options){ .folder = folder, .readers = 2, .sync_off = true }, &w.store,
                    &err) < 0)
        fail_msg ("%s", err.text);
    store_add_sweeper (w.store, &sweeper, &w);
    for (int i = 0; i < READERS; i++)
        assert_int_equal (pthread_create (&readers[i], NULL, reader_main, &w), 0);
    for (int i = 0; i < WRITERS; i++) {
        args[i] = (struct writer_arg){ &w, i };
        assert_int_equal (pthread_create (&writers[i], NULL, writer_main, &args[i]), 0);
    }
    for (int i = 0; i < WRITERS; i++)
        pthread_join (writers[i], NULL);
    atomic_store (&w.stop, true);
    for (int i = 0; i < READERS; i++) {
        pthread_join (readers[i], &bad);
        assert_null (bad);
    }
    assert_int_equal (w.written, WRITERS * WRITES);
    assert_int_equal (store_read (w.store, counter_get, &counter, &err), 0);
    assert_int_equal (counter, WRITERS * WRITES);
    assert_true (store_stats (w.store).writes >= WRITERS * WRITES);
    assert_true (w.slices > 0);
    store_close (w.store);
    topics_destroy (w.topics);
    volatile_destroy (w.volatiles);
    assert_int_equal (folder_remove (folder, &err), 0);
}

int main (void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test (together) };

    return cmocka_run_group_tests (tests, NULL, NULL);
}
