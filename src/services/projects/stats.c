/* stats.c - what projects.get_all_ex adds to each project: how many tasks in which status, what lies directly in it. */
#include "base/clock.h"
#include "services/projects/project.h"
#include "services/tasks/tasks.h"

static const char *const statuses[] = { "created",    "queued", "in_progress", "stopped",   "published",
                                        "publishing", "closed", "failed",      "completed", "unknown" };
enum { STATUSES = sizeof statuses / sizeof *statuses, DAY_MS = 24 * 3600 * 1000 };

/* Which tasks are counted: include_stats_filter, active_users, and what a children_type stands for. */
static struct text counted (const struct project_extras *x)
{
    struct arena *a = x->c->arena;
    struct text filter = json_get (x->body, "include_stats_filter"),
                users = json_get (x->body, "active_users");
    struct str s = { .arena = a };
    str_putc (&s, '{');
    struct json_iter it = json_iter (filter);
    bool filters = false;
    while (json_next (&it)) {
        if (json_kind (it.value) == JSON_OBJECT) {
            filters = true;
            continue;
        }
        json_put_member (&s, it.key, it.value);
    }
    if (filters) {
        json_put_key (&s, "filters");
        str_add_text (&s, filter);
    }
    if (json_kind (users) == JSON_ARRAY && json_count (users))
        fields_json (&s, "user", users);
    if (x->children_type && !strcmp (x->children_type, "pipeline"))
        str_puts (&s, s.n > 1 ? ",\"system_tags\":[\"pipeline\"],\"type\":[\"controller\"]"
                              : "\"system_tags\":[\"pipeline\"],\"type\":[\"controller\"]");
    if (x->children_type && !strcmp (x->children_type, "report"))
        str_puts (&s, s.n > 1 ? ",\"system_tags\":[\"reports\"],\"type\":[\"report\"]"
                              : "\"system_tags\":[\"reports\"],\"type\":[\"report\"]");
    str_putc (&s, '}');
    return str_text (&s);
}

struct counts {
    int64_t by_status[STATUSES], total, runtime, recent, last_run;
};

static int count_tasks (const struct query_source *src, const struct project_extras *x, const char *id,
                        struct counts *ret, struct error *err)
{
    struct value v[3] = { V_STR (id), V_INT (x->with_children ? 1000 : 0), V_INT (src->now - DAY_MS) };
    struct query_options o = {
        .flags = x->search_hidden || x->children_type ? QUERY_SHOW_HIDDEN : 0,
        .where = "e.archived = 0 AND t.ancestor = ?1 AND t.depth <= ?2 AND ?3 IS NOT NULL",
        .values = v,
        .values_n = 3,
    };
    struct query_where w;
    cleanup_rows struct rows r = { 0 };
    int more;
    if (query_conditions (src, &tasks_entity, counted (x), &o, &w, err) < 0)
        return -1;
    const char *sql =
        arena_printf (src->arena,
                      "SELECT e.status, count(*), sum(CASE WHEN e.completed > e.started THEN "
                      "(e.completed - e.started) / 1000 ELSE 0 END), sum(ifnull(e.completed >= ?%zu AND "
                      "e.status NOT IN ('queued', 'in_progress', 'failed'), 0)), max(e.started) "
                      "FROM project_tree t CROSS JOIN task e ON e.project = t.project WHERE %s "
                      "GROUP BY t.project, e.status", /* the order of the index: nothing is sorted */
                      w.n, w.sql.p);                  /* our three values are the last ones */
    if (db_query_text (src->db, sql, &r, err, w.values, w.n) < 0)
        return -1;
    while ((more = db_next (&r, err)) > 0) {
        struct text status = row_text (&r, 0);
        size_t i = 0;
        while (i < STATUSES - 1 && !text_is (status, statuses[i]))
            i++;
        ret->by_status[i] += row_int (&r, 1);
        ret->total += row_int (&r, 1);
        ret->runtime += row_int (&r, 2);
        ret->recent += row_int (&r, 3);
        if (row_int (&r, 4) > ret->last_run)
            ret->last_run = row_int (&r, 4);
    }
    return more;
}

static void put_time (struct str *s, int64_t ms)
{
    if (!ms) {
        str_puts (s, "null");
        return;
    }
    str_putc (s, '"');
    clock_format (s, ms);
    str_putc (s, '"');
}

static void put_counts (struct str *out, const struct counts *n)
{
    str_puts (out, ",\"stats\":{\"active\":{\"status_count\":{");
    for (size_t i = 0; i < STATUSES; i++)
        str_addf (out, "%s\"%s\":%lld", i ? "," : "", statuses[i], (long long)n->by_status[i]);
    str_addf (out,
              "},\"total_tasks\":%lld,\"total_runtime\":%lld,\"completed_tasks_24h\":%lld,\"last_task_run\":",
              (long long)n->total, (long long)n->runtime, (long long)n->recent);
    put_time (out, n->last_run);
    str_puts (out, "}}");
}

static int put_below (const struct query_source *src, const struct project_extras *x, const char *id,
                      struct str *out, struct error *err)
{
    cleanup_rows struct rows r = { 0 };
    int more = 0;
    if (x->children)
        return 0;
    str_puts (out, ",\"sub_projects\":[");
    if (x->with_children) {
        if (db_query (src->db, &sql_project_below, &r, err, V_STR (id), V_INT (x->search_hidden)) < 0)
            return -1;
        while ((more = db_next (&r, err)) > 0) {
            struct text pid = row_text (&r, 0), name = row_text (&r, 1);
            json_put_comma (out);
            str_puts (out, "{\"id\":");
            str_add_json (out, pid.p, pid.n);
            str_puts (out, ",\"name\":");
            str_add_json (out, name.p, name.n);
            str_putc (out, '}');
        }
    }
    str_putc (out, ']');
    return more;
}

static int count_one (const struct query_source *src, const struct sql *sql, const char *id, int64_t *ret,
                      struct error *err)
{
    cleanup_rows struct rows r = { 0 };
    if (db_query (src->db, sql, &r, err, V_STR (src->company), V_STR (id)) < 0 || db_next (&r, err) < 0)
        return -1;
    *ret = row_int (&r, 0);
    return 0;
}

static int put_children (const struct query_source *src, const struct project_extras *x, const char *id,
                         struct str *out, struct error *err)
{
    cleanup_rows struct rows r = { 0 };
    if (db_query (src->db, &sql_project_children_count, &r, err, V_STR (id), V_INT (x->search_hidden)) < 0 ||
        db_next (&r, err) < 0)
        return -1;
    str_addf (out, ",\"x_children\":%lld", (long long)row_int (&r, 0));
    return 0;
}

static int put_own (const struct query_source *src, const struct project_extras *x, const char *id,
                    struct str *out, struct error *err)
{
    int64_t tasks, models, datasets;
    if (x->children_type && !strcmp (x->children_type, "dataset")) {
        if (count_one (src, &sql_project_own_datasets, id, &datasets, err) < 0)
            return -1;
        str_addf (out, ",\"own_datasets\":%lld", (long long)datasets);
        return 0;
    }
    if (count_one (src, &sql_project_own_tasks, id, &tasks, err) < 0 ||
        count_one (src, &sql_project_own_models, id, &models, err) < 0)
        return -1;
    str_addf (out, ",\"own_tasks\":%lld,\"own_models\":%lld", (long long)tasks, (long long)models);
    return 0;
}

static int put_dataset (const struct query_source *src, const char *id, struct str *out, struct error *err)
{
    cleanup_rows struct rows r = { 0 };
    if (db_query (src->db, &sql_project_dataset_runtime, &r, err, V_STR (src->company), V_STR (id)) < 0)
        return -1;
    int more = db_next (&r, err);
    if (more < 0)
        return -1;
    if (!more) {
        str_puts (out, ",\"dataset_stats\":null");
        return 0;
    }
    struct text runtime = row_text (&r, 0);
    str_addf (out, ",\"dataset_stats\":{\"file_count\":%lld,\"total_size\":%lld}",
              (long long)json_int (json_get (runtime, "ds_file_count"), 0),
              (long long)json_int (json_get (runtime, "ds_total_size"), 0));
    return 0;
}

/* stats of children_type dataset: {"datasets":{count, tags}} over the projects tagged dataset below */
static int put_datasets (const struct query_source *src, const char *id, struct str *out, struct error *err)
{
    cleanup_rows struct rows r = { 0 };
    struct tag_list tags = { 0 };
    int64_t n = 0;
    int more;
    if (db_query (src->db, &sql_project_datasets_below, &r, err, V_STR (id)) < 0)
        return -1;
    for (; (more = db_next (&r, err)) > 0; n++) {
        struct tag_list some = tags_read (src->arena, row_copy (&r, 0, src->arena));
        for (size_t i = 0; i < some.n; i++)
            tags_add (src->arena, &tags, some.v[i]);
    }
    str_addf (out, ",\"stats\":{\"datasets\":{\"count\":%lld", (long long)n);
    fields_json (out, "tags", tags_write (src->arena, &tags));
    str_puts (out, "}}");
    return more;
}

int project_item (const struct query_source *src, const char *id, struct str *out, void *arg,
                  struct error *err)
{
    const struct project_extras *x = arg;
    struct counts n = { 0 };
    if (x->stats && x->children_type && !strcmp (x->children_type, "dataset")) {
        if (put_datasets (src, id, out, err) < 0 || put_below (src, x, id, out, err) < 0)
            return -1;
    } else if (x->stats) {
        if (count_tasks (src, x, id, &n, err) < 0)
            return -1;
        put_counts (out, &n);
        if (put_below (src, x, id, out, err) < 0)
            return -1;
    }
    if (x->own && put_own (src, x, id, out, err) < 0)
        return -1;
    if (x->dataset && put_dataset (src, id, out, err) < 0)
        return -1;
    if (x->children && put_children (src, x, id, out, err) < 0)
        return -1;
    if (x->search_hidden) {
        int64_t hidden;
        if (count_one (src, &sql_project_is_hidden, id, &hidden, err) < 0)
            return -1;
        str_puts (out, hidden ? ",\"hidden\":true" : "");
    }
    return 0;
}
