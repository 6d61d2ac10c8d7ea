/* shape.c - tasks as clients below 2.13 know them: the first input model, the last output model, the container as one
 * docker command; below 2.9 parameters of type legacy back in execution; below 2.3 one list of tags. */
#include "services/oldtags.h"
#include "services/tasks/task.h"

static struct text model_at (struct text models, const char *kind, bool last)
{
    struct text model = { 0 };
    struct json_iter it = json_iter (json_get (models, kind));
    while (json_next (&it)) {
        model = json_get (it.value, "model");
        if (!last)
            break;
    }
    return model;
}

static struct text docker_command (struct arena *a, struct text container)
{
    const char *image = json_string (a, json_get (container, "image")),
               *arguments = json_string (a, json_get (container, "arguments"));
    if (!image || !*image)
        return (struct text){ 0 };
    return doc_string (a, arguments && *arguments ? arena_printf (a, "%s %s", image, arguments) : image);
}

/* {name: value} of the items of type legacy */
static void legacy_values (struct arena *a, struct text items, const char *prefix, struct str *out)
{
    struct json_iter it = json_iter (items);
    while (json_next (&it)) {
        if (!json_string_is (json_get (it.value, "type"), "legacy"))
            continue;
        json_put_key (out, arena_printf (a, "%s%s", prefix, json_key (a, it.key)));
        struct text value = json_get (it.value, "value");
        str_add_text (out, value.p ? value : TEXT ("\"\""));
    }
}

static struct text shape_execution (struct arena *a, int version, struct text doc, struct text execution)
{
    struct text model = model_at (json_get (doc, "models"), "input", false),
                command = docker_command (a, json_get (doc, "container"));
    if (json_kind (model) == JSON_STRING)
        execution = doc_set (a, execution, "model", model);
    if (command.p)
        execution = doc_set (a, execution, "docker_cmd", command);
    if (version >= 2009)
        return execution;
    struct str params = { .arena = a }, desc = { .arena = a };
    struct text hyperparams = json_get (doc, "hyperparams");
    str_putc (&params, '{');
    legacy_values (a, json_get (hyperparams, "Args"), "", &params);
    legacy_values (a, json_get (hyperparams, "TF_DEFINE"), "TF_DEFINE/", &params);
    str_putc (&params, '}');
    str_putc (&desc, '{');
    legacy_values (a, json_get (doc, "configuration"), "", &desc);
    str_putc (&desc, '}');
    if (params.n > 2)
        execution = doc_set (a, execution, "parameters", str_text (&params));
    if (desc.n > 2)
        execution = doc_set (a, execution, "model_desc", str_text (&desc));
    return execution;
}

int task_shape_old (const struct query_source *src, struct text doc, struct str *out, struct error *err)
{
    struct arena *a = src->arena;
    struct text execution = json_get (doc, "execution"), output = json_get (doc, "output"),
                model = model_at (json_get (doc, "models"), "output", true);
    if (json_kind (execution) == JSON_OBJECT)
        doc = doc_set (a, doc, "execution", shape_execution (a, src->version, doc, execution));
    if (json_kind (output) == JSON_OBJECT && json_kind (model) == JSON_STRING)
        doc = doc_set (a, doc, "output", doc_set (a, output, "model", model));
    if (src->version < OLD_TAGS_BELOW)
        return old_tags_join (src, doc, out, err);
    str_add_text (out, doc);
    return 0;
}
