/* series.h - metric points: how they are packed, kept, folded and read back.
 *
 * A series is one (metric, variant) of one stream (store/stream.h). What a request adds to a task is packed
 * on the pool into one *batch body*; the writer stores it as one row and updates one row a touched series
 * (last, min, max, mean, ...). Later a fold turns batches into *chunks*: up to 512 points of one series.
 * Identity of a point is (series, iteration): the later arrival wins, over batches and chunks alike.
 *
 * Files: series_pack.c (the two formats), series.c (rows, reading), series_fold.c.
 */
#pragma once
#include "base/arena.h"
#include "base/error.h"
#include "base/str.h"
#include "base/text.h"
#include "store/intern.h"
#include "store/stream.h"

#include <stdbool.h>
#include <stdint.h>

struct db;

#define SERIES_NO_ITER   INT64_MIN       /* the event had no iteration */
#define SERIES_SINGLE    (-2147483648LL) /* the iteration of "single values" */
#define SERIES_CHUNK     512             /* points */
#define SERIES_CHUNK_MAX 3900            /* bytes of a chunk's body, so that a row fits a page */
#define SERIES_KEY       64              /* md5 (metric) and md5 (variant) in hex, one after the other */

struct point {
    int64_t iter, time; /* time: ms as the client sent it */
    double value;       /* point_none () = the event had no value */
    int64_t received;   /* ms, ours */
    uint32_t extra;     /* which text of other members it carries */
};
double point_none (void);
bool point_is_none (double v); /* told from an ordinary NaN by its bits */

/* -- batch bodies (no database)
 * ------------------------------------------------------------------------------------------ */
/* A run: points of one series with the same other members (`extra`: a JSON object's members without braces,
 * maybe empty). */
struct batch_run {
    struct text metric, variant, extra;
    uint32_t series; /* which delta of the request it belongs to */
    const struct point *points;
    size_t n;
};
void batch_pack (struct str *out, int64_t received, const struct batch_run *runs, size_t n);

struct batch {
    const unsigned char *p, *end;
    const struct text *texts;
    size_t texts_n, runs, points;
    int64_t received;
};
int batch_open (struct arena *a, struct text body, struct batch *ret, struct error *err) warn_unused;
/* The next run: 1 with its points in `a`, 0 at the end, -1. `series` is not set, `extra` of points is 0. */
int batch_next (struct batch *b, struct arena *a, struct batch_run *ret, struct error *err) warn_unused;

/* -- chunks (no database)
 * ------------------------------------------------------------------------------------------------ */
void chunk_pack (struct str *out, const struct point *v, size_t n, const struct text *extras);
/* v: room for n points. Texts of other members are interned into `extras`, which copies them. */
int chunk_unpack (struct arena *a, struct text body, struct intern *extras, struct point *v, size_t n,
                  struct error *err) warn_unused;
/* Sort by iteration; of equal ones the later in `v` stays. Returns how many are left. */
size_t points_merge (struct point *v, size_t n);

/* -- what a request says about a series
 * ---------------------------------------------------------------------------------- */
struct series_delta {
    struct text metric, variant, label; /* label: x axis label or absent */
    char key[SERIES_KEY + 1];
    int64_t count, finite; /* points with a value; of them neither NaN nor infinite */
    double sum, last, min, max, first;
    int64_t last_iter, last_time, min_iter, max_iter, first_iter;
};
void series_key (struct text metric, struct text variant, char ret[SERIES_KEY + 1]);
void series_delta_add (struct series_delta *d, const struct point *p);
double series_round2 (double v); /* to 2 decimals, ties to even, exactly as correctly rounded printing */

/* Store one batch body and its deltas. Raises s->series, s->batches, s->points; the caller saves the stream.
 * Beyond `most` series the new ones are kept but hidden (not in last_metrics). */
int series_add (struct db *db, struct stream *s, int64_t now, struct text body, size_t points,
                struct series_delta *d, size_t n, int64_t most, struct error *err) warn_unused;

/* -- reading
 * --------------------------------------------------------------------------------------------------------- */
struct series {
    int64_t id;
    char *metric, *variant, *label; /* label may be NULL */
    char key[SERIES_KEY + 1];
    bool hidden;
    int64_t count, finite, updated;     /* updated: ms of the last batch that touched it */
    double last, min, max, first, mean; /* NaN where there is none */
    int64_t last_iter, min_iter, max_iter, first_iter;
};
/* All series of a stream, sorted by metric and variant. */
int series_list (struct db *db, struct arena *a, int64_t stream, struct series **ret, size_t *ret_n,
                 struct error *err) warn_unused;

/* Points of chosen series of one stream, batches and chunks merged. The reader holds the batches' points;
 * chunks are read one series at a time, into the arena given then. */
struct series_reader;
int series_open (struct db *db, struct arena *a, int64_t stream, const struct series *const *v, size_t n,
                 struct series_reader **ret, struct error *err) warn_unused;
int series_points (struct series_reader *r, size_t i, struct arena *a, struct point **ret, size_t *ret_n,
                   struct error *err) warn_unused; /* ascending iterations, each once; NO_ITER first */
struct text series_extra (const struct series_reader *r, uint32_t extra);

/* -- folding
 * --------------------------------------------------------------------------------------------------------- */
#define SERIES_FOLD_BATCHES 64 /* a stream with so many batches is folded */
/* Fold the oldest batches of a stream, about `most` points of them, in the transaction at hand. Stops at the time
 * `until` (clock_monotonic) after at least one series; the next call goes on there. 1: that fold is done, 0: not yet. */
int series_fold (struct db *db, int64_t stream, size_t most, int64_t until, struct error *err) warn_unused;
