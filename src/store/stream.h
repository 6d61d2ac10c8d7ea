/* stream.h - one generation of one task's (or model's) events. All rows of events hang on its number; reset and
 * delete retire it, which hides every event at once, and the sweeper removes the rows in slices. */
#pragma once
#include "base/arena.h"
#include "base/error.h"

#include <stdbool.h>
#include <stdint.h>

struct db;
struct stream {
    int64_t id;                /* 0: there is none */
    int64_t series;            /* rows in series */
    int64_t batches, points;   /* not folded yet */
    int64_t lines, log_events; /* console: lines ever, events kept */
    int64_t log_updated;       /* ms of the last console event, 0 = none */
    int64_t log_chunks;        /* small ones that may be joined */
};
/* Ids are random and never shared, so the id alone finds a stream; who may read it is the caller's to check. `company`
 * is only noted. */
/* The live stream of a task; ret->id 0 when it never had events. */
int stream_get (struct db *db, const char *task, struct stream *ret, struct error *err) warn_unused;
/* The same, made if missing (a write). */
int stream_need (struct db *db, const char *company, const char *task, struct stream *ret,
                 struct error *err) warn_unused;
int stream_save (struct db *db, const struct stream *s, struct error *err) warn_unused;
/* Events of the task are gone at once; their rows wait for stream_sweep. */
int stream_retire (struct db *db, const char *task, struct error *err) warn_unused;
/* Remove up to `most` rows of retired streams; *ret_more: there are more. */
int stream_sweep (struct db *db, int64_t most, bool *ret_more, struct error *err) warn_unused;
