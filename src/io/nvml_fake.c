/* nvml_fake.c - a library with NVML's names for tests: three devices; the third cannot tell its usage, and
 * is split into two MIG devices. STOKER_NVML_FAKE_DEVICES=N: as many (0: a driver without a device). */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
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
int nvmlDeviceGetPowerUsage (void *d, unsigned *ret);
int nvmlDeviceGetMaxMigDeviceCount (void *d, unsigned *ret);
int nvmlDeviceGetMigDeviceHandleByIndex (void *d, unsigned i, void **ret);

enum { DEVICES = 3, MIG = 100 /* handles of MIG devices begin here */, NOT_SUPPORTED = 3, NOT_FOUND = 6 };

int nvmlInit_v2 (void)
{
    return 0;
}

int nvmlDeviceGetCount_v2 (unsigned *n)
{
    const char *said = getenv ("STOKER_NVML_FAKE_DEVICES");

    *n = said ? (unsigned)atoi (said) : DEVICES;
    return 0;
}

int nvmlDeviceGetHandleByIndex_v2 (unsigned i, void **ret)
{
    *ret = (void *)(uintptr_t)(i + 1);
    return i < DEVICES ? 0 : NOT_FOUND;
}

int nvmlDeviceGetUtilizationRates (void *d, struct usage *ret)
{
    ret->gpu = (unsigned)(uintptr_t)d * 10;
    return (uintptr_t)d < DEVICES ? 0 : NOT_SUPPORTED;
}

int nvmlDeviceGetMemoryInfo (void *d, struct memory *ret)
{
    ret->total = 100ull << 30;
    ret->used = (unsigned long long)(uintptr_t)d << 30;
    return 0;
}

int nvmlDeviceGetTemperature (void *d, int sensor, unsigned *ret)
{
    *ret = 39 + (unsigned)(uintptr_t)d;
    return sensor;
}

int nvmlDeviceGetPowerUsage (void *d, unsigned *ret)
{
    *ret = (unsigned)(uintptr_t)d * 100000 + 500; /* mW */
    return 0;
}

int nvmlDeviceGetUUID (void *d, char *to, unsigned room)
{
    unsigned n = (unsigned)(uintptr_t)d;

    if (n >= MIG)
        snprintf (to, room, "MIG-bbbb000%u-x", n - MIG);
    else
        snprintf (to, room, "GPU-aaaa000%u-x", n - 1);
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

int nvmlDeviceGetMaxMigDeviceCount (void *d, unsigned *ret)
{
    *ret = 7;
    return (uintptr_t)d == DEVICES ? 0 : NOT_SUPPORTED;
}

int nvmlDeviceGetMigDeviceHandleByIndex (void *d, unsigned i, void **ret)
{
    (void)d;
    *ret = (void *)(uintptr_t)(MIG + i);
    return i < 2 ? 0 : NOT_FOUND;
}
