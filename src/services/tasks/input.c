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

/* What older forms are laid over: the newer form where it is given too, else what is stored, without its items of type
 * legacy, which the older form replaces. */
static struct text legacy_base (struct arena *a, struct text given, struct text stored, bool sections)
{
    if (json_count (given))
        return given;
    if (!sections)
        return without_legacy (a, stored.p ? stored : TEXT ("{}"));
    struct text out = TEXT ("{}");
    struct json_iter it = json_iter (stored);
    while (json_next (&it)) {
        struct text kept = without_legacy (a, it.value);
        if (json_count (kept))
            out = doc_set (a, out, json_key (a, it.key), kept);
    }
    return out;
}

/* execution.parameters {k: v} -> hyperparams of type legacy in section Args, or TF_DEFINE for "TF_DEFINE/k" */
static int legacy_params (struct arena *a, struct text parameters, struct text base, struct text *ret,
                          struct error *err)
{
    struct text out = base;
    struct json_iter it = json_iter (parameters);
    while (json_next (&it)) {
        const char *full = strip (a, json_key (a, it.key)), *section = "Args", *name = full;
        if (!strncmp (name, "TF_DEFINE", 9) && (name[9] == '/' || !name[9])) {
            section = "TF_DEFINE";
            name += name[9] ? 10 : 9;
        }
        if (!*name)
            return error_set (err, ERR_VALIDATION, "execution.parameters: '%s' has no parameter name", full);
        struct text items = json_get (out, section);
        if (present (items) && json_kind (items) != JSON_OBJECT)
            return error_set (err, ERR_DATA_VALIDATION, "hyperparams.%s: must be an object of parameters",
                              section);
        items = present (items) ? items : TEXT ("{}");
        items = doc_set (a, items, name, legacy_item (a, section, name, it.value));
        out = doc_set (a, out, section, items);
    }
    *ret = out;
    return 0;
}

static int legacy_configuration (struct arena *a, struct text desc, struct text base, struct text *ret,
                                 struct error *err)
{
    struct text out = base;
    struct json_iter it = json_iter (desc);
    while (json_next (&it)) {
        const char *name = strip (a, json_key (a, it.key));
        if (!*name)
            return error_set (err, ERR_VALIDATION, "execution.model_desc: empty names are not possible");
        if (json_kind (it.value) != JSON_NULL)
            out = doc_set (a, out, name, legacy_item (a, NULL, name, it.value));
    }
    *ret = out;
    return 0;
}

/* Does an object of the older form say something? Below 2.9 an empty one says "none of them"; newer clients are always
 * shown an empty one and may send it back. */
static bool legacy_given (const struct call *c, struct text v)
{
    return json_kind (v) == JSON_OBJECT && (json_count (v) || c->version < 2009);
}

static bool is_object_or_absent (struct text v)
{
    return !present (v) || json_kind (v) == JSON_OBJECT;
}

/* Parameters and configuration move out of execution. */
static int legacy_documents (struct call *c, struct task_input *in, const struct task_doc *stored,
                             struct error *err)
{
    struct arena *a = c->arena;
    struct text parameters = json_get (in->execution, "parameters"),
                desc = json_get (in->execution, "model_desc"), none = { 0 };
    if (legacy_given (c, parameters) && is_object_or_absent (in->hyperparams)) {
        struct text base = legacy_base (a, in->hyperparams, stored ? stored->hyperparams : none, true);
        if (legacy_params (a, parameters, base, &in->hyperparams, err) < 0)
            return -1;
    }
    if (legacy_given (c, desc) && is_object_or_absent (in->configuration)) {
        struct text base = legacy_base (a, in->configuration, stored ? stored->configuration : none, false);
        if (legacy_configuration (a, desc, base, &in->configuration, err) < 0)
            return -1;
    }
    if (present (parameters))
        in->execution = doc_set (a, in->execution, "parameters", none);
    if (present (desc))
        in->execution = doc_set (a, in->execution, "model_desc", none);
    return 0;
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
    if (json_kind (in->execution) == JSON_OBJECT && legacy_documents (c, in, stored, err) < 0)
        return -1;
    struct text execution = in->execution, none = { 0 };
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
        if (id)
            ids[n++] = id;
    }
    return n ? models_check (c, ids, n, err) : 0;
}

int task_refs (struct call *c, const char *parent, const char *project, struct text models, struct error *err)
{
    if (parent && *parent && strncmp (parent, "__DELETED__", 11) && !task_name (c, parent))
        return error_set (err, ERR_INVALID_TASK_ID, "Invalid task id: invalid parent: parent=%s", parent);
    if (project && *project && project_check (c, project, true, err) < 0)
        return -1;
    return present (models) ? input_models (c, models, err) : 0;
}

int task_input_refs (struct call *c, const struct task_input *in, struct error *err)
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
    return present (in->models) ? input_models (c, in->models, err) : 0;
}
