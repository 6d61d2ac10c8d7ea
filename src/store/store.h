/* store.h - the one door to the data. SQLite behind it now (one read-write connection on the writer thread,
 * readers query_only on the pool); PostgreSQL has room behind the same door.
 *
 * Handlers see only `struct db`: a connection in the middle of one handler's run. SQL stands in
 * sql/<service>.sql as named statements (`-- name: tasks_get` above each; parameters ?1 ?2 ...), made into
 * `extern const struct sql sql_tasks_get` by tools/sqlgen.py (header "sql.h"); composed statements come from
 * store/query.h.
 */
#pragma once
#include "base/arena.h"
#include "base/error.h"
#include "base/text.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct store;
struct db;
struct sql {
    const char *name, *text;
    int index; /* in the connection's table of prepared statements */
};

/* -- values and rows
 * ------------------------------------------------------------------------------------------- */
enum value_kind { VALUE_NULL, VALUE_INT, VALUE_REAL, VALUE_TEXT, VALUE_BLOB };
struct value {
    enum value_kind kind;
    int64_t i;
    double f;
    struct text t; /* borrowed until the statement is done: it must live as long as the rows */
};
#define V_NULL()  ((struct value){ .kind = VALUE_NULL })
#define V_INT(x)  ((struct value){ .kind = VALUE_INT, .i = (x) })
#define V_REAL(x) ((struct value){ .kind = VALUE_REAL, .f = (x) })
#define V_STR(s)  value_str (s)  /* const char *, NULL = NULL */
#define V_TEXT(x) value_text (x) /* struct text, absent = NULL */
#define V_BLOB(x) ((struct value){ .kind = VALUE_BLOB, .t = (x) })
struct value value_str (const char *s);
struct value value_text (struct text t);

/* Run a statement that returns no rows. db_exec (db, &sql_tasks_touch, err, V_INT (now), V_STR (id)) -> rows
 * changed
 * (>= 0) or -1. A broken UNIQUE is ERR code EEXIST (errno), a full disk ENOSPC, in err->code. */
#define db_exec(db, sql, err, ...)                                                                           \
    db_exec_values ((db), (sql), (err), (struct value[]){ V_NULL (), ##__VA_ARGS__ } + 1,                    \
                    sizeof ((struct value[]){ V_NULL (), ##__VA_ARGS__ }) / sizeof (struct value) - 1)
int64_t db_exec_values (struct db *db, const struct sql *sql, struct error *err, const struct value *v,
                        size_t n);
int64_t db_last_id (struct db *db); /* rowid of the last insert */

/* Rows: open, then db_next until 0, then rows_done (cleanup_rows). Texts live until the next db_next. */
struct rows {
    struct db *db;
    void *stmt;
    bool owned; /* a composed statement: finalized, not kept */
};
#define db_query(db, sql, rows, err, ...)                                                                    \
    db_query_values ((db), (sql), (rows), (err), (struct value[]){ V_NULL (), ##__VA_ARGS__ } + 1,           \
                     sizeof ((struct value[]){ V_NULL (), ##__VA_ARGS__ }) / sizeof (struct value) - 1)
int db_query_values (struct db *db, const struct sql *sql, struct rows *ret, struct error *err,
                     const struct value *v, size_t n) warn_unused;
/* Composed SQL (only store/query and migrations make such text; values are parameters). Kept in a small
 * cache. */
int db_query_text (struct db *db, const char *text, struct rows *ret, struct error *err,
                   const struct value *v, size_t n) warn_unused;
int db_next (struct rows *r, struct error *err) warn_unused; /* 1 a row, 0 the end, -1 */
bool row_null (struct rows *r, int col);
int64_t row_int (struct rows *r, int col);
double row_real (struct rows *r, int col);
struct text row_text (struct rows *r, int col);           /* also blobs; NULL gives the absent text */
char *row_str (struct rows *r, int col, struct arena *a); /* copy; NULL gives NULL */
struct text row_copy (struct rows *r, int col, struct arena *a);
void rows_done (struct rows *r);
#define cleanup_rows __attribute__ ((cleanup (rows_done)))

bool db_writable (const struct db *db);

/* Inside a write handler: a part that may fail by itself. db_save, then either db_release (keep) or db_undo (leave
 * nothing of it). They nest. */
int db_save (struct db *db, struct error *err) warn_unused;
int db_release (struct db *db, struct error *err) warn_unused;
int db_undo (struct db *db, struct error *err) warn_unused;

/* -- the store as a whole (server/, backup and tests use this; services never)
 * ------------------------------------- */
struct store_options {
    const char *folder; /* data folder: made 0700 if missing, locked by flock for one process */
    int readers;        /* connections of the read pool */
    bool sync_off;      /* tests of other things only */
};
/* Opens, locks, checks the version (refuses a newer one in words), migrates, starts the writer thread. */
int store_open (const struct store_options *o, struct store **ret, struct error *err) warn_unused;
void store_close (struct store *s); /* drains the writer, checkpoints TRUNCATE */

/* Run fn with a read connection, on the calling thread (blocks while all readers are busy). */
int store_read (struct store *s, int (*fn) (struct db *db, void *arg, struct error *err), void *arg,
                struct error *err);

/* One write: queued for the writer thread; run in the group's transaction, perhaps AGAIN (one of the group failed after it
 * had changed something), perhaps again alone in a transaction of its own (the group's transaction was lost): run starts
 * from scratch each time and forgets what an earlier run left. Of a run that fails nothing stays. done is called on the writer thread after COMMIT (rc 0) or failure (rc -1, err: ENOSPC
 * says disk full); it must be short and may free w. `weight` in bytes counts against the group's 8 MB. */
struct store_write {
    int (*run) (struct store_write *w, struct db *db, struct error *err);
    void (*done) (struct store_write *w, int rc, const struct error *err);
    size_t weight;
    bool control;             /* goes first */
    struct store_write *next; /* the writer's */
    int rc;
    struct error err;
};
void store_submit (struct store *s, struct store_write *w);
int store_write_wait (struct store *s, int (*fn) (struct db *db, void *arg, struct error *err), void *arg,
                      struct error *err); /* the same, blocking; for start-up and tests */

/* Background work on the writer thread, between groups, each slice in a transaction of its own. run does at most
 * budget_ms of work and returns 1 (there is more: come back soon), 0 (done: come back after period_ms) or -1 (logged,
 * undone; come back after period_ms). after, where given, runs once the slice is committed: the place for bells. Add
 * before traffic starts; at most 16. The row and arg outlive the store. */
struct sweeper {
    const char *name;
    int64_t period_ms;
    int (*run) (struct db *db, int64_t budget_ms, void *arg, struct error *err);
    void (*after) (void *arg);
};
void store_add_sweeper (struct store *s, const struct sweeper *sweeper, void *arg);
void store_sweep (struct store *s); /* all sweepers are due now; from any thread */

/* Counters since store_open, for health pages, benches and tests. */
struct store_stats {
    int64_t groups, writes, alone; /* transactions of groups; handlers run; of those, again alone */
    int64_t failed;                /* handlers that failed */
    int64_t checkpoints, wal_bytes;
    int64_t queued; /* writes waiting now */
};
struct store_stats store_stats (struct store *s);
