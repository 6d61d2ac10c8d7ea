/* guard.h - the thread that watches over a running task from the server's side: it asks for its status and stops it
 * when somebody wants that, pings, and reports the machine's load as scalars where the task does not do so itself. */
#pragma once
#include "client/client.h"
#include "run/stop.h"

struct guard;

struct guard_options {
    const char *task;
    int64_t poll_ms;         /* pause between two looks at the status */
    int64_t ping_ms;         /* pause between two pings, 0 = none */
    int64_t callback_max_ms; /* longest wait for a task's own abort callback */
    int64_t monitor_ms;      /* pause between two reports of load, 0 = none */
    const char *disk;        /* whose free space is reported */
    const char *worker;
    const char *claim;  /* token with which the task was claimed, NULL = none */
    bool worker_report; /* nobody else reports this worker: do it (a run without a daemon) */
};

/* Copies the options. What it finds goes to `stop`. */
int guard_start (const struct client *c, const struct guard_options *o, struct stop *stop, struct guard **ret,
                 struct error *err) warn_unused;
void guard_running (struct guard *g); /* the user's process has started: report the load from now on */
void guard_stop (struct guard *g);    /* NULL is fine */
/* Why a run that has just begun must not go on, by the task as it was read: it was ended before we could look. */
enum stop_reason guard_first_look (struct text task);
/* Has another agent taken the task by now? Asked by `c`, in its patience. 1 = yes, 0 = no, or nobody can know (it is
 * gone, the server has no such call), -1 = the server does not say. NULL is fine. */
int guard_task_taken (struct guard *g, struct client *c, struct error *err) warn_unused;
