/* load.c - see load.h. In: /proc. Out: events. */
#include "run/load.h"
#include "base/clock.h"
#include "base/json.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>

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

struct scalar {
    const char *variant;
    double value;
};

void load_report (struct load *l, const char *task, const char *worker, const char *disk, int64_t iteration,
                  struct str *ret)
{
    struct load old = *l;
    struct statvfs fs;
    load_start (l);
    double seconds = (double)(l->at - old.at) / 1000, all = (double)(l->cpu_all - old.cpu_all),
           mb = 1024 * 1024;
    double total = memory_gb ("MemTotal"), free_gb = memory_gb ("MemAvailable");
    if (seconds <= 0)
        return;
    struct scalar v[] = {
        { "cpu_usage", all > 0 ? 100 * (1 - (double)(l->cpu_idle - old.cpu_idle) / all) : 0 },
        { "memory_used_gb", total - free_gb },
        { "memory_free_gb", free_gb },
        { "network_rx_mbs", (double)(l->rx - old.rx) / mb / seconds },
        { "network_tx_mbs", (double)(l->tx - old.tx) / mb / seconds },
        { "io_read_mbs", (double)(l->read - old.read) / mb / seconds },
        { "io_write_mbs", (double)(l->written - old.written) / mb / seconds },
        { "disk_free_percent",
          statvfs (disk, &fs) == 0 && fs.f_blocks ? 100.0 * (double)fs.f_bavail / (double)fs.f_blocks : 0 },
    };
    for (size_t i = 0; i < sizeof v / sizeof v[0]; i++) {
        str_puts (ret, "{\"type\":\"training_stats_scalar\",\"task\":");
        json_put_string (ret, task);
        str_puts (ret, ",\"worker\":");
        json_put_string (ret, worker);
        str_addf (ret,
                  ",\"metric\":\":monitor:machine\",\"variant\":\"%s\",\"iter\":%lld,\"timestamp\":%lld,"
                  "\"value\":%.3f}\n",
                  v[i].variant, (long long)iteration, (long long)clock_now (), v[i].value);
    }
}
