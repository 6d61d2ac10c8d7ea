/* gpu.h - what the GPUs of this machine do, by NVML (loaded at run time: no GPU, no library, no cost). One thread
 * at a time asks. STOKER_NVML names another library file (tests). */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct gpu {
    char uuid[96], name[96];
    int index;
    bool has_usage, has_memory, has_temperature, has_power; /* the driver could tell */
    double usage;                                           /* percent */
    int64_t memory_used, memory_total;                      /* bytes */
    double temperature;                                     /* degrees Celsius */
    double power;                                           /* W */
};

struct gpus;
struct gpus *gpus_open (void); /* NULL when there is no driver; all below take NULL as "none" */
void gpus_close (struct gpus *g);
size_t gpus_count (struct gpus *g);
/* At most n of them; how many were filled. After three failures in a row it gives up for good (0). */
size_t gpus_read (struct gpus *g, struct gpu *ret, size_t n);
/* CUDA version of the driver as 124 for 12.4, 0 = unknown. */
int gpus_cuda_version (struct gpus *g);
/* Is there a GPU or MIG device whose UUID begins with these n bytes? A MIG device of GPU `index`? True when the driver
 * is too old to tell of MIG. */
bool gpus_find (struct gpus *g, const char *uuid, size_t n);
bool gpus_has_mig (struct gpus *g, unsigned index, unsigned at);
