/* job.c - see job.h. */
#include "store/job.h"

#include "sql/sql.h"

int job_add (struct db *db, const char *company, const char *kind, struct text body, int64_t now,
             struct error *err)
{
    return db_exec (db, &sql_job_add, err, V_STR (company), V_STR (kind), V_TEXT (body), V_INT (now)) < 0 ? -1
                                                                                                          : 0;
}

int job_take (struct db *db, struct arena *a, int64_t now, struct job *ret, struct error *err)
{
    cleanup_rows struct rows r = { 0 };
    struct job job;
    int found;

    if (db_query (db, &sql_job_next, &r, err, V_INT (now)) < 0 || (found = db_next (&r, err)) < 0)
        return -1;
    if (!found)
        return 0;
    job = (struct job){ .id = row_int (&r, 0),
                        .company = row_str (&r, 1, a),
                        .kind = row_str (&r, 2, a),
                        .body = row_copy (&r, 3, a),
                        .attempts = (int)row_int (&r, 4) + 1 };
    if (db_exec (db, &sql_job_lease, err, V_INT (job.id), V_INT (now + JOB_LEASE_MS)) < 0)
        return -1;
    *ret = job;
    return 1;
}

int job_done (struct db *db, int64_t id, struct error *err)
{
    return db_exec (db, &sql_job_remove, err, V_INT (id)) < 0 ? -1 : 0;
}

int job_fail (struct db *db, const struct job *job, const char *words, int64_t now, struct error *err)
{
    int64_t minutes = job->attempts > 10 ? 1440 : 1LL << (job->attempts > 0 ? job->attempts - 1 : 0);

    return db_exec (db, &sql_job_problem, err, V_INT (job->id), V_INT (now + minutes * 60000),
                    V_STR (words)) < 0
               ? -1
               : 0;
}
