/* local.c - the engine "local": the program becomes a process of this machine.
 *
 * It is followed by a pidfd, which works for processes of others too; the exit code only for our own children. */
#include "base/file.h"
#include "engine/engine.h"
#include "io/spawn.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { ENVIRON_MAX = 4 << 20 };

static int local_start (const struct placement *p, struct engine_run *ret, struct error *err)
{
    struct spawn s = { .argv = p->argv, .env = p->env, .cwd = p->cwd, .in = SPAWN_NULL, .new_session = true };
    cleanup_close int log = -1;
    struct child c;

    if (p->log && (log = open (p->log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600)) < 0)
        return error_errno (err, "open %s", p->log);
    s.out = s.err = log >= 0 ? log : SPAWN_NULL;
    if (spawn_start (&s, &c, err) < 0)
        return -1;
    *ret = (struct engine_run){ .pidfd = c.pidfd, .child = true };
    if (process_identify (c.pid, &ret->process) <= 0)
        ret->process.pid = c.pid; /* it has ended already: pidfd says so */
    return 0;
}

static int local_adopt (const struct process_identity *p, struct engine_run *ret, struct error *err)
{
    int fd = process_open (p, err);

    if (fd < 0)
        return -1;
    *ret = (struct engine_run){ .process = *p, .pidfd = fd };
    return 0;
}

static int local_signal (const struct engine_run *r, int signum, struct error *err)
{
    if (syscall (SYS_pidfd_send_signal, r->pidfd, signum, NULL, 0) < 0 && errno != ESRCH)
        return error_errno (err, "signal process %d", (int)r->process.pid);
    return 0;
}

static void local_end (struct engine_run *r, int *ret_code)
{
    struct child c = { .pid = r->process.pid, .pidfd = r->pidfd };
    struct spawn_end end;
    struct error err;

    *ret_code = -1;
    if (r->child && !spawn_wait (&c, &end, &err)) {
        *ret_code = end.signaled ? 128 + end.code : end.code;
        r->pidfd = -1;
    }
    if (r->pidfd >= 0)
        close (r->pidfd);
    r->pidfd = -1;
}

/* One of the NUL-separated strings is exactly `variable`. */
static bool environ_has (const struct str *env, const char *variable)
{
    size_t n = strlen (variable);
    const char *p = env->p, *end = env->p + env->n;

    while (p && p + n < end) {
        if (!memcmp (p, variable, n + 1))
            return true;
        p = memchr (p, 0, (size_t)(end - p));
        p = p ? p + 1 : NULL;
    }
    return false;
}

static size_t local_sweep (const char *variable, int signum)
{
    DIR *dir = opendir ("/proc");
    size_t found = 0;

    for (struct dirent *e = dir ? readdir (dir) : NULL; e; e = readdir (dir)) {
        char path[64];
        cleanup_str struct str env = { 0 };
        struct process_identity who;
        struct error err;
        pid_t pid = (pid_t)strtol (e->d_name, NULL, 10);

        if (pid <= 1 || pid == getpid ())
            continue;
        snprintf (path, sizeof (path), "/proc/%d/environ", (int)pid);
        if (process_identify (pid, &who) <= 0 || file_read (path, ENVIRON_MAX, &env, &err) < 0 ||
            !environ_has (&env, variable))
            continue;
        struct engine_run r = { .pidfd = process_open (&who, &err) };
        if (r.pidfd < 0)
            continue;
        found++;
        if (signum)
            (void)!local_signal (&r, signum, &err);
        close (r.pidfd);
    }
    if (dir)
        closedir (dir);
    return found;
}

const struct engine engine_local = {
    .name = "local",
    .start = local_start,
    .adopt = local_adopt,
    .signal = local_signal,
    .end = local_end,
    .sweep = local_sweep,
};
