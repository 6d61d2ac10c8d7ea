/* slots.c - how many tasks run at once, which worker id and which GPUs each has.
 *
 * One slot: the daemon's own id. Several: "<id>:s<n>", so that every task has a worker of its own on the server. GPUs
 * are dealt out in turn; with more slots than GPUs, slots share. */
#include "agent/room.h"
#include "io/gpu.h"

#include <stdlib.h>
#include <string.h>

/* The devices that are ours, one by one; NULL when nobody said which. */
static const char **device_list (struct agent *g, size_t *ret_n)
{
    const char *gpus = g->o->gpus;
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
    bool none = g->o->cpu_only || (g->o->gpus && !strcmp (g->o->gpus, "none"));
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
            s->gpus = g->o->gpus;
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
