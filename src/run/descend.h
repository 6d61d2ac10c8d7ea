/* descend.h - every process that descends from this one, and their end.
 *
 * The supervisor is a subreaper, so a process of the task that cuts itself loose (double fork, setsid) becomes its child
 * and is still found here. Where we may make a control group (v2), cgroup.kill does the same at one stroke; the walk
 * over /proc is done in any case. */
#pragma once
#include "base/arena.h"
#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct descendant {
    pid_t pid, parent;
    unsigned long long ticks; /* start time: the pid alone may be given out again */
    bool zombie;
};

/* All descendants of `root` that are there now (root itself is none). */
size_t descendants_list (struct arena *a, pid_t root, struct descendant **ret);
/* Send a signal to each live one; how many there were. Pids that were given out again in between are left alone. */
size_t descendants_signal (pid_t root, int signum);
/* KILL them all, again and again until none is left, reaping those that become ours. `spare`: a child of ours that
 * somebody else waits for: killed, not reaped; 0 = none. False: some could not be killed (not ours, or stuck in the
 * kernel) within `ms`. */
bool descendants_end (pid_t spare, int64_t ms);

/* A control group of version 2 for one run, below our own: "" when there is none to be had. */
struct cgroup {
    char path[512];
};
bool cgroup_create (struct cgroup *g, const char *name);
int cgroup_procs (const struct cgroup *g); /* descriptor of cgroup.procs, -1 = none */
void cgroup_kill (const struct cgroup *g);
long cgroup_oom_kills (const struct cgroup *g); /* how many were killed for memory, -1 = unknown */
void cgroup_remove (struct cgroup *g);
