/* summary.c - what tasks and models say of their metrics: last_metrics, unique_metrics, metric_stats. All three are
 * composed from the rows of series when asked for; see events.h. */
#include "services/events/events.h"

#include "base/clock.h"
#include "base/json.h"
#include "services/events/scan.h"
#include "services/events/value.h"
#include "sql/sql.h"
#include "store/series.h"
#include "store/squeeze.h"
#include "store/store.h"
#include "store/text.h"

#include <math.h>
#include <stdlib.h>

static void put_half_key (struct str *s, const char *md5)
{
    json_put_comma (s);
    str_putc (s, '"');
    str_add (s, md5, SERIES_KEY / 2);
    str_puts (s, "\":");
}

static void put_value (struct str *s, const char *name, double v, enum value_form form)
{
    str_putc (s, ',');
    str_putc (s, '"');
    str_puts (s, name);
    str_puts (s, "\":");
    value_put (s, v, form);
}

static void put_iter (struct str *s, const char *name, int64_t v)
{
    str_puts (s, ",\"");
    str_puts (s, name);
    str_puts (s, "\":");
    str_add_int (s, v);
}

static void put_series (struct str *s, const struct series *v, enum value_form form)
{
    str_puts (s, "{\"metric\":");
    json_put_string (s, v->metric);
    str_puts (s, ",\"variant\":");
    json_put_string (s, v->variant);
    put_value (s, "value", v->last, form);
    put_value (s, "min_value", v->min, form);
    put_iter (s, "min_value_iteration", v->finite ? v->min_iter : v->first_iter);
    put_value (s, "max_value", v->max, form);
    put_iter (s, "max_value_iteration", v->finite ? v->max_iter : v->first_iter);
    put_value (s, "first_value", v->first, form);
    put_iter (s, "first_value_iteration", v->first_iter);
    put_iter (s, "count", v->count);
    put_value (s, "mean_value", v->mean, form);
    if (v->label) {
        str_puts (s, ",\"x_axis_label\":");
        json_put_string (s, v->label);
    }
    str_putc (s, '}');
}

static int series_of (const struct query_source *src, const char *task, struct series **ret, size_t *ret_n,
                      struct error *err)
{
    struct stream s;

    *ret_n = 0;
    if (stream_get (src->db, task, &s, err) < 0)
        return -1;
    return s.series ? series_list (src->db, src->arena, s.id, ret, ret_n, err) : 0;
}

static int by_key (const void *a, const void *b)
{
    return strcmp (((const struct series *)a)->key, ((const struct series *)b)->key);
}

int events_last_metrics_of (const struct query_source *src, const char *owner, struct str *out,
                            struct error *err)
{
    const struct series *before = NULL;
    struct series *v = NULL;
    size_t n;

    if (series_of (src, owner, &v, &n, err) < 0)
        return -1;
    if (n)
        qsort (v, n, sizeof (*v), by_key);
    str_putc (out, '{');
    for (size_t i = 0; i < n; i++) {
        if (v[i].hidden || !v[i].count)
            continue;
        if (!before || memcmp (before->key, v[i].key, SERIES_KEY / 2) != 0) {
            if (before)
                str_putc (out, '}');
            put_half_key (out, v[i].key);
            str_putc (out, '{');
        }
        put_half_key (out, v[i].key + SERIES_KEY / 2);
        put_series (out, &v[i], VALUE_FORM (src));
        before = &v[i];
    }
    str_puts (out, before ? "}}" : "}");
    return 0;
}

int events_last_metrics (const struct query_source *src, struct rows *r, int col, struct str *out,
                         struct error *err)
{
    return events_last_metrics_of (src, row_str (r, col, src->arena), out, err);
}

int events_unique_metrics (const struct query_source *src, struct rows *r, int col, struct str *out,
                           struct error *err)
{
    struct series *v = NULL;
    size_t n;

    if (series_of (src, row_str (r, col, src->arena), &v, &n, err) < 0)
        return -1;
    str_putc (out, '[');
    for (size_t i = 0; i < n; i++) {
        struct str name = { .arena = src->arena };

        if (v[i].hidden || !v[i].count)
            continue;
        str_puts (&name, v[i].metric);
        str_putc (&name, '/');
        str_puts (&name, v[i].variant);
        json_put_comma (out);
        str_add_json (out, name.p, name.n);
    }
    str_putc (out, ']');
    return 0;
}

/* -- metric_stats ---------------------------------------------------------------------------------------------------- */

struct stat_row {
    const char *metric;
    int64_t updated[EVENT_LOG + 1]; /* by type, 0 = none */
};
struct stats {
    struct arena *arena;
    struct intern names;
    struct stat_row *v;
    size_t cap;
};

static void note (struct stats *s, enum event_type type, const char *metric, int64_t updated)
{
    uint32_t i = intern_add (&s->names, text_of (metric));

    if (i >= s->cap) {
        struct stat_row *more = arena_array (s->arena, struct stat_row, s->cap ? s->cap * 2 : 32);

        if (s->cap)
            memcpy (more, s->v, s->cap * sizeof (*more));
        s->v = more;
        s->cap = s->cap ? s->cap * 2 : 32;
    }
    s->v[i].metric = metric;
    if (updated > s->v[i].updated[type])
        s->v[i].updated[type] = updated;
}

static int note_rows (struct db *db, struct stats *st, int64_t stream, struct error *err)
{
    cleanup_rows struct rows r = { 0 };
    int rc;

    if (db_query (db, &sql_event_row_types, &r, err, V_INT (stream)) < 0)
        return -1;
    while ((rc = db_next (&r, err)) > 0)
        note (st, (enum event_type)row_int (&r, 0), row_str (&r, 1, st->arena), row_int (&r, 2));
    return rc;
}

static void put_stat (struct str *out, const struct stat_row *v)
{
    char key[SERIES_KEY + 1];

    series_key (text_of (v->metric), TEXT (""), key);
    put_half_key (out, key);
    str_puts (out, "{\"metric\":");
    json_put_string (out, v->metric);
    str_puts (out, ",\"event_stats_by_type\":{");
    for (int t = EVENT_SCALAR; t <= EVENT_LOG; t++) {
        if (!v->updated[t])
            continue;
        json_put_key (out, event_type_name ((enum event_type)t));
        str_addf (out, "{\"last_update\":%lld}", (long long)v->updated[t]);
    }
    str_puts (out, "}}");
}

int events_metric_stats (const struct query_source *src, struct rows *r, int col, struct str *out,
                         struct error *err)
{
    struct stats st = { .arena = src->arena, .names = { .arena = src->arena } };
    struct series *v = NULL;
    struct stream s;
    size_t n = 0;

    if (stream_get (src->db, row_str (r, col, src->arena), &s, err) < 0)
        return -1;
    if (s.series && series_list (src->db, src->arena, s.id, &v, &n, err) < 0)
        return -1;
    for (size_t i = 0; i < n; i++)
        note (&st, EVENT_SCALAR, v[i].metric, v[i].updated);
    if (s.id && note_rows (src->db, &st, s.id, err) < 0)
        return -1;
    if (s.log_updated)
        note (&st, EVENT_LOG, "", s.log_updated);
    str_putc (out, '{');
    for (size_t i = 0; i < st.names.n; i++)
        put_stat (out, &st.v[i]);
    str_putc (out, '}');
    return 0;
}

/* -- deleting -------------------------------------------------------------------------------------------------------- */

int events_retire (struct db *db, const char *task, struct error *err)
{
    return stream_retire (db, task, err);
}

static int collect_urls (struct intern *urls, struct rows *r, struct error *err)
{
    struct text doc, list;
    struct json_iter it;

    if (row_int (r, 0) == EVENT_IMAGE) {
        if (!row_null (r, 1))
            intern_add (urls, row_text (r, 1));
        return 0;
    }
    if (unsqueeze (urls->arena, row_text (r, 2), (size_t)1 << 30, &doc, err) < 0)
        return -1;
    doc = text_of (arena_printf (urls->arena, "{%.*s}", (int)doc.n, doc.p));
    list = json_get (doc, "source_urls");
    for (it = json_iter (list); json_next (&it);)
        intern_add (urls, text_of (json_string (urls->arena, it.value)));
    return 0;
}

int events_urls (struct db *db, struct arena *a, const char *task, struct str *out, struct error *err)
{
    struct intern urls = { .arena = a, .copy = true };
    cleanup_rows struct rows r = { 0 };
    struct stream s;
    int rc = 0;

    if (stream_get (db, task, &s, err) < 0 ||
        db_query (db, &sql_event_row_all_urls, &r, err, V_INT (s.id)) < 0)
        return -1;
    while ((rc = db_next (&r, err)) > 0) {
        if (collect_urls (&urls, &r, err) < 0)
            return -1;
    }
    str_putc (out, '[');
    for (size_t i = 0; i < urls.n; i++) {
        json_put_comma (out);
        str_add_json (out, urls.v[i].p, urls.v[i].n);
    }
    str_putc (out, ']');
    return rc;
}

/* -- background ------------------------------------------------------------------------------------------------------ */

static int first_stream (struct db *db, const struct sql *sql, int64_t *ret, struct error *err)
{
    cleanup_rows struct rows r = { 0 };
    int rc;

    if (db_query (db, sql, &r, err) < 0 || (rc = db_next (&r, err)) < 0)
        return -1;
    *ret = rc ? row_int (&r, 0) : 0;
    return 0;
}

enum { SWEEP_ROWS = 100, FOLD_POINTS = 16384 };

static int sweep (struct db *db, int64_t budget_ms, void *arg, struct error *err)
{
    int64_t until = clock_monotonic () + budget_ms, stream;
    bool more = true;

    (void)arg;
    while (more && clock_monotonic () < until) {
        if (stream_sweep (db, SWEEP_ROWS, &more, err) < 0)
            return -1;
    }
    while (!more && clock_monotonic () < until) {
        if (first_stream (db, &sql_stream_to_fold, &stream, err) < 0)
            return -1;
        if (stream) {
            if (series_fold (db, stream, FOLD_POINTS, until, err) < 0)
                return error_wrap (err, "fold stream %lld", (long long)stream);
            continue;
        }
        if (first_stream (db, &sql_stream_to_join, &stream, err) < 0)
            return -1;
        if (!stream)
            return 0;
        if (log_join (db, stream, err) < 0)
            return error_wrap (err, "join console of stream %lld", (long long)stream);
    }
    return 1;
}

const struct sweeper events_sweeper = { .name = "events", .period_ms = 1000, .run = sweep };
