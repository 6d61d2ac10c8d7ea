/* migrate.c - see migrate.h. Table `migration` says what was applied; user_version repeats the highest number for
 * people who look with other tools; application_id "STKR" marks the file as ours. */
#include "store/migrate.h"

#include "base/clock.h"
#include "base/log.h"
#include "sql/sql.h"
#include "store/sqlite.h"

#include <errno.h>
#include <stdio.h>

enum { APPLICATION_ID = 0x53544b52 };

static const struct migration *migration_find (int64_t number)
{
    for (size_t i = 0; i < sql_migrations_n; i++)
        if (sql_migrations[i].number == number)
            return &sql_migrations[i];
    return NULL;
}

/* Is the file new (no table at all), ours, or somebody else's? */
static int check_owner (struct db *db, const char *folder, struct error *err)
{
    int64_t id = 0, tables = 0;

    if (db_pragma_int (db, "PRAGMA application_id", &id, err) < 0 ||
        db_pragma_int (db, "SELECT count(*) FROM sqlite_schema", &tables, err) < 0)
        return error_wrap (err, "data folder %s", folder);
    if (id != APPLICATION_ID && (id || tables))
        return error_set (err, EINVAL, "data folder %s: stoker.db is not a database of stoker", folder);
    return db_run_script (
        db,
        "PRAGMA application_id=0x53544b52;"
        "CREATE TABLE IF NOT EXISTS migration (number INTEGER PRIMARY KEY, name TEXT NOT NULL,"
        " applied INTEGER NOT NULL);",
        err);
}

/* ret_done: one flag a known migration. */
static int check_applied (struct db *db, const char *folder, bool *ret_done, struct error *err)
{
    cleanup_rows struct rows r = { 0 };
    int more;

    if (db_query_text (db, "SELECT number, name FROM migration ORDER BY number", &r, err, NULL, 0) < 0)
        return -1;
    while ((more = db_next (&r, err)) > 0) {
        const struct migration *m = migration_find (row_int (&r, 0));
        struct text name = row_text (&r, 1);

        if (!m)
            return error_set (
                err, EPROTO,
                "data folder %s was written by a newer stoker (data version %lld, this program knows "
                "up to %d): use that version, or restore a backup made before it",
                folder, (long long)row_int (&r, 0),
                sql_migrations_n ? sql_migrations[sql_migrations_n - 1].number : 0);
        if (!text_is (name, m->name))
            return error_set (err, EPROTO,
                              "data folder %s was written by another build of stoker: its data version %d is "
                              "'%.*s', here it is '%s'",
                              folder, m->number, (int)name.n, name.p, m->name);
        ret_done[m - sql_migrations] = true;
    }
    return more;
}

static int apply (struct db *db, const struct migration *m, struct error *err)
{
    char note[256];

    snprintf (note, sizeof (note), "INSERT INTO migration VALUES (%d, '%s', %lld); PRAGMA user_version=%d;",
              m->number, m->name, (long long)clock_now (), sql_migrations[sql_migrations_n - 1].number);
    if (db_step (db, STEP_BEGIN, err) < 0)
        return -1;
    if (db_run_script (db, m->text, err) < 0 || db_run_script (db, note, err) < 0 ||
        db_step (db, STEP_COMMIT, err) < 0) {
        db_abandon (db);
        return error_wrap (err, "migration %04d_%s", m->number, m->name);
    }
    log_info ("store", "migration applied number=%d name=%s", m->number, m->name);
    return 0;
}

int migrate (struct db *db, const char *folder, struct error *err)
{
    cleanup_arena struct arena *a = arena_create ();
    bool *done = arena_array (a, bool, sql_migrations_n + 1);

    if (check_owner (db, folder, err) < 0 || check_applied (db, folder, done, err) < 0)
        return -1;
    for (size_t i = 0; i < sql_migrations_n; i++)
        if (!done[i] && apply (db, &sql_migrations[i], err) < 0)
            return error_wrap (err, "data folder %s", folder);
    return 0;
}
