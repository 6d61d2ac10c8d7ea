/* sqlite.h - one SQLite connection, inside the store only: opening, statements, transactions, error codes. A
 * connection has one user at a time. */
#pragma once
#include "store/store.h"

#include <sqlite3.h>

enum connection_kind { CONNECTION_WRITER, CONNECTION_READER };

/* Writer: read-write, WAL, synchronous FULL (OFF with sync_off), no automatic checkpoints. Reader: read-only and
 * query_only. */
int db_open (const char *path, enum connection_kind kind, bool sync_off, struct db **ret,
             struct error *err) warn_unused;
void db_close (struct db *db);
sqlite3 *db_handle (struct db *db);

enum step {
    STEP_BEGIN,
    STEP_BEGIN_READ,
    STEP_COMMIT,
    STEP_ROLLBACK,
    STEP_SAVE,
    STEP_RELEASE,
    STEP_UNDO,
    STEP_N
};
int db_step (struct db *db, enum step step, struct error *err) warn_unused;
bool db_in_transaction (struct db *db);
void db_abandon (struct db *db); /* end every open statement and roll back what is open; never fails */
/* After a handler: rows it forgot to end are ended (and logged: a fault of that handler). */
void db_tidy (struct db *db);
int db_run_script (struct db *db, const char *text, struct error *err) warn_unused; /* many statements */
int db_pragma_int (struct db *db, const char *text, int64_t *ret, struct error *err) warn_unused;
/* What SQLite said, as an error: EEXIST, ENOSPC, EROFS, ENOMEM, EBUSY or EIO as code. Returns -1. */
int db_fail (struct db *db, int rc, const char *what, struct error *err);
