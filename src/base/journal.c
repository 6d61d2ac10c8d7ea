/* journal.c - see journal.h. A line is written by one write(2) to a file opened O_APPEND, so lines of two writers
 * never mix; a reader takes only lines that end in a newline and parse. */
#include "base/journal.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/json.h"
#include "base/str.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { JOURNAL_FILE_MAX = 16 << 20 };

/* -- processes -------------------------------------------------------------------------------------------------- */

/* 1 = read, 0 = there is no such file, -1 = it cannot be read. */
static int read_small (const char *path, char *buf, size_t n)
{
    int fd = open (path, O_RDONLY | O_CLOEXEC);
    ssize_t r;

    if (fd < 0)
        return errno == ENOENT || errno == ESRCH ? 0 : -1;
    r = read (fd, buf, n - 1);
    if (r < 0)
        r = errno == ESRCH ? 0 : -1;
    close (fd);
    buf[r > 0 ? r : 0] = 0;
    return r > 0 ? 1 : (int)r;
}

int process_identify (pid_t pid, struct process_identity *ret)
{
    struct process_identity p = { .pid = pid };
    char path[64], buf[1024], state;
    char *at;

    snprintf (path, sizeof (path), "/proc/%d/stat", (int)pid);
    int found = read_small (path, buf, sizeof (buf));
    if (found <= 0)
        return found;
    if (!(at = strrchr (buf, ')'))) /* the name may hold anything */
        return -1;
    state = at[1] ? at[2] : 0;
    if (state == 'Z' || state == 'X')
        return 0;
    at += 2;
    for (int field = 3; field < 22 && at; field++) /* starttime is the 22nd; `state` is the third */
        if ((at = strchr (at, ' ')))
            at++;
    if (!at)
        return -1;
    p.ticks = strtoull (at, NULL, 10);
    found = read_small ("/proc/sys/kernel/random/boot_id", buf, sizeof (p.boot));
    if (found < 0)
        return -1;
    if (!found)
        buf[0] = 0;
    buf[strcspn (buf, "\n")] = 0;
    memcpy (p.boot, buf, strlen (buf) + 1);
    *ret = p;
    return 1;
}

int process_alive (const struct process_identity *p)
{
    struct process_identity now;
    int found = p->pid > 0 ? process_identify (p->pid, &now) : 0;

    if (found <= 0)
        return found;
    return now.ticks == p->ticks && !strcmp (now.boot, p->boot);
}

int process_open (const struct process_identity *p, struct error *err)
{
    cleanup_close int fd = p->pid > 0 ? (int)syscall (SYS_pidfd_open, p->pid, 0) : -1;
    int alive;

    if (fd < 0 && p->pid > 0 && errno != ESRCH)
        return error_errno (err, "process %d", (int)p->pid);
    alive =
        fd < 0 ? 0 : process_alive (p); /* asked after the open: the pid cannot have changed hands since */
    if (alive > 0)
        return TAKE_FD (fd);
    return alive < 0 ? error_errno (err, "process %d", (int)p->pid)
                     : error_set (err, ESRCH, "process %d is gone", (int)p->pid);
}

/* -- lines ------------------------------------------------------------------------------------------------------ */

static const struct {
    const char *name;
    size_t offset;
} texts[] = {
    { "task", offsetof (struct journal_entry, task) },
    { "run", offsetof (struct journal_entry, run) },
    { "server", offsetof (struct journal_entry, server) },
    { "worker", offsetof (struct journal_entry, worker) },
    { "queue", offsetof (struct journal_entry, queue) },
    { "token", offsetof (struct journal_entry, token) },
    { "gpus", offsetof (struct journal_entry, gpus) },
    { "reported", offsetof (struct journal_entry, reported) },
    { "message", offsetof (struct journal_entry, message) },
};
enum { TEXTS = sizeof (texts) / sizeof (*texts) };

static const char **member (struct journal_entry *e, size_t i)
{
    return (const char **)(void *)((unsigned char *)e + texts[i].offset);
}

static void put_number (struct str *s, const char *key, int64_t v)
{
    json_put_key (s, key);
    str_add_int (s, v);
}

static void write_line (struct str *s, const struct journal_entry *e)
{
    struct journal_entry copy = *e;

    str_putc (s, '{');
    json_put_key (s, "stage");
    json_put_string (s, e->stage);
    put_number (s, "t", e->t ? e->t : clock_now ());
    for (size_t i = 0; i < TEXTS; i++) {
        if (!*member (&copy, i))
            continue;
        json_put_key (s, texts[i].name);
        json_put_string (s, *member (&copy, i));
    }
    if (e->process.pid) {
        json_put_key (s, "boot");
        json_put_string (s, e->process.boot);
        put_number (s, "pid", e->process.pid);
        put_number (s, "ticks", (int64_t)e->process.ticks);
    }
    if (e->child)
        put_number (s, "child", e->child);
    if (e->has_exit)
        put_number (s, e->signal ? "signal" : "exit_code", e->signal ? e->signal : e->exit_code);
    str_puts (s, "}\n");
}

/* The last line has no end: a power cut, a disk that was full. */
static bool is_torn (int fd)
{
    off_t size = lseek (fd, 0, SEEK_END);
    char last;

    return size > 0 && pread (fd, &last, 1, size - 1) == 1 && last != '\n';
}

int journal_append (const char *path, const struct journal_entry *e, struct error *err)
{
    cleanup_str struct str s = { 0 };
    cleanup_close int fd = -1;

    str_putc (&s, '\n');
    write_line (&s, e);
    if (s.n > JOURNAL_LINE_MAX)
        return error_set (err, EMSGSIZE, "journal %s: a line of %zu bytes", path, s.n);
    fd = open (path, O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
    if (fd < 0)
        return error_errno (err, "journal %s", path);
    size_t from = is_torn (fd) ? 0 : 1; /* else the torn line would take ours with it */
    errno = 0;
    if (write (fd, s.p + from, s.n - from) != (ssize_t)(s.n - from) || fdatasync (fd) < 0) {
        errno = errno ? errno : ENOSPC; /* it took a part of the line */
        return error_errno (err, "journal %s", path);
    }
    return 0;
}

static void fold_line (struct arena *a, struct text line, struct journal_entry *e)
{
    struct error err;
    struct text v, doc;

    if (json_check (line, &doc, &err) < 0 || json_kind (doc) != JSON_OBJECT)
        return;
    if (json_kind (v = json_get (doc, "stage")) == JSON_STRING)
        e->stage = json_string (a, v);
    e->t = json_int (json_get (doc, "t"), e->t);
    for (size_t i = 0; i < TEXTS; i++)
        if (json_kind (v = json_get (doc, texts[i].name)) == JSON_STRING)
            *member (e, i) = json_string (a, v);
    if (json_kind (v = json_get (doc, "pid")) == JSON_NUMBER) {
        char *boot = json_string (a, json_get (doc, "boot"));

        e->process = (struct process_identity){ .pid = (pid_t)json_int (v, 0),
                                                .ticks = (uint64_t)json_int (json_get (doc, "ticks"), 0) };
        if (boot && strlen (boot) < sizeof (e->process.boot))
            strcpy (e->process.boot, boot);
    }
    e->child = (pid_t)json_int (json_get (doc, "child"), e->child);
    if (json_kind (v = json_get (doc, "exit_code")) == JSON_NUMBER) {
        e->has_exit = true;
        e->exit_code = (int)json_int (v, 0);
        e->signal = 0;
    }
    if (json_kind (v = json_get (doc, "signal")) == JSON_NUMBER) {
        e->has_exit = true;
        e->signal = (int)json_int (v, 0);
        e->exit_code = 0;
    }
}

int journal_read (struct arena *a, const char *path, struct journal_entry *ret, struct error *err)
{
    struct journal_entry e = { 0 };
    struct str body = { .arena = a };
    struct text all;

    if (file_read (path, JOURNAL_FILE_MAX, &body, err) < 0)
        return -1;
    all = str_text (&body);
    while (all.n) {
        const char *end = memchr (all.p, '\n', all.n);

        if (!end)
            break; /* torn */
        fold_line (a, (struct text){ all.p, (size_t)(end - all.p) }, &e);
        all.n -= (size_t)(end + 1 - all.p);
        all.p = end + 1;
    }
    *ret = e;
    return 0;
}
