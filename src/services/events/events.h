/* events.h - the door of the events service: what tasks and models ask about metrics, and what they tell it.
 *
 * Sorting and filtering tasks by a metric needs no call: the value of "last_metrics.<m>.<v>.value" (m and v are
 * the md5 of the names) of the task with id X is
 *   SELECT s.last FROM event_stream AS e JOIN series AS s ON s.stream = e.id
 *   WHERE e.task = X AND e.live = 1 AND s.key = '<m><v>' AND s.count > 0 AND s.hidden = 0
 * and so on with s.min, s.min_iter, s.max, s.max_iter, s.first, s.first_iter, s.mean, s.count. A NULL is a NaN.
 */
#pragma once
#include "base/arena.h"
#include "base/error.h"
#include "base/str.h"

#include <stdbool.h>
#include <stdint.h>

struct db;

/* `last_metrics` of a task or model as JSON object text, "{}" when there is none. bare_nan: NaN and infinities go
 * out bare, else as null. */
int events_last_metrics (struct db *db, struct arena *a, const char *company, const char *task, bool bare_nan,
                         struct str *out, struct error *err) warn_unused;
/* `unique_metrics`: JSON array of "metric/variant", sorted. */
int events_unique_metrics (struct db *db, struct arena *a, const char *company, const char *task,
                           struct str *out, struct error *err) warn_unused;
/* `metric_stats`: {md5 (metric): {metric, event_stats_by_type: {type: {last_update}}}}. */
int events_metric_stats (struct db *db, struct arena *a, const char *company, const char *task,
                         struct str *out, struct error *err) warn_unused;

/* Reset, delete: all events of the task or model are gone at once; the rows follow in slices. */
int events_retire (struct db *db, const char *company, const char *task, struct error *err) warn_unused;

/* Urls that a task's events name (images, plot sources) as JSON array text, each once: what a delete reports. */
int events_urls (struct db *db, struct arena *a, const char *company, const char *task, struct str *out,
                 struct error *err) warn_unused;

/* Background work: rows of retired events removed, batches folded, console chunks joined. The server adds it to the
 * store. */
struct sweeper;
extern const struct sweeper events_sweeper;
