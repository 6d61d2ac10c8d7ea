/* writer.c - the one writer: many handlers in one durable transaction.
 *
 * A group closes when the queue is empty, after 2 ms, 256 handlers or 8 MB; then one COMMIT (one fsync), then all answers.
 * Who has just been answered often asks again at once: a group that is smaller than what was under way when the last one
 * ended waits for the others, for half the time of a commit at the most. One client alone is never kept waiting.
 * Control calls are taken before others. Of a handler that fails nothing stays: nearly all fail before their first
 * change, so a group begins without savepoints (each would copy every page that is touched); when one fails after a change,
 * the group runs again from its start with a savepoint around each handler, and so do the next groups. SQLite may roll
 * back a transaction by itself (disk full, I/O error, no memory); then, or when COMMIT fails, every handler of the group
 * runs again alone, so that one bad request fails alone and nobody is told "done" wrongly.
 *
 * The log (WAL) is moved into the database here and nowhere else: PASSIVE when idle and at every 16 MB, RESTART over
 * 128 MB, TRUNCATE at the end.
 */
#include "store/writer.h"

#include "base/log.h"
#include "store/sqlite.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <time.h>

enum {
    GROUP_US = 2000,
    GROUP_N = 256,
    GROUP_BYTES = 8 << 20,
    LINGER_US = 500,
    GUARDED_N = 64, /* groups with savepoints after one that was spoilt */
    SWEEPERS_MAX = 16,
    SLICE_MS = 5,          /* of a sweeper */
    BUSY_PAUSE_US = 20000, /* between slices while handlers wait */
    IDLE_US = 1000000,     /* without a write: time for a checkpoint */
    PASSIVE_BYTES = 16 << 20,
    RESTART_BYTES = 128 << 20,
    PAGE = 4096,
};

struct queue {
    struct store_write *first, **last;
};
struct sweep {
    const struct sweeper *row;
    void *arg;
    int64_t due; /* us */
};
struct writer {
    struct db *db;
    pthread_t thread;
    pthread_mutex_t lock; /* guards control, rest, stop, sweeps, stats */
    pthread_cond_t wake;
    struct queue control, rest;
    bool stop;
    struct sweep sweeps[SWEEPERS_MAX];
    size_t sweeps_n, sweep_turn;
    struct store_stats stats;

    /* the thread's own */
    int64_t expected;                 /* handlers: those of the last group and those that waited at its end */
    int64_t commit_us;                /* what a commit takes, smoothed */
    int guarded;                      /* so many groups to come run with savepoints */
    int64_t last_write, last_slice;   /* us */
    int64_t wal_bytes, checkpoint_at; /* size of the log; its size at the last checkpoint */
};

static int64_t now_us (void)
{
    struct timespec t;

    clock_gettime (CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

/* -- the queue --------------------------------------------------------------------------------------------------- */
static void queue_put (struct queue *q, struct store_write *job)
{
    job->next = NULL;
    *q->last = job;
    q->last = &job->next;
}

static struct store_write *queue_take (struct queue *q)
{
    struct store_write *job = q->first;

    if (job && !(q->first = job->next))
        q->last = &q->first;
    return job;
}

void writer_submit (struct writer *w, struct store_write *job)
{
    pthread_mutex_lock (&w->lock);
    queue_put (job->control ? &w->control : &w->rest, job);
    w->stats.queued++;
    pthread_cond_signal (&w->wake);
    pthread_mutex_unlock (&w->lock);
}

static struct store_write *take (struct writer *w)
{
    struct store_write *job;

    pthread_mutex_lock (&w->lock);
    job = queue_take (&w->control);
    if (!job)
        job = queue_take (&w->rest);
    if (job)
        w->stats.queued--;
    pthread_mutex_unlock (&w->lock);
    return job;
}

/* -- running handlers -------------------------------------------------------------------------------------------- */
enum outcome {
    GROUP_GOES_ON,
    GROUP_SPOILT, /* a handler failed after a change that only a rollback of all can undo */
    GROUP_LOST    /* the transaction is gone, or cannot go on */
};

static enum outcome run_in_group (struct writer *w, struct store_write *job, bool guarded)
{
    int64_t changes = sqlite3_total_changes64 (db_handle (w->db));
    struct error ignored;

    job->err = (struct error){ 0 };
    if (guarded && db_step (w->db, STEP_SAVE, &job->err) < 0)
        return GROUP_LOST;
    job->rc = job->run (job, w->db, &job->err);
    db_tidy (w->db);
    if (!db_in_transaction (w->db))
        return GROUP_LOST;
    if (!guarded)
        return job->rc < 0 && sqlite3_total_changes64 (db_handle (w->db)) != changes ? GROUP_SPOILT
                                                                                     : GROUP_GOES_ON;
    if (job->rc < 0 && db_step (w->db, STEP_UNDO, &ignored) < 0)
        return GROUP_LOST;
    return db_step (w->db, STEP_RELEASE, &ignored) == 0 ? GROUP_GOES_ON : GROUP_LOST;
}

static void run_alone (struct writer *w, struct store_write *job)
{
    job->err = (struct error){ 0 };
    job->rc = db_step (w->db, STEP_BEGIN, &job->err);
    if (job->rc == 0) {
        job->rc = job->run (job, w->db, &job->err);
        db_tidy (w->db);
        if (job->rc == 0)
            job->rc = db_step (w->db, STEP_COMMIT, &job->err);
    }
    if (job->rc < 0)
        db_abandon (w->db);
}

/* The next handler of a group of n; NULL: it closes. *until: how long this group waits for more, 0 = not asked yet. */
static struct store_write *take_more (struct writer *w, int64_t n, int64_t *until)
{
    struct store_write *job = take (w);
    struct timespec t;

    if (job || !n || n >= w->expected)
        return job;
    if (!*until)
        *until = now_us () + (w->commit_us < 2 * LINGER_US ? w->commit_us / 2 : LINGER_US);
    t = (struct timespec){ *until / 1000000, *until % 1000000 * 1000 };
    pthread_mutex_lock (&w->lock);
    while (!w->control.first && !w->rest.first && !w->stop &&
           pthread_cond_timedwait (&w->wake, &w->lock, &t) == 0)
        ;
    pthread_mutex_unlock (&w->lock);
    return take (w);
}

static int commit (struct writer *w)
{
    int64_t start = now_us ();
    struct error ignored;
    int rc = db_step (w->db, STEP_COMMIT, &ignored);

    w->commit_us += (now_us () - start - w->commit_us) / 4;
    return rc;
}

/* The handlers of one group, in order, into `group`. */
static enum outcome run_handlers (struct writer *w, struct queue *group, bool guarded, int64_t *ret_n)
{
    enum outcome outcome = GROUP_GOES_ON;
    int64_t start = now_us (), until = 0;
    size_t bytes = 0;
    struct store_write *job;

    for (*ret_n = 0; outcome == GROUP_GOES_ON && *ret_n < GROUP_N && bytes < GROUP_BYTES; ++*ret_n) {
        if (*ret_n && now_us () - start >= GROUP_US)
            break;
        if (!(job = take_more (w, *ret_n, &until)))
            break;
        queue_put (group, job);
        bytes += job->weight;
        outcome = run_in_group (w, job, guarded);
    }
    return outcome;
}

/* All of a spoilt group once more, in a new transaction, with savepoints. */
static enum outcome run_guarded (struct writer *w, struct queue *group)
{
    enum outcome outcome = GROUP_GOES_ON;
    struct error ignored;

    db_abandon (w->db);
    if (db_step (w->db, STEP_BEGIN, &ignored) < 0)
        return GROUP_LOST;
    for (struct store_write *job = group->first; job && outcome == GROUP_GOES_ON; job = job->next)
        outcome = run_in_group (w, job, true);
    return outcome;
}

static void finish (struct writer *w, struct queue *group, int64_t n, int64_t alone)
{
    struct store_write *job;
    int64_t failed = 0;

    for (job = group->first; job; job = job->next)
        failed += job->rc < 0;
    pthread_mutex_lock (&w->lock);
    w->stats.groups++;
    w->stats.writes += n;
    w->stats.alone += alone;
    w->stats.failed += failed;
    w->stats.wal_bytes = w->wal_bytes;
    w->expected = n + w->stats.queued;
    pthread_mutex_unlock (&w->lock);
    while ((job = queue_take (group)))
        job->done (job, job->rc, &job->err);
}

static void run_group (struct writer *w)
{
    struct queue group = { .last = &group.first };
    struct error err = { 0 };
    int64_t n = 0, alone = 0;
    bool kept = db_step (w->db, STEP_BEGIN, &err) == 0;

    if (!kept) { /* let each one meet the trouble itself */
        struct store_write *job = take (w);

        if (job)
            queue_put (&group, job), n = 1;
    } else {
        enum outcome outcome = run_handlers (w, &group, w->guarded > 0, &n);

        if (w->guarded > 0)
            w->guarded--;
        if (outcome == GROUP_SPOILT) {
            w->guarded = GUARDED_N;
            outcome = run_guarded (w, &group);
        }
        kept = outcome == GROUP_GOES_ON && commit (w) == 0;
    }
    if (!kept) {
        db_abandon (w->db);
        for (struct store_write *job = group.first; job; job = job->next, alone++)
            run_alone (w, job);
    }
    w->last_write = now_us ();
    finish (w, &group, n, alone);
}

/* -- checkpoints ------------------------------------------------------------------------------------------------- */
static int on_wal (void *arg, sqlite3 *h, const char *name, int pages)
{
    struct writer *w = arg;

    (void)h, (void)name;
    w->wal_bytes = (int64_t)pages * PAGE;
    if (w->wal_bytes < w->checkpoint_at) /* the log began anew */
        w->checkpoint_at = 0;
    return SQLITE_OK;
}

static void checkpoint (struct writer *w, int mode)
{
    int pages = 0, moved = 0;
    int rc = sqlite3_wal_checkpoint_v2 (db_handle (w->db), NULL, mode, &pages, &moved);

    w->checkpoint_at = w->wal_bytes;
    pthread_mutex_lock (&w->lock);
    w->stats.checkpoints++;
    pthread_mutex_unlock (&w->lock);
    if (rc != SQLITE_OK && (rc & 0xff) != SQLITE_BUSY)
        log_warn ("store", "checkpoint failed: %s", sqlite3_errmsg (db_handle (w->db)));
    log_debug ("store", "checkpoint mode=%d pages=%d moved=%d", mode, pages, moved);
}

static void checkpoint_when_due (struct writer *w, bool idle)
{
    if (w->wal_bytes <= w->checkpoint_at)
        return;
    if (w->wal_bytes - w->checkpoint_at >= PASSIVE_BYTES)
        checkpoint (w, w->wal_bytes >= RESTART_BYTES ? SQLITE_CHECKPOINT_RESTART : SQLITE_CHECKPOINT_PASSIVE);
    else if (idle && now_us () - w->last_write >= IDLE_US)
        checkpoint (w, SQLITE_CHECKPOINT_PASSIVE);
}

/* -- sweepers ---------------------------------------------------------------------------------------------------- */
void writer_add_sweeper (struct writer *w, const struct sweeper *sweeper, void *arg)
{
    pthread_mutex_lock (&w->lock);
    if (w->sweeps_n == SWEEPERS_MAX)
        abort ();
    w->sweeps[w->sweeps_n++] = (struct sweep){ sweeper, arg, now_us () + sweeper->period_ms * 1000 };
    pthread_cond_signal (&w->wake);
    pthread_mutex_unlock (&w->lock);
}

void writer_sweep (struct writer *w)
{
    pthread_mutex_lock (&w->lock);
    for (size_t i = 0; i < w->sweeps_n; i++)
        w->sweeps[i].due = 0;
    pthread_cond_signal (&w->wake);
    pthread_mutex_unlock (&w->lock);
}

/* The next sweeper that is due, in turn; NULL when none is. */
static struct sweep *sweep_due (struct writer *w)
{
    int64_t now = now_us ();
    struct sweep *found = NULL;

    pthread_mutex_lock (&w->lock);
    for (size_t i = 0; i < w->sweeps_n && !found; i++) {
        struct sweep *s = &w->sweeps[(w->sweep_turn + i) % w->sweeps_n];

        if (s->due <= now) {
            found = s;
            w->sweep_turn = (w->sweep_turn + i + 1) % w->sweeps_n;
            s->due = now + s->row->period_ms * 1000; /* a sweep asked for from now on is one more */
        }
    }
    pthread_mutex_unlock (&w->lock);
    return found;
}

static void sweep_slice (struct writer *w, struct sweep *s)
{
    struct error err = { 0 };
    int rc = db_step (w->db, STEP_BEGIN, &err);

    if (rc == 0) {
        rc = s->row->run (w->db, SLICE_MS, s->arg, &err);
        db_tidy (w->db);
        if (rc >= 0 && db_step (w->db, STEP_COMMIT, &err) < 0)
            rc = -1;
    }
    if (rc < 0) {
        db_abandon (w->db);
        log_warn ("store", "sweeper %s: %s", s->row->name, err.text);
        return;
    }
    if (s->row->after)
        s->row->after (s->arg);
    if (rc > 0) {
        pthread_mutex_lock (&w->lock);
        s->due = 0;
        pthread_mutex_unlock (&w->lock);
    }
}

static void sweep_when_due (struct writer *w, bool idle)
{
    struct sweep *s;

    if ((!idle && now_us () - w->last_slice < BUSY_PAUSE_US) || !(s = sweep_due (w)))
        return;
    sweep_slice (w, s);
    w->last_slice = now_us ();
}

/* -- the thread -------------------------------------------------------------------------------------------------- */
/* When to wake without a write: the next sweeper, or the idle checkpoint. Called with the lock held. */
static int64_t next_due (struct writer *w)
{
    int64_t due = INT64_MAX;

    for (size_t i = 0; i < w->sweeps_n; i++)
        if (w->sweeps[i].due < due)
            due = w->sweeps[i].due;
    if (w->wal_bytes > w->checkpoint_at && w->last_write + IDLE_US < due)
        due = w->last_write + IDLE_US;
    return due;
}

/* Sleep until there is work. Returns false at the end. ret_idle: no handler waits. */
static bool wait_for_work (struct writer *w, bool *ret_idle)
{
    bool go_on = true;

    pthread_mutex_lock (&w->lock);
    for (;;) {
        int64_t due = next_due (w);
        struct timespec t = { due / 1000000, due % 1000000 * 1000 };

        *ret_idle = !w->control.first && !w->rest.first;
        go_on = !w->stop || !*ret_idle;
        if (!*ret_idle || w->stop || due <= now_us ())
            break;
        if (due == INT64_MAX)
            pthread_cond_wait (&w->wake, &w->lock);
        else
            pthread_cond_timedwait (&w->wake, &w->lock, &t);
    }
    pthread_mutex_unlock (&w->lock);
    return go_on;
}

static void *writer_main (void *arg)
{
    struct writer *w = arg;
    bool idle;

    while (wait_for_work (w, &idle)) {
        if (!idle)
            run_group (w);
        sweep_when_due (w, idle);
        checkpoint_when_due (w, idle);
    }
    return NULL;
}

int writer_create (struct db *db, struct writer **ret, struct error *err)
{
    struct writer *w = calloc (1, sizeof (*w));
    pthread_condattr_t attr;

    if (!w)
        abort ();
    w->db = db;
    w->control.last = &w->control.first;
    w->rest.last = &w->rest.first;
    pthread_mutex_init (&w->lock, NULL);
    pthread_condattr_init (&attr);
    pthread_condattr_setclock (&attr, CLOCK_MONOTONIC);
    pthread_cond_init (&w->wake, &attr);
    pthread_condattr_destroy (&attr);
    sqlite3_wal_hook (db_handle (db), on_wal, w);
    if ((errno = pthread_create (&w->thread, NULL, writer_main, w))) {
        error_errno (err, "start the writer thread");
        db_close (db);
        free (w);
        return -1;
    }
    pthread_setname_np (w->thread, "writer");
    *ret = w;
    return 0;
}

void writer_destroy (struct writer *w)
{
    if (!w)
        return;
    pthread_mutex_lock (&w->lock);
    w->stop = true;
    pthread_cond_signal (&w->wake);
    pthread_mutex_unlock (&w->lock);
    pthread_join (w->thread, NULL);
    checkpoint (w, SQLITE_CHECKPOINT_TRUNCATE);
    db_close (w->db);
    pthread_cond_destroy (&w->wake);
    pthread_mutex_destroy (&w->lock);
    free (w);
}

struct store_stats writer_stats (struct writer *w)
{
    struct store_stats s;

    pthread_mutex_lock (&w->lock);
    s = w->stats;
    pthread_mutex_unlock (&w->lock);
    return s;
}
