/* stream.c - see stream.h. */
#include "store/stream.h"

#include "sql/sql.h"
#include "store/store.h"

int stream_get (struct db *db, const char *task, struct stream *ret, struct error *err)
{
    cleanup_rows struct rows r = { 0 };
    int rc;

    *ret = (struct stream){ 0 };
    if (db_query (db, &sql_stream_get, &r, err, V_STR (task)) < 0)
        return -1;
    if ((rc = db_next (&r, err)) <= 0)
        return rc;
    *ret = (struct stream){ .id = row_int (&r, 0),
                            .series = row_int (&r, 1),
                            .batches = row_int (&r, 2),
                            .points = row_int (&r, 3),
                            .lines = row_int (&r, 4),
                            .log_events = row_int (&r, 5),
                            .log_updated = row_int (&r, 6),
                            .log_chunks = row_int (&r, 7) };
    return 0;
}

int stream_need (struct db *db, const char *company, const char *task, struct stream *ret, struct error *err)
{
    if (stream_get (db, task, ret, err) < 0)
        return -1;
    if (ret->id)
        return 0;
    if (db_exec (db, &sql_stream_insert, err, V_STR (company), V_STR (task)) < 0)
        return -1;
    ret->id = db_last_id (db);
    return 0;
}

int stream_save (struct db *db, const struct stream *s, struct error *err)
{
    return db_exec (db, &sql_stream_save, err, V_INT (s->id), V_INT (s->series), V_INT (s->batches),
                    V_INT (s->points), V_INT (s->lines), V_INT (s->log_events), V_INT (s->log_updated),
                    V_INT (s->log_chunks)) < 0
               ? -1
               : 0;
}

int stream_retire (struct db *db, const char *task, struct error *err)
{
    return db_exec (db, &sql_stream_retire, err, V_STR (task)) < 0 ? -1 : 0;
}

/* Rows of a stream, table by table; chunks before the series they hang on. */
static int64_t sweep_one (struct db *db, int64_t stream, int64_t most, struct error *err)
{
    static const struct sql *const tables[] = { &sql_stream_sweep_batches, &sql_stream_sweep_chunks,
                                                &sql_stream_sweep_series,  &sql_stream_sweep_logs,
                                                &sql_stream_sweep_runs,    &sql_stream_sweep_rows };
    int64_t done = 0, n;

    for (size_t i = 0; i < sizeof (tables) / sizeof (*tables); i++) {
        n = db_exec (db, tables[i], err, V_INT (stream), V_INT (most - done));
        if (n < 0)
            return -1;
        if ((done += n) >= most)
            return done;
    }
    return db_exec (db, &sql_stream_delete, err, V_INT (stream)) < 0 ? -1 : done + 1;
}

int stream_sweep (struct db *db, int64_t most, bool *ret_more, struct error *err)
{
    int64_t stream = 0, n;
    int rc;

    {
        cleanup_rows struct rows r = { 0 };

        if (db_query (db, &sql_stream_retired, &r, err) < 0 || (rc = db_next (&r, err)) < 0)
            return -1;
        if (rc)
            stream = row_int (&r, 0);
    }
    *ret_more = stream != 0;
    if (!stream)
        return 0;
    return (n = sweep_one (db, stream, most, err)) < 0 ? -1 : 0;
}
