/* machine.h - how busy this machine is: processors, memory, disks, network (from /proc), GPUs (io/gpu). Rates are
 * means since the last reading. One thread's. */
#pragma once
#include "base/str.h"

struct machine;
struct machine *machine_create (const char *disk_path); /* whose free space is told */
void machine_destroy (struct machine *m);
/* The members of a report's machine_stats, as a JSON object. `gpus`: only these devices (indices, UUIDs; NULL or "all":
 * every one; "none": none). `fresh`: read the sources anew (else tell again what was read last). */
void machine_write (struct machine *m, const char *gpus, bool fresh, struct str *json);
