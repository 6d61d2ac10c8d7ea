/* select.c - see select.h. */
#include "services/events/select.h"

#include "services/models/models.h"
#include "services/tasks/tasks.h"

bool metric_chosen (const struct metric_choice *v, size_t n, const char *metric, const char *variant)
{
    for (size_t i = 0; i < n; i++) {
        if (strcmp (v[i].metric, metric) != 0)
            continue;
        if (!v[i].n)
            return true;
        for (size_t k = 0; k < v[i].n; k++)
            if (!strcmp (v[i].variants[k], variant))
                return true;
    }
    return n == 0;
}

int select_stream (struct call *c, const char *id, bool model, struct stream *ret, struct error *err)
{
    struct task_facts facts;

    if (model ? models_check (c, &id, 1, err) < 0 : task_facts (c, id, true, &facts, err) < 0)
        return -1;
    return stream_get (c->db, id, ret, err);
}

int select_series (struct call *c, const struct stream *s, const struct metric_choice *choices,
                   size_t choices_n, struct selection *ret, struct error *err)
{
    struct series *all = NULL;
    size_t n = 0;

    *ret = (struct selection){ 0 };
    if (!s->id || series_list (c->db, c->arena, s->id, &all, &n, err) < 0)
        return s->id ? -1 : 0;
    ret->v = arena_array (c->arena, const struct series *, n);
    for (size_t i = 0; i < n; i++)
        if (metric_chosen (choices, choices_n, all[i].metric, all[i].variant))
            ret->v[ret->n++] = &all[i];
    return series_open (c->db, c->arena, s->id, ret->v, ret->n, &ret->reader, err);
}
