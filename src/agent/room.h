/* room.h - inside of agent/ only: the daemon's parts and who may touch what.
 *
 * The loop's thread owns slots, runs and mode. The taker's thread asks the server for one task at a time, for the slot
 * the loop hands it, and posts what it got. The courier's thread says everything else to the server, in the order in
 * which it was posted. */
#pragma once
#include "agent/agent.h"
#include "agent/hours.h"
#include "base/str.h"
#include "engine/engine.h"
#include "io/loop.h"

#include <pthread.h>

struct agent;
struct slot;

struct queue {
    const char *name, *id;
};
/* What we serve now; never changed, only replaced. */
struct queues {
    struct queues *older;
    struct arena *arena;
    struct queue *v;
    size_t n;
    bool missing; /* some of the words name no queue at the moment */
};

enum agent_mode { AGENT_RUNNING, AGENT_DRAINING, AGENT_STOPPING };

/* One task that runs. */
struct run {
    struct run *next;
    struct arena *arena;
    struct agent *agent;
    struct slot *slot; /* NULL: of a worker that is no more */
    const char *id, *task, *queue, *queue_name, *folder, *journal;
    const char *worker, *gpus;
    const char *settle; /* its supervisor was lost: what `--settle` says */
    struct engine_run at;
    struct loop_watch *watch;
    bool ended;
};

struct slot {
    int index;
    const char *worker; /* id of this slot */
    const char *gpus;   /* NULL = not limited */
    struct run *run;
    bool asked; /* the taker is looking for a task for it */
};

/* What the taker brings. */
struct taken {
    struct slot *slot;
    char task[64], queue[64], token[40];
};

struct taker {
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t bell;
    struct client *client;
    int abort_fd;        /* eventfd */
    struct slot *wanted; /* lock */
    bool stop;           /* lock */
    size_t first;        /* queue to begin with (fairness); taker's */
    int64_t refreshed;   /* when the queues were looked up; taker's */
    char token[40];      /* of the claim that is under way or was not answered; taker's */
    bool started;
};

struct job {
    struct job *next;
    struct arena *arena; /* its own */
    void (*fn) (struct agent *, struct job *);
    const char *task, *queue, *worker, *text, *folder;
    int code;
};

struct courier {
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t bell;
    struct client *client;
    int abort_fd;              /* eventfd */
    struct job *first, **last; /* lock */
    bool stop;                 /* lock */
    bool report_now;           /* lock */
    bool started;
    bool in_trouble;         /* the last report was not heard; courier's */
    struct machine *machine; /* courier's */
};

struct agent {
    struct arena *arena;
    const struct agent_options *o;
    const struct conf *conf;
    struct client *client; /* of the start and the end; the threads have their own */
    struct loop *loop;
    const struct engine *engine;
    const char *worker, *state, *folder, *runs_folder;
    int64_t started;     /* ms */
    const char *devices; /* o->gpus as tasks are told them */
    int name_fd;         /* holds the id among all users of this machine */
    int lock_fd,
        ready_fd; /* ready_fd: where the parent waits that started us in the background; -1: nobody */
    pthread_mutex_t queues_lock;
    struct queues *queues; /* queues_lock */
    struct slot *slots;
    struct run *runs; /* first of list */
    size_t n_runs;
    enum agent_mode mode;
    struct hours uptime, downtime;
    bool claims; /* the server has x_queues.claim */
    int interrupts;
    int exit_code;
    bool restart;
    bool adopting; /* of some runs it is not known yet what they are: nothing is taken */
    struct loop_timer *stop_timer, *tidy_timer, *adopt_timer;
    int stop_step;
    struct taker taker;
    struct courier courier;
    /* a copy of what reports say of each slot, under the courier's lock */
    struct slot_report {
        char task[64], queue[64]; /* "" = none */
        bool changed;
    } * reports;
};

/* worker.c: who we are. Chooses the id, makes its folder, locks it. */
int worker_open (struct agent *g, struct error *err) warn_unused;
void worker_write (struct agent *g); /* the folder's file that tells others what we are and do */
void worker_close (struct agent *g);
char *worker_folder (struct arena *a, const char *state, const char *worker);

/* queues.c */
/* Look all of them up. `all`: one that is not there is an error. From any one thread at a time. */
int queues_resolve (struct agent *g, struct client *c, bool all, struct error *err) warn_unused;
void queues_set (struct agent *g, struct queues *list); /* takes it over */
const struct queues *queues_get (struct agent *g);      /* from any thread; good until queues_free */
void queues_free (struct agent *g);

/* slots.c */
int slots_find_devices (struct agent *g,
                        struct error *err) warn_unused; /* are the GPUs here that we shall use? */
void slots_make (struct agent *g);
struct slot *slots_free (struct agent *g); /* one without a task, NULL = none */

/* queue_loop.c: the taker. */
int taker_start (struct agent *g, struct error *err) warn_unused;
void taker_ask (struct agent *g);  /* find a task for a free slot, if there is one and the mode allows */
void taker_stop (struct agent *g); /* takes nothing new; safe to call twice */
void taker_join (struct agent *g);
void taker_taken (struct agent *g, const char *token); /* what it brought is in a run's journal now */

/* run.c: from a taken task to its end. */
void run_take (struct agent *g, const struct taken *t);
int run_begin (struct agent *g, struct run *r, struct error *err) warn_unused; /* start the supervisor */
void run_follow (struct run *r);                                               /* r->at is filled */
void run_settle (struct run *r, int code); /* its supervisor is gone: what now? */
void run_lost (struct run *r);             /* found dead: put on the list and settled */
struct run *run_create (struct agent *g, const char *id);
void run_destroy (struct run *r);
void run_ended (struct agent *g); /* a run is off the list, or the mode has changed: ask for more, or end */

/* adopt.c: runs that were there before us. */
void adopt_all (struct agent *g);
void adopt_orphans (struct agent *g); /* lost runs of workers that are no more */

/* status.c: the courier. */
int courier_start (struct agent *g, struct error *err) warn_unused;
struct job *job_create (void (*fn) (struct agent *, struct job *));
void courier_post (struct agent *g, struct job *j);
void courier_slot (struct agent *g, const struct slot *s); /* its task changed: report now */
void courier_slot_changed (struct agent *g); /* all slots: the queues changed; from any thread */
void courier_end (struct agent *g);          /* send what is left, unregister; bounded */
int worker_register (struct agent *g, struct error *err) warn_unused;

/* report.c: jobs of the courier. */
void report_pulled (struct agent *g, const struct run *r);
void report_lost (struct agent *g, const struct run *r, const char *how, bool stopped);
void report_give_back (struct agent *g,
                       const struct taken *t); /* and its token is done with, when it worked */

/* agent.c */
void agent_mode_set (struct agent *g, enum agent_mode m);
void agent_say (const struct agent *g, const char *fmt, ...) __attribute__ ((format (printf, 2, 3)));
