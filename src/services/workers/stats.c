/* stats.c - machine statistics: reports kept as sent, aggregated on reading. In: worker_sample rows. Out: JSON of
 * get_metric_keys, get_stats and get_activity_report.
 *
 * A report names metrics ("cpu_usage"); a list has one value a resource (core, GPU), a number is the total; what is
 * zero or empty counts as not measured. The category of a metric is what stands before its first underscore. */
#include "services/workers/rules.h"

#include "base/json.h"
#include "sql/sql.h"
#include "store/store.h"

#include <math.h>

enum {
    METRICS_MAX = 64,
    BUCKETS_MAX = 100000,
    CELLS_MAX = 2000000, /* of all metrics, workers and resources of a request */
    RECENT_MAX = 2000
};
static const int64_t SECONDS_MAX = 100000000000;

int worker_sample_put (struct call *c, const char *worker, const char *task, int64_t time, struct text stats,
                       struct error *err)
{
    return db_exec (c->db, &sql_worker_sample_put, err, V_STR (c->who.company), V_STR (worker), V_INT (time),
                    V_STR (c->who.user), V_STR (task), V_TEXT (stats)) < 0
               ? -1
               : 0;
}

/* Of one member of a report: the values that count. */
static size_t values_of (struct text v, double *ret, size_t max)
{
    size_t n = 0;
    struct json_iter it = json_iter (v);

    if (json_kind (v) == JSON_NUMBER) {
        ret[0] = json_double (v, 0);
        return ret[0] != 0;
    }
    if (json_kind (v) == JSON_ARRAY)
        while (n < max && json_next (&it))
            ret[n++] = json_kind (it.value) == JSON_NUMBER ? json_double (it.value, 0) : 0;
    return n;
}

/* -- keys -------------------------------------------------------------------------------------------------------- */
static int name_order (const void *a, const void *b)
{
    return strcmp (*(char *const *)a, *(char *const *)b);
}

static size_t note_names (struct arena *a, struct text stats, char **names, size_t n)
{
    struct json_iter it = json_iter (stats);

    while (json_next (&it)) {
        double v[1024];
        size_t have = values_of (it.value, v, 1024), i = 0;
        bool counts = false;

        while (have--)
            counts |= v[have] != 0;
        if (!counts || n == METRICS_MAX)
            continue;
        while (i < n && !text_is (it.key, names[i]))
            i++;
        if (i == n)
            names[n++] = arena_text (a, it.key);
    }
    return n;
}

static void write_categories (struct str *out, char **names, size_t n)
{
    str_putc (out, '[');
    for (size_t i = 0; i < n;) {
        size_t category = strcspn (names[i], "_");

        json_put_comma (out);
        str_puts (out, "{\"name\":");
        str_add_json (out, names[i], category);
        str_puts (out, ",\"metric_keys\":[");
        for (size_t first = i;
             i < n && strcspn (names[i], "_") == category && !strncmp (names[i], names[first], category);
             i++) {
            json_put_comma (out);
            json_put_string (out, names[i]);
        }
        str_puts (out, "]}");
    }
    str_putc (out, ']');
}

int worker_metric_keys (struct call *c, struct text worker_ids, struct str *out, struct error *err)
{
    cleanup_rows struct rows r = { 0 };
    struct text ids = json_count (worker_ids) ? worker_ids : (struct text){ 0 };
    char *names[METRICS_MAX];
    size_t n = 0;
    int more;

    if (db_query (c->db, &sql_worker_sample_recent, &r, err, V_STR (c->who.company),
                  V_INT (c->now - 24LL * 3600 * 1000), V_TEXT (ids), V_INT (RECENT_MAX)) < 0)
        return -1;
    while ((more = db_next (&r, err)) > 0)
        n = note_names (c->arena, row_text (&r, 0), names, n);
    if (more < 0)
        return -1;
    if (!n)
        return error_set (err, ERR_WORKER_STATS,
                          "no worker reported machine statistics in the last 24 hours");
    qsort (names, n, sizeof (*names), name_order);
    write_categories (out, names, n);
    return 0;
}

/* -- buckets ----------------------------------------------------------------------------------------------------- */
struct buckets {
    int64_t interval, first, n; /* ms; start of the first; how many */
};

/* Aligned to multiples of the interval, from the one that holds `from`. Statistics leave out a last one that begins
 * within 0.9 intervals of the end; activity leaves out the one that holds the end, as it is never complete. */
static int buckets_of (const struct worker_span *span, bool whole_only, struct buckets *ret,
                       struct error *err)
{
    double from = span->from * 1000, to = span->to * 1000;

    if (span->interval > SECONDS_MAX)
        return error_set (err, ERR_FIELDS_VALUE, "interval: %lld s is more than %lld",
                          (long long)span->interval, (long long)SECONDS_MAX);
    int64_t interval =
        (span->interval < WORKER_INTERVAL_MIN_S ? WORKER_INTERVAL_MIN_S : span->interval) * 1000;

    if (!(span->from < span->to))
        return error_set (err, ERR_FIELDS_VALUE, "from_date: %.0f is not before to_date %.0f", span->from,
                          span->to);
    if (span->from < 0 || span->to > (double)SECONDS_MAX || (to - from) / (double)interval > BUCKETS_MAX)
        return error_set (err, ERR_FIELDS_VALUE,
                          "interval: from_date to to_date holds more than %d intervals of %lld s",
                          BUCKETS_MAX, (long long)interval / 1000);
    ret->interval = interval;
    ret->first = (int64_t)from / interval * interval;
    ret->n = 0;
    if (whole_only)
        ret->n = (int64_t)to / interval - (int64_t)from / interval;
    else
        while ((double)(ret->first + ret->n * interval) < to - 0.9 * (double)interval)
            ret->n++;
    return 0;
}

static void write_dates (struct str *out, const struct buckets *b)
{
    str_putc (out, '[');
    for (int64_t i = 0; i < b->n; i++) {
        json_put_comma (out);
        str_add_int (out, b->first + i * b->interval);
    }
    str_putc (out, ']');
}

/* -- get_stats --------------------------------------------------------------------------------------------------- */
enum aggregation { AGGREGATION_AVG, AGGREGATION_MIN, AGGREGATION_MAX };
static const char *const aggregation_names[] = { "avg", "min", "max" };

struct cell {
    double sum, min, max;
    int64_t n;
};
struct series { /* one resource of one metric, or (variant -1) all of them */
    struct series *next;
    int variant; /* -1 all, -2 total, else the index */
    struct cell *cells;
};
struct metric {
    const char *key;
    unsigned aggregations[3], aggregations_n; /* in the order asked for */
    struct series *series;                    /* of the worker at hand; NULL: not measured */
};
struct request {
    struct call *c;
    struct buckets buckets;
    struct metric metrics[METRICS_MAX];
    size_t n;
    bool split;
    int64_t cells; /* made until now; past CELLS_MAX nothing is added any more */
};

static int read_items (struct request *q, struct text items, struct error *err)
{
    struct json_iter it = json_iter (items);

    while (json_next (&it)) {
        const char *key = json_string (q->c->arena, json_get (it.value, "key"));
        const char *name = json_string (q->c->arena, json_get (it.value, "aggregation"));
        unsigned a = 0;
        size_t i = 0;

        if (!key)
            return error_set (err, ERR_VALIDATION, "items: each needs a key");
        while (name && a < 3 && strcmp (name, aggregation_names[a]) != 0)
            a++;
        if (a == 3)
            return error_set (err, ERR_VALIDATION, "items: aggregation '%s' is not one of avg, min, max",
                              name);
        while (i < q->n && strcmp (q->metrics[i].key, key) != 0)
            i++;
        if (i == METRICS_MAX)
            return error_set (err, ERR_VALIDATION, "items: more than %d metrics", METRICS_MAX);
        if (i == q->n)
            q->metrics[q->n++] = (struct metric){ .key = key };
        if (q->metrics[i].aggregations_n < 3)
            q->metrics[i].aggregations[q->metrics[i].aggregations_n++] = a;
    }
    return q->n ? 0 : error_set (err, ERR_VALIDATION, "items: at least one metric is needed");
}

static void cell_add (struct request *q, struct metric *m, int variant, int64_t bucket, double v)
{
    struct series **at = &m->series;
    struct cell *cell;

    if (q->cells > CELLS_MAX)
        return;
    while (*at && (*at)->variant < variant)
        at = &(*at)->next;
    if (!*at || (*at)->variant != variant) {
        if ((q->cells += q->buckets.n) > CELLS_MAX)
            return;
        struct series *s = arena_new (q->c->arena, struct series);

        *s = (struct series){ *at, variant, arena_array (q->c->arena, struct cell, (size_t)q->buckets.n) };
        *at = s;
    }
    cell = &(*at)->cells[bucket];
    v = (double)(float)v; /* what the reference keeps */
    cell->min = cell->n && cell->min < v ? cell->min : v;
    cell->max = cell->n && cell->max > v ? cell->max : v;
    cell->sum += v;
    cell->n++;
}

static void add_report (struct request *q, int64_t time, struct text stats)
{
    int64_t bucket = (time - q->buckets.first) / q->buckets.interval;

    if (time < q->buckets.first || bucket >= q->buckets.n)
        return;
    for (size_t i = 0; i < q->n; i++) {
        struct metric *m = &q->metrics[i];
        struct text member = json_get (stats, m->key);
        double v[1024];
        size_t n = values_of (member, v, 1024);
        bool list = json_kind (member) == JSON_ARRAY;

        for (size_t k = 0; k < n; k++) {
            if (v[k] == 0)
                continue;
            cell_add (q, m, -1, bucket, v[k]);
            if (q->split && list)
                cell_add (q, m, (int)k, bucket, v[k]);
        }
    }
}

static void write_values (struct str *out, const struct series *s, int64_t n, enum aggregation a)
{
    str_putc (out, '[');
    for (int64_t i = 0; i < n; i++) {
        const struct cell *cell = &s->cells[i];
        double v = !cell->n               ? 0
                   : a == AGGREGATION_MIN ? cell->min
                   : a == AGGREGATION_MAX ? cell->max
                                          : cell->sum / (double)cell->n;

        json_put_comma (out);
        str_add_double (out, v);
    }
    str_putc (out, ']');
}

/* Only GPU metrics are split, and only when there are several resources. */
static void write_resources (struct str *out, const struct request *q, const struct metric *m,
                             enum aggregation a)
{
    const struct series *first = m->series->next;

    str_puts (out, ",\"resource_series\":[");
    if (q->split && !strncmp (m->key, "gpu_", 4) && first && first->next)
        for (const struct series *s = first; s; s = s->next) {
            json_put_comma (out);
            str_addf (out, "{\"name\":\"%d\",\"values\":", s->variant);
            write_values (out, s, q->buckets.n, a);
            str_putc (out, '}');
        }
    str_putc (out, ']');
}

static void write_metric (struct str *out, const struct request *q, const struct metric *m)
{
    json_put_comma (out);
    str_puts (out, "{\"metric\":");
    json_put_string (out, m->key);
    str_puts (out, ",\"stats\":[");
    for (unsigned i = 0; i < m->aggregations_n; i++) {
        enum aggregation a = m->aggregations[i];

        json_put_comma (out);
        str_addf (out, "{\"aggregation\":\"%s\",\"dates\":", aggregation_names[a]);
        write_dates (out, &q->buckets);
        str_puts (out, ",\"values\":");
        write_values (out, m->series, q->buckets.n, a);
        write_resources (out, q, m, a);
        str_putc (out, '}');
    }
    str_puts (out, "]}");
}

/* The worker is complete: write it if it measured anything, and forget. */
static void write_worker (struct str *out, struct request *q, const char *worker)
{
    bool any = false;

    for (size_t i = 0; i < q->n; i++)
        any |= q->metrics[i].series != NULL;
    if (any) {
        json_put_comma (out);
        str_puts (out, "{\"worker\":");
        json_put_string (out, worker);
        str_puts (out, ",\"metrics\":[");
        for (size_t i = 0; i < q->n; i++)
            if (q->metrics[i].series)
                write_metric (out, q, &q->metrics[i]);
        str_puts (out, "]}");
    }
    for (size_t i = 0; i < q->n; i++)
        q->metrics[i].series = NULL;
}

int worker_stats (struct call *c, const struct worker_span *span, const struct worker_stats_wish *wish,
                  struct str *out, struct error *err)
{
    cleanup_rows struct rows r = { 0 };
    struct request *q = arena_new (c->arena, struct request);
    struct text ids = wish->worker_ids;
    const char *worker = NULL;
    int more;

    q->c = c;
    q->split = wish->by_resource;
    if (buckets_of (span, false, &q->buckets, err) < 0 || read_items (q, wish->items, err) < 0)
        return -1;
    if (db_query (c->db, &sql_worker_sample_span, &r, err, V_STR (c->who.company),
                  V_INT ((int64_t)(span->from * 1000)), V_INT ((int64_t)(span->to * 1000) + 1),
                  V_TEXT (json_count (ids) ? ids : (struct text){ 0 })) < 0)
        return -1;
    str_putc (out, '[');
    while ((more = db_next (&r, err)) > 0) {
        if (!worker || !text_is (row_text (&r, 0), worker)) {
            if (worker)
                write_worker (out, q, worker);
            worker = row_str (&r, 0, c->arena);
        }
        add_report (q, row_int (&r, 1), row_text (&r, 2));
        if (q->cells > CELLS_MAX)
            return error_set (
                err, ERR_FIELDS_VALUE,
                "interval: %lld s makes more than %d values of these workers and items: take a longer "
                "one, or fewer of them",
                (long long)q->buckets.interval / 1000, CELLS_MAX);
    }
    if (more < 0)
        return -1;
    if (worker)
        write_worker (out, q, worker);
    str_putc (out, ']');
    return 0;
}

/* -- activity ---------------------------------------------------------------------------------------------------- */
int worker_activity (struct call *c, const struct worker_span *span, bool active, struct str *out,
                     struct error *err)
{
    cleanup_rows struct rows r = { 0 };
    struct buckets b;
    int64_t *counts;
    int more;

    if (buckets_of (span, true, &b, err) < 0)
        return -1;
    counts = arena_array (c->arena, int64_t, (size_t)b.n + 1);
    if (db_query (c->db, &sql_worker_sample_activity, &r, err, V_STR (c->who.company),
                  V_INT ((int64_t)(span->from * 1000)), V_INT ((int64_t)(span->to * 1000) + 1),
                  V_INT (b.interval), V_INT (active)) < 0)
        return -1;
    while ((more = db_next (&r, err)) > 0) {
        int64_t i = row_int (&r, 0) - b.first / b.interval;

        if (i >= 0 && i < b.n)
            counts[i] = row_int (&r, 1);
    }
    if (more < 0)
        return -1;
    str_puts (out, "{\"dates\":");
    write_dates (out, &b);
    str_puts (out, ",\"counts\":[");
    for (int64_t i = 0; i < b.n; i++) {
        json_put_comma (out);
        str_add_int (out, counts[i]);
    }
    str_puts (out, "]}");
    return 0;
}
