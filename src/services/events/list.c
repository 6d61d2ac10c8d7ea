/* list.c - events as they were sent, by iteration: get_task_events; points of a metric: scalar_metrics_iter_raw; and
 * which metrics there are: get_task_metrics, get_multi_task_metrics. */
#include "api/events.api.h"
#include "base/json.h"
#include "services/call.h"
#include "services/events/row.h"
#include "services/events/rows.h"
#include "services/events/scroll.h"
#include "services/events/select.h"
#include "services/events/value.h"
#include "sql/sql.h"
#include "store/store.h"
#include "store/text.h"

#include <inttypes.h>
#include <stdlib.h>

enum { PAGE_MOST = 10000, RAW_MOST = 200000, TASKS_MOST = 1000 };

/* -- what may stand in a page ------------------------------------------------------------------------------------------ */

struct item {                    /* a scalar point, or the document of a row */
    int64_t key;                 /* what pages go by */
    size_t order;                /* of equal ones */
    const struct series *series; /* NULL: a row */
    struct point point;
    struct text doc; /* of a row: squeezed */
};
struct items {
    struct arena *arena;
    struct item *v;
    size_t n, cap;
    int64_t total;
};

static void items_add (struct items *l, struct item i)
{
    if (l->n == l->cap) {
        size_t cap = l->cap ? l->cap * 2 : 256;
        struct item *more = arena_array (l->arena, struct item, cap);

        if (l->n)
            memcpy (more, l->v, l->n * sizeof (*more));
        l->v = more;
        l->cap = cap;
    }
    i.order = l->n;
    l->v[l->n++] = i;
}

static int ascending (const void *va, const void *vb)
{
    const struct item *a = va, *b = vb;

    if (a->key != b->key)
        return a->key < b->key ? -1 : 1;
    return a->order < b->order ? -1 : a->order > b->order;
}

static int descending (const void *va, const void *vb)
{
    const struct item *a = va, *b = vb;

    if (a->key != b->key)
        return a->key > b->key ? -1 : 1;
    return a->order < b->order ? -1 : a->order > b->order;
}

/* Order, and how many belong to the page: all that share the key of its last one come along. */
static size_t page_end (struct items *l, bool down, size_t most)
{
    size_t n = l->n < most ? l->n : most;

    if (l->n)
        qsort (l->v, l->n, sizeof (*l->v), down ? descending : ascending);
    while (n && n < l->n && l->v[n].key == l->v[n - 1].key)
        n++;
    return n;
}

struct position { /* where a scroll goes on: after (or, down, before) this key */
    bool given, down;
    int64_t key;
    int64_t batch_size; /* of the first request */
    int64_t logs;       /* console events given so far */
};

static bool is_next (const struct position *p, int64_t key)
{
    return !p->given || (p->down ? key < p->key : key > p->key);
}

static int collect_points (struct selection *s, bool by_time, bool all_points, const struct position *from,
                           struct items *l, struct error *err)
{
    for (size_t i = 0; i < s->n; i++) {
        cleanup_arena struct arena *scratch = arena_create ();
        struct point *p;
        size_t n;

        if (series_points (s->reader, i, scratch, &p, &n, err) < 0)
            return -1;
        for (size_t k = 0; k < n; k++) {
            /* events without iteration come last, whatever the direction */
            int64_t key = by_time                       ? p[k].time
                          : p[k].iter != SERIES_NO_ITER ? p[k].iter
                          : from->down                  ? INT64_MIN
                                                        : INT64_MAX;

            if (!all_points && point_is_none (p[k].value))
                continue;
            l->total++;
            if (is_next (from, key))
                items_add (l, (struct item){ .key = key, .series = s->v[i], .point = p[k] });
        }
    }
    return 0;
}

/* -- get_task_events --------------------------------------------------------------------------------------------------- */

static int collect_rows (struct call *c, const struct stream *s, int type,
                         const struct metric_choice *choices, size_t choices_n, const struct position *from,
                         struct items *l, struct error *err)
{
    cleanup_rows struct rows r = { 0 };
    int rc;

    if (db_query (c->db, &sql_event_row_list, &r, err, V_INT (s->id)) < 0)
        return -1;
    while ((rc = db_next (&r, err)) > 0) {
        int64_t key = !row_null (&r, 1) ? row_int (&r, 1) : from->down ? INT64_MIN : INT64_MAX;

        if ((type && row_int (&r, 0) != type) ||
            (choices_n &&
             !metric_chosen (choices, choices_n, row_str (&r, 2, c->arena), row_str (&r, 3, c->arena))))
            continue;
        l->total++;
        if (is_next (from, key))
            items_add (l, (struct item){ .key = key, .doc = row_copy (&r, 4, c->arena) });
    }
    return rc;
}

/* Console events have no iteration: they come after all others, in order of time. Their keys: where each stands. */
static int collect_logs (struct call *c, const struct stream *s, struct items *l, struct text **ret,
                         size_t *ret_n, int64_t skip, size_t most, const char *task, struct error *err)
{
    int64_t from = INT64_MIN;
    struct text *v = arena_array (c->arena, struct text, most);
    struct log_event *e;
    size_t n, used = 0;

    l->total += s->log_events;
    do {
        cleanup_arena struct arena *page = arena_create ();

        if (log_page (c->db, page, s->id, false, from, 5000, NULL, NULL, &e, &n, err) < 0)
            return -1;
        for (size_t i = 0; i < n && used < most; i++) {
            struct str one = { .arena = c->arena };

            if (skip-- > 0)
                continue;
            event_log_put (&one, &e[i], task, true);
            v[used++] = str_text (&one);
        }
        from = n ? e[n - 1].time : from;
    } while (n && used < most);
    *ret = v;
    *ret_n = used;
    return 0;
}

static int put_item (struct call *c, struct str *s, const struct selection *chosen, const struct item *i,
                     struct text task, struct error *err)
{
    struct text extra;

    if (!i->series)
        return rows_put_doc (s, i->doc, err);
    str_putc (s, '{');
    event_head (s, EVENT_SCALAR, task, i->point.iter, i->point.time, text_of (i->series->metric),
                text_of (i->series->variant));
    if (!point_is_none (i->point.value)) {
        str_puts (s, ",\"value\":");
        value_put (s, i->point.value, VALUE_FORM (c));
    }
    extra = series_extra (chosen->reader, i->point.extra);
    if (extra.n) {
        str_putc (s, ',');
        str_add_text (s, extra);
    }
    event_received (s, i->point.received);
    str_putc (s, '}');
    return 0;
}

static int open_position (struct call *c, const char *kind, const char *scroll_id, struct position *p,
                          struct error *err)
{
    struct text state;

    if (!scroll_id || !*scroll_id)
        return 0;
    if (scroll_open (c, kind, scroll_id, &state, err) < 0)
        return -1;
    p->given = json_kind (json_get (state, "key")) == JSON_NUMBER;
    p->key = json_int (json_get (state, "key"), 0);
    p->down = json_true (json_get (state, "down"));
    p->batch_size = json_int (json_get (state, "size"), p->batch_size);
    p->logs = json_int (json_get (state, "logs"), 0);
    return 0;
}

static char *make_position (struct call *c, const char *kind, const struct position *p)
{
    struct str s = { .arena = c->arena };

    str_puts (&s, "{\"key\":");
    if (p->given)
        str_add_int (&s, p->key);
    else
        str_puts (&s, "null");
    str_addf (&s, ",\"down\":%s,\"size\":%" PRId64 ",\"logs\":%" PRId64 "}", p->down ? "true" : "false",
              p->batch_size, p->logs);
    return scroll_make (c, kind, str_text (&s));
}

int events_get_task_events (struct call *c, const struct events_get_task_events_in *in,
                            struct events_get_task_events_out *out, struct error *err)
{
    struct position at = { .down = in->order && !strcmp (in->order, "desc"), .batch_size = in->batch_size };
    size_t most, n, logs_n = 0;
    bool all = !strcmp (in->event_type, "*") || !*in->event_type;
    int type = all ? 0 : event_type_find (text_of (in->event_type));
    struct items l = { .arena = c->arena };
    struct str s = { .arena = c->arena };
    struct selection chosen = { 0 };
    struct metric_choice *choices;
    struct text *logs = NULL;
    struct stream stream;

    METRIC_CHOICES (c->arena, in->metrics, choices);
    if (!all && !type)
        return error_set (err, ERR_VALIDATION, "field event_type: '%.40s' is no type of events",
                          in->event_type);
    if (open_position (c, "events", in->scroll_id, &at, err) < 0)
        return -1;
    at.batch_size = in->has.batch_size ? in->batch_size : at.batch_size;
    most = (size_t)(at.batch_size < 1 ? 1 : at.batch_size > PAGE_MOST ? PAGE_MOST : at.batch_size);
    if (select_stream (c, in->task, in->model_events, &stream, err) < 0 ||
        ((all || type == EVENT_SCALAR) &&
         select_series (c, &stream, choices, in->metrics.n, &chosen, err) < 0) ||
        collect_points (&chosen, false, true, &at, &l, err) < 0 ||
        collect_rows (c, &stream, type, choices, in->metrics.n, &at, &l, err) < 0)
        return -1;
    n = page_end (&l, at.down, most);
    if ((all || type == EVENT_LOG) && !in->metrics.n &&
        collect_logs (c, &stream, &l, &logs, &logs_n, at.logs, n < most ? most - n : 0, in->task, err) < 0)
        return -1;
    str_putc (&s, '[');
    for (size_t i = 0; i < n; i++) {
        json_put_comma (&s);
        if (put_item (c, &s, &chosen, &l.v[i], text_of (in->task), err) < 0)
            return -1;
    }
    for (size_t i = 0; i < logs_n; i++) {
        json_put_comma (&s);
        str_add_text (&s, logs[i]);
    }
    str_putc (&s, ']');
    if (n) {
        at.given = true;
        at.key = l.v[n - 1].key;
    }
    out->events = str_text (&s);
    out->returned = (int64_t)(n + logs_n);
    out->total = l.total;
    at.logs += (int64_t)logs_n;
    out->scroll_id = make_position (c, "events", &at);
    out->has.returned = out->has.total = true;
    return 0;
}

/* -- scalar_metrics_iter_raw --------------------------------------------------------------------------------------------- */

static void put_raw_variant (struct call *c, struct str *s, const struct items *l, size_t n,
                             const struct series *of, const char *key_name, bool iso)
{
    struct str y = { .arena = c->arena };
    bool first = true;

    json_put_key (s, of->variant);
    str_puts (s, "{\"");
    str_puts (s, key_name);
    str_puts (s, "\":[");
    for (size_t i = 0; i < n; i++) {
        if (l->v[i].series != of)
            continue;
        if (!first) {
            str_putc (s, ',');
            str_putc (&y, ',');
        }
        first = false;
        if (iso) {
            struct str at = { .arena = c->arena };

            event_received (&at, l->v[i].point.time); /* ,"@timestamp":"..." */
            str_add (s, at.p + 14, at.n - 14);
        } else {
            str_add_int (s, l->v[i].key);
        }
        value_put (&y, l->v[i].point.value, VALUE_FORM (c));
    }
    str_puts (s, "],\"y\":[");
    str_add_text (s, str_text (&y));
    str_puts (s, "]}");
}

int events_scalar_metrics_iter_raw (struct call *c, const struct events_scalar_metrics_iter_raw_in *in,
                                    struct events_scalar_metrics_iter_raw_out *out, struct error *err)
{
    bool iso = !strcmp (in->key, "iso_time"), by_time = iso || !strcmp (in->key, "timestamp");
    struct metric_choice choice = { in->metric->metric, (const char *const *)in->metric->variants.v,
                                    in->metric->variants.n };
    struct items l = { .arena = c->arena };
    struct str s = { .arena = c->arena };
    struct position at = { .batch_size = in->batch_size };
    struct selection chosen;
    struct stream stream;
    size_t n;

    if (!by_time && strcmp (in->key, "iter") != 0)
        return error_set (err, ERR_VALIDATION, "field key: '%.40s' is none of iter, timestamp, iso_time",
                          in->key);
    if (open_position (c, "raw", in->scroll_id, &at, err) < 0)
        return -1;
    at.batch_size = in->has.batch_size ? in->batch_size : at.batch_size;
    if (at.batch_size < 1 || at.batch_size > RAW_MOST)
        return error_set (err, ERR_VALIDATION, "field batch_size: %" PRId64 " is not between 1 and %d",
                          at.batch_size, RAW_MOST);
    if (select_stream (c, in->task, in->model_events, &stream, err) < 0 ||
        select_series (c, &stream, &choice, 1, &chosen, err) < 0 ||
        collect_points (&chosen, by_time, false, &at, &l, err) < 0)
        return -1;
    n = page_end (&l, false, (size_t)at.batch_size);
    str_putc (&s, '{');
    for (size_t i = 0; i < chosen.n; i++) {
        for (size_t k = 0; k < n; k++) {
            if (l.v[k].series == chosen.v[i]) {
                put_raw_variant (c, &s, &l, n, chosen.v[i], in->key, iso);
                break;
            }
        }
    }
    str_putc (&s, '}');
    if (n) {
        at.given = true;
        at.key = l.v[n - 1].key;
    }
    out->returned = (int64_t)n;
    out->total = l.total;
    out->variants = str_text (&s);
    out->scroll_id = make_position (c, "raw", &at);
    out->has.returned = true;
    out->has.total = in->count_total;
    out->null.total = !in->count_total;
    return 0;
}

/* -- which metrics there are ----------------------------------------------------------------------------------------------- */

struct pair {
    const char *metric, *variant;
};
struct pairs {
    struct arena *arena;
    struct intern seen; /* metric \0 variant */
    struct pair *v;
    size_t cap;
};

static void pairs_add (struct pairs *p, struct text metric, struct text variant)
{
    struct str name = { .arena = p->arena };
    size_t before = p->seen.n;

    str_add_text (&name, metric);
    str_putc (&name, 0);
    str_add_text (&name, variant);
    if (intern_add (&p->seen, str_text (&name)) != before)
        return;
    if (before == p->cap) {
        struct pair *more = arena_array (p->arena, struct pair, p->cap ? p->cap * 2 : 32);

        if (before)
            memcpy (more, p->v, before * sizeof (*more));
        p->v = more;
        p->cap = p->cap ? p->cap * 2 : 32;
    }
    p->v[before] = (struct pair){ arena_strndup (p->arena, metric.n ? metric.p : "", metric.n),
                                  arena_strndup (p->arena, variant.n ? variant.p : "", variant.n) };
}

static int by_name (const void *va, const void *vb)
{
    const struct pair *a = va, *b = vb;
    int rc = strcmp (a->metric, b->metric);

    return rc ? rc : strcmp (a->variant, b->variant);
}

/* Has the series anything but single values? */
static bool over_iterations (const struct series *s)
{
    return s->count && !(s->first_iter == SERIES_SINGLE && s->last_iter == SERIES_SINGLE &&
                         (!s->finite || (s->min_iter == SERIES_SINGLE && s->max_iter == SERIES_SINGLE)));
}

static bool note_log (const struct log_event *e, void *arg)
{
    pairs_add (arg, e->metric, e->variant);
    return false;
}

static bool note_log_with_iteration (const struct log_event *e, void *arg)
{
    return memmem (e->extra.p, e->extra.n, "\"iter\":", 7) && note_log (e, arg);
}

/* Names of one task's events of a type (0: all). `curves`: without single values and events that have no iteration. */
static int collect_names (struct call *c, const struct stream *s, int type, bool curves, struct pairs *p,
                          struct error *err)
{
    struct series *v = NULL;
    struct row_name *names;
    int64_t none;
    size_t n = 0;

    if (!s->id)
        return 0;
    if ((!type || type == EVENT_SCALAR) && series_list (c->db, c->arena, s->id, &v, &n, err) < 0)
        return -1;
    for (size_t i = 0; i < n; i++)
        if (!curves || over_iterations (&v[i]))
            pairs_add (p, text_of (v[i].metric), text_of (v[i].variant));
    for (int t = EVENT_VECTOR; t <= EVENT_PLOT; t++) {
        if (type && type != t)
            continue;
        if (rows_names (c, s->id, t, NULL, 0, &names, &n, err) < 0)
            return -1;
        for (size_t i = 0; i < n; i++)
            if (!curves || names[i].iters)
                pairs_add (p, text_of (names[i].metric), text_of (names[i].variant));
    }
    if (s->log_events && (type == EVENT_LOG || (!type && !curves))) /* all of the console is read for this */
        return log_count (c->db, s->id, curves ? note_log_with_iteration : note_log, p, &none, err);
    return 0;
}

static int read_type (const char *name, int *ret, struct error *err)
{
    *ret = !name || !*name || !strcmp (name, "*") ? 0 : (int)event_type_find (text_of (name));
    if (*ret || !name || !*name || !strcmp (name, "*"))
        return 0;
    return error_set (err, ERR_VALIDATION, "field event_type: '%.40s' is no type of events", name);
}

int events_get_task_metrics (struct call *c, const struct events_get_task_metrics_in *in,
                             struct events_get_task_metrics_out *out, struct error *err)
{
    struct str s = { .arena = c->arena };
    int type;

    if (read_type (in->event_type, &type, err) < 0)
        return -1;
    str_putc (&s, '[');
    for (size_t i = 0; i < in->tasks.n && i < TASKS_MOST; i++) {
        struct pairs p = { .arena = c->arena, .seen = { .arena = c->arena } };
        struct stream stream;

        if (select_stream (c, in->tasks.v[i], in->model_events, &stream, err) < 0 ||
            collect_names (c, &stream, type, true, &p, err) < 0)
            return -1;
        if (p.seen.n)
            qsort (p.v, p.seen.n, sizeof (*p.v), by_name);
        json_put_comma (&s);
        str_puts (&s, "{\"task\":");
        json_put_string (&s, in->tasks.v[i]);
        str_puts (&s, ",\"metrics\":[");
        for (size_t k = 0; k < p.seen.n; k++) {
            if (k && !strcmp (p.v[k].metric, p.v[k - 1].metric))
                continue;
            json_put_comma (&s);
            json_put_string (&s, p.v[k].metric);
        }
        str_puts (&s, "]}");
    }
    str_putc (&s, ']');
    out->metrics = str_text (&s);
    return 0;
}

int events_get_multi_task_metrics (struct call *c, const struct events_get_multi_task_metrics_in *in,
                                   struct events_get_multi_task_metrics_out *out, struct error *err)
{
    struct pairs p = { .arena = c->arena, .seen = { .arena = c->arena } };
    struct str s = { .arena = c->arena };
    int type;

    if (read_type (in->event_type, &type, err) < 0)
        return -1;
    for (size_t i = 0; i < in->tasks.n && i < TASKS_MOST; i++) {
        struct stream stream;

        if (select_stream (c, in->tasks.v[i], in->model_events, &stream, err) < 0 ||
            collect_names (c, &stream, type, false, &p, err) < 0)
            return -1;
    }
    if (p.seen.n)
        qsort (p.v, p.seen.n, sizeof (*p.v), by_name);
    str_putc (&s, '[');
    for (size_t k = 0; k < p.seen.n; k++) {
        bool first = !k || strcmp (p.v[k].metric, p.v[k - 1].metric) != 0;

        if (first && k)
            str_puts (&s, "]}");
        json_put_comma (&s);
        if (first) {
            str_puts (&s, "{\"metric\":");
            json_put_string (&s, p.v[k].metric);
            str_puts (&s, ",\"variants\":[");
        }
        json_put_string (&s, p.v[k].variant);
    }
    str_puts (&s, p.seen.n ? "]}]" : "]");
    out->metrics = str_text (&s);
    return 0;
}
