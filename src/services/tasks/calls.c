/* calls.c - reading tasks, and making and editing them. Thin: rules are in rules.c, documents in doc.c and input.c. */
#include "base/id.h"
#include "services/oldtags.h"
#include "services/projects/projects.h"
#include "services/tasks/task.h"

/* -- reading */
int tasks_get_by_id (struct call *c, const struct tasks_get_by_id_in *in, struct tasks_get_by_id_out *out,
                     struct error *err)
{
    struct query_source src = call_source (c);
    struct text body =
        json_get (c->body, "only_fields").p ? c->body : TEXT ("{\"only_fields\":[\"*\",\"unique_metrics\"]}");
    if (query_one (&src, &tasks_entity, in->task, body, 0, &out->task, err) < 0)
        return -1;
    if (!out->task.p)
        return error_set (err, ERR_INVALID_TASK_ID, "Invalid task id: id=%s, company=%s", in->task,
                          c->who.company);
    return 0;
}

static int get_all (struct call *c, struct text body, unsigned flags, struct text *ret_tasks,
                    const char **ret_scroll, struct error *err)
{
    struct query_source src = call_source (c);
    struct query_options o = { .flags = flags };
    struct query_result found;
    if (query_run (&src, &tasks_entity, old_tags_filter (c, &old_tags_task, body), &o, &found, err) < 0)
        return -1;
    *ret_tasks = found.items;
    if (ret_scroll)
        *ret_scroll = found.scroll_id;
    return 0;
}

int tasks_get_all (struct call *c, const struct tasks_get_all_in *in, struct tasks_get_all_out *out,
                   struct error *err)
{
    (void)in;
    return get_all (c, c->body, 0, &out->tasks, &out->scroll_id, err);
}

int tasks_get_all_ex (struct call *c, const struct tasks_get_all_ex_in *in, struct tasks_get_all_ex_out *out,
                      struct error *err)
{
    (void)in;
    return get_all (c, c->body, QUERY_EX, &out->tasks, &out->scroll_id, err);
}

int tasks_get_by_id_ex (struct call *c, const struct tasks_get_by_id_ex_in *in,
                        struct tasks_get_by_id_ex_out *out, struct error *err)
{
    (void)in;
    if (json_kind (json_get (c->body, "id")) <= JSON_NULL)
        return error_set (err, ERR_MISSING_FIELDS, "Missing required fields: missing=(id)");
    return get_all (c, c->body, QUERY_EX | QUERY_SHOW_HIDDEN, &out->tasks, NULL, err);
}

int tasks_get_types (struct call *c, const struct tasks_get_types_in *in, struct tasks_get_types_out *out,
                     struct error *err)
{
    struct id_list types;
    struct text projects = tags_of (c->arena, in->projects.v, in->projects.n);
    struct value v[2] = { V_STR (c->who.company), V_TEXT (projects) };
    bool some = in->projects.n > 0;
    if (id_list_read (c, some ? &sql_task_types_in : &sql_task_types, &types, err, v, some ? 2 : 1) < 0)
        return -1;
    out->types.v = types.v ? types.v : arena_array (c->arena, const char *, 1);
    out->types.n = types.n;
    return 0;
}

/* -- making */
static int check_type (const char *type, struct error *err)
{
    if (task_type_known (type))
        return 0;
    return error_set (err, ERR_VALIDATION,
                      "Validation error (error for field 'type': '%s' is not a task type)", type);
}

/* What create makes of its input before it needs the database. */
struct prepared {
    struct task_row row;
    struct task_doc doc;
    struct task_input parts;
};

static int prepare (struct call *c, const struct tasks_create_in *in, struct prepared *p, struct error *err)
{
    struct arena *a = c->arena;
    struct task_row *row = &p->row;
    p->parts = (struct task_input){
        .execution = in->execution,
        .script = in->script,
        .hyperparams = in->hyperparams,
        .configuration = in->configuration,
        .models = in->models,
        .container = in->container,
        .runtime = json_get (c->body, "runtime"),
        .output = c->version < 2013 ? json_get (c->body, "output") : (struct text){ 0 },
        .output_dest = in->output_dest,
        .parent = in->parent,
        .project = in->project,
    };
    *row = (struct task_row){ .type = in->type, .comment = in->comment, .user = c->who.user };
    if (name_check (c, "Task", in->name, &row->name, err) < 0 || check_type (in->type, err) < 0 ||
        tags_check (in->tags.v, in->tags.n, "tags", err) < 0 ||
        tags_check (in->system_tags.v, in->system_tags.n, "system_tags", err) < 0 ||
        task_input_modernize (c, &p->parts, NULL, err) < 0 ||
        task_input_doc (c, &p->parts, NULL, &p->doc, err) < 0)
        return -1;
    row->tags = tags_of (a, in->tags.v, in->tags.n);
    row->system_tags = tags_of (a, in->system_tags.v, in->system_tags.n);
    old_tags_divide (c, &old_tags_task, &row->tags, &row->system_tags);
    row->parent = in->parent && *in->parent ? in->parent : NULL;
    row->project = in->project && *in->project ? in->project : NULL;
    row->queue = json_string (a, json_get (in->execution, "queue"));
    return 0;
}

/* On the pool: the writer only looks up references and writes. */
int tasks_create_prepare (struct call *c, const struct tasks_create_in *in, struct error *err)
{
    struct prepared *p = arena_new (c->arena, struct prepared);
    if (prepare (c, in, p, err) < 0)
        return -1;
    p->row.id = arena_strdup (c->arena, id_random ().hex);
    c->prepared = p;
    return 0;
}

int tasks_create (struct call *c, const struct tasks_create_in *in, struct tasks_create_out *out,
                  struct error *err)
{
    if (!c->prepared && tasks_create_prepare (c, in, err) < 0)
        return -1;
    struct prepared *p = c->prepared;
    c->prepared = NULL; /* run again (after a lost transaction) it prepares again */
    if (task_input_refs (c, &p->parts, err) < 0 || task_insert (c, &p->row, &p->doc, err) < 0)
        return -1;
    out->id = p->row.id;
    return 0;
}

int tasks_validate (struct call *c, const struct tasks_validate_in *in, struct tasks_validate_out *out,
                    struct error *err)
{
    struct prepared p;
    struct tasks_create_in like = {
        .name = in->name,
        .type = in->type,
        .comment = in->comment,
        .parent = in->parent && !strncmp (in->parent, "__DELETED__", 11) ? NULL : in->parent,
        .project = in->project,
        .output_dest = in->output_dest,
        .execution = in->execution,
        .script = in->script,
        .hyperparams = in->hyperparams,
        .configuration = in->configuration,
        .models = in->models,
        .container = in->container,
    };
    like.tags.v = in->tags.v;
    like.tags.n = in->tags.n;
    like.system_tags.v = in->system_tags.v;
    like.system_tags.n = in->system_tags.n;
    (void)out;
    if (prepare (c, &like, &p, err) < 0)
        return -1;
    return task_input_refs (c, &p.parts, err);
}

/* -- editing */
struct edit {
    struct task_facts t;
    struct task_doc stored, doc;
    struct str fields;
    const char *name, *type, *status, *comment, *parent, *project;
    bool any, update; /* something was given; something beyond names and tags */
};

static void edit_str (struct edit *e, const char *field, const char *v, const char **to, bool update)
{
    if (!v)
        return;
    *to = v;
    e->any = true;
    e->update |= update;
    fields_str (&e->fields, field, v);
}

static void edit_doc (struct edit *e, const char *field, struct text given, struct text saved)
{
    if (json_kind (given) <= JSON_NULL || !saved.p)
        return;
    e->any = e->update = true;
    fields_json (&e->fields, field, saved);
}

static int edit_tags (struct call *c, struct edit *e, const struct tasks_edit_in *in, struct error *err)
{
    struct arena *a = c->arena;
    if (tags_check (in->tags.v, in->tags.n, "tags", err) < 0 ||
        tags_check (in->system_tags.v, in->system_tags.n, "system_tags", err) < 0)
        return -1;
    struct text tags = in->has.tags ? tags_of (a, in->tags.v, in->tags.n) : (struct text){ 0 },
                system = in->has.system_tags ? tags_of (a, in->system_tags.v, in->system_tags.n)
                                             : (struct text){ 0 };
    old_tags_divide (c, &old_tags_task, &tags, &system);
    if (tags.p) {
        if (db_exec (c->db, &sql_task_set_tags, err, V_INT (e->t.n), V_TEXT (tags)) < 0)
            return -1;
        fields_json (&e->fields, "tags", tags);
    }
    if (system.p) {
        if (task_set_system_tags (c, e->t.n, system, err) < 0)
            return -1;
        fields_json (&e->fields, "system_tags", system);
    }
    e->any |= in->has.tags || in->has.system_tags;
    return 0;
}

static int edit_row (struct call *c, struct edit *e, const struct tasks_edit_in *in, struct error *err)
{
    const char *name = NULL, *status = json_string (c->arena, json_get (c->body, "status")),
               *queue = json_string (c->arena, json_get (in->execution, "queue"));
    enum task_status s;
    if (in->name && name_check (c, "Task", in->name, &name, err) < 0)
        return -1;
    if (in->type && check_type (in->type, err) < 0)
        return -1;
    if (status && !task_status_parse (status, &s))
        return error_set (err, ERR_VALIDATION, "status: '%s' is no task status", status);
    edit_str (e, "name", name, &e->name, false);
    edit_str (e, "type", in->type, &e->type, true);
    edit_str (e, "status", status, &e->status, true);
    edit_str (e, "comment", in->comment, &e->comment, false);
    edit_str (e, "parent", in->parent, &e->parent, true);
    edit_str (e, "project", in->project, &e->project, false);
    if (queue)
        e->any = e->update = true;
    if (!e->any)
        return 0;
    if (db_exec (c->db, &sql_task_edit, err, V_INT (e->t.n), V_STR (e->name), V_STR (e->type),
                 V_STR (e->status), V_STR (e->comment), V_STR (e->parent), V_STR (e->project),
                 V_STR (queue)) < 0)
        return -1;
    return project_touch (c, e->project, err);
}

static int edit_docs (struct call *c, struct edit *e, const struct tasks_edit_in *in, struct error *err)
{
    struct task_input parts = {
        .execution = in->execution,
        .script = in->script,
        .hyperparams = in->hyperparams,
        .configuration = in->configuration,
        .models = in->models,
        .container = in->container,
        .runtime = in->runtime,
        .output = json_get (c->body, "output"),
        .output_dest = in->output_dest,
        .parent = in->parent && strncmp (in->parent, "__DELETED__", 11) ? in->parent : NULL,
        .project = in->project,
        .edit = true,
    };
    if (task_doc_read (c, e->t.n, &e->stored, err) < 0 ||
        task_input_modernize (c, &parts, &e->stored, err) < 0 ||
        task_input_doc (c, &parts, &e->stored, &e->doc, err) < 0 || task_input_refs (c, &parts, err) < 0)
        return -1;
    edit_doc (e, "execution", in->execution, e->doc.execution);
    edit_doc (e, "script", parts.script, e->doc.script);
    edit_doc (e, "hyperparams", parts.hyperparams, e->doc.hyperparams);
    edit_doc (e, "configuration", parts.configuration, e->doc.configuration);
    edit_doc (e, "models", parts.models, e->doc.models);
    edit_doc (e, "container", parts.container, e->doc.container);
    edit_doc (e, "runtime", parts.runtime, e->doc.runtime);
    edit_doc (e, "output", e->doc.output, e->doc.output);
    return e->update ? task_doc_save (c, e->t.n, &e->doc, err) : 0;
}

static struct text edit_close (struct call *c, struct edit *e)
{
    fields_time (&e->fields, "last_change", c->now_us);
    fields_str (&e->fields, "last_changed_by", c->who.user);
    if (e->update)
        fields_time (&e->fields, "last_update", c->now_us);
    return fields_close (&e->fields);
}

int tasks_edit (struct call *c, const struct tasks_edit_in *in, struct tasks_edit_out *out, struct error *err)
{
    struct edit e = { 0 };
    enum task_status s;
    fields_open (c, &e.fields);
    out->has.updated = true;
    out->fields = TEXT ("{}");
    if (task_facts_of (c, in->task, false, &e.t, &s, err) < 0 ||
        task_guard_check (GUARD_EDIT, s, e.t.archived, in->force, err) < 0 ||
        edit_docs (c, &e, in, err) < 0 || edit_tags (c, &e, in, err) < 0 || edit_row (c, &e, in, err) < 0)
        return -1;
    if (!e.any)
        return 0;
    out->updated = 1;
    out->fields = edit_close (c, &e);
    return task_changed (c, &e.t, e.update, err);
}

/* One item of update and update_batch. 1 when something changed. */
static int update_one (struct call *c, struct text body, struct text *ret_fields, struct error *err)
{
    struct edit e = { 0 };
    struct arena *a = c->arena;
    const char *task = json_string (a, json_get (body, "task"));
    struct tasks_edit_in in = { .name = json_string (a, json_get (body, "name")),
                                .comment = json_string (a, json_get (body, "comment")),
                                .project = json_string (a, json_get (body, "project")) };
    const char *message = json_string (a, json_get (body, "status_message")),
               *error = json_string (a, json_get (body, "output__error"));
    struct text tags = json_get (body, "tags"), system = json_get (body, "system_tags");
    fields_open (c, &e.fields);
    *ret_fields = TEXT ("{}");
    if (!task)
        return error_set (err, ERR_MISSING_FIELDS, "Missing required fields: missing=(task)");
    if (task_facts (c, task, false, &e.t, err) < 0)
        return -1;
    if (in.project && *in.project && project_check (c, in.project, true, err) < 0)
        return -1;
    struct tag_list list = tags_read (a, tags), system_list = tags_read (a, system);
    in.has.tags = json_kind (tags) == JSON_ARRAY;
    in.has.system_tags = json_kind (system) == JSON_ARRAY;
    in.tags.v = list.v;
    in.tags.n = list.n;
    in.system_tags.v = system_list.v;
    in.system_tags.n = system_list.n;
    const char *name = NULL;
    if (in.name && name_check (c, "Task", in.name, &name, err) < 0)
        return -1;
    edit_str (&e, "name", name, &e.name, false);
    edit_str (&e, "comment", in.comment, &e.comment, false);
    edit_str (&e, "project", in.project, &e.project, false);
    if (db_exec (c->db, &sql_task_edit, err, V_INT (e.t.n), V_STR (e.name), V_NULL (), V_NULL (),
                 V_STR (e.comment), V_NULL (), V_STR (e.project), V_NULL ()) < 0)
        return -1;
    if (edit_tags (c, &e, &in, err) < 0)
        return -1;
    if (message) {
        e.any = true;
        fields_str (&e.fields, "status_message", message);
        if (db_exec (c->db, &sql_task_set_status_message, err, V_INT (e.t.n), V_STR (message)) < 0)
            return -1;
    }
    if (error) {
        if (task_doc_read (c, e.t.n, &e.stored, err) < 0)
            return -1;
        struct task_doc d = { .output = doc_set (a, e.stored.output, "error", doc_string (a, error)) };
        e.any = true;
        fields_str (&e.fields, "output.error", error);
        if (task_doc_save (c, e.t.n, &d, err) < 0)
            return -1;
    }
    if (!e.any)
        return 0;
    *ret_fields = edit_close (c, &e);
    return task_changed (c, &e.t, false, err) < 0 ? -1 : 1;
}

int tasks_update (struct call *c, const struct tasks_update_in *in, struct tasks_update_out *out,
                  struct error *err)
{
    (void)in;
    int rc = update_one (c, c->body, &out->fields, err);
    out->updated = rc > 0;
    out->has.updated = true;
    return rc < 0 ? -1 : 0;
}

int tasks_set_requirements (struct call *c, const struct tasks_set_requirements_in *in,
                            struct tasks_set_requirements_out *out, struct error *err)
{
    struct task_facts t;
    struct task_doc d;
    if (json_kind (in->requirements) != JSON_OBJECT)
        return error_set (err, ERR_VALIDATION, "requirements: must be an object {pip, conda, ...}");
    if (task_facts (c, in->task, false, &t, err) < 0 || task_doc_read (c, t.n, &d, err) < 0)
        return -1;
    if (!d.script.p)
        return error_set (err, WIRE_ERROR (400, 122), "task %s has no script: requirements cannot be set",
                          in->task);
    struct task_doc new = { .script = doc_set (c->arena, d.script, "requirements", in->requirements) };
    out->updated = 1;
    out->has.updated = true;
    out->fields = TEXT ("{}");
    if (task_doc_save (c, t.n, &new, err) < 0)
        return -1;
    return task_changed (c, &t, true, err);
}

/* -- tags, projects */
static int retag (struct call *c, const char *id, const struct tasks_update_tags_in *in, struct error *err)
{
    struct task_facts t;
    struct tag_list tags;
    if (task_facts (c, id, false, &t, err) < 0)
        return -1;
    {
        cleanup_rows struct rows r = { 0 };
        if (db_query (c->db, &sql_task_tags, &r, err, V_INT (t.n)) < 0 || db_next (&r, err) < 0)
            return -1;
        tags = tags_read (c->arena, row_copy (&r, 0, c->arena));
    }
    for (size_t i = 0; i < in->add_tags.n; i++)
        tags_add (c->arena, &tags, in->add_tags.v[i]);
    for (size_t i = 0; i < in->remove_tags.n; i++)
        tags_remove (&tags, in->remove_tags.v[i]);
    if (db_exec (c->db, &sql_task_set_tags, err, V_INT (t.n), V_TEXT (tags_write (c->arena, &tags))) < 0)
        return -1;
    return task_changed (c, &t, false, err);
}

int tasks_update_tags (struct call *c, const struct tasks_update_tags_in *in,
                       struct tasks_update_tags_out *out, struct error *err)
{
    if (!in->add_tags.n && !in->remove_tags.n)
        return error_set (err, ERR_VALIDATION, "add_tags or remove_tags: one of them must be given");
    if (tags_check (in->add_tags.v, in->add_tags.n, "add_tags", err) < 0)
        return -1;
    for (size_t i = 0; i < in->ids.n; i++)
        if (retag (c, in->ids.v[i], in, err) < 0)
            return -1;
    out->updated = (int64_t)in->ids.n * (!!in->add_tags.n + !!in->remove_tags.n);
    out->has.updated = true;
    return 0;
}

int tasks_move (struct call *c, const struct tasks_move_in *in, struct tasks_move_out *out, struct error *err)
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
    for (size_t i = 0; i < in->ids.n; i++) {
        struct task_facts t;
        if (task_facts (c, in->ids.v[i], false, &t, err) < 0 ||
            db_exec (c->db, &sql_task_set_project, err, V_INT (t.n),
                     V_STR (project && *project ? project : NULL)) < 0 ||
            project_touch (c, t.project, err) < 0 || task_changed (c, &t, false, err) < 0)
            return -1;
    }
    if (project_touch (c, project, err) < 0)
        return -1;
    struct str s;
    fields_open (c, &s);
    fields_str (&s, "project_id", project && *project ? project : NULL);
    out->rest = fields_close (&s);
    return 0;
}

int tasks_move_project (struct call *c, const char *from, const char *to, struct error *err)
{
    return db_exec (c->db, &sql_tasks_move_project, err, V_STR (from), V_STR (to)) < 0 ? -1 : 0;
}

/* One item a line (or one object): each task's fields. */
int tasks_update_batch (struct call *c, const struct tasks_update_batch_in *in,
                        struct tasks_update_batch_out *out, struct error *err)
{
    const char *p = c->body.p, *end = c->body.p + c->body.n;
    (void)in;
    out->has.updated = true;
    while (p < end) {
        const char *nl = c->is_batch ? memchr (p, '\n', (size_t)(end - p)) : NULL;
        struct text line = { p, (size_t)((nl ? nl : end) - p) }, item, fields;
        p = nl ? nl + 1 : end;
        while (line.n && strchr (" \t\r", line.p[0]))
            line.p++, line.n--;
        if (!line.n)
            continue;
        int rc = json_check (line, &item, err) < 0 ? -1 : update_one (c, item, &fields, err);
        if (rc < 0)
            return err->code >= 10000 ? -1
                                      : error_set (err, ERR_VALIDATION, "line of the batch: %s", err->text);
        out->updated += rc;
    }
    return 0;
}

int tasks_make_public (struct call *c, const struct tasks_make_public_in *in,
                       struct tasks_make_public_out *out, struct error *err)
{
    out->has.updated = true;
    return share_all (c, &sql_task_make_public, in->ids.v, in->ids.n, ERR_INVALID_TASK_ID, &out->updated,
                      err);
}

int tasks_make_private (struct call *c, const struct tasks_make_private_in *in,
                        struct tasks_make_private_out *out, struct error *err)
{
    out->has.updated = true;
    return share_all (c, &sql_task_make_private, in->ids.v, in->ids.n, ERR_INVALID_TASK_ID, &out->updated,
                      err);
}
