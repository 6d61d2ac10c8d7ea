/* params.c - hyperparameters, configuration, runtime, artifacts and models of a task: the calls that edit parts. Runs
 * report these all the time, so each changes only its own document. */
#include "services/tasks/task.h"

struct part {
    struct task_facts t;
    struct task_doc d;
    enum task_status status;
};

static int part_open (struct call *c, const char *task, enum task_guard guard, bool force, struct part *p,
                      struct error *err)
{
    if (task_facts_of (c, task, false, &p->t, &p->status, err) < 0 ||
        task_guard_check (guard, p->status, p->t.archived, force, err) < 0)
        return -1;
    return task_doc_read (c, p->t.n, &p->d, err);
}

static int part_save (struct call *c, const struct part *p, const struct task_doc *d, bool update,
                      struct error *err)
{
    if (task_doc_save (c, p->t.n, d, err) < 0)
        return -1;
    return task_changed (c, &p->t, update, err);
}

/* -- hyperparameters */
static struct text param_item (struct arena *a, const char *section, const struct tasks_param *in)
{
    struct str s = { .arena = a };
    str_putc (&s, '{');
    if (section)
        fields_str (&s, "section", section);
    fields_str (&s, "name", in->name);
    if (in->value)
        fields_str (&s, "value", in->value);
    if (in->type)
        fields_str (&s, "type", in->type);
    if (in->description)
        fields_str (&s, "description", in->description);
    str_putc (&s, '}');
    return str_text (&s);
}

int tasks_edit_hyper_params (struct call *c, const struct tasks_edit_hyper_params_in *in,
                             struct tasks_edit_hyper_params_out *out, struct error *err)
{
    static const char *const hows[] = { "none", "section", "all", NULL };
    struct arena *a = c->arena;
    struct part p;
    const char *how = in->replace_hyperparams ? in->replace_hyperparams : "none";
    bool only_properties = true;
    int h = 0;
    while (hows[h] && strcmp (hows[h], how))
        h++;
    if (!hows[h])
        return error_set (err, ERR_VALIDATION, "replace_hyperparams: '%s' is not one of none, section, all",
                          how);
    if (!in->hyperparams.n)
        return error_set (err, ERR_VALIDATION, "hyperparams: the list is empty");
    for (size_t i = 0; i < in->hyperparams.n; i++) {
        const struct tasks_param *item = &in->hyperparams.v[i];
        if (!item->section || !*strip (a, item->section) || !item->name || !*strip (a, item->name))
            return error_set (err, ERR_VALIDATION, "hyperparams: each item needs section and name");
        only_properties &= !strcmp (doc_section (strip (a, item->section)), "properties");
    }
    if (only_properties && h == 2)
        only_properties = false; /* all the others would go */
    if (part_open (c, in->task, only_properties ? GUARD_EDIT : GUARD_PARAMS, only_properties || in->force, &p,
                   err) < 0)
        return -1;
    struct text all = h == 2 ? TEXT ("{}") : p.d.hyperparams, none = { 0 };
    for (size_t i = 0; h == 1 && i < in->hyperparams.n; i++)
        all = doc_set (a, all, doc_section (strip (a, in->hyperparams.v[i].section)), none);
    for (size_t i = 0; i < in->hyperparams.n; i++) {
        const char *section = doc_section (strip (a, in->hyperparams.v[i].section)),
                   *name = strip (a, in->hyperparams.v[i].name);
        struct tasks_param item = in->hyperparams.v[i];
        item.name = name;
        struct text items = json_get (all, section);
        items = doc_set (a, items.p ? items : TEXT ("{}"), name, param_item (a, section, &item));
        all = doc_set (a, all, section, items);
    }
    struct task_doc d = { .hyperparams = all };
    out->updated = 1;
    out->has.updated = true;
    return part_save (c, &p, &d, !only_properties, err);
}

int tasks_delete_hyper_params (struct call *c, const struct tasks_delete_hyper_params_in *in,
                               struct tasks_delete_hyper_params_out *out, struct error *err)
{
    struct arena *a = c->arena;
    struct part p;
    struct text none = { 0 };
    bool only_properties = true;
    for (size_t i = 0; i < in->hyperparams.n; i++) {
        const struct tasks_param_key *k = &in->hyperparams.v[i];
        only_properties &= !strcmp (doc_section (strip (a, k->section)), "properties");
        for (size_t j = 0; j < in->hyperparams.n; j++)
            if (k->name && !in->hyperparams.v[j].name && !strcmp (k->section, in->hyperparams.v[j].section))
                return error_set (err, ERR_FIELDS_CONFLICT,
                                  "hyperparams: section %s is named whole and by item", k->section);
    }
    if (!in->hyperparams.n)
        return error_set (err, ERR_VALIDATION, "hyperparams: the list is empty");
    if (part_open (c, in->task, only_properties ? GUARD_EDIT : GUARD_PARAMS, only_properties || in->force, &p,
                   err) < 0)
        return -1;
    struct text all = p.d.hyperparams;
    for (size_t i = 0; i < in->hyperparams.n; i++) {
        const char *section = doc_section (strip (a, in->hyperparams.v[i].section)),
                   *name = in->hyperparams.v[i].name;
        struct text items = json_get (all, section);
        if (!items.p)
            continue;
        items = name ? doc_set (a, items, strip (a, name), none) : none;
        all = doc_set (a, all, section, items.p && json_count (items) ? items : none);
    }
    struct task_doc d = { .hyperparams = all };
    out->deleted = 1;
    out->has.deleted = true;
    return part_save (c, &p, &d, !only_properties, err);
}

/* -- reading parts of several tasks */
struct named {
    const char *section, *name;
    struct text item;
};

static int named_order (const void *x, const void *y)
{
    const struct named *a = x, *b = y;
    int c = strcmp (a->section, b->section);
    return c ? c : strcmp (a->name, b->name);
}

static size_t params_sorted (struct arena *a, struct text hyperparams, struct named **ret)
{
    size_t n = 0, cap = 0;
    struct json_iter sections = json_iter (hyperparams);
    while (json_next (&sections))
        cap += json_count (sections.value);
    struct named *v = arena_array (a, struct named, cap + 1);
    sections = json_iter (hyperparams);
    while (json_next (&sections)) {
        struct json_iter it = json_iter (sections.value);
        while (json_next (&it))
            v[n++] = (struct named){ json_key (a, sections.key), json_key (a, it.key), it.value };
    }
    qsort (v, n, sizeof *v, named_order);
    *ret = v;
    return n;
}

static size_t items_sorted (struct arena *a, struct text configuration, struct named **ret)
{
    size_t n = 0;
    struct named *v = arena_array (a, struct named, json_count (configuration) + 1);
    struct json_iter it = json_iter (configuration);
    while (json_next (&it))
        v[n++] = (struct named){ "", json_key (a, it.key), it.value };
    qsort (v, n, sizeof *v, named_order);
    *ret = v;
    return n;
}

/* All of them exist (own or public)? The error names all that were asked, as the wire has it. */
static int docs_open (struct call *c, const char *const *ids, size_t n, struct part *ret, struct error *err)
{
    for (size_t i = 0; i < n; i++) {
        struct error why = { 0 };
        if (task_facts_of (c, ids[i], true, &ret[i].t, &ret[i].status, &why) < 0 ||
            task_doc_read (c, ret[i].t.n, &ret[i].d, &why) < 0) {
            *err = why;
            if (why.code != ERR_INVALID_TASK_ID)
                return -1;
            struct str s = { .arena = c->arena };
            for (size_t k = 0; k < n; k++)
                str_addf (&s, "%s%s", k ? ", " : "", ids[k]);
            return error_set (err, ERR_INVALID_TASK_ID, "Invalid task id: ids=(%.400s)", s.p);
        }
    }
    return 0;
}

static void put_items (struct str *s, const char *key, const struct named *v, size_t n)
{
    json_put_key (s, key);
    str_putc (s, '[');
    for (size_t i = 0; i < n; i++) {
        json_put_comma (s);
        str_add_text (s, v[i].item);
    }
    str_putc (s, ']');
}

int tasks_get_hyper_params (struct call *c, const struct tasks_get_hyper_params_in *in,
                            struct tasks_get_hyper_params_out *out, struct error *err)
{
    struct part *p = arena_array (c->arena, struct part, in->tasks.n + 1);
    struct str s = { .arena = c->arena };
    if (docs_open (c, in->tasks.v, in->tasks.n, p, err) < 0)
        return -1;
    str_putc (&s, '[');
    for (size_t i = 0; i < in->tasks.n; i++) {
        struct named *v;
        size_t n = params_sorted (c->arena, p[i].d.hyperparams, &v);
        json_put_comma (&s);
        str_putc (&s, '{');
        fields_str (&s, "task", p[i].t.id);
        put_items (&s, "hyperparams", v, n);
        str_putc (&s, '}');
    }
    str_putc (&s, ']');
    out->params = str_text (&s);
    return 0;
}

static bool asked (const struct tasks_get_configurations_in *in, const char *name)
{
    for (size_t i = 0; i < in->names.n; i++)
        if (!strcmp (in->names.v[i], name))
            return true;
    return !in->names.n;
}

int tasks_get_configurations (struct call *c, const struct tasks_get_configurations_in *in,
                              struct tasks_get_configurations_out *out, struct error *err)
{
    struct part *p = arena_array (c->arena, struct part, in->tasks.n + 1);
    struct str s = { .arena = c->arena };
    if (docs_open (c, in->tasks.v, in->tasks.n, p, err) < 0)
        return -1;
    str_putc (&s, '[');
    for (size_t i = 0; i < in->tasks.n; i++) {
        struct named *v;
        size_t n = items_sorted (c->arena, p[i].d.configuration, &v), kept = 0;
        for (size_t k = 0; k < n; k++)
            if (asked (in, v[k].name))
                v[kept++] = v[k];
        json_put_comma (&s);
        str_putc (&s, '{');
        fields_str (&s, "task", p[i].t.id);
        put_items (&s, "configuration", v, kept);
        str_putc (&s, '}');
    }
    str_putc (&s, ']');
    out->configurations = str_text (&s);
    return 0;
}

int tasks_get_configuration_names (struct call *c, const struct tasks_get_configuration_names_in *in,
                                   struct tasks_get_configuration_names_out *out, struct error *err)
{
    struct part *p = arena_array (c->arena, struct part, in->tasks.n + 1);
    struct str s = { .arena = c->arena };
    if (docs_open (c, in->tasks.v, in->tasks.n, p, err) < 0)
        return -1;
    str_putc (&s, '[');
    for (size_t i = 0; i < in->tasks.n; i++) {
        struct named *v;
        struct str names = { .arena = c->arena };
        size_t n = items_sorted (c->arena, p[i].d.configuration, &v);
        str_putc (&names, '[');
        for (size_t k = 0; k < n; k++) {
            struct text value = json_get (v[k].item, "value");
            if (in->skip_empty && (json_kind (value) != JSON_STRING || value.n <= 2))
                continue;
            json_put_comma (&names);
            json_put_string (&names, v[k].name);
        }
        str_putc (&names, ']');
        if (names.n == 2)
            continue;
        json_put_comma (&s);
        str_putc (&s, '{');
        fields_str (&s, "task", p[i].t.id);
        fields_json (&s, "names", str_text (&names));
        str_putc (&s, '}');
    }
    str_putc (&s, ']');
    out->configurations = str_text (&s);
    return 0;
}

/* -- configuration */
int tasks_edit_configuration (struct call *c, const struct tasks_edit_configuration_in *in,
                              struct tasks_edit_configuration_out *out, struct error *err)
{
    struct arena *a = c->arena;
    struct part p;
    if (!in->configuration.n)
        return error_set (err, ERR_VALIDATION, "configuration: the list is empty");
    if (part_open (c, in->task, GUARD_PARAMS, in->force, &p, err) < 0)
        return -1;
    struct text all = in->replace_configuration ? TEXT ("{}") : p.d.configuration;
    for (size_t i = 0; i < in->configuration.n; i++) {
        const struct tasks_configuration_item *item = &in->configuration.v[i];
        const char *name = item->name ? strip (a, item->name) : "";
        if (!*name)
            return error_set (err, ERR_VALIDATION, "configuration: each item needs a name");
        struct tasks_param like = {
            .name = name, .value = item->value, .type = item->type, .description = item->description
        };
        all = doc_set (a, all, name, param_item (a, NULL, &like));
    }
    struct task_doc d = { .configuration = all };
    out->updated = 1;
    out->has.updated = true;
    return part_save (c, &p, &d, true, err);
}

int tasks_delete_configuration (struct call *c, const struct tasks_delete_configuration_in *in,
                                struct tasks_delete_configuration_out *out, struct error *err)
{
    struct part p;
    struct text none = { 0 };
    if (part_open (c, in->task, GUARD_PARAMS, in->force, &p, err) < 0)
        return -1;
    struct text all = p.d.configuration;
    for (size_t i = 0; i < in->configuration.n; i++)
        all = doc_set (c->arena, all, strip (c->arena, in->configuration.v[i]), none);
    struct task_doc d = { .configuration = all };
    out->deleted = 1;
    out->has.deleted = true;
    return part_save (c, &p, &d, true, err);
}

/* -- runtime */
int tasks_edit_runtime (struct call *c, const struct tasks_edit_runtime_in *in,
                        struct tasks_edit_runtime_out *out, struct error *err)
{
    struct arena *a = c->arena;
    struct part p;
    struct text none = { 0 };
    out->has.updated = true;
    if (part_open (c, in->task, GUARD_EDIT, true, &p, err) < 0)
        return -1;
    if (!json_count (in->add_or_update) && !in->remove.n)
        return 0;
    struct text runtime = p.d.runtime;
    if (in->add_or_update.p && json_kind (in->add_or_update) != JSON_NULL) {
        struct text checked;
        if (doc_runtime (a, in->add_or_update, &checked, err) < 0)
            return -1;
        struct json_iter it = json_iter (checked);
        while (json_next (&it))
            runtime = doc_set (a, runtime, json_key (a, it.key), it.value);
    }
    for (size_t i = 0; i < in->remove.n; i++)
        runtime = doc_set (a, runtime, in->remove.v[i], none);
    struct task_doc d = { .runtime = runtime };
    out->updated = 1;
    return part_save (c, &p, &d, true, err);
}

/* -- artifacts */
int tasks_add_or_update_artifacts (struct call *c, const struct tasks_add_or_update_artifacts_in *in,
                                   struct tasks_add_or_update_artifacts_out *out, struct error *err)
{
    struct arena *a = c->arena;
    struct part p;
    struct text list;
    if (part_open (c, in->task, GUARD_ARTIFACTS, true, &p, err) < 0 ||
        doc_artifacts (a, json_get (p.d.execution, "artifacts"), json_get (c->body, "artifacts"), &list,
                       err) < 0)
        return -1;
    struct task_doc d = { .execution = doc_set (a, p.d.execution, "artifacts", list) };
    out->updated = 1;
    out->has.updated = true;
    return part_save (c, &p, &d, true, err);
}

static bool artifact_named (struct arena *a, struct text list, struct text artifact)
{
    const char *key = json_string (a, json_get (artifact, "key")),
               *mode = json_string (a, json_get (artifact, "mode"));
    struct json_iter it = json_iter (list);
    while (json_next (&it)) {
        const char *m = json_string (a, json_get (it.value, "mode"));
        if (json_string_is (json_get (it.value, "key"), key ? key : "") &&
            !strcmp (m ? m : "output", mode ? mode : "output"))
            return true;
    }
    return false;
}

int tasks_delete_artifacts (struct call *c, const struct tasks_delete_artifacts_in *in,
                            struct tasks_delete_artifacts_out *out, struct error *err)
{
    struct part p;
    struct text gone = json_get (c->body, "artifacts");
    struct str s = { .arena = c->arena };
    if (part_open (c, in->task, GUARD_ARTIFACTS, true, &p, err) < 0)
        return -1;
    str_putc (&s, '[');
    struct json_iter it = json_iter (json_get (p.d.execution, "artifacts"));
    while (json_next (&it))
        if (!artifact_named (c->arena, gone, it.value)) {
            json_put_comma (&s);
            str_add_text (&s, it.value);
        }
    str_putc (&s, ']');
    struct task_doc d = { .execution = doc_set (c->arena, p.d.execution, "artifacts", str_text (&s)) };
    out->deleted = 1;
    out->has.deleted = true;
    return part_save (c, &p, &d, true, err);
}
