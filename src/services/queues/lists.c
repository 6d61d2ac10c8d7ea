/* lists.c - queues.get_by_id, get_all, get_all_ex and get_queue_metrics: what only reads. */
#include "api/queues.api.h"

#include "base/json.h"
#include "services/answer.h"
#include "services/queues/rules.h"
#include "services/tasks/tasks.h"
#include "services/workers/workers.h"
#include "sql/sql.h"
#include "store/store.h"

extern const struct query_entity queues_ex_entity; /* entity.c */

/* -- documents --------------------------------------------------------------------------------------------------- */
/* The first n items of a list. */
static struct text list_head (struct call *c, struct text list, int64_t n)
{
    struct str s = { .arena = c->arena };
    struct json_iter it = json_iter (list);

    str_putc (&s, '[');
    for (int64_t i = 0; i < n && json_next (&it); i++) {
        json_put_comma (&s);
        str_add_text (&s, it.value);
    }
    str_putc (&s, ']');
    return str_text (&s);
}

/* max_task_entries: the document with the first n entries only; n < 0: as it is. */
static struct text entries_head (struct call *c, struct text doc, int64_t n)
{
    struct str s = { .arena = c->arena };
    struct json_iter it = json_iter (doc);

    if (n < 0 || !json_get (doc, "entries").p)
        return doc;
    str_putc (&s, '{');
    while (json_next (&it)) {
        json_put_member (&s, it.key, text_is (it.key, "entries") ? list_head (c, it.value, n) : it.value);
    }
    str_putc (&s, '}');
    return str_text (&s);
}

static struct text all_heads (struct call *c, struct text docs, int64_t n)
{
    struct str s = { .arena = c->arena };
    struct json_iter it = json_iter (docs);

    if (n < 0)
        return docs;
    str_putc (&s, '[');
    while (json_next (&it)) {
        json_put_comma (&s);
        str_add_text (&s, entries_head (c, it.value, n));
    }
    str_putc (&s, ']');
    return str_text (&s);
}

int queues_get_by_id (struct call *c, const struct queues_get_by_id_in *in, struct queues_get_by_id_out *out,
                      struct error *err)
{
    struct query_source src = call_source (c);
    struct text doc = { 0 };
    struct queue_name q;

    if (queue_find (c, in->queue, &q, err) < 0 ||
        query_one (&src, &queues_entity, in->queue, TEXT ("{}"), QUERY_OWN, &doc, err) < 0)
        return -1;
    out->queue = entries_head (c, doc, in->has.max_task_entries ? in->max_task_entries : -1);
    return 0;
}

static int run (struct call *c, const struct query_entity *entity, struct text body,
                const struct query_options *o, struct text *ret_queues, const char **ret_scroll,
                struct error *err)
{
    struct query_source src = call_source (c);
    struct query_result result = { 0 };

    if (query_run (&src, entity, body, o, &result, err) < 0)
        return -1;
    *ret_queues = all_heads (c, result.items, json_int (json_get (c->body, "max_task_entries"), -1));
    *ret_scroll = result.scroll_id;
    return 0;
}

int queues_get_all (struct call *c, const struct queues_get_all_in *in, struct queues_get_all_out *out,
                    struct error *err)
{
    struct query_options o = { .flags = QUERY_OWN };

    (void)in;
    return run (c, &queues_entity, c->body, &o, &out->queues, &out->scroll_id, err);
}

/* -- with workers ------------------------------------------------------------------------------------------------ */
struct crew { /* all live workers, once a call */
    struct call *c;
    struct worker *v;
    size_t n;
};

static void put_worker (struct call *c, struct str *out, const struct worker *w)
{
    const char *name = w->task ? task_name (c, w->task) : NULL;

    json_put_comma (out);
    str_puts (out, "{\"name\":");
    json_put_string (out, w->id);
    str_puts (out, ",\"ip\":");
    json_put_string (out, w->ip);
    str_puts (out, ",\"key\":");
    json_put_string (out, w->key);
    str_puts (out, ",\"task\":");
    if (w->task) {
        str_puts (out, "{\"id\":");
        json_put_string (out, w->task);
        str_puts (out, ",\"name\":");
        json_put_string (out, name);
        str_putc (out, '}');
    } else {
        str_puts (out, "null");
    }
    str_putc (out, '}');
}

static int put_workers (const struct query_source *src, const char *id, struct str *out, void *arg,
                        struct error *err)
{
    struct crew *crew = arg;

    (void)src, (void)err;
    str_puts (out, ",\"workers\":[");
    for (size_t i = 0; i < crew->n; i++)
        for (size_t k = 0; k < crew->v[i].queues.n; k++)
            if (!strcmp (crew->v[i].queues.v[k], id)) {
                put_worker (crew->c, out, &crew->v[i]);
                break;
            }
    str_putc (out, ']');
    return 0;
}

/* The request without a projection: this call always gives all. */
static struct text without_projection (struct call *c)
{
    struct str s = { .arena = c->arena };
    struct json_iter it = json_iter (c->body);

    str_putc (&s, '{');
    while (json_next (&it)) {
        if (text_is (it.key, "only_fields") || text_is (it.key, "projection"))
            continue;
        json_put_member (&s, it.key, it.value);
    }
    str_putc (&s, '}');
    return str_text (&s);
}

int queues_get_all_ex (struct call *c, const struct queues_get_all_ex_in *in,
                       struct queues_get_all_ex_out *out, struct error *err)
{
    struct crew crew = { .c = c };
    struct query_options o = { .flags = QUERY_OWN | QUERY_EX, .item = put_workers, .arg = &crew };

    (void)in;
    workers_list (c, &crew.v, &crew.n);
    return run (c, &queues_ex_entity, without_projection (c), &o, &out->queues, &out->scroll_id, err);
}

/* -- metrics ----------------------------------------------------------------------------------------------------- */
enum { LOOK_BACK_S = 3600, POINTS_MAX = 100000 };

struct point {
    int64_t date; /* ms: start of the interval */
    double wait;  /* s */
    int64_t length;
};
struct points {
    struct point *v;
    size_t n, cap;
};
struct metrics_span {
    int64_t from, to, interval; /* s */
    bool now;                   /* with the state of this moment (refresh) */
};

static void add_point (struct call *c, struct points *all, struct point p)
{
    struct point *last = all->n ? &all->v[all->n - 1] : NULL;

    if (last && last->date == p.date) {
        if (p.wait > last->wait || (p.wait == last->wait && p.length > last->length))
            *last = p;
        return;
    }
    if (all->n == all->cap) {
        struct point *grown = arena_array (c->arena, struct point, all->cap = all->cap ? all->cap * 2 : 64);

        if (all->n)
            memcpy (grown, all->v, all->n * sizeof (*grown));
        all->v = grown;
    }
    all->v[all->n++] = p;
}

/* Of each interval the sample with the longest wait (then the longest queue), from an hour before the span on. */
static int read_points (struct call *c, const struct queue *q, const struct metrics_span *span,
                        struct points *ret, struct error *err)
{
    cleanup_rows struct rows r = { 0 };
    int64_t step = span->interval, now = c->now / 1000;
    int more;

    *ret = (struct points){ 0 };
    if (db_query (c->db, &sql_queue_sample_list, &r, err, V_INT (q->seq), V_INT (span->from - LOOK_BACK_S),
                  V_INT (span->to)) < 0)
        return -1;
    while ((more = db_next (&r, err)) > 0)
        add_point (c, ret,
                   (struct point){ row_int (&r, 0) / step * step * 1000, row_real (&r, 2), row_int (&r, 3) });
    if (span->now && now >= span->from && now <= span->to)
        add_point (c, ret, (struct point){ now / step * step * 1000, queue_wait (c, q), q->length });
    return more;
}

static void put_points (struct str *out, const char *queue, const struct points *p, int64_t from_ms)
{
    struct str waits = { .arena = out->arena }, lengths = { .arena = out->arena };

    json_put_comma (out);
    str_puts (out, "{\"queue\":");
    json_put_string (out, queue);
    str_puts (out, ",\"dates\":[");
    str_puts (&waits, "[");
    str_puts (&lengths, "[");
    for (size_t i = 0; i < p->n; i++) {
        if (p->v[i].date < from_ms)
            continue;
        json_put_comma (out);
        str_add_int (out, p->v[i].date);
        json_put_comma (&waits);
        str_add_double (&waits, p->v[i].wait);
        json_put_comma (&lengths);
        str_add_int (&lengths, p->v[i].length);
    }
    str_puts (out, "],\"avg_waiting_times\":");
    str_add_text (out, str_text (&waits));
    str_puts (out, "],\"queue_lengths\":");
    str_add_text (out, str_text (&lengths));
    str_puts (out, "]}");
}

static int date_order (const void *a, const void *b)
{
    int64_t l = *(const int64_t *)a, r = *(const int64_t *)b;

    return l < r ? -1 : l > r;
}

/* All queues as one: lengths summed, waits weighted by length; a queue's last value holds until its next. */
static struct points total_points (struct call *c, const struct points *queues, size_t n)
{
    struct points total = { 0 };
    size_t all = 0, dates_n = 0, *at = arena_array (c->arena, size_t, n + 1);
    int64_t *dates;

    for (size_t i = 0; i < n; i++)
        all += queues[i].n;
    dates = arena_array (c->arena, int64_t, all + 1);
    total.v = arena_array (c->arena, struct point, all + 1);
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < queues[i].n; k++)
            dates[dates_n++] = queues[i].v[k].date;
    qsort (dates, dates_n, sizeof (*dates), date_order);
    for (size_t d = 0; d < dates_n; d++) {
        struct point p = { .date = dates[d] };

        if (d && dates[d] == dates[d - 1])
            continue;
        for (size_t i = 0; i < n; i++) {
            while (at[i] < queues[i].n && queues[i].v[at[i]].date <= p.date)
                at[i]++;
            if (at[i]) {
                p.length += queues[i].v[at[i] - 1].length;
                p.wait += queues[i].v[at[i] - 1].wait * (double)queues[i].v[at[i] - 1].length;
            }
        }
        if (p.length)
            p.wait /= (double)p.length;
        total.v[total.n++] = p;
    }
    return total;
}

static int span_check (const struct queues_get_queue_metrics_in *in, struct metrics_span *ret,
                       struct error *err)
{
    if (!(in->from_date < in->to_date) || in->from_date < 0 || in->to_date > 1e11)
        return error_set (err, ERR_FIELDS_VALUE, "from_date: %.0f is not before to_date %.0f", in->from_date,
                          in->to_date);
    if (in->interval < 1)
        return error_set (err, ERR_VALIDATION, "interval: %lld is less than 1 s", (long long)in->interval);
    if (in->interval > 100000000000)
        return error_set (err, ERR_FIELDS_VALUE, "interval: %lld s is more than a time can be",
                          (long long)in->interval);
    if ((in->to_date - in->from_date) / (double)in->interval > POINTS_MAX)
        return error_set (err, ERR_FIELDS_VALUE, "interval: the span holds more than %d intervals",
                          POINTS_MAX);
    *ret = (struct metrics_span){ (int64_t)in->from_date, (int64_t)in->to_date, in->interval, in->refresh };
    return 0;
}

/* The queues asked for, or all that are not hidden. */
static int chosen (struct call *c, const struct queues_get_queue_metrics_in *in, struct queue **ret,
                   size_t *ret_n, struct error *err)
{
    struct query_source src = call_source (c);
    struct query_options o = { .flags = QUERY_OWN | QUERY_UNPAGED };
    struct query_result found = { 0 };
    struct json_iter it;

    if (in->queue_ids.n) {
        *ret = arena_array (c->arena, struct queue, in->queue_ids.n);
        for (size_t i = 0; i < in->queue_ids.n; i++)
            if (queue_load (c, in->queue_ids.v[i], &(*ret)[i], err) < 0)
                return -1;
        *ret_n = in->queue_ids.n;
        return 0;
    }
    if (query_run (&src, &queues_entity, TEXT ("{\"only_fields\":[\"id\"]}"), &o, &found, err) < 0)
        return -1;
    *ret = arena_array (c->arena, struct queue, found.n + 1);
    *ret_n = 0;
    for (it = json_iter (found.items); json_next (&it);)
        if (queue_load (c, json_string (c->arena, json_get (it.value, "id")), &(*ret)[(*ret_n)++], err) < 0)
            return -1;
    return 0;
}

int queues_get_queue_metrics (struct call *c, const struct queues_get_queue_metrics_in *in,
                              struct queues_get_queue_metrics_out *out, struct error *err)
{
    struct str s = { .arena = c->arena };
    struct metrics_span span = { 0 };
    struct points *points, total;
    struct queue *queues;
    int64_t from_ms;
    size_t n;

    if (span_check (in, &span, err) < 0 || chosen (c, in, &queues, &n, err) < 0)
        return -1;
    from_ms = (span.from - span.interval) * 1000;
    points = arena_array (c->arena, struct points, n + 1);
    str_putc (&s, '[');
    for (size_t i = 0; i < n; i++) {
        if (read_points (c, &queues[i], &span, &points[i], err) < 0)
            return -1;
        if (in->queue_ids.n && points[i].n)
            put_points (&s, queues[i].id, &points[i], from_ms);
    }
    if (!in->queue_ids.n && n) {
        total = total_points (c, points, n);
        put_points (&s, "total", &total, from_ms);
    }
    str_putc (&s, ']');
    out->queues = str_text (&s);
    return 0;
}
