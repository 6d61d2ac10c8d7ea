/* agent.h - the daemon: takes tasks from queues, hands each to an engine as `stoker execute --id T`, watches it, and
 * reports how the machine is. One process, three threads (loop, taker, courier), any number of tasks at once.
 *
 * Signals have one meaning each: TERM stops tasks and ends (exit 254; a second one without grace); HUP starts the
 * program anew, tasks run on; USR1 drains: nothing new is taken, the end comes with the last task; INT drains once and
 * is TERM the second time. KILL and crashes leave tasks running: the next daemon of the same worker id adopts them. */
#pragma once
#include "base/error.h"
#include "base/journal.h"
#include "base/opt.h"
#include "client/client.h"
#include "conf/conf.h"

#include <stdbool.h>
#include <stdint.h>

struct agent_options {
    const char *program;        /* path of this program, to start supervisors and to start anew */
    char **argv;                /* how we were started (for HUP) */
    const char *const *execute; /* more words for `stoker execute`, NULL-terminated; may be NULL */
    const char *config_file;    /* given to supervisors as CLEARML_CONFIG_FILE; NULL = what they find */
    struct opt_words queues;    /* names or ids; none: the server's default queue */
    bool create_queue, order_fairness, foreground, detached, cpu_only;
    const char *gpus;      /* as gpu_list_read gives it; NULL = not said */
    const char *gpus_from; /* the option or variable that said it */
    int slots;             /* tasks at once, at least 1 */
    int64_t poll_ms;       /* between two questions to a server without x_queues.claim */
    struct opt_words tags;
    struct opt_words uptime, downtime;
    const char *worker; /* exactly this id; NULL = made from name, GPUs and slot */
};

enum { AGENT_STOPPED = 254 };

/* Run until it is told to end. Returns the exit code; what went wrong before it began is printed by the caller from
 * err (code 1). */
int agent_run (const struct agent_options *o, const struct conf *conf, struct client *client,
               struct error *err);

/* -- the daemons of this machine and user, as their folders say -------------------------------------------------- */
struct agent_daemon {
    const char *worker;
    const char *server;
    const char *queues; /* names, joined by ", " */
    const char *mode;   /* running, draining, stopping */
    struct process_identity process;
    bool alive;
    int slots;
    int64_t started;
};
struct agent_task {
    const char *task, *worker, *stage, *folder, *token, *server;
    bool alive; /* its supervisor */
    int64_t t;
};
/* Both lists live in the arena, sorted by worker. Daemons that are gone but whose folders are still there are listed
 * too (alive false). */
int agent_daemons (struct arena *a, struct agent_daemon **ret, size_t *ret_n, struct error *err) warn_unused;
int agent_tasks (struct arena *a, struct agent_task **ret, size_t *ret_n, struct error *err) warn_unused;
/* The first part of ids that these options make ("host:gpu0,1", "host:cpu", "host"); *ret_whole: it is the whole id. */
char *agent_worker_prefix (struct arena *a, const struct conf *conf, const char *gpus, bool cpu_only,
                           bool *ret_whole);
