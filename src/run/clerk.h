/* clerk.h - writes the journal in a thread of its own, so that a disk that takes its time to sync holds up no task.
 * Lines are written in order; clerk_flush waits until all of them are on the disk. */
#pragma once
#include "base/error.h"
#include "base/journal.h"

struct clerk;

int clerk_start (const char *journal, struct clerk **ret, struct error *err) warn_unused;
void clerk_note (struct clerk *c, const struct journal_entry *e); /* copied; e->t is set to now when 0 */
void clerk_flush (struct clerk *c);
void clerk_stop (struct clerk *c); /* flush, end; NULL is fine */
