/* viewer.c - one image (or the plots of one metric) at a time, and the way to its neighbours: get_debug_image_sample,
 * next_debug_image_sample, get_plot_sample, next_plot_sample (server.md 7.6).
 *
 * What one looks at is a view: of images one (metric, variant), of plots one metric with all its variants. Views are
 * ordered by name; at each iteration some of them have something to show. The scroll id remembers task, view and
 * iteration for an hour (store/volatile).
 */
#include "api/events.api.h"
#include "base/id.h"
#include "base/json.h"
#include "services/call.h"
#include "services/events/rows.h"
#include "services/events/scan.h"
#include "sql/sql.h"
#include "store/store.h"
#include "store/volatile.h"

#include <inttypes.h>

enum { STATE_MS = 3600000, PLOTS_MOST = 100 };

struct member { /* a variant that has rows */
    const struct row_name *name;
    int64_t valid_after;
};
struct view {
    const struct member *v;
    size_t n;
};
struct viewer {
    struct call *c;
    int type;
    const char *kind, *task;
    struct stream stream;
    struct view *views;
    size_t n;
    /* state */
    const char *scroll_id, *metric, *variant; /* variant: of images */
    bool one_metric, placed;
    int64_t iter;
};
struct sight { /* out */
    const char *scroll_id;
    struct text shown; /* an object, or a list; absent: nothing */
    bool found;
    int64_t min, max;
};

/* -- state ----------------------------------------------------------------------------------------------------------- */

static char *state_key (struct viewer *w, const char *id)
{
    return arena_printf (w->c->arena, "%s/%s/%s", w->kind, w->c->who.company, id);
}

static bool state_load (struct viewer *w, const char *id)
{
    struct text s;

    if (!id || !*id || !volatile_get (w->c->facts->volatiles, w->c->arena, state_key (w, id), &s) ||
        !json_string_is (json_get (s, "task"), w->task))
        return false;
    w->scroll_id = id;
    w->metric = json_string (w->c->arena, json_get (s, "metric"));
    w->variant = json_string (w->c->arena, json_get (s, "variant"));
    w->one_metric = json_true (json_get (s, "one"));
    w->placed = json_kind (json_get (s, "iter")) == JSON_NUMBER;
    w->iter = json_int (json_get (s, "iter"), 0);
    return w->metric != NULL;
}

static void state_save (struct viewer *w)
{
    struct str s = { .arena = w->c->arena };

    str_puts (&s, "{\"task\":");
    json_put_string (&s, w->task);
    str_puts (&s, ",\"metric\":");
    json_put_string (&s, w->metric);
    str_puts (&s, ",\"variant\":");
    json_put_string (&s, w->variant);
    str_puts (&s, w->one_metric ? ",\"one\":true,\"iter\":" : ",\"one\":false,\"iter\":");
    if (w->placed)
        str_add_int (&s, w->iter);
    else
        str_puts (&s, "null");
    str_putc (&s, '}');
    call_after_commit (w->c, EFFECT_VOLATILE_PUT, state_key (w, w->scroll_id), s.p, STATE_MS);
}

/* -- views ----------------------------------------------------------------------------------------------------------- */

static int load_views (struct viewer *w, bool model, struct error *err)
{
    struct metric_choice only = { .metric = w->metric };
    struct row_name *names;
    struct member *v;
    size_t n;

    if (select_stream (w->c, w->task, model, &w->stream, err) < 0 ||
        rows_names (w->c, w->stream.id, w->type, &only, w->one_metric ? 1 : 0, &names, &n, err) < 0)
        return -1;
    v = arena_array (w->c->arena, struct member, n);
    w->views = arena_array (w->c->arena, struct view, n);
    for (size_t i = 0; i < n; i++) {
        bool same = w->type == EVENT_PLOT && i && !strcmp (names[i].metric, names[i - 1].metric);

        v[i].name = &names[i];
        if (rows_valid_after (w->c, w->stream.id, w->type, &names[i], &v[i].valid_after, err) < 0)
            return -1;
        if (!same)
            w->views[w->n++].v = &v[i];
        w->views[w->n - 1].n++;
    }
    return 0;
}

static size_t current_view (const struct viewer *w) /* w->n: it is gone */
{
    size_t i = 0;

    while (i < w->n && (strcmp (w->views[i].v->name->metric, w->metric) != 0 ||
                        (w->type == EVENT_IMAGE && strcmp (w->views[i].v->name->variant, w->variant) != 0)))
        i++;
    return i;
}

/* The nearest iteration of a view before (earlier) or after `edge`; 1 found, 0 none. */
static int view_next (struct viewer *w, const struct view *view, bool earlier, int64_t edge, int64_t *ret,
                      struct error *err)
{
    int found = 0;

    for (size_t i = 0; i < view->n; i++) {
        const struct member *m = &view->v[i];
        int64_t from = !earlier && m->valid_after > edge ? m->valid_after : edge, iter;
        cleanup_rows struct rows r = { 0 };
        int rc;

        if (db_query (w->c->db, earlier ? &sql_event_row_iters_earlier : &sql_event_row_iters_later, &r, err,
                      V_INT (w->stream.id), V_INT (w->type), V_STR (m->name->metric),
                      V_STR (m->name->variant), V_INT (from), V_INT (1)) < 0 ||
            (rc = db_next (&r, err)) < 0)
            return -1;
        iter = rc ? row_int (&r, 0) : 0;
        if (!rc || iter <= m->valid_after || (found && (earlier ? iter <= *ret : iter >= *ret)))
            continue;
        *ret = iter;
        found = 1;
    }
    return found;
}

/* Append what a view shows at an iteration; *ret_n: how many events. */
static int view_put (struct viewer *w, const struct view *view, int64_t iter, struct str *out, size_t *ret_n,
                     struct error *err)
{
    *ret_n = 0;
    for (size_t i = 0; i < view->n && *ret_n < PLOTS_MOST; i++) {
        const struct member *m = &view->v[i];
        cleanup_rows struct rows r = { 0 };
        int rc;

        if (iter <= m->valid_after)
            continue;
        if (db_query (w->c->db, &sql_event_row_of, &r, err, V_INT (w->stream.id), V_INT (w->type),
                      V_STR (m->name->metric), V_STR (m->name->variant), V_INT (iter), V_INT (iter)) < 0)
            return -1;
        while (*ret_n < (w->type == EVENT_IMAGE ? 1 : PLOTS_MOST) && (rc = db_next (&r, err)) != 0) {
            if (rc < 0)
                return -1;
            json_put_comma (out);
            if (rows_put_doc (out, row_text (&r, 3), err) < 0)
                return -1;
            ++*ret_n;
        }
    }
    return 0;
}

/* Show the view at the iteration, with its range; remember it. */
static int look_at (struct viewer *w, const struct view *view, int64_t iter, struct sight *ret,
                    struct error *err)
{
    struct str s = { .arena = w->c->arena };
    size_t n;

    if (w->type == EVENT_PLOT)
        str_putc (&s, '[');
    if (view_put (w, view, iter, &s, &n, err) < 0 ||
        view_next (w, view, false, INT64_MIN, &ret->min, err) < 0 ||
        view_next (w, view, true, INT64_MAX, &ret->max, err) < 0)
        return -1;
    if (w->type == EVENT_PLOT)
        str_putc (&s, ']');
    ret->found = n > 0;
    ret->shown = str_text (&s);
    w->metric = view->v->name->metric;
    w->variant = view->v->name->variant;
    w->iter = iter;
    w->placed = true;
    return 0;
}

static int get_sample (struct viewer *w, const char *scroll_id, const int64_t *iteration, bool refresh,
                       bool model, struct sight *ret, struct error *err)
{
    const char *metric = w->metric, *variant = w->variant;
    bool one_metric = w->one_metric;
    int64_t iter;
    size_t at;
    int rc;

    (void)refresh; /* everything is looked up anew each time */
    if (state_load (w, scroll_id)) {
        if (one_metric && strcmp (w->metric, metric) != 0)
            return error_set (err, ERR_INVALID_SCROLL_ID, "field scroll_id: it belongs to metric %s",
                              w->metric);
    } else {
        w->scroll_id = arena_strdup (w->c->arena, id_random ().hex);
    }
    w->metric = metric;
    w->variant = variant;
    w->one_metric = one_metric;
    if (load_views (w, model, err) < 0)
        return -1;
    ret->scroll_id = w->scroll_id;
    at = current_view (w);
    if (at < w->n) {
        bool bounded = iteration && *iteration < INT64_MAX;

        rc = view_next (w, &w->views[at], true, bounded ? *iteration + 1 : INT64_MAX, &iter, err);
        if (rc < 0 || (rc && look_at (w, &w->views[at], iter, ret, err) < 0))
            return -1;
    }
    state_save (w);
    return 0;
}

/* The view before or after `at` that shows something at the iteration. 1 found. */
static int beside (struct viewer *w, size_t at, bool earlier, int64_t iter, struct sight *ret,
                   struct error *err)
{
    size_t i = at;

    while (earlier ? i-- > 0 : ++i < w->n) {
        if (look_at (w, &w->views[i], iter, ret, err) < 0)
            return -1;
        if (ret->found)
            return 1;
    }
    return 0;
}

/* The nearest other iteration at which any view shows something, at its last (earlier) or first view. */
static int beyond (struct viewer *w, bool earlier, int64_t iter, struct sight *ret, struct error *err)
{
    int64_t best = 0, one;
    bool found = false;
    int rc;

    for (size_t i = 0; i < w->n; i++) {
        if ((rc = view_next (w, &w->views[i], earlier, iter, &one, err)) < 0)
            return -1;
        if (rc && (!found || (earlier ? one > best : one < best)))
            best = one;
        found |= rc > 0;
    }
    return found ? beside (w, earlier ? w->n : SIZE_MAX, earlier, best, ret, err) : 0;
}

static int next_sample (struct viewer *w, const char *scroll_id, bool earlier, bool next_iteration,
                        bool model, struct sight *ret, struct error *err)
{
    const char *metric, *variant;
    int64_t iter;
    int rc = 0;

    if (!state_load (w, scroll_id))
        return error_set (err, ERR_INVALID_SCROLL_ID, "field scroll_id: unknown or older than an hour");
    metric = w->metric;
    variant = w->variant;
    iter = w->iter;
    ret->scroll_id = w->scroll_id;
    if (load_views (w, model, err) < 0)
        return -1;
    if (w->placed && !next_iteration)
        rc = beside (w, current_view (w), earlier, iter, ret, err);
    if (w->placed && rc == 0)
        rc = beyond (w, earlier, iter, ret, err);
    if (rc < 0)
        return -1;
    if (!rc) { /* nothing there: stay */
        *ret = (struct sight){ .scroll_id = w->scroll_id };
        w->metric = metric;
        w->variant = variant;
        w->iter = iter;
    }
    state_save (w);
    return 0;
}

/* -- calls ----------------------------------------------------------------------------------------------------------- */

#define FILL_SIGHT(out, sight)                                                                               \
    do {                                                                                                     \
        (out)->scroll_id = (sight).scroll_id;                                                                \
        (out)->min_iteration = (sight).min;                                                                  \
        (out)->max_iteration = (sight).max;                                                                  \
        (out)->has.min_iteration = (out)->has.max_iteration = (sight).found;                                 \
        (out)->null.min_iteration = (out)->null.max_iteration = !(sight).found;                              \
    } while (0)

int events_get_debug_image_sample (struct call *c, const struct events_get_debug_image_sample_in *in,
                                   struct events_get_debug_image_sample_out *out, struct error *err)
{
    struct viewer w = { .c = c,
                        .type = EVENT_IMAGE,
                        .kind = "image",
                        .task = in->task,
                        .metric = in->metric,
                        .variant = in->variant,
                        .one_metric = in->navigate_current_metric };
    struct sight s = { 0 };

    if (get_sample (&w, in->scroll_id, in->has.iteration ? &in->iteration : NULL, in->refresh,
                    in->model_events, &s, err) < 0)
        return -1;
    FILL_SIGHT (out, s);
    out->event = s.found ? s.shown : (struct text){ 0 };
    out->null.event = !s.found;
    return 0;
}

int events_next_debug_image_sample (struct call *c, const struct events_next_debug_image_sample_in *in,
                                    struct events_next_debug_image_sample_out *out, struct error *err)
{
    struct viewer w = { .c = c, .type = EVENT_IMAGE, .kind = "image", .task = in->task };
    struct sight s = { 0 };

    if (next_sample (&w, in->scroll_id, in->navigate_earlier, in->next_iteration, in->model_events, &s, err) <
        0)
        return -1;
    FILL_SIGHT (out, s);
    out->event = s.found ? s.shown : (struct text){ 0 };
    out->null.event = !s.found;
    return 0;
}

int events_get_plot_sample (struct call *c, const struct events_get_plot_sample_in *in,
                            struct events_get_plot_sample_out *out, struct error *err)
{
    struct viewer w = { .c = c,
                        .type = EVENT_PLOT,
                        .kind = "plot",
                        .task = in->task,
                        .metric = in->metric,
                        .variant = "",
                        .one_metric = in->navigate_current_metric };
    struct sight s = { 0 };

    if (get_sample (&w, in->scroll_id, in->has.iteration ? &in->iteration : NULL, in->refresh,
                    in->model_events, &s, err) < 0)
        return -1;
    FILL_SIGHT (out, s);
    out->events = s.found ? s.shown : TEXT ("[]");
    return 0;
}

int events_next_plot_sample (struct call *c, const struct events_next_plot_sample_in *in,
                             struct events_next_plot_sample_out *out, struct error *err)
{
    struct viewer w = { .c = c, .type = EVENT_PLOT, .kind = "plot", .task = in->task };
    struct sight s = { 0 };

    if (next_sample (&w, in->scroll_id, in->navigate_earlier, in->next_iteration, in->model_events, &s, err) <
        0)
        return -1;
    FILL_SIGHT (out, s);
    out->events = s.found ? s.shown : TEXT ("[]");
    return 0;
}
