/* text.h - console text: events with a message, packed into compressed chunks.
 *
 * A chunk holds what one request brought; small neighbours are joined later. Lines are numbered from 1 in order of
 * arrival and keep their numbers for ever; the reading order of the wire is (time, arrival). A line sent by our
 * agent carries its run and offset: what was stored once is not stored again.
 */
#pragma once
#include "base/arena.h"
#include "base/error.h"
#include "base/str.h"
#include "base/text.h"
#include "store/stream.h"

#include <stdbool.h>
#include <stdint.h>

struct db;

#define LOG_CHUNK ((size_t)64 << 10) /* bytes before compression, about; one long event may be more */

struct log_event {
    int64_t time, received;      /* ms */
    struct text level, worker;   /* absent: the event had none */
    struct text metric, variant; /* "" when it had none */
    struct text extra;           /* other members as JSON, without braces */
    struct text msg;             /* absent: the event had none */
    int64_t line;                /* number of its first line: given when stored */
    struct text run;             /* absent, or who sends ... */
    int64_t offset;              /* ... and where in its output this is; rises with each event */
};
/* Lines of a message: pieces between '\n', without an empty last one; at least 1. */
int64_t log_lines (struct text msg);

/* -- packing (no database) */
struct log_part {
    struct text body;
    int64_t lines, events, first_time, last_time, size;
};
/* Pack events, in order, into parts of about LOG_CHUNK. */
void log_pack (struct arena *a, const struct log_event *v, size_t n, struct log_part **ret, size_t *ret_n);
/* Events of a body; texts in the arena; lines counted from first_line. */
int log_unpack (struct arena *a, struct text body, int64_t first_line, struct log_event **ret, size_t *ret_n,
                struct error *err) warn_unused;

/* -- writing: the caller saves the stream */
/* Store events: `parts` is what log_pack made of all of them; when some were stored before (run, offset), the rest is
 * packed again. *ret_stored: how many were new. */
int log_add (struct db *db, struct arena *a, struct stream *s, const struct log_event *v, size_t n,
             const struct log_part *parts, size_t parts_n, int64_t *ret_stored,
             struct error *err) warn_unused;
/* Join small neighbours. *ret_left: chunks that still wait. */
int log_join (struct db *db, int64_t stream, struct error *err) warn_unused;
/* Remove events before a time for which drop (event, arg) is true; drop NULL: all of them. */
int log_remove (struct db *db, int64_t stream, int64_t before,
                bool (*drop) (const struct log_event *e, void *arg), void *arg, int64_t *ret_removed,
                struct error *err) warn_unused;

/* -- reading */
typedef bool log_filter (const struct log_event *e, void *arg); /* NULL: all */
/* Up to `most` events strictly before (earlier) or after `time`, nearest first, and all that share the time of the
 * last of them. Open ends: INT64_MAX and INT64_MIN. */
int log_page (struct db *db, struct arena *a, int64_t stream, bool earlier, int64_t time, size_t most,
              log_filter *keep, void *arg, struct log_event **ret, size_t *ret_n,
              struct error *err) warn_unused;
int log_count (struct db *db, int64_t stream, log_filter *keep, void *arg, int64_t *ret,
               struct error *err) warn_unused;

struct log_line {
    int64_t n, time;
    struct text level, text;
};
/* Up to `most` lines from number `line` on, or (before) the last ones before it; ascending. Stops early at about 4 MB. */
int log_read_lines (struct db *db, struct arena *a, int64_t stream, bool before, int64_t line, size_t most,
                    struct log_line **ret, size_t *ret_n, struct error *err) warn_unused;
