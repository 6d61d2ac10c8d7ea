/* gpu.c - see gpu.h. The few functions of NVML that are used, declared here: its header is not needed to build. */
#include "io/gpu.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FAILURES_MAX = 3, NVML_TEMPERATURE_GPU = 0, UUID_MAX = 96, MIG_MAX = 64 };

typedef struct nvml_device *nvml_device;
struct nvml_utilization {
    unsigned gpu, memory;
};
struct nvml_memory {
    unsigned long long total, free, used;
};

/* 0 is success in all of them. */
struct gpus {
    void *library;
    int (*init) (void);
    int (*count) (unsigned *);
    int (*handle) (unsigned, nvml_device *);
    int (*utilization) (nvml_device, struct nvml_utilization *);
    int (*memory) (nvml_device, struct nvml_memory *);
    int (*temperature) (nvml_device, int, unsigned *);
    int (*uuid) (nvml_device, char *, unsigned);
    int (*name) (nvml_device, char *, unsigned);
    int (*cuda) (int *);
    /* NULL in drivers that have no such thing: */
    int (*shutdown) (void);
    int (*power) (nvml_device, unsigned *); /* mW */
    int (*mig_count) (nvml_device, unsigned *);
    int (*mig_handle) (nvml_device, unsigned, nvml_device *);
    int failures;
    bool begun;
};

static const struct {
    const char *name;
    size_t offset;
    bool optional;
} symbols[] = {
    { "nvmlInit_v2", offsetof (struct gpus, init) },
    { "nvmlDeviceGetCount_v2", offsetof (struct gpus, count) },
    { "nvmlDeviceGetHandleByIndex_v2", offsetof (struct gpus, handle) },
    { "nvmlDeviceGetUtilizationRates", offsetof (struct gpus, utilization) },
    { "nvmlDeviceGetMemoryInfo", offsetof (struct gpus, memory) },
    { "nvmlDeviceGetTemperature", offsetof (struct gpus, temperature) },
    { "nvmlDeviceGetUUID", offsetof (struct gpus, uuid) },
    { "nvmlDeviceGetName", offsetof (struct gpus, name) },
    { "nvmlSystemGetCudaDriverVersion", offsetof (struct gpus, cuda) },
    { "nvmlShutdown", offsetof (struct gpus, shutdown), true },
    { "nvmlDeviceGetPowerUsage", offsetof (struct gpus, power), true },
    { "nvmlDeviceGetMaxMigDeviceCount", offsetof (struct gpus, mig_count), true },
    { "nvmlDeviceGetMigDeviceHandleByIndex", offsetof (struct gpus, mig_handle), true },
};

struct gpus *gpus_open (void)
{
    const char *file = getenv ("STOKER_NVML");
    void *library = dlopen (file && *file ? file : "libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
    struct gpus *g = library ? calloc (1, sizeof (*g)) : NULL;

    if (!g)
        return NULL;
    g->library = library;
    for (size_t i = 0; i < sizeof (symbols) / sizeof (*symbols); i++) {
        void *p = dlsym (library, symbols[i].name);

        if (!p && !symbols[i].optional) {
            gpus_close (g);
            return NULL;
        }
        memcpy ((unsigned char *)g + symbols[i].offset, &p, sizeof (p));
    }
    if ((g->begun = !g->init ()))
        return g;
    gpus_close (g);
    return NULL;
}

void gpus_close (struct gpus *g)
{
    if (!g)
        return;
    if (g->begun && g->shutdown)
        g->shutdown ();
    dlclose (g->library);
    free (g);
}

size_t gpus_count (struct gpus *g)
{
    unsigned n = 0;

    return g && !g->count (&n) ? n : 0;
}

int gpus_cuda_version (struct gpus *g)
{
    int v = 0; /* 12040 is 12.4 */

    return g && !g->cuda (&v) ? v / 1000 * 10 + v % 1000 / 10 : 0;
}

static bool read_one (struct gpus *g, unsigned index, struct gpu *ret)
{
    struct nvml_utilization u;
    struct nvml_memory m;
    unsigned t, mw;
    nvml_device d;

    memset (ret, 0, sizeof (*ret));
    ret->index = (int)index;
    if (g->handle (index, &d))
        return false;
    if (g->uuid (d, ret->uuid, sizeof (ret->uuid)))
        ret->uuid[0] = 0;
    if (g->name (d, ret->name, sizeof (ret->name)))
        ret->name[0] = 0;
    if ((ret->has_usage = !g->utilization (d, &u)))
        ret->usage = u.gpu;
    if ((ret->has_memory = !g->memory (d, &m))) {
        ret->memory_used = (int64_t)m.used;
        ret->memory_total = (int64_t)m.total;
    }
    if ((ret->has_temperature = !g->temperature (d, NVML_TEMPERATURE_GPU, &t)))
        ret->temperature = t;
    if ((ret->has_power = g->power && !g->power (d, &mw)))
        ret->power = (double)mw / 1000;
    return true;
}

size_t gpus_read (struct gpus *g, struct gpu *ret, size_t n)
{
    size_t all = g && g->failures < FAILURES_MAX ? gpus_count (g) : 0, got = 0;

    for (unsigned i = 0; i < all && got < n; i++)
        if (read_one (g, i, &ret[got]))
            got++;
    if (g)
        g->failures = got ? 0 : g->failures + 1;
    return got;
}

/* -- finding one ------------------------------------------------------------------------------------------------ */

static bool knows_mig (const struct gpus *g)
{
    return g->mig_count && g->mig_handle;
}

/* The MIG device `at` of a GPU. */
static bool mig_device (struct gpus *g, nvml_device gpu, unsigned at, nvml_device *ret)
{
    unsigned n = 0;

    return !g->mig_count (gpu, &n) && at < n && !g->mig_handle (gpu, at, ret);
}

bool gpus_has_mig (struct gpus *g, unsigned index, unsigned at)
{
    nvml_device gpu, mig;

    return !knows_mig (g) || (!g->handle (index, &gpu) && mig_device (g, gpu, at, &mig));
}

static bool begins (struct gpus *g, nvml_device d, const char *uuid, size_t n)
{
    char of[UUID_MAX] = "";

    return !g->uuid (d, of, sizeof (of)) && !strncmp (of, uuid, n);
}

static bool find_mig (struct gpus *g, nvml_device gpu, const char *uuid, size_t n)
{
    nvml_device mig;

    for (unsigned at = 0; at < MIG_MAX; at++)
        if (mig_device (g, gpu, at, &mig) && begins (g, mig, uuid, n))
            return true;
    return false;
}

bool gpus_find (struct gpus *g, const char *uuid, size_t n)
{
    static const char mig[] = "MIG-", old_mig[] = "MIG-GPU-"; /* MIG-GPU-<uuid>/1/0: of drivers before 470 */
    bool is_mig = n > strlen (mig) && !strncmp (uuid, mig, strlen (mig)),
         is_old = n > strlen (old_mig) && !strncmp (uuid, old_mig, strlen (old_mig));
    size_t count = gpus_count (g);
    nvml_device d;

    if (is_mig && !knows_mig (g))
        return true;
    for (unsigned i = 0; i < count; i++) {
        if (g->handle (i, &d))
            continue;
        if (is_old   ? begins (g, d, uuid + strlen (mig), strcspn (uuid, "/,") - strlen (mig))
            : is_mig ? find_mig (g, d, uuid, n)
                     : begins (g, d, uuid, n))
            return true;
    }
    return false;
}
