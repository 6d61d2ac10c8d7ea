/* organization_test.c - what may not grow with the number of tasks: counted in steps of SQLite's machine, not in time. */
#include "base/unit.h"

#include "api/organization.api.h"
#include "base/file.h"
#include "services/call.h"
#include "store/migrate.h"
#include "store/sqlite.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char folder[] = "/tmp/organization_test.XXXXXX";
static struct db *db;

#define ok(expr)                                                                                             \
    do {                                                                                                     \
        struct error err = { 0 };                                                                            \
        if ((expr) < 0)                                                                                      \
            fail_msg (#expr ": %s", err.text);                                                               \
    } while (0)

enum { STEP = 10 }; /* machine steps that count as one */

static int count_step (void *arg)
{
    ++*(int64_t *)arg;
    return 0;
}

/* Tasks from n up to `upto`, of seven kinds of tags; models are tagged like them. */
static void add_rows (int n, int upto)
{
    cleanup_arena struct arena *a = arena_create ();
    const char *sql =
        "WITH RECURSIVE i(k) AS (SELECT %1$d UNION ALL SELECT k + 1 FROM i WHERE k < %2$d - 1) "
        "INSERT INTO task (id, company, user, name, type, status, created, last_update, last_change, tags) "
        "SELECT 't' || k, 'c', 'u', 'a task', 'training', 'created', k, k, k, '[\"both\",\"t' || (k %% 7) || "
        "'\"]' "
        "FROM i; "
        "WITH RECURSIVE i(k) AS (SELECT %1$d UNION ALL SELECT k + 1 FROM i WHERE k < %2$d - 1) "
        "INSERT INTO model (id, company, user, name, ready, created, last_update, last_change, tags) "
        "SELECT 'm' || k, 'c', 'u', 'a model', 0, k, k, k, '[\"both\",\"m' || (k %% 7) || '\"]' FROM i";
    ok (db_run_script (db, arena_printf (a, sql, n, upto), &err));
}

static int64_t steps_of_tags (const char *filter)
{
    cleanup_arena struct arena *a = arena_create ();
    struct call c = { .arena = a, .db = db, .who = { .company = "c" }, .version = 2034 };
    struct organization_get_tags_in in = { .filter = text_of (filter) };
    struct organization_get_tags_out out = { 0 };
    int64_t steps = 0;

    sqlite3_progress_handler (db_handle (db), STEP, count_step, &steps);
    ok (organization_get_tags (&c, &in, &out, &err));
    sqlite3_progress_handler (db_handle (db), 0, NULL, NULL);
    assert_int_equal (out.tags.n, *filter ? 2 : 15);
    assert_string_equal (out.tags.v[0], "both");
    assert_string_equal (out.tags.v[1], "m0");
    return steps;
}

static void tags_of_many_tasks (void **state)
{
    static const char *const filters[] = { "", "{\"tags\":[\"m0\"]}" };
    int64_t few[2], many;

    (void)state;
    add_rows (0, 70);
    few[0] = steps_of_tags (filters[0]);
    few[1] = steps_of_tags (filters[1]);
    assert_true (few[0] > 10);
    add_rows (70, 7000);
    for (int i = 0; i < 2; i++) {
        many = steps_of_tags (filters[i]);
        assert_in_range (many, few[i] / 2, few[i] * 3 / 2);
    }
}

static int set_up (void **state)
{
    struct error err = { 0 };
    char path[64];

    (void)state;
    if (!mkdtemp (folder))
        return -1;
    snprintf (path, sizeof (path), "%s/db", folder);
    if (db_open (path, CONNECTION_WRITER, true, &db, &err) < 0 || migrate (db, folder, &err) < 0) {
        print_error ("%s\n", err.text);
        return -1;
    }
    return 0;
}

static int tear_down (void **state)
{
    struct error err;

    (void)state;
    db_close (db);
    return folder_remove (folder, &err);
}

int main (void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test (tags_of_many_tasks) };

    return cmocka_run_group_tests (tests, set_up, tear_down);
}
