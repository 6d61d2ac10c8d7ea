/* sums.c - what a project and those below it hold, seen together: tags, parameters and their values, parents, owners,
 * metrics. Each is one statement over the tasks or models the query language selects. */
#include "services/events/events.h"
#include "services/models/models.h"
#include "services/projects/project.h"
#include "services/tasks/tasks.h"

struct text project_scope (struct call *c, const char *const *projects, size_t n, bool below,
                           struct text filter)
{
    struct str s = { .arena = c->arena };
    str_putc (&s, '{');
    if (n)
        json_put_strings (&s, "project", projects, n);
    if (below) {
        json_put_key (&s, "include_subprojects");
        str_puts (&s, "true");
    }
    struct json_iter it = json_iter (filter);
    while (json_next (&it)) {
        json_put_member (&s, it.key, it.value);
    }
    str_putc (&s, '}');
    return str_text (&s);
}

/* -- tags */
#define TAGS_CALL(name, entity, below, always)                                                               \
    int projects_##name (struct call *c, const struct projects_##name##_in *in,                              \
                         struct projects_##name##_out *out, struct error *err)                               \
    {                                                                                                        \
        struct tag_list tags = { 0 }, system_tags = { 0 };                                                   \
        bool system = in->include_system || (always);                                                        \
        struct text body = project_scope (c, in->projects.v, in->projects.n, below, in->filter);             \
        if (tags_in_use (c, entity, body, &tags, system ? &system_tags : NULL, err) < 0)                     \
            return -1;                                                                                       \
        PUT_LIST (out->tags, tags);                                                                          \
        if (system)                                                                                          \
            PUT_LIST (out->system_tags, system_tags);                                                        \
        return 0;                                                                                            \
    }
TAGS_CALL (get_task_tags, &tasks_entity, true, false)
TAGS_CALL (get_model_tags, &models_entity, true, false)

static struct text as_ids (struct call *c, const char *const *projects, size_t n, struct text filter)
{
    struct str s = { .arena = c->arena };
    str_putc (&s, '{');
    if (n)
        fields_json (&s, "id", tags_of (c->arena, projects, n));
    struct json_iter it = json_iter (filter);
    while (json_next (&it))
        fields_json (&s, json_key (c->arena, it.key), it.value);
    str_putc (&s, '}');
    return str_text (&s);
}

int projects_get_project_tags (struct call *c, const struct projects_get_project_tags_in *in,
                               struct projects_get_project_tags_out *out, struct error *err)
{
    struct tag_list tags = { 0 }, system_tags = { 0 };
    struct text body = as_ids (c, in->projects.v, in->projects.n, in->filter);
    if (tags_in_use (c, &projects_entity, body, &tags, &system_tags, err) < 0)
        return -1;
    PUT_LIST (out->tags, tags);
    PUT_LIST (out->system_tags, system_tags);
    return 0;
}

/* A page as LIMIT and OFFSET: at most 500 rows, and no number a client can send overflows. */
struct page_range {
    int64_t limit, offset;
};
static int page_range (int64_t page, int64_t size, struct page_range *ret, struct error *err)
{
    enum { LIMIT_MOST = 500 };

    if (page < 0 || size < 1)
        return error_set (err, ERR_VALIDATION, "page must be >=0 and page_size >=1");
    ret->limit = size < LIMIT_MOST ? size : LIMIT_MOST;
    ret->offset = page > INT64_MAX / LIMIT_MOST ? INT64_MAX / 2 : page * ret->limit;
    return 0;
}

/* -- hyperparameters */
int projects_get_hyper_parameters (struct call *c, const struct projects_get_hyper_parameters_in *in,
                                   struct projects_get_hyper_parameters_out *out, struct error *err)
{
    cleanup_rows struct rows r = { 0 };
    struct str s = { .arena = c->arena };
    struct page_range range = { 0 };
    int more;
    if (page_range (in->page, in->page_size, &range, err) < 0)
        return -1;
    if (db_query (c->db, &sql_project_hyper_parameters, &r, err, V_STR (c->who.company), V_STR (in->project),
                  V_INT (in->include_subprojects ? 1000 : 0), V_INT (range.limit), V_INT (range.offset)) < 0)
        return -1;
    str_putc (&s, '[');
    while ((more = db_next (&r, err)) > 0) {
        json_put_comma (&s);
        str_putc (&s, '{');
        fields_str (&s, "section", row_str (&r, 0, c->arena));
        fields_str (&s, "name", row_str (&r, 1, c->arena));
        str_putc (&s, '}');
        out->total++;
    }
    str_putc (&s, ']');
    out->parameters = str_text (&s);
    out->has.total = out->has.remaining = true;
    return more;
}

int projects_get_hyperparam_values (struct call *c, const struct projects_get_hyperparam_values_in *in,
                                    struct projects_get_hyperparam_values_out *out, struct error *err)
{
    struct query_source src = call_source (c);
    struct value v[3] = { V_STR (in->section), V_STR (in->name), V_STR (in->pattern) };
    struct query_options o = {
        .flags = (in->has.allow_public && !in->allow_public ? QUERY_OWN : 0) | QUERY_SHOW_HIDDEN,
        .where = "p.section = ?1 AND p.name = ?2 AND (?3 IS NULL OR pattern_find_i(?3, p.value))",
        .values = v,
        .values_n = 3,
    };
    struct query_where w;
    struct text body =
        project_scope (c, in->projects.v, in->projects.n, in->include_subprojects, (struct text){ 0 });
    cleanup_rows struct rows r = { 0 };
    struct page_range range = { 0 };
    int more;
    if (page_range (in->page, in->page_size, &range, err) < 0)
        return -1;
    if (in->pattern && query_pattern_check (in->pattern, err) < 0)
        return error_wrap (err, "pattern");
    if (query_conditions (&src, &tasks_entity, body, &o, &w, err) < 0)
        return -1;
    const char *sql =
        arena_printf (c->arena,
                      "SELECT DISTINCT p.value, p.key FROM task e JOIN task_param p ON p.task = e.n WHERE %s "
                      "ORDER BY p.key LIMIT %lld OFFSET %lld",
                      w.sql.p, (long long)range.limit, (long long)range.offset);
    if (db_query_text (c->db, sql, &r, err, w.values, w.n) < 0)
        return -1;
    out->values.v = arena_array (c->arena, const char *, (size_t)range.limit + 1);
    while ((more = db_next (&r, err)) > 0)
        out->values.v[out->values.n++] = row_str (&r, 0, c->arena);
    out->total = (int64_t)out->values.n;
    out->has.total = true;
    return more;
}

/* -- metadata of models */
static int metadata_query (struct call *c, struct text body, unsigned flags, const char *select,
                           const char *where, const struct value *v, size_t n, int64_t page, int64_t size,
                           struct tag_list *ret, struct error *err)
{
    struct query_source src = call_source (c);
    struct query_options o = {
        .flags = flags | QUERY_SHOW_HIDDEN, .where = where, .values = v, .values_n = n
    };
    struct query_where w;
    cleanup_rows struct rows r = { 0 };
    struct page_range range = { 0 };
    int more;
    if (page_range (page, size, &range, err) < 0)
        return -1;
    if (query_conditions (&src, &models_entity, body, &o, &w, err) < 0)
        return -1;
    const char *sql = arena_printf (c->arena,
                                    "SELECT DISTINCT %s FROM model e, json_each(e.metadata) j WHERE %s "
                                    "ORDER BY sortkey(%s) LIMIT %lld OFFSET %lld",
                                    select, w.sql.p, select, (long long)range.limit, (long long)range.offset);
    if (db_query_text (c->db, sql, &r, err, w.values, w.n) < 0)
        return -1;
    ret->v = arena_array (c->arena, const char *, (size_t)range.limit + 1);
    while ((more = db_next (&r, err)) > 0)
        if (!row_null (&r, 0))
            ret->v[ret->n++] = row_str (&r, 0, c->arena);
    return more;
}

int projects_get_model_metadata_keys (struct call *c, const struct projects_get_model_metadata_keys_in *in,
                                      struct projects_get_model_metadata_keys_out *out, struct error *err)
{
    struct tag_list keys = { 0 };
    struct str ask = { .arena = c->arena };
    str_putc (&ask, '{');
    if (in->project) {
        fields_json (&ask, "project", tags_of (c->arena, &in->project, 1));
        fields_json (&ask, "include_subprojects", in->include_subprojects ? TEXT ("true") : TEXT ("false"));
    } else if (!in->include_subprojects) {
        fields_json (&ask, "project", TEXT ("[null]"));
    }
    str_putc (&ask, '}');
    if (metadata_query (c, str_text (&ask), 0, "j.key", NULL, NULL, 0, in->page, in->page_size, &keys, err) <
        0)
        return -1;
    PUT_LIST (out->keys, keys);
    out->total = (int64_t)keys.n;
    out->has.total = out->has.remaining = true;
    return 0;
}

int projects_get_model_metadata_values (struct call *c,
                                        const struct projects_get_model_metadata_values_in *in,
                                        struct projects_get_model_metadata_values_out *out, struct error *err)
{
    struct tag_list values = { 0 };
    struct value v = V_STR (in->key);
    struct text body =
        project_scope (c, in->projects.v, in->projects.n, in->include_subprojects, (struct text){ 0 });
    if (metadata_query (c, body, in->has.allow_public && !in->allow_public ? QUERY_OWN : 0,
                        "json_extract(j.value, '$.value')", "j.key = ?1", &v, 1, in->page, in->page_size,
                        &values, err) < 0)
        return -1;
    PUT_LIST (out->values, values);
    out->total = (int64_t)values.n;
    out->has.total = true;
    return 0;
}

/* -- parents and owners */
int projects_get_task_parents (struct call *c, const struct projects_get_task_parents_in *in,
                               struct projects_get_task_parents_out *out, struct error *err)
{
    struct query_source src = call_source (c);
    struct value v[2] = { in->tasks_state ? V_INT (!strcmp (in->tasks_state, "archived")) : V_NULL (),
                          V_STR (in->task_name) };
    struct query_options o = {
        .flags = QUERY_OWN | QUERY_SHOW_HIDDEN,
        .where = "(?1 IS NULL OR e.archived = ?1) AND e.parent IS NOT NULL AND (?2 IS NULL OR "
                 "pattern_find(?2, q.name))",
        .values = v,
        .values_n = 2,
    };
    struct query_where w;
    struct text body =
        project_scope (c, in->projects.v, in->projects.n, in->include_subprojects, (struct text){ 0 });
    cleanup_rows struct rows r = { 0 };
    struct str s = { .arena = c->arena };
    int more;
    if (in->task_name && query_pattern_check (in->task_name, err) < 0)
        return error_wrap (err, "task_name");
    if (query_conditions (&src, &tasks_entity, body, &o, &w, err) < 0)
        return -1;
    const char *sql =
        arena_printf (c->arena,
                      "SELECT DISTINCT q.id, q.name, q.project, p.name FROM task e JOIN task q ON q.id = "
                      "e.parent LEFT JOIN project p ON p.id = q.project WHERE %s ORDER BY q.name, q.id",
                      w.sql.p);
    if (db_query_text (c->db, sql, &r, err, w.values, w.n) < 0)
        return -1;
    str_putc (&s, '[');
    while ((more = db_next (&r, err)) > 0) {
        json_put_comma (&s);
        str_putc (&s, '{');
        fields_str (&s, "id", row_str (&r, 0, c->arena));
        fields_str (&s, "name", row_str (&r, 1, c->arena));
        if (!row_null (&r, 3)) {
            str_puts (&s, ",\"project\":{");
            fields_str (&s, "id", row_str (&r, 2, c->arena));
            fields_str (&s, "name", row_str (&r, 3, c->arena));
            str_putc (&s, '}');
        }
        str_putc (&s, '}');
    }
    str_putc (&s, ']');
    out->parents = str_text (&s);
    return more;
}

int projects_get_user_names (struct call *c, const struct projects_get_user_names_in *in,
                             struct projects_get_user_names_out *out, struct error *err)
{
    bool models = in->entity && !strcmp (in->entity, "model");
    struct tag_list users = { 0 };
    struct query_source src = call_source (c);
    struct text body =
        project_scope (c, in->projects.v, in->projects.n, in->include_subprojects, (struct text){ 0 });
    struct query_result found;
    struct query_options o = { .flags = QUERY_UNPAGED | QUERY_SHOW_HIDDEN };
    if (distinct_values (c, models ? &models_entity : &tasks_entity, "e.user", "", body, &users, err) < 0)
        return -1;
    if (!users.n) {
        out->users = TEXT ("[]");
        return 0;
    }
    struct str ask = { .arena = c->arena };
    str_puts (&ask, "{\"only_fields\":[\"id\",\"name\"]");
    fields_json (&ask, "id", tags_write (c->arena, &users));
    str_putc (&ask, '}');
    const struct query_entity *e = NULL;
    for (const struct query_ref *ref = tasks_entity.refs; ref->path; ref++)
        if (!strcmp (ref->path, "user"))
            e = ref->target;
    if (query_run (&src, e, str_text (&ask), &o, &found, err) < 0)
        return -1;
    out->users = found.items;
    return 0;
}

/* -- metrics */
int projects_get_unique_metric_variants (struct call *c,
                                         const struct projects_get_unique_metric_variants_in *in,
                                         struct projects_get_unique_metric_variants_out *out,
                                         struct error *err)
{
    struct query_source src = call_source (c);
    const struct query_entity *e = in->model_metrics ? &models_entity : &tasks_entity;
    struct query_options o = { .flags = QUERY_SHOW_HIDDEN };
    struct query_where w;
    cleanup_rows struct rows r = { 0 };
    struct str s = { .arena = c->arena }, ask = { .arena = c->arena };
    int more;
    str_putc (&ask, '{');
    if (in->ids.n)
        fields_json (&ask, "id", tags_of (c->arena, in->ids.v, in->ids.n));
    else if (in->project) {
        fields_json (&ask, "project", tags_of (c->arena, &in->project, 1));
        fields_json (&ask, "include_subprojects", in->include_subprojects ? TEXT ("true") : TEXT ("false"));
    } else if (!in->include_subprojects)
        fields_json (&ask, "project", TEXT ("[null]"));
    str_putc (&ask, '}');
    if (query_conditions (&src, e, str_text (&ask), &o, &w, err) < 0)
        return -1;
    const char *sql =
        arena_printf (c->arena,
                      "SELECT DISTINCT s.metric, s.variant, s.key FROM %s JOIN event_stream es ON es.task = "
                      "e.id AND es.live = 1 JOIN series s ON s.stream = es.id WHERE %s AND s.count > 0 AND "
                      "s.hidden = 0 ORDER BY s.metric, s.variant",
                      e->from, w.sql.p);
    if (db_query_text (c->db, sql, &r, err, w.values, w.n) < 0)
        return -1;
    str_putc (&s, '[');
    while ((more = db_next (&r, err)) > 0) {
        const char *key = row_str (&r, 2, c->arena);
        json_put_comma (&s);
        str_putc (&s, '{');
        fields_str (&s, "metric", row_str (&r, 0, c->arena));
        fields_str (&s, "metric_hash", arena_strndup (c->arena, key, 32));
        fields_str (&s, "variant", row_str (&r, 1, c->arena));
        fields_str (&s, "variant_hash", strlen (key) > 32 ? key + 32 : "");
        str_putc (&s, '}');
    }
    str_putc (&s, ']');
    out->metrics = str_text (&s);
    return more;
}
