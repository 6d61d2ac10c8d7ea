/* load.h - the load of this machine since the last look, from /proc. */
#pragma once
#include "base/str.h"

#include <stdint.h>

struct load {
    uint64_t cpu_all, cpu_idle, rx, tx, read, written; /* counters at the last look: jiffies, bytes */
    int64_t at;                                        /* ms */
};

/* Take a look; the first one only sets the counters. */
void load_start (struct load *l);
/* JSON lines, one scalar event each, of metric ":monitor:machine". Units as the SDK's: %, GB, MB/s. */
void load_report (struct load *l, const char *task, const char *worker, const char *disk, int64_t iteration,
                  struct str *ret);
