/* job.h - work that must not be forgotten and may not run in a handler (deletion of files and objects), as rows. A
 * handler adds the row in its own transaction; a thread of the server takes it, does the work, and says what became of
 * it. A job that was taken and neither done nor failed (the process died) is due again after its lease. */
#pragma once
#include "store/store.h"

struct job {
    int64_t id;
    const char *company, *kind;
    struct text body; /* JSON */
    int attempts;     /* this one counted */
};

enum { JOB_LEASE_MS = 600000 };

int job_add (struct db *db, const char *company, const char *kind, struct text body, int64_t now,
             struct error *err) warn_unused;
/* The first that is due; its texts live in the arena. 1 taken, 0 none, -1. */
int job_take (struct db *db, struct arena *a, int64_t now, struct job *ret, struct error *err) warn_unused;
int job_done (struct db *db, int64_t id, struct error *err) warn_unused;
/* Try again later: after 1, 2, 4 ... minutes, at most a day; `words` are kept. */
int job_fail (struct db *db, const struct job *job, const char *words, int64_t now,
              struct error *err) warn_unused;
