/* load.c - see load.h. In: /proc, the driver of the GPUs. Out: events. */
#include "run/load.h"
#include "base/clock.h"
#include "base/json.h"
#include "io/gpu_list.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>

enum { GPUS_MAX = 64 };

static void read_cpu (struct load *l)
{
    unsigned long long v[8] = { 0 };
    FILE *f = fopen ("/proc/stat", "re");
    if (f && fscanf (f, "cpu %llu %llu %llu %llu %llu %llu %llu %llu", &v[0], &v[1], &v[2], &v[3], &v[4],
                     &v[5], &v[6], &v[7]) >= 4) {
        l->cpu_all = l->cpu_idle = 0;
        for (int i = 0; i < 8; i++)
            l->cpu_all += v[i];
        l->cpu_idle = v[3] + v[4];
    }
    if (f)
        fclose (f);
}

static void read_network (struct load *l)
{
    char line[512], name[64];
    unsigned long long rx, tx;
    FILE *f = fopen ("/proc/net/dev", "re");
    l->rx = l->tx = 0;
    while (f && fgets (line, sizeof line, f))
        if (sscanf (line, " %63[^:]: %llu %*u %*u %*u %*u %*u %*u %*u %llu", name, &rx, &tx) == 3 &&
            strcmp (name, "lo"))
            l->rx += rx, l->tx += tx;
    if (f)
        fclose (f);
}

/* Whole disks only: a partition's traffic is in its disk's. */
static void read_disks (struct load *l)
{
    char line[512], name[64], path[128];
    unsigned long long read, written;
    FILE *f = fopen ("/proc/diskstats", "re");
    l->read = l->written = 0;
    while (f && fgets (line, sizeof line, f))
        if (sscanf (line, " %*u %*u %63s %*u %*u %llu %*u %*u %*u %llu", name, &read, &written) == 3) {
            snprintf (path, sizeof path, "/sys/block/%s/device", name);
            FILE *disk = fopen (path, "re");
            if (!disk && strncmp (name, "vd", 2) && strncmp (name, "nvme", 4))
                continue;
            if (disk)
                fclose (disk);
            l->read += read * 512, l->written += written * 512;
        }
    if (f)
        fclose (f);
}

void load_start (struct load *l)
{
    read_cpu (l);
    read_network (l);
    read_disks (l);
    l->at = clock_monotonic ();
}

static double memory_gb (const char *field)
{
    char line[256];
    double kb = 0;
    size_t n = strlen (field);
    FILE *f = fopen ("/proc/meminfo", "re");
    while (f && fgets (line, sizeof line, f))
        if (!strncmp (line, field, n) && line[n] == ':')
            kb = strtod (line + n + 1, NULL);
    if (f)
        fclose (f);
    return kb / 1024 / 1024;
}

void load_end (struct load *l)
{
    gpus_close (l->gpus);
    l->gpus = NULL;
}

/* -- scalars ------------------------------------------------------------------------------------------------------ */
static void put (struct str *ret, const struct load_report *r, const char *metric, const char *variant,
                 double value)
{
    str_puts (ret, "{\"type\":\"training_stats_scalar\",\"task\":");
    json_put_string (ret, r->task);
    str_puts (ret, ",\"worker\":");
    json_put_string (ret, r->worker);
    str_addf (ret, ",\"metric\":\"%s\",\"variant\":\"%s\",\"iter\":%lld,\"timestamp\":%lld,\"value\":%.3f}\n",
              metric, variant, (long long)r->iteration, (long long)clock_now (), value);
}

static void put_machine (const struct load *l, const struct load *old, const struct load_report *r,
                         double seconds, struct str *ret)
{
    struct statvfs fs;
    double total = memory_gb ("MemTotal"), free_gb = memory_gb ("MemAvailable"), mb = 1024 * 1024,
           all = (double)(l->cpu_all - old->cpu_all);
    struct {
        const char *variant;
        double value;
    } v[] = {
        { "cpu_usage", all > 0 ? 100 * (1 - (double)(l->cpu_idle - old->cpu_idle) / all) : 0 },
        { "memory_used_gb", total - free_gb },
        { "memory_free_gb", free_gb },
        { "network_rx_mbs", (double)(l->rx - old->rx) / mb / seconds },
        { "network_tx_mbs", (double)(l->tx - old->tx) / mb / seconds },
        { "io_read_mbs", (double)(l->read - old->read) / mb / seconds },
        { "io_write_mbs", (double)(l->written - old->written) / mb / seconds },
        { "disk_free_percent", statvfs (r->disk, &fs) == 0 && fs.f_blocks
                                   ? 100.0 * (double)fs.f_bavail / (double)fs.f_blocks
                                   : 0 },
    };
    for (size_t i = 0; i < sizeof v / sizeof v[0]; i++)
        put (ret, r, ":monitor:machine", v[i].variant, v[i].value);
}

static void put_gpu (const struct gpu *g, const struct load_report *r, struct str *ret)
{
    double gb = 1024.0 * 1024 * 1024, used = (double)g->memory_used, total = (double)g->memory_total;
    bool has_share = g->has_memory && total > 0;
    const struct {
        const char *name;
        bool has;
        double value;
    } v[] = {
        { "temperature", g->has_temperature, g->temperature },
        { "utilization", g->has_usage, g->usage },
        { "mem_used_gb", g->has_memory, used / gb },
        { "mem_free_gb", g->has_memory, (total - used) / gb },
        { "mem_usage", has_share, has_share ? 100 * used / total : 0 },
        { "power_draw", g->has_power, g->power },
    };
    char variant[48];
    for (size_t i = 0; i < sizeof v / sizeof v[0]; i++)
        if (v[i].has) {
            snprintf (variant, sizeof variant, "gpu_%d_%s", g->index, v[i].name);
            put (ret, r, ":monitor:gpu", variant, v[i].value);
        }
}

static void put_gpus (struct load *l, const struct load_report *r, struct str *ret)
{
    struct gpu list[GPUS_MAX];
    if (!l->asked) /* not before: a driver may take its time to begin */
        l->gpus = gpus_open ();
    l->asked = true;
    size_t n = gpus_read (l->gpus, list, GPUS_MAX), seen = gpu_list_select (r->gpus, list, n);
    for (size_t i = 0; i < seen; i++)
        put_gpu (&list[i], r, ret);
}

void load_write (struct load *l, const struct load_report *r, struct str *ret)
{
    struct load old = *l;
    load_start (l);
    double seconds = (double)(l->at - old.at) / 1000;
    if (seconds <= 0)
        return;
    put_machine (l, &old, r, seconds, ret);
    put_gpus (l, r, ret);
}

const char *load_gpus (void)
{
    static const char *const names[] = { "CUDA_VISIBLE_DEVICES", "NVIDIA_VISIBLE_DEVICES" };
    for (int i = 0; i < 2; i++) {
        const char *value = getenv (names[i]);
        if (value && *value)
            return value;
    }
    return NULL;
}
