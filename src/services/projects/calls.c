/* calls.c - projects: making, finding, changing. */
#include "services/oldtags.h"
#include "services/projects/project.h"
#include "services/tasks/tasks.h"

/* -- making and changing */
static int body_tags (struct call *c, const char *field, struct text *ret, struct error *err)
{
    struct text v = json_get (c->body, field);
    if (json_kind (v) <= JSON_NULL)
        return 0;
    if (json_kind (v) != JSON_ARRAY)
        return error_set (err, ERR_DATA_VALIDATION, "%s: must be a list of strings", field);
    struct tag_list l = tags_read (c->arena, v);
    if (tags_check (l.v, l.n, field, err) < 0)
        return -1;
    *ret = tags_write (c->arena, &l);
    return 0;
}

static int body_str (struct call *c, const char *field, const char **ret, struct error *err)
{
    struct text v = json_get (c->body, field);
    if (json_kind (v) > JSON_NULL && json_kind (v) != JSON_STRING)
        return error_set (err, ERR_DATA_VALIDATION, "%s: must be a string", field);
    *ret = json_string (c->arena, v);
    return 0;
}

int projects_create (struct call *c, const struct projects_create_in *in, struct projects_create_out *out,
                     struct error *err)
{
    const char *name = NULL, *path;
    struct project_new what = { .description = "" };
    (void)in;
    if (body_str (c, "name", &name, err) < 0)
        return -1;
    if (!name)
        return error_set (err, ERR_MISSING_FIELDS, "Missing required fields: missing=(name)");
    if (body_str (c, "description", &what.description, err) < 0 ||
        body_str (c, "default_output_destination", &what.output, err) < 0 ||
        body_tags (c, "tags", &what.tags, err) < 0 ||
        body_tags (c, "system_tags", &what.system_tags, err) < 0 ||
        project_path_clean (c->arena, name, &path, err) < 0 || project_name_free (c, path, err) < 0)
        return -1;
    old_tags_divide (c, &old_tags_project, &what.tags, &what.system_tags);
    return project_make (c, path, &what, &out->id, err);
}

struct stored {
    const char *name, *basename, *description, *output, *parent;
    struct text tags, system_tags;
};

static int stored_read (struct call *c, const char *id, struct stored *ret, struct error *err)
{
    cleanup_rows struct rows r = { 0 };
    if (db_query (c->db, &sql_project_read, &r, err, V_STR (id), V_STR (c->who.company)) < 0)
        return -1;
    int more = db_next (&r, err);
    if (more < 0)
        return -1;
    if (!more)
        return error_set (err, ERR_INVALID_PROJECT_ID, "Invalid project id: id=%s", id);
    *ret = (struct stored){ row_str (&r, 0, c->arena), row_str (&r, 1, c->arena), row_str (&r, 2, c->arena),
                            row_str (&r, 5, c->arena), row_str (&r, 6, c->arena), row_copy (&r, 3, c->arena),
                            row_copy (&r, 4, c->arena) };
    return 0;
}

/* A new name may change only the last part. */
static int rename_check (struct call *c, const struct stored *old, const char *name, const char **ret,
                         struct error *err)
{
    const char *path, *slash, *old_slash = strrchr (old->name, '/');
    if (project_path_clean (c->arena, name, &path, err) < 0)
        return -1;
    if (!strcmp (path, old->name)) {
        *ret = NULL;
        return 0;
    }
    slash = strrchr (path, '/');
    size_t n = slash ? (size_t)(slash - path) : 0, m = old_slash ? (size_t)(old_slash - old->name) : 0;
    if (n != m || strncmp (path, old->name, n))
        return error_set (err, ERR_PROJECT_LOCATION,
                          "name: '%s' lies elsewhere than '%s': move the project instead", path, old->name);
    if (strlen (slash ? slash + 1 : path) < 3)
        return error_set (err, ERR_VALIDATION, "project name must have at least 3 characters: '%s'", path);
    *ret = path;
    return project_name_free (c, path, err);
}

static bool given (struct call *c, const char *field)
{
    return json_get (c->body, field).p != NULL;
}

int projects_update (struct call *c, const struct projects_update_in *in, struct projects_update_out *out,
                     struct error *err)
{
    static const char *const fields[] = {
        "name", "description", "tags", "system_tags", "default_output_destination", NULL
    };
    const char *id = NULL, *name = NULL, *new_name = NULL;
    struct project p;
    struct stored s = { 0 };
    struct text tags = { 0 }, system = { 0 };
    struct str echo;
    (void)in;
    if (body_str (c, "project", &id, err) < 0)
        return -1;
    if (!id)
        return error_set (err, ERR_MISSING_FIELDS, "Missing required fields: missing=(project)");
    if (project_own (c, id, &p, err) < 0 || stored_read (c, id, &s, err) < 0 ||
        body_str (c, "name", &name, err) < 0 || (name && rename_check (c, &s, name, &new_name, err) < 0) ||
        body_tags (c, "tags", &tags, err) < 0 || body_tags (c, "system_tags", &system, err) < 0)
        return -1;
    old_tags_divide (c, &old_tags_project, &tags, &system);
    if (given (c, "description") && body_str (c, "description", &s.description, err) < 0)
        return -1;
    if (given (c, "default_output_destination") &&
        body_str (c, "default_output_destination", &s.output, err) < 0)
        return -1;
    tags = tags.p ? tags : given (c, "tags") ? TEXT ("[]") : s.tags;
    system = system.p ? system : given (c, "system_tags") ? TEXT ("[]") : s.system_tags;
    const char *full = new_name ? new_name : s.name, *slash = strrchr (full, '/');
    if (db_exec (c->db, &sql_project_set, err, V_STR (id), V_STR (full), V_STR (slash ? slash + 1 : full),
                 V_STR (s.description), V_TEXT (tags), V_TEXT (system),
                 V_INT (memmem (system.p, system.n, "\"hidden\"", 8) != NULL), V_STR (s.output),
                 V_INT (c->now)) < 0)
        return -1;
    if (new_name &&
        db_exec (c->db, &sql_project_rename_below, err, V_STR (id), V_STR (s.name), V_STR (new_name)) < 0)
        return -1;
    fields_open (c, &echo);
    for (size_t i = 0; fields[i]; i++)
        if (given (c, fields[i]))
            fields_json (&echo, fields[i], json_get (c->body, fields[i]));
    out->updated = 1;
    out->has.updated = true;
    out->fields = fields_close (&echo);
    return 0;
}

/* -- reading */
int projects_get_by_id (struct call *c, const struct projects_get_by_id_in *in,
                        struct projects_get_by_id_out *out, struct error *err)
{
    struct query_source src = call_source (c);
    if (query_one (&src, &projects_entity, in->project, TEXT ("{\"only_fields\":[\"*\",\"path\"]}"), 0,
                   &out->project, err) < 0)
        return -1;
    if (!out->project.p)
        return error_set (err, ERR_INVALID_PROJECT_ID, "Invalid project id: id=%s", in->project);
    return 0;
}

const char project_active_where[] =
    "e.id IN (SELECT t.ancestor FROM project_tree t WHERE t.project IN ("
    "SELECT id FROM project WHERE user IN (SELECT value FROM json_each(?1)) UNION "
    "SELECT project FROM task WHERE user IN (SELECT value FROM json_each(?1)) UNION "
    "SELECT project FROM model WHERE user IN (SELECT value FROM json_each(?1))))";

/* children_type and active_users: which projects, as one condition over ids. */
struct selection {
    struct str sql;
    struct value v[2];
    size_t n;
};

static void select_ids (struct selection *s, const char *sql)
{
    str_puts (&s->sql, s->sql.n ? " AND " : "");
    str_puts (&s->sql, sql);
}

static bool given_list (struct text v)
{
    return json_kind (v) >= JSON_ARRAY && json_count (v);
}

/* Children of a type that also have tags: their projects first, then those above them. */
static int select_tagged (struct call *c, struct selection *s, const char *type, struct error *err)
{
    bool report = !strcmp (type, "report"), dataset = !strcmp (type, "dataset");
    struct text tags = json_get (c->body, "children_tags"),
                filter = json_get (c->body, "children_tags_filter");
    struct tag_list found = { 0 };
    struct str ask = { .arena = c->arena };
    if (!report && !dataset && strcmp (type, "pipeline"))
        return error_set (err, ERR_VALIDATION, "children_type: '%s' is not one of pipeline, dataset, report",
                          type);
    str_addf (&ask, "{\"system_tags\":[\"%s\"]", report ? "reports" : type);
    if (!report)
        str_addf (&ask, ",\"basename\":\"^(?!\\\\.%ss$)\"", type);
    if (given_list (filter)) {
        str_puts (&ask, ",\"filters\":{\"tags\":");
        str_add_text (&ask, filter);
        str_putc (&ask, '}');
    } else {
        fields_json (&ask, "tags", tags);
    }
    str_putc (&ask, '}');
    if (distinct_values (c, report ? &tasks_entity : &projects_entity, report ? "e.project" : "e.id", "",
                         str_text (&ask), &found, err) < 0)
        return -1;
    s->v[s->n++] = V_TEXT (tags_write (c->arena, &found));
    select_ids (
        s,
        s->n == 1
            ? "e.id IN (SELECT t.ancestor FROM project_tree t, json_each(?1) j WHERE t.project = j.value)"
            : "e.id IN (SELECT t.ancestor FROM project_tree t, json_each(?2) j WHERE t.project = j.value)");
    return 0;
}

static int selection_of (struct call *c, struct selection *s, bool shallow, struct error *err)
{
    struct text users = json_get (c->body, "active_users");
    const char *type = json_string (c->arena, json_get (c->body, "children_type"));
    s->sql = (struct str){ .arena = c->arena };
    if (shallow && json_kind (json_get (c->body, "parent")) == JSON_ABSENT)
        select_ids (s, "e.parent IS NULL");
    if (json_kind (users) == JSON_ARRAY && json_count (users)) {
        s->v[s->n++] = V_TEXT (users);
        select_ids (s, project_active_where);
    }
    if (!type)
        return 0;
    if (given_list (json_get (c->body, "children_tags")) ||
        given_list (json_get (c->body, "children_tags_filter")))
        return select_tagged (c, s, type, err);
    static const struct {
        const char *type, *sql;
    } types[] = {
        { "pipeline",
          "e.id IN (SELECT t.ancestor FROM project_tree t JOIN project k ON k.id = t.project WHERE "
          "instr(k.system_tags, '\"pipeline\"') > 0 AND k.basename <> '.pipelines')" },
        { "dataset",
          "e.id IN (SELECT t.ancestor FROM project_tree t JOIN project k ON k.id = t.project WHERE "
          "instr(k.system_tags, '\"dataset\"') > 0 AND k.basename <> '.datasets')" },
        { "report",
          "e.id IN (SELECT t.ancestor FROM project_tree t WHERE t.project IN (SELECT k.project FROM task k "
          "WHERE instr(k.system_tags, '\"reports\"') > 0))" },
    };
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (!strcmp (types[i].type, type)) {
            select_ids (s, types[i].sql);
            return 0;
        }
    return error_set (err, ERR_VALIDATION, "children_type: '%s' is not one of pipeline, dataset, report",
                      type);
}

static struct text without (struct call *c, struct text object, const char *key)
{
    struct str s = { .arena = c->arena };
    if (!json_get (object, key).p)
        return object;
    str_putc (&s, '{');
    struct json_iter it = json_iter (object);
    while (json_next (&it)) {
        if (text_is (it.key, key))
            continue;
        json_put_member (&s, it.key, it.value);
    }
    str_putc (&s, '}');
    return str_text (&s);
}

static int get_all (struct call *c, unsigned flags, struct text *ret, const char **ret_scroll,
                    struct error *err)
{
    struct query_source src = call_source (c);
    struct text body = old_tags_filter (c, &old_tags_project, without (c, c->body, "path")),
                children = json_get (body, "stats_with_children");
    bool shallow = json_true (json_get (body, "shallow_search"));
    struct selection sel = { 0 };
    struct project_extras x = {
        .c = c,
        .body = body,
        .stats = flags & QUERY_EX && json_true (json_get (body, "include_stats")),
        .with_children = json_kind (children) <= JSON_NULL || json_true (children),
        .own = flags & QUERY_EX && json_true (json_get (body, "check_own_contents")),
        .dataset = flags & QUERY_EX && json_true (json_get (body, "include_dataset_stats")),
        .children = flags & QUERY_EX && json_true (json_get (body, "x_count_children")),
        .search_hidden = flags & QUERY_EX && json_true (json_get (body, "search_hidden")),
        .children_type = json_string (c->arena, json_get (body, "children_type")),
    };
    struct text filter = json_get (body, "include_stats_filter");
    if (json_kind (filter) > JSON_NULL && json_kind (filter) != JSON_OBJECT)
        return error_set (err, ERR_VALIDATION, "include_stats_filter: must be an object of fields");
    if (selection_of (c, &sel, shallow, err) < 0)
        return -1;
    struct query_options o = { .flags = flags | (x.children_type ? QUERY_SHOW_HIDDEN : 0),
                               .where = sel.sql.n ? sel.sql.p : NULL,
                               .values = sel.v,
                               .values_n = sel.n };
    if (x.stats || x.own || x.dataset || x.search_hidden || x.children) {
        o.item = project_item;
        o.arg = &x;
    }
    struct query_result found;
    if (query_run (&src, shallow ? &projects_shallow_entity : &projects_entity, body, &o, &found, err) < 0)
        return -1;
    *ret = found.items;
    *ret_scroll = found.scroll_id;
    return 0;
}

int projects_get_all (struct call *c, const struct projects_get_all_in *in, struct projects_get_all_out *out,
                      struct error *err)
{
    (void)in;
    return get_all (c, 0, &out->projects, &out->scroll_id, err);
}

int projects_get_all_ex (struct call *c, const struct projects_get_all_ex_in *in,
                         struct projects_get_all_ex_out *out, struct error *err)
{
    (void)in;
    return get_all (c, QUERY_EX, &out->projects, &out->scroll_id, err);
}
