/* calls.c - the handlers of workers.*: registration, reports, lists, statistics, runtime properties. */
#include "api/workers.api.h"

#include "base/clock.h"
#include "base/json.h"
#include "services/projects/projects.h"
#include "services/queues/queues.h"
#include "services/tasks/tasks.h"
#include "services/workers/rules.h"
#include "sql/sql.h"
#include "store/store.h"

enum { NAME_MAX_ = 512, LIST_MAX = 1000, STATS_MAX = 64 * 1024, PROPERTIES_MAX = 100 };

/* -- registration ------------------------------------------------------------------------------------------------ */
static int worker_check (const char *id, struct error *err)
{
    size_t n = strlen (id);

    if (!n || n > NAME_MAX_)
        return error_set (err, ERR_INVALID_WORKER_ID, "worker: an id has 1 to %d characters, this one %zu",
                          NAME_MAX_, n);
    return 0;
}

#define LIST(field) ((struct worker_list){ (field).v, (field).n })

static int lists_check (const struct worker_list *l, const char *what, struct error *err)
{
    if (l->n > LIST_MAX)
        return error_set (err, ERR_VALIDATION, "%s: more than %d items", what, LIST_MAX);
    return 0;
}

static int queues_check (struct call *c, const struct worker_list *l, struct error *err)
{
    struct queue_name q;

    if (lists_check (l, "queues", err) < 0)
        return -1;
    for (size_t i = 0; i < l->n; i++)
        if (queue_find (c, l->v[i], &q, err) < 0)
            return error_wrap (err, "queues");
    return 0;
}

static struct worker worker_new (struct call *c, const char *id)
{
    return (struct worker){ .id = id,
                            .user = c->who.user,
                            .user_name = c->who.user_name,
                            .ip = c->address,
                            .registered = c->now_us,
                            .last_activity = c->now_us,
                            .timeout = WORKER_TIMEOUT_S };
}

static int timeout_take (struct worker *w, const char *field, int64_t s, struct error *err)
{
    if (s < 0 || s > WORKER_TIMEOUT_MAX_S)
        return error_set (err, ERR_WORKER_REGISTRATION, "%s: %lld s is not between 0 and %d", field,
                          (long long)s, WORKER_TIMEOUT_MAX_S);
    w->timeout = s ? s : WORKER_TIMEOUT_S;
    return 0;
}

int workers_register (struct call *c, const struct workers_register_in *in, struct workers_register_out *out,
                      struct error *err)
{
    struct worker w = worker_new (c, in->worker);

    (void)out;
    if (worker_check (in->worker, err) < 0)
        return -1;
    if (timeout_take (&w, "timeout", in->timeout, err) < 0)
        return -1;
    w.queues = LIST (in->queues);
    w.tags = LIST (in->tags);
    w.system_tags = LIST (in->system_tags);
    if (queues_check (c, &w.queues, err) < 0 || lists_check (&w.tags, "tags", err) < 0 ||
        lists_check (&w.system_tags, "system_tags", err) < 0)
        return -1;
    for (size_t i = 0; json_kind (in->resources) == JSON_OBJECT && i < w.queues.n; i++)
        if (db_exec (c->db, &sql_queue_resources, err, V_STR (c->who.company), V_STR (w.queues.v[i]),
                     V_TEXT (in->resources)) < 0)
            return -1;
    worker_put (c, &w);
    return 0;
}

int workers_unregister (struct call *c, const struct workers_unregister_in *in,
                        struct workers_unregister_out *out, struct error *err)
{
    (void)out;
    if (worker_check (in->worker, err) < 0)
        return -1;
    worker_drop (c, in->worker);
    return 0;
}

/* -- reports ----------------------------------------------------------------------------------------------------- */
static int report_task (struct call *c, const struct workers_status_report_in *in, struct worker *w,
                        struct error *err)
{
    struct task_facts facts;

    w->task = w->queue = NULL;
    if (!in->task || !*in->task)
        return 0;
    if (task_facts (c, in->task, false, &facts, err) < 0)
        return error_wrap (err, "task");
    if (queue_confirm (c, in->task, err) < 0 || task_touch_from_worker (c, &facts, in->worker, err) < 0)
        return -1;
    w->task = in->task;
    w->queue = in->queue && *in->queue ? in->queue : NULL;
    return 0;
}

int workers_status_report (struct call *c, const struct workers_status_report_in *in,
                           struct workers_status_report_out *out, struct error *err)
{
    struct worker w;

    (void)out;
    if (worker_check (in->worker, err) < 0)
        return -1;
    if (!worker_get (c, in->worker, &w))
        w = worker_new (c, in->worker);
    if (in->has.x_timeout && timeout_take (&w, "x_timeout", in->x_timeout, err) < 0)
        return -1;
    if (in->machine_stats.n > STATS_MAX)
        return error_set (err, ERR_VALIDATION, "machine_stats: more than %d bytes", STATS_MAX);
    if (in->timestamp < 0 || in->timestamp > c->now + 365LL * 24 * 3600 * 1000)
        return error_set (err, ERR_VALIDATION, "timestamp: %lld is no time in milliseconds",
                          (long long)in->timestamp);
    if (report_task (c, in, &w, err) < 0)
        return -1;
    if (in->queues.n)
        w.queues = LIST (in->queues);
    w.tags = LIST (in->tags);
    w.system_tags = LIST (in->system_tags);
    if (lists_check (&w.queues, "queues", err) < 0 || lists_check (&w.tags, "tags", err) < 0 ||
        lists_check (&w.system_tags, "system_tags", err) < 0)
        return -1;
    w.ip = c->address;
    w.last_activity = w.last_report = c->now_us;
    if (json_kind (in->machine_stats) == JSON_OBJECT && json_count (in->machine_stats) &&
        worker_sample_put (c, in->worker, w.task, in->timestamp, in->machine_stats, err) < 0)
        return -1;
    worker_put (c, &w);
    return 0;
}

/* -- lists ------------------------------------------------------------------------------------------------------- */
static void put_time (struct str *s, const char *key, int64_t us)
{
    if (!us)
        return;
    json_put_key (s, key);
    str_putc (s, '"');
    clock_format_us (s, us);
    str_putc (s, '"');
}

static void put_named (struct str *s, const char *key, const char *id, const char *name)
{
    if (!id)
        return;
    json_put_key (s, key);
    str_putc (s, '{');
    json_put_some (s, "id", id);
    json_put_some (s, "name", name);
    str_putc (s, '}');
}

/* Its task and the task's project. A task that is gone is shown by its id. */
static int put_task (struct call *c, struct str *s, const struct worker *w, struct error *err)
{
    struct task_facts f = { 0 };
    int64_t running;

    if (!w->task)
        return 0;
    if (task_facts (c, w->task, true, &f, err) < 0) {
        put_named (s, "task", w->task, NULL);
        return err->code == ERR_INVALID_TASK_ID ? 0 : -1;
    }
    running = f.started ? (f.completed > f.started ? f.completed : c->now) - f.started : 0;
    json_put_key (s, "task");
    str_putc (s, '{');
    json_put_some (s, "id", f.id);
    json_put_some (s, "name", f.name);
    str_addf (s, ",\"running_time\":%lld,\"last_iteration\":%lld}", (long long)running,
              (long long)f.last_iteration);
    put_named (s, "project", f.project, f.project ? project_name (c, f.project) : NULL);
    return 0;
}

static int put_queue (struct call *c, struct str *s, const char *id, bool as_member, struct error *err)
{
    struct queue_name q;
    struct queue_head head;

    if (queue_find (c, id, &q, err) < 0)
        return err->code == ERR_INVALID_QUEUE_ID ? 0 : -1;
    if (queue_head (c, id, &head, err) < 0)
        return -1;
    if (as_member)
        json_put_key (s, "queue");
    else
        json_put_comma (s);
    str_putc (s, '{');
    json_put_some (s, "id", q.id);
    json_put_some (s, "name", q.name);
    json_put_some (s, "display_name", q.display_name);
    put_named (s, "next_task", head.task, head.task ? task_name (c, head.task) : NULL);
    str_addf (s, ",\"num_tasks\":%lld}", (long long)head.length);
    return 0;
}

static int put_worker (struct call *c, struct str *s, const struct worker *w, struct error *err)
{
    json_put_comma (s);
    str_putc (s, '{');
    json_put_some (s, "id", w->id);
    json_put_some (s, "key", w->key);
    put_named (s, "user", w->user, w->user_name);
    put_named (s, "company", c->who.company, c->who.company_name);
    json_put_some (s, "ip", w->ip);
    if (put_task (c, s, w, err) < 0)
        return -1;
    if (w->queue && worker_lists (&w->queues, w->queue) && put_queue (c, s, w->queue, true, err) < 0)
        return -1;
    json_put_key (s, "queues");
    str_putc (s, '[');
    for (size_t i = 0; i < w->queues.n; i++)
        if (put_queue (c, s, w->queues.v[i], false, err) < 0)
            return -1;
    str_putc (s, ']');
    put_time (s, "register_time", w->registered);
    json_put_key (s, "register_timeout");
    str_add_int (s, w->timeout);
    put_time (s, "last_activity_time", w->last_activity);
    put_time (s, "last_report_time", w->last_report);
    json_put_strings (s, "tags", w->tags.v, w->tags.n);
    json_put_strings (s, "system_tags", w->system_tags.v, w->system_tags.n);
    str_putc (s, '}');
    return 0;
}

static size_t matching (struct call *c, const struct worker_filter *f, struct worker **ret)
{
    size_t n, kept = 0;

    workers_list (c, ret, &n);
    for (size_t i = 0; i < n; i++)
        if (worker_matches (*ret + i, f, c->now_us))
            (*ret)[kept++] = (*ret)[i];
    return kept;
}

int workers_get_all (struct call *c, const struct workers_get_all_in *in, struct workers_get_all_out *out,
                     struct error *err)
{
    struct worker_filter f = { in->last_seen, LIST (in->tags), LIST (in->system_tags), in->worker_pattern };
    struct str s = { .arena = c->arena };
    struct worker *list;
    size_t n = matching (c, &f, &list);

    str_putc (&s, '[');
    for (size_t i = 0; i < n; i++)
        if (put_worker (c, &s, &list[i], err) < 0)
            return -1;
    str_putc (&s, ']');
    out->workers = str_text (&s);
    return 0;
}

int workers_get_count (struct call *c, const struct workers_get_count_in *in,
                       struct workers_get_count_out *out, struct error *err)
{
    struct worker_filter f = { in->last_seen, LIST (in->tags), LIST (in->system_tags), in->worker_pattern };
    struct worker *list;

    (void)err;
    out->has.count = true;
    out->count = (int64_t)matching (c, &f, &list);
    return 0;
}

/* -- statistics -------------------------------------------------------------------------------------------------- */
int workers_get_metric_keys (struct call *c, const struct workers_get_metric_keys_in *in,
                             struct workers_get_metric_keys_out *out, struct error *err)
{
    struct str s = { .arena = c->arena };

    if (worker_metric_keys (c, in->worker_ids, &s, err) < 0)
        return -1;
    out->categories = str_text (&s);
    return 0;
}

int workers_get_stats (struct call *c, const struct workers_get_stats_in *in,
                       struct workers_get_stats_out *out, struct error *err)
{
    struct worker_span span = { in->from_date, in->to_date, in->interval };
    struct worker_stats_wish wish = { in->worker_ids, in->items, in->split_by_resource };
    struct str s = { .arena = c->arena };

    if (worker_stats (c, &span, &wish, &s, err) < 0)
        return -1;
    out->workers = str_text (&s);
    return 0;
}

int workers_get_activity_report (struct call *c, const struct workers_get_activity_report_in *in,
                                 struct workers_get_activity_report_out *out, struct error *err)
{
    struct worker_span span = { in->from_date, in->to_date, in->interval };
    struct str total = { .arena = c->arena }, active = { .arena = c->arena };

    if (worker_activity (c, &span, false, &total, err) < 0 ||
        worker_activity (c, &span, true, &active, err) < 0)
        return -1;
    out->total = str_text (&total);
    out->active = str_text (&active);
    return 0;
}

/* -- runtime properties ------------------------------------------------------------------------------------------ */
int workers_get_runtime_properties (struct call *c, const struct workers_get_runtime_properties_in *in,
                                    struct workers_get_runtime_properties_out *out, struct error *err)
{
    cleanup_rows struct rows r = { 0 };
    struct str s = { .arena = c->arena };
    int more;

    if (worker_check (in->worker, err) < 0 ||
        db_query (c->db, &sql_worker_property_list, &r, err, V_STR (c->who.company), V_STR (in->worker),
                  V_INT (c->now)) < 0)
        return -1;
    str_putc (&s, '[');
    while ((more = db_next (&r, err)) > 0) {
        json_put_comma (&s);
        str_putc (&s, '{');
        json_put_some (&s, "key", row_str (&r, 0, c->arena));
        json_put_key (&s, "value");
        str_add_text (&s, row_text (&r, 1));
        if (!row_null (&r, 2))
            put_time (&s, "expiry", row_int (&r, 2) * 1000);
        str_putc (&s, '}');
    }
    if (more < 0)
        return -1;
    str_putc (&s, ']');
    out->runtime_properties = str_text (&s);
    return 0;
}

/* One {key, value, expiry s}; expiry absent or null: for ever. */
static int property_put (struct call *c, const char *worker, struct text item, struct error *err)
{
    const char *key = json_string (c->arena, json_get (item, "key"));
    struct text value = json_get (item, "value"), expiry = json_get (item, "expiry");
    bool expires = json_kind (expiry) == JSON_NUMBER || json_kind (expiry) == JSON_STRING;

    if (json_kind (item) != JSON_OBJECT || !key || !*key)
        return error_set (err, ERR_VALIDATION, "runtime_properties: each item needs a key");
    if (!value.p)
        value = TEXT ("null");
    if (value.n > STATS_MAX)
        return error_set (err, ERR_VALIDATION, "runtime_properties: value of %s is longer than %d bytes", key,
                          STATS_MAX);
    return db_exec (c->db, &sql_worker_property_put, err, V_STR (c->who.company), V_STR (worker), V_STR (key),
                    V_TEXT (value), expires ? V_INT (c->now + json_int (expiry, 0) * 1000) : V_NULL ()) < 0
               ? -1
               : 0;
}

int workers_set_runtime_properties (struct call *c, const struct workers_set_runtime_properties_in *in,
                                    struct workers_set_runtime_properties_out *out, struct error *err)
{
    if (worker_check (in->worker, err) < 0)
        return -1;
    if (in->runtime_properties.n > PROPERTIES_MAX)
        return error_set (err, ERR_VALIDATION, "runtime_properties: more than %d", PROPERTIES_MAX);
    for (size_t i = 0; i < in->runtime_properties.n; i++)
        if (property_put (c, in->worker, in->runtime_properties.v[i], err) < 0)
            return -1;
    out->has.added = true;
    out->added = (int64_t)in->runtime_properties.n;
    out->errors = TEXT ("[]");
    return 0;
}
