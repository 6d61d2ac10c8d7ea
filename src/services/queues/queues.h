/* queues.h - the door of the queues: what other services ask of them inside their own handler. All take the call
 * (company, time, arena and database come from it) and leave bells on it; texts returned live in its arena.
 *
 * A queue is a list of entries {task, added}, oldest first, and a task stands in it at most once. Adding and removing
 * never touches the task itself: its status is the caller's matter. */
#pragma once
#include "services/call.h"
#include "store/query.h"

extern const struct query_entity queues_entity;

struct queue_name {
    const char *id, *name, *display_name; /* display_name NULL when there is none */
};

int queue_find (struct call *c, const char *id, struct queue_name *ret,
                struct error *err) warn_unused; /* ERR_INVALID_QUEUE_ID when there is none */
/* Length and first task. */
struct queue_head {
    int64_t length;
    const char *task; /* NULL: empty */
};
int queue_head (struct call *c, const char *id, struct queue_head *ret, struct error *err) warn_unused;
int queue_find_by_name (struct call *c, const char *name, struct queue_name *ret,
                        struct error *err) warn_unused; /* 1 found, 0 none, -1 */
int queue_get_default (struct call *c, struct queue_name *ret,
                       struct error *err) warn_unused; /* ERR_NO_DEFAULT_QUEUE, ERR_MANY_DEFAULT_QUEUES */
int queue_get_or_create (struct call *c, const char *name, struct queue_name *ret, struct error *err)
    warn_unused; /* ERR_DATA_VALIDATION: a name under three characters */

/* Append; rings. ERR_INVALID_QUEUE_ID, ERR_TASK_ALREADY_QUEUED. */
int queue_add (struct call *c, const char *queue, const char *task, struct error *err) warn_unused;
/* Take the task out. ERR_INVALID_QUEUE_ID, ERR_TASK_NOT_QUEUED. */
int queue_remove (struct call *c, const char *queue, const char *task, struct error *err) warn_unused;
/* Take it out of all queues but `except` (NULL: of all), and out of flight. Returns how many, -1. */
int queue_remove_everywhere (struct call *c, const char *task, const char *except,
                             struct error *err) warn_unused;
int queue_holds (struct call *c, const char *queue, const char *task,
                 struct error *err) warn_unused; /* 1 0 -1 */

/* The task gave a sign of life (status call, ping, report): if its entry was popped and is still in flight, it is
 * settled and does not come back. One look-up; call it freely from writes. */
int queue_confirm (struct call *c, const char *task, struct error *err) warn_unused;

/* At every start: a company without any queue gets the queue `default`, with the system tag of that name. */
int queue_create_first (struct db *db, const char *company, int64_t now, struct error *err) warn_unused;

/* Once at start: entries come back from flight and sleepers are woken, on the writer thread. Destroy after the store. */
struct store;
struct topics;
struct queues_background *queues_background_start (struct store *store, struct topics *topics);
void queues_background_destroy (struct queues_background *b);
