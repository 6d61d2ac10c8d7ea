/* workers.h - the door of the workers: the registry of who is there, for other services. The registry lives in
 * store/volatile: it is lost with the server and refilled by the workers' next reports. */
#pragma once
#include "services/call.h"

struct worker {
    const char *key; /* "worker_<company>_<user>_<id>": as shown to clients */
    const char *id, *user, *user_name, *ip;
    const char *task;  /* NULL: idle */
    const char *queue; /* the task came from, or NULL */
    struct worker_list {
        const char **v;
        size_t n;
    } queues, tags, system_tags;
    int64_t registered, last_activity, last_report; /* us */
    int64_t timeout;                                /* s */
};

/* All live workers of the caller's company, by key; in the call's arena. */
void workers_list (struct call *c, struct worker **ret, size_t *ret_n);
/* Does any live worker listen to this queue? */
bool workers_watch (struct call *c, const char *queue);

/* Once at start: old statistics are removed on the writer thread. */
struct store;
void workers_background_start (struct store *store);
