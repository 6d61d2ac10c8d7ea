/* pool.h - threads that take jobs in order. For work that must not sit on a loop thread: reads of the store,
 * parsing, encoding, compression, hashing, file I/O. A job is part of its owner's struct; nothing is allocated. */
#pragma once
#include "base/error.h"

struct pool;
struct pool_job {
    void (*run) (struct pool_job *job); /* may free the job's owner */
    struct pool_job *next;              /* the pool's */
};

int pool_create (int threads, struct pool **ret, struct error *err) warn_unused;
void pool_destroy (struct pool *p);                      /* runs what is queued, then joins; NULL is fine */
void pool_submit (struct pool *p, struct pool_job *job); /* from any thread, also from a job */
