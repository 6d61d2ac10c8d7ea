/* rules.h - the registry and the machine statistics of workers, for this service's handlers. */
#pragma once
#include "base/str.h"
#include "services/workers/workers.h"

enum { WORKER_TIMEOUT_S = 600, WORKER_TIMEOUT_MAX_S = 365 * 24 * 3600, WORKER_INTERVAL_MIN_S = 40 };

/* The caller's own entry of that id; false when it is not registered. */
bool worker_get (struct call *c, const char *id, struct worker *ret);
/* After the commit the registry holds it, for its timeout from now on. */
void worker_put (struct call *c, const struct worker *w);
void worker_drop (struct call *c, const char *id);
bool worker_lists (const struct worker_list *l, const char *item);
/* Filters of get_all and get_count: seen within last_seen s (0: all), tags any of, "-x" none of, id like the glob. */
struct worker_filter {
    int64_t last_seen;
    struct worker_list tags, system_tags;
    const char *pattern;
};
bool worker_matches (const struct worker *w, const struct worker_filter *f, int64_t now_us);

/* -- statistics: from, to in s; interval in s, raised to WORKER_INTERVAL_MIN_S */
struct worker_span {
    double from, to;
    int64_t interval;
};
int worker_sample_put (struct call *c, const char *worker, const char *task, int64_t time, struct text stats,
                       struct error *err) warn_unused;
int worker_metric_keys (struct call *c, struct text worker_ids, struct str *out,
                        struct error *err) warn_unused;
struct worker_stats_wish {
    struct text worker_ids, items; /* JSON lists; no ids: all workers. items: [{key, aggregation}] */
    bool by_resource;              /* each GPU apart too */
};
int worker_stats (struct call *c, const struct worker_span *span, const struct worker_stats_wish *wish,
                  struct str *out, struct error *err) warn_unused;
int worker_activity (struct call *c, const struct worker_span *span, bool active, struct str *out,
                     struct error *err) warn_unused;
