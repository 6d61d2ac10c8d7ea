/* rules.h - what a task may do: states, moves between them, verbs, guards. Pure: no JSON, no database. */
#pragma once
#include "base/error.h"

#include <stdbool.h>

enum task_status {
    TASK_CREATED,
    TASK_QUEUED,
    TASK_IN_PROGRESS,
    TASK_STOPPED,
    TASK_CLOSED,
    TASK_FAILED,
    TASK_COMPLETED,
    TASK_PUBLISHING,
    TASK_PUBLISHED,
    TASK_UNKNOWN,
    TASK_STATUSES
};
const char *task_status_name (enum task_status s);
bool task_status_parse (const char *name, enum task_status *ret); /* false: no such status */

extern const char *const task_types[]; /* NULL-terminated */
bool task_type_known (const char *type);

/* May a task go from one status to another by itself? The same status again is always fine. */
bool task_may_go (enum task_status from, enum task_status to);

enum task_stamp { STAMP_NONE, STAMP_STARTED, STAMP_COMPLETED, STAMP_PUBLISHED };
enum task_verb {
    VERB_STARTED,
    VERB_STOP,
    VERB_STOPPED,
    VERB_FAILED,
    VERB_COMPLETED,
    VERB_CLOSE,
    VERB_PUBLISH,
    VERB_RESET,
    VERB_ENQUEUE,
    VERB_DEQUEUE,
    TASK_VERBS
};
struct task_verb_row {
    const char *name;
    enum task_status to;
    enum task_stamp stamp;
    bool not_again; /* refused when the task is there already */
};
const struct task_verb_row *task_verb (enum task_verb v);
/* 400/110 with words when the verb does not go from here (force: always goes). */
int task_verb_check (enum task_verb v, enum task_status from, bool force, struct error *err) warn_unused;

/* What may be done without a change of status. */
enum task_guard {
    GUARD_EDIT,
    GUARD_PARAMS,    /* hyperparameters and configuration */
    GUARD_ARTIFACTS, /* artifacts, runtime, models: as running tasks do */
    GUARD_DELETE,
    TASK_GUARDS
};
/* archived counts for GUARD_DELETE only. 400/110, or 400/123 for delete. */
int task_guard_check (enum task_guard g, enum task_status s, bool archived, bool force,
                      struct error *err) warn_unused;
