/* calls_status.c - publishing, archiving and deleting models, one and many; and the calls of old clients that tie a
 * model to its task. */
#include "base/id.h"
#include "services/models/model.h"
#include "services/tasks/tasks.h"

/* -- old clients: the one output model of a task */
static int gone_since (struct call *c, const char *name, struct error *err)
{
    if (c->version <= 2013)
        return 0;
    return error_set (err, WIRE_ERROR (301, 1), "%s is not supported beyond version 2.13", name);
}

int models_get_by_task_id (struct call *c, const struct models_get_by_task_id_in *in,
                           struct models_get_by_task_id_out *out, struct error *err)
{
    struct task_model_facts f;
    struct query_source src = call_source (c);
    if (gone_since (c, "models.get_by_task_id", err) < 0)
        return -1;
    if (!in->task)
        return error_set (err, ERR_MISSING_FIELDS, "Missing required fields: missing=(task)");
    if (task_model_facts (c, in->task, &f, err) < 0)
        return -1;
    if (!f.last_output)
        return error_set (err, WIRE_ERROR (400, 122), "task %s has no output model", in->task);
    if (query_one (&src, &models_entity, f.last_output, TEXT ("{}"), 0, &out->model, err) < 0)
        return -1;
    if (!out->model.p)
        return error_set (err, ERR_INVALID_MODEL_ID, "Invalid model id: id=%s", f.last_output);
    return 0;
}

static struct text first_model (struct call *c, const struct models_update_for_task_in *in,
                                const struct task_model_facts *f, struct model_new *m)
{
    *m = (struct model_new){
        .id = arena_strdup (c->arena, id_random ().hex),
        .name = in->name ? in->name : f->name,
        .comment = in->comment ? in->comment : arena_printf (c->arena, "Created by task %s", in->task),
        .parent = f->first_input,
        .project = f->project,
        .task = in->task,
        .uri = in->uri,
        .framework = f->framework,
        .labels = f->labels,
        .design = f->design,
    };
    if (in->has.tags)
        m->tags = tags_of (c->arena, in->tags.v, in->tags.n);
    if (in->has.system_tags)
        m->system_tags = tags_of (c->arena, in->system_tags.v, in->system_tags.n);
    return (struct text){ 0 };
}

static int change_output (struct call *c, const struct models_update_for_task_in *in, const struct model *m,
                          struct models_update_for_task_out *out, struct error *err)
{
    struct str fields;
    fields_open (c, &fields);
    if (in->uri)
        fields_str (&fields, "uri", in->uri);
    if (in->name)
        fields_str (&fields, "name", in->name);
    if (in->comment)
        fields_str (&fields, "comment", in->comment);
    if (model_uri_replaced (c, m, in->uri, err) < 0 ||
        db_exec (c->db, &sql_model_edit, err, V_INT (m->n), V_STR (in->name), V_STR (in->uri),
                 V_STR (in->comment), V_NULL (), V_NULL (), V_NULL (), V_STR (in->task), V_NULL (), V_NULL (),
                 V_NULL (), V_NULL (), V_NULL ()) < 0)
        return -1;
    if (in->has.tags) {
        struct text tags = tags_of (c->arena, in->tags.v, in->tags.n);
        fields_json (&fields, "tags", tags);
        if (model_set_tags (c, m, tags, m->system_tags, err) < 0)
            return -1;
    }
    out->id = m->id;
    out->updated = 1;
    out->has.updated = out->has.created = true;
    out->fields = fields_close (&fields);
    return model_changed (c, m, true, err);
}

int models_update_for_task (struct call *c, const struct models_update_for_task_in *in,
                            struct models_update_for_task_out *out, struct error *err)
{
    struct task_model_facts f;
    struct model old;
    struct model_new m;
    if (gone_since (c, "models.update_for_task", err) < 0)
        return -1;
    if (!in->uri == !in->override_model_id)
        return error_set (err, ERR_MISSING_FIELDS, "exactly one of uri and override_model_id must be given");
    if (task_model_facts (c, in->task, &f, err) < 0)
        return -1;
    if (strcmp (f.status, "created") && strcmp (f.status, "in_progress"))
        return error_set (err, ERR_INVALID_TASK_STATUS,
                          "task %s is %s: its model can change only while it runs", in->task, f.status);
    if (in->has.iteration && task_touch_from_model (c, in->task, in->iteration, err) < 0)
        return -1;
    if (in->override_model_id) {
        if (model_read (c, in->override_model_id, true, &old, err) < 0 ||
            task_set_output_model (c, in->task, "Output Model", old.id, err) < 0)
            return -1;
        out->id = old.id;
        out->created = out->has.created = true;
        return 0;
    }
    if (f.last_output && model_read (c, f.last_output, false, &old, err) == 0)
        return change_output (c, in, &old, out, err);
    first_model (c, in, &f, &m);
    if (name_check (c, "Model", m.name, &m.name, err) < 0 || model_insert (c, &m, err) < 0 ||
        task_set_output_model (c, in->task, "Output Model", m.id, err) < 0)
        return -1;
    out->id = m.id;
    out->created = out->has.created = true;
    return 0;
}

/* -- publish */
int models_set_ready (struct call *c, const struct models_set_ready_in *in, struct models_set_ready_out *out,
                      struct error *err)
{
    if (model_publish_one (c, in->model, !in->has.publish_task || in->publish_task, in->force_publish_task,
                           &out->published_task, err) < 0)
        return -1;
    out->updated = 1;
    out->has.updated = true;
    out->fields = TEXT ("{}");
    return 0;
}

/* -- delete */

int models_delete (struct call *c, const struct models_delete_in *in, struct models_delete_out *out,
                   struct error *err)
{
    struct model m;
    if (model_read (c, in->model, false, &m, err) < 0 ||
        model_delete (c, in->model, in->force, in->delete_external_artifacts, NULL, err) < 0)
        return -1;
    out->deleted = out->has.deleted = true;
    out->url = m.uri;
    return 0;
}

/* -- many */
static int publish_item (struct call *c, const char *id, const void *arg, struct str *item, struct error *err)
{
    const struct models_publish_many_in *in = arg;
    struct text task;
    if (model_publish_one (c, id, in->publish_tasks && in->publish_task, in->force_publish_task, &task, err) <
        0)
        return -1;
    str_puts (item, ",\"updated\":true");
    fields_json (item, "published_task", task);
    return 0;
}

static int archive_model (struct call *c, const char *id, bool archive, struct error *err)
{
    struct model m;
    if (model_read (c, id, false, &m, err) < 0)
        return -1;
    struct tag_list tags = tags_read (c->arena, m.system_tags);
    if (archive)
        tags_add (c->arena, &tags, "archived");
    else
        tags_remove (&tags, "archived");
    if (model_set_tags (c, &m, m.tags, tags_write (c->arena, &tags), err) < 0)
        return -1;
    return model_changed (c, &m, false, err);
}

static int archive_item (struct call *c, const char *id, const void *arg, struct str *item, struct error *err)
{
    (void)arg;
    str_puts (item, ",\"archived\":true");
    return archive_model (c, id, true, err);
}

static int unarchive_item (struct call *c, const char *id, const void *arg, struct str *item,
                           struct error *err)
{
    (void)arg;
    str_puts (item, ",\"unarchived\":true");
    return archive_model (c, id, false, err);
}

static int delete_item (struct call *c, const char *id, const void *arg, struct str *item, struct error *err)
{
    const struct models_delete_many_in *in = arg;
    struct model m;
    if (model_read (c, id, false, &m, err) < 0 ||
        model_delete (c, id, in->force, in->delete_external_artifacts, NULL, err) < 0)
        return -1;
    str_puts (item, ",\"deleted\":true");
    fields_str (item, "url", m.uri);
    return 0;
}

#define MANY(name, item)                                                                                     \
    int models_##name (struct call *c, const struct models_##name##_in *in, struct models_##name##_out *out, \
                       struct error *err)                                                                    \
    {                                                                                                        \
        return many_run (c, in->ids.v, in->ids.n, item, in, &out->succeeded, &out->failed, err);             \
    }
MANY (publish_many, publish_item)
MANY (archive_many, archive_item)
MANY (unarchive_many, unarchive_item)
MANY (delete_many, delete_item)
