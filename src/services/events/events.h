/* events.h - the door of the events service: what tasks and models ask of it, and what they tell it. */
#pragma once
#include "base/arena.h"
#include "base/error.h"
#include "base/str.h"
#include "store/query.h"

#include <stdint.h>

/* -- metrics as fields of an entity (store/query.h) whose row `e` has an id ------------------------------------------ */

/* The value of "last_metrics.<m>.<v>.value" (m and v are the md5 of the names) is the `last` of the live stream's series
 * with key '<m><v>'; a NULL there is a NaN. EVENTS_METRIC to read and to order by; EVENTS_METRIC_FILTER to filter by: a NaN
 * is an infinity there, which no range holds, so that it is not taken for a missing one. */
#define EVENTS_METRIC        EVENTS_METRIC_AS ("", "")
#define EVENTS_METRIC_FILTER EVENTS_METRIC_AS ("ifnull(", ", 9e999)")
#define EVENTS_METRIC_AS(open, close)                                                                        \
    "(SELECT " open "CASE $3 WHEN 'min_value' THEN s.min WHEN 'min_value_iteration' THEN s.min_iter "        \
    "WHEN 'max_value' THEN s.max WHEN 'max_value_iteration' THEN s.max_iter "                                \
    "WHEN 'first_value' THEN s.first WHEN 'first_value_iteration' THEN s.first_iter "                        \
    "WHEN 'mean_value' THEN s.mean WHEN 'count' THEN s.count "                                               \
    "WHEN 'metric' THEN s.metric WHEN 'variant' THEN s.variant ELSE s.last END" close " "                    \
    "FROM event_stream es JOIN series s ON s.stream = es.id "                                                \
    "WHERE es.task = e.id AND es.live = 1 AND s.key = $1 || $2 AND s.count > 0 AND s.hidden = 0)"

/* query_field.write, for columns that hold the id:
 *   last_metrics    {md5 (metric): {md5 (variant): {value, min_value, ...}}}; "{}" when there is none
 *   unique_metrics  ["metric/variant"], sorted
 *   metric_stats    {md5 (metric): {metric, event_stats_by_type: {type: {last_update}}}} */
int events_last_metrics (const struct query_source *src, struct rows *r, int col, struct str *out,
                         struct error *err) warn_unused;
int events_unique_metrics (const struct query_source *src, struct rows *r, int col, struct str *out,
                           struct error *err) warn_unused;
int events_metric_stats (const struct query_source *src, struct rows *r, int col, struct str *out,
                         struct error *err) warn_unused;
/* The first of them for one task or model, by its id. */
int events_last_metrics_of (const struct query_source *src, const char *owner, struct str *out,
                            struct error *err) warn_unused;

/* -- what becomes of events ------------------------------------------------------------------------------------------ */

/* Reset, delete: all events of the task or model are gone at once; the rows follow in slices. */
int events_retire (struct db *db, const char *task, struct error *err) warn_unused;

/* Urls that a task's events name (images, plot sources) as JSON array text, each once: what a delete reports. */
int events_urls (struct db *db, struct arena *a, const char *task, struct str *out,
                 struct error *err) warn_unused;

/* Background work: rows of retired events removed, batches folded, console chunks joined. The server adds it to the
 * store. */
struct sweeper;
extern const struct sweeper events_sweeper;
