/* calls.c - the company as a whole: who is in it, which tags are in use, how much there is of everything. */
#include "api/organization.api.h"
#include "base/json.h"
#include "services/answer.h"
#include "services/models/models.h"
#include "services/projects/projects.h"
#include "services/tasks/tasks.h"
#include "sql/sql.h"
#include "store/store.h"

int organization_get_user_companies (struct call *c, const struct organization_get_user_companies_in *in,
                                     struct organization_get_user_companies_out *out, struct error *err)
{
    cleanup_rows struct rows rows = { 0 };
    struct str owners = { .arena = c->arena }, s = { .arena = c->arena };
    int64_t n = 0;
    int rc;

    (void)in;
    if (db_query (c->db, &sql_auth_users, &rows, err, V_STR (c->who.company)) < 0)
        return -1;
    while ((rc = db_next (&rows, err)) > 0) {
        str_puts (&owners, n++ ? ",{\"id\":" : "{\"id\":");
        json_put_string (&owners, row_str (&rows, 0, c->arena));
        str_puts (&owners, ",\"name\":");
        json_put_string (&owners, row_str (&rows, 1, c->arena));
        str_puts (&owners, ",\"avatar\":");
        json_put_string (&owners, row_str (&rows, 2, c->arena));
        str_putc (&owners, '}');
    }
    if (rc < 0)
        return -1;
    str_puts (&s, "[{\"id\":");
    json_put_string (&s, c->who.company);
    str_puts (&s, ",\"name\":");
    json_put_string (&s, c->who.company_name);
    str_addf (&s, ",\"allocated\":%lld,\"owners\":[", (long long)n);
    str_add_text (&s, str_text (&owners));
    str_puts (&s, "]}]");
    out->companies = str_text (&s);
    return 0;
}

int organization_get_tags (struct call *c, const struct organization_get_tags_in *in,
                           struct organization_get_tags_out *out, struct error *err)
{
    static const struct query_entity *const of[] = { &tasks_entity, &models_entity };
    struct tag_list tags = { 0 }, system = { 0 };
    struct text filter = json_kind (in->filter) > JSON_NULL ? in->filter : TEXT ("{}");

    if (json_kind (filter) != JSON_OBJECT)
        return error_set (err, ERR_VALIDATION, "filter: must be an object {tags, system_tags}");
    for (size_t i = 0; i < sizeof of / sizeof *of; i++)
        if (tags_in_use (c, of[i], filter, &tags, in->include_system ? &system : NULL, err) < 0)
            return -1;
    PUT_LIST (out->tags, tags);
    if (in->include_system)
        PUT_LIST (out->system_tags, system);
    return 0;
}

/* -- how many ----------------------------------------------------------------------------------------------------- */
/* One thing that is counted: rows of an entity, some of them only of one type and then in subprojects too. */
struct counted {
    const struct query_entity *of;
    const char *name, *type;
    bool may_hide; /* hidden ones count only when asked for */
};
static const struct counted PROJECTS = { &projects_entity, "projects", NULL, true },
                            TASKS = { &tasks_entity, "tasks", NULL, true },
                            MODELS = { &models_entity, "models", NULL, false },
                            PIPELINES = { &projects_entity, "pipelines", NULL, false },
                            PIPELINE_RUNS = { &tasks_entity, "pipeline_runs", "controller", false },
                            DATASETS = { &projects_entity, "datasets", NULL, false },
                            DATASET_VERSIONS = { &tasks_entity, "dataset_versions", "data_processing",
                                                 false },
                            REPORTS = { &tasks_entity, "reports", "report", false };

/* The query of the request with what its kind adds. */
static struct text wish_of (struct call *c, const struct organization_get_entities_count_in *in,
                            const struct counted *k, struct text query)
{
    struct str s = { .arena = c->arena };
    bool by_user = in->active_users.n && k->of != &projects_entity && !json_count (json_get (query, "user"));
    struct json_iter it = json_iter (query);

    str_putc (&s, '{');
    while (json_next (&it)) {
        const char *key = json_key (c->arena, it.key);
        if (!(k->type && (!strcmp (key, "type") || !strcmp (key, "include_subprojects"))) &&
            !(by_user && !strcmp (key, "user")))
            fields_json (&s, key, it.value);
    }
    if (k->type) {
        fields_str (&s, "type", k->type);
        fields_json (&s, "include_subprojects", TEXT ("true"));
    }
    if (by_user)
        fields_json (&s, "user", tags_of (c->arena, in->active_users.v, in->active_users.n));
    str_putc (&s, '}');
    return str_text (&s);
}

static int count (struct call *c, const struct organization_get_entities_count_in *in,
                  const struct counted *k, struct text query, int64_t *ret, struct error *err)
{
    struct query_source src = call_source (c);
    struct value users = V_TEXT (tags_of (c->arena, in->active_users.v, in->active_users.n));
    bool active = in->active_users.n && k->of == &projects_entity, hide = k->may_hide && !in->search_hidden;
    const char *where = active ? project_active_where : NULL;
    struct query_options o = {
        .flags = QUERY_SHOW_HIDDEN | (in->allow_public ? 0 : QUERY_OWN),
        .where = !hide   ? where
                 : where ? arena_printf (c->arena, "e.hidden = 0 AND %s", where)
                         : "e.hidden = 0",
        .values = &users,
        .values_n = active,
    };
    struct query_where w;
    cleanup_rows struct rows r = { 0 };

    if (query_conditions (&src, k->of, wish_of (c, in, k, query), &o, &w, err) < 0)
        return -1;
    const char *sql = arena_printf (c->arena, "SELECT count(*) FROM (SELECT 1 FROM %s WHERE %s LIMIT %lld)",
                                    k->of->from, w.sql.p, (long long)(in->limit > 0 ? in->limit : -1));
    if (db_query_text (c->db, sql, &r, err, w.values, w.n) < 0 || db_next (&r, err) < 0)
        return -1;
    *ret = row_int (&r, 0);
    return 0;
}

/* A count that was asked for; a query that is wrong is told by the name of the count. 1 counted, 0 not, -1 */
static int count_asked (struct call *c, const struct organization_get_entities_count_in *in,
                        const struct counted *k, struct text query, int64_t *ret, struct str *errors,
                        struct error *err)
{
    struct error why = { 0 };

    if (json_kind (query) <= JSON_NULL)
        return 0;
    if (json_kind (query) != JSON_OBJECT)
        return error_set (err, ERR_VALIDATION, "%s: must be an object of filters", k->name);
    if (count (c, in, k, query, ret, &why) == 0)
        return 1;
    if (why.code < 10000) { /* the store, not the wish */
        *err = why;
        return -1;
    }
    fields_str (errors, k->name, why.text);
    return 0;
}

#define COUNT(field, kind)                                                                                   \
    do {                                                                                                     \
        int rc = count_asked (c, in, &(kind), in->field, &out->field, &errors, err);                         \
        if (rc < 0)                                                                                          \
            return -1;                                                                                       \
        out->has.field = rc > 0;                                                                             \
    } while (0)

int organization_get_entities_count (struct call *c, const struct organization_get_entities_count_in *in,
                                     struct organization_get_entities_count_out *out, struct error *err)
{
    struct str errors;

    fields_open (c, &errors);
    COUNT (projects, PROJECTS);
    COUNT (tasks, TASKS);
    COUNT (models, MODELS);
    COUNT (pipelines, PIPELINES);
    COUNT (pipeline_runs, PIPELINE_RUNS);
    COUNT (datasets, DATASETS);
    COUNT (dataset_versions, DATASET_VERSIONS);
    COUNT (reports, REPORTS);
    struct text told = fields_close (&errors);
    if (json_count (told))
        out->errors = told;
    return 0;
}
