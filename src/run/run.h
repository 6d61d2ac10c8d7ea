/* run.h - ONE task's life on this machine: `stoker execute --id T`.
 *
 * The process that calls run_execute becomes the supervisor of the task: it prepares the code and the environment,
 * starts the user's process in a session of its own, owns its output, watches the server for an abort, ends everything
 * that is left of it, and reports what became of it. What it does is a table of stations (run.c); each is written to
 * the journal (base/journal.h) before it begins, and reported to a server that wants to know.
 *
 * Exit codes: the user's own; 128 + n when a signal n ended the process; 254 when it was stopped (by a person or by a
 * signal to us); 1 when it could not be started; 2 for wrong words on the command line.
 */
#pragma once
#include "base/error.h"
#include "conf/conf.h"

#include <stdbool.h>
#include <stdint.h>

struct run_options {
    const struct conf *conf;
    const char *task;      /* id, or the name of exactly one task */
    bool clone;            /* run a copy named "Clone of ..." */
    bool quiet;            /* --disable-monitoring: no console lines, no status, nothing told to the server */
    bool standalone;       /* nothing is fetched: code and packages must be there */
    bool require_queue;    /* fail unless the task stood in a queue */
    bool echo;             /* output also goes to our standard output, as it is */
    const char *log_file;  /* output is also written here; NULL = no */
    const char *log_level; /* CLEARML_LOG_LEVEL of the user's process; NULL = INFO */
    int64_t optimise;      /* -O: 1 or 2 are passed to Python */
    const char *worker;    /* NULL: agent.worker_id, else <host>:<pid> */
    bool upgrade;          /* resolve requirements anew */
};

/* Run the task to its end; the exit code. Errors are told in the task's log and by log_error. */
int run_execute (const struct run_options *o);

/* What is left to do for a run whose supervisor is gone (settle.c): 0 when all is told, 1 when it could not be. */
int run_tell_end (const struct run_options *o, const char *why);
