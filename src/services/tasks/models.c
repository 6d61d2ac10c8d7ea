/* models.c - the lists of input and output models of a task. */
#include "services/models/models.h"
#include "services/tasks/task.h"

static struct text model_item (struct call *c, const char *name, const char *model)
{
    struct str s = { .arena = c->arena };
    str_putc (&s, '{');
    fields_str (&s, "name", name);
    fields_str (&s, "model", model);
    fields_time (&s, "updated", c->now * 1000);
    str_putc (&s, '}');
    return str_text (&s);
}

/* The list of one kind with the item of this name replaced, or one more at the end; an absent item removes. */
static struct text list_with (struct call *c, struct text models, const char *kind, const char *name,
                              struct text item)
{
    struct str s = { .arena = c->arena };
    bool done = !item.p;
    str_putc (&s, '[');
    struct json_iter it = json_iter (json_get (models, kind));
    while (json_next (&it)) {
        bool same = json_string_is (json_get (it.value, "name"), name);
        if (same && done)
            continue;
        json_put_comma (&s);
        str_add_text (&s, same ? item : it.value);
        done |= same;
    }
    if (!done) {
        json_put_comma (&s);
        str_add_text (&s, item);
    }
    str_putc (&s, ']');
    return doc_set (c->arena, models, kind, str_text (&s));
}

static int kind_check (const char *type, struct error *err)
{
    if (type && (!strcmp (type, "input") || !strcmp (type, "output")))
        return 0;
    return error_set (err, ERR_VALIDATION, "type: '%s' is not one of input, output", type ? type : "null");
}

int tasks_add_or_update_model (struct call *c, const struct tasks_add_or_update_model_in *in,
                               struct tasks_add_or_update_model_out *out, struct error *err)
{
    struct task_facts t;
    struct task_doc d;
    enum task_status s;
    if (kind_check (in->type, err) < 0 || task_facts_of (c, in->task, false, &t, &s, err) < 0 ||
        task_guard_check (GUARD_EDIT, s, t.archived, true, err) < 0 || task_doc_read (c, t.n, &d, err) < 0)
        return -1;
    struct task_doc new = { .models = list_with (c, d.models, in->type, in->name,
                                                 model_item (c, in->name, in->model)) };
    out->updated = 1;
    out->has.updated = true;
    if (task_doc_save (c, t.n, &new, err) < 0 ||
        task_touch_from_events (c, &t, in->has.iteration ? in->iteration : INT64_MIN, err) < 0)
        return -1;
    return task_changed (c, &t, true, err);
}

int tasks_delete_models (struct call *c, const struct tasks_delete_models_in *in,
                         struct tasks_delete_models_out *out, struct error *err)
{
    struct task_facts t;
    struct task_doc d;
    enum task_status s;
    struct text none = { 0 };
    if (task_facts_of (c, in->task, false, &t, &s, err) < 0 || task_doc_read (c, t.n, &d, err) < 0)
        return -1;
    for (size_t i = 0; i < in->models.n; i++) {
        const char *type = json_string (c->arena, json_get (in->models.v[i], "type")),
                   *name = json_string (c->arena, json_get (in->models.v[i], "name"));
        if (kind_check (type, err) < 0)
            return -1;
        if (!name)
            return error_set (err, ERR_VALIDATION, "models: each item needs type and name");
        d.models = list_with (c, d.models, type, name, none);
    }
    struct task_doc new = { .models = d.models };
    out->updated = 1;
    out->has.updated = true;
    if (task_doc_save (c, t.n, &new, err) < 0)
        return -1;
    return task_changed (c, &t, true, err);
}

/* -- the door for models */
int task_model_users (struct call *c, const char *model, int64_t *ret, struct error *err)
{
    cleanup_rows struct rows r = { 0 };
    if (db_query (c->db, &sql_task_model_users, &r, err, V_STR (model)) < 0 || db_next (&r, err) < 0)
        return -1;
    *ret = row_int (&r, 0);
    return 0;
}

static struct text forget_in_list (struct call *c, struct text models, const char *kind, const char *model,
                                   bool mark)
{
    struct str s = { .arena = c->arena };
    str_putc (&s, '[');
    struct json_iter it = json_iter (json_get (models, kind));
    while (json_next (&it)) {
        bool same = json_string_is (json_get (it.value, "model"), model);
        if (same && !mark)
            continue;
        json_put_comma (&s);
        str_add_text (&s,
                      same ? doc_set (c->arena, it.value, "model",
                                      doc_string (c->arena, arena_printf (c->arena, "__DELETED__%s", model)))
                           : it.value);
    }
    str_putc (&s, ']');
    return doc_set (c->arena, models, kind, str_text (&s));
}

static bool in_list (struct text models, const char *kind, const char *model)
{
    struct json_iter it = json_iter (json_get (models, kind));
    while (json_next (&it))
        if (json_string_is (json_get (it.value, "model"), model))
            return true;
    return false;
}

int task_forget_model (struct call *c, const char *model, struct error *err)
{
    struct id_list tasks;
    struct value v = V_STR (model);
    if (id_list_read (c, &sql_task_model_tasks, &tasks, err, &v, 1) < 0)
        return -1;
    for (size_t i = 0; i < tasks.n; i++) {
        struct task_facts t;
        struct task_doc d, new = { 0 };
        enum task_status s;
        if (task_facts_of (c, tasks.v[i], true, &t, &s, err) < 0 || task_doc_read (c, t.n, &d, err) < 0)
            return -1;
        bool published = s == TASK_PUBLISHED;
        new.models = forget_in_list (c, d.models, "input", model, true);
        if (in_list (d.models, "output", model)) {
            new.models = forget_in_list (c, new.models, "output", model, published);
            if (published)
                new.output = doc_set (c->arena, d.output, "error", TEXT ("\"model was deleted\""));
        }
        if (task_doc_save (c, t.n, &new, err) < 0)
            return -1;
    }
    return 0;
}

int task_model_facts (struct call *c, const char *task, struct task_model_facts *ret, struct error *err)
{
    struct task_facts t;
    struct task_doc d;
    struct arena *a = c->arena;
    if (task_facts (c, task, false, &t, err) < 0 || task_doc_read (c, t.n, &d, err) < 0)
        return -1;
    *ret = (struct task_model_facts){
        .name = t.name,
        .project = t.project,
        .status = t.status,
        .framework = json_string (a, json_get (d.execution, "framework")),
        .labels = json_get (d.execution, "model_labels"),
        .design = json_get (d.execution, "model_desc"),
    };
    struct json_iter it = json_iter (json_get (d.models, "input"));
    if (json_next (&it))
        ret->first_input = json_string (a, json_get (it.value, "model"));
    it = json_iter (json_get (d.models, "output"));
    while (json_next (&it))
        ret->last_output = json_string (a, json_get (it.value, "model"));
    return 0;
}

int task_set_output_model (struct call *c, const char *task, const char *name, const char *model,
                           struct error *err)
{
    struct task_facts t;
    struct task_doc d;
    if (task_facts (c, task, false, &t, err) < 0 || task_doc_read (c, t.n, &d, err) < 0)
        return -1;
    struct str s = { .arena = c->arena };
    str_putc (&s, '[');
    str_add_text (&s, model_item (c, name, model));
    str_putc (&s, ']');
    struct task_doc new = { .models = doc_set (c->arena, d.models, "output", str_text (&s)) };
    if (task_doc_save (c, t.n, &new, err) < 0)
        return -1;
    return task_changed (c, &t, true, err);
}
