/* files_test.c - paths and rows of files, on a real data folder. */
#include "base/file.h"
#include "base/unit.h"
#include "services/files/files.h"
#include "store/job.h"
#include "store/store.h"
#include "wire/errors.h"

#include <stdlib.h>
#include <string.h>

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

static void test_rows (void **state)
{
    char folder[] = "/tmp/stoker-files-XXXXXX";
    struct arena *a = arena_create ();
    struct store_options o = { .folder = mkdtemp (folder), .readers = 1, .sync_off = true };
    struct store *s;
    struct error err = { 0 };

    (void)state;
    assert_int_equal (store_open (&o, &s, &err), 0);
    assert_int_equal (store_write_wait (s, rows_run, a, &err), 0);
    store_close (s);
    assert_int_equal (folder_remove (folder, &err), 0);
    arena_destroy (a);
}

int main (void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test (test_paths), cmocka_unit_test (test_urls),
                                        cmocka_unit_test (test_rows) };

    return cmocka_run_group_tests (tests, NULL, NULL);
}
