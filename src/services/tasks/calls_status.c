/* calls_status.c - the verbs: a run starts, stops, fails, is done; queues; reset, delete, archive; and their _many
 * forms, where each id succeeds or fails by itself. */
#include "services/queues/queues.h"
#include "services/tasks/task.h"
#include "services/workers/workers.h"

/* started, stopped, failed, close: check, move, stamp, echo */
static int verb (struct call *c, const char *task, enum task_verb v, bool force, const char *reason,
                 const char *message, struct text *ret_fields, struct error *err)
{
    struct task_facts t;
    enum task_status from;
    struct task_change ch = { .reason = reason, .message = message };
    if (task_facts_of (c, task, false, &t, &from, err) < 0 || task_do (c, &t, from, v, force, &ch, err) < 0)
        return -1;
    *ret_fields = fields_close (&ch.fields);
    return 0;
}

int tasks_started (struct call *c, const struct tasks_started_in *in, struct tasks_started_out *out,
                   struct error *err)
{
    if (verb (c, in->task, VERB_STARTED, in->force, in->status_reason, in->status_message, &out->fields,
              err) < 0)
        return -1;
    out->updated = out->started = 1;
    out->has.updated = out->has.started = true;
    return 0;
}

#define SIMPLE_VERB(name, v)                                                                                 \
    int tasks_##name (struct call *c, const struct tasks_##name##_in *in, struct tasks_##name##_out *out,    \
                      struct error *err)                                                                     \
    {                                                                                                        \
        out->updated = 1;                                                                                    \
        out->has.updated = true;                                                                             \
        return verb (c, in->task, v, in->force, in->status_reason, in->status_message, &out->fields, err);   \
    }
SIMPLE_VERB (stopped, VERB_STOPPED)
SIMPLE_VERB (failed, VERB_FAILED)
SIMPLE_VERB (close, VERB_CLOSE)

int tasks_completed (struct call *c, const struct tasks_completed_in *in, struct tasks_completed_out *out,
                     struct error *err)
{
    if (verb (c, in->task, VERB_COMPLETED, in->force, in->status_reason, in->status_message, &out->fields,
              err) < 0)
        return -1;
    out->updated = 1;
    out->has.updated = out->has.published = true;
    if (!in->publish)
        return 0;
    struct text published;
    if (task_publish_one (c, in->task, in->force, true, in->status_reason, in->status_message, &published,
                          err) < 0)
        return -1;
    out->fields = doc_merge (c->arena, out->fields, published);
    out->published = 1;
    return 0;
}

int tasks_ping (struct call *c, const struct tasks_ping_in *in, struct tasks_ping_out *out, struct error *err)
{
    (void)out;
    if (queue_confirm (c, in->task, err) < 0 || task_revive (c, in->task, err) < 0)
        return -1;
    return db_exec (c->db, &sql_task_ping, err, V_STR (in->task), V_STR (c->who.company), V_INT (c->now),
                    V_STR (c->who.user)) < 0
               ? -1
               : 0;
}

int tasks_stop (struct call *c, const struct tasks_stop_in *in, struct tasks_stop_out *out, struct error *err)
{
    out->updated = 1;
    out->has.updated = true;
    return task_stop_one (c, in->task, in->force, in->include_pipeline_steps, in->status_reason,
                          in->status_message, &out->fields, err);
}

static bool unless_false (bool has, bool v)
{
    return !has || v;
}

int tasks_publish (struct call *c, const struct tasks_publish_in *in, struct tasks_publish_out *out,
                   struct error *err)
{
    out->updated = 1;
    out->has.updated = true;
    return task_publish_one (c, in->task, in->force, unless_false (in->has.publish_model, in->publish_model),
                             in->status_reason, in->status_message, &out->fields, err);
}

/* -- queues */
int tasks_enqueue (struct call *c, const struct tasks_enqueue_in *in, struct tasks_enqueue_out *out,
                   struct error *err)
{
    struct task_enqueue q = {
        .queue = in->queue,
        .queue_name = in->queue_name,
        .reason = in->status_reason,
        .message = in->status_message,
        .force = json_true (json_get (c->body, "force")),
        .keep_queue = !in->update_execution_queue,
    };
    if (q.keep_queue && in->verify_watched_queue)
        return error_set (err, ERR_VALIDATION,
                          "update_execution_queue=false does not go with verify_watched_queue");
    if (task_enqueue_one (c, in->task, &q, &out->fields, err) < 0)
        return -1;
    out->updated = out->queued = 1;
    out->has.updated = out->has.queued = true;
    if (in->verify_watched_queue) {
        const char *queue = json_string (c->arena, json_get (out->fields, "execution.queue"));
        out->queue_watched = queue && workers_watch (c, queue);
        out->has.queue_watched = true;
    }
    return 0;
}

int tasks_dequeue (struct call *c, const struct tasks_dequeue_in *in, struct tasks_dequeue_out *out,
                   struct error *err)
{
    out->has.updated = out->has.dequeued = true;
    return task_dequeue_one (c, in->task, in->new_status, in->remove_from_all_queues, in->status_reason,
                             in->status_message, &out->dequeued, &out->updated, &out->fields, err);
}

/* -- reset, delete, archive */
static struct text dequeued_json (struct call *c, int64_t removed)
{
    if (!removed)
        return TEXT ("{}");
    return text_of (arena_printf (c->arena, "{\"removed\":%lld}", (long long)removed));
}

int tasks_reset (struct call *c, const struct tasks_reset_in *in, struct tasks_reset_out *out,
                 struct error *err)
{
    struct task_removed r;
    struct task_reset how = {
        .force = in->force,
        .clear_all = in->clear_all,
        .urls = in->return_file_urls,
        .keep_models = in->has.delete_output_models && !in->delete_output_models,
        .keep_files = !in->delete_external_artifacts,
    };
    if (task_reset_one (c, in->task, &how, &r, err) < 0)
        return -1;
    out->updated = 1;
    out->fields = r.fields;
    out->dequeued = dequeued_json (c, r.dequeued);
    out->events = TEXT ("{}");
    out->deleted_models = r.deleted_models;
    out->urls = r.urls.p ? r.urls : TEXT ("{}");
    out->has.updated = out->has.deleted_models = true;
    return 0;
}

int tasks_delete (struct call *c, const struct tasks_delete_in *in, struct tasks_delete_out *out,
                  struct error *err)
{
    struct task_removed r;
    bool keep = in->has.delete_output_models && !in->delete_output_models;
    struct task_delete how = { .force = in->force,
                               .urls = in->return_file_urls,
                               .keep_models = keep,
                               .keep_files = !in->delete_external_artifacts,
                               .steps = in->include_pipeline_steps };
    if (task_delete_one (c, in->task, &how, &r, err) < 0)
        return -1;
    out->deleted = true;
    out->updated_children = r.updated_children;
    out->updated_models = r.updated_models;
    out->deleted_models = r.deleted_models;
    out->urls = r.urls.p ? r.urls : TEXT ("null");
    out->has.deleted = out->has.updated_children = out->has.updated_models = out->has.deleted_models = true;
    return 0;
}

int tasks_archive (struct call *c, const struct tasks_archive_in *in, struct tasks_archive_out *out,
                   struct error *err)
{
    for (size_t i = 0; i < in->tasks.n; i++) { /* all or nothing: the first unknown one undoes the rest */
        if (task_archive_one (c, in->tasks.v[i], true, in->status_reason, in->status_message,
                              in->include_pipeline_steps, err) < 0)
            return -1;
        out->archived++;
    }
    out->has.archived = true;
    return 0;
}

/* -- many: each id by itself; a failure halfway through one leaves nothing of it */
static void put_updated (struct str *item, int64_t updated, struct text fields)
{
    str_addf (item, ",\"updated\":%lld", (long long)updated);
    fields_json (item, "fields", fields);
}

static int stop_item (struct call *c, const char *id, const void *arg, struct str *item, struct error *err)
{
    const struct tasks_stop_many_in *in = arg;
    struct text fields;
    if (task_stop_one (c, id, in->force, in->include_pipeline_steps, in->status_reason, in->status_message,
                       &fields, err) < 0)
        return -1;
    put_updated (item, 1, fields);
    return 0;
}

static int publish_item (struct call *c, const char *id, const void *arg, struct str *item, struct error *err)
{
    const struct tasks_publish_many_in *in = arg;
    struct text fields;
    if (task_publish_one (c, id, in->force, unless_false (in->has.publish_model, in->publish_model),
                          in->status_reason, in->status_message, &fields, err) < 0)
        return -1;
    put_updated (item, 1, fields);
    return 0;
}

static int enqueue_item (struct call *c, const char *id, const void *arg, struct str *item, struct error *err)
{
    const struct tasks_enqueue_many_in *in = arg;
    struct text fields;
    struct task_enqueue q = { .queue = in->queue,
                              .validate = in->validate_tasks,
                              .queue_name = in->queue_name,
                              .reason = in->status_reason,
                              .message = in->status_message };
    if (task_enqueue_one (c, id, &q, &fields, err) < 0)
        return -1;
    str_puts (item, ",\"queued\":true");
    put_updated (item, 1, fields);
    return 0;
}

static int dequeue_item (struct call *c, const char *id, const void *arg, struct str *item, struct error *err)
{
    const struct tasks_dequeue_many_in *in = arg;
    struct text fields;
    int64_t dequeued, updated;
    if (task_dequeue_one (c, id, in->new_status, in->remove_from_all_queues, in->status_reason,
                          in->status_message, &dequeued, &updated, &fields, err) < 0)
        return -1;
    str_addf (item, ",\"dequeued\":%s", dequeued ? "true" : "false");
    put_updated (item, updated, fields);
    return 0;
}

static int reset_item (struct call *c, const char *id, const void *arg, struct str *item, struct error *err)
{
    const struct tasks_reset_many_in *in = arg;
    struct task_removed r;
    struct task_reset how = { .force = in->force,
                              .clear_all = in->clear_all,
                              .urls = in->return_file_urls,
                              .keep_models = in->has.delete_output_models && !in->delete_output_models,
                              .keep_files = !in->delete_external_artifacts };
    if (task_reset_one (c, id, &how, &r, err) < 0)
        return -1;
    str_addf (item, ",\"dequeued\":%s,\"deleted_models\":%lld", r.dequeued ? "true" : "false",
              (long long)r.deleted_models);
    fields_json (item, "urls", r.urls.p ? r.urls : TEXT ("{}"));
    put_updated (item, 1, r.fields);
    return 0;
}

static int delete_item (struct call *c, const char *id, const void *arg, struct str *item, struct error *err)
{
    const struct tasks_delete_many_in *in = arg;
    struct task_removed r;
    struct task_delete how = { .force = in->force,
                               .urls = in->return_file_urls,
                               .keep_models = in->has.delete_output_models && !in->delete_output_models,
                               .keep_files = !in->delete_external_artifacts,
                               .steps = in->include_pipeline_steps };
    if (task_delete_one (c, id, &how, &r, err) < 0)
        return -1;
    str_addf (item,
              ",\"deleted\":true,\"updated_children\":%lld,\"updated_models\":%lld,\"deleted_models\":%lld",
              (long long)r.updated_children, (long long)r.updated_models, (long long)r.deleted_models);
    fields_json (item, "urls", r.urls.p ? r.urls : TEXT ("null"));
    return 0;
}

static int archive_item (struct call *c, const char *id, const void *arg, struct str *item, struct error *err)
{
    const struct tasks_archive_many_in *in = arg;
    str_puts (item, ",\"archived\":true");
    return task_archive_one (c, id, true, in->status_reason, in->status_message, in->include_pipeline_steps,
                             err);
}

static int unarchive_item (struct call *c, const char *id, const void *arg, struct str *item,
                           struct error *err)
{
    const struct tasks_unarchive_many_in *in = arg;
    str_puts (item, ",\"unarchived\":true");
    return task_archive_one (c, id, false, in->status_reason, in->status_message, in->include_pipeline_steps,
                             err);
}

#define MANY(name, item)                                                                                     \
    int tasks_##name (struct call *c, const struct tasks_##name##_in *in, struct tasks_##name##_out *out,    \
                      struct error *err)                                                                     \
    {                                                                                                        \
        return many_run (c, in->ids.v, in->ids.n, item, in, &out->succeeded, &out->failed, err);             \
    }
MANY (stop_many, stop_item)
MANY (publish_many, publish_item)
MANY (dequeue_many, dequeue_item)
MANY (reset_many, reset_item)
MANY (delete_many, delete_item)
MANY (archive_many, archive_item)
MANY (unarchive_many, unarchive_item)

int tasks_enqueue_many (struct call *c, const struct tasks_enqueue_many_in *in,
                        struct tasks_enqueue_many_out *out, struct error *err)
{
    if (many_run (c, in->ids.v, in->ids.n, enqueue_item, in, &out->succeeded, &out->failed, err) < 0)
        return -1;
    if (in->verify_watched_queue) {
        struct queue_name q = { .id = in->queue };
        if (!q.id && in->queue_name && queue_find_by_name (c, in->queue_name, &q, err) < 0)
            return -1;
        out->queue_watched = q.id && workers_watch (c, q.id);
        out->has.queue_watched = true;
    }
    return 0;
}
