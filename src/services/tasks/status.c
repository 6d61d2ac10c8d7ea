/* status.c - changes of status: one UPDATE, the echo of what it set, bells for who waits. The rules are in rules.c. */
#include "services/models/models.h"
#include "services/projects/projects.h"
#include "services/queues/queues.h"
#include "services/tasks/task.h"

enum { WORKER_ALIVE_MS = 600 * 1000 };

/* -- the move */
static int leave_development (struct call *c, const struct task_facts *t, struct error *err)
{
    struct tag_list tags = task_system_tags (c, t->n);
    tags_remove (&tags, "development");
    return task_set_system_tags (c, t->n, tags_write (c->arena, &tags), err);
}

static void ring_status (struct call *c, const char *id)
{
    call_ring (c, -1, "task/%s", id);
    call_ring (c, -1, "events/%s", id); /* who follows the console learns that it has ended */
}

int task_move (struct call *c, struct task_facts *t, struct task_change *ch, struct error *err)
{
    const char *status = task_status_name (ch->to), *reason = ch->reason ? ch->reason : "",
               *message = ch->message ? ch->message : "";
    if (db_exec (c->db, &sql_task_set_status, err, V_INT (t->n), V_STR (status), V_STR (reason),
                 V_STR (message), V_INT (c->now), V_STR (c->who.user)) < 0)
        return -1;
    if (ch->to == TASK_QUEUED && t->development && leave_development (c, t, err) < 0)
        return -1;
    if (project_touch (c, t->project, err) < 0)
        return -1;
    t->status = status;
    t->last_update = c->now;
    fields_open (c, &ch->fields);
    fields_str (&ch->fields, "status", status);
    fields_str (&ch->fields, "status_reason", reason);
    fields_str (&ch->fields, "status_message", message);
    fields_time (&ch->fields, "status_changed", c->now_us);
    fields_time (&ch->fields, "last_update", c->now_us);
    fields_time (&ch->fields, "last_change", c->now_us);
    fields_str (&ch->fields, "last_changed_by", c->who.user);
    ring_status (c, t->id);
    return 0;
}

int task_may (struct call *c, enum task_verb verb, enum task_status from, bool force, struct error *err)
{
    if (task_verb_check (verb, from, force, err) == 0)
        return 0;
    return fail_facts (c, err, { "current_status", task_status_name (from) },
                       { "new_status", task_status_name (task_verb (verb)->to) });
}

static int stamp (struct call *c, struct task_facts *t, enum task_stamp what, bool running,
                  struct str *fields, struct error *err)
{
    static const struct {
        const struct sql *sql;
        const char *field;
    } rows[] = {
        [STAMP_STARTED] = { &sql_task_stamp_started, "started" },
        [STAMP_COMPLETED] = { &sql_task_stamp_completed, "completed" },
        [STAMP_PUBLISHED] = { &sql_task_stamp_published, "published" },
    };
    if (what == STAMP_NONE)
        return 0;
    if (what == STAMP_STARTED && running && t->started) /* a run that goes on keeps its beginning */
        return db_exec (c->db, &sql_task_lower_started, err, V_INT (t->n), V_INT (c->now)) < 0 ? -1 : 0;
    if (db_exec (c->db, rows[what].sql, err, V_INT (t->n), V_INT (c->now)) < 0)
        return -1;
    fields_time (fields, rows[what].field, c->now_us);
    return 0;
}

int task_do (struct call *c, struct task_facts *t, enum task_status from, enum task_verb verb, bool force,
             struct task_change *ch, struct error *err)
{
    const struct task_verb_row *row = task_verb (verb);
    if (task_may (c, verb, from, force, err) < 0 || queue_confirm (c, t->id, err) < 0)
        return -1;
    ch->to = row->to;
    if (task_move (c, t, ch, err) < 0)
        return -1;
    return stamp (c, t, row->stamp, from == TASK_IN_PROGRESS, &ch->fields, err);
}

/* -- publish */
static const char *last_output_model (struct call *c, struct text models)
{
    const char *id = NULL;
    struct json_iter it = json_iter (json_get (models, "output"));
    while (json_next (&it))
        id = json_string (c->arena, json_get (it.value, "model"));
    return id;
}

int task_publish_one (struct call *c, const char *id, bool force, bool publish_model, const char *reason,
                      const char *message, struct text *ret_fields, struct error *err)
{
    struct task_facts t;
    struct task_doc d;
    enum task_status from;
    struct task_change ch = { .reason = reason, .message = message };
    if (task_facts_of (c, id, false, &t, &from, err) < 0 || task_doc_read (c, t.n, &d, err) < 0 ||
        task_do (c, &t, from, VERB_PUBLISH, force, &ch, err) < 0)
        return -1;
    const char *model = publish_model ? last_output_model (c, d.models) : NULL;
    if (model && model_make_ready (c, model, err) < 0)
        return -1;
    fields_json (&ch.fields, "output", d.output);
    *ret_fields = fields_close (&ch.fields);
    return 0;
}

int task_publish (struct call *c, const char *task, bool force, struct text *ret, struct error *err)
{
    struct text fields;
    if (task_publish_one (c, task, force, false, "", "", &fields, err) < 0)
        return -1;
    struct str s = { .arena = c->arena };
    str_puts (&s, "{\"updated\":1");
    fields_json (&s, "fields", fields);
    str_putc (&s, '}');
    *ret = str_text (&s);
    return 0;
}

/* -- stop */
static int stop_steps (struct call *c, const struct task_facts *t, const char *reason, const char *message,
                       struct error *err)
{
    struct id_list steps;
    struct value v[2] = { V_STR (t->id), V_STR (c->who.company) };
    if (id_list_read (c, &sql_task_steps, &steps, err, v, 2) < 0)
        return -1;
    for (size_t i = 0; i < steps.n; i++) {
        struct text fields;
        if (task_stop_one (c, steps.v[i], true, false, reason, message, &fields, err) < 0)
            return -1;
    }
    return 0;
}

int task_stop_one (struct call *c, const char *id, bool force, bool steps, const char *reason,
                   const char *message, struct text *ret_fields, struct error *err)
{
    struct task_facts t;
    enum task_status from;
    struct task_change ch = { .reason = reason };
    if (task_facts_of (c, id, false, &t, &from, err) < 0 || task_may (c, VERB_STOP, from, force, err) < 0)
        return -1;
    if (steps && !strcmp (t.type, "controller") && stop_steps (c, &t, reason, message, err) < 0)
        return -1;
    bool worker = from == TASK_IN_PROGRESS && t.last_worker && *t.last_worker &&
                  c->now - t.last_update < WORKER_ALIVE_MS;
    if (worker && !t.development) {
        ch.to = from; /* the agent sees the message, ends the run and says so */
        ch.message = "stopping";
    } else {
        ch.to = TASK_STOPPED;
        ch.message =
            arena_printf (c->arena, "Stopped by %s", c->who.user_name ? c->who.user_name : c->who.user);
        if (from == TASK_QUEUED && queue_remove_everywhere (c, t.id, NULL, err) < 0)
            return -1;
    }
    if (task_move (c, &t, &ch, err) < 0)
        return -1;
    *ret_fields = fields_close (&ch.fields);
    return 0;
}

/* -- what others tell (the door) */
int task_claim (struct call *c, const char *task, const char *worker, const char *queue, const char *token,
                struct error *err)
{
    struct task_facts t;
    enum task_status from;
    if (task_facts_of (c, task, false, &t, &from, err) < 0)
        return -1;
    if (from != TASK_QUEUED)
        return error_set (err, ERR_INVALID_TASK_STATUS, "task %s is no longer queued: its status is %s", task,
                          t.status);
    struct task_change ch = { .to = TASK_IN_PROGRESS, .reason = "", .message = "" };
    if (task_move (c, &t, &ch, err) < 0)
        return -1;
    return db_exec (c->db, &sql_task_set_claim, err, V_INT (t.n), V_STR (token && *token ? token : NULL),
                    V_STR (worker), V_INT (c->now), V_STR (queue)) < 0
               ? -1
               : 0;
}

const char *task_claimed_with (struct call *c, const char *token)
{
    struct error err = { 0 };
    cleanup_rows struct rows r = { 0 };
    if (!token || db_query (c->db, &sql_task_by_claim, &r, &err, V_STR (token), V_STR (c->who.company)) < 0 ||
        db_next (&r, &err) <= 0)
        return NULL;
    return row_str (&r, 0, c->arena);
}

/* -- signs of life */
int task_revive (struct call *c, const char *id, struct error *err)
{
    int64_t n = db_exec (c->db, &sql_task_revive, err, V_STR (id), V_STR (c->who.company), V_INT (c->now));
    if (n > 0)
        ring_status (c, id);
    return n < 0 ? -1 : 0;
}

/* Of most runs it is known that they are alive. */
static int revive (struct call *c, const struct task_facts *t, struct error *err)
{
    return strcmp (t->status, "stopped") && strcmp (t->status, "failed") ? 0 : task_revive (c, t->id, err);
}

int task_touch_from_events (struct call *c, const struct task_facts *t, int64_t iteration, struct error *err)
{
    return revive (c, t, err) < 0 || db_exec (c->db, &sql_task_touch_events, err, V_INT (t->n),
                                              V_INT (c->now), V_INT (iteration)) < 0
               ? -1
               : 0;
}

int task_touch_from_model (struct call *c, const char *task, int64_t iteration, struct error *err)
{
    struct task_facts t;
    struct error why = { 0 };
    if (task_facts (c, task, false, &t, &why) == 0)
        return task_touch_from_events (c, &t, iteration, err);
    if (task_not_own (&why))
        return 0;
    *err = why;
    return -1;
}

int task_touch_from_worker (struct call *c, const struct task_facts *t, const char *worker, struct error *err)
{
    return revive (c, t, err) < 0 || db_exec (c->db, &sql_task_touch_worker, err, V_INT (t->n),
                                              V_STR (worker), V_INT (c->now), V_STR (c->who.user)) < 0
               ? -1
               : 0;
}

/* Of those that were not heard of for `limit_ms` (0: never), at most `most` end. */
static int end_silent (struct call *c, const struct sql *sql, int64_t limit_ms, int64_t most, int64_t *ret,
                       struct error *err)
{
    struct id_list ended;
    struct value v[3] = { V_INT (c->now), V_INT (c->now - limit_ms), V_INT (most) };
    if (!limit_ms)
        return 0;
    if (id_list_read (c, sql, &ended, err, v, 3) < 0)
        return -1;
    for (size_t i = 0; i < ended.n; i++)
        ring_status (c, ended.v[i]);
    *ret += (int64_t)ended.n;
    return 0;
}

int tasks_stop_silent (struct call *c, const struct task_silence *limits, int64_t most, int64_t *ret,
                       struct error *err)
{
    *ret = 0;
    return end_silent (c, &sql_tasks_lost, limits->lost_ms, most, ret, err) < 0 ||
                   end_silent (c, &sql_tasks_silent, limits->silent_ms, most - *ret, ret, err) < 0
               ? -1
               : 0;
}
