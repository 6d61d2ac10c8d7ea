/* background.c - old machine statistics and expired properties of workers go, in short slices on the writer thread. */
#include "services/workers/rules.h"

#include "base/clock.h"
#include "sql/sql.h"
#include "store/store.h"

enum { PERIOD_MS = 300000, SLICE_ROWS = 500 };
static const int64_t KEEP_MS = 14LL * 24 * 3600 * 1000;

static int slice (struct db *db, int64_t budget_ms, void *arg, struct error *err)
{
    cleanup_arena struct arena *a = arena_create ();
    int64_t now = clock_now (), removed = 0;
    cleanup_rows struct rows r = { 0 };
    int more;

    (void)budget_ms, (void)arg;
    if (db_exec (db, &sql_worker_property_old, err, V_INT (now)) < 0 ||
        db_query (db, &sql_worker_sample_companies, &r, err) < 0)
        return -1;
    while ((more = db_next (&r, err)) > 0 && removed < SLICE_ROWS) {
        int64_t n = db_exec (db, &sql_worker_sample_old, err, V_STR (row_str (&r, 0, a)),
                             V_INT (now - KEEP_MS), V_INT (SLICE_ROWS - removed));

        if (n < 0)
            return -1;
        removed += n;
    }
    return more < 0 ? -1 : removed >= SLICE_ROWS;
}

static const struct sweeper sweeper = { "workers", PERIOD_MS, slice, NULL };

void workers_background_start (struct store *store)
{
    store_add_sweeper (store, &sweeper, NULL);
}
