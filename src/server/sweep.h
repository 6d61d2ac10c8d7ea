/* sweep.h - blobs that no row names: what is left of uploads when the server was killed between a blob and its row. */
#pragma once
#include "base/error.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* Blobs of uploads in progress: in place or soon, their rows are still to come. */
struct live_blob {
    struct live_blob *next, **at; /* at NULL: not in a list */
    const char *id;
};
struct live {
    pthread_mutex_t lock;
    struct live_blob *first;
};
void live_init (struct live *l);
void live_done (struct live *l);
void live_add (struct live *l, struct live_blob *b,
               const char *id);                         /* before the blob is in place; id is kept */
void live_remove (struct live *l, struct live_blob *b); /* after its row's commit, or when it is gone */

struct store;
enum { SWEEP_MAX = 10000 }; /* blobs of one sweep */
/* Removes blobs in `folder` (DATA/files) that are neither named by a row nor live. May run beside uploads. When there
 * are more of them than blobs with a row, or more than SWEEP_MAX, nothing is removed but -1 with words: a crash leaves
 * few, so somebody put another database beside these files. 0: all of it is done; 1: it ended early, *stopping. */
int sweep_blobs (struct store *store, const char *folder, struct live *live, const atomic_bool *stopping,
                 int64_t *ret_removed, struct error *err) warn_unused;
