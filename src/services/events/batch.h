/* batch.h - the events of one request, checked and packed by task: all that can be done before the database is
 * reached. Runs on the pool; the writer then stores a few rows a task, none an event. */
#pragma once
#include "services/events/scan.h"
#include "store/series.h"
#include "store/text.h"

struct event_row { /* a plot, image or vector */
    enum event_type type;
    char identity[33]; /* md5 of iteration, metric, variant and key */
    struct text metric, variant, url;
    int64_t iter, time;
    struct text doc; /* squeezed JSON of the event as it is answered, without braces */
};

struct event_group { /* the events of one task or model */
    const char *task;
    bool model, allow_locked;
    int64_t n;        /* events */
    int64_t iter;     /* greatest, for last_iteration; INT64_MIN when none counts */
    struct text body; /* store/series.h: batch body; points 0 = none */
    size_t points;
    struct series_delta *series;
    size_t series_n;
    struct log_event *logs;
    size_t logs_n;
    struct log_part *parts;
    size_t parts_n;
    struct event_row *rows;
    size_t rows_n;
};

struct event_problem {
    const char *words;
    int64_t n;
};

struct event_batch {
    struct event_group *groups;
    size_t n;
    int64_t events; /* all, good and bad */
    struct event_problem *problems;
    size_t problems_n;
};

/* body: JSON lines (`lines`) or one checked JSON object. -1: 400/0 for text that is not JSON, 400/12 when one id comes
 * with different allow_locked or as task and as model. Everything lives in the arena. */
int event_batch_read (struct arena *a, struct text body, bool lines, const struct event_defaults *d,
                      struct event_batch **ret, struct error *err) warn_unused;
