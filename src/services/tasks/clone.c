/* clone.c - a new task that copies another: what describes it is copied, what it produced is not. */
#include "base/id.h"
#include "services/projects/projects.h"
#include "services/tasks/task.h"

static bool present (struct text v)
{
    return json_kind (v) > JSON_NULL;
}

/* Whole numbers also from text ("1"). */
static struct text labels_as_numbers (struct call *c, struct text labels)
{
    struct str s = { .arena = c->arena };
    str_putc (&s, '{');
    struct json_iter it = json_iter (labels);
    while (json_next (&it)) {
        json_put_key (&s, json_key (c->arena, it.key));
        if (json_kind (it.value) == JSON_NULL)
            str_puts (&s, "null");
        else
            str_add_int (&s, json_int (it.value, 0));
    }
    str_putc (&s, '}');
    return str_text (&s);
}

/* The models of a task with these inputs and no outputs. */
static struct text models_with (struct arena *a, struct text input)
{
    struct str s = { .arena = a };
    str_puts (&s, "{\"input\":");
    str_add_text (&s, present (input) ? input : TEXT ("[]"));
    str_puts (&s, ",\"output\":[]}");
    return str_text (&s);
}

static struct text only_destination (struct call *c, struct text output)
{
    struct text to = json_get (output, "destination");
    return to.p ? doc_set (c->arena, TEXT ("{}"), "destination", to) : TEXT ("{}");
}

/* The source's documents with the overrides of the request over them. */
static int clone_docs (struct call *c, const struct tasks_clone_in *in, const struct task_doc *source,
                       struct task_doc *ret, struct error *err)
{
    struct arena *a = c->arena;
    struct text over = in->execution_overrides, labels = json_get (over, "model_labels"),
                models = json_get (c->body, "new_task_input_models"), none = { 0 };
    struct task_doc base = *source;
    base.execution = doc_input_artifacts (c->arena, source->execution);
    if (present (labels))
        over = doc_set (a, over, "model_labels", labels_as_numbers (c, labels));
    over = present (over) ? doc_set (a, over, "queue", none) : over;
    struct task_input parts = {
        .execution = over,
        .hyperparams = in->new_task_hyperparams,
        .configuration = in->new_task_configuration,
        .container = json_get (c->body, "new_task_container"),
        .models = present (models) ? models_with (a, models) : none,
    };
    struct text configuration = json_get (over, "configuration");
    if (present (configuration)) { /* the older place of it */
        parts.execution = doc_set (a, over, "configuration", none);
        if (!present (parts.configuration))
            parts.configuration = configuration;
    }
    int version = c->version;
    c->version = 2012; /* overrides are always in the old form: model, docker_cmd */
    int rc = present (over) ? task_input_modernize (c, &parts, &base, err) : 0;
    c->version = version;
    if (rc < 0)
        return -1;
    models = present (parts.models) ? parts.models : source->models;
    parts.models = models_with (a, json_get (models, "input"));
    if (task_input_doc (c, &parts, &base, ret, err) < 0)
        return -1;
    struct text *const to[] = { &ret->script, &ret->execution, &ret->hyperparams, &ret->configuration,
                                &ret->container };
    const struct text from[] = { base.script, base.execution, base.hyperparams, base.configuration,
                                 base.container };
    for (int i = 0; i < 5; i++)
        if (!to[i]->p)
            *to[i] = from[i];
    ret->output = only_destination (c, source->output);
    ret->runtime = TEXT ("{}");
    return 0;
}

static int clone_project (struct call *c, const struct tasks_clone_in *in, const struct task_facts *source,
                          struct task_row *row, struct tasks_clone_out *out, struct error *err)
{
    row->project = in->new_task_project ? in->new_task_project : source->project;
    if (!in->new_task_project && in->new_project_name && *in->new_project_name) {
        if (project_find_or_create (c, in->new_project_name, "", &row->project, err) < 0)
            return -1;
        struct str s;
        fields_open (c, &s);
        fields_str (&s, "id", row->project);
        fields_str (&s, "name", project_name (c, row->project));
        out->new_project = fields_close (&s);
        return 0;
    }
    if (row->project && !*row->project)
        row->project = NULL;
    if (!row->project)
        return 0;
    struct error why = { 0 };
    if (project_check (c, row->project, true, &why) < 0 &&
        (in->new_task_project || in->validate_references || why.code != ERR_INVALID_PROJECT_ID)) {
        *err = why;
        return -1;
    }
    return 0;
}

static int clone_tags (struct call *c, const struct tasks_clone_in *in, const struct task_facts *source,
                       struct task_row *row, struct error *err)
{
    struct tag_list tags, system;
    {
        cleanup_rows struct rows r = { 0 };
        if (db_query (c->db, &sql_task_tags, &r, err, V_INT (source->n)) < 0 || db_next (&r, err) < 0)
            return -1;
        tags = tags_read (c->arena, row_copy (&r, 0, c->arena));
        system = tags_read (c->arena, row_copy (&r, 1, c->arena));
    }
    tags_remove (&system, "development");
    tags_remove (&system, "archived");
    if (tags_check (in->new_task_tags.v, in->new_task_tags.n, "new_task_tags", err) < 0)
        return -1;
    row->tags = in->has.new_task_tags ? tags_of (c->arena, in->new_task_tags.v, in->new_task_tags.n)
                                      : tags_write (c->arena, &tags);
    row->system_tags = in->has.new_task_system_tags
                           ? tags_of (c->arena, in->new_task_system_tags.v, in->new_task_system_tags.n)
                           : tags_write (c->arena, &system);
    return 0;
}

static int source_comment (struct call *c, const struct task_facts *t, const char **ret, struct error *err)
{
    cleanup_rows struct rows r = { 0 };
    if (db_query (c->db, &sql_task_comment, &r, err, V_INT (t->n)) < 0 || db_next (&r, err) < 0)
        return -1;
    *ret = row_str (&r, 0, c->arena);
    return 0;
}

int tasks_clone (struct call *c, const struct tasks_clone_in *in, struct tasks_clone_out *out,
                 struct error *err)
{
    struct task_facts source;
    struct task_doc from, d;
    struct task_row row = { .user = c->who.user };
    if (task_facts (c, in->task, true, &source, err) < 0 || task_doc_read (c, source.n, &from, err) < 0)
        return -1;
    row.type = source.type;
    if (name_check (c, "Task", in->new_task_name ? in->new_task_name : source.name, &row.name, err) < 0 ||
        source_comment (c, &source, &row.comment, err) < 0 || clone_tags (c, in, &source, &row, err) < 0 ||
        clone_project (c, in, &source, &row, out, err) < 0 || clone_docs (c, in, &from, &d, err) < 0)
        return -1;
    if (in->has.new_task_comment)
        row.comment = in->new_task_comment;
    bool deleted = source.parent && !strncmp (source.parent, "__DELETED__", 11);
    row.parent = in->new_task_parent         ? in->new_task_parent
                 : source.parent && !deleted ? source.parent
                                             : source.id;
    /* what is copied may point at what is gone, unless asked; what is given may not */
    bool all = in->validate_references,
         models_given = present (json_get (c->body, "new_task_input_models")) ||
                        present (json_get (in->execution_overrides, "model"));
    if (task_refs (c, in->new_task_parent || all ? row.parent : NULL, NULL,
                   models_given || all ? d.models : (struct text){ 0 }, err) < 0)
        return -1;
    row.id = arena_strdup (c->arena, id_random ().hex);
    if (task_insert (c, &row, &d, err) < 0)
        return -1;
    out->id = row.id;
    return 0;
}
