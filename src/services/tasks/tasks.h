/* tasks.h - the door of the tasks service: what queues, workers, events, models and pipelines ask about tasks. */
#pragma once
#include "base/error.h"
#include "services/call.h"
#include "store/query.h"

extern const struct query_entity tasks_entity;

/* -- facts */
struct task_facts {
    int64_t n; /* row number: the short key other tables use; never reused */
    const char *id, *company, *name, *type, *status, *project, *parent, *user, *queue, *enqueue_status,
        *last_worker, *claim; /* arena; NULL when absent */
    int64_t created, started, completed, last_update, last_iteration;
    bool development; /* has the system tag: a person's own run, not an agent's */
    bool archived;
};
/* Own tasks, also public ones when `public_too`. 400/101 when there is none; 403/21 when it is public and only own ones
 * will do, because it is to be changed. */
int task_facts (struct call *c, const char *id, bool public_too, struct task_facts *ret,
                struct error *err) warn_unused;
/* For those who pass over what is not theirs: was it one of these two errors? */
static inline bool task_not_own (const struct error *err)
{
    return err->code == ERR_INVALID_TASK_ID || err->code == ERR_NO_WRITE_PERMISSION;
}

/* The same for many (batches of events): which of ids are own tasks; found[i] says so. Never fails for unknown ids. */
int tasks_known (struct call *c, const char *const *ids, size_t n, bool *found,
                 struct error *err) warn_unused;

/* Its name, NULL when there is none. */
const char *task_name (struct call *c, const char *id);

/* -- claiming (x_queues.claim, queues.get_next_task)
 * Give a queued task to a worker: status in_progress, last_worker, started now, enqueue_status kept until it reports;
 * `token` is remembered. 400/110 when the task is no longer queued: the caller then takes the next entry. `queue` may
 * be NULL. */
int task_claim (struct call *c, const char *task, const char *worker, const char *queue, const char *token,
                struct error *err) warn_unused;
/* The task this token was given, NULL when none: the answer to a claim that is sent again. */
const char *task_claimed_with (struct call *c, const char *token);

/* -- what others tell: signs of life, which revive a run that was taken for dead. `t`: own, read in this write.
 * Events arrived: last_update = now, last_iteration grows to `iteration` (INT64_MIN: none came), active_duration from
 * started while it runs. One UPDATE. */
int task_touch_from_events (struct call *c, const struct task_facts *t, int64_t iteration,
                            struct error *err) warn_unused;
/* The same of the task of a model; a task that is not own is ignored. */
int task_touch_from_model (struct call *c, const char *task, int64_t iteration,
                           struct error *err) warn_unused;
/* A worker says it works on the task: last_worker, last_worker_report, last_update. */
int task_touch_from_worker (struct call *c, const struct task_facts *t, const char *worker,
                            struct error *err) warn_unused;

/* -- queues: the entry is gone (removed, queue cleared or deleted): a queued task goes back to the status it had
 * before (enqueue_status, else created), with `reason` as its status_reason; forget_queue also clears execution.queue.
 * Tasks that are not queued stay. */
int task_unqueue (struct call *c, const char *task, bool forget_queue, const char *reason,
                  struct error *err) warn_unused;
/* queues.add_task and moves between queues: execution.queue = queue, status queued (remembering the one before). The
 * entry itself is the caller's. 400/110 from a status that may not be queued. */
int task_queue (struct call *c, const char *task, const char *queue, struct error *err) warn_unused;
/* execution.queue alone, whatever the status; an unknown task is ignored. */
int task_set_queue (struct call *c, const char *task, const char *queue, struct error *err) warn_unused;

/* -- models: publish a task with its model. Result JSON {updated, fields}. 400/110 when its status forbids. */
int task_publish (struct call *c, const char *task, bool force, struct text *ret,
                  struct error *err) warn_unused;
/* A model was deleted: input references become "__DELETED__<model>"; the output item is pulled (or, on published
 * tasks, marked). */
int task_forget_model (struct call *c, const char *model, struct error *err) warn_unused;
/* How many tasks use it as an input. */
int task_model_users (struct call *c, const char *model, int64_t *ret, struct error *err) warn_unused;
/* models.update_for_task: what a new model takes from its task, as JSON texts and strings (absent when missing). */
struct task_model_facts {
    const char *name, *project, *status, *framework, *first_input, *last_output;
    struct text labels, design;
};
int task_model_facts (struct call *c, const char *task, struct task_model_facts *ret,
                      struct error *err) warn_unused;
/* ... and the model becomes its only output, called `name`. */
int task_set_output_model (struct call *c, const char *task, const char *name, const char *model,
                           struct error *err) warn_unused;

/* -- projects: counts for refusals and pages; tasks of a deleted or merged project. to = NULL: no project. */
int tasks_move_project (struct call *c, const char *from, const char *to, struct error *err) warn_unused;

/* A task goes with its project, whatever its status, after the models of the project: models it made that lie elsewhere
 * stay, without a task, as its children do, without a parent. Urls of its artifacts join the list (JSON strings without
 * brackets). */
int task_delete_with_project (struct call *c, const char *id, bool keep_files, struct str *artifacts,
                              struct error *err) warn_unused;

/* Tasks that say they run, and of which nothing was heard (events, pings, reports of their worker): after `lost_ms` those
 * that an agent claimed are failed, their worker is lost; after `silent_ms` all others are stopped. 0: never. Where a
 * stop had been asked for they are stopped. A sign of life that comes all the same revives them. Called by the server
 * every so often, inside a write. *ret: how many; when it is `most`, there may be more. */
struct task_silence {
    int64_t lost_ms, silent_ms;
};
int tasks_stop_silent (struct call *c, const struct task_silence *limits, int64_t most, int64_t *ret,
                       struct error *err) warn_unused;
