/* scalars.c - curves: scalar_metrics_iter_histogram for one and many tasks, single values, metrics and variants; our
 * x_events.scalars. Points are read series by series; only the thinned curve stays in memory. */
#include "api/events.api.h"
#include "api/x_events.api.h"
#include "base/json.h"
#include "services/call.h"
#include "services/events/sample.h"
#include "services/events/select.h"
#include "services/events/value.h"
#include "services/tasks/tasks.h"

#include <math.h>
#include <time.h>

enum { KEPT_MOST = 500000 /* points */ };
enum { SAMPLES_LEAST = 1, SAMPLES_MOST = 6000, TASKS_MOST = 100, VARIANTS_MOST = 1000000 };

struct curve {
    const struct series *series;
    struct stretch *v;
    size_t n;
    int64_t min, max, interval;
    size_t points;
    const struct point *kept; /* its points, where they are few enough to be kept between the two passes */
    size_t kept_n;
};
struct curves {
    struct curve *v;
    size_t n;
};

/* Range and number of points of every curve; those without points are dropped. *at: which series it was. */
static int measure (struct selection *s, struct arena *a, enum sample_key key, struct curves *ret, size_t *at,
                    struct error *err)
{
    size_t kept = 0;

    ret->v = arena_array (a, struct curve, s->n);
    for (size_t i = 0; i < s->n; i++) {
        cleanup_arena struct arena *scratch = arena_create ();
        struct curve *c = &ret->v[ret->n];
        struct point *p;
        size_t n;

        if (series_points (s->reader, i, scratch, &p, &n, err) < 0)
            return -1;
        if (!sample_range (p, n, key, &c->min, &c->max, &c->points))
            continue;
        if (kept + n <= KEPT_MOST) {
            c->kept = arena_memdup (a, p, n * sizeof (*p));
            c->kept_n = n;
            kept += n;
        }
        c->series = s->v[i];
        at[ret->n++] = i;
    }
    return 0;
}

static int thin (struct selection *s, struct arena *a, enum sample_key key, struct curves *ret,
                 const size_t *at, struct error *err)
{
    for (size_t i = 0; i < ret->n; i++) {
        cleanup_arena struct arena *scratch = arena_create ();
        struct curve *c = &ret->v[i];
        struct point *p = NULL;
        struct stretch *v;
        size_t n = c->kept_n;

        if (!c->kept && series_points (s->reader, at[i], scratch, &p, &n, err) < 0)
            return -1;
        sample_stretches (scratch, c->kept ? c->kept : p, n, key, c->interval, &v, &c->n);
        c->v = arena_memdup (a, v, c->n * sizeof (*v));
    }
    return 0;
}

/* Curves of up to `whole` points are not thinned. */
static void plan (struct arena *a, struct curves *curves, int64_t samples, size_t whole)
{
    struct sample_plan *p = arena_array (a, struct sample_plan, curves->n);

    for (size_t i = 0; i < curves->n; i++) {
        const struct curve *c = &curves->v[i];

        p[i] = (struct sample_plan){
            i, c->points <= whole ? 1 : sample_interval (c->points, c->min, c->max, samples),
            (int64_t)c->points < samples ? (int64_t)c->points : samples
        };
    }
    sample_group (p, curves->n);
    for (size_t i = 0; i < curves->n; i++)
        curves->v[p[i].curve].interval = p[i].interval;
}

static int read_curves (struct call *c, struct selection *s, enum sample_key key, int64_t samples,
                        size_t whole, struct curves *ret, struct error *err)
{
    size_t *at = arena_array (c->arena, size_t, s->n);

    *ret = (struct curves){ 0 };
    if (measure (s, c->arena, key, ret, at, err) < 0)
        return -1;
    plan (c->arena, ret, samples, whole);
    return thin (s, c->arena, key, ret, at, err);
}

static int read_key (const char *key, enum sample_key *ret, bool *ret_iso, struct error *err)
{
    *ret_iso = key && !strcmp (key, "iso_time");
    if (!key || !strcmp (key, "iter"))
        *ret = SAMPLE_ITER;
    else if (*ret_iso || !strcmp (key, "timestamp"))
        *ret = SAMPLE_TIME;
    else
        return error_set (err, ERR_VALIDATION, "field key: '%.40s' is none of iter, timestamp, iso_time",
                          key);
    return 0;
}

static int check_samples (int64_t samples, struct error *err)
{
    if (samples >= SAMPLES_LEAST && samples <= SAMPLES_MOST)
        return 0;
    return error_set (err, ERR_VALIDATION, "field samples: %lld is not between %d and %d", (long long)samples,
                      SAMPLES_LEAST, SAMPLES_MOST);
}

static void put_x (struct str *s, int64_t x, bool iso)
{
    time_t sec = (time_t)(x / 1000);
    struct tm tm;

    if (!iso) {
        str_add_int (s, x);
        return;
    }
    gmtime_r (&sec, &tm);
    str_addf (s, "\"%04d-%02d-%02dT%02d:%02d:%02d.%03dZ\"", tm.tm_year + 1900, tm.tm_mon + 1, tm.tm_mday,
              tm.tm_hour, tm.tm_min, tm.tm_sec, (int)(x % 1000));
}

static void put_curve (struct str *s, const char *name, const struct curve *c, bool iso, enum value_form form)
{
    str_puts (s, "{\"name\":");
    json_put_string (s, name);
    str_puts (s, ",\"x\":[");
    for (size_t i = 0; i < c->n; i++) {
        if (i)
            str_putc (s, ',');
        put_x (s, c->v[i].x, iso);
    }
    str_puts (s, "],\"y\":[");
    for (size_t i = 0; i < c->n; i++) {
        if (i)
            str_putc (s, ',');
        value_put (s, stretch_mean (&c->v[i]), form);
    }
    str_putc (s, ']');
    if (c->series->label) {
        str_puts (s, ",\"x_axis_label\":");
        json_put_string (s, c->series->label);
    }
    str_putc (s, '}');
}

int events_scalar_metrics_iter_histogram (struct call *c,
                                          const struct events_scalar_metrics_iter_histogram_in *in,
                                          struct events_scalar_metrics_iter_histogram_out *out,
                                          struct error *err)
{
    struct str s = { .arena = c->arena };
    struct metric_choice *choices;
    const char *metric = NULL;
    struct selection chosen;
    struct curves curves;
    enum sample_key key = SAMPLE_ITER;
    struct stream stream;
    bool iso;

    METRIC_CHOICES (c->arena, in->metrics, choices);
    if (read_key (in->key, &key, &iso, err) < 0 || check_samples (in->samples, err) < 0 ||
        select_stream (c, in->task, in->model_events, &stream, err) < 0 ||
        select_series (c, &stream, choices, in->metrics.n, &chosen, err) < 0 ||
        read_curves (c, &chosen, key, in->samples, 0, &curves, err) < 0)
        return -1;
    str_putc (&s, '{');
    for (size_t i = 0; i < curves.n; i++) {
        const struct curve *v = &curves.v[i];

        if (!metric || strcmp (metric, v->series->metric) != 0) {
            if (metric)
                str_putc (&s, '}');
            json_put_key (&s, v->series->metric);
            str_putc (&s, '{');
        }
        metric = v->series->metric;
        json_put_key (&s, v->series->variant);
        put_curve (&s, v->series->variant, v, iso, VALUE_FORM (c));
    }
    str_puts (&s, metric ? "}}" : "}");
    out->rest = str_text (&s);
    return 0;
}

/* -- many tasks ------------------------------------------------------------------------------------------------------ */

/* Ids as a list, or (old clients) in one text with commas. */
static int read_tasks (struct call *c, struct text tasks, const char ***ret, size_t *ret_n, struct error *err)
{
    const char **v = arena_array (c->arena, const char *, TASKS_MOST + 1);
    struct json_iter it = json_iter (tasks);
    size_t n = 0;
    char *list, *one;

    if (json_kind (tasks) == JSON_STRING) {
        for (list = json_string (c->arena, tasks); n <= TASKS_MOST && (one = strsep (&list, ","));)
            v[n++] = one;
    } else if (json_kind (tasks) != JSON_ARRAY) {
        return error_set (err, ERR_VALIDATION, "field tasks: a list of task ids is required");
    }
    for (; n <= TASKS_MOST && json_next (&it); n++) {
        if (!(v[n] = json_string (c->arena, it.value)))
            return error_set (err, ERR_VALIDATION, "field tasks: every item must be a task id");
    }
    if (n < 1 || n > TASKS_MOST)
        return error_set (err, ERR_VALIDATION, "field tasks: between 1 and %d task ids, please", TASKS_MOST);
    *ret = v;
    *ret_n = n;
    return 0;
}

struct placed { /* one curve of one task */
    const char *task, *name;
    const struct curve *curve;
};

static int by_place (const void *va, const void *vb)
{
    const struct placed *a = va, *b = vb;
    int rc = strcmp (a->curve->series->metric, b->curve->series->metric);

    rc = rc ? rc : strcmp (a->curve->series->variant, b->curve->series->variant);
    return rc ? rc : strcmp (a->task, b->task);
}

static void put_placed (struct str *s, const struct placed *v, size_t n, bool iso, enum value_form form)
{
    str_putc (s, '{');
    for (size_t i = 0; i < n; i++) {
        const struct series *x = v[i].curve->series, *before = i ? v[i - 1].curve->series : NULL;
        bool new_metric = !before || strcmp (before->metric, x->metric) != 0;
        bool new_variant = new_metric || strcmp (before->variant, x->variant) != 0;

        if (i && new_variant)
            str_putc (s, '}');
        if (i && new_metric)
            str_putc (s, '}');
        if (new_metric) {
            json_put_key (s, x->metric);
            str_putc (s, '{');
        }
        if (new_variant) {
            json_put_key (s, x->variant);
            str_putc (s, '{');
        }
        json_put_key (s, v[i].task);
        put_curve (s, v[i].name, v[i].curve, iso, form);
    }
    str_puts (s, n ? "}}}" : "}");
}

int events_multi_task_scalar_metrics_iter_histogram (
    struct call *c, const struct events_multi_task_scalar_metrics_iter_histogram_in *in,
    struct events_multi_task_scalar_metrics_iter_histogram_out *out, struct error *err)
{
    struct curves *curves;
    struct str s = { .arena = c->arena };
    struct metric_choice *choices;
    struct placed *v;
    const char **tasks = NULL;
    enum sample_key key = SAMPLE_ITER;
    size_t n = 0, many = 0, at = 0;
    bool iso;

    METRIC_CHOICES (c->arena, in->metrics, choices);
    if (read_key (in->key, &key, &iso, err) < 0 || check_samples (in->samples, err) < 0 ||
        read_tasks (c, in->tasks, &tasks, &n, err) < 0)
        return -1;
    curves = arena_array (c->arena, struct curves, n);
    for (size_t i = 0; i < n; i++) {
        struct selection chosen;
        struct stream stream;

        if (select_stream (c, tasks[i], in->model_events, &stream, err) < 0 ||
            select_series (c, &stream, choices, in->metrics.n, &chosen, err) < 0 ||
            read_curves (c, &chosen, key, in->samples, 0, &curves[i], err) < 0)
            return -1;
        many += curves[i].n;
    }
    v = arena_array (c->arena, struct placed, many);
    for (size_t i = 0; i < n; i++) {
        const char *name = in->model_events ? tasks[i] : task_name (c, tasks[i]);

        for (size_t k = 0; k < curves[i].n; k++)
            v[at++] = (struct placed){ tasks[i], name ? name : tasks[i], &curves[i].v[k] };
    }
    if (many)
        qsort (v, many, sizeof (*v), by_place);
    put_placed (&s, v, many, iso, VALUE_FORM (c));
    out->metrics = str_text (&s);
    return 0;
}

/* -- single values, names -------------------------------------------------------------------------------------------- */

static const struct point *find_single (const struct point *p, size_t n)
{
    for (size_t i = 0; i < n && p[i].iter <= SERIES_SINGLE; i++)
        if (p[i].iter == SERIES_SINGLE)
            return &p[i];
    return NULL;
}

static int put_singles (struct call *c, struct selection *s, struct str *out, struct error *err)
{
    for (size_t i = 0; i < s->n; i++) {
        cleanup_arena struct arena *scratch = arena_create ();
        const struct point *one;
        struct point *p;
        size_t n;

        if (series_points (s->reader, i, scratch, &p, &n, err) < 0)
            return -1;
        if (!(one = find_single (p, n)))
            continue;
        json_put_comma (out);
        str_puts (out, "{\"metric\":");
        json_put_string (out, s->v[i]->metric);
        str_puts (out, ",\"variant\":");
        json_put_string (out, s->v[i]->variant);
        str_puts (out, ",\"value\":");
        if (point_is_none (one->value))
            str_puts (out, "null");
        else
            value_put (out, one->value, VALUE_FORM (c));
        str_addf (out, ",\"timestamp\":%lld}", (long long)one->time);
    }
    return 0;
}

int events_get_task_single_value_metrics (struct call *c,
                                          const struct events_get_task_single_value_metrics_in *in,
                                          struct events_get_task_single_value_metrics_out *out,
                                          struct error *err)
{
    struct str s = { .arena = c->arena };
    struct metric_choice *choices;

    METRIC_CHOICES (c->arena, in->metrics, choices);
    str_putc (&s, '[');
    for (size_t i = 0; i < in->tasks.n; i++) {
        struct str values = { .arena = c->arena };
        struct selection chosen;
        struct stream stream;
        const char *name;

        if (select_stream (c, in->tasks.v[i], in->model_events, &stream, err) < 0 ||
            select_series (c, &stream, choices, in->metrics.n, &chosen, err) < 0)
            return -1;
        str_putc (&values, '[');
        if (put_singles (c, &chosen, &values, err) < 0)
            return -1;
        if (values.n == 1)
            continue;
        name = in->model_events ? NULL : task_name (c, in->tasks.v[i]);
        json_put_comma (&s);
        str_puts (&s, "{\"task\":");
        json_put_string (&s, in->tasks.v[i]);
        str_puts (&s, ",\"task_name\":");
        json_put_string (&s, name ? name : in->tasks.v[i]);
        str_puts (&s, ",\"values\":");
        str_add_text (&s, str_text (&values));
        str_puts (&s, "]}");
    }
    str_putc (&s, ']');
    out->tasks = str_text (&s);
    return 0;
}

int events_get_scalar_metrics_and_variants (struct call *c,
                                            const struct events_get_scalar_metrics_and_variants_in *in,
                                            struct events_get_scalar_metrics_and_variants_out *out,
                                            struct error *err)
{
    struct str s = { .arena = c->arena };
    const char *before = NULL;
    struct series *v = NULL;
    struct stream stream;
    size_t n = 0;

    if (select_stream (c, in->task, in->model_events, &stream, err) < 0 ||
        (stream.id && series_list (c->db, c->arena, stream.id, &v, &n, err) < 0))
        return -1;
    str_putc (&s, '{');
    for (size_t i = 0; i < n; i++) {
        if (!before || strcmp (before, v[i].metric) != 0) {
            if (before)
                str_putc (&s, ']');
            json_put_key (&s, v[i].metric);
            str_putc (&s, '[');
        }
        before = v[i].metric;
        json_put_comma (&s);
        json_put_string (&s, v[i].variant);
    }
    str_puts (&s, before ? "]}" : "}");
    out->metrics = str_text (&s);
    return 0;
}

/* -- x_events.scalars ------------------------------------------------------------------------------------------------ */

static struct text number_list (struct call *c, const struct curve *v, int which)
{
    struct str s = { .arena = c->arena };

    str_putc (&s, '[');
    for (size_t i = 0; i < v->n; i++) {
        const struct stretch *x = &v->v[i];

        if (i)
            str_putc (&s, ',');
        if (!x->finite)
            str_puts (&s, "null");
        else
            str_add_double (&s, which == 0 ? stretch_mean (x) : which == 1 ? x->min : x->max);
    }
    str_putc (&s, ']');
    return str_text (&s);
}

static void fill_curve (struct call *c, const struct curve *v, struct x_events_curve *out)
{
    struct str last = { .arena = c->arena };

    *out = (struct x_events_curve){ .metric = v->series->metric,
                                    .variant = v->series->variant,
                                    .label = v->series->label,
                                    .interval = v->interval,
                                    .y = number_list (c, v, 0),
                                    .min = number_list (c, v, 1),
                                    .max = number_list (c, v, 2),
                                    .total_points = (int64_t)v->points,
                                    .last_iter = v->series->last_iter };
    out->has.total_points = out->has.last_iter = out->has.interval = true;
    out->x.v = arena_array (c->arena, int64_t, v->n);
    out->nan.v = arena_array (c->arena, int64_t, v->n);
    out->inf.v = arena_array (c->arena, int64_t, v->n);
    out->minus_inf.v = arena_array (c->arena, int64_t, v->n);
    out->count.v = arena_array (c->arena, int64_t, v->n);
    out->x.n = out->nan.n = out->inf.n = out->minus_inf.n = out->count.n = v->n;
    for (size_t i = 0; i < v->n; i++) {
        out->x.v[i] = v->v[i].x;
        out->nan.v[i] = v->v[i].nan;
        out->inf.v[i] = v->v[i].inf;
        out->minus_inf.v[i] = v->v[i].minus_inf;
        out->count.v[i] = v->v[i].count;
    }
    value_put (&last, v->series->last, VALUE_WORDS);
    out->last = str_text (&last);
}

int x_events_scalars (struct call *c, const struct x_events_scalars_in *in, struct x_events_scalars_out *out,
                      struct error *err)
{
    struct curves curves;
    struct metric_choice *choices;
    struct selection chosen;
    enum sample_key key = SAMPLE_ITER;
    struct stream stream;
    bool iso;

    METRIC_CHOICES (c->arena, in->metrics, choices);
    if (read_key (in->key, &key, &iso, err) < 0)
        return -1;
    if (iso)
        return error_set (err, ERR_VALIDATION, "field key: 'iso_time' is none of iter, timestamp");
    if (check_samples (in->samples, err) < 0 ||
        select_stream (c, in->task, in->model_events, &stream, err) < 0 ||
        select_series (c, &stream, choices, in->metrics.n, &chosen, err) < 0 ||
        read_curves (c, &chosen, key, in->samples, 2 * (size_t)in->samples, &curves, err) < 0)
        return -1;
    out->series.v = arena_array (c->arena, struct x_events_curve, curves.n + 1);
    for (size_t i = 0; i < curves.n; i++)
        fill_curve (c, &curves.v[i], &out->series.v[out->series.n++]);
    return 0;
}
