/* fuzz_query.c - any JSON as the body of a list call. First byte: which entity and which family of calls. What the
 * query language accepts must run: composed SQL that does not prepare, parameters that do not fit, an answer that is no
 * JSON are faults; so is a refusal without a wire code and words. */
#include "base/json.h"
#include "base/log.h"
#include "services/models/models.h"
#include "services/projects/projects.h"
#include "services/queues/queues.h"
#include "services/tasks/tasks.h"
#include "services/users/users.h"
#include "sql/sql.h"
#include "store/migrate.h"
#include "store/query.h"
#include "store/sqlite.h"

#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput (const uint8_t *data, size_t n);

static const char rows[] =
    "INSERT INTO project (id, company, user, name, basename, created, last_update) VALUES ('p', 'c', 'u', "
    "'one', 'one', 1, 1);"
    "INSERT INTO project_tree VALUES ('p', 'p', 0);"
    "INSERT INTO task (id, company, user, name, type, status, created, project, last_update, last_change) "
    "VALUES"
    " ('t', 'c', 'u', 'first', 'training', 'created', 1, 'p', 1, 1), ('s', '', 'u', 'shown', 'testing', "
    "'stopped', 2, 'p', 2, 2);"
    "INSERT INTO task_doc (task, execution, hyperparams, configuration, models, output, container, runtime) "
    "SELECT n,"
    " '{\"artifacts\":[]}', '{\"A\":{\"b\":{\"value\":\"1\"}}}', '{}', '{\"input\":[{\"model\":\"m\"}]}', "
    "'{}', '{}', '{}' FROM task;"
    "INSERT INTO task_param VALUES (1, 'A', 'b', '1', sortkey('1'));"
    "INSERT INTO model (id, company, user, name, created, ready, project, last_update, last_change)"
    " VALUES ('m', 'c', 'u', 'model', 1, 1, 'p', 1, 1);";

static struct db *open_db (void)
{
    struct db *db = NULL;
    struct error err = { 0 };
    log_set_level (LOG_ERROR);
    if (db_open (":memory:", CONNECTION_WRITER, true, &db, &err) < 0 || migrate (db, ":memory:", &err) < 0 ||
        db_run_script (db, rows, &err) < 0) {
        fprintf (stderr, "%s\n", err.text);
        abort ();
    }
    return db;
}

int LLVMFuzzerTestOneInput (const uint8_t *data, size_t n)
{
    static const struct query_entity *const entities[] = { &tasks_entity, &models_entity, &projects_entity,
                                                           &queues_entity, &users_entity };
    static struct db *db;
    struct error err = { 0 };
    struct text body, checked;
    if (!db)
        db = open_db ();
    if (n < 2)
        return 0;
    cleanup_arena struct arena *a = arena_create ();
    struct query_source src = { .db = db, .arena = a, .company = "c", .version = 2034, .now = 5 };
    struct query_options o = { .flags = data[0] & 64 ? QUERY_EX : 0 };
    struct query_result r;
    if (json_check ((struct text){ (const char *)data + 1, n - 1 }, &body, &err) < 0 ||
        json_kind (body) != JSON_OBJECT)
        return 0;
    if (query_run (&src, entities[data[0] % 5], body, &o, &r, &err) < 0) {
        if (err.code < 4000000 || !err.text[0]) {
            fprintf (stderr, "%d %s\n", err.code, err.text);
            abort ();
        }
    } else if (json_check (r.items, &checked, &err) < 0 || json_count (checked) != r.n) {
        abort ();
    }
    return 0;
}
