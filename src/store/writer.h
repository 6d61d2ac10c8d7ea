/* writer.h - the one thread that writes: group commit, sweepers, checkpoints. Inside the store only. */
#pragma once
#include "store/store.h"

struct writer;
/* Takes over the connection. */
int writer_create (struct db *db, struct writer **ret, struct error *err) warn_unused;
/* Runs what is queued, ends the thread, moves the whole log into the database (TRUNCATE), closes the connection. */
void writer_destroy (struct writer *w);

void writer_submit (struct writer *w, struct store_write *job);
void writer_add_sweeper (struct writer *w, const struct sweeper *sweeper, void *arg);
void writer_sweep (struct writer *w);
struct store_stats writer_stats (struct writer *w);
