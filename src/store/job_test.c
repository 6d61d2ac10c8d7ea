/* job_test.c - what is done later: sweepers between groups, rows of the job table. */
#include "base/unit.h"

#include "sql/sql.h"
#include "store/job.h"
#include "store/store_test.h"

#include <errno.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdio.h>

/* -- sweepers ---------------------------------------------------------------------------------------------------- */
struct sweep_state {
    atomic_int runs, afters;
    int more; /* this many slices, then fail once, then done */
    sem_t finished;
};

static int sweep_run (struct db *db, int64_t budget_ms, void *arg, struct error *err)
{
    struct sweep_state *s = arg;
    char key[16];
    int n = atomic_fetch_add (&s->runs, 1);

    if (budget_ms <= 0)
        return error_set (err, EINVAL, "no budget");
    snprintf (key, sizeof (key), "s%d", n);
    if (db_exec (db, &sql_setting_put, err, V_STR (""), V_STR (key), V_STR ("1")) < 0)
        return -1;
    if (n < s->more)
        return 1;
    sem_post (&s->finished);
    return n == s->more ? error_set (err, EIO, "as asked") : 0;
}

static void sweep_after (void *arg)
{
    atomic_fetch_add (&((struct sweep_state *)arg)->afters, 1);
}

static void sweepers_run_in_slices (void **state)
{
    static const struct sweeper row = { "test", 3600000, sweep_run, sweep_after };
    struct fixture *f = *state;
    struct sweep_state s = { .more = 5 };

    sem_init (&s.finished, 0, 0);
    store_add_sweeper (f->store, &row, &s);
    store_sweep (f->store); /* not an hour from now */
    sem_wait (&s.finished);
    store_sweep (f->store);
    sem_wait (&s.finished);
    store_close (f->store); /* the last slice is behind us then */
    f->store = fixture_open (f->folder);
    assert_int_equal (s.runs, 7);
    assert_int_equal (s.afters, 6);
    assert_true (there (f->store, "s4"));
    assert_false (there (f->store, "s5")); /* failed: undone */
    assert_true (there (f->store, "s6"));
}

/* -- jobs -------------------------------------------------------------------------------------------------------- */
static int jobs (struct db *db, void *arg, struct error *err)
{
    cleanup_arena struct arena *a = arena_create ();
    struct job j = { 0 };

    (void)arg;
    assert_int_equal (job_take (db, a, 5000, &j, err), 0);
    assert_int_equal (job_add (db, "c", "files", TEXT ("{\"n\":1}"), 1000, err), 0);
    assert_int_equal (job_add (db, "c", "files", TEXT ("{\"n\":2}"), 2000, err), 0);
    assert_int_equal (job_take (db, a, 500, &j, err), 0); /* not due */
    assert_int_equal (job_take (db, a, 2000, &j, err), 1);
    assert_true (text_is (j.body, "{\"n\":1}"));
    assert_string_equal (j.kind, "files");
    assert_int_equal (j.attempts, 1);
    assert_int_equal (job_fail (db, &j, "no such bucket", 2000, err), 0);
    assert_int_equal (job_take (db, a, 2000, &j, err), 1);
    assert_true (text_is (j.body, "{\"n\":2}"));
    assert_int_equal (job_done (db, j.id, err), 0);
    assert_int_equal (job_take (db, a, 2000 + 59999, &j, err), 0);
    assert_int_equal (job_take (db, a, 2000 + 60000, &j, err), 1);
    assert_int_equal (j.attempts, 2);
    assert_int_equal (job_take (db, a, 2000 + 60000, &j, err), 0);         /* leased */
    assert_int_equal (job_take (db, a, 62000 + JOB_LEASE_MS, &j, err), 1); /* whoever took it died */
    assert_int_equal (j.attempts, 3);
    return 0;
}

static void jobs_are_kept (void **state)
{
    struct fixture *f = *state;
    struct error err = { 0 };

    if (store_write_wait (f->store, jobs, NULL, &err) < 0)
        fail_msg ("%s", err.text);
}

#define with_store(fn) cmocka_unit_test_setup_teardown (fn, fixture_set_up, fixture_tear_down)

int main (void)
{
    const struct CMUnitTest tests[] = {
        with_store (sweepers_run_in_slices),
        with_store (jobs_are_kept),
    };

    return cmocka_run_group_tests (tests, NULL, NULL);
}
