/* writer_test.c - the writer's promises: groups, failing handlers, lost transactions, full disk, what is on the disk when. A
 * small VFS in front of SQLite's own fails chosen writes to the log, or its syncs, and knows whether all of it is on the
 * disk. */
#include "base/unit.h"

#include "base/file.h"
#include "sql/sql.h"
#include "store/sqlite.h"
#include "store/store_test.h"

#include <errno.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdio.h>
#include <time.h>

/* -- faults ------------------------------------------------------------------------------------------------------ */
static atomic_int wal_writes;  /* counted while armed */
static atomic_ullong fail_set; /* bit n: the n-th write to the log from now fails */
static atomic_int fail_code;
static atomic_bool wal_dirty;            /* written and not synced since */
static atomic_int wal_syncs, fail_syncs; /* counted; so many of the next fail */
static sqlite3_io_methods wal_methods;
static const sqlite3_io_methods *real_methods;
static sqlite3_vfs fault_vfs, *real_vfs;

static int wal_write (sqlite3_file *f, const void *p, int n, sqlite3_int64 at)
{
    int i = atomic_fetch_add (&wal_writes, 1);

    if (i < 64 && (atomic_load (&fail_set) >> i & 1))
        return atomic_load (&fail_code);
    atomic_store (&wal_dirty, true);
    return real_methods->xWrite (f, p, n, at);
}

static int wal_sync (sqlite3_file *f, int flags)
{
    if (atomic_load (&fail_syncs) > 0) {
        atomic_fetch_sub (&fail_syncs, 1);
        return SQLITE_IOERR_FSYNC;
    }
    atomic_fetch_add (&wal_syncs, 1);
    atomic_store (&wal_dirty, false);
    return real_methods->xSync (f, flags);
}

static int fault_open (sqlite3_vfs *vfs, const char *name, sqlite3_file *f, int flags, int *out)
{
    int rc = real_vfs->xOpen (real_vfs, name, f, flags, out);

    (void)vfs;
    if (rc == SQLITE_OK && (flags & SQLITE_OPEN_WAL)) {
        if (!real_methods) {
            real_methods = f->pMethods;
            wal_methods = *f->pMethods;
            wal_methods.xWrite = wal_write;
            wal_methods.xSync = wal_sync;
        }
        f->pMethods = &wal_methods;
    }
    return rc;
}

static void arm (unsigned long long set, int code)
{
    atomic_store (&fail_code, code);
    atomic_store (&wal_writes, 0);
    atomic_store (&fail_set, set);
}

static int tear_down (void **state)
{
    arm (0, 0);
    atomic_store (&fail_syncs, 0);
    return fixture_tear_down (state);
}

/* -- writes used by the tests: put setting ('', key) ------------------------------------------------------------- */
struct put {
    struct store_write base;
    char key[16];
    int fail_with;   /* after the row was written: fail with this code */
    bool fail_early; /* before it was written */
    bool huge;       /* a value of 4 MB */
    bool roll_back;  /* do what SQLite does when it gives up: the transaction is gone */
    int runs, order; /* order: counted at done */
    bool dirty;      /* told while the log was not on the disk */
    int rc;
    struct error err;
    sem_t *done;
};
static atomic_int done_order;

static int put_run (struct store_write *w, struct db *db, struct error *err)
{
    static char zeros[4 << 20];
    struct put *p = (struct put *)w;
    struct text value = p->huge ? (struct text){ zeros, sizeof (zeros) } : TEXT ("1");

    p->runs++;
    if (p->fail_early)
        return error_set (err, p->fail_with, "as asked");
    if (db_exec (db, &sql_setting_put, err, V_STR (""), V_STR (p->key), V_BLOB (value)) < 0)
        return -1;
    if (p->roll_back)
        sqlite3_exec (db_handle (db), "ROLLBACK", NULL, NULL, NULL);
    if (p->fail_with)
        return error_set (err, p->fail_with, "as asked");
    return 0;
}

static void put_done (struct store_write *w, int rc, const struct error *err)
{
    struct put *p = (struct put *)w;

    p->rc = rc;
    p->err = *err;
    p->order = atomic_fetch_add (&done_order, 1);
    p->dirty = atomic_load (&wal_dirty);
    sem_post (p->done);
}

struct blocker {
    struct store_write base;
    sem_t started, go, done;
};

static int blocker_run (struct store_write *w, struct db *db, struct error *err)
{
    struct blocker *b = (struct blocker *)w;

    (void)db, (void)err;
    sem_post (&b->started);
    sem_wait (&b->go);
    nanosleep (&(struct timespec){ .tv_nsec = 3000000 },
               NULL); /* over the 2 ms of a group: it closes behind us */
    return 0;
}

static void blocker_done (struct store_write *w, int rc, const struct error *err)
{
    (void)rc, (void)err;
    sem_post (&((struct blocker *)w)->done);
}

/* Run the n puts as one group: they are queued while the writer is held up. */
static void run_group (struct store *s, struct put *p, size_t n)
{
    struct blocker b = { .base = { .run = blocker_run, .done = blocker_done, .control = true } };
    sem_t done;

    sem_init (&b.started, 0, 0);
    sem_init (&b.go, 0, 0);
    sem_init (&b.done, 0, 0);
    sem_init (&done, 0, 0);
    atomic_store (&done_order, 0);
    store_submit (s, &b.base);
    sem_wait (&b.started);
    for (size_t i = 0; i < n; i++) {
        p[i].base.run = put_run;
        p[i].base.done = put_done;
        p[i].done = &done;
        if (!p[i].key[0])
            snprintf (p[i].key, sizeof (p[i].key), "k%zu", i);
        store_submit (s, &p[i].base);
    }
    sem_post (&b.go);
    sem_wait (&b.done);
    for (size_t i = 0; i < n; i++)
        sem_wait (&done);
}

/* -- tests ------------------------------------------------------------------------------------------------------- */
static void one_commit_for_many (void **state)
{
    struct fixture *f = *state;
    struct put p[50] = { 0 };
    struct store_stats before = store_stats (f->store), after;

    run_group (f->store, p, 50);
    after = store_stats (f->store);
    for (int i = 0; i < 50; i++) {
        assert_int_equal (p[i].rc, 0);
        assert_int_equal (p[i].runs, 1);
        assert_int_equal (p[i].order, i);
        assert_true (there (f->store, p[i].key));
    }
    assert_int_equal (after.writes - before.writes, 51);
    assert_true (after.groups - before.groups <
                 51); /* how many depends on the machine's speed, but not one each */
    assert_int_equal (after.alone, 0);
}

static void failing_handler_fails_alone (void **state)
{
    struct fixture *f = *state;
    struct put p[5] = { 0 };

    p[2].fail_with = ENOENT;
    run_group (f->store, p, 5);
    for (int i = 0; i < 5; i++) {
        assert_int_equal (p[i].rc, i == 2 ? -1 : 0);
        if (i >= 2) /* who was before it in the group, perhaps nobody, ran again with it */
            assert_int_equal (p[i].runs, i == 2 ? 2 : 1);
        assert_int_equal (there (f->store, p[i].key), i != 2);
        assert_int_equal (p[i].order, i);
    }
    assert_int_equal (p[2].err.code, ENOENT);
    assert_string_equal (p[2].err.text, "as asked");
    assert_int_equal (store_stats (f->store).alone, 0);
}

/* Nothing was changed yet: no other handler learns of it. */
static void failing_early_disturbs_nobody (void **state)
{
    struct fixture *f = *state;
    struct put p[5] = { 0 };

    p[2].fail_with = ENOENT;
    p[2].fail_early = true;
    run_group (f->store, p, 5);
    for (int i = 0; i < 5; i++) {
        assert_int_equal (p[i].rc, i == 2 ? -1 : 0);
        assert_int_equal (p[i].runs, 1);
        assert_int_equal (there (f->store, p[i].key), i != 2);
    }
    assert_int_equal (p[2].err.code, ENOENT);
}

/* Who fails again and again after a change does not make all run twice each time. */
static void failing_often_costs_little (void **state)
{
    struct fixture *f = *state;
    int runs = 0;

    for (int n = 0; n < 10; n++) {
        struct put p[5] = { 0 };

        for (int i = 0; i < 5; i++)
            snprintf (p[i].key, sizeof (p[i].key), "o%d.%d", n, i);
        p[4].fail_with = ENOENT;
        run_group (f->store, p, 5);
        for (int i = 0; i < 5; i++) {
            assert_int_equal (p[i].rc, i == 4 ? -1 : 0);
            assert_int_equal (there (f->store, p[i].key), i != 4);
            runs += p[i].runs;
        }
    }
    assert_in_range (runs, 51, 55);
}

static void control_goes_first (void **state)
{
    struct fixture *f = *state;
    struct put p[4] = { 0 };

    p[3].base.control = true;
    run_group (f->store, p, 4);
    assert_int_equal (p[3].order, 0);
    assert_int_equal (p[0].order, 1);
}

/* SQLite threw the transaction away in the middle: everyone runs again alone, the guilty one fails alone. */
static void lost_transaction (void **state)
{
    struct fixture *f = *state;
    struct put p[6] = { 0 };

    p[3].roll_back = true;
    p[3].fail_with = EIO;
    run_group (f->store, p, 6);
    for (int i = 0; i < 6; i++) {
        assert_int_equal (p[i].rc, i == 3 ? -1 : 0);
        assert_int_equal (there (f->store, p[i].key), i != 3);
    }
    assert_int_equal (p[3].runs, 2);
    assert_true (store_stats (f->store).alone >= 1);
}

/* A handler that lost the transaction but says it went well is not believed. */
static void lost_transaction_unnoticed (void **state)
{
    struct fixture *f = *state;
    struct put p[3] = { 0 };

    p[1].roll_back = true;
    run_group (f->store, p, 3);
    assert_int_equal (p[0].rc, 0);
    assert_int_equal (p[1].rc, -1);
    assert_int_equal (p[2].rc, 0);
    assert_true (there (f->store, "k0"));
    assert_false (there (f->store, "k1"));
    assert_true (there (f->store, "k2"));
}

/* The n-th write of the log fails, for each n, also twice in a row: who was told "done" is there, who was told "failed"
 * is not. */
static void failing_writes (void **state)
{
    struct fixture *f = *state;
    int failed = 0, alone;

    for (int n = 0; n < 30; n++) {
        struct put p[5] = { 0 };

        for (int i = 0; i < 5; i++)
            snprintf (p[i].key, sizeof (p[i].key), "n%d.%d", n, i);
        arm (1ull << n | 1ull << (n * 7 % 30), n % 2 ? SQLITE_IOERR_WRITE : SQLITE_FULL);
        run_group (f->store, p, 5);
        arm (0, 0);
        for (int i = 0; i < 5; i++) {
            assert_int_equal (there (f->store, p[i].key), p[i].rc == 0);
            if (p[i].rc < 0) {
                failed++;
                assert_int_equal (p[i].err.code, n % 2 ? EIO : ENOSPC);
            }
        }
    }
    alone = (int)store_stats (f->store).alone;
    assert_true (failed > 0); /* or the test shows nothing */
    assert_true (alone > failed);
}

/* Tests of other things do without syncs. */
static void open_durable (struct fixture *f)
{
    struct error err = { 0 };

    store_close (f->store);
    f->store = NULL;
    if (store_open (&(struct store_options){ .folder = f->folder, .readers = 3 }, &f->store, &err) < 0)
        fail_msg ("%s", err.text);
}

/* Nobody is told "done" before the log is on the disk, in a group or (one of them fails its transaction) alone. */
static void durable_before_done (void **state)
{
    struct fixture *f = *state;

    open_durable (f);
    for (int n = 0; n < 4; n++) {
        struct put p[5] = { 0 };
        int syncs = atomic_load (&wal_syncs);

        for (int i = 0; i < 5; i++)
            snprintf (p[i].key, sizeof (p[i].key), "d%d.%d", n, i);
        p[3].roll_back = n == 2;
        p[3].fail_with = n == 2 ? EIO : 0;
        run_group (f->store, p, 5);
        assert_true (atomic_load (&wal_syncs) > syncs);
        for (int i = 0; i < 5; i++) {
            assert_int_equal (p[i].rc, n == 2 && i == 3 ? -1 : 0);
            assert_false (p[i].dirty);
        }
    }
}

/* The disk does not take the log: whoever hears "done" has it synced, the others hear of it and leave nothing. */
static void failing_syncs (void **state)
{
    struct fixture *f = *state;

    open_durable (f);
    /* 1: only the group's own, all succeed alone; more: so many alone fail, too */
    for (int n = 1; n <= 6; n++) {
        struct put p[5] = { 0 };
        int failed = 0;

        for (int i = 0; i < 5; i++)
            snprintf (p[i].key, sizeof (p[i].key), "y%d.%d", n, i);
        run_group (f->store, &(struct put){ .key = "before" }, 1);
        atomic_store (&fail_syncs, n);
        run_group (f->store, p, 5);
        assert_int_equal (atomic_load (&fail_syncs), 0);
        for (int i = 0; i < 5; i++) {
            assert_int_equal (there (f->store, p[i].key), p[i].rc == 0);
            if (p[i].rc < 0) {
                failed++;
                assert_int_equal (p[i].err.code, EIO);
            } else {
                assert_false (p[i].dirty);
            }
        }
        assert_in_range (failed, n > 5 ? 1 : 0, n - 1);
    }
}

static int limit_pages (struct db *db, void *arg, struct error *err)
{
    char text[64];

    snprintf (text, sizeof (text), "PRAGMA max_page_count=%d", *(int *)arg);
    return db_run_script (db, text, err);
}

static void full_disk (void **state)
{
    struct fixture *f = *state;
    struct put p[5] = { 0 };
    struct error err = { 0 };
    int small = 200, large = 1 << 30;

    assert_int_equal (store_write_wait (f->store, limit_pages, &small, &err), 0);
    p[2].huge = true;
    run_group (f->store, p, 5);
    for (int i = 0; i < 5; i++) {
        assert_int_equal (p[i].rc, i == 2 ? -1 : 0);
        assert_int_equal (there (f->store, p[i].key), i != 2);
    }
    assert_int_equal (p[2].err.code, ENOSPC);
    assert_int_equal (store_write_wait (f->store, limit_pages, &large, &err), 0);
    p[2].key[0] = 'h';
    run_group (f->store, &p[2], 1);
    assert_int_equal (p[2].rc, 0);
}

/* The log is moved into the database at 16 MB without being asked, and at the end whole. */
static void checkpoints (void **state)
{
    struct fixture *f = *state;
    cleanup_arena struct arena *a = arena_create ();
    const char *log = arena_printf (a, "%s/stoker.db-wal", f->folder);
    struct put p[8] = { 0 };
    struct store_stats stats;

    for (int i = 0; i < 8; i++)
        p[i].huge = true;
    for (int round = 0; round < 2; round++) /* 64 MB in all */
        for (int i = 0; i < 8; i++) {
            snprintf (p[i].key, sizeof (p[i].key), "k%d", round * 8 + i);
            run_group (f->store, &p[i], 1);
            assert_int_equal (p[i].rc, 0);
        }
    stats = store_stats (f->store);
    assert_true (stats.checkpoints >= 2);
    assert_true (file_size (log) < 40 << 20);
    store_close (f->store);
    f->store = NULL;
    assert_true (file_size (log) <= 0); /* empty or gone */
    f->store = fixture_open (f->folder);
    for (int i = 0; i < 16; i++)
        assert_true (there (f->store, arena_printf (a, "k%d", i)));
}

#define with_store(fn) cmocka_unit_test_setup_teardown (fn, fixture_set_up, tear_down)

int main (void)
{
    const struct CMUnitTest tests[] = {
        with_store (one_commit_for_many),
        with_store (failing_handler_fails_alone),
        with_store (failing_early_disturbs_nobody),
        with_store (failing_often_costs_little),
        with_store (control_goes_first),
        with_store (lost_transaction),
        with_store (lost_transaction_unnoticed),
        with_store (failing_writes),
        with_store (durable_before_done),
        with_store (failing_syncs),
        with_store (full_disk),
        with_store (checkpoints),
    };

    real_vfs = sqlite3_vfs_find (NULL);
    fault_vfs = *real_vfs;
    fault_vfs.zName = "fault";
    fault_vfs.xOpen = fault_open;
    sqlite3_vfs_register (&fault_vfs, 1);
    return cmocka_run_group_tests (tests, NULL, NULL);
}
