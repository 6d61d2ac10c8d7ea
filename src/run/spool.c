/* spool.c - see spool.h. */
#include "run/spool.h"
#include "base/arena.h"
#include "base/file.h"
#include "base/json.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { SEGMENT = 4 << 20, EVENT_MAX = 1 << 20 };

struct place {
    long segment;
    int64_t offset;
};

struct spool {
    pthread_mutex_t lock;
    pthread_cond_t more;
    char *folder, *head, *tail_id; /* JSON before level, and of the run */
    struct place write, read;
    int fd, read_fd; /* of the segments being written and read */
    long read_segment;
    int64_t number; /* x_offset of the last event */
    int64_t waiting, most, dropped;
    bool woken;
    struct str event;
};

static void segment_path (const struct spool *s, long n, char *path, size_t size)
{
    snprintf (path, size, "%s/console.%08ld", s->folder, n);
}

static int segment_open (struct spool *s, struct error *err)
{
    char path[4096];
    segment_path (s, s->write.segment, path, sizeof path);
    s->fd = open (path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    return s->fd < 0 ? error_errno (err, "%s", path) : 0;
}

/* Cut a torn last line (power cut) and find the number of the last event. */
static void segment_mend (struct spool *s, const char *path)
{
    cleanup_str struct str content = { 0 };
    struct error ignored;
    if (file_read (path, 2 * SEGMENT + EVENT_MAX, &content, &ignored) < 0 || !content.n)
        return;
    size_t whole = content.n;
    while (whole && content.p[whole - 1] != '\n')
        whole--;
    if (whole != content.n && truncate (path, (off_t)whole) < 0)
        return;
    size_t line = whole ? whole - 1 : 0;
    while (line && content.p[line - 1] != '\n')
        line--;
    struct text doc;
    if (whole && json_check ((struct text){ content.p + line, whole - line }, &doc, &ignored) == 0)
        s->number = json_int (json_get (doc, "x_offset"), s->number);
}

static int scan (struct spool *s, struct error *err)
{
    struct dirent **list;
    int n = scandir (s->folder, &list, NULL, alphasort);
    long first = 0;
    char path[4096];
    if (n < 0) /* numbers that are given twice would be lines that are taken for known */
        return error_errno (err, "%s", s->folder);
    for (int i = 0; i < n; i++) {
        long k;
        int end = 0;
        if (sscanf (list[i]->d_name, "console.%8ld%n", &k, &end) == 1 && !list[i]->d_name[end]) {
            first = first ? first : k;
            s->write.segment = k;
            segment_path (s, k, path, sizeof path);
            segment_mend (s, path);
            s->waiting += file_size (path) > 0 ? file_size (path) : 0;
        }
        free (list[i]);
    }
    free (list);
    if (!first)
        first = s->write.segment = 1;
    s->read = (struct place){ first, 0 };
    cleanup_str struct str done = { 0 };
    struct error ignored;
    struct place taken;
    snprintf (path, sizeof path, "%s/console.done", s->folder);
    long number;
    if (file_read (path, 128, &done, &ignored) == 0 && done.n) {
        long long offset;
        if (sscanf (done.p, "%ld %lld %ld", &taken.segment, &offset, &number) == 3) {
            s->number = number > s->number ? number : s->number;
            if (taken.segment == first) {
                s->read.offset = offset;
                s->waiting -= offset;
            }
        }
    }
    return 0;
}

int spool_open (const struct spool_options *o, struct spool **ret, struct error *err)
{
    struct spool *s = calloc (1, sizeof *s);
    cleanup_str struct str head = { 0 }, tail = { 0 };
    pthread_condattr_t attr;
    pthread_condattr_init (&attr);
    pthread_condattr_setclock (&attr, CLOCK_MONOTONIC);
    pthread_mutex_init (&s->lock, NULL);
    pthread_cond_init (&s->more, &attr);
    pthread_condattr_destroy (&attr);
    str_puts (&head, "{\"type\":\"log\",\"task\":");
    json_put_string (&head, o->task);
    str_puts (&head, ",\"worker\":");
    json_put_string (&head, o->worker);
    str_puts (&head, ",\"level\":\"");
    str_puts (&tail, ",\"x_run\":");
    json_put_string (&tail, o->run);
    str_puts (&tail, ",\"x_offset\":");
    s->folder = strdup (o->folder), s->head = strdup (head.p), s->tail_id = strdup (tail.p);
    s->most = o->most, s->fd = s->read_fd = -1;
    if (scan (s, err) < 0 || segment_open (s, err) < 0) {
        spool_close (s);
        return -1;
    }
    s->write.offset = lseek (s->fd, 0, SEEK_END);
    *ret = s;
    return 0;
}

void spool_close (struct spool *s)
{
    if (!s)
        return;
    if (s->fd >= 0)
        close (s->fd);
    if (s->read_fd >= 0)
        close (s->read_fd);
    pthread_mutex_destroy (&s->lock);
    pthread_cond_destroy (&s->more);
    free (s->folder), free (s->head), free (s->tail_id);
    str_done (&s->event);
    free (s);
}

void spool_discard (struct spool *s)
{
    char path[4096];
    if (!s)
        return;
    for (long n = s->read.segment; n <= s->write.segment; n++) {
        segment_path (s, n, path, sizeof path);
        unlink (path);
    }
    snprintf (path, sizeof path, "%s/console.done", s->folder);
    unlink (path);
    spool_close (s);
}

/* -- adding -------------------------------------------------------------------------------------------------------- */
static void write_event (struct spool *s, const char *level, struct text line, int64_t time)
{
    struct error err;
    if (s->write.offset >= SEGMENT) {
        close (s->fd);
        s->fd = -1;
        s->write = (struct place){ s->write.segment + 1, 0 };
    }
    if (s->fd < 0 &&
        segment_open (s, &err) < 0) { /* no disk space, no descriptor: another line may find it */
        s->dropped++;
        return;
    }
    str_reset (&s->event);
    str_puts (&s->event, s->head);
    str_addf (&s->event, "%s\",\"msg\":", level);
    str_add_json (&s->event, line.p, line.n);
    str_addf (&s->event, ",\"timestamp\":%lld%s%lld}\n", (long long)time, s->tail_id, (long long)++s->number);
    if (fd_write (s->fd, s->event.p, s->event.n, "console spool", &err) < 0) {
        s->dropped++; /* a full disk: the file ends in the middle of a line, which must go */
        if (ftruncate (s->fd, s->write.offset) < 0)
            return;
        return;
    }
    s->write.offset += (int64_t)s->event.n;
    s->waiting += (int64_t)s->event.n;
}

void spool_add (struct spool *s, const char *level, struct text line, int64_t time)
{
    pthread_mutex_lock (&s->lock);
    if (s->most && s->waiting > s->most)
        s->dropped++;
    else {
        if (s->dropped) {
            char note[128];
            int n = snprintf (note, sizeof note,
                              "[%lld lines were dropped here: the disk space for waiting lines was used up]",
                              (long long)s->dropped);
            int64_t dropped = s->dropped;
            s->dropped = 0;
            write_event (s, "WARNING", (struct text){ note, (size_t)n }, time);
            if (s->dropped)
                s->dropped = dropped;
        }
        write_event (s, level, line, time);
    }
    pthread_cond_signal (&s->more);
    pthread_mutex_unlock (&s->lock);
}

/* -- taking -------------------------------------------------------------------------------------------------------- */
/* Open the segment that is read; finished ones before it are removed. 1 = open, 0 = it is lost, -1 = it cannot be opened
 * now. */
static int read_open (struct spool *s)
{
    char path[4096];
    if (s->read_fd >= 0 && s->read_segment == s->read.segment)
        return 1;
    if (s->read_fd >= 0)
        close (s->read_fd);
    segment_path (s, s->read.segment, path, sizeof path);
    s->read_fd = open (path, O_RDONLY | O_CLOEXEC);
    s->read_segment = s->read.segment;
    return s->read_fd >= 0 ? 1 : errno == ENOENT ? 0 : -1;
}

/* At the end of a segment that is no longer written: on to the next. */
static bool read_advance (struct spool *s, int64_t size)
{
    char path[4096];
    if (s->read.offset < size || s->read.segment >= s->write.segment)
        return false;
    segment_path (s, s->read.segment, path, sizeof path);
    unlink (path);
    s->read = (struct place){ s->read.segment + 1, 0 };
    return true;
}

bool spool_next (struct spool *s, size_t max, struct str *ret)
{
    pthread_mutex_lock (&s->lock);
    bool got = false;
    struct stat st;
    int open;
    do {
        open = read_open (s);
        if (open <= 0 || fstat (s->read_fd, &st) < 0)
            st.st_size = s->read.offset; /* lost: skip it */
    } while (open >= 0 && read_advance (s, st.st_size));
    size_t left = (size_t)(st.st_size - s->read.offset), n = left < max ? left : max;
    while (left && !got) {
        char *room = str_room (ret, n);
        ssize_t r = pread (s->read_fd, room, n, s->read.offset);
        if (r <= 0)
            break;
        while (r && room[r - 1] != '\n')
            r--;
        got = r > 0;
        if (got) {
            ret->n += (size_t)r;
            ret->p[ret->n] = 0;
        } else if (n == left || n > 64 * (size_t)EVENT_MAX)
            break;
        n = 2 * n < left ? 2 * n : left; /* one event longer than max */
    }
    pthread_mutex_unlock (&s->lock);
    return got;
}

void spool_done (struct spool *s, size_t bytes)
{
    char path[4096], text[96];
    pthread_mutex_lock (&s->lock);
    s->read.offset += (int64_t)bytes;
    s->waiting -= (int64_t)bytes;
    snprintf (path, sizeof path, "%s/console.done", s->folder);
    int n = snprintf (text, sizeof text, "%ld %lld %lld\n", s->read.segment, (long long)s->read.offset,
                      (long long)s->number);
    int fd =
        open (path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600); /* too old after a crash only means: sent twice */
    if (fd >= 0) {
        ssize_t ignored = pwrite (fd, text, (size_t)n, 0);
        (void)ignored;
        close (fd);
    }
    pthread_mutex_unlock (&s->lock);
}

void spool_wait (struct spool *s, int64_t ms)
{
    struct timespec end;
    clock_gettime (CLOCK_MONOTONIC, &end);
    end.tv_sec += ms / 1000;
    end.tv_nsec += ms % 1000 * 1000000;
    if (end.tv_nsec >= 1000000000)
        end.tv_sec++, end.tv_nsec -= 1000000000;
    pthread_mutex_lock (&s->lock);
    while (s->waiting <= 0 && !s->woken)
        if (pthread_cond_timedwait (&s->more, &s->lock, &end))
            break;
    s->woken = false;
    pthread_mutex_unlock (&s->lock);
}

void spool_wake (struct spool *s)
{
    pthread_mutex_lock (&s->lock);
    s->woken = true;
    pthread_cond_signal (&s->more);
    pthread_mutex_unlock (&s->lock);
}

int64_t spool_waiting (struct spool *s)
{
    pthread_mutex_lock (&s->lock);
    int64_t n = s->waiting;
    pthread_mutex_unlock (&s->lock);
    return n;
}
