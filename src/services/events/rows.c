/* rows.c - plots: the last ones of one task and of many. Rows hold the finished JSON; reading is choosing. */
#include "services/events/rows.h"
#include "api/events.api.h"
#include "base/json.h"
#include "services/call.h"
#include "services/events/scan.h"
#include "services/tasks/tasks.h"
#include "sql/sql.h"
#include "store/squeeze.h"
#include "store/store.h"

enum { ITERS_MOST = 10000 };
#define DOC_LONGEST ((size_t)1 << 30)

int rows_put_doc (struct str *s, struct text doc, struct error *err)
{
    struct arena *scratch = arena_create ();
    int rc = unsqueeze (scratch, doc, DOC_LONGEST, &doc, err);

    if (rc == 0) {
        str_putc (s, '{');
        str_add_text (s, doc);
        str_putc (s, '}');
    }
    arena_destroy (scratch);
    return rc;
}

int rows_names (struct call *c, int64_t stream, int type, const struct metric_choice *choices,
                size_t choices_n, struct row_name **ret, size_t *ret_n, struct error *err)
{
    cleanup_rows struct rows r = { 0 };
    struct row_name *v = NULL;
    size_t n = 0, cap = 0;
    int rc;

    if (db_query (c->db, &sql_event_row_names, &r, err, V_INT (stream), V_INT (type)) < 0)
        return -1;
    while ((rc = db_next (&r, err)) > 0) {
        struct row_name name = { row_str (&r, 0, c->arena), row_str (&r, 1, c->arena), row_int (&r, 3),
                                 row_int (&r, 4) };

        if (!metric_chosen (choices, choices_n, name.metric, name.variant))
            continue;
        if (n == cap) {
            struct row_name *more = arena_array (c->arena, struct row_name, cap ? cap * 2 : 16);

            if (n)
                memcpy (more, v, n * sizeof (*v));
            v = more;
            cap = cap ? cap * 2 : 16;
        }
        v[n++] = name;
    }
    *ret = v;
    *ret_n = n;
    return rc;
}

int rows_valid_after (struct call *c, int64_t stream, int type, const struct row_name *name, int64_t *ret,
                      struct error *err)
{
    cleanup_rows struct rows r = { 0 };
    char *newest = NULL;
    int64_t newest_iter = 0;
    int rc;

    *ret = INT64_MIN;
    if (type != EVENT_IMAGE)
        return 0;
    if (db_query (c->db, &sql_event_row_urls, &r, err, V_INT (stream), V_INT (type), V_STR (name->metric),
                  V_STR (name->variant)) < 0)
        return -1;
    while ((rc = db_next (&r, err)) > 0) {
        if (!newest) {
            newest = row_str (&r, 1, c->arena);
            newest_iter = row_int (&r, 0);
        } else if (row_int (&r, 0) < newest_iter && text_is (row_text (&r, 1), newest)) {
            *ret = row_int (&r, 0);
            return 0;
        }
    }
    return rc;
}

static int64_t clamp_iters (int64_t iters)
{
    return iters < 1 ? 1 : iters > ITERS_MOST ? ITERS_MOST : iters;
}

int events_get_task_plots (struct call *c, const struct events_get_task_plots_in *in,
                           struct events_get_task_plots_out *out, struct error *err)
{
    struct str s = { .arena = c->arena };
    struct metric_choice *choices;
    struct row_name *names;
    struct stream stream;
    size_t n;

    METRIC_CHOICES (c->arena, in->metrics, choices);
    if (select_stream (c, in->task, in->model_events, &stream, err) < 0 ||
        rows_names (c, stream.id, EVENT_PLOT, choices, in->metrics.n, &names, &n, err) < 0)
        return -1;
    str_putc (&s, '[');
    for (size_t i = 0; i < n; i++) {
        cleanup_rows struct rows r = { 0 };
        int rc;

        if (db_query (c->db, &sql_event_row_last, &r, err, V_INT (stream.id), V_INT (EVENT_PLOT),
                      V_STR (names[i].metric), V_STR (names[i].variant), V_INT (clamp_iters (in->iters))) < 0)
            return -1;
        while ((rc = db_next (&r, err)) > 0) {
            json_put_comma (&s);
            if (rows_put_doc (&s, row_text (&r, 0), err) < 0)
                return -1;
            out->returned++;
        }
        if (rc < 0)
            return -1;
    }
    str_putc (&s, ']');
    out->plots = str_text (&s);
    out->total = out->returned;
    out->has.returned = out->has.total = out->null.scroll_id = true;
    return 0;
}

/* -- many tasks ------------------------------------------------------------------------------------------------------ */

struct many_plot {
    const char *metric, *variant, *task, *name;
    int64_t stream, iter;
    bool has_iter;
    struct text doc; /* squeezed */
};
struct many {
    struct arena *arena;
    struct many_plot *v;
    size_t n, cap;
};

static int by_place (const void *va, const void *vb)
{
    const struct many_plot *a = va, *b = vb;
    int rc = strcmp (a->metric, b->metric);

    rc = rc ? rc : strcmp (a->variant, b->variant);
    rc = rc ? rc : strcmp (a->task, b->task);
    return rc ? rc : a->iter > b->iter ? -1 : a->iter < b->iter;
}

/* The `iters` greatest iterations of each metric (or of the whole task) bound what is taken from each variant. */
static int many_limits (struct call *c, int64_t stream, struct row_name *names, size_t n, size_t from,
                        int64_t iters, int64_t *ret_least, struct error *err)
{
    int64_t *tops = arena_array (c->arena, int64_t, (size_t)iters);
    int64_t used = 0;

    for (size_t i = from; i < n; i++) {
        cleanup_rows struct rows r = { 0 };
        int rc;

        if (db_query (c->db, &sql_event_row_iters_earlier, &r, err, V_INT (stream), V_INT (EVENT_PLOT),
                      V_STR (names[i].metric), V_STR (names[i].variant), V_INT (INT64_MAX),
                      V_INT (iters)) < 0)
            return -1;
        while ((rc = db_next (&r, err)) > 0) {
            int64_t iter = row_int (&r, 0), at = used;

            while (at > 0 && tops[at - 1] < iter)
                at--;
            if ((at > 0 && tops[at - 1] == iter) || at == iters)
                continue;
            used += used < iters;
            memmove (tops + at + 1, tops + at, (size_t)(used - at - 1) * sizeof (*tops));
            tops[at] = iter;
        }
        if (rc < 0)
            return -1;
    }
    *ret_least = used ? tops[used - 1] : INT64_MIN;
    return 0;
}

static void many_add (struct many *m, struct many_plot p)
{
    if (m->n == m->cap) {
        struct many_plot *more = arena_array (m->arena, struct many_plot, m->cap ? m->cap * 2 : 64);

        if (m->n)
            memcpy (more, m->v, m->n * sizeof (*more));
        m->v = more;
        m->cap = m->cap ? m->cap * 2 : 64;
    }
    m->v[m->n++] = p;
}

static int many_read (struct call *c, struct many *m, struct many_plot like, const struct row_name *name,
                      int64_t least, int64_t iters, struct error *err)
{
    cleanup_rows struct rows r = { 0 };
    int rc = 0;

    like.metric = name->metric;
    like.variant = name->variant;
    if (db_query (c->db, &sql_event_row_of, &r, err, V_INT (like.stream), V_INT (EVENT_PLOT),
                  V_STR (name->metric), V_STR (name->variant), V_INT (least), V_INT (INT64_MAX)) < 0)
        return -1;
    while (iters-- > 0 && (rc = db_next (&r, err)) > 0) {
        like.iter = row_int (&r, 0);
        like.doc = row_copy (&r, 3, c->arena);
        many_add (m, like);
    }
    return rc < 0 ? -1 : 0;
}

static int many_of_task (struct call *c, struct many *m, const char *task, bool model, int64_t iters,
                         bool by_metric, const struct metric_choice *choices, size_t choices_n,
                         struct error *err)
{
    struct many_plot like = { .task = task, .name = model ? NULL : task_name (c, task) };
    struct row_name *names;
    struct stream stream;
    size_t n, end;
    int64_t least;

    if (select_stream (c, task, model, &stream, err) < 0 ||
        rows_names (c, stream.id, EVENT_PLOT, choices, choices_n, &names, &n, err) < 0)
        return -1;
    like.stream = stream.id;
    like.name = like.name ? like.name : task;
    for (size_t from = 0; from < n; from = end) {
        for (end = from + 1; end < n && (!by_metric || !strcmp (names[end].metric, names[from].metric));
             end++)
            ;
        if (many_limits (c, stream.id, names, end, from, iters, &least, err) < 0)
            return -1;
        for (size_t i = from; i < end; i++) {
            if (many_read (c, m, like, &names[i], least, iters, err) < 0)
                return -1;
        }
    }
    return 0;
}

static int put_many (const struct many *m, struct str *s, int64_t *ret_metrics, struct error *err)
{
    const struct many_plot *b = NULL;

    str_putc (s, '{');
    for (size_t i = 0; i < m->n; b = &m->v[i++]) {
        const struct many_plot *p = &m->v[i];
        int differs = !b || strcmp (b->metric, p->metric) != 0 ? 3
                      : strcmp (b->variant, p->variant) != 0   ? 2
                      : strcmp (b->task, p->task) != 0         ? 1
                                                               : 0;

        for (int k = 0; b && k < differs; k++)
            str_putc (s, '}');
        if (differs >= 3) {
            json_put_key (s, p->metric);
            str_putc (s, '{');
            ++*ret_metrics;
        }
        if (differs >= 2) {
            json_put_key (s, p->variant);
            str_putc (s, '{');
        }
        if (differs >= 1) {
            json_put_key (s, p->task);
            str_putc (s, '{');
        }
        json_put_comma (s);
        str_addf (s, "\"%lld\":{\"name\":", (long long)p->iter);
        json_put_string (s, p->name);
        str_puts (s, ",\"plots\":[");
        if (rows_put_doc (s, p->doc, err) < 0)
            return -1;
        str_puts (s, "]}");
    }
    str_puts (s, m->n ? "}}}}" : "}");
    return 0;
}

int events_get_multi_task_plots (struct call *c, const struct events_get_multi_task_plots_in *in,
                                 struct events_get_multi_task_plots_out *out, struct error *err)
{
    struct str s = { .arena = c->arena };
    struct many m = { .arena = c->arena };
    struct metric_choice *choices;

    METRIC_CHOICES (c->arena, in->metrics, choices);
    for (size_t i = 0; i < in->tasks.n; i++) {
        if (many_of_task (c, &m, in->tasks.v[i], in->model_events, clamp_iters (in->iters),
                          in->last_iters_per_task_metric, choices, in->metrics.n, err) < 0)
            return -1;
    }
    if (m.n)
        qsort (m.v, m.n, sizeof (*m.v), by_place);
    if (put_many (&m, &s, &out->returned, err) < 0)
        return -1;
    out->plots = str_text (&s);
    out->total = (int64_t)m.n;
    out->has.returned = out->has.total = out->null.scroll_id = true;
    return 0;
}
