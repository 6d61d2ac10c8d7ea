/* nvml_fake.c - a library with NVML's names for tests: three devices; the third cannot tell its usage. */
#include <stdint.h>
#include <stdio.h>
#include <string.h>

struct usage {
    unsigned gpu, memory;
};
struct memory {
    unsigned long long total, free, used;
};
int nvmlInit_v2 (void);
int nvmlDeviceGetCount_v2 (unsigned *n);
int nvmlDeviceGetHandleByIndex_v2 (unsigned i, void **ret);
int nvmlDeviceGetUtilizationRates (void *d, struct usage *ret);
int nvmlDeviceGetMemoryInfo (void *d, struct memory *ret);
int nvmlDeviceGetTemperature (void *d, int sensor, unsigned *ret);
int nvmlDeviceGetUUID (void *d, char *to, unsigned room);
int nvmlDeviceGetName (void *d, char *to, unsigned room);
int nvmlSystemGetCudaDriverVersion (int *ret);

int nvmlInit_v2 (void)
{
    return 0;
}

int nvmlDeviceGetCount_v2 (unsigned *n)
{
    *n = 3;
    return 0;
}

int nvmlDeviceGetHandleByIndex_v2 (unsigned i, void **ret)
{
    *ret = (void *)(uintptr_t)(i + 1);
    return i < 3 ? 0 : 2;
}

int nvmlDeviceGetUtilizationRates (void *d, struct usage *ret)
{
    ret->gpu = (unsigned)(uintptr_t)d * 10;
    return (uintptr_t)d < 3 ? 0 : 3; /* not supported */
}

int nvmlDeviceGetMemoryInfo (void *d, struct memory *ret)
{
    ret->total = 100ull << 20;
    ret->used = (unsigned long long)(uintptr_t)d << 20;
    return 0;
}

int nvmlDeviceGetTemperature (void *d, int sensor, unsigned *ret)
{
    *ret = 39 + (unsigned)(uintptr_t)d;
    return sensor;
}

int nvmlDeviceGetUUID (void *d, char *to, unsigned room)
{
    snprintf (to, room, "GPU-aaaa000%u-x", (unsigned)(uintptr_t)d - 1);
    return 0;
}

int nvmlDeviceGetName (void *d, char *to, unsigned room)
{
    (void)d;
    snprintf (to, room, "Fake");
    return 0;
}

int nvmlSystemGetCudaDriverVersion (int *ret)
{
    *ret = 12040;
    return 0;
}
