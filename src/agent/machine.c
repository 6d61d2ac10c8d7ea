/* machine.c - see machine.h. Counters of the kernel are kept from one reading to the next: the difference is an exact
 * mean over the time between, without sampling in between. */
#include "agent/machine.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/json.h"
#include "io/gpu_list.h"

#include <dirent.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>

enum { GPUS_MAX = 64, FILE_MAX = 1 << 20 };
#define MB (1024.0 * 1024.0)

/* Counters since the machine started. */
struct counters {
    int64_t t;                  /* ms */
    uint64_t busy, all;         /* processor ticks */
    uint64_t disk_in, disk_out; /* bytes read and written */
    uint64_t net_in, net_out;   /* bytes received and sent */
};

struct machine {
    char *disk_path;
    struct counters now, before;
    double memory_used, memory_free, disk_free; /* MB, MB, percent */
    double temperature;                         /* 0 = no sensor */
    struct gpus *gpus;
    struct gpu list[GPUS_MAX];
    size_t n_gpus;
};

struct machine *machine_create (const char *disk_path)
{
    struct machine *m = calloc (1, sizeof (*m));

    if (!m || !(m->disk_path = strdup (disk_path)))
        abort ();
    m->gpus = gpus_open ();
    return m;
}

void machine_destroy (struct machine *m)
{
    if (!m)
        return;
    gpus_close (m->gpus);
    free (m->disk_path);
    free (m);
}

/* -- sources ---------------------------------------------------------------------------------------------------- */

static bool slurp (struct str *s, const char *path)
{
    struct error err;

    str_reset (s);
    return !file_read (path, FILE_MAX, s, &err) && s->p;
}

static void read_cpu (struct str *s, struct counters *c)
{
    unsigned long long v[8] = { 0 };

    if (!slurp (s, "/proc/stat") || sscanf (s->p, "cpu %llu %llu %llu %llu %llu %llu %llu %llu", v, v + 1,
                                            v + 2, v + 3, v + 4, v + 5, v + 6, v + 7) < 4)
        return;
    for (int i = 0; i < 8; i++)
        c->all += v[i];
    c->busy = c->all - v[3] - v[4]; /* idle, waiting for a disk */
}

static double meminfo (const char *text, const char *name)
{
    const char *p = strstr (text, name);

    return p ? strtod (p + strlen (name), NULL) / 1024 : 0;
}

static void read_memory (struct str *s, struct machine *m)
{
    double all;

    if (!slurp (s, "/proc/meminfo"))
        return;
    all = meminfo (s->p, "MemTotal:");
    m->memory_free = meminfo (s->p, "MemAvailable:");
    m->memory_used = all - m->memory_free;
}

/* Whole disks only: a partition's bytes are its disk's too. /sys/block holds the whole ones. */
static bool is_whole_disk (const char *name)
{
    char path[128];
    struct statvfs st;

    if (!strncmp (name, "loop", 4) || !strncmp (name, "ram", 3) || !strncmp (name, "dm-", 3) ||
        !strncmp (name, "md", 2) || !strncmp (name, "zram", 4))
        return false;
    snprintf (path, sizeof (path), "/sys/block/%s", name);
    return !statvfs (path, &st);
}

static void read_disks (struct str *s, struct counters *c)
{
    char *save = NULL;

    if (!slurp (s, "/proc/diskstats"))
        return;
    for (char *line = strtok_r (s->p, "\n", &save); line; line = strtok_r (NULL, "\n", &save)) {
        unsigned long long in, out;
        char name[64];

        if (sscanf (line, " %*u %*u %63s %*u %*u %llu %*u %*u %*u %llu", name, &in, &out) != 3 ||
            !is_whole_disk (name))
            continue;
        c->disk_in += in * 512;
        c->disk_out += out * 512;
    }
}

static void read_network (struct str *s, struct counters *c)
{
    char *save = NULL;

    if (!slurp (s, "/proc/net/dev"))
        return;
    for (char *line = strtok_r (s->p, "\n", &save); line; line = strtok_r (NULL, "\n", &save)) {
        char *colon = strchr (line, ':');
        unsigned long long in, out;

        if (!colon || strstr (line, " lo:") || !strncmp (line, "lo:", 3) ||
            sscanf (colon + 1, "%llu %*u %*u %*u %*u %*u %*u %*u %llu", &in, &out) != 2)
            continue;
        c->net_in += in;
        c->net_out += out;
    }
}

/* The hottest of the processor's sensors. */
static double read_temperature (struct str *s)
{
    double hottest = 0;

    for (int i = 0; i < 32; i++) {
        char path[96];
        double t;

        snprintf (path, sizeof (path), "/sys/class/thermal/thermal_zone%d/type", i);
        if (!slurp (s, path))
            break;
        if (!strstr (s->p, "pkg") && !strstr (s->p, "cpu") && !strstr (s->p, "core"))
            continue;
        snprintf (path, sizeof (path), "/sys/class/thermal/thermal_zone%d/temp", i);
        t = slurp (s, path) ? strtod (s->p, NULL) / 1000 : 0;
        if (t > hottest && t < 150)
            hottest = t;
    }
    return hottest;
}

static void read_all (struct machine *m)
{
    cleanup_str struct str s = { 0 };
    struct counters c = { .t = clock_monotonic () };
    struct statvfs st;

    read_cpu (&s, &c);
    read_memory (&s, m);
    read_disks (&s, &c);
    read_network (&s, &c);
    m->temperature = read_temperature (&s);
    if (!statvfs (m->disk_path, &st) && st.f_blocks)
        m->disk_free = 100.0 * (double)st.f_bavail / (double)st.f_blocks;
    m->n_gpus = gpus_read (m->gpus, m->list, GPUS_MAX);
    m->before = m->now;
    m->now = c;
}

/* -- the report ------------------------------------------------------------------------------------------------- */

static void put_number (struct str *json, double v)
{
    str_add_double (json, round (v * 1000) / 1000);
}

static void put (struct str *json, const char *key, double v)
{
    json_put_key (json, key);
    put_number (json, v);
}

static void put_list_of_one (struct str *json, const char *key, double v)
{
    json_put_key (json, key);
    str_putc (json, '[');
    put_number (json, v);
    str_putc (json, ']');
}

static double rate (uint64_t now, uint64_t before, double seconds)
{
    return now > before && seconds > 0 ? (double)(now - before) / MB / seconds : 0;
}

enum gpu_value { USAGE, TEMPERATURE, MEMORY_USED, MEMORY_FREE, GPU_VALUES };

static bool gpu_value (const struct gpu *g, enum gpu_value what, double *ret)
{
    switch (what) {
        case USAGE:
            *ret = g->usage;
            return g->has_usage;
        case TEMPERATURE:
            *ret = g->temperature;
            return g->has_temperature;
        case MEMORY_USED:
            *ret = (double)g->memory_used / MB;
            return g->has_memory;
        default:
            *ret = (double)(g->memory_total - g->memory_used) / MB;
            return g->has_memory;
    }
}

static void put_gpus (struct machine *m, const char *gpus, struct str *json)
{
    static const char *const keys[] = { "gpu_usage", "gpu_temperature", "gpu_memory_used",
                                        "gpu_memory_free" };
    struct gpu list[GPUS_MAX];
    size_t n;

    memcpy (list, m->list, m->n_gpus * sizeof (*list));
    n = gpu_list_select (gpus, list, m->n_gpus);
    for (int what = 0; what < GPU_VALUES; what++) {
        bool begun = false;
        double v;

        for (size_t i = 0; i < n; i++) {
            if (!gpu_value (&list[i], (enum gpu_value)what, &v))
                continue;
            if (!begun) {
                json_put_key (json, keys[what]);
                str_putc (json, '[');
            }
            begun = true;
            json_put_comma (json);
            put_number (json, v);
        }
        if (begun)
            str_putc (json, ']');
    }
}

void machine_write (struct machine *m, const char *gpus, bool fresh, struct str *json)
{
    double seconds, ticks;

    if (fresh)
        read_all (m);
    seconds = (double)(m->now.t - m->before.t) / 1000;
    ticks = (double)(m->now.all - m->before.all);
    str_putc (json, '{');
    if (m->before.t) { /* the first reading has nothing to compare with */
        put_list_of_one (json, "cpu_usage",
                         ticks > 0 ? 100.0 * (double)(m->now.busy - m->before.busy) / ticks : 0);
        put (json, "disk_read", rate (m->now.disk_in, m->before.disk_in, seconds));
        put (json, "disk_write", rate (m->now.disk_out, m->before.disk_out, seconds));
        put (json, "network_rx", rate (m->now.net_in, m->before.net_in, seconds));
        put (json, "network_tx", rate (m->now.net_out, m->before.net_out, seconds));
    }
    if (m->temperature > 0)
        put_list_of_one (json, "cpu_temperature", m->temperature);
    put (json, "memory_used", m->memory_used);
    put (json, "memory_free", m->memory_free);
    put (json, "disk_free_home", m->disk_free);
    put_gpus (m, gpus, json);
    str_putc (json, '}');
}
