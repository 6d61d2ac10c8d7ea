/* rules.c - see rules.h. The tables are the rules; a row carries its preconditions. */
#include "services/tasks/rules.h"

#include "wire/errors.h"

#include <string.h>

#define S(x) (1u << TASK_##x)
#define ANY  ((1u << TASK_STATUSES) - 1)

static const char *const names[TASK_STATUSES] = {
    [TASK_CREATED] = "created",     [TASK_QUEUED] = "queued",         [TASK_IN_PROGRESS] = "in_progress",
    [TASK_STOPPED] = "stopped",     [TASK_CLOSED] = "closed",         [TASK_FAILED] = "failed",
    [TASK_COMPLETED] = "completed", [TASK_PUBLISHING] = "publishing", [TASK_PUBLISHED] = "published",
    [TASK_UNKNOWN] = "unknown",
};

const char *const task_types[] = { "training", "testing",    "inference", "data_processing", "application",
                                   "monitor",  "controller", "report",    "optimizer",       "service",
                                   "qc",       "custom",     NULL };

static const unsigned moves[TASK_STATUSES] = {
    [TASK_CREATED] = S (QUEUED) | S (IN_PROGRESS),
    [TASK_QUEUED] = S (CREATED) | S (IN_PROGRESS) | S (STOPPED),
    [TASK_IN_PROGRESS] = S (STOPPED) | S (FAILED) | S (CREATED) | S (COMPLETED),
    [TASK_STOPPED] = S (CLOSED) | S (CREATED) | S (FAILED) | S (QUEUED) | S (IN_PROGRESS) | S (PUBLISHED) |
                     S (PUBLISHING) | S (COMPLETED),
    [TASK_CLOSED] = S (CREATED) | S (FAILED) | S (PUBLISHED) | S (PUBLISHING) | S (STOPPED),
    [TASK_FAILED] = S (CREATED) | S (STOPPED) | S (PUBLISHED) | S (QUEUED),
    [TASK_COMPLETED] = S (PUBLISHED) | S (IN_PROGRESS) | S (CREATED),
    [TASK_PUBLISHING] = S (PUBLISHED),
    [TASK_PUBLISHED] = 0,
    [TASK_UNKNOWN] = 0,
};

static const struct task_verb_row verbs[TASK_VERBS] = {
    [VERB_STARTED] = { "started", TASK_IN_PROGRESS, STAMP_STARTED, false },
    [VERB_STOP] = { "stop", TASK_STOPPED, STAMP_NONE, false },
    [VERB_STOPPED] = { "stopped", TASK_STOPPED, STAMP_COMPLETED, false },
    [VERB_FAILED] = { "failed", TASK_FAILED, STAMP_COMPLETED, false },
    [VERB_COMPLETED] = { "completed", TASK_COMPLETED, STAMP_COMPLETED, false },
    [VERB_CLOSE] = { "close", TASK_CLOSED, STAMP_NONE, false },
    [VERB_PUBLISH] = { "publish", TASK_PUBLISHED, STAMP_PUBLISHED, true },
    [VERB_RESET] = { "reset", TASK_CREATED, STAMP_NONE, false },
    [VERB_ENQUEUE] = { "enqueue", TASK_QUEUED, STAMP_NONE, false },
    [VERB_DEQUEUE] = { "dequeue", TASK_CREATED, STAMP_NONE, false },
};

static const struct {
    const char *words;
    unsigned plain, forced; /* statuses that allow it */
    int code;
} guards[TASK_GUARDS] = {
    [GUARD_EDIT] = { "edit", S (CREATED), ANY, ERR_INVALID_TASK_STATUS },
    [GUARD_PARAMS] = { "edit parameters of", S (CREATED), S (CREATED) | S (QUEUED) | S (IN_PROGRESS),
                       ERR_INVALID_TASK_STATUS },
    [GUARD_ARTIFACTS] = { "edit artifacts of", S (CREATED) | S (QUEUED) | S (IN_PROGRESS),
                          S (CREATED) | S (QUEUED) | S (IN_PROGRESS), ERR_INVALID_TASK_STATUS },
    [GUARD_DELETE] = { "delete", S (CREATED), ANY, ERR_TASK_CANNOT_BE_DELETED },
};

const char *task_status_name (enum task_status s)
{
    return s < TASK_STATUSES ? names[s] : "unknown";
}

bool task_status_parse (const char *name, enum task_status *ret)
{
    for (int i = 0; name && i < TASK_STATUSES; i++)
        if (!strcmp (names[i], name)) {
            *ret = (enum task_status)i;
            return true;
        }
    return false;
}

bool task_type_known (const char *type)
{
    for (size_t i = 0; task_types[i]; i++)
        if (!strcmp (task_types[i], type))
            return true;
    return false;
}

bool task_may_go (enum task_status from, enum task_status to)
{
    return from == to || moves[from] & 1u << to;
}

const struct task_verb_row *task_verb (enum task_verb v)
{
    return &verbs[v];
}

int task_verb_check (enum task_verb v, enum task_status from, bool force, struct error *err)
{
    const struct task_verb_row *row = &verbs[v];
    if (force || (task_may_go (from, row->to) && !(row->not_again && from == row->to)))
        return 0;
    return error_set (err, ERR_INVALID_TASK_STATUS,
                      "Invalid task status (cannot %s this task): current_status=%s, new_status=%s",
                      row->name, names[from], names[row->to]);
}

int task_guard_check (enum task_guard g, enum task_status s, bool archived, bool force, struct error *err)
{
    unsigned allowed = force ? guards[g].forced : guards[g].plain;
    if (allowed & 1u << s || (g == GUARD_DELETE && archived))
        return 0;
    return error_set (err, guards[g].code, "cannot %s a task whose status is %s%s", guards[g].words, names[s],
                      !force && guards[g].forced & 1u << s ? ": use force" : "");
}
