/* files_test.c - paths and rows of files, on a real data folder. */
#include "base/file.h"
#include "base/unit.h"
#include "base/url.h"
#include "services/files/files.h"
#include "sql/sql.h"
#include "store/job.h"
#include "store/sqlite.h"
#include "store/store.h"
#include "wire/errors.h"

#include <stdlib.h>
#include <string.h>

#define ok(expr) assert_int_equal ((expr), 0)

static const char *taken (struct arena *a, const char *sent)
{
    const char *path = NULL;
    struct error err = { 0 };

    if (file_path_take (a, text_of (sent), &path, &err) < 0) {
        assert_int_equal (err.code, ERR_FIELDS_VALUE);
        return "refused";
    }
    return path;
}

static void test_paths (void **state)
{
    struct arena *a = arena_create ();

    (void)state;
    assert_string_equal (taken (a, "/p/t.1/artifacts/x y.pkl"), "p/t.1/artifacts/x y.pkl");
    assert_string_equal (taken (a, "//a"), "a");
    assert_string_equal (taken (a, "Golden%2Ftrains/a"), "Golden%2Ftrains/a");
    assert_string_equal (taken (a, "\xc3\xa4/..b/c..d"), "\xc3\xa4/..b/c..d");
    assert_string_equal (taken (a, ""), "refused");
    assert_string_equal (taken (a, "/"), "refused");
    assert_string_equal (taken (a, "a/../b"), "refused");
    assert_string_equal (taken (a, ".."), "refused");
    assert_string_equal (taken (a, "a//b"), "refused");
    assert_string_equal (taken (a, "a/"), "refused");
    assert_string_equal (taken (a, "a\nb"), "refused");
    assert_string_equal (taken (a, "a\xff"), "refused");
    assert_string_equal (taken (a, "a\xed\xa0\x80"), "refused"); /* half a pair */
    assert_string_equal (taken (a, "a\xe0\x80\xaf"), "refused"); /* '/' in a long form */
    arena_destroy (a);
}

static const char *of_url (struct arena *a, const char *url)
{
    const char *path = file_path_of_url (a, "http://127.0.0.1:8081", url);

    return path ? path : "foreign";
}

static void test_urls (void **state)
{
    struct arena *a = arena_create ();

    (void)state;
    assert_string_equal (of_url (a, "http://127.0.0.1:8081/a%20b/%C3%BC%2Bc"), "a b/\xc3\xbc+c");
    assert_string_equal (of_url (a, "http://127.0.0.1:8081/a+b.pt?x=1#y"), "a+b.pt");
    assert_string_equal (of_url (a, "http://127.0.0.1:8081/100%/%zz"), "100%/%zz");
    assert_string_equal (of_url (a, "http://127.0.0.1:80811/a"), "foreign");
    assert_string_equal (of_url (a, "http://127.0.0.1:8081.example.com/a"), "foreign");
    assert_string_equal (of_url (a, "http://127.0.0.1:8081"), "foreign");
    assert_string_equal (of_url (a, "http://127.0.0.1:8081/"), "foreign");
    assert_string_equal (of_url (a, "http://127.0.0.1:8081/a/%2e%2e/b"), "foreign");
    assert_string_equal (of_url (a, "s3://bucket/a"), "foreign");
    assert_null (file_path_of_url (a, NULL, "http://127.0.0.1:8081/a"));
    arena_destroy (a);
}

static const char *any_url (struct arena *a, const char *url)
{
    const char *path = url_path (a, url);

    return path ? path : "none";
}

static void test_any_url (void **state)
{
    struct arena *a = arena_create ();

    (void)state;
    assert_string_equal (any_url (a, "http://127.0.0.1:8081/a%20b/%C3%BC%2Bc"), "a b/\xc3\xbc+c");
    assert_string_equal (any_url (a, "https://b.example/files/a b/\xc3\xbc+c?x=1#y"), "a b/\xc3\xbc+c");
    assert_string_equal (any_url (a, "http://h//a/files/b"), "a/files/b");
    assert_string_equal (any_url (a, "http://h/files"), "files");
    assert_string_equal (any_url (a, "http://h/a%00b%zz%"), "a%00b%zz%");
    assert_string_equal (any_url (a, "http://h/"), "none");
    assert_string_equal (any_url (a, "http://h/?a/b"), "none");
    assert_string_equal (any_url (a, "http://h"), "none");
    assert_string_equal (any_url (a, "http://h?a=/b"), "none");
    assert_string_equal (any_url (a, "s3://bucket/a"), "none");
    assert_string_equal (any_url (a, "/a"), "none");
    assert_string_equal (any_url (a, NULL), "none");
    arena_destroy (a);
}

/* What stood in the database before files were counted: who named a file then holds it now. */
static int before_run (struct db *db, void *arg, struct error *err)
{
    static const char *const files[] = { "a", "b", "c", "d", "e" };
    static const char rows[] =
        "DROP TABLE file_use;"
        "INSERT INTO model (n, id, company, user, name, uri, ready, created, last_update, last_change) "
        "VALUES "
        "(1, 'm', 'c', 'u', 'a model', 'http://h/a', 0, 1, 1, 1), (2, 'o', 'c', 'u', 'a model', 's3://b/x', "
        "0, 1, 1, 1);"
        "INSERT INTO model_version VALUES (1, 'http://h/files/b', 1, 1, 'u');"
        "INSERT INTO task_doc (task, execution, hyperparams, configuration, models, output, container, "
        "runtime) VALUES "
        "(7, '{\"artifacts\":[{\"key\":\"k\",\"uri\":\"https://h/%63\"},{\"key\":\"l\"}]}', '', '', '', '', "
        "'', ''),"
        "(8, '{}', '', '', '', '', '', '')";
    struct arena *a = arg;

    ok (db_run_script (db, rows, err));
    for (size_t i = 0; i < sql_migrations_n; i++)
        if (!strcmp (sql_migrations[i].name, "file_use"))
            ok (db_run_script (db, sql_migrations[i].text, err));
    for (int i = 0; i < 5; i++) {
        struct file_row f = { files[i], arena_printf (a, "%032d", i), "aa", "text/plain", "u", 1, 1 };
        ok (file_put (db, "c", &f, err));
        assert_int_equal (file_remove_unused (db, "c", files[i], NULL, err), i > 2);
    }
    ok (file_user_gone (db, "model", 1, err));
    assert_int_equal (file_remove_unused (db, "c", "a", NULL, err), 1);
    assert_int_equal (file_remove_unused (db, "c", "b", NULL, err), 1);
    assert_int_equal (file_remove_unused (db, "c", "c", NULL, err), 0);
    ok (file_used_by_task (db, 7, TEXT ("{}"), err));
    assert_int_equal (file_remove_unused (db, "c", "c", NULL, err), 1);
    return 0;
}

static int rows_run (struct db *db, void *arg, struct error *err)
{
    struct arena *a = arg;
    struct file_row f = { .path = "d/x",
                          .blob = "0123456789abcdef0123456789abcdef",
                          .sha256 = "aa",
                          .type = "text/plain",
                          .user = "u",
                          .size = 5,
                          .created = 10 };
    struct file_row got;
    struct job job;

    assert_int_equal (file_find (db, a, "c", "d/x", &got, err), 0);
    assert_int_equal (file_put (db, "c", &f, err), 0);
    assert_int_equal (file_find (db, a, "c", "d/x", &got, err), 1);
    assert_int_equal (got.size, 5);
    assert_string_equal (got.blob, f.blob);
    assert_int_equal (file_find (db, a, "other", "d/x", &got, err), 0);
    assert_int_equal (job_take (db, a, 1000, &job, err), 0);

    f.blob = "fedcba9876543210fedcba9876543210"; /* replaced: the old blob is to be removed */
    assert_int_equal (file_put (db, "c", &f, err), 0);
    assert_int_equal (job_take (db, a, 1000, &job, err), 1);
    assert_string_equal (job.kind, FILE_JOB_BLOB);
    assert_int_equal (job_done (db, job.id, err), 0);

    f.path = "d0"; /* beside the folder, not in it */
    assert_int_equal (file_put (db, "c", &f, err), 0);
    assert_int_equal (file_remove_folder (db, "c", "d", 2000, err), 1);
    assert_int_equal (file_find (db, a, "c", "d/x", &got, err), 0);
    assert_int_equal (file_remove_row (db, "c", "d0", 2000, err), 1);
    assert_int_equal (file_remove_row (db, "c", "d0", 2000, err), 0);
    assert_int_equal (job_take (db, a, 3000, &job, err), 1);
    assert_int_equal (job_take (db, a, 3000, &job, err), 1);
    assert_int_equal (job_take (db, a, 3000, &job, err), 0);
    return 0;
}

static void in_write (int (*run) (struct db *db, void *arg, struct error *err))
{
    char folder[] = "/tmp/stoker-files-XXXXXX";
    struct arena *a = arena_create ();
    struct store_options o = { .folder = mkdtemp (folder), .readers = 1, .sync_off = true };
    struct store *s;
    struct error err = { 0 };

    assert_int_equal (store_open (&o, &s, &err), 0);
    assert_int_equal (store_write_wait (s, run, a, &err), 0);
    store_close (s);
    assert_int_equal (folder_remove (folder, &err), 0);
    arena_destroy (a);
}

static void test_rows (void **state)
{
    (void)state;
    in_write (rows_run);
}

static void test_named_before (void **state)
{
    (void)state;
    in_write (before_run);
}

int main (void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test (test_paths), cmocka_unit_test (test_urls),
                                        cmocka_unit_test (test_any_url), cmocka_unit_test (test_rows),
                                        cmocka_unit_test (test_named_before) };

    return cmocka_run_group_tests (tests, NULL, NULL);
}
