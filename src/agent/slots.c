/* slots.c - how many tasks run at once, which worker id and which GPUs each has.
 *
 * One slot: the daemon's own id. Several: "<id>:s<n>", so that every task has a worker of its own on the server. GPUs
 * are dealt out in turn; with more slots than GPUs, slots share. */
#include "agent/room.h"
#include "base/log.h"
#include "io/gpu_list.h"

#include <stdlib.h>
#include <string.h>

/* What a container's runtime was told (NVIDIA_VISIBLE_DEVICES=2,3) are numbers of the host; inside, the devices that it
 * gave are 0 and 1. So: as many as are listed, under other numbers. */
static bool is_renumbered (const struct agent *g, size_t here)
{
    size_t n = 1;

    for (const char *p = g->devices; *p; p++)
        n += *p == ',';
    return !strcmp (g->o->gpus_from, "NVIDIA_VISIBLE_DEVICES") && n == here &&
           strspn (g->devices, "0123456789,") == strlen (g->devices);
}

int slots_find_devices (struct agent *g, struct error *err)
{
    struct gpus *here;
    int r;

    g->devices = g->o->gpus;
    if (!g->o->gpus_from || g->o->cpu_only)
        return 0;
    here = gpus_open ();
    r = gpu_list_check (here, g->o->gpus_from, g->devices, err);
    if (r > 0)
        log_warn ("agent", GPU_LIST_UNKNOWN, g->o->gpus_from, g->devices);
    if (r < 0 && is_renumbered (g, gpus_count (here))) {
        log_info ("agent",
                  "NVIDIA_VISIBLE_DEVICES=%s: numbers of the host; all that this container has are used",
                  g->devices);
        g->devices = "all";
        r = 0;
    }
    gpus_close (here);
    if (r < 0 && g->o->worker) { /* started anew: tasks run, and they are ours */
        log_warn ("agent", "%s", err->text);
        r = 0;
    }
    return r < 0 ? -1 : 0;
}

/* The devices that are ours, one by one; NULL when nobody said which. */
static const char **device_list (struct agent *g, size_t *ret_n)
{
    const char *gpus = g->devices;
    char *copy, *save = NULL;
    const char **v;
    size_t n = 0;

    *ret_n = 0;
    if (!gpus || !*gpus || !strcmp (gpus, "none"))
        return NULL;
    if (!strcmp (gpus, "all")) {
        struct gpus *all = gpus_open ();

        n = gpus_count (all);
        gpus_close (all);
        v = arena_array (g->arena, const char *, n + 1);
        for (size_t i = 0; i < n; i++)
            v[i] = arena_printf (g->arena, "%zu", i);
        *ret_n = n;
        return v;
    }
    copy = arena_strdup (g->arena, gpus);
    v = arena_array (g->arena, const char *, strlen (gpus) + 1);
    for (char *w = strtok_r (copy, ", ", &save); w; w = strtok_r (NULL, ", ", &save))
        v[n++] = w;
    *ret_n = n;
    return v;
}

/* Devices of slot i of n: every n-th one, or one that is shared. */
static const char *deal (struct agent *g, const char **devices, size_t n_devices, int i)
{
    struct str s = { .arena = g->arena };

    if (n_devices <= (size_t)g->o->slots)
        return devices[(size_t)i % n_devices];
    for (size_t at = (size_t)i; at < n_devices; at += (size_t)g->o->slots)
        str_addf (&s, "%s%s", s.n ? "," : "", devices[at]);
    return s.p;
}

void slots_make (struct agent *g)
{
    bool none = g->o->cpu_only || (g->devices && !strcmp (g->devices, "none"));
    size_t n_devices;
    const char **devices = none ? (n_devices = 0, NULL) : device_list (g, &n_devices);

    g->slots = arena_array (g->arena, struct slot, (size_t)g->o->slots);
    g->reports = arena_array (g->arena, struct slot_report, (size_t)g->o->slots);
    for (int i = 0; i < g->o->slots; i++) {
        struct slot *s = &g->slots[i];

        s->index = i;
        s->worker = g->o->slots == 1 ? g->worker : arena_printf (g->arena, "%s:s%d", g->worker, i);
        if (none)
            s->gpus = "none";
        else if (g->o->slots == 1 || !n_devices)
            s->gpus = g->devices;
        else
            s->gpus = deal (g, devices, n_devices, i);
    }
}

struct slot *slots_free (struct agent *g)
{
    for (int i = 0; i < g->o->slots; i++)
        if (!g->slots[i].run)
            return &g->slots[i];
    return NULL;
}
