/* sqlite.c - one SQLite connection: named statements prepared once, composed text in a small cache, values in and out,
 * SQLite's result codes as errno codes with words.
 *
 * A statement in use (a row loop whose body asks the same question) gets a second copy that lives as long as its rows.
 */
#include "store/sqlite.h"
#include "store/query.h"

#include "base/log.h"
#include "sql/sql.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

enum { CACHE_N = 64 };

struct prepared {
    sqlite3_stmt *stmt;
    bool in_use;
    char *text; /* of the cache: the key */
    uint64_t tick;
};
struct db {
    sqlite3 *handle;
    bool writable;
    struct prepared *named; /* by sql->index */
    struct prepared cache[CACHE_N];
    sqlite3_stmt *steps[STEP_N];
    uint64_t tick;
    int open_rows;
};

static const char *const step_text[STEP_N] = {
    [STEP_BEGIN] = "BEGIN IMMEDIATE", [STEP_BEGIN_READ] = "BEGIN", [STEP_COMMIT] = "COMMIT",
    [STEP_ROLLBACK] = "ROLLBACK",     [STEP_SAVE] = "SAVEPOINT h", [STEP_RELEASE] = "RELEASE h",
    [STEP_UNDO] = "ROLLBACK TO h",
};

struct value value_str (const char *s)
{
    return value_text (text_of (s));
}

struct value value_text (struct text t)
{
    return t.p ? (struct value){ .kind = VALUE_TEXT, .t = t } : V_NULL ();
}

static int code_of (sqlite3 *h, int rc)
{
    switch (rc & 0xff) {
        case SQLITE_FULL:
            return ENOSPC;
        case SQLITE_IOERR: /* the disk may be full here too: the system call says so */
            return h && (sqlite3_system_errno (h) == ENOSPC || sqlite3_system_errno (h) == EDQUOT) ? ENOSPC
                                                                                                   : EIO;
        case SQLITE_NOMEM:
            return ENOMEM;
        case SQLITE_BUSY:
        case SQLITE_LOCKED:
            return EBUSY;
        case SQLITE_READONLY:
            return EROFS;
        case SQLITE_CONSTRAINT:
            return rc == SQLITE_CONSTRAINT_UNIQUE || rc == SQLITE_CONSTRAINT_PRIMARYKEY ? EEXIST : EINVAL;
        case SQLITE_TOOBIG:
            return EFBIG;
        case SQLITE_RANGE:
        case SQLITE_MISUSE:
        case SQLITE_ERROR:
        case SQLITE_MISMATCH:
            return EINVAL;
        default:
            return EIO;
    }
}

int db_fail (struct db *db, int rc, const char *what, struct error *err)
{
    sqlite3 *h = db ? db->handle : NULL;

    return error_set (err, code_of (h, rc), "%s: %s", what, h ? sqlite3_errmsg (h) : sqlite3_errstr (rc));
}

/* -- opening ----------------------------------------------------------------------------------------------------- */
int db_run_script (struct db *db, const char *text, struct error *err)
{
    int rc = sqlite3_exec (db->handle, text, NULL, NULL, NULL);

    return rc == SQLITE_OK ? 0 : db_fail (db, rc, "run SQL", err);
}

int db_pragma_int (struct db *db, const char *text, int64_t *ret, struct error *err)
{
    sqlite3_stmt *stmt = NULL;
    int rc = sqlite3_prepare_v2 (db->handle, text, -1, &stmt, NULL);

    if (rc == SQLITE_OK && (rc = sqlite3_step (stmt)) == SQLITE_ROW)
        *ret = sqlite3_column_int64 (stmt, 0);
    sqlite3_finalize (stmt);
    return rc == SQLITE_ROW ? 0 : db_fail (db, rc, text, err);
}

/* "a.db" -> journal mode etc. The writer is the first to open the file, so it is also who recovers its log. */
static int set_up (struct db *db, enum connection_kind kind, bool sync_off, struct error *err)
{
    static const char reader[] = "PRAGMA query_only=1; PRAGMA cache_size=-8000; PRAGMA temp_store=MEMORY;"
                                 "PRAGMA mmap_size=1073741824;" /* long documents without a copy a page */
                                 "PRAGMA trusted_schema=OFF;";
    static const char writer[] =
        "PRAGMA journal_mode=WAL; PRAGMA wal_autocheckpoint=0; PRAGMA temp_store=MEMORY;"
        "PRAGMA cache_size=-32000; PRAGMA journal_size_limit=134217728;"
        "PRAGMA trusted_schema=OFF;";

    sqlite3_extended_result_codes (db->handle, 1);
    sqlite3_busy_timeout (db->handle, 250);
    if (kind == CONNECTION_READER)
        return db_run_script (db, reader, err);
    if (db_run_script (db, writer, err) < 0)
        return -1;
    return db_run_script (db, sync_off ? "PRAGMA synchronous=OFF" : "PRAGMA synchronous=FULL", err);
}

int db_open (const char *path, enum connection_kind kind, bool sync_off, struct db **ret, struct error *err)
{
    int flags = kind == CONNECTION_READER ? SQLITE_OPEN_READONLY : SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE;
    struct db *db = calloc (1, sizeof (*db));
    int rc;

    if (!db || !(db->named = calloc (sql_all_n + 1, sizeof (*db->named)))) {
        free (db);
        return error_set (err, ENOMEM, "open %s: out of memory", path);
    }
    if (kind == CONNECTION_WRITER) /* the first to open: no lock around each allocation from now on */
        sqlite3_config (SQLITE_CONFIG_MEMSTATUS, 0);
    db->writable = kind == CONNECTION_WRITER;
    rc = sqlite3_open_v2 (path, &db->handle, flags | SQLITE_OPEN_NOMUTEX, NULL);
    if (rc != SQLITE_OK) {
        db_fail (db, rc, path, err);
        db_close (db);
        return -1;
    }
    if (query_register (db->handle, err) < 0 || set_up (db, kind, sync_off, err) < 0) {
        error_wrap (err, "open %s", path);
        db_close (db);
        return -1;
    }
    *ret = db;
    return 0;
}

void db_close (struct db *db)
{
    if (!db)
        return;
    for (size_t i = 0; db->named && i < sql_all_n; i++)
        sqlite3_finalize (db->named[i].stmt);
    for (size_t i = 0; i < CACHE_N; i++) {
        sqlite3_finalize (db->cache[i].stmt);
        free (db->cache[i].text);
    }
    for (size_t i = 0; i < STEP_N; i++)
        sqlite3_finalize (db->steps[i]);
    sqlite3_close_v2 (db->handle);
    free (db->named);
    free (db);
}

sqlite3 *db_handle (struct db *db)
{
    return db->handle;
}

bool db_writable (const struct db *db)
{
    return db->writable;
}

/* -- transactions ------------------------------------------------------------------------------------------------ */
int db_step (struct db *db, enum step step, struct error *err)
{
    sqlite3_stmt **stmt = &db->steps[step];
    int rc = SQLITE_OK;

    if (!*stmt)
        rc = sqlite3_prepare_v3 (db->handle, step_text[step], -1, SQLITE_PREPARE_PERSISTENT, stmt, NULL);
    if (rc == SQLITE_OK)
        rc = sqlite3_step (*stmt);
    if (rc == SQLITE_DONE) {
        sqlite3_reset (*stmt);
        return 0;
    }
    db_fail (db, rc, step_text[step], err);
    sqlite3_reset (*stmt);
    return -1;
}

int db_save (struct db *db, struct error *err)
{
    return db_step (db, STEP_SAVE, err);
}

int db_release (struct db *db, struct error *err)
{
    return db_step (db, STEP_RELEASE, err);
}

int db_undo (struct db *db, struct error *err)
{
    return db_step (db, STEP_UNDO, err) < 0 ? -1 : db_step (db, STEP_RELEASE, err);
}

bool db_in_transaction (struct db *db)
{
    return !sqlite3_get_autocommit (db->handle);
}

void db_abandon (struct db *db)
{
    struct error ignored;

    for (sqlite3_stmt *s = sqlite3_next_stmt (db->handle, NULL); s; s = sqlite3_next_stmt (db->handle, s))
        if (sqlite3_stmt_busy (s))
            sqlite3_reset (s);
    if (db_in_transaction (db) && db_step (db, STEP_ROLLBACK, &ignored) < 0)
        sqlite3_exec (db->handle, "ROLLBACK", NULL, NULL, NULL);
}

void db_tidy (struct db *db)
{
    if (!db->open_rows)
        return;
    for (size_t i = 0; i < sql_all_n; i++)
        if (db->named[i].in_use) {
            log_error ("store", "rows of %s were left open", sql_all[i]->name);
            sqlite3_reset (db->named[i].stmt);
            db->named[i].in_use = false;
        }
    for (size_t i = 0; i < CACHE_N; i++)
        if (db->cache[i].in_use) {
            log_error ("store", "rows were left open: %s", db->cache[i].text);
            sqlite3_reset (db->cache[i].stmt);
            db->cache[i].in_use = false;
        }
    db->open_rows = 0;
}

/* -- statements -------------------------------------------------------------------------------------------------- */
static int prepare (struct db *db, const char *name, const char *text, struct prepared *p, struct error *err)
{
    int rc = sqlite3_prepare_v3 (db->handle, text, -1, SQLITE_PREPARE_PERSISTENT, &p->stmt, NULL);

    if (rc != SQLITE_OK)
        return db_fail (db, rc, name, err);
    if (!p->stmt)
        return error_set (err, EINVAL, "%s: empty statement", name);
    return 0;
}

static struct prepared *second_copy (struct db *db, const char *name, const char *text, bool *ret_owned,
                                     struct error *err)
{
    struct prepared *p = calloc (1, sizeof (*p));

    if (!p)
        abort ();
    if (prepare (db, name, text, p, err) < 0) {
        free (p);
        return NULL;
    }
    *ret_owned = true;
    return p;
}

static struct prepared *named_get (struct db *db, const struct sql *sql, bool *ret_owned, struct error *err)
{
    struct prepared *p = &db->named[sql->index];

    if (p->in_use)
        return second_copy (db, sql->name, sql->text, ret_owned, err);
    if (!p->stmt && prepare (db, sql->name, sql->text, p, err) < 0)
        return NULL;
    *ret_owned = false;
    return p;
}

/* Composed text: the cached one, or into the slot that was not used for longest. */
static struct prepared *composed_get (struct db *db, const char *text, bool *ret_owned, struct error *err)
{
    struct prepared *oldest = NULL;

    for (size_t i = 0; i < CACHE_N; i++) {
        struct prepared *p = &db->cache[i];

        if (p->text && !strcmp (p->text, text)) {
            if (p->in_use)
                break;
            p->tick = ++db->tick;
            *ret_owned = false;
            return p;
        }
        if (!p->in_use && (!oldest || p->tick < oldest->tick))
            oldest = p;
    }
    if (!oldest)
        return second_copy (db, "composed statement", text, ret_owned, err);
    sqlite3_finalize (oldest->stmt);
    free (oldest->text);
    *oldest = (struct prepared){ .tick = ++db->tick };
    if (prepare (db, "composed statement", text, oldest, err) < 0)
        return NULL;
    if (!(oldest->text = strdup (text)))
        abort ();
    *ret_owned = false;
    return oldest;
}

static int bind_one (sqlite3_stmt *stmt, int at, const struct value *v)
{
    switch (v->kind) {
        case VALUE_INT:
            return sqlite3_bind_int64 (stmt, at, v->i);
        case VALUE_REAL:
            return sqlite3_bind_double (stmt, at, v->f);
        case VALUE_TEXT:
            return sqlite3_bind_text64 (stmt, at, v->t.p, v->t.n, SQLITE_STATIC, SQLITE_UTF8);
        case VALUE_BLOB:
            if (!v->t.n)
                return sqlite3_bind_zeroblob (stmt, at, 0);
            return sqlite3_bind_blob64 (stmt, at, v->t.p, v->t.n, SQLITE_STATIC);
        case VALUE_NULL:
            break;
    }
    return sqlite3_bind_null (stmt, at);
}

static int bind_all (struct db *db, const char *name, sqlite3_stmt *stmt, const struct value *v, size_t n,
                     struct error *err)
{
    int want = sqlite3_bind_parameter_count (stmt);

    if ((size_t)want != n)
        return error_set (err, EINVAL, "%s: takes %d values, %zu given", name, want, n);
    for (size_t i = 0; i < n; i++) {
        int rc = bind_one (stmt, (int)i + 1, &v[i]);

        if (rc != SQLITE_OK)
            return db_fail (db, rc, name, err);
    }
    return 0;
}

static void release (struct db *db, struct prepared *p, bool owned)
{
    if (p->in_use)
        db->open_rows--;
    if (owned) {
        sqlite3_finalize (p->stmt);
        free (p);
        return;
    }
    sqlite3_reset (p->stmt);
    p->in_use = false;
}

int64_t db_exec_values (struct db *db, const struct sql *sql, struct error *err, const struct value *v,
                        size_t n)
{
    bool owned;
    struct prepared *p = named_get (db, sql, &owned, err);
    int64_t changed = -1;
    int rc;

    if (!p)
        return -1;
    if (bind_all (db, sql->name, p->stmt, v, n, err) == 0) {
        while ((rc = sqlite3_step (p->stmt)) == SQLITE_ROW)
            ;
        if (rc == SQLITE_DONE)
            changed = sqlite3_changes64 (db->handle);
        else
            db_fail (db, rc, sql->name, err);
    }
    release (db, p, owned);
    return changed;
}

int64_t db_last_id (struct db *db)
{
    return sqlite3_last_insert_rowid (db->handle);
}

static int start_rows (struct db *db, const char *name, struct prepared *p, bool owned, struct rows *ret,
                       const struct value *v, size_t n, struct error *err)
{
    if (!p)
        return -1;
    if (bind_all (db, name, p->stmt, v, n, err) < 0) {
        release (db, p, owned);
        return -1;
    }
    p->in_use = true;
    db->open_rows++;
    *ret = (struct rows){ .db = db, .stmt = p, .owned = owned };
    return 0;
}

int db_query_values (struct db *db, const struct sql *sql, struct rows *ret, struct error *err,
                     const struct value *v, size_t n)
{
    bool owned = false;
    struct prepared *p = named_get (db, sql, &owned, err);

    return start_rows (db, sql->name, p, owned, ret, v, n, err);
}

int db_query_text (struct db *db, const char *text, struct rows *ret, struct error *err,
                   const struct value *v, size_t n)
{
    bool owned = false;
    struct prepared *p = composed_get (db, text, &owned, err);

    return start_rows (db, "composed statement", p, owned, ret, v, n, err);
}

/* -- rows -------------------------------------------------------------------------------------------------------- */
static sqlite3_stmt *stmt_of (struct rows *r)
{
    return ((struct prepared *)r->stmt)->stmt;
}

int db_next (struct rows *r, struct error *err)
{
    int rc = sqlite3_step (stmt_of (r));

    if (rc == SQLITE_ROW)
        return 1;
    if (rc == SQLITE_DONE)
        return 0;
    return db_fail (r->db, rc, "read rows", err);
}

bool row_null (struct rows *r, int col)
{
    return sqlite3_column_type (stmt_of (r), col) == SQLITE_NULL;
}

int64_t row_int (struct rows *r, int col)
{
    return sqlite3_column_int64 (stmt_of (r), col);
}

double row_real (struct rows *r, int col)
{
    return sqlite3_column_double (stmt_of (r), col);
}

struct text row_text (struct rows *r, int col)
{
    sqlite3_stmt *stmt = stmt_of (r);
    const char *p;

    if (sqlite3_column_type (stmt, col) == SQLITE_NULL)
        return (struct text){ 0 };
    p = sqlite3_column_type (stmt, col) == SQLITE_BLOB ? sqlite3_column_blob (stmt, col)
                                                       : (const char *)sqlite3_column_text (stmt, col);
    return (struct text){ p ? p : "", (size_t)sqlite3_column_bytes (stmt, col) };
}

char *row_str (struct rows *r, int col, struct arena *a)
{
    return arena_text (a, row_text (r, col));
}

struct text row_copy (struct rows *r, int col, struct arena *a)
{
    struct text t = row_text (r, col);

    return t.p ? (struct text){ arena_text (a, t), t.n } : t;
}

void rows_done (struct rows *r)
{
    if (r->stmt)
        release (r->db, r->stmt, r->owned);
    r->stmt = NULL;
}
