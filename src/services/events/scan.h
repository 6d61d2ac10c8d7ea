/* scan.h - one event from its JSON text: checked, coerced, its members told apart (server.md 7.1).
 *
 * Two ways to the same result: event_scan knows only the plain shape of scalar events (the hot path: no escapes, no
 * nesting) and says "not mine" to anything else; event_read takes any JSON object. Their agreement is tested and
 * fuzzed.
 */
#pragma once
#include "base/arena.h"
#include "base/error.h"
#include "base/str.h"
#include "base/text.h"

#include <stdbool.h>
#include <stdint.h>

enum event_type { EVENT_SCALAR = 1, EVENT_VECTOR, EVENT_IMAGE, EVENT_PLOT, EVENT_LOG };
const char *event_type_name (enum event_type t);    /* "training_stats_scalar" */
enum event_type event_type_find (struct text name); /* 0 = none; spaces count as '_' */

struct event {
    enum event_type type;
    struct text task; /* id of the task, or of the model */
    bool model, allow_locked;
    struct text metric, variant; /* "" when missing */
    struct text label;           /* x_axis_label or absent */
    int64_t iter;                /* SERIES_NO_ITER when missing or null */
    int64_t time;                /* ms */
    double value;                /* scalars; point_none () when missing, null is a NaN */
    struct text extra; /* all other members, raw: "key":value,... worker and model_event among them */
    /* log events: taken out of extra when they are strings */
    struct text level, worker, msg;
    struct text run;      /* x_run, absent if not given, with */
    int64_t offset;       /* x_offset */
    struct text url, key; /* images; also in extra */
    struct text plot;     /* plot_str, unescaped */
    const char *problem;  /* why it is refused (the key of errors_info), NULL = good */
};

struct event_defaults {
    const char *worker; /* of events without one */
    int64_t now;        /* ms */
};

/* The fast way: true when [p, end) is exactly one plain scalar event; texts borrow from it and from `extra` (appended
 * to; good until it grows again). False: ask event_read; nothing is said about the text. */
bool event_scan (const char *p, const char *end, const struct event_defaults *d, struct str *extra,
                 struct event *ret);

/* Any JSON object text. -1: no JSON object (400/0, words). A refused event is 0 with `problem` set. */
int event_read (struct arena *a, struct text line, const struct event_defaults *d, struct event *ret,
                struct error *err) warn_unused;
