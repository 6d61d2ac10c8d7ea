/* rules.h - what queues do, for this service's own handlers; other services use queues.h. */
#pragma once
#include "services/queues/queues.h"

struct queue {
    int64_t seq; /* row number: the key of entries, flights and samples */
    const char *id, *name, *display_name;
    int64_t length, added_sum; /* entries and the sum of their `added` */
};
struct queue_entry {
    const char *task;
    int64_t added;
};

int queue_load (struct call *c, const char *id, struct queue *ret, struct error *err) warn_unused;
int queue_name_check (struct call *c, const char *name, const char **ret_trimmed,
                      struct error *err) warn_unused;
int queue_create (struct call *c, const char *name, const char *display_name, struct text tags,
                  struct text system_tags, struct text metadata, const char **ret_id,
                  struct error *err) warn_unused;
/* The first entry, taken out; 1 taken, 0 empty. Not settled yet: see queue_fly. */
int queue_pop (struct call *c, struct queue *q, struct queue_entry *ret, struct error *err) warn_unused;
int queue_peek (struct call *c, const struct queue *q, struct queue_entry *ret,
                struct error *err) warn_unused;
/* The popped entry is on its way to somebody of whom we know nothing: unless the task gives a sign of life within
 * QUEUE_FLIGHT_MS it comes back to the head. */
int queue_fly (struct call *c, const struct queue *q, const struct queue_entry *e,
               struct error *err) warn_unused;
enum { QUEUE_FLIGHT_MS = 120000 };
/* Entries whose flight is over come back, at most `max`. Returns how many were looked at. */
int queue_land (struct call *c, int64_t max, struct error *err) warn_unused;
enum { QUEUE_FAR = 1 << 30 }; /* further than any queue is long */
/* Move to a place in the list: by > 0 towards the end, by < 0 towards the front, clamped. */
int queue_move (struct call *c, const char *queue, const char *task, int64_t by, int64_t *ret_position,
                struct error *err) warn_unused;
/* All entries out; tasks whose execution.queue is this queue go back to the status they had, with `reason` as their
 * status_reason. ret: those tasks. */
struct queue_tasks {
    const char **v;
    size_t n;
};
int queue_clear (struct call *c, struct queue *q, const char *reason, struct queue_tasks *ret,
                 struct error *err) warn_unused;
/* A task taken out of the queue goes back to the status it had, if its execution.queue is this one. 1 it did, 0, -1 */
int queue_release_task (struct call *c, const struct queue *q, const char *task, const char *reason,
                        struct error *err) warn_unused;
int queue_delete (struct call *c, struct queue *q, bool force, struct error *err) warn_unused;
double queue_wait (struct call *c, const struct queue *q); /* s, mean over its entries */
int queue_sample (struct call *c, const struct queue *q, struct error *err) warn_unused;
