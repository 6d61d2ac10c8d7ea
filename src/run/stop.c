/* stop.c - see stop.h. In: signals, and what the guard sees on the server. Out: two descriptors to poll. */
#include "run/stop.h"

#include <signal.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

const struct stop_words stop_words[] = {
    [STOP_NONE] = { "running", "", true },
    [STOP_USER] = { "stopped", "User aborted: stopping task", true },
    [STOP_SIGNAL] = { "signal", "The agent was told to stop: stopping task", true },
    [STOP_RESET] = { "reset", "The task was reset: stopping it", false },
    [STOP_CHANGED] = { "status_changed", "The task's status was changed: stopping it", false },
    [STOP_FAILED] = { "exception", "The task was marked as failed: stopping it", false },
    [STOP_TAKEN] = { "taken", "Another agent has taken the task: stopping this run of it", false },
    [STOP_GONE] = { "not_found", "The task is gone: stopping it", false },
};

static void ring (int fd)
{
    uint64_t one = 1;
    ssize_t ignored = write (fd, &one, sizeof one);
    (void)ignored;
}

void stop_set (struct stop *s, enum stop_reason reason)
{
    int none = STOP_NONE;
    if (atomic_compare_exchange_strong (&s->reason, &none, (int)reason))
        ring (s->fd);
}

enum stop_reason stop_get (struct stop *s)
{
    return (enum stop_reason)atomic_load (&s->reason);
}

static void *listen_for_signals (void *arg)
{
    struct stop *s = arg;
    sigset_t set;
    sigemptyset (&set);
    sigaddset (&set, SIGTERM);
    sigaddset (&set, SIGINT);
    sigaddset (&set, SIGUSR2); /* stop_close */
    for (int n, told = 0; sigwait (&set, &n) == 0 && n != SIGUSR2;) {
        if (told++) {
            atomic_store (&s->at_once, true);
            ring (s->now_fd);
        }
        stop_set (s, STOP_SIGNAL);
    }
    return NULL;
}

int stop_open (struct stop *s, struct error *err)
{
    *s = (struct stop){ .fd = eventfd (0, EFD_CLOEXEC | EFD_NONBLOCK),
                        .now_fd = eventfd (0, EFD_CLOEXEC | EFD_NONBLOCK) };
    if (s->fd < 0 || s->now_fd < 0)
        return error_errno (err, "eventfd");
    sigset_t set;
    sigemptyset (&set);
    sigaddset (&set, SIGTERM);
    sigaddset (&set, SIGINT);
    sigaddset (&set, SIGHUP);
    sigaddset (&set, SIGPIPE);
    sigaddset (&set, SIGUSR2);
    pthread_sigmask (SIG_BLOCK, &set, NULL);
    int r = pthread_create (&s->thread, NULL, listen_for_signals, s);
    if (r)
        return error_set (err, r, "thread: %s", strerror (r));
    s->started = true;
    return 0;
}

void stop_close (struct stop *s)
{
    if (s->started) {
        pthread_kill (s->thread, SIGUSR2);
        pthread_join (s->thread, NULL);
    }
    if (s->fd > 0)
        close (s->fd);
    if (s->now_fd > 0)
        close (s->now_fd);
    *s = (struct stop){ 0 };
}
