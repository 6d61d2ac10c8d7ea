/* store.c - the door: opens the data folder (lock, version, writer, readers) and hands out connections.
 *
 * DATA/lock is locked for one process; DATA/stoker.db is the database. Readers are opened on first need.
 */
#include "store/store.h"

#include "base/file.h"
#include "base/log.h"
#include "base/path.h"
#include "store/migrate.h"
#include "store/sqlite.h"
#include "store/writer.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/vfs.h>

enum { READERS_MAX = 64, READERS_DEFAULT = 4 };

struct store {
    struct arena *arena;
    const char *folder, *path;
    int lock_fd;
    struct writer *writer;

    pthread_mutex_t lock; /* guards the pool */
    pthread_cond_t returned;
    struct db *idle[READERS_MAX];
    int idle_n, open_n, readers;
};

/* -- the folder -------------------------------------------------------------------------------------------------- */
static void warn_network (const char *folder)
{
    static const struct {
        unsigned long magic;
        const char *name;
    } rows[] = {
        { 0x6969, "NFS" },      { 0xff534d42, "CIFS" },   { 0xfe534d42, "SMB2" },   { 0x517b, "SMB" },
        { 0x65735546, "FUSE" }, { 0x0bd00bd0, "Lustre" }, { 0x47504653, "GPFS" },   { 0x00c36400, "Ceph" },
        { 0x5346414f, "AFS" },  { 0x01021997, "9P" },     { 0x19830326, "BeeGFS" }, { 0x01161970, "GFS2" },
    };
    struct statfs fs;

    if (statfs (folder, &fs) < 0)
        return;
    for (size_t i = 0; i < sizeof (rows) / sizeof (*rows); i++)
        if (((unsigned long)fs.f_type & 0xffffffff) == rows[i].magic)
            log_warn ("store",
                      "data folder %s lies on a network file system (%s): its locks and its fsync may not "
                      "hold what "
                      "they promise, so a crash can lose or damage data; use a local disk",
                      folder, rows[i].name);
}

static int lock_folder (struct store *s, struct error *err)
{
    const char *path = path_join (s->arena, s->folder, "lock");
    cleanup_close int fd = open (path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    char line[32];
    ssize_t n;

    if (fd < 0)
        return error_errno (err, "data folder %s: open lock", s->folder);
    if (flock (fd, LOCK_EX | LOCK_NB) < 0) {
        if (errno != EWOULDBLOCK)
            return error_errno (err, "data folder %s: lock", s->folder);
        n = pread (fd, line, sizeof (line) - 1, 0);
        line[n > 0 ? n : 0] = '\0';
        return error_set (err, EBUSY, "data folder %s is in use by another stoker (process %d)", s->folder,
                          atoi (line));
    }
    n = snprintf (line, sizeof (line), "%d\n", (int)getpid ());
    if (ftruncate (fd, 0) < 0 || pwrite (fd, line, (size_t)n, 0) != n)
        return error_errno (err, "data folder %s: write lock", s->folder);
    s->lock_fd = TAKE_FD (fd);
    return 0;
}

/* -- the pool of readers ----------------------------------------------------------------------------------------- */
static int reader_take (struct store *s, struct db **ret, struct error *err)
{
    struct db *db = NULL;

    pthread_mutex_lock (&s->lock);
    while (!s->idle_n && s->open_n == s->readers)
        pthread_cond_wait (&s->returned, &s->lock);
    if (s->idle_n)
        db = s->idle[--s->idle_n];
    else
        s->open_n++;
    pthread_mutex_unlock (&s->lock);
    if (!db && db_open (s->path, CONNECTION_READER, false, &db, err) < 0) {
        pthread_mutex_lock (&s->lock);
        s->open_n--;
        pthread_cond_signal (&s->returned);
        pthread_mutex_unlock (&s->lock);
        return -1;
    }
    *ret = db;
    return 0;
}

static void reader_give (struct store *s, struct db *db)
{
    pthread_mutex_lock (&s->lock);
    s->idle[s->idle_n++] = db;
    pthread_cond_signal (&s->returned);
    pthread_mutex_unlock (&s->lock);
}

int store_read (struct store *s, int (*fn) (struct db *db, void *arg, struct error *err), void *arg,
                struct error *err)
{
    struct error ignored;
    struct db *db;
    int rc;

    if (reader_take (s, &db, err) < 0)
        return -1;
    rc = db_step (db, STEP_BEGIN_READ, err);
    if (rc == 0) {
        rc = fn (db, arg, err);
        db_tidy (db);
        if (db_step (db, STEP_COMMIT, &ignored) < 0)
            db_abandon (db);
    }
    reader_give (s, db);
    return rc;
}

/* -- writes ------------------------------------------------------------------------------------------------------ */
void store_submit (struct store *s, struct store_write *w)
{
    writer_submit (s->writer, w);
}

struct waited_write {
    struct store_write base;
    int (*fn) (struct db *db, void *arg, struct error *err);
    void *arg;
    sem_t done;
};

static int waited_run (struct store_write *w, struct db *db, struct error *err)
{
    struct waited_write *ww = (struct waited_write *)w;

    return ww->fn (db, ww->arg, err);
}

static void waited_done (struct store_write *w, int rc, const struct error *err)
{
    (void)rc, (void)err;
    sem_post (&((struct waited_write *)w)->done);
}

int store_write_wait (struct store *s, int (*fn) (struct db *db, void *arg, struct error *err), void *arg,
                      struct error *err)
{
    struct waited_write w = { .base = { .run = waited_run, .done = waited_done }, .fn = fn, .arg = arg };

    sem_init (&w.done, 0, 0);
    store_submit (s, &w.base);
    while (sem_wait (&w.done) < 0)
        ;
    sem_destroy (&w.done);
    if (w.base.rc < 0)
        *err = w.base.err;
    return w.base.rc;
}

void store_add_sweeper (struct store *s, const struct sweeper *sweeper, void *arg)
{
    writer_add_sweeper (s->writer, sweeper, arg);
}

void store_sweep (struct store *s)
{
    writer_sweep (s->writer);
}

struct store_stats store_stats (struct store *s)
{
    return writer_stats (s->writer);
}

/* -- open and close ---------------------------------------------------------------------------------------------- */
static int open_database (struct store *s, const struct store_options *o, struct error *err)
{
    cleanup_close int fd =
        open (s->path, O_RDWR | O_CREAT | O_CLOEXEC, 0600); /* the log takes its mode from it */
    struct db *db;

    if (fd < 0)
        return error_errno (err, "data folder %s: open stoker.db", s->folder);
    close (TAKE_FD (fd)); /* before SQLite has locks on it, which a later close would drop */
    if (db_open (s->path, CONNECTION_WRITER, o->sync_off, &db, err) < 0)
        return error_wrap (err, "data folder %s", s->folder);
    if (migrate (db, s->folder, err) < 0) {
        db_close (db);
        return -1;
    }
    return writer_create (db, &s->writer, err);
}

int store_open (const struct store_options *o, struct store **ret, struct error *err)
{
    struct arena *a = arena_create ();
    struct store *s = arena_new (a, struct store);

    s->arena = a;
    s->folder = arena_strdup (a, o->folder);
    s->path = path_join (a, o->folder, "stoker.db");
    s->lock_fd = -1;
    s->readers = o->readers <= 0 ? READERS_DEFAULT : o->readers > READERS_MAX ? READERS_MAX : o->readers;
    pthread_mutex_init (&s->lock, NULL);
    pthread_cond_init (&s->returned, NULL);
    if (folder_make (o->folder, 0700, err) < 0) {
        error_wrap (err, "data folder");
        store_close (s);
        return -1;
    }
    if (lock_folder (s, err) < 0) {
        store_close (s);
        return -1;
    }
    warn_network (s->folder);
    if (open_database (s, o, err) < 0) {
        store_close (s);
        return -1;
    }
    *ret = s;
    return 0;
}

void store_close (struct store *s)
{
    if (!s)
        return;
    for (int i = 0; i < s->idle_n; i++) /* first, so that the last checkpoint has the log to itself */
        db_close (s->idle[i]);
    s->idle_n = 0;
    writer_destroy (s->writer);
    if (s->lock_fd >= 0)
        close (s->lock_fd);
    pthread_cond_destroy (&s->returned);
    pthread_mutex_destroy (&s->lock);
    arena_destroy (s->arena);
}
