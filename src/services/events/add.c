/* add.c - events.add and events.add_batch: what batch.c made of a request is checked against its tasks and stored.
 *
 * In: struct event_batch (packed on the pool). Out: per task one batch row, one update a touched series, the console
 * chunks, the rows of plots and images, one update of the task. A task that may not be written turns all its events
 * into counted errors; the others are stored.
 */
#include "api/events.api.h"
#include "base/json.h"
#include "services/call.h"
#include "services/events/batch.h"
#include "services/models/models.h"
#include "services/tasks/tasks.h"
#include "sql/sql.h"
#include "store/store.h"

enum { SERIES_MOST = 2000 }; /* of a task in last_metrics and unique_metrics */

static int prepare (struct call *c, struct error *err)
{
    struct event_defaults d = { .worker = c->worker && *c->worker ? c->worker : "<unknown>", .now = c->now };
    struct event_batch *b;

    if (event_batch_read (c->arena, c->body, c->is_batch, &d, &b, err) < 0)
        return -1;
    c->prepared = b;
    return 0;
}

int events_add_prepare (struct call *c, const struct events_add_in *in, struct error *err)
{
    (void)in;
    return prepare (c, err);
}

int events_add_batch_prepare (struct call *c, const struct events_add_batch_in *in, struct error *err)
{
    (void)in;
    return prepare (c, err);
}

/* -- may these events be stored? *ret_words: why not, NULL = they may ------------------------------------------------ */

static int model_refuses (struct call *c, const struct event_group *g, const char **ret_words,
                          struct error *err)
{
    cleanup_rows struct rows r = { 0 };
    int rc;

    if (db_query (c->db, &sql_event_model_ready, &r, err, V_STR (g->task), V_STR (c->who.company)) < 0 ||
        (rc = db_next (&r, err)) < 0)
        return -1;
    if (!rc || (row_int (&r, 0) && !g->allow_locked))
        *ret_words = arena_printf (c->arena, "Invalid model id %s", g->task);
    return 0;
}

static int task_refuses (struct call *c, const struct event_group *g, struct task_facts *ret,
                         const char **ret_words, struct error *err)
{
    bool locked;

    if (task_facts (c, g->task, false, ret, err) < 0) {
        if (!task_not_own (err))
            return -1;
        *ret_words = arena_printf (c->arena, "Invalid task id %s", g->task);
        return 0;
    }
    locked = !strcmp (ret->status, "published") || !strcmp (ret->status, "publishing");
    if (locked && !g->allow_locked)
        *ret_words = arena_printf (c->arena, "Invalid task id %s", g->task);
    return 0;
}

/* -- storing --------------------------------------------------------------------------------------------------------- */

static int store_rows (struct call *c, const struct stream *s, const struct event_group *g, struct error *err)
{
    for (size_t i = 0; i < g->rows_n; i++) {
        const struct event_row *r = &g->rows[i];

        if (db_exec (c->db, &sql_event_row_put, err, V_INT (s->id), V_INT (r->type), V_STR (r->identity),
                     V_TEXT (r->metric), V_TEXT (r->variant),
                     r->iter == SERIES_NO_ITER ? V_NULL () : V_INT (r->iter), V_INT (r->time), V_INT (c->now),
                     V_TEXT (r->url), V_BLOB (r->doc)) < 0)
            return -1;
    }
    return 0;
}

/* `t`: its task, where it is no model */
static int store_group (struct call *c, struct event_group *g, const struct task_facts *t, struct error *err)
{
    struct stream s;
    int64_t new_lines = 0;

    if (stream_need (c->db, c->who.company, g->task, &s, err) < 0)
        return -1;
    if (g->points &&
        series_add (c->db, &s, c->now, g->body, g->points, g->series, g->series_n, SERIES_MOST, err) < 0)
        return -1;
    if (g->logs_n) {
        if (log_add (c->db, c->arena, &s, g->logs, g->logs_n, g->parts, g->parts_n, &new_lines, err) < 0)
            return -1;
        s.log_updated = c->now;
    }
    if (store_rows (c, &s, g, err) < 0 || stream_save (c->db, &s, err) < 0)
        return -1;
    if (new_lines)
        call_ring (c, -1, "events/%s", g->task);
    if (g->model)
        return model_touch_from_events (c, g->task, g->iter, err);
    return task_touch_from_events (c, t, g->iter, err);
}

struct outcome {
    int64_t added, errors;
    struct str info; /* {"words": count} */
};

static void add_problem (struct outcome *o, const char *words, int64_t n)
{
    json_put_key (&o->info, words);
    str_add_int (&o->info, n);
    o->errors += n;
}

static int store_batch (struct call *c, const struct event_batch *b, struct outcome *o, struct error *err)
{
    *o = (struct outcome){ .info = { .arena = c->arena } };
    str_putc (&o->info, '{');
    for (size_t i = 0; i < b->problems_n; i++)
        add_problem (o, b->problems[i].words, b->problems[i].n);
    for (size_t i = 0; i < b->n; i++) {
        struct event_group *g = &b->groups[i];
        const char *words = NULL;
        struct task_facts t;

        if ((g->model ? model_refuses (c, g, &words, err) : task_refuses (c, g, &t, &words, err)) < 0)
            return -1;
        if (words) {
            add_problem (o, words, g->n);
            continue;
        }
        if (store_group (c, g, &t, err) < 0)
            return error_wrap (err, "events of %s", g->task);
        o->added += g->n;
    }
    str_putc (&o->info, '}');
    if (o->added)
        return 0;
    return error_set (err, ERR_EVENTS_NOT_ADDED, "events not added: %.400s", o->info.p);
}

int events_add (struct call *c, const struct events_add_in *in, struct events_add_out *out, struct error *err)
{
    struct outcome o;

    (void)in;
    if (!((struct event_batch *)c->prepared)->events)
        return error_set (err, ERR_EVENTS_NOT_ADDED, "events not added: the request is empty");
    if (store_batch (c, c->prepared, &o, err) < 0)
        return -1;
    out->added = o.added;
    out->errors = o.errors;
    out->errors_info = str_text (&o.info);
    out->has.added = out->has.errors = true;
    return 0;
}

int events_add_batch (struct call *c, const struct events_add_batch_in *in, struct events_add_batch_out *out,
                      struct error *err)
{
    struct outcome o;

    (void)in;
    if (!((struct event_batch *)c->prepared)->events)
        return error_set (err, ERR_BATCH_EMPTY, "batch contains no events: send one JSON object a line");
    if (store_batch (c, c->prepared, &o, err) < 0)
        return -1;
    out->added = o.added;
    out->errors = o.errors;
    out->errors_info = str_text (&o.info);
    out->has.added = out->has.errors = true;
    return 0;
}
