/* process.c - the user's process: started in a session of its own, its output read to the end, ended when it must. */
#include "base/clock.h"
#include "base/file.h"
#include "base/path.h"
#include "run/room.h"
#include "run/words.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { END_MS = 30000, DRAIN_MS = 2000 };

/* How many processes the kernel has killed for memory since the machine started. */
static long machine_oom_kills (void)
{
    char line[128];
    long n = -1;
    FILE *f = fopen ("/proc/vmstat", "re");
    while (f && fgets (line, sizeof line, f))
        if (sscanf (line, "oom_kill %ld", &n) == 1)
            break;
    if (f)
        fclose (f);
    return n;
}

/* The interpreter with its flags, then the words of the script. */
static const char *const *command (struct run *r)
{
    const char **argv = arena_array (r->arena, const char *, r->what.n + 5);
    size_t n = 0;
    if (r->what.kind == SCRIPT_SHELL)
        argv[n++] = r->what.shell;
    else {
        argv[n++] = r->has_env ? r->env.python : r->python.program ? r->python.program : "python3";
        argv[n++] = "-u";
        if (r->options->optimise)
            argv[n++] = r->options->optimise > 1 ? "-OO" : "-O";
    }
    memcpy (argv + n, r->what.words, r->what.n * sizeof *argv);
    return argv;
}

int station_start (struct run *r, struct error *err)
{
    int p[2], keep[2], keep_n = 0, procs = -1;
    if (pipe2 (p, O_CLOEXEC) < 0)
        return error_errno (err, "pipe");
    fcntl (p[0], F_SETPIPE_SZ,
           1 << 20);            /* a task that prints a lot is not held up by us; smaller is fine, too */
    if (r->checkout.lease >= 0) /* what the task uses stays leased while it lives, whatever becomes of us */
        keep[keep_n++] = r->checkout.lease;
    if (r->env.entry.lease >= 0)
        keep[keep_n++] = r->env.entry.lease;
    if (cgroup_create (&r->cgroup, r->id))
        procs = cgroup_procs (&r->cgroup);
    r->oom_before = machine_oom_kills ();
    run_notice (
        r, "INFO",
        "Environment setup completed successfully"); /* these two lines are what log filters look for */
    run_notice (r, "INFO", "Starting Task Execution:");
    struct spawn s = { .argv = command (r),
                       .env = run_environment (r),
                       .cwd = r->what.cwd,
                       .in = SPAWN_NULL,
                       .out = p[1],
                       .err = p[1],
                       .keep = keep,
                       .keep_n = keep_n,
                       .new_session = true,
                       .death_signal = SIGKILL,
                       .cgroup_procs = procs > 0 ? procs : 0 };
    int started = spawn_start (&s, &r->child, err);
    close (p[1]);
    if (procs >= 0)
        close (procs);
    if (started < 0) {
        close (p[0]);
        return -1;
    }
    r->pipe = p[0];
    fcntl (r->pipe, F_SETFL, O_NONBLOCK);
    run_journal (r, (struct journal_entry){ .stage = "running", .child = r->child.pid });
    guard_running (r->guard);
    return 0;
}

/* -- output --------------------------------------------------------------------------------------------------------- */
static void pass_on (struct run *r, const char *p, size_t n)
{
    struct error ignored;
    if (r->options->echo && fd_write (STDOUT_FILENO, p, n, "standard output", &ignored) < 0)
        ((struct run_options *)r->options)->echo = false; /* whoever looked has gone */
    if (r->log_fd >= 0 && fd_write (r->log_fd, p, n, "log file", &ignored) < 0) {
        close (r->log_fd);
        r->log_fd = -1;
    }
    console_feed (r->console, p, n, clock_now ());
}

enum { PIECES = 16 }; /* so many hold all that can be in the pipe */

/* Read a piece of what is there; false at the end of the output. One piece at a time: who asks us to stop is heard in between. */
static bool read_output (struct run *r)
{
    char buf[65536];
    ssize_t n = read (r->pipe, buf, sizeof buf);
    if (n > 0)
        pass_on (r, buf, (size_t)n);
    else if (n == 0 || (errno != EAGAIN && errno != EINTR)) {
        close (r->pipe);
        r->pipe = -1;
        return false;
    }
    return true;
}

/* Zombies that became ours; the user's first process is waited for by its own descriptor. */
static void reap (struct run *r)
{
    for (;;) {
        siginfo_t info = { 0 };
        if (waitid (P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) < 0 || !info.si_pid ||
            info.si_pid == r->child.pid)
            return;
        waitid (P_PID, (id_t)info.si_pid, &info, WEXITED | WNOHANG);
    }
}

static void child_ended (struct run *r)
{
    struct error err;
    if (r->ended)
        return;
    if (spawn_wait (&r->child, &r->end, &err) < 0)
        r->end = (struct spawn_end){ .code = 1 };
    r->ended = true;
    long oom = cgroup_oom_kills (&r->cgroup), now = machine_oom_kills ();
    r->out_of_memory = r->end.signaled && r->end.code == SIGKILL &&
                       (oom > 0 || (oom < 0 && r->oom_before >= 0 && now > r->oom_before));
}

/* -- the end -------------------------------------------------------------------------------------------------------- */
/* Read on until `until` (ms, monotonic), the child's end, or a second signal; true when the child has ended. */
static bool wait_output (struct run *r, int64_t until, int stop_fd)
{
    while (!r->ended) {
        int64_t left = until - clock_monotonic ();
        struct pollfd p[3] = { { r->pipe, POLLIN, 0 },
                               { r->child.pidfd, POLLIN, 0 },
                               { stop_fd, POLLIN, 0 } };
        if (left <= 0)
            return false;
        if (poll (p, 3, (int)(left < 1000 ? left : 1000)) < 0 && errno != EINTR)
            return false;
        if (p[0].revents)
            read_output (r);
        if (p[1].revents)
            child_ended (r);
        else if (p[2].revents)
            return false;
        reap (r);
    }
    return true;
}

/* Whether anything of the task but its zombies is alive. */
static bool task_lives (struct run *r)
{
    cleanup_arena struct arena *a = arena_create ();
    struct descendant *v;
    size_t n = descendants_list (a, getpid (), &v), live = 0;
    (void)r;
    for (size_t i = 0; i < n; i++)
        live += !v[i].zombie;
    return live > 0;
}

/* TERM to the group, and to those that left it; time to end; then KILL to all that is left. */
static void end_all (struct run *r, int64_t grace_ms)
{
    int64_t until = clock_monotonic () + grace_ms;
    if (r->child.pid > 0 && !r->ended)
        kill (-r->child.pid, SIGTERM);
    else if (r->child.pid > 0)
        descendants_signal (getpid (), SIGTERM);
    while (clock_monotonic () < until && !atomic_load (&r->stop.at_once) && task_lives (r)) {
        struct pollfd p[3] = { { r->pipe, POLLIN, 0 },
                               { r->ended ? -1 : r->child.pidfd, POLLIN, 0 },
                               { r->stop.now_fd, POLLIN, 0 } };
        poll (p, 3, 50);
        if (p[0].revents)
            read_output (r);
        if (p[1].revents) {
            child_ended (r);
            descendants_signal (getpid (), SIGTERM); /* what cut itself loose has not heard it yet */
        }
        reap (r);
    }
    cgroup_kill (&r->cgroup);
    if (!descendants_end (r->ended ? 0 : r->child.pid, END_MS))
        run_notice (r, "ERROR", "a process of the task could not be killed");
    if (!r->ended)
        child_ended (r);
    cgroup_remove (&r->cgroup);
}

/* What the pipe still holds once all writers are gone. */
static void drain (struct run *r)
{
    int64_t until = clock_monotonic () + DRAIN_MS;
    while (r->pipe >= 0 && clock_monotonic () < until) {
        struct pollfd p = { r->pipe, POLLIN, 0 };
        if (poll (&p, 1, 100) > 0 && !read_output (r))
            break;
    }
    for (int i = 0; i < PIECES && r->pipe >= 0; i++) /* what is there counts, however late we come to look */
        read_output (r);
    if (r->pipe >= 0)
        close (r->pipe);
    r->pipe = -1;
    console_finish (r->console, clock_now ());
}

/* agent.abort_callback_cmd: a command that is run, beside the task, before the task is ended. */
static void run_callback (struct run *r)
{
    const struct conf_agent *c = &r->conf->agent;
    const char *const *argv;
    struct spawn s = { .env = run_environment (r),
                       .cwd = r->what.cwd,
                       .out = SPAWN_INHERIT,
                       .err = SPAWN_INHERIT,
                       .in = SPAWN_NULL,
                       .new_session = true,
                       .death_signal = SIGKILL };
    struct child child;
    struct spawn_end end;
    struct error err = { 0 };
    size_t n;
    if (!c->abort_callback_cmd || !c->abort_callback_cmd[0])
        return;
    if (words_split (r->arena, c->abort_callback_cmd, run_variable, r, &argv, &n, &err) < 0 || !n ||
        (s.argv = argv, spawn_start (&s, &child, &err) < 0)) {
        run_notice (r, "WARNING", "agent.abort_callback_cmd: %s", n ? err.text : "no command");
        return;
    }
    int64_t until = clock_monotonic () + (int64_t)(1000 * c->abort_callback_timeout);
    for (;;) {
        struct pollfd p[3] = { { r->pipe, POLLIN, 0 },
                               { child.pidfd, POLLIN, 0 },
                               { r->stop.now_fd, POLLIN, 0 } };
        int64_t left = until - clock_monotonic ();
        if (left <= 0 || poll (p, 3, (int)(left < 1000 ? left : 1000)) < 0 || p[1].revents || p[2].revents)
            break;
        if (p[0].revents)
            read_output (r);
    }
    if (kill (-child.pid, SIGKILL) == 0 && clock_monotonic () >= until)
        run_notice (r, "WARNING", "agent.abort_callback_cmd: not done after %.0f s, killed",
                    c->abort_callback_timeout);
    if (spawn_wait (&child, &end, &err) == 0 && (end.signaled || end.code))
        run_notice (r, "WARNING", "agent.abort_callback_cmd ended with code %d",
                    end.signaled ? -end.code : end.code);
}

int station_watch (struct run *r, struct error *err)
{
    (void)err;
    int64_t grace = (int64_t)(1000 * r->conf->agent.grace_sec);
    r->by_itself = wait_output (r, INT64_MAX, r->stop.fd);
    if (!r->by_itself) {
        enum stop_reason reason = stop_get (&r->stop);
        run_notice (r, "ERROR", "%s (%d) %s", stop_words[reason].text, (int)reason, stop_words[reason].name);
        if (reason == STOP_USER)
            run_callback (r);
    }
    end_all (r, grace);
    drain (r);
    struct journal_entry e = { .stage = "exited",
                               .has_exit = true,
                               .exit_code = r->end.signaled ? 0 : r->end.code,
                               .signal = r->end.signaled ? r->end.code : 0 };
    run_journal (r, e);
    return 0;
}
