/* images.c - debug_images and plots as one walks through them: pages of iterations, older and newer, remembered by
 * scroll id (server.md 7.6).
 *
 * State (store/volatile, one hour): for each task the newest and oldest iteration of the last page that had anything.
 * An image whose file was overwritten since (the newest url of its variant was used before) is hidden, and all that is
 * as old.
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
#include <stdlib.h>

enum { STATE_MS = 3600000, ITERS_MOST = 1000, TASKS_MOST = 1000, SKIP_MOST = 1000 };

struct shown { /* one variant and from where on its images are still themselves */
    const struct row_name *name;
    int64_t valid_after;
};
struct wanted_task {
    const char *task;
    struct metric_choice *choices;
    size_t choices_n;
    bool all; /* one of the requests named no metric */
    struct stream stream;
    struct shown *v;
    size_t n;
    bool placed;
    int64_t min, max; /* of the last page */
};
struct walk {
    struct call *c;
    int type; /* EVENT_IMAGE or EVENT_PLOT */
    const char *kind;
    bool earlier;
    int64_t iters;
    struct wanted_task *tasks;
    size_t n;
};

/* -- state ----------------------------------------------------------------------------------------------------------- */

static char *state_key (struct walk *w, const char *id)
{
    return arena_printf (w->c->arena, "%s/%s/%s", w->kind, w->c->who.company, id);
}

/* Places of the tasks as they were left. false: no such state. */
static bool state_load (struct walk *w, const char *id)
{
    struct text state, place;

    if (!id || !*id || !volatile_get (w->c->facts->volatiles, w->c->arena, state_key (w, id), &state))
        return false;
    for (size_t i = 0; i < w->n; i++) {
        struct wanted_task *t = &w->tasks[i];
        struct json_iter it;

        place = json_get (state, t->task);
        it = json_iter (place);
        t->placed = json_next (&it);
        t->min = t->placed ? json_int (it.value, 0) : 0;
        t->placed = t->placed && json_next (&it);
        t->max = t->placed ? json_int (it.value, 0) : 0;
    }
    return true;
}

static void state_save (struct walk *w, const char *id)
{
    struct str s = { .arena = w->c->arena };

    str_putc (&s, '{');
    for (size_t i = 0; i < w->n; i++) {
        if (!w->tasks[i].placed)
            continue;
        json_put_key (&s, w->tasks[i].task);
        str_addf (&s, "[%" PRId64 ",%" PRId64 "]", w->tasks[i].min, w->tasks[i].max);
    }
    str_putc (&s, '}');
    call_after_commit (w->c, EFFECT_VOLATILE_PUT, state_key (w, id), s.p, STATE_MS);
}

/* -- which variants, from where on ------------------------------------------------------------------------------------ */

static int find_variants (struct walk *w, struct wanted_task *t, bool model, struct error *err)
{
    struct row_name *names;

    if (select_stream (w->c, t->task, model, &t->stream, err) < 0 ||
        rows_names (w->c, t->stream.id, w->type, t->choices, t->all ? 0 : t->choices_n, &names, &t->n, err) <
            0)
        return -1;
    t->v = arena_array (w->c->arena, struct shown, t->n);
    for (size_t i = 0; i < t->n; i++) {
        t->v[i].name = &names[i];
        if (rows_valid_after (w->c, t->stream.id, w->type, &names[i], &t->v[i].valid_after, err) < 0)
            return -1;
    }
    return 0;
}

/* -- pages ----------------------------------------------------------------------------------------------------------- */

static int compare_down (const void *va, const void *vb)
{
    const int64_t *a = va, *b = vb;

    return *a > *b ? -1 : *a < *b;
}

/* The next `iters` distinct iterations of the task in the direction of the walk, newest first. */
static int next_window (struct walk *w, const struct wanted_task *t, bool earlier, int64_t edge, int64_t *ret,
                        size_t *ret_n, struct error *err)
{
    int64_t *all = arena_array (w->c->arena, int64_t, arena_product (t->n, (size_t)w->iters) + 1);
    size_t n = 0, distinct = 0, drop;

    for (size_t i = 0; i < t->n; i++) {
        cleanup_rows struct rows r = { 0 };
        int rc;

        if (db_query (w->c->db, earlier ? &sql_event_row_iters_earlier : &sql_event_row_iters_later, &r, err,
                      V_INT (t->stream.id), V_INT (w->type), V_STR (t->v[i].name->metric),
                      V_STR (t->v[i].name->variant), V_INT (edge), V_INT (w->iters)) < 0)
            return -1;
        while ((rc = db_next (&r, err)) > 0)
            all[n++] = row_int (&r, 0);
        if (rc < 0)
            return -1;
    }
    qsort (all, n, sizeof (*all), compare_down);
    for (size_t i = 0; i < n; i++)
        if (!distinct || all[distinct - 1] != all[i])
            all[distinct++] = all[i];
    drop = earlier || distinct <= (size_t)w->iters
               ? 0
               : distinct - (size_t)w->iters; /* later: the nearest ones */
    *ret_n = distinct < (size_t)w->iters ? distinct : (size_t)w->iters;
    memcpy (ret, all + drop, *ret_n * sizeof (*ret));
    return 0;
}

/* The event to show of one variant at one iteration: of images the greatest url, of plots the newest. */
static int put_shown (struct walk *w, const struct wanted_task *t, const struct shown *s, int64_t iter,
                      struct str *out, struct error *err)
{
    cleanup_rows struct rows r = { 0 };
    struct text best = { 0 };
    char *url = NULL;
    int rc;

    if (iter <= s->valid_after)
        return 0;
    if (db_query (w->c->db, &sql_event_row_of, &r, err, V_INT (t->stream.id), V_INT (w->type),
                  V_STR (s->name->metric), V_STR (s->name->variant), V_INT (iter), V_INT (iter)) < 0)
        return -1;
    while ((rc = db_next (&r, err)) > 0) {
        char *u = row_null (&r, 2) ? "" : row_str (&r, 2, w->c->arena);

        if (best.p && (w->type != EVENT_IMAGE || strcmp (u, url) <= 0))
            continue;
        url = u;
        best = row_copy (&r, 3, w->c->arena);
    }
    if (rc < 0 || !best.p)
        return rc;
    json_put_comma (out);
    return rows_put_doc (out, best, err);
}

static int put_iterations (struct walk *w, struct wanted_task *t, const int64_t *iters, size_t n,
                           struct str *out, size_t *ret_shown, struct error *err)
{
    for (size_t i = 0; i < n; i++) {
        struct str events = { .arena = w->c->arena };

        str_putc (&events, '[');
        for (size_t k = 0; k < t->n; k++) {
            if (put_shown (w, t, &t->v[k], iters[i], &events, err) < 0)
                return -1;
        }
        if (events.n == 1)
            continue;
        json_put_comma (out);
        str_addf (out, "{\"iter\":%" PRId64 ",\"events\":", iters[i]);
        str_add_text (out, str_text (&events));
        str_puts (out, "]}");
        if (!*ret_shown)
            t->max = iters[i];
        t->min = iters[i];
        ++*ret_shown;
    }
    return 0;
}

/* One page of a task; windows without anything valid are passed over. */
static int put_page (struct walk *w, struct wanted_task *t, struct str *out, struct error *err)
{
    bool earlier = w->earlier || !t->placed; /* the first page is the newest */
    int64_t edge = !t->placed ? INT64_MAX : earlier ? t->min : t->max;
    int64_t *iters = arena_array (w->c->arena, int64_t, (size_t)w->iters);
    size_t n, shown = 0;

    for (int skipped = 0; skipped < SKIP_MOST && !shown; skipped++) {
        if (next_window (w, t, earlier, edge, iters, &n, err) < 0)
            return -1;
        if (!n)
            break;
        if (put_iterations (w, t, iters, n, out, &shown, err) < 0)
            return -1;
        edge = earlier ? iters[n - 1] : iters[0];
    }
    t->placed |= shown > 0;
    return 0;
}

static int walk_on (struct walk *w, const char *scroll_id, bool refresh, bool model, struct text *ret,
                    const char **ret_id, struct error *err)
{
    struct str s = { .arena = w->c->arena };
    bool known = state_load (w, scroll_id);

    str_putc (&s, '[');
    for (size_t i = 0; i < w->n; i++) {
        struct wanted_task *t = &w->tasks[i];

        if (refresh)
            t->placed = false;
        if (find_variants (w, t, model, err) < 0)
            return -1;
        json_put_comma (&s);
        str_puts (&s, "{\"task\":");
        json_put_string (&s, t->task);
        str_puts (&s, ",\"iterations\":[");
        if (put_page (w, t, &s, err) < 0)
            return -1;
        str_puts (&s, "]}");
    }
    str_putc (&s, ']');
    *ret = str_text (&s);
    *ret_id = known ? scroll_id : arena_strdup (w->c->arena, id_random ().hex);
    state_save (w, *ret_id);
    return 0;
}

/* The tasks of a request, each once, with the metrics asked of it. */
static int read_request (struct walk *w, const struct events_task_metric *v, size_t n, struct error *err)
{
    if (n > TASKS_MOST)
        return error_set (err, ERR_VALIDATION, "field metrics: more than %d items", TASKS_MOST);
    w->tasks = arena_array (w->c->arena, struct wanted_task, n);
    for (size_t i = 0; i < n; i++) {
        struct wanted_task *t = w->tasks;

        while (t < w->tasks + w->n && strcmp (t->task, v[i].task) != 0)
            t++;
        if (t == w->tasks + w->n) {
            w->n++;
            t->task = v[i].task;
            t->choices = arena_array (w->c->arena, struct metric_choice, n);
        }
        t->all |= !v[i].metric;
        if (v[i].metric)
            t->choices[t->choices_n++] =
                (struct metric_choice){ v[i].metric, (const char *const *)v[i].variants.v, v[i].variants.n };
    }
    return 0;
}

static int64_t clamp_iters (int64_t n)
{
    return n < 1 ? 1 : n > ITERS_MOST ? ITERS_MOST : n;
}

int events_debug_images_2_7 (struct call *c, const struct events_debug_images_2_7_in *in,
                             struct events_debug_images_2_7_out *out, struct error *err)
{
    struct walk w = { .c = c,
                      .type = EVENT_IMAGE,
                      .kind = "images",
                      .earlier = in->navigate_earlier,
                      .iters = clamp_iters (in->iters) };

    if (read_request (&w, in->metrics.v, in->metrics.n, err) < 0)
        return -1;
    return walk_on (&w, in->scroll_id, in->refresh, in->model_events, &out->metrics, &out->scroll_id, err);
}

int events_plots (struct call *c, const struct events_plots_in *in, struct events_plots_out *out,
                  struct error *err)
{
    struct walk w = { .c = c,
                      .type = EVENT_PLOT,
                      .kind = "plots",
                      .earlier = in->navigate_earlier,
                      .iters = clamp_iters (in->iters) };

    if (read_request (&w, in->metrics.v, in->metrics.n, err) < 0)
        return -1;
    return walk_on (&w, in->scroll_id, in->refresh, in->model_events, &out->metrics, &out->scroll_id, err);
}

int events_debug_images_1_0 (struct call *c, const struct events_debug_images_1_0_in *in,
                             struct events_debug_images_1_0_out *out, struct error *err)
{
    struct events_task_metric all = { .task = in->task };
    struct walk w = {
        .c = c, .type = EVENT_IMAGE, .kind = "images", .earlier = true, .iters = clamp_iters (in->iters)
    };
    struct str s = { .arena = c->arena };
    struct json_iter tasks, iterations, events;
    struct text page;

    if (read_request (&w, &all, 1, err) < 0 ||
        walk_on (&w, in->scroll_id, false, false, &page, &out->scroll_id, err) < 0)
        return -1;
    str_putc (&s, '[');
    tasks = json_iter (page);
    json_next (&tasks);
    for (iterations = json_iter (json_get (tasks.value, "iterations")); json_next (&iterations);) {
        for (events = json_iter (json_get (iterations.value, "events")); json_next (&events);
             out->returned++) {
            json_put_comma (&s);
            str_add_text (&s, events.value);
        }
    }
    str_putc (&s, ']');
    out->task = in->task;
    out->images = str_text (&s);
    for (size_t i = 0; i < w.tasks[0].n; i++)
        out->total += w.tasks[0].v[i].name->iters;
    out->has.returned = out->has.total = true;
    return 0;
}
