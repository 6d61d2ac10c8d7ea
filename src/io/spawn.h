/* spawn.h - start another program: no shell, nothing inherited by accident, and no work of ours between fork and exec.
 *
 * The child is made by clone (CLONE_VM | CLONE_VFORK | CLONE_PIDFD): the parent's memory is not copied, whatever its
 * size, and the parent knows before it goes on whether exec worked. The child does only system calls: session or
 * group, working directory, descriptors, exec. Every descriptor above 2 that is not named in `keep` is closed,
 * signals are at their defaults and unblocked.
 */
#pragma once
#include "base/arena.h"
#include "base/error.h"
#include "base/str.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

enum spawn_fd { SPAWN_NULL = -1, SPAWN_INHERIT = -2 }; /* /dev/null; the caller's own */

struct spawn {
    const char *const *argv; /* ends with NULL; argv[0] without a slash is looked up in the child's PATH */
    const char *const *env;  /* "NAME=value", ends with NULL; NULL = the caller's */
    const char *cwd;         /* NULL = the caller's */
    int in, out, err; /* a descriptor, SPAWN_NULL or SPAWN_INHERIT; all zero means SPAWN_NULL for all three */
    const int *keep;  /* descriptors the child gets under the same number */
    int keep_n;       /* at most 16 */
    bool new_session; /* setsid: own session and process group */
    bool new_group;   /* own process group in the caller's session */
    int death_signal; /* sent to the child when the calling thread dies; 0 = none */
    int cgroup_procs; /* descriptor of a cgroup.procs file the child enters before exec; 0 = none */

    /* for spawn_run only */
    int cancel; /* a descriptor: once readable the child's group is killed and ECANCELED returned; 0 = none */
    void (*sink) (void *arg, const char *p, size_t n); /* given what is not collected, as it comes */
    void *sink_arg;
};

struct child {
    pid_t pid;
    int pidfd; /* readable once the child has ended; the caller closes it */
};

struct spawn_end {
    bool signaled;      /* ended by a signal */
    int code;           /* exit code, or the signal's number */
    bool core;          /* dumped core */
    int64_t max_rss_kb; /* largest resident size of the child or a descendant it waited for */
    int64_t user_us, system_us;
};

/* Start; ENOENT in err->code when there is no such program. */
int spawn_start (const struct spawn *s, struct child *ret, struct error *err) warn_unused;
/* Wait until it ends, reap it, close the pidfd. */
int spawn_wait (struct child *c, struct spawn_end *ret, struct error *err) warn_unused;

/* Run to the end and collect what it wrote. `out` and `err_out` (may be NULL: /dev/null; may be the same string: both
 * in one) grow to at most `max` bytes each, the rest is read and dropped. `input` (absent: /dev/null) is fed to it.
 * After timeout_ms (0 = none) it is killed, with its group, and -1 with ETIMEDOUT returned. The child has a process
 * group of its own. */
int spawn_run (const struct spawn *s, struct text input, struct str *out, struct str *err_out, size_t max,
               int64_t timeout_ms, struct spawn_end *ret, struct error *err) warn_unused;

/* Absolute path of a program by the PATH of env (NULL: the caller's), malloc'd; NULL when there is none. */
char *spawn_find (const char *name, const char *const *env);
/* Absolute path of the program that runs this code, so that it can start itself again; NULL with err set. */
const char *spawn_self (struct arena *a, struct error *err) warn_unused;

/* "exit code 3", "signal 9 (Killed)" */
void spawn_end_words (const struct spawn_end *e, struct str *s);
