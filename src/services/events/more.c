/* more.c - calls that few clients use: last values of a task's scalars, events of one metric by scroll, vectors, deleting
 * a model's events. */
#include "api/events.api.h"
#include "base/json.h"
#include "services/call.h"
#include "services/events/row.h"
#include "services/events/rows.h"
#include "services/events/scroll.h"
#include "services/events/select.h"
#include "services/events/value.h"
#include "services/models/models.h"
#include "services/tasks/tasks.h"
#include "sql/sql.h"
#include "store/squeeze.h"
#include "store/store.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

enum { DATA_PAGE = 500, LAST_FEW = 10 };

/* -- get_task_latest_scalar_values --------------------------------------------------------------------------------------- */

struct latest {
    double last, mean;
    int64_t time;
    bool any;
};

/* Of values above zero, as the reference counts: the newest, and the mean of the newest ten. */
static int find_latest (struct selection *s, size_t i, struct latest *ret, struct error *err)
{
    cleanup_arena struct arena *scratch = arena_create ();
    struct point *p;
    double sum = 0;
    size_t n, few = 0;

    *ret = (struct latest){ 0 };
    if (series_points (s->reader, i, scratch, &p, &n, err) < 0)
        return -1;
    while (n-- > 0 && few < LAST_FEW) {
        if (!isfinite (p[n].value) || p[n].value <= 0)
            continue;
        if (!ret->any) {
            ret->any = true;
            ret->last = p[n].value;
            ret->time = p[n].time;
        }
        sum += p[n].value;
        few++;
    }
    ret->mean = few ? sum / (double)few : 0;
    return 0;
}

int events_get_task_latest_scalar_values (struct call *c,
                                          const struct events_get_task_latest_scalar_values_in *in,
                                          struct events_get_task_latest_scalar_values_out *out,
                                          struct error *err)
{
    struct str s = { .arena = c->arena };
    const char *metric = NULL;
    struct selection chosen;
    struct task_facts facts;
    struct stream stream;

    if (task_facts (c, in->task, true, &facts, err) < 0 || stream_get (c->db, in->task, &stream, err) < 0 ||
        select_series (c, &stream, NULL, 0, &chosen, err) < 0)
        return -1;
    str_putc (&s, '[');
    for (size_t i = 0; i < chosen.n; i++) {
        const struct series *x = chosen.v[i];
        struct latest l;

        if (find_latest (&chosen, i, &l, err) < 0)
            return -1;
        if (!l.any)
            continue;
        if (!metric || strcmp (metric, x->metric) != 0) {
            str_puts (&s, metric ? "]},{\"name\":" : "{\"name\":");
            json_put_string (&s, x->metric);
            str_puts (&s, ",\"variants\":[");
        }
        metric = x->metric;
        json_put_comma (&s);
        str_puts (&s, "{\"name\":");
        json_put_string (&s, x->variant);
        str_puts (&s, ",\"last_value\":");
        str_add_double (&s, l.last);
        str_puts (&s, ",\"last_10_value\":");
        str_add_double (&s, l.mean);
        str_putc (&s, '}');
        out->last_timestamp = l.time > out->last_timestamp ? l.time : out->last_timestamp;
    }
    str_puts (&s, metric ? "]}]" : "]");
    out->metrics = str_text (&s);
    out->last_iter = facts.last_iteration;
    out->name = facts.name;
    out->status = facts.status;
    out->has.last_iter = true;
    out->has.last_timestamp = out->last_timestamp != 0;
    return 0;
}

/* -- get_scalar_metric_data ---------------------------------------------------------------------------------------------- */

struct datum {
    const struct series *series;
    struct point point;
};

static int newest_first (const void *va, const void *vb)
{
    const struct datum *a = va, *b = vb;

    if (a->point.iter != b->point.iter)
        return a->point.iter > b->point.iter ? -1 : 1;
    return strcmp (a->series->variant, b->series->variant);
}

static void put_datum (struct call *c, struct str *s, const struct selection *chosen, const struct datum *d,
                       const char *task)
{
    struct text extra = series_extra (chosen->reader, d->point.extra);

    json_put_comma (s);
    str_putc (s, '{');
    event_head (s, EVENT_SCALAR, text_of (task), d->point.iter, d->point.time, text_of (d->series->metric),
                text_of (d->series->variant));
    if (!point_is_none (d->point.value)) {
        str_puts (s, ",\"value\":");
        value_put (s, d->point.value, VALUE_FORM (c));
    }
    if (extra.n) {
        str_putc (s, ',');
        str_add_text (s, extra);
    }
    event_received (s, d->point.received);
    str_putc (s, '}');
}

static int all_points (struct call *c, struct selection *chosen, struct datum **ret, size_t *ret_n,
                       struct error *err)
{
    struct datum *v = NULL;
    size_t n = 0, cap = 0;

    for (size_t i = 0; i < chosen->n; i++) {
        cleanup_arena struct arena *scratch = arena_create ();
        struct point *p;
        size_t points;

        if (series_points (chosen->reader, i, scratch, &p, &points, err) < 0)
            return -1;
        if (n + points > cap) {
            struct datum *more = arena_array (c->arena, struct datum, cap = (n + points) * 2);

            if (n)
                memcpy (more, v, n * sizeof (*v));
            v = more;
        }
        for (size_t k = 0; k < points; k++)
            v[n++] = (struct datum){ chosen->v[i], p[k] };
    }
    if (n)
        qsort (v, n, sizeof (*v), newest_first);
    *ret = v;
    *ret_n = n;
    return 0;
}

int events_get_scalar_metric_data (struct call *c, const struct events_get_scalar_metric_data_in *in,
                                   struct events_get_scalar_metric_data_out *out, struct error *err)
{
    bool ended = in->scroll_id && !strcmp (in->scroll_id, "FFFF");
    struct metric_choice choice = { .metric = in->metric };
    struct str s = { .arena = c->arena };
    struct selection chosen;
    struct stream stream;
    struct text state;
    struct datum *v;
    size_t n, from = 0, upto;

    if (in->scroll_id && *in->scroll_id && !ended) {
        if (scroll_open (c, "data", in->scroll_id, &state, err) < 0)
            return -1;
        from = (size_t)json_int (json_get (state, "from"), 0);
    }
    if (select_stream (c, in->task, in->model_events, &stream, err) < 0 ||
        select_series (c, &stream, &choice, 1, &chosen, err) < 0 || all_points (c, &chosen, &v, &n, err) < 0)
        return -1;
    from = ended || from > n ? n : from;
    upto = n - from > DATA_PAGE ? from + DATA_PAGE : n;
    str_putc (&s, '[');
    for (size_t i = from; i < upto; i++)
        put_datum (c, &s, &chosen, &v[i], in->task);
    str_putc (&s, ']');
    out->events = str_text (&s);
    out->returned = (int64_t)(upto - from);
    out->total = (int64_t)n;
    out->has.returned = out->has.total = true;
    if (in->no_scroll)
        out->null.scroll_id = true;
    else
        out->scroll_id =
            upto > from ? scroll_make (c, "data", text_of (arena_printf (c->arena, "{\"from\":%zu}", upto)))
                        : "FFFF";
    return 0;
}

/* -- vectors --------------------------------------------------------------------------------------------------------------- */

int events_get_vector_metrics_and_variants (struct call *c,
                                            const struct events_get_vector_metrics_and_variants_in *in,
                                            struct events_get_vector_metrics_and_variants_out *out,
                                            struct error *err)
{
    struct str s = { .arena = c->arena };
    struct row_name *names;
    struct stream stream;
    size_t n;

    if (select_stream (c, in->task, in->model_events, &stream, err) < 0 ||
        rows_names (c, stream.id, EVENT_VECTOR, NULL, 0, &names, &n, err) < 0)
        return -1;
    str_putc (&s, '{');
    for (size_t i = 0; i < n; i++) {
        bool first = !i || strcmp (names[i].metric, names[i - 1].metric) != 0;

        if (first && i)
            str_putc (&s, ']');
        if (first) {
            json_put_key (&s, names[i].metric);
            str_putc (&s, '[');
        }
        json_put_comma (&s);
        json_put_string (&s, names[i].variant);
    }
    str_puts (&s, n ? "]}" : "}");
    out->metrics = str_text (&s);
    return 0;
}

static int put_vectors (struct call *c, const struct stream *stream,
                        const struct events_vector_metrics_iter_histogram_in *in, struct str *vectors,
                        struct events_vector_metrics_iter_histogram_out *out, struct error *err)
{
    cleanup_rows struct rows r = { 0 };
    size_t cap = 0;
    int rc;

    if (db_query (c->db, &sql_event_row_ascending, &r, err, V_INT (stream->id), V_INT (EVENT_VECTOR),
                  V_STR (in->metric), V_STR (in->variant)) < 0)
        return -1;
    while ((rc = db_next (&r, err)) > 0) {
        struct str doc = { .arena = c->arena };
        struct text value;

        if (rows_put_doc (&doc, row_text (&r, 1), err) < 0)
            return -1;
        value = json_get (str_text (&doc), "value");
        json_put_comma (vectors);
        str_add_text (vectors, value.p ? value : TEXT ("[]"));
        if (out->iterations.n == cap) {
            int64_t *more = arena_array (c->arena, int64_t, cap ? cap * 2 : 64);

            if (cap)
                memcpy (more, out->iterations.v, cap * sizeof (*more));
            out->iterations.v = more;
            cap = cap ? cap * 2 : 64;
        }
        out->iterations.v[out->iterations.n++] = row_int (&r, 0);
    }
    return rc;
}

int events_vector_metrics_iter_histogram (struct call *c,
                                          const struct events_vector_metrics_iter_histogram_in *in,
                                          struct events_vector_metrics_iter_histogram_out *out,
                                          struct error *err)
{
    struct str vectors = { .arena = c->arena };
    struct stream stream;

    if (select_stream (c, in->task, in->model_events, &stream, err) < 0)
        return -1;
    out->iterations.v = arena_array (c->arena, int64_t, 1);
    str_putc (&vectors, '[');
    if (put_vectors (c, &stream, in, &vectors, out, err) < 0)
        return -1;
    str_putc (&vectors, ']');
    out->metric = in->metric;
    out->variant = in->variant;
    out->vectors = str_text (&vectors);
    return 0;
}

/* -- deleting --------------------------------------------------------------------------------------------------------------- */

int events_delete_for_model (struct call *c, const struct events_delete_for_model_in *in,
                             struct events_delete_for_model_out *out, struct error *err)
{
    cleanup_rows struct rows r = { 0 };
    int rc;

    if (db_query (c->db, &sql_event_model_ready, &r, err, V_STR (in->model), V_STR (c->who.company)) < 0 ||
        (rc = db_next (&r, err)) < 0)
        return -1;
    if (!rc || (row_int (&r, 0) && !in->allow_locked))
        return error_set (err, ERR_INVALID_MODEL_ID, "model %s: %s", in->model,
                          rc ? "published, its events cannot be changed" : "no such model");
    if (stream_retire (c->db, in->model, err) < 0)
        return -1;
    call_after_commit (c, EFFECT_SWEEP, NULL, NULL, 0);
    out->deleted = out->has.deleted = true;
    return 0;
}
