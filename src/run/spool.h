/* spool.h - console lines on disk between the task that writes them and the server that stores them.
 *
 * One thread adds, another takes. Each line becomes the JSON of one log event, complete as it is sent, in
 * FOLDER/console.<n>; what the server has taken is remembered in FOLDER/console.done, and files of which all is taken
 * are removed. Every event carries the run's id and a number that rises (x_run, x_offset), so that an event sent
 * twice is stored once. The files outlive the process: whoever opens the folder next goes on where it stopped. */
#pragma once
#include "base/error.h"
#include "base/str.h"
#include "base/text.h"

#include <stdbool.h>
#include <stdint.h>

struct spool;

struct spool_options {
    const char *folder, *task, *worker, *run; /* copied */
    int64_t most;                             /* bytes that may wait; over it lines are dropped and counted */
};

int spool_open (const struct spool_options *o, struct spool **ret, struct error *err) warn_unused;
void spool_close (struct spool *s);   /* NULL is fine; files stay */
void spool_discard (struct spool *s); /* close, and remove the files */

/* Add a line (UTF-8, without newline), stamped `time` (ms). It is in the file when this returns. */
void spool_add (struct spool *s, const char *level, struct text line, int64_t time);

/* The next whole events, at most `max` bytes (at least one event), as JSON lines; false when nothing waits. The same
 * again until spool_done. */
bool spool_next (struct spool *s, size_t max, struct str *ret);
void spool_done (struct spool *s, size_t bytes); /* the first `bytes` of what spool_next gave are taken */
/* Wait until something is there, the time is over, or spool_wake was called. */
void spool_wait (struct spool *s, int64_t ms);
void spool_wake (struct spool *s);
int64_t spool_waiting (struct spool *s); /* bytes not taken yet */
