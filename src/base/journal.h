/* journal.h - the notebook of one run of a task, by which the supervisor that runs it and the daemon that
 * watches it meet: append-only, one JSON object a line, synced line by line. Whoever reads folds all lines into
 * one entry (the later line wins, member by member); a torn last line (power cut) is ignored.
 *
 * THE CONTRACT between `stoker agent daemon` and `stoker execute`:
 *
 *   A run has a folder, RUN = STATE/runs/<run id> (home_state()), 0700, and in it `journal`. The daemon makes the
 *   folder and writes the first line (stage "claimed": task, run, server, worker, queue); a supervisor started by
 *   hand (no STOKER_RUN_DIR) makes both itself. The command line is
 *       stoker execute --id TASK          plus what the user gave the daemon (--config-file, --log-level, -O, ...)
 *   with, in the environment:
 *       STOKER_RUN_ID     32 hex digits, the run id. Stays in the environment of the user's process and of all its
 *                         children (it is on the documented list): who carries it belongs to the run.
 *       STOKER_RUN_DIR    the folder RUN; removed from the user's environment. Its presence means: a daemon has
 *                         claimed the task for this run (do not claim again; a task that is still queued is
 *                         dequeued) and will follow the journal.
 *       CLEARML_WORKER_ID the worker's id (TRAINS_WORKER_ID too)
 *   It is its own session and ignores SIGHUP. SIGTERM to it = stop the task: TERM to the user's processes, grace,
 *   KILL of all descendants, tasks.stopped, exit 254. A second SIGTERM = no more grace.
 *
 *   The supervisor appends: stage "supervisor" (boot, pid, ticks of itself) before anything else; one line at each
 *   station ("fetch", "repository", "packages", ...); "running" (child pid); "exited" (exit_code or signal) when
 *   the user's process is gone; "reported" (reported: the final status that the server has taken, or "none" when
 *   it was not ours to set) when nothing is left to send; then it exits, with the user's exit code (128+n for a
 *   signal, 254 when stopped). Stage "reported" is the only one that needs nobody's care any more: the daemon then
 *   removes RUN. A supervisor that is gone before "reported" is lost: the daemon kills all that carries the run
 *   id and starts `stoker execute --id TASK --settle WHY` in its place, which signs as the supervisor (stage
 *   "settling"), sends what the spool still holds, and reports the task as failed ("supervisor lost"), unless
 *   "exited" stands there: then it reports that. */
#pragma once
#include "base/arena.h"
#include "base/error.h"
#include "base/text.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define JOURNAL_RUN_ID  "STOKER_RUN_ID"
#define JOURNAL_RUN_DIR "STOKER_RUN_DIR"

enum { JOURNAL_LINE_MAX = 16384 };

/* A process for ever: a pid alone may be given out again. */
struct process_identity {
    char boot[40];  /* of this start of the machine, "" = none */
    pid_t pid;      /* 0 = none */
    uint64_t ticks; /* its start in clock ticks since boot */
};

struct journal_entry {
    const char *stage;                                /* the only member every line has */
    int64_t t;                                        /* ms since 1970; journal_append fills it when 0 */
    const char *task, *run, *server, *worker, *queue; /* NULL members are not written */
    const char *token;                                /* of x_queues.claim */
    const char *gpus;                                 /* device list the run was given */
    const char *reported;                             /* completed, failed, stopped, none */
    const char *message;                              /* words for people: why it failed */
    struct process_identity process;                  /* of the supervisor */
    pid_t child;                                      /* first process of the user, 0 = none */
    bool has_exit;
    int exit_code, signal; /* signal 0: it exited by itself */
};

/* Identity of a live process: 1; 0 when there is none of that pid (a zombie counts as none), -1 when that cannot be told
 * (no descriptor is free, ...; errno). */
int process_identify (pid_t pid, struct process_identity *ret);
/* The same process is still there and no zombie: 1 yes, 0 no, -1 as above. */
int process_alive (const struct process_identity *p);
/* pidfd of exactly that process; ESRCH when it is gone. The caller closes it. */
int process_open (const struct process_identity *p, struct error *err) warn_unused;

/* Append one line and sync it. The file is made (0600) when it is missing. Safe from several processes. */
int journal_append (const char *path, const struct journal_entry *e, struct error *err) warn_unused;
/* Fold the whole file. Strings live in the arena. A missing file is ENOENT. */
int journal_read (struct arena *a, const char *path, struct journal_entry *ret,
                  struct error *err) warn_unused;
