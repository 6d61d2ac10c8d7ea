/* room.h - what the stations of one run share. Main thread only, unless said otherwise. */
#pragma once
#include "base/journal.h"
#include "base/json.h"
#include "client/client.h"
#include "io/spawn.h"
#include "run/clerk.h"
#include "run/console.h"
#include "run/descend.h"
#include "run/env.h"
#include "run/git.h"
#include "run/guard.h"
#include "run/mask.h"
#include "run/repo.h"
#include "run/run.h"
#include "run/script.h"
#include "run/ship.h"
#include "run/stop.h"

struct run {
    struct arena *arena;
    const struct run_options *options;
    const struct conf *conf;
    struct client *client;
    const char *id, *folder, *journal; /* run id, RUN folder, RUN/journal */
    const char *cache;                 /* stores of repositories and environments */
    const char *task, *worker;
    bool claimed; /* a daemon claimed the task for us */
    bool rank0;   /* this process speaks for the task (the first of a group of machines) */

    struct stop stop;
    struct clerk *clerk;
    struct spool *spool;
    struct ship *ship;
    struct guard *guard;
    struct say say;
    struct console *helper;  /* output of git, uv, pip */
    struct console *console; /* output of the task */
    struct mask mask;        /* secrets that our own words and those of helpers must not show */
    int log_fd;              /* --log-file, -1 = none */

    struct text doc;    /* the task */
    struct text script; /* doc.script */

    struct git *git;
    struct checkout checkout;
    const char *code; /* root of the code: the checkout, or RUN/code */
    struct script what;
    struct python python;
    struct indexes indexes;
    struct install install;
    struct requirements requirements;
    struct env_wish env_wish;
    struct env env;
    const char
        *stage_note; /* what the station that just went well says of itself in the timeline; NULL = nothing */
    bool has_env;

    struct cgroup cgroup;
    long oom_before; /* of /proc/vmstat */
    struct child child;
    int pipe; /* our end of the task's output, -1 = none */
    bool ended;
    bool by_itself; /* it ended before anybody wanted it to */
    struct spawn_end end;
    bool out_of_memory;

    const char *failed_at; /* name of the station that failed, NULL = none */
    struct error failure;
    const char *reported; /* final status the server has taken, "none" */
};

/* -- stations: run.c has the table ---- */
int station_claim (struct run *r, struct error *err);
int station_fetch (struct run *r, struct error *err);
int station_repository (struct run *r, struct error *err);
int station_patch (struct run *r, struct error *err);
int station_environment (struct run *r, struct error *err);
int station_packages (struct run *r, struct error *err);
int station_start (struct run *r, struct error *err);
int station_watch (struct run *r, struct error *err);

/* After the last station or the one that failed: end what is left, report, clean up; the exit code. */
int run_finish (struct run *r);

/* -- helpers ---- */
const char *run_field (struct run *r, const char *name); /* script.<name> as a string, NULL = none */
void run_notice (struct run *r, const char *level, const char *fmt, ...)
    __attribute__ ((format (printf, 3, 4)));
void run_complain (const struct run *r, const char *text); /* there is no task yet that could hold it */
void run_journal (struct run *r, struct journal_entry e);  /* append; a failure is only logged */
/* A call that the run cannot go on without. */
int run_call (struct run *r, const char *call, const char *body, struct text *ret,
              struct error *err) warn_unused;
struct git_rules run_git_rules (struct run *r);
const char *const *run_environment (struct run *r);     /* variables of the user's process (variables.c) */
const char *run_variable (void *run, const char *name); /* value of one of them; NULL = not set */
