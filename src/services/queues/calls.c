/* calls.c - the handlers of queues.* that change or look at one queue; lists and metrics stand in lists.c. */
#include "api/queues.api.h"

#include "base/clock.h"
#include "base/json.h"
#include "services/answer.h"
#include "services/queues/rules.h"
#include "services/tasks/tasks.h"
#include "sql/sql.h"
#include "store/store.h"

#include <errno.h>

/* -- the document ------------------------------------------------------------------------------------------------ */
static int tags_given (struct call *c, const char *field, bool given, const char *const *v, size_t n,
                       struct text *ret, struct error *err)
{
    *ret = (struct text){ 0 };
    if (!given)
        return 0;
    if (tags_check (v, n, field, err) < 0)
        return -1;
    *ret = tags_of (c->arena, v, n);
    return 0;
}

#define TAGS(field, ret)                                                                                     \
    tags_given (c, #field, in->has.field, (const char *const *)in->field.v, in->field.n, (ret), err)

int queues_create (struct call *c, const struct queues_create_in *in, struct queues_create_out *out,
                   struct error *err)
{
    struct text tags, system_tags;

    if (TAGS (tags, &tags) < 0 || TAGS (system_tags, &system_tags) < 0 ||
        (in->has.metadata && metadata_check (in->metadata, err) < 0))
        return -1;
    return queue_create (c, in->name, in->display_name, tags, system_tags, in->metadata, &out->id, err);
}

int queues_update (struct call *c, const struct queues_update_in *in, struct queues_update_out *out,
                   struct error *err)
{
    struct queue q;
    struct text tags, system_tags, metadata = in->has.metadata ? in->metadata : (struct text){ 0 };
    const char *name = NULL;
    bool display = in->has.display_name || in->null.display_name;
    struct str fields = { .arena = c->arena };

    if (queue_load (c, in->queue, &q, err) < 0 || TAGS (tags, &tags) < 0 ||
        TAGS (system_tags, &system_tags) < 0 ||
        (in->has.name && queue_name_check (c, in->name, &name, err) < 0) ||
        (metadata.p && metadata_check (metadata, err) < 0))
        return -1;
    out->has.updated = true;
    fields_open (c, &fields);
    if (name)
        fields_str (&fields, "name", name);
    if (display)
        fields_str (&fields, "display_name", in->display_name);
    if (tags.p)
        fields_json (&fields, "tags", tags);
    if (system_tags.p)
        fields_json (&fields, "system_tags", system_tags);
    if (metadata.p)
        fields_json (&fields, "metadata", metadata);
    out->fields = fields_close (&fields);
    if (!name && !display && !tags.p && !system_tags.p && !metadata.p)
        return 0;
    if (db_exec (c->db, &sql_queue_update, err, V_INT (q.seq), V_STR (name), V_INT (display),
                 V_STR (in->display_name), V_TEXT (tags), V_TEXT (system_tags), V_TEXT (metadata)) < 0)
        return err->code == EEXIST
                   ? error_set (err, ERR_NOT_UNIQUE, "name: there is already a queue called '%s'", name)
                   : -1;
    out->updated = 1;
    return 0;
}

int queues_delete (struct call *c, const struct queues_delete_in *in, struct queues_delete_out *out,
                   struct error *err)
{
    struct queue q;

    if (queue_load (c, in->queue, &q, err) < 0 || queue_delete (c, &q, in->force, err) < 0)
        return -1;
    out->has.deleted = true;
    out->deleted = 1;
    return 0;
}

int queues_get_default (struct call *c, const struct queues_get_default_in *in,
                        struct queues_get_default_out *out, struct error *err)
{
    struct queue_name q;

    (void)in;
    if (queue_get_default (c, &q, err) < 0)
        return -1;
    out->id = q.id;
    out->name = q.name;
    return 0;
}

/* -- metadata ---------------------------------------------------------------------------------------------------- */
static int metadata_load (struct call *c, const char *queue, struct queue *q, struct json_object **ret,
                          struct error *err)
{
    cleanup_rows struct rows r = { 0 };
    int found;

    if (queue_load (c, queue, q, err) < 0 ||
        db_query (c->db, &sql_queue_metadata_get, &r, err, V_INT (q->seq)) < 0 ||
        (found = db_next (&r, err)) < 0)
        return -1;
    return json_tree (c->arena, found ? row_copy (&r, 0, c->arena) : TEXT ("{}"), ret, err);
}

static int metadata_store (struct call *c, const struct queue *q, struct json_object *metadata,
                           struct error *err)
{
    struct text v = json_text (c->arena, metadata);

    if (v.n > METADATA_MAX)
        return error_set (err, ERR_VALIDATION, "metadata: longer than %d bytes", METADATA_MAX);
    return db_exec (c->db, &sql_queue_update, err, V_INT (q->seq), V_NULL (), V_INT (0), V_NULL (), V_NULL (),
                    V_NULL (), V_TEXT (v)) < 0
               ? -1
               : 0;
}

int queues_add_or_update_metadata (struct call *c, const struct queues_add_or_update_metadata_in *in,
                                   struct queues_add_or_update_metadata_out *out, struct error *err)
{
    struct queue q;
    struct json_object *metadata;

    if (metadata_load (c, in->queue, &q, &metadata, err) < 0)
        return -1;
    if (in->replace_metadata)
        metadata = json_own (c->arena, json_object_new_object ());
    for (size_t i = 0; i < in->metadata.n; i++) {
        const struct queues_metadata_item *item = &in->metadata.v[i];
        struct json_object *o = json_object_new_object ();

        if (!item->key || !*item->key) {
            json_object_put (o);
            return error_set (err, ERR_VALIDATION, "metadata: each item needs a key");
        }
        json_object_object_add (o, "key", json_object_new_string (item->key));
        if (item->type)
            json_object_object_add (o, "type", json_object_new_string (item->type));
        if (item->value)
            json_object_object_add (o, "value", json_object_new_string (item->value));
        json_object_object_add (metadata, item->key, o);
    }
    if (metadata_store (c, &q, metadata, err) < 0)
        return -1;
    out->has.updated = true;
    out->updated = 1;
    return 0;
}

int queues_delete_metadata (struct call *c, const struct queues_delete_metadata_in *in,
                            struct queues_delete_metadata_out *out, struct error *err)
{
    struct queue q;
    struct json_object *metadata;

    if (metadata_load (c, in->queue, &q, &metadata, err) < 0)
        return -1;
    for (size_t i = 0; i < in->keys.n; i++)
        json_object_object_del (metadata, in->keys.v[i]);
    if (metadata_store (c, &q, metadata, err) < 0)
        return -1;
    out->has.updated = true;
    out->updated = 1;
    return 0;
}

/* -- entries ----------------------------------------------------------------------------------------------------- */
int queues_add_task (struct call *c, const struct queues_add_task_in *in, struct queues_add_task_out *out,
                     struct error *err)
{
    if (queue_add (c, in->queue, in->task, err) < 0)
        return -1;
    if (in->update_execution_queue && task_set_queue (c, in->task, in->queue, err) < 0)
        return -1;
    out->has.added = true;
    out->added = 1;
    return 0;
}

int queues_remove_task (struct call *c, const struct queues_remove_task_in *in,
                        struct queues_remove_task_out *out, struct error *err)
{
    struct queue q;
    const char *reason = arena_printf (c->arena, "Task was removed from the queue %s", in->queue);

    if (queue_load (c, in->queue, &q, err) < 0 || queue_remove (c, in->queue, in->task, err) < 0)
        return -1;
    if (in->update_task_status && queue_release_task (c, &q, in->task, reason, err) < 0)
        return -1;
    out->has.removed = true;
    out->removed = 1;
    return 0;
}

int queues_clear_queue (struct call *c, const struct queues_clear_queue_in *in,
                        struct queues_clear_queue_out *out, struct error *err)
{
    struct queue q;
    struct queue_tasks tasks;
    const char *reason = arena_printf (c->arena, "Queue %s was cleared", in->queue);

    if (queue_load (c, in->queue, &q, err) < 0 || queue_clear (c, &q, reason, &tasks, err) < 0)
        return -1;
    out->removed_tasks.v = tasks.v;
    out->removed_tasks.n = tasks.n;
    out->has.removed_tasks = true;
    return 0;
}

int queues_peek_task (struct call *c, const struct queues_peek_task_in *in, struct queues_peek_task_out *out,
                      struct error *err)
{
    struct queue_head head;

    if (queue_head (c, in->queue, &head, err) < 0)
        return -1;
    out->task = head.task;
    out->null.task = !head.task;
    return 0;
}

int queues_get_num_entries (struct call *c, const struct queues_get_num_entries_in *in,
                            struct queues_get_num_entries_out *out, struct error *err)
{
    struct queue_head head;

    if (queue_head (c, in->queue, &head, err) < 0)
        return -1;
    out->has.num = true;
    out->num = head.length;
    return 0;
}

static struct text entry_json (struct call *c, const struct queue_entry *e)
{
    struct str s = { .arena = c->arena };

    str_puts (&s, "{\"task\":");
    json_put_string (&s, e->task);
    str_puts (&s, ",\"added\":\"");
    clock_format (&s, e->added);
    str_puts (&s, "\"}");
    return str_text (&s);
}

static struct text task_info_json (struct call *c, const struct task_facts *f)
{
    struct str s = { .arena = c->arena };

    str_puts (&s, "{\"company\":");
    json_put_string (&s, f->company);
    str_puts (&s, ",\"user\":");
    json_put_string (&s, f->user);
    str_putc (&s, '}');
    return str_text (&s);
}

int queues_get_next_task (struct call *c, const struct queues_get_next_task_in *in,
                          struct queues_get_next_task_out *out, struct error *err)
{
    struct queue q;
    struct queue_entry e;
    struct task_facts facts = { 0 };
    int found;

    if (queue_land (c, 100, err) < 0 || queue_load (c, in->queue, &q, err) < 0)
        return -1;
    if (in->task) { /* only if it is the first */
        if ((found = queue_peek (c, &q, &e, err)) < 0)
            return -1;
        if (!found || strcmp (e.task, in->task) != 0)
            return 0;
    }
    if ((found = queue_pop (c, &q, &e, err)) <= 0)
        return found;
    if (task_facts (c, e.task, false, &facts, err) < 0) {
        if (!task_not_own (err))
            return -1;
        facts = (struct task_facts){ 0 };
    } else if (queue_fly (c, &q, &e, err) < 0) {
        return -1;
    }
    if (facts.status && !strcmp (facts.status, "stopped") && task_queue (c, e.task, q.id, err) < 0)
        return -1;
    out->entry = entry_json (c, &e);
    if (in->get_task_info && facts.id)
        out->task_info = task_info_json (c, &facts);
    return 0;
}

/* -- order ------------------------------------------------------------------------------------------------------- */
/* A count of at least 1; absent: 1. */
static int count_check (bool has, int64_t count, int64_t *ret, struct error *err)
{
    *ret = has ? count : 1;
    return *ret < 1 ? error_set (err, ERR_VALIDATION, "count: %lld is less than 1", (long long)count) : 0;
}

int queues_move_task_forward (struct call *c, const struct queues_move_task_forward_in *in,
                              struct queues_move_task_forward_out *out, struct error *err)
{
    int64_t count;

    out->has.position = true;
    return count_check (in->has.count, in->count, &count, err) < 0
               ? -1
               : queue_move (c, in->queue, in->task, -count, &out->position, err);
}

int queues_move_task_backward (struct call *c, const struct queues_move_task_backward_in *in,
                               struct queues_move_task_backward_out *out, struct error *err)
{
    int64_t count;

    out->has.position = true;
    return count_check (in->has.count, in->count, &count, err) < 0
               ? -1
               : queue_move (c, in->queue, in->task, count, &out->position, err);
}

int queues_move_task_to_front (struct call *c, const struct queues_move_task_to_front_in *in,
                               struct queues_move_task_to_front_out *out, struct error *err)
{
    out->has.position = true;
    return queue_move (c, in->queue, in->task, -QUEUE_FAR, &out->position, err);
}

int queues_move_task_to_back (struct call *c, const struct queues_move_task_to_back_in *in,
                              struct queues_move_task_to_back_out *out, struct error *err)
{
    out->has.position = true;
    return queue_move (c, in->queue, in->task, QUEUE_FAR, &out->position, err);
}
