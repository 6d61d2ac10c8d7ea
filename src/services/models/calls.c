/* calls.c - reading, making, changing models. */
#include "base/id.h"
#include "services/models/model.h"
#include "services/oldtags.h"
#include "services/projects/projects.h"
#include "services/tasks/tasks.h"

/* -- reading */
int models_get_by_id (struct call *c, const struct models_get_by_id_in *in, struct models_get_by_id_out *out,
                      struct error *err)
{
    struct query_source src = call_source (c);
    if (query_one (&src, &models_entity, in->model, c->body, 0, &out->model, err) < 0)
        return -1;
    if (!out->model.p)
        return error_set (err, ERR_INVALID_MODEL_ID, "Invalid model id: id=%s (no such own or public model)",
                          in->model);
    return 0;
}

static int labels_count (const struct query_source *src, const char *id, struct str *out, void *arg,
                         struct error *err)
{
    cleanup_rows struct rows r = { 0 };
    (void)arg;
    if (db_query (src->db, &sql_model_labels_count, &r, err, V_STR (id)) < 0 || db_next (&r, err) < 0)
        return -1;
    str_addf (out, ",\"stats\":{\"labels_count\":%lld}", (long long)row_int (&r, 0));
    return 0;
}

static int get_all (struct call *c, unsigned flags, struct text *ret, const char **ret_scroll,
                    struct error *err)
{
    struct query_source src = call_source (c);
    struct query_options o = { .flags = flags };
    struct query_result found;
    if (flags & QUERY_EX && json_true (json_get (c->body, "include_stats")))
        o.item = labels_count;
    if (query_run (&src, &models_entity, old_tags_filter (c, &old_tags_model, c->body), &o, &found, err) < 0)
        return -1;
    *ret = found.items;
    if (ret_scroll)
        *ret_scroll = found.scroll_id;
    return 0;
}

int models_get_all (struct call *c, const struct models_get_all_in *in, struct models_get_all_out *out,
                    struct error *err)
{
    (void)in;
    return get_all (c, 0, &out->models, &out->scroll_id, err);
}

int models_get_all_ex (struct call *c, const struct models_get_all_ex_in *in,
                       struct models_get_all_ex_out *out, struct error *err)
{
    (void)in;
    return get_all (c, QUERY_EX, &out->models, &out->scroll_id, err);
}

int models_get_by_id_ex (struct call *c, const struct models_get_by_id_ex_in *in,
                         struct models_get_by_id_ex_out *out, struct error *err)
{
    (void)in;
    if (json_kind (json_get (c->body, "id")) <= JSON_NULL)
        return error_set (err, ERR_MISSING_FIELDS, "Missing required fields: missing=(id)");
    return get_all (c, QUERY_EX, &out->models, NULL, err);
}

int models_get_frameworks (struct call *c, const struct models_get_frameworks_in *in,
                           struct models_get_frameworks_out *out, struct error *err)
{
    struct tag_list found = { 0 };
    cleanup_rows struct rows r = { 0 };
    struct text projects =
        in->projects.n ? tags_of (c->arena, in->projects.v, in->projects.n) : (struct text){ 0 };
    int more;
    if (db_query (c->db, &sql_model_frameworks, &r, err, V_STR (c->who.company), V_TEXT (projects)) < 0)
        return -1;
    while ((more = db_next (&r, err)) > 0)
        tags_add (c->arena, &found, row_str (&r, 0, c->arena));
    out->frameworks.v = found.v ? found.v : arena_array (c->arena, const char *, 1);
    out->frameworks.n = found.n;
    return more;
}

/* -- making */
static int check_refs (struct call *c, const char *project, const char *task, bool edit, struct error *err)
{
    struct error why = { 0 };
    struct task_facts t;
    if (project && *project && project_check (c, project, true, &why) < 0)
        return error_set (err, edit ? ERR_FIELDS_VALUE : ERR_VALIDATION, "Invalid project ids: project=%s",
                          project);
    if (task && *task && task_facts (c, task, edit, &t, &why) < 0) {
        if (why.code != ERR_INVALID_TASK_ID)
            *err = why;
        else
            error_set (err, edit ? ERR_FIELDS_VALUE : ERR_INVALID_TASK_ID,
                       "Invalid task id: id=%s, field=task", task);
        return -1;
    }
    return 0;
}

int models_create (struct call *c, const struct models_create_in *in, struct models_create_out *out,
                   struct error *err)
{
    struct model_new m = {
        .parent = in->parent,
        .project = in->project,
        .task = in->task,
        .comment = in->comment,
        .framework = in->framework,
        .design = json_kind (in->design) == JSON_OBJECT ? in->design : (struct text){ 0 },
        .labels = json_kind (in->labels) == JSON_OBJECT ? in->labels : (struct text){ 0 },
        .ready = !in->has.ready || in->ready,
        .everybody = in->public,
    };
    if (json_kind (in->metadata) > JSON_NULL) {
        if (metadata_check (in->metadata, err) < 0)
            return -1;
        m.metadata = in->metadata;
    }
    if (name_check (c, "Model", in->name, &m.name, err) < 0 || labels_check (in->labels, err) < 0 ||
        tags_check (in->tags.v, in->tags.n, "tags", err) < 0 ||
        tags_check (in->system_tags.v, in->system_tags.n, "system_tags", err) < 0 ||
        check_refs (c, in->project, in->task, false, err) < 0)
        return -1;
    m.uri = strip (c->arena, in->uri);
    if (in->has.tags)
        m.tags = tags_of (c->arena, in->tags.v, in->tags.n);
    if (in->has.system_tags)
        m.system_tags = tags_of (c->arena, in->system_tags.v, in->system_tags.n);
    old_tags_divide (c, &old_tags_model, &m.tags, &m.system_tags);
    m.id = arena_strdup (c->arena, id_random ().hex);
    if (model_insert (c, &m, err) < 0)
        return -1;
    out->id = m.id;
    out->created = out->has.created = true;
    return 0;
}

/* -- editing */
struct edit {
    struct model m;
    struct str fields;
    const char *name, *uri, *comment, *framework, *parent, *project, *task;
    struct text design, labels, metadata, ui_cache, tags, system;
    bool has_ready, ready, any, update;
};

static void take_str (struct edit *e, const char *field, const char *v, const char **to, bool update)
{
    if (!v)
        return;
    *to = v;
    e->any = true;
    e->update |= update;
    fields_str (&e->fields, field, v);
}

static int take_object (struct edit *e, const char *field, struct text v, struct text *to, bool update,
                        struct error *err)
{
    if (json_kind (v) <= JSON_NULL)
        return 0;
    if (json_kind (v) != JSON_OBJECT)
        return error_set (err, ERR_VALIDATION, "%s: must be an object", field);
    *to = v;
    e->any = true;
    e->update |= update;
    fields_json (&e->fields, field, v);
    return 0;
}

static int take_metadata (struct edit *e, struct text v, struct error *err)
{
    if (json_kind (v) > JSON_NULL && metadata_check (v, err) < 0)
        return -1;
    return take_object (e, "metadata", v, &e->metadata, true, err);
}

static int take_tags (struct call *c, struct edit *e, struct text tags, struct text system, struct error *err)
{
    if (json_kind (tags) == JSON_ARRAY)
        e->tags = tags;
    if (json_kind (system) == JSON_ARRAY)
        e->system = system;
    old_tags_divide (c, &old_tags_model, &e->tags, &e->system);
    if (!e->tags.p && !e->system.p)
        return 0;
    struct tag_list l = tags_read (c->arena, e->tags), sys = tags_read (c->arena, e->system);
    if (tags_check (l.v, l.n, "tags", err) < 0 || tags_check (sys.v, sys.n, "system_tags", err) < 0)
        return -1;
    struct text t = e->tags.p ? tags_write (c->arena, &l) : e->m.tags,
                s = e->system.p ? tags_write (c->arena, &sys) : e->m.system_tags;
    if (e->tags.p)
        fields_json (&e->fields, "tags", t);
    if (e->system.p)
        fields_json (&e->fields, "system_tags", s);
    e->any = e->update = true;
    return model_set_tags (c, &e->m, t, s, err);
}

static int edit_save (struct call *c, struct edit *e, struct text *ret_fields, int64_t *ret_updated,
                      struct error *err)
{
    *ret_fields = TEXT ("{}");
    *ret_updated = 0;
    if (!e->any)
        return 0;
    if (model_uri_replaced (c, &e->m, e->uri, err) < 0 ||
        db_exec (c->db, &sql_model_edit, err, V_INT (e->m.n), V_STR (e->name), V_STR (e->uri),
                 V_STR (e->comment), V_STR (e->framework), V_STR (e->parent), V_STR (e->project),
                 V_STR (e->task), V_TEXT (e->design), V_TEXT (e->labels), V_TEXT (e->metadata),
                 V_TEXT (e->ui_cache), e->has_ready ? V_INT (e->ready) : V_NULL ()) < 0 ||
        model_changed (c, &e->m, e->update, err) < 0 || project_touch (c, e->project, err) < 0)
        return -1;
    fields_time (&e->fields, "last_change", c->now_us);
    fields_str (&e->fields, "last_changed_by", c->who.user);
    if (e->update)
        fields_time (&e->fields, "last_update", c->now_us);
    *ret_fields = fields_close (&e->fields);
    *ret_updated = 1;
    return 0;
}

int models_edit (struct call *c, const struct models_edit_in *in, struct models_edit_out *out,
                 struct error *err)
{
    struct edit e = { 0 };
    const char *name = NULL, *task = in->task && !strncmp (in->task, "__DELETED__", 11) ? NULL : in->task;
    fields_open (c, &e.fields);
    if (model_read (c, in->model, false, &e.m, err) < 0 ||
        (in->name && name_check (c, "Model", in->name, &name, err) < 0) ||
        labels_check (in->labels, err) < 0 || check_refs (c, in->project, task, true, err) < 0)
        return -1;
    take_str (&e, "name", name, &e.name, false);
    if (take_tags (c, &e, json_get (c->body, "tags"), json_get (c->body, "system_tags"), err) < 0)
        return -1;
    take_str (&e, "task", task, &e.task, false);
    take_str (&e, "comment", in->comment, &e.comment, false);
    take_str (&e, "uri", in->uri ? strip (c->arena, in->uri) : NULL, &e.uri, true);
    take_str (&e, "project", in->project, &e.project, false);
    take_str (&e, "parent", in->parent, &e.parent, false);
    take_str (&e, "framework", in->framework, &e.framework, true);
    if (take_object (&e, "design", in->design, &e.design, true, err) < 0 ||
        take_object (&e, "labels", in->labels, &e.labels, true, err) < 0 ||
        take_metadata (&e, in->metadata, err) < 0)
        return -1;
    if (in->has.ready) {
        e.has_ready = e.any = e.update = true;
        e.ready = in->ready;
        fields_json (&e.fields, "ready", in->ready ? TEXT ("true") : TEXT ("false"));
    }
    if (e.uri) {
        e.ui_cache = TEXT ("{}");
        fields_json (&e.fields, "ui_cache", e.ui_cache);
    }
    const char *of = task ? task : e.m.task;
    if (in->has.iteration && of && task_touch_from_model (c, of, in->iteration, err) < 0)
        return -1;
    out->has.updated = true;
    return edit_save (c, &e, &out->fields, &out->updated, err);
}

int models_update (struct call *c, const struct models_update_in *in, struct models_update_out *out,
                   struct error *err)
{
    struct edit e = { 0 };
    const char *name = NULL;
    fields_open (c, &e.fields);
    if (model_read (c, in->model, false, &e.m, err) < 0 ||
        (in->name && name_check (c, "Model", in->name, &name, err) < 0) ||
        check_refs (c, in->project, NULL, true, err) < 0)
        return -1;
    const char *uri = json_string (c->arena, json_get (c->body, "uri"));
    take_str (&e, "name", name, &e.name, false);
    take_str (&e, "project", in->project, &e.project, false);
    take_str (&e, "comment", in->comment, &e.comment, false);
    take_str (&e, "uri", uri ? strip (c->arena, uri) : NULL, &e.uri, true);
    if (take_tags (c, &e, json_get (c->body, "tags"), json_get (c->body, "system_tags"), err) < 0 ||
        take_object (&e, "ui_cache", in->ui_cache, &e.ui_cache, false, err) < 0 ||
        take_metadata (&e, in->metadata, err) < 0)
        return -1;
    if (in->task && in->has.iteration && task_touch_from_model (c, in->task, in->iteration, err) < 0)
        return -1;
    out->has.updated = true;
    return edit_save (c, &e, &out->fields, &out->updated, err);
}

/* -- metadata */
int models_add_or_update_metadata (struct call *c, const struct models_add_or_update_metadata_in *in,
                                   struct models_add_or_update_metadata_out *out, struct error *err)
{
    struct model m;
    struct str s = { .arena = c->arena };
    if (model_read (c, in->model, false, &m, err) < 0)
        return -1;
    str_putc (&s, '{');
    struct json_iter it = json_iter (in->replace_metadata ? TEXT ("{}") : m.metadata);
    while (json_next (&it)) {
        const char *key = json_key (c->arena, it.key);
        bool replaced = false;
        for (size_t i = 0; i < in->metadata.n && !replaced; i++)
            replaced = in->metadata.v[i].key && !strcmp (in->metadata.v[i].key, key);
        if (!replaced)
            fields_json (&s, key, it.value);
    }
    for (size_t i = 0; i < in->metadata.n; i++) {
        const struct models_metadata_item *item = &in->metadata.v[i];
        if (!item->key || !*item->key)
            return error_set (err, ERR_VALIDATION, "metadata: each item needs a key");
        json_put_key (&s, item->key);
        str_putc (&s, '{');
        fields_str (&s, "key", item->key);
        if (item->type)
            fields_str (&s, "type", item->type);
        if (item->value)
            fields_str (&s, "value", item->value);
        str_putc (&s, '}');
    }
    str_putc (&s, '}');
    out->updated = 1;
    out->has.updated = true;
    if (metadata_check (str_text (&s), err) < 0 ||
        db_exec (c->db, &sql_model_set_metadata, err, V_INT (m.n), V_TEXT (str_text (&s))) < 0)
        return -1;
    return model_changed (c, &m, true, err);
}

int models_delete_metadata (struct call *c, const struct models_delete_metadata_in *in,
                            struct models_delete_metadata_out *out, struct error *err)
{
    struct model m;
    struct str s = { .arena = c->arena };
    if (model_read (c, in->model, false, &m, err) < 0)
        return -1;
    str_putc (&s, '{');
    struct json_iter it = json_iter (m.metadata);
    while (json_next (&it)) {
        const char *key = json_key (c->arena, it.key);
        bool gone = false;
        for (size_t i = 0; i < in->keys.n && !gone; i++)
            gone = !strcmp (in->keys.v[i], key);
        if (!gone)
            fields_json (&s, key, it.value);
    }
    str_putc (&s, '}');
    out->updated = 1;
    out->has.updated = true;
    if (db_exec (c->db, &sql_model_set_metadata, err, V_INT (m.n), V_TEXT (str_text (&s))) < 0)
        return -1;
    return model_changed (c, &m, true, err);
}

/* -- tags, projects, everybody's */
int models_update_tags (struct call *c, const struct models_update_tags_in *in,
                        struct models_update_tags_out *out, struct error *err)
{
    if (!in->add_tags.n && !in->remove_tags.n)
        return error_set (err, ERR_VALIDATION, "add_tags or remove_tags: one of them must be given");
    if (tags_check (in->add_tags.v, in->add_tags.n, "add_tags", err) < 0)
        return -1;
    for (size_t i = 0; i < in->ids.n; i++) {
        struct model m;
        if (model_read (c, in->ids.v[i], false, &m, err) < 0)
            return -1;
        struct tag_list tags = tags_read (c->arena, m.tags);
        for (size_t k = 0; k < in->add_tags.n; k++)
            tags_add (c->arena, &tags, in->add_tags.v[k]);
        for (size_t k = 0; k < in->remove_tags.n; k++)
            tags_remove (&tags, in->remove_tags.v[k]);
        if (model_set_tags (c, &m, tags_write (c->arena, &tags), m.system_tags, err) < 0 ||
            model_changed (c, &m, true, err) < 0)
            return -1;
    }
    out->updated = (int64_t)in->ids.n * (!!in->add_tags.n + !!in->remove_tags.n);
    out->has.updated = true;
    return 0;
}

int models_move (struct call *c, const struct models_move_in *in, struct models_move_out *out,
                 struct error *err)
{
    const char *project = in->project;
    if (!in->has.project && !in->null.project && !in->project_name)
        return error_set (err, ERR_MISSING_FIELDS,
                          "Missing required fields: missing=(project or project_name)");
    if (!project && in->project_name) {
        if (project_find_or_create (c, in->project_name, "", &project, err) < 0)
            return -1;
    } else if (project && *project && project_check (c, project, true, err) < 0) {
        return -1;
    }
    project = project && *project ? project : NULL;
    for (size_t i = 0; i < in->ids.n; i++) {
        struct model m;
        if (model_read (c, in->ids.v[i], false, &m, err) < 0 ||
            db_exec (c->db, &sql_model_set_project, err, V_INT (m.n), V_STR (project)) < 0 ||
            model_changed (c, &m, false, err) < 0)
            return -1;
    }
    struct str s;
    fields_open (c, &s);
    fields_str (&s, "project_id", project);
    out->rest = fields_close (&s);
    return project_touch (c, project, err);
}

int models_make_public (struct call *c, const struct models_make_public_in *in,
                        struct models_make_public_out *out, struct error *err)
{
    out->has.updated = true;
    return share_all (c, &sql_model_make_public, in->ids.v, in->ids.n, ERR_INVALID_MODEL_ID, &out->updated,
                      err);
}

int models_make_private (struct call *c, const struct models_make_private_in *in,
                         struct models_make_private_out *out, struct error *err)
{
    out->has.updated = true;
    return share_all (c, &sql_model_make_private, in->ids.v, in->ids.n, ERR_INVALID_MODEL_ID, &out->updated,
                      err);
}
