/* batch.c - see batch.h. Scalars go into one array in order of arrival, each with the number of its run (same series,
 * same other members); at the end a counting sort brings runs together and they are packed.
 *
 * Clients send the same series in the same order again and again: each series remembers which one followed it last
 * time, so that almost every event finds its series by one comparison, without hashing.
 */
#include "services/events/batch.h"

#include "base/digest.h"
#include "base/json.h"
#include "services/events/row.h"
#include "wire/errors.h"

#include <stdlib.h>

struct mini { /* a scalar event */
    int64_t iter, time;
    double value;
    uint32_t run;
};

#define NONE UINT32_MAX

struct run {
    uint32_t series, next; /* next: run of the same group */
    struct text extra;
    uint32_t n, at; /* points; where the next one goes */
};

struct known_series {
    uint32_t group, run; /* run: the one it is in now */
    uint32_t guess;      /* which series came after it last time */
    uint32_t next;       /* series of the same group */
    struct series_delta delta;
};

struct group { /* while reading */
    struct event_group out;
    size_t logs_cap, rows_cap;
    uint32_t first_run, last_run, first_series, last_series;
    size_t runs_n, series_n;
};

struct builder {
    struct arena *arena;
    const struct event_defaults *defaults;
    struct intern tasks, names, problems; /* names: group, metric and variant of a series */
    struct group *groups;
    size_t groups_cap;
    struct known_series *series;
    size_t series_n, series_cap;
    struct run *runs;
    size_t runs_n, runs_cap;
    struct mini *points;
    size_t points_n, points_cap;
    int64_t *problem_n;
    size_t problems_cap;
    int64_t events;
    uint32_t last; /* series of the event before */
    struct str extra, name;
};

static void *grown (struct arena *a, void *v, size_t size, size_t n, size_t *cap, size_t least)
{
    void *more;

    if (n < *cap)
        return v;
    *cap = *cap ? *cap * 2 : least;
    more = arena_alloc (a, arena_product (size, *cap));
    if (n)
        memcpy (more, v, n * size);
    return more;
}
#define GROW(b, v, n, cap, least) ((v) = grown ((b)->arena, (v), sizeof (*(v)), (n), &(cap), (least)))

static void add_problem (struct builder *b, const char *words)
{
    uint32_t i = intern_add (&b->problems, text_of (words));

    if (i >= b->problems_cap)
        GROW (b, b->problem_n, b->problems_cap, b->problems_cap, 8);
    b->problem_n[i]++;
}

/* The group of the event's id; -1: it contradicts earlier events of the id. */
static int group_of (struct builder *b, const struct event *e, uint32_t *ret, struct error *err)
{
    size_t before = b->tasks.n;
    uint32_t i = intern_add (&b->tasks, e->task);
    struct group *g;

    if (i == before) {
        GROW (b, b->groups, i, b->groups_cap, 4);
        b->groups[i] = (struct group){ .out = { .task = arena_text (b->arena, e->task),
                                                .model = e->model,
                                                .allow_locked = e->allow_locked,
                                                .iter = INT64_MIN },
                                       .first_run = NONE,
                                       .first_series = NONE };
    }
    g = &b->groups[i];
    if (g->out.model != e->model)
        return error_set (err, ERR_VALIDATION, "id %s is given as a task and as a model in one batch",
                          g->out.task);
    if (g->out.allow_locked != e->allow_locked)
        return error_set (err, ERR_VALIDATION, "events of %s differ in allow_locked in one batch",
                          g->out.task);
    *ret = i;
    return 0;
}

static bool counts_for_last_iteration (const struct event *e)
{
    return e->iter != SERIES_NO_ITER && !text_is (e->metric, ":monitor:machine") &&
           !text_is (e->metric, ":monitor:gpu");
}

static bool is_series (const struct known_series *s, uint32_t group, const struct event *e)
{
    return s->group == group && text_equal (s->delta.metric, e->metric) &&
           text_equal (s->delta.variant, e->variant);
}

static uint32_t series_of (struct builder *b, uint32_t group, const struct event *e)
{
    size_t before = b->names.n;
    uint32_t i, guess = b->series_n ? b->series[b->last].guess : 0;

    if (b->series_n && is_series (&b->series[guess], group, e))
        return b->last = guess;
    str_reset (&b->name);
    str_add (&b->name, (const char *)&group, sizeof (group));
    str_add_text (&b->name, e->metric);
    str_putc (&b->name, 0);
    str_add_text (&b->name, e->variant);
    i = intern_add (&b->names, str_text (&b->name));
    if (i == before) {
        GROW (b, b->series, b->series_n, b->series_cap, 64);
        b->series[i] = (struct known_series){
            .group = group, .run = NONE, .next = NONE, .delta = { .metric = e->metric, .variant = e->variant }
        };
        b->series_n++;
        if (b->groups[group].first_series == NONE)
            b->groups[group].first_series = i;
        else
            b->series[b->groups[group].last_series].next = i;
        b->groups[group].last_series = i;
        b->groups[group].series_n++;
    }
    b->series[b->last].guess = i;
    return b->last = i;
}

static uint32_t add_run (struct builder *b, struct group *g, uint32_t series, struct text extra)
{
    uint32_t i = (uint32_t)b->runs_n++;

    GROW (b, b->runs, i, b->runs_cap, 64);
    b->runs[i] = (struct run){ .series = series,
                               .next = NONE,
                               .extra = { arena_memdup (b->arena, extra.p, extra.n), extra.n } };
    if (g->first_run == NONE)
        g->first_run = i;
    else
        b->runs[g->last_run].next = i;
    g->last_run = i;
    g->runs_n++;
    return i;
}

static void add_scalar (struct builder *b, uint32_t group, const struct event *e)
{
    uint32_t i = series_of (b, group, e);
    struct known_series *s = &b->series[i];
    struct point p = { .iter = e->iter, .time = e->time, .value = e->value };

    if (s->run == NONE || !text_equal (b->runs[s->run].extra, e->extra))
        s->run = add_run (b, &b->groups[group], i, e->extra);
    if (e->label.p)
        s->delta.label = e->label;
    GROW (b, b->points, b->points_n, b->points_cap, 512);
    b->points[b->points_n++] = (struct mini){ e->iter, e->time, e->value, s->run };
    b->runs[s->run].n++;
    series_delta_add (&s->delta, &p);
}

static void add_log (struct builder *b, struct event_group *g, size_t *cap, const struct event *e)
{
    GROW (b, g->logs, g->logs_n, *cap, 8);
    g->logs[g->logs_n++] = (struct log_event){ .time = e->time,
                                               .received = b->defaults->now,
                                               .level = e->level,
                                               .worker = e->worker,
                                               .metric = e->metric,
                                               .variant = e->variant,
                                               .extra = e->extra,
                                               .msg = e->msg,
                                               .run = e->run,
                                               .offset = e->offset };
}

static int add_event (struct builder *b, const struct event *e, struct error *err)
{
    struct event_group *g;
    uint32_t i = 0;

    b->events++;
    if (e->problem) {
        add_problem (b, e->problem);
        return 0;
    }
    if (group_of (b, e, &i, err) < 0)
        return -1;
    g = &b->groups[i].out;
    g->n++;
    if (counts_for_last_iteration (e) && e->iter > g->iter)
        g->iter = e->iter;
    switch (e->type) {
        case EVENT_SCALAR:
            add_scalar (b, i, e);
            return 0;
        case EVENT_LOG:
            add_log (b, g, &b->groups[i].logs_cap, e);
            return 0;
        default:
            GROW (b, g->rows, g->rows_n, b->groups[i].rows_cap, 8);
            event_row_make (b->arena, e, b->defaults->now, &g->rows[g->rows_n++]);
            return 0;
    }
}

static int add_line (struct builder *b, struct text line, struct error *err)
{
    struct event e;

    str_reset (&b->extra);
    if (!event_scan (line.p, line.p + line.n, b->defaults, &b->extra, &e) &&
        event_read (b->arena, line, b->defaults, &e, err) < 0)
        return -1;
    return add_event (b, &e, err);
}

static int read_lines (struct builder *b, struct text body, struct error *err)
{
    size_t number = 0;

    while (body.n && (body.p[body.n - 1] == '\n' || body.p[body.n - 1] == '\r'))
        body.n--;
    for (const char *p = body.p, *end = body.p + body.n, *nl; body.n && p <= end; p = nl + 1) {
        nl = p < end ? memchr (p, '\n', (size_t)(end - p)) : NULL;
        nl = nl ? nl : end;
        number++;
        if (add_line (b, (struct text){ p, (size_t)(nl - p) }, err) < 0)
            return error_wrap (err, "line %zu", number);
    }
    return 0;
}

/* The runs and series of a group, packed; `sorted` holds its points run by run. */
static void pack_group (struct builder *b, const struct group *g, const struct point *sorted,
                        struct event_group *out)
{
    struct batch_run *runs = arena_array (b->arena, struct batch_run, g->runs_n);
    struct str body = { .arena = b->arena };
    size_t n = 0;

    for (uint32_t i = g->first_run; i != NONE; i = b->runs[i].next) {
        const struct run *r = &b->runs[i];
        const struct series_delta *d = &b->series[r->series].delta;

        runs[n++] = (struct batch_run){ .metric = d->metric,
                                        .variant = d->variant,
                                        .extra = r->extra,
                                        .points = sorted + r->at - r->n,
                                        .n = r->n };
        out->points += r->n;
    }
    batch_pack (&body, b->defaults->now, runs, n);
    out->body = str_text (&body);
    out->series = arena_array (b->arena, struct series_delta, g->series_n);
    for (uint32_t i = g->first_series; i != NONE; i = b->series[i].next) {
        struct series_delta *d = &out->series[out->series_n++];

        *d = b->series[i].delta;
        if (out->series_n > 1 &&
            text_equal (d[-1].metric, d->metric)) { /* variants of a metric come together */
            memcpy (d->key, d[-1].key, SERIES_KEY / 2);
            digest_md5_hex (d->variant, d->key + SERIES_KEY / 2);
        } else {
            series_key (d->metric, d->variant, d->key);
        }
    }
}

/* Bring the points of each run together, in order of arrival. */
static struct point *sort_points (struct builder *b)
{
    struct point *sorted = arena_array (b->arena, struct point, b->points_n);
    uint32_t at = 0;

    for (size_t i = 0; i < b->runs_n; i++) {
        b->runs[i].at = at;
        at += b->runs[i].n;
    }
    for (size_t i = 0; i < b->points_n; i++) {
        const struct mini *m = &b->points[i];

        sorted[b->runs[m->run].at++] = (struct point){ .iter = m->iter, .time = m->time, .value = m->value };
    }
    return sorted;
}

static void finish (struct builder *b, struct event_batch *ret)
{
    struct point *sorted = sort_points (b);

    ret->groups = arena_array (b->arena, struct event_group, b->tasks.n);
    for (size_t i = 0; i < b->tasks.n; i++) {
        struct event_group *g = &b->groups[i].out;

        if (b->groups[i].runs_n)
            pack_group (b, &b->groups[i], sorted, g);
        if (g->logs_n)
            log_pack (b->arena, g->logs, g->logs_n, &g->parts, &g->parts_n);
        ret->groups[ret->n++] = *g;
    }
    ret->events = b->events;
    ret->problems = arena_array (b->arena, struct event_problem, b->problems.n);
    for (size_t i = 0; i < b->problems.n; i++)
        ret->problems[ret->problems_n++] =
            (struct event_problem){ arena_text (b->arena, b->problems.v[i]), b->problem_n[i] };
}

int event_batch_read (struct arena *a, struct text body, bool lines, const struct event_defaults *d,
                      struct event_batch **ret, struct error *err)
{
    struct builder b = { .arena = a,
                         .defaults = d,
                         .tasks = { .arena = a },
                         .names = { .arena = a, .copy = true },
                         .problems = { .arena = a },
                         .extra = { .arena = a },
                         .name = { .arena = a } };
    struct event_batch *out = arena_new (a, struct event_batch);

    if (lines ? read_lines (&b, body, err) < 0 : json_count (body) && add_line (&b, body, err) < 0)
        return -1;
    finish (&b, out);
    *ret = out;
    return 0;
}
