/* load.h - the load of this machine since the last look, from /proc; its GPUs' now, from their driver. */
#pragma once
#include "base/str.h"

#include <stdbool.h>
#include <stdint.h>

struct load {
    uint64_t cpu_all, cpu_idle, rx, tx, read, written; /* counters at the last look: jiffies, bytes */
    int64_t at;                                        /* ms */
    struct gpus *gpus;                                 /* NULL = there are none, */
    bool asked;                                        /* once this was asked */
};

struct load_report {
    const char *task, *worker;
    const char *disk; /* whose free space is reported */
    const char *gpus; /* which GPUs, as NVIDIA_VISIBLE_DEVICES says it; NULL = all */
    int64_t iteration;
};

/* Take a look; the first one only sets the counters. */
void load_start (struct load *l);
void load_end (struct load *l);
/* JSON lines, one scalar event each, of the metrics ":monitor:machine" and ":monitor:gpu". Names and units as the SDK's:
 * %, GB, MB/s, degrees Celsius, W. A value that cannot be told is left out. */
void load_write (struct load *l, const struct load_report *r, struct str *ret);
/* The variable that says which GPUs this process's children see; NULL = all. */
const char *load_gpus (void);
