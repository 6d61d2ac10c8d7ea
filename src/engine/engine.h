/* engine.h - where a task may live: an engine makes one command line (`stoker execute --id T`) run somewhere and says
 * what became of it. It knows nothing of tasks. A method that is NULL cannot be done by that engine. */
#pragma once
#include "base/error.h"
#include "base/journal.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What shall run, and what it needs. */
struct placement {
    const char *const *argv; /* ends with NULL */
    const char *const *env;  /* "NAME=value", ends with NULL: the whole environment */
    const char *cwd;         /* NULL = the caller's */
    const char *log;         /* file that its output is appended to (0600); NULL = nowhere */
    int cpus;                /* 0 = as many as there are */
    const char *gpus;        /* device list; NULL = any. `env` already shows them to the program */
    int64_t memory;          /* bytes, 0 = no wish */
};

/* A program that was started, by us or by who was here before us. */
struct engine_run {
    struct process_identity process;
    int pidfd;  /* readable once it has ended; the engine closes it in `end` */
    bool child; /* ours: `end` learns its exit code */
};

struct engine {
    const char *name;
    /* Start it in a session of its own, so that it outlives the caller. */
    int (*start) (const struct placement *p, struct engine_run *ret, struct error *err);
    /* Follow one that runs already; ESRCH when it is gone. */
    int (*adopt) (const struct process_identity *p, struct engine_run *ret, struct error *err);
    int (*signal) (const struct engine_run *r, int signum, struct error *err);
    /* It has ended: let go of it. *ret_code: its exit code, 128 + n for signal n, -1 when it was not ours. */
    void (*end) (struct engine_run *r, int *ret_code);
    /* Send `signum` (0: only count) to every process that has exactly `variable` ("NAME=value") in its environment,
     * but the caller. How many there were. */
    size_t (*sweep) (const char *variable, int signum);
};

extern const struct engine engine_local; /* processes of this machine; cpus and memory are not limited */
