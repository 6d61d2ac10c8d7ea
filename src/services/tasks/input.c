/* input.c - what create, edit, validate and clone are given: older clients' forms made new, documents checked and
 * completed, references looked up. */
#include "services/models/models.h"
#include "services/projects/projects.h"
#include "services/tasks/task.h"

static bool present (struct text v)
{
    return json_kind (v) > JSON_NULL;
}

/* Values of old parameters become strings: 1 -> "1", true -> "True" as their makers print them. */
static struct text stringified (struct arena *a, struct text v)
{
    if (json_kind (v) == JSON_STRING)
        return v;
    if (json_kind (v) == JSON_TRUE || json_kind (v) == JSON_FALSE)
        return json_kind (v) == JSON_TRUE ? TEXT ("\"True\"") : TEXT ("\"False\"");
    if (json_kind (v) == JSON_NULL)
        return TEXT ("\"None\"");
    return doc_string (a, arena_text (a, v));
}

static struct text legacy_item (struct arena *a, const char *section, const char *name, struct text value)
{
    struct str s = { .arena = a };
    str_putc (&s, '{');
    if (section)
        fields_str (&s, "section", section);
    fields_str (&s, "name", name);
    fields_json (&s, "value", stringified (a, value));
    fields_str (&s, "type", "legacy");
    str_putc (&s, '}');
    return str_text (&s);
}

/* The items of one object that are not of type legacy. */
static struct text without_legacy (struct arena *a, struct text items)
{
    struct text out = items;
    struct json_iter it = json_iter (items);
    while (json_next (&it))
        if (json_string_is (json_get (it.value, "type"), "legacy"))
            out = doc_set (a, out, json_key (a, it.key), (struct text){ 0 });
    return out;
}

/* execution.parameters {k: v} -> hyperparams of type legacy in section Args, or TF_DEFINE for "TF_DEFINE/k" */
static struct text legacy_params (struct arena *a, struct text parameters, struct text stored)
{
    struct text out = stored.p ? stored : TEXT ("{}");
    static const char *const sections[] = { "Args", "TF_DEFINE" };
    for (int i = 0; i < 2; i++) {
        struct text kept = without_legacy (a, json_get (out, sections[i]));
        out = doc_set (a, out, sections[i], json_count (kept) ? kept : (struct text){ 0 });
    }
    struct json_iter it = json_iter (parameters);
    while (json_next (&it)) {
        const char *name = json_key (a, it.key), *section = "Args";
        if (!strncmp (name, "TF_DEFINE/", 10)) {
            section = "TF_DEFINE";
            name += 10;
        }
        if (!*name)
            continue;
        struct text items = json_get (out, section);
        items = doc_set (a, items.p ? items : TEXT ("{}"), name, legacy_item (a, section, name, it.value));
        out = doc_set (a, out, section, items);
    }
    return out;
}

static struct text legacy_configuration (struct arena *a, struct text desc, struct text stored)
{
    struct text out = without_legacy (a, stored.p ? stored : TEXT ("{}"));
    struct json_iter it = json_iter (desc);
    while (json_next (&it)) {
        const char *name = json_key (a, it.key);
        if (*name && json_kind (it.value) != JSON_NULL)
            out = doc_set (a, out, name, legacy_item (a, NULL, name, it.value));
    }
    return out;
}

/* "image args..." */
static struct text container_of_command (struct arena *a, const char *command)
{
    struct str s = { .arena = a };
    const char *space = strchr (command, ' ');
    str_putc (&s, '{');
    fields_str (&s, "image", space ? arena_strndup (a, command, (size_t)(space - command)) : command);
    fields_str (&s, "arguments", space ? space + 1 : "");
    str_putc (&s, '}');
    return str_text (&s);
}

static struct text single_model (struct arena *a, struct text models, const char *kind, const char *name,
                                 const char *model)
{
    struct str s = { .arena = a };
    str_putc (&s, '[');
    if (*model) {
        str_putc (&s, '{');
        fields_str (&s, "name", name);
        fields_str (&s, "model", model);
        str_putc (&s, '}');
    }
    str_putc (&s, ']');
    return doc_set (a, models.p ? models : TEXT ("{}"), kind, str_text (&s));
}

int task_input_modernize (struct call *c, struct task_input *in, const struct task_doc *stored,
                          struct error *err)
{
    struct arena *a = c->arena;
    struct text execution = in->execution, none = { 0 };
    (void)err;
    if (json_kind (execution) == JSON_OBJECT) {
        struct text parameters = json_get (execution, "parameters"),
                    desc = json_get (execution, "model_desc");
        if (json_kind (parameters) == JSON_OBJECT && json_count (parameters) && !present (in->hyperparams))
            in->hyperparams = legacy_params (a, parameters, stored ? stored->hyperparams : none);
        if (json_kind (desc) == JSON_OBJECT && json_count (desc) && !present (in->configuration))
            in->configuration = legacy_configuration (a, desc, stored ? stored->configuration : none);
        if (present (parameters))
            execution = doc_set (a, execution, "parameters", none);
        if (present (desc))
            execution = doc_set (a, execution, "model_desc", none);
    }
    if (c->version < 2013) {
        const char *model = json_string (a, json_get (execution, "model")),
                   *output = json_string (a, json_get (in->output, "model")),
                   *command = json_string (a, json_get (execution, "docker_cmd"));
        if (model && !present (in->models))
            in->models = single_model (a, in->models, "input", "Input Model", model);
        if (output)
            in->models = single_model (a, in->models, "output", "Output Model", output);
        if (command && !present (in->container))
            in->container = *command ? container_of_command (a, command) : TEXT ("{}");
    }
    if (json_kind (execution) == JSON_OBJECT && c->version < 2013) {
        execution = doc_set (a, execution, "model", none);
        execution = doc_set (a, execution, "docker_cmd", none);
        if (json_kind (in->output) == JSON_OBJECT)
            in->output = doc_set (a, in->output, "model", none);
    }
    in->execution = execution;
    return 0;
}

static int input_output (struct arena *a, const struct task_input *in, struct text base, struct text *ret,
                         struct error *err)
{
    struct text out = base.p ? base : TEXT ("{}");
    if (present (in->output)) {
        if (json_kind (in->output) != JSON_OBJECT)
            return error_set (err, ERR_VALIDATION, "output: must be an object {destination, error, result}");
        out = doc_merge (a, out, in->output);
    }
    if (in->output_dest)
        out = doc_set (a, out, "destination", doc_string (a, in->output_dest));
    *ret = out;
    return 0;
}

int task_input_doc (struct call *c, const struct task_input *in, const struct task_doc *stored,
                    struct task_doc *ret, struct error *err)
{
    struct arena *a = c->arena;
    struct task_doc none = { 0 };
    const struct task_doc *base = stored ? stored : &none;
    *ret = none;
    if (!stored)
        *ret = (struct task_doc){
            .script = TEXT (DOC_SCRIPT),
            .execution = TEXT (DOC_EXECUTION),
            .hyperparams = TEXT ("{}"),
            .configuration = TEXT ("{}"),
            .models = TEXT (DOC_MODELS),
            .output = TEXT ("{}"),
            .container = TEXT ("{}"),
            .runtime = TEXT ("{}"),
        };
    if (present (in->script) && doc_script (a, base->script, in->script, &ret->script, err) < 0)
        return -1;
    if (present (in->execution) &&
        doc_execution (a, base->execution, in->execution, &ret->execution, err) < 0)
        return -1;
    if (present (in->hyperparams) && doc_hyperparams (a, in->hyperparams, &ret->hyperparams, err) < 0)
        return -1;
    if (present (in->configuration) && doc_configuration (a, in->configuration, &ret->configuration, err) < 0)
        return -1;
    if (present (in->models) && doc_models (a, base->models, in->models, c->now, &ret->models, err) < 0)
        return -1;
    if (present (in->container) && doc_container (a, in->container, &ret->container, err) < 0)
        return -1;
    if (present (in->runtime) && doc_runtime (a, in->runtime, &ret->runtime, err) < 0)
        return -1;
    if ((present (in->output) || in->output_dest) &&
        input_output (a, in, base->output, &ret->output, err) < 0)
        return -1;
    return 0;
}

/* -- references */
static int input_models (struct call *c, struct text models, struct error *err)
{
    struct text list = json_get (models, "input");
    size_t n = 0;
    const char **ids = arena_array (c->arena, const char *, json_count (list) + 1);
    struct json_iter it = json_iter (list);
    while (json_next (&it)) {
        const char *id = json_string (c->arena, json_get (it.value, "model"));
        if (id && strncmp (id, "__DELETED__", 11))
            ids[n++] = id;
    }
    return n ? models_check (c, ids, n, err) : 0;
}

int task_input_refs (struct call *c, const struct task_input *in, struct text models, struct error *err)
{
    if (in->parent && *in->parent && !task_name (c, in->parent))
        return error_set (err, ERR_FIELDS_VALUE, "expecting Task id: id=%s, field=parent", in->parent);
    if (in->project && *in->project) {
        struct error why = { 0 };
        if (project_check (c, in->project, true, &why) < 0) {
            if (why.code == ERR_INVALID_PROJECT_ID)
                return error_set (err, ERR_FIELDS_VALUE, "expecting Project id: id=%s, field=project",
                                  in->project);
            *err = why;
            return -1;
        }
    }
    return present (models) ? input_models (c, models, err) : 0;
}
