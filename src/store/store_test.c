/* store_test.c - a data folder: who may open it, read it, write it; that every statement prepares. */
#include "base/unit.h"

#include "base/clock.h"
#include "base/file.h"
#include "base/path.h"
#include "sql/sql.h"
#include "store/sqlite.h"
#include "store/store_test.h"

#include <errno.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/wait.h>

static int try_write (struct db *db, void *arg, struct error *err)
{
    assert_false (db_writable (db));
    return db_exec (db, &sql_setting_put, err, V_STR (""), V_STR (arg), V_STR ("1")) < 0 ? -1 : 0;
}

static void reader_never_writes (void **state)
{
    struct fixture *f = *state;
    struct error err = { 0 };

    assert_int_equal (store_read (f->store, try_write, (void *)"r", &err), -1);
    assert_int_equal (err.code, EROFS);
    assert_non_null (strstr (err.text, "setting_put"));
    assert_false (there (f->store, "r"));
}

static int write_future (struct db *db, void *arg, struct error *err)
{
    return db_run_script (db, arg, err);
}

static void newer_version_refused (void **state)
{
    struct fixture *f = *state;
    struct error err = { 0 };
    struct store *s = NULL;

    assert_int_equal (store_write_wait (f->store, write_future,
                                        (void *)"INSERT INTO migration VALUES (9000, 'future', 0)", &err),
                      0);
    store_close (f->store);
    f->store = NULL;
    assert_int_equal (store_open (&(struct store_options){ .folder = f->folder }, &s, &err), -1);
    assert_null (s);
    assert_non_null (strstr (err.text, f->folder));
    assert_non_null (strstr (err.text, "newer"));
    assert_non_null (strstr (err.text, "9000"));
    assert_int_equal (store_open (&(struct store_options){ .folder = f->folder }, &s, &err),
                      -1); /* nothing changed */
}

static void foreign_file_refused (void **state)
{
    struct fixture *f = *state;
    cleanup_arena struct arena *a = arena_create ();
    const char *other = arena_printf (a, "%s/other", f->folder);
    struct error err = { 0 };
    struct store *s = NULL;

    assert_int_equal (folder_make (other, 0700, &err), 0);
    assert_int_equal (file_write (path_join (a, other, "stoker.db"),
                                  TEXT ("this is no database, but long enough"), 0600, &err),
                      0);
    assert_int_equal (store_open (&(struct store_options){ .folder = other }, &s, &err), -1);
    assert_non_null (strstr (err.text, other));
}

static void second_process_locked_out (void **state)
{
    struct fixture *f = *state;
    int status;
    pid_t pid = fork ();

    if (!pid) {
        struct error err = { 0 };
        struct store *s = NULL;

        if (store_open (&(struct store_options){ .folder = f->folder }, &s, &err) == 0)
            _exit (1);
        _exit (err.code == EBUSY && strstr (err.text, f->folder) ? 7 : 2);
    }
    assert_int_equal (waitpid (pid, &status, 0), pid);
    assert_true (WIFEXITED (status));
    assert_int_equal (WEXITSTATUS (status), 7);
}

static void survives_reopening (void **state)
{
    struct fixture *f = *state;

    put (f->store, "k0");
    store_close (f->store);
    f->store = fixture_open (f->folder);
    assert_true (there (f->store, "k0"));
    assert_int_equal (store_stats (f->store).writes, 0);
}

static void nobody_else_may_read (void **state)
{
    static const char *const names[] = { "", "/stoker.db", "/stoker.db-wal", "/stoker.db-shm", "/lock" };
    struct fixture *f = *state;
    cleanup_arena struct arena *a = arena_create ();
    struct stat st;

    put (f->store, "k0");
    for (size_t i = 0; i < sizeof (names) / sizeof (*names); i++) {
        assert_int_equal (stat (arena_printf (a, "%s%s", f->folder, names[i]), &st), 0);
        assert_int_equal (st.st_mode & 077, 0);
    }
}

static int prepare_all (struct db *db, void *arg, struct error *err)
{
    (void)arg;
    for (size_t i = 0; i < sql_all_n; i++) {
        sqlite3_stmt *stmt = NULL;
        int rc = sqlite3_prepare_v2 (db_handle (db), sql_all[i]->text, -1, &stmt, NULL);

        if (rc != SQLITE_OK)
            db_fail (db, rc, sql_all[i]->name, err);
        sqlite3_finalize (stmt);
        if (rc != SQLITE_OK)
            return -1;
        if ((size_t)sql_all[i]->index != i)
            return error_set (err, EINVAL, "%s: index", sql_all[i]->name);
    }
    return 0;
}

static void every_statement_prepares (void **state)
{
    struct fixture *f = *state;
    struct error err = { 0 };

    assert_true (sql_all_n > 5);
    if (store_write_wait (f->store, prepare_all, NULL, &err) < 0)
        fail_msg ("%s", err.text);
}

/* The same statement inside its own row loop, NULLs, blobs, wrong counts, a broken UNIQUE. */
static int statements (struct db *db, void *arg, struct error *err)
{
    static const char *const add = "INSERT INTO setting VALUES ('s', ?1, ?2)";
    struct value two[] = { V_STR ("a"), V_BLOB (TEXT ("x\0y")) };
    cleanup_arena struct arena *a = arena_create ();
    struct rows outer = { 0 }, inner = { 0 };
    int n = 0;

    (void)arg;
    for (int i = 0; i < 3; i++) {
        two[0] = V_STR (i == 0 ? "a" : i == 1 ? "b" : "c");
        if (db_query_text (db, add, &outer, err, two, 2) < 0 || db_next (&outer, err) < 0)
            return -1;
        rows_done (&outer);
    }
    assert_int_equal (db_query_text (db, add, &outer, err, two, 2), 0);
    assert_int_equal (db_next (&outer, err), -1);
    assert_int_equal (err->code, EEXIST);
    rows_done (&outer);
    assert_int_equal (db_query_text (db, add, &outer, err, two, 1), -1);
    assert_non_null (strstr (err->text, "takes 2"));

    assert_int_equal (db_query (db, &sql_setting_get, &outer, err, V_STR ("s"), V_STR ("a")), 0);
    assert_int_equal (db_next (&outer, err), 1);
    assert_int_equal (db_query (db, &sql_setting_get, &inner, err, V_STR ("s"), V_STR ("b")), 0);
    assert_true (inner.owned);
    assert_int_equal (db_next (&inner, err), 1);
    assert_int_equal (row_text (&inner, 0).n, 3);
    assert_memory_equal (row_copy (&outer, 0, a).p, "x\0y", 3);
    rows_done (&inner);
    assert_int_equal (db_next (&outer, err), 0);
    rows_done (&outer);
    rows_done (&outer); /* twice is fine */

    for (int i = 0; i < 200; i++) { /* more texts than the cache holds, all right */
        struct value v = V_INT (i);

        assert_int_equal (db_query_text (db, arena_printf (a, "SELECT ?1 + %d, NULL", i), &outer, err, &v, 1),
                          0);
        assert_int_equal (db_next (&outer, err), 1);
        n += row_int (&outer, 0) == 2 * i && row_null (&outer, 1) && !row_text (&outer, 1).p;
        rows_done (&outer);
    }
    assert_int_equal (n, 200);
    return 0;
}

static void statement_rules (void **state)
{
    struct fixture *f = *state;
    struct error err = { 0 };

    if (store_write_wait (f->store, statements, NULL, &err) < 0)
        fail_msg ("%s", err.text);
}

#define with_store(fn) cmocka_unit_test_setup_teardown (fn, fixture_set_up, fixture_tear_down)

int main (void)
{
    const struct CMUnitTest tests[] = {
        with_store (reader_never_writes),      with_store (newer_version_refused),
        with_store (foreign_file_refused),     with_store (second_process_locked_out),
        with_store (survives_reopening),       with_store (nobody_else_may_read),
        with_store (every_statement_prepares), with_store (statement_rules),
    };

    return cmocka_run_group_tests (tests, NULL, NULL);
}
