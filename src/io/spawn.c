/* spawn.c - see spawn.h. In: an argument array and what the child shall have. Out: a pid with its pidfd. */
#include "io/spawn.h"
#include "base/clock.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/close_range.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#ifndef P_PIDFD
#define P_PIDFD 3
#endif

enum { STACK = 64 * 1024, KEEP_MAX = 16 };

static const char *env_get (const char *const *env, const char *name)
{
    size_t n = strlen (name);
    if (!env)
        return getenv (name);
    for (; *env; env++)
        if (!strncmp (*env, name, n) && (*env)[n] == '=')
            return *env + n + 1;
    return NULL;
}

static bool runnable (const char *path)
{
    struct stat st;
    return stat (path, &st) == 0 && S_ISREG (st.st_mode) && access (path, X_OK) == 0;
}

char *spawn_find (const char *name, const char *const *env)
{
    if (strchr (name, '/'))
        return runnable (name) ? strdup (name) : NULL;
    const char *path = env_get (env, "PATH");
    if (!path)
        path = "/usr/local/bin:/usr/bin:/bin";
    while (*path) {
        size_t n = strcspn (path, ":");
        cleanup_str struct str s = { 0 };
        str_add (&s, n ? path : ".", n ? n : 1);
        str_putc (&s, '/');
        str_puts (&s, name);
        if (runnable (s.p))
            return strdup (s.p);
        path += n + (path[n] == ':');
    }
    return NULL;
}

const char *spawn_self (struct arena *a, struct error *err)
{
    char path[PATH_MAX];
    ssize_t n = readlink ("/proc/self/exe", path, sizeof (path));

    if (n < 0) {
        error_errno (err, "find this program");
        return NULL;
    }
    return arena_strndup (a, path, (size_t)n);
}

/* What the child reads of its parent's memory, and the one word it writes back. */
struct order {
    const struct spawn *s;
    const char *path;
    char *const *env;
    int fd[3]; /* after ours were moved above 2 */
    int keep[KEEP_MAX];
    int keep_n; /* sorted */
    pid_t parent;
    volatile int failed; /* errno */
    const char *volatile what;
};

/* Close all descriptors above 2 but the kept ones (ascending). */
static void child_close (const struct order *o)
{
    unsigned from = 3;
    for (int i = 0; i < o->keep_n; i++) {
        unsigned k = (unsigned)o->keep[i];
        if (k > from)
            syscall (SYS_close_range, from, k - 1, 0);
        if (k >= from)
            from = k + 1;
    }
    syscall (SYS_close_range, from, ~0U, 0);
}

static int child_fail (struct order *o, const char *what)
{
    o->failed = errno ? errno : EINVAL;
    o->what = what;
    _exit (127);
}

static int child_main (void *arg)
{
    struct order *o = arg;
    const struct spawn *s = o->s;
    struct sigaction dfl = { .sa_handler = SIG_DFL };
    for (int n = 1; n < NSIG; n++)
        if (n != SIGKILL && n != SIGSTOP)
            syscall (SYS_rt_sigaction, n, &dfl, NULL, 8);
    if (s->new_session && setsid () < 0)
        return child_fail (o, "setsid");
    if (s->new_group && !s->new_session && setpgid (0, 0) < 0)
        return child_fail (o, "setpgid");
    if (s->death_signal) {
        if (prctl (PR_SET_PDEATHSIG, s->death_signal, 0, 0, 0) < 0)
            return child_fail (o, "prctl");
        if (getppid () != o->parent)
            _exit (127);
    }
    if (s->cgroup_procs > 0 && write (s->cgroup_procs, "0", 1) < 0)
        return child_fail (o, "enter the control group");
    if (s->cwd && chdir (s->cwd) < 0)
        return child_fail (o, "working directory");
    for (int i = 0; i < 3; i++)
        if (o->fd[i] >= 0 && dup2 (o->fd[i], i) < 0)
            return child_fail (o, "dup2");
    for (int i = 0; i < o->keep_n; i++)
        fcntl (o->keep[i], F_SETFD, 0);
    child_close (o);
    sigset_t none;
    sigemptyset (&none);
    sigprocmask (SIG_SETMASK, &none, NULL);
    execve (o->path, (char *const *)s->argv, o->env);
    return child_fail (o, "exec");
}

static int by_number (const void *a, const void *b)
{
    return *(const int *)a - *(const int *)b;
}

/* A descriptor for the child's stream i: a copy above 2, so that dup2 in the child never tramples another. */
static int order_fd (int fd, int i, int *ret, struct error *err)
{
    *ret = -1;
    if (fd == SPAWN_INHERIT)
        return 0;
    int opened = fd;
    if (fd == SPAWN_NULL && (opened = open ("/dev/null", (i ? O_WRONLY : O_RDONLY) | O_CLOEXEC)) < 0)
        return error_errno (err, "/dev/null");
    *ret = fcntl (opened, F_DUPFD_CLOEXEC, 3);
    if (fd == SPAWN_NULL)
        close (opened);
    return *ret < 0 ? error_errno (err, "dup") : 0;
}

static int order_fill (struct order *o, struct error *err)
{
    const struct spawn *s = o->s;
    int want[3] = { s->in, s->out, s->err };
    if (!want[0] && !want[1] && !want[2])
        want[0] = want[1] = want[2] = SPAWN_NULL;
    for (int i = 0; i < 3; i++)
        if (order_fd (want[i], i, &o->fd[i], err) < 0)
            return -1;
    if (s->keep_n > KEEP_MAX)
        return error_set (err, EINVAL, "%d descriptors to keep, at most %d", s->keep_n, KEEP_MAX);
    for (int i = 0; i < s->keep_n; i++)
        if (s->keep[i] > 2)
            o->keep[o->keep_n++] = s->keep[i];
    qsort (o->keep, (size_t)o->keep_n, sizeof o->keep[0], by_number);
    return 0;
}

static int order_clone (struct order *o, struct child *ret, struct error *err)
{
    char *stack = mmap (NULL, STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
    if (stack == MAP_FAILED)
        return error_errno (err, "stack of the new process");
    sigset_t all, old;
    sigfillset (&all);
    pthread_sigmask (SIG_SETMASK, &all, &old); /* no handler of ours may run in the child */
    int pidfd = -1;
    pid_t pid = clone (child_main, stack + STACK, CLONE_VM | CLONE_VFORK | CLONE_PIDFD | SIGCHLD, o, &pidfd);
    int saved = errno;
    pthread_sigmask (SIG_SETMASK, &old, NULL);
    munmap (stack, STACK);
    if (pid < 0) {
        errno = saved;
        return error_errno (err, "start %s", o->s->argv[0]);
    }
    *ret = (struct child){ pid, pidfd };
    return 0;
}

int spawn_start (const struct spawn *s, struct child *ret, struct error *err)
{
    struct order o = { .s = s,
                       .env = (char *const *)(s->env ? s->env : (const char *const *)environ),
                       .fd = { -1, -1, -1 },
                       .parent = getpid () };
    char *path = spawn_find (s->argv[0], s->env);
    struct child c = { -1, -1 };
    int r = -1;
    o.path = path;
    if (!path)
        error_set (err, ENOENT, "%s: no such program", s->argv[0]);
    else if (order_fill (&o, err) == 0)
        r = order_clone (&o, &c, err);
    for (int i = 0; i < 3; i++)
        if (o.fd[i] >= 0)
            close (o.fd[i]);
    if (r == 0 && o.failed) {
        struct spawn_end end;
        struct error ignored;
        if (spawn_wait (&c, &end, &ignored) < 0)
            end = (struct spawn_end){ 0 };
        r = error_set (err, o.failed, "start %s: %s: %s", path, o.what, strerror (o.failed));
    }
    free (path);
    if (r == 0)
        *ret = c;
    return r;
}

int spawn_wait (struct child *c, struct spawn_end *ret, struct error *err)
{
    siginfo_t info = { 0 };
    struct rusage use = { 0 };
    long r;
    do
        r = syscall (SYS_waitid, P_PID, c->pid, &info, WEXITED, &use);
    while (r < 0 && errno == EINTR);
    if (r < 0)
        error_errno (err, "wait for process %d", (int)c->pid);
    if (c->pidfd >= 0)
        close (c->pidfd);
    c->pidfd = -1;
    if (r < 0)
        return -1;
    *ret = (struct spawn_end){
        .signaled = info.si_code != CLD_EXITED,
        .code = info.si_status,
        .core = info.si_code == CLD_DUMPED,
        .max_rss_kb = use.ru_maxrss,
        .user_us = (int64_t)use.ru_utime.tv_sec * 1000000 + use.ru_utime.tv_usec,
        .system_us = (int64_t)use.ru_stime.tv_sec * 1000000 + use.ru_stime.tv_usec,
    };
    return 0;
}

/* -- run and collect ------------------------------------------------------------------------------------------ */
struct collect {
    int fd[3]; /* our ends: input, output, errors; -1 = closed or none */
    struct str *to[3];
    struct text input;
    size_t max;
    const struct spawn *s;
};

static void collect_close (struct collect *c, int i)
{
    if (c->fd[i] >= 0)
        close (c->fd[i]);
    c->fd[i] = -1;
}

static void collect_read (struct collect *c, int i)
{
    char buf[16384];
    ssize_t n = read (c->fd[i], buf, sizeof buf);
    if (n <= 0) {
        if (n == 0 || (errno != EINTR && errno != EAGAIN))
            collect_close (c, i);
        return;
    }
    if (!c->to[i]) {
        c->s->sink (c->s->sink_arg, buf, (size_t)n);
        return;
    }
    size_t room = c->to[i]->n < c->max ? c->max - c->to[i]->n : 0;
    str_add (c->to[i], buf, (size_t)n < room ? (size_t)n : room);
}

/* write, but a reader that is gone is EPIPE and no signal; the process's handler is left alone. */
static ssize_t write_quietly (int fd, const void *p, size_t n)
{
    sigset_t broken, old;
    sigemptyset (&broken);
    sigaddset (&broken, SIGPIPE);
    pthread_sigmask (SIG_BLOCK, &broken, &old);
    ssize_t r = write (fd, p, n);
    int saved = errno;
    if (r < 0 && saved == EPIPE && !sigismember (&old, SIGPIPE)) {
        struct timespec none = { 0, 0 };
        while (sigtimedwait (&broken, NULL, &none) < 0 && errno == EINTR)
            ;
    }
    pthread_sigmask (SIG_SETMASK, &old, NULL);
    errno = saved;
    return r;
}

static void collect_feed (struct collect *c)
{
    ssize_t n = write_quietly (c->fd[0], c->input.p, c->input.n);
    if (n < 0 && (errno == EINTR || errno == EAGAIN))
        return;
    if (n < 0)
        c->input.n = 0;
    else {
        c->input.p += n;
        c->input.n -= (size_t)n;
    }
    if (!c->input.n)
        collect_close (c, 0);
}

/* Move bytes until the child has ended and its pipes are dry; else why it must be killed: ETIMEDOUT, ECANCELED. */
static int collect_loop (struct collect *c, const struct child *child, int64_t timeout_ms)
{
    int64_t end = timeout_ms ? clock_monotonic () + timeout_ms : INT64_MAX;
    bool ended = false;
    for (;;) {
        struct pollfd p[5] = { { c->fd[0], POLLOUT, 0 },
                               { c->fd[1], POLLIN, 0 },
                               { c->fd[2], POLLIN, 0 },
                               { ended ? -1 : child->pidfd, POLLIN, 0 },
                               { c->s->cancel > 0 ? c->s->cancel : -1, POLLIN, 0 } };
        int64_t left = timeout_ms ? end - clock_monotonic () : -1;
        if (timeout_ms && left <= 0)
            return ETIMEDOUT;
        int n = poll (p, 5, ended ? 0 : (int)(left > 60000 ? 60000 : left));
        if (n < 0 && errno != EINTR)
            return errno;
        if (ended && n <= 0) /* grandchildren may hold the pipe: what is in it now is all we take */
            return 0;
        if (n <= 0)
            continue;
        if (p[4].revents)
            return ECANCELED;
        if (p[0].revents)
            collect_feed (c);
        for (int i = 1; i < 3; i++)
            if (p[i].revents)
                collect_read (c, i);
        ended = ended || p[3].revents;
        if (ended && c->fd[1] < 0 && c->fd[2] < 0)
            return 0;
    }
}

static int pipe_pair (int *ours, int *theirs, bool we_write, struct error *err)
{
    int p[2];
    if (pipe2 (p, O_CLOEXEC) < 0)
        return error_errno (err, "pipe");
    *ours = p[we_write ? 1 : 0];
    *theirs = p[we_write ? 0 : 1];
    fcntl (*ours, F_SETFL, O_NONBLOCK);
    return 0;
}

int spawn_run (const struct spawn *given, struct text input, struct str *out, struct str *err_out, size_t max,
               int64_t timeout_ms, struct spawn_end *ret, struct error *err)
{
    struct spawn s = *given;
    struct collect c = { { -1, -1, -1 }, { NULL, out, out == err_out ? NULL : err_out }, input, max, given };
    int theirs[3] = { SPAWN_NULL, SPAWN_NULL, SPAWN_NULL };
    struct child child = { -1, -1 };
    int r = 0;
    if (input.p && input.n)
        r = pipe_pair (&c.fd[0], &theirs[0], true, err);
    for (int i = 1; i < (out == err_out ? 2 : 3) && r == 0; i++)
        if (c.to[i] || given->sink)
            r = pipe_pair (&c.fd[i], &theirs[i], false, err);
    if (out == err_out && theirs[1] != SPAWN_NULL)
        theirs[2] = theirs[1];
    s.in = theirs[0], s.out = theirs[1], s.err = theirs[2];
    s.new_group = true;
    if (r == 0)
        r = spawn_start (&s, &child, err);
    for (int i = 0; i < 3; i++)
        if (theirs[i] >= 0 && !(i == 2 && theirs[2] == theirs[1]))
            close (theirs[i]);
    if (r == 0) {
        int why = collect_loop (&c, &child, timeout_ms);
        if (why)
            kill (-child.pid, SIGKILL);
        r = spawn_wait (&child, ret, err);
        if (r == 0 && why)
            r = why == ETIMEDOUT ? error_set (err, why, "%s: not done after %lld s, killed", s.argv[0],
                                              (long long)timeout_ms / 1000)
                                 : error_set (err, why, "%s: stopped", s.argv[0]);
    }
    for (int i = 0; i < 3; i++)
        collect_close (&c, i);
    return r;
}

void spawn_end_words (const struct spawn_end *e, struct str *s)
{
    if (e->signaled)
        str_addf (s, "signal %d (%s)", e->code, strsignal (e->code));
    else
        str_addf (s, "exit code %d", e->code);
}
