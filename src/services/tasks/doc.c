/* doc.c - the documents inside a task: checked, completed with defaults, merged. In and out: JSON text. What a client
 * sent is kept as it was written; only what must change is put together anew. */
#include "services/tasks/task.h"

#include <ctype.h>
#include <strings.h>

static int unknown (struct error *err, const char *document, struct text key)
{
    return error_set (err, ERR_VALIDATION, "Validation error: document=%s, field=%.*s is not known", document,
                      (int)key.n, key.p);
}

static bool present (struct text v)
{
    return json_kind (v) > JSON_NULL;
}

struct text doc_string (struct arena *a, const char *s)
{
    struct str out = { .arena = a };
    json_put_string (&out, s);
    return str_text (&out);
}

struct text doc_merge (struct arena *a, struct text base, struct text over)
{
    struct str s = { .arena = a };
    str_putc (&s, '{');
    struct json_iter it = json_iter (base);
    while (json_next (&it)) {
        struct text v = json_get (over, json_key (a, it.key));
        if (!v.p)
            json_put_member (&s, it.key, it.value);
        else if (json_kind (v) != JSON_NULL)
            json_put_member (&s, it.key, v);
    }
    it = json_iter (over);
    while (json_next (&it))
        if (!json_get (base, json_key (a, it.key)).p && json_kind (it.value) != JSON_NULL)
            json_put_member (&s, it.key, it.value);
    str_putc (&s, '}');
    return str_text (&s);
}

struct text doc_set (struct arena *a, struct text object, const char *key, struct text value)
{
    struct str s = { .arena = a };
    bool done = false;
    str_putc (&s, '{');
    struct json_iter it = json_iter (object);
    while (json_next (&it)) {
        if (strcmp (json_key (a, it.key), key))
            json_put_member (&s, it.key, it.value);
        else if (value.p && !done) {
            json_put_member (&s, it.key, value);
            done = true;
        }
    }
    if (value.p && !done) {
        json_put_key (&s, key);
        str_add_text (&s, value);
    }
    str_putc (&s, '}');
    return str_text (&s);
}

struct text doc_input_artifacts (struct arena *a, struct text execution)
{
    struct json_iter it = json_iter (json_get (execution, "artifacts"));
    struct str s = { .arena = a };

    str_putc (&s, '[');
    while (json_next (&it))
        if (json_string_is (json_get (it.value, "mode"), "input")) {
            json_put_comma (&s);
            str_add_text (&s, it.value);
        }
    str_putc (&s, ']');
    return doc_set (a, execution, "artifacts", str_text (&s));
}

/* -- script */
int doc_script (struct arena *a, struct text base, struct text in, struct text *ret, struct error *err)
{
    static const struct {
        const char *name;
        bool strip, object;
    } members[] = {
        { "binary", true, false },      { "repository", true, false },   { "tag", true, false },
        { "branch", true, false },      { "version_num", true, false },  { "entry_point", true, false },
        { "working_dir", true, false }, { "requirements", false, true }, { "diff", false, false },
    };
    struct str over = { .arena = a };
    if (json_kind (in) != JSON_OBJECT)
        return error_set (err, ERR_VALIDATION, "script: must be an object");
    str_putc (&over, '{');
    struct json_iter it = json_iter (in);
    while (json_next (&it)) {
        size_t i = 0, n = sizeof members / sizeof *members;
        while (i < n && !text_is (it.key, members[i].name))
            i++;
        if (i == n)
            return unknown (err, "Script", it.key);
        enum json_kind kind = json_kind (it.value);
        if (kind == JSON_NULL)
            continue;
        if (members[i].object ? kind != JSON_OBJECT : kind != JSON_STRING)
            return error_set (err, ERR_DATA_VALIDATION, "script.%s: must be %s", members[i].name,
                              members[i].object ? "an object" : "a string");
        json_put_member (&over, it.key,
                         members[i].strip ? doc_string (a, strip (a, json_string (a, it.value))) : it.value);
    }
    str_putc (&over, '}');
    *ret = doc_merge (a, base.p ? base : TEXT (DOC_SCRIPT), str_text (&over));
    return 0;
}

/* -- artifacts */
struct artifact {
    const char *key, *mode;
    struct text doc;
};

static int artifact_of (struct arena *a, struct text in, struct artifact *ret, struct error *err)
{
    static const char *const names[] = { "key",          "type",      "mode",      "uri",          "hash",
                                         "content_size", "timestamp", "type_data", "display_data", NULL };
    struct str s = { .arena = a };
    if (json_kind (in) != JSON_OBJECT)
        return error_set (err, ERR_VALIDATION, "artifacts: each must be an object {key, type, ...}");
    *ret = (struct artifact){ json_string (a, json_get (in, "key")),
                              json_string (a, json_get (in, "mode")),
                              { 0 } };
    if (!ret->key || !*ret->key)
        return error_set (err, ERR_VALIDATION, "artifacts: field 'key' is required");
    if (!json_string (a, json_get (in, "type")))
        return error_set (err, ERR_VALIDATION, "artifacts: field 'type' of artifact '%s' is required",
                          ret->key);
    ret->mode = ret->mode ? ret->mode : "output";
    if (strcmp (ret->mode, "output") && strcmp (ret->mode, "input"))
        return error_set (err, ERR_VALIDATION, "artifacts: mode of '%s' must be input or output", ret->key);
    str_putc (&s, '{');
    struct json_iter it = json_iter (in);
    bool mode = false, display = false;
    while (json_next (&it)) {
        size_t i = 0;
        while (names[i] && !text_is (it.key, names[i]))
            i++;
        if (!names[i])
            return unknown (err, "Artifact", it.key);
        if (json_kind (it.value) == JSON_NULL)
            continue;
        mode |= text_is (it.key, "mode");
        display |= text_is (it.key, "display_data");
        json_put_member (&s, it.key, it.value);
    }
    str_puts (&s, mode ? "" : ",\"mode\":\"output\"");
    str_puts (&s, display ? "" : ",\"display_data\":[]");
    str_putc (&s, '}');
    ret->doc = str_text (&s);
    return 0;
}

static int artifact_order (const void *x, const void *y)
{
    const struct artifact *a = x, *b = y;
    int c = strcmp (a->key, b->key);
    return c ? c : -strcmp (a->mode, b->mode);
}

int doc_artifacts (struct arena *a, struct text list, struct text in, struct text *ret, struct error *err)
{
    if (present (in) && json_kind (in) != JSON_ARRAY)
        return error_set (err, ERR_VALIDATION, "artifacts: must be a list");
    size_t n = 0, cap = json_count (list) + json_count (in);
    struct artifact *v = arena_array (a, struct artifact, cap + 1);
    struct text parts[2] = { list, in };
    for (int p = 0; p < 2; p++) {
        struct json_iter it = json_iter (parts[p]);
        while (json_next (&it)) {
            struct artifact one;
            size_t i = 0;
            if (artifact_of (a, it.value, &one, err) < 0)
                return -1;
            while (i < n && (strcmp (v[i].key, one.key) || strcmp (v[i].mode, one.mode)))
                i++;
            v[i] = one;
            n = i == n ? n + 1 : n;
        }
    }
    qsort (v, n, sizeof *v, artifact_order);
    struct str s = { .arena = a };
    str_putc (&s, '[');
    for (size_t i = 0; i < n; i++) {
        json_put_comma (&s);
        str_add_text (&s, v[i].doc);
    }
    str_putc (&s, ']');
    *ret = str_text (&s);
    return 0;
}

/* -- execution */
static int check_labels (struct text labels, const char *what, struct error *err)
{
    if (!present (labels))
        return 0;
    if (json_kind (labels) != JSON_OBJECT)
        return error_set (err, ERR_DATA_VALIDATION, "%s: must be an object {label: number}", what);
    struct json_iter it = json_iter (labels);
    while (json_next (&it)) {
        if (json_kind (it.value) == JSON_NULL)
            continue;
        if (json_kind (it.value) != JSON_NUMBER)
            return error_set (err, ERR_DATA_VALIDATION, "%s.%.*s: must be a whole number or null", what,
                              (int)it.key.n, it.key.p);
        struct json_iter other = json_iter (labels);
        while (json_next (&other) && other.key.p != it.key.p)
            if (json_kind (other.value) == JSON_NUMBER && json_int (other.value, 0) == json_int (it.value, 1))
                return error_set (err, ERR_DATA_VALIDATION, "%s: %.*s and %.*s have the same number", what,
                                  (int)other.key.n, other.key.p, (int)it.key.n, it.key.p);
    }
    return 0;
}

int doc_execution (struct arena *a, struct text base, struct text in, struct text *ret, struct error *err)
{
    if (json_kind (in) != JSON_OBJECT)
        return error_set (err, ERR_VALIDATION, "execution: must be an object");
    struct text artifacts = json_get (in, "artifacts");
    struct text out =
        doc_merge (a, base.p ? base : TEXT (DOC_EXECUTION), doc_set (a, in, "queue", (struct text){ 0 }));
    if (present (artifacts)) {
        struct text list;
        if (doc_artifacts (a, (struct text){ 0 }, artifacts, &list, err) < 0)
            return error_wrap (err, "execution");
        out = doc_set (a, out, "artifacts", list);
    }
    if (check_labels (json_get (out, "model_labels"), "execution.model_labels", err) < 0)
        return -1;
    *ret = doc_merge (a, TEXT (DOC_EXECUTION), out);
    return 0;
}

/* -- hyperparameters and configuration */
const char *doc_section (const char *section)
{
    return strcasecmp (section, "properties") ? section : "properties";
}

int doc_item (struct arena *a, const char *what, const char *section, const char *name, struct text in,
              struct text *ret, struct error *err)
{
    static const char *const names[] = { "section", "name", "value", "type", "description", NULL };
    struct str s = { .arena = a };
    if (json_kind (in) != JSON_OBJECT)
        return error_set (err, ERR_DATA_VALIDATION, "%s.%s: must be an object {value, ...}", what, name);
    if (json_kind (json_get (in, "value")) != JSON_STRING && present (json_get (in, "value")))
        return error_set (err, ERR_DATA_VALIDATION, "%s.%s.value: must be a string", what, name);
    str_putc (&s, '{');
    if (section)
        fields_str (&s, "section", section);
    fields_str (&s, "name", name);
    struct json_iter it = json_iter (in);
    while (json_next (&it)) {
        size_t i = section ? 0 : 1;
        while (names[i] && !text_is (it.key, names[i]))
            i++;
        if (!names[i])
            return unknown (err, section ? "ParamsItem" : "ConfigurationItem", it.key);
        if (i < 2 || json_kind (it.value) == JSON_NULL)
            continue;
        if (json_kind (it.value) != JSON_STRING)
            return error_set (err, ERR_DATA_VALIDATION, "%s.%s.%s: must be a string", what, name, names[i]);
        json_put_member (&s, it.key, it.value);
    }
    str_putc (&s, '}');
    *ret = str_text (&s);
    return 0;
}

static int check_key (struct arena *a, const char *what, struct text raw, const char **ret, struct error *err)
{
    *ret = strip (a, json_key (a, raw));
    return **ret ? 0 : error_set (err, ERR_VALIDATION, "%s: empty names are not possible", what);
}

int doc_hyperparams (struct arena *a, struct text in, struct text *ret, struct error *err)
{
    struct str s = { .arena = a };
    if (json_kind (in) != JSON_OBJECT)
        return error_set (err, ERR_VALIDATION, "hyperparams: must be an object of sections");
    str_putc (&s, '{');
    struct json_iter sections = json_iter (in);
    while (json_next (&sections)) {
        const char *section;
        if (check_key (a, "hyperparams", sections.key, &section, err) < 0)
            return -1;
        section = doc_section (section);
        if (json_kind (sections.value) == JSON_NULL)
            continue;
        if (json_kind (sections.value) != JSON_OBJECT)
            return error_set (err, ERR_DATA_VALIDATION, "hyperparams.%s: must be an object of parameters",
                              section);
        json_put_key (&s, section);
        str_putc (&s, '{');
        struct json_iter it = json_iter (sections.value);
        while (json_next (&it)) {
            const char *name;
            struct text item;
            if (check_key (a, "hyperparams", it.key, &name, err) < 0 ||
                doc_item (a, "hyperparams", section, name, it.value, &item, err) < 0)
                return -1;
            json_put_key (&s, name);
            str_add_text (&s, item);
        }
        str_putc (&s, '}');
    }
    str_putc (&s, '}');
    *ret = str_text (&s);
    return 0;
}

int doc_configuration (struct arena *a, struct text in, struct text *ret, struct error *err)
{
    struct str s = { .arena = a };
    if (json_kind (in) != JSON_OBJECT)
        return error_set (err, ERR_VALIDATION, "configuration: must be an object of configuration items");
    str_putc (&s, '{');
    struct json_iter it = json_iter (in);
    while (json_next (&it)) {
        const char *name;
        struct text item;
        if (json_kind (it.value) == JSON_NULL)
            continue;
        if (check_key (a, "configuration", it.key, &name, err) < 0 ||
            doc_item (a, "configuration", NULL, name, it.value, &item, err) < 0)
            return -1;
        json_put_key (&s, name);
        str_add_text (&s, item);
    }
    str_putc (&s, '}');
    *ret = str_text (&s);
    return 0;
}

/* -- models */
static int models_list (struct arena *a, const char *kind, struct text in, int64_t now, struct text *ret,
                        struct error *err)
{
    struct str s = { .arena = a };
    if (json_kind (in) != JSON_ARRAY)
        return error_set (err, ERR_VALIDATION, "models.%s: must be a list", kind);
    str_putc (&s, '[');
    struct json_iter it = json_iter (in);
    while (json_next (&it)) {
        const char *name = json_string (a, json_get (it.value, "name")),
                   *model = json_string (a, json_get (it.value, "model"));
        if (!name || !*name || !model)
            return error_set (err, ERR_VALIDATION, "models.%s: each item needs name and model", kind);
        struct json_iter members = json_iter (it.value);
        while (json_next (&members))
            if (!text_is (members.key, "name") && !text_is (members.key, "model") &&
                !text_is (members.key, "updated"))
                return unknown (err, "ModelItem", members.key);
        json_put_comma (&s);
        str_putc (&s, '{');
        fields_str (&s, "name", name);
        fields_str (&s, "model", model);
        fields_time (&s, "updated", now * 1000);
        str_putc (&s, '}');
    }
    str_putc (&s, ']');
    *ret = str_text (&s);
    return 0;
}

int doc_models (struct arena *a, struct text base, struct text in, int64_t now, struct text *ret,
                struct error *err)
{
    struct text out = base.p ? base : TEXT (DOC_MODELS);
    if (json_kind (in) != JSON_OBJECT)
        return error_set (err, ERR_VALIDATION, "models: must be an object {input, output}");
    struct json_iter it = json_iter (in);
    while (json_next (&it)) {
        struct text list;
        const char *kind = text_is (it.key, "input") ? "input" : text_is (it.key, "output") ? "output" : NULL;
        if (!kind)
            return unknown (err, "Models", it.key);
        if (json_kind (it.value) == JSON_NULL)
            continue;
        if (models_list (a, kind, it.value, now, &list, err) < 0)
            return -1;
        out = doc_set (a, out, kind, list);
    }
    *ret = out;
    return 0;
}

/* -- container, runtime */
int doc_container (struct arena *a, struct text in, struct text *ret, struct error *err)
{
    struct str s = { .arena = a };
    if (json_kind (in) != JSON_OBJECT)
        return error_set (err, ERR_FIELDS_VALUE, "container: expecting an object {image, arguments, ...}");
    str_putc (&s, '{');
    struct json_iter it = json_iter (in);
    while (json_next (&it)) {
        if (json_kind (it.value) != JSON_STRING && json_kind (it.value) != JSON_NULL)
            return error_set (err, ERR_DATA_VALIDATION, "container.%.*s: must be a string or null",
                              (int)it.key.n, it.key.p);
        json_put_member (&s, it.key, it.value);
    }
    str_putc (&s, '}');
    *ret = str_text (&s);
    return 0;
}

int doc_runtime (struct arena *a, struct text in, struct text *ret, struct error *err)
{
    (void)a;
    if (json_kind (in) != JSON_OBJECT)
        return error_set (err, ERR_VALIDATION, "runtime: must be an object");
    struct json_iter it = json_iter (in);
    while (json_next (&it))
        if (!it.key.n || it.key.p[0] == '$')
            return error_set (err, ERR_DATA_VALIDATION, "runtime: key '%.*s' is empty or starts with $",
                              (int)it.key.n, it.key.p);
    *ret = in;
    return 0;
}
