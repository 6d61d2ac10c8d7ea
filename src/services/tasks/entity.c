/* entity.c - the task as the query language sees it: what its members are, what it may be filtered and ordered by. */
#include "base/json.h"
#include "services/events/events.h"
#include "services/models/models.h"
#include "services/projects/projects.h"
#include "services/queues/queues.h"
#include "services/tasks/task.h"
#include "services/users/users.h"

/* A metric that is NaN (NULL where it is stored) is no missing one: filters see an infinity, which no range holds. */
#define METRIC_FILTER METRIC_AS ("ifnull(", ", 9e999)")
/* The column is "<company>/<id>": public tasks keep their events under the company they came from. */
#define OWNER       "CASE WHEN e.company = '' THEN ifnull(e.company_origin, '') ELSE e.company END || '/' || e.id"
#define DOC(column) "(SELECT x." column " FROM task_doc x WHERE x.task = e.n)"
#define METRIC      METRIC_AS ("", "")
#define METRIC_AS(open, close)                                                                               \
    "(SELECT " open "CASE $3 WHEN 'min_value' THEN s.min WHEN 'min_value_iteration' THEN s.min_iter "        \
    "WHEN 'max_value' THEN s.max WHEN 'max_value_iteration' THEN s.max_iter WHEN 'first_value' THEN "        \
    "s.first "                                                                                               \
    "WHEN 'first_value_iteration' THEN s.first_iter WHEN 'mean_value' THEN s.mean WHEN 'count' THEN "        \
    "s.count "                                                                                               \
    "WHEN 'metric' THEN s.metric WHEN 'variant' THEN s.variant ELSE s.last END" close " "                    \
    "FROM event_stream es JOIN series s ON s.stream = es.id "                                                \
    "WHERE es.task = e.id AND es.live = 1 AND s.key = $1 || $2 AND s.count > 0 AND s.hidden = 0)"

static const char *owner (const struct query_source *src, struct rows *r, int col, const char **ret_id)
{
    char *company = row_str (r, col, src->arena), *slash = strrchr (company, '/');
    *slash = 0;
    *ret_id = slash + 1;
    return company;
}

static int write_last_metrics (const struct query_source *src, struct rows *r, int col, struct str *out,
                               struct error *err)
{
    const char *id, *company = owner (src, r, col, &id);
    return events_last_metrics (src->db, src->arena, company, id, src->bare_nan, out, err);
}

static int write_unique_metrics (const struct query_source *src, struct rows *r, int col, struct str *out,
                                 struct error *err)
{
    const char *id, *company = owner (src, r, col, &id);
    return events_unique_metrics (src->db, src->arena, company, id, out, err);
}

static int write_metric_stats (const struct query_source *src, struct rows *r, int col, struct str *out,
                               struct error *err)
{
    const char *id, *company = owner (src, r, col, &id);
    return events_metric_stats (src->db, src->arena, company, id, out, err);
}

static const struct query_flag tag_flags[] = { { "archived", "e.archived = 1" },
                                               { "hidden", "e.hidden = 1" },
                                               { NULL, NULL } };

static const struct query_field fields[] = {
    { .name = "id",
      .expr = "e.id",
      .show = QUERY_TEXT,
      .ops = QUERY_LIST | QUERY_ORDER | QUERY_FILLED | QUERY_SEARCH },
    { .name = "company", .expr = "e.company", .show = QUERY_TEXT, .ops = QUERY_ORDER },
    { .name = "user", .expr = "e.user", .show = QUERY_TEXT, .ops = QUERY_LIST | QUERY_ORDER },
    { .name = "name",
      .expr = "e.name",
      .show = QUERY_TEXT,
      .ops = QUERY_PATTERN | QUERY_ORDER | QUERY_FILLED | QUERY_SEARCH },
    { .name = "type", .expr = "e.type", .show = QUERY_TEXT, .ops = QUERY_LIST | QUERY_ORDER | QUERY_FILLED },
    { .name = "status",
      .expr = "e.status",
      .then = "e.last_update",
      .show = QUERY_TEXT,
      .ops = QUERY_LIST | QUERY_ORDER | QUERY_FILLED },
    { .name = "status_reason", .expr = "e.status_reason", .show = QUERY_TEXT, .ops = QUERY_ORDER },
    { .name = "status_message", .expr = "e.status_message", .show = QUERY_TEXT, .ops = QUERY_ORDER },
    { .name = "status_changed",
      .expr = "e.status_changed",
      .show = QUERY_TIME,
      .ops = QUERY_DATE | QUERY_ORDER },
    { .name = "comment",
      .expr = "e.comment",
      .show = QUERY_TEXT,
      .ops = QUERY_PATTERN | QUERY_ORDER | QUERY_SEARCH },
    { .name = "report",
      .expr = DOC ("report"),
      .column = "d.report",
      .show = QUERY_TEXT,
      .ops = QUERY_PATTERN | QUERY_SEARCH | QUERY_HEAVY },
    { .name = "report_assets", .column = "d.report_assets", .show = QUERY_JSON, .ops = QUERY_HEAVY },
    { .name = "created",
      .expr = "e.created",
      .show = QUERY_TIME,
      .ops = QUERY_RANGE | QUERY_ORDER | QUERY_FILLED },
    { .name = "started", .expr = "e.started", .show = QUERY_TIME, .ops = QUERY_RANGE | QUERY_ORDER },
    { .name = "completed", .expr = "e.completed", .show = QUERY_TIME, .ops = QUERY_RANGE | QUERY_ORDER },
    { .name = "published", .expr = "e.published", .show = QUERY_TIME, .ops = QUERY_ORDER },
    { .name = "active_duration",
      .expr = "e.active_duration",
      .show = QUERY_INT,
      .ops = QUERY_RANGE | QUERY_ORDER },
    { .name = "parent", .expr = "e.parent", .show = QUERY_TEXT, .ops = QUERY_LIST | QUERY_ORDER },
    { .name = "project",
      .expr = "e.project",
      .subtree = "SELECT t.project FROM project_tree t WHERE t.ancestor IN",
      .few = "SELECT count(*) FROM (SELECT 1 FROM json_each(?2) j CROSS JOIN project_tree t ON t.ancestor = "
             "j.value "
             "CROSS JOIN task k ON k.project = t.project WHERE k.company = ?1 LIMIT 2000)",
      .show = QUERY_TEXT,
      .ops = QUERY_LIST | QUERY_ORDER | QUERY_TREE },
    { .name = "output", .column = "d.output", .show = QUERY_JSON, .ops = QUERY_HEAVY },
    { .name = "execution",
      .column = "CASE WHEN e.queue IS NULL THEN d.execution ELSE substr(d.execution, 1, length(d.execution) "
                "- 1) || "
                "',\"queue\":\"' || e.queue || '\"}' END",
      .show = QUERY_JSON,
      .ops = QUERY_HEAVY },
    { .name = "tags",
      .expr = "nullif(e.tags, '[]')",
      .each = "SELECT value AS v FROM json_each(e.tags)",
      .column = "e.tags",
      .show = QUERY_JSON,
      .ops = QUERY_LIST | QUERY_ORDER },
    { .name = "system_tags",
      .expr = "nullif(e.system_tags, '[]')",
      .each = "SELECT value AS v FROM json_each(e.system_tags)",
      .flags = tag_flags,
      .column = "e.system_tags",
      .show = QUERY_JSON,
      .ops = QUERY_LIST | QUERY_ORDER },
    { .name = "script", .column = "d.script", .show = QUERY_JSON, .ops = QUERY_HEAVY },
    { .name = "last_update",
      .expr = "e.last_update",
      .show = QUERY_TIME,
      .ops = QUERY_DATE | QUERY_ORDER | QUERY_FILLED },
    { .name = "last_change",
      .expr = "e.last_change",
      .show = QUERY_TIME,
      .ops = QUERY_DATE | QUERY_ORDER | QUERY_FILLED },
    { .name = "last_changed_by", .expr = "e.last_changed_by", .show = QUERY_TEXT, .ops = QUERY_ORDER },
    { .name = "last_iteration",
      .expr = "e.last_iteration",
      .show = QUERY_INT,
      .ops = QUERY_RANGE | QUERY_ORDER | QUERY_FILLED },
    { .name = "last_worker", .expr = "e.last_worker", .show = QUERY_TEXT, .ops = QUERY_ORDER },
    { .name = "last_worker_report", .expr = "e.last_worker_report", .show = QUERY_TIME, .ops = QUERY_ORDER },
    { .name = "last_metrics", .column = OWNER, .show = QUERY_JSON, .write = write_last_metrics },
    { .name = "unique_metrics",
      .column = OWNER,
      .show = QUERY_JSON,
      .ops = QUERY_ASKED,
      .write = write_unique_metrics },
    { .name = "metric_stats", .column = OWNER, .show = QUERY_JSON, .write = write_metric_stats },
    { .name = "hyperparams", .column = "d.hyperparams", .show = QUERY_JSON, .ops = QUERY_HEAVY },
    { .name = "configuration", .column = "d.configuration", .show = QUERY_JSON, .ops = QUERY_HEAVY },
    { .name = "runtime", .column = "d.runtime", .show = QUERY_JSON, .ops = QUERY_HEAVY },
    { .name = "models", .column = "d.models", .show = QUERY_JSON, .ops = QUERY_HEAVY },
    { .name = "container", .column = "d.container", .show = QUERY_JSON, .ops = QUERY_HEAVY },
    { .name = "enqueue_status", .expr = "e.enqueue_status", .show = QUERY_TEXT, .ops = QUERY_ASKED },
    { .name = "company_origin", .expr = "e.company_origin", .show = QUERY_TEXT, .ops = QUERY_ASKED },

    /* filter and order only */
    { .name = "execution.queue", .expr = "e.queue", .show = QUERY_TEXT, .ops = QUERY_LIST | QUERY_ORDER },
    { .name = "models.input.model",
      .each = "SELECT m.model AS v FROM task_model m WHERE m.task = e.n AND m.kind = 'input'",
      .show = QUERY_TEXT,
      .ops = QUERY_LIST | QUERY_SEARCH },
    { .name = "models.output.model",
      .each = "SELECT m.model AS v FROM task_model m WHERE m.task = e.n AND m.kind = 'output'",
      .show = QUERY_TEXT,
      .ops = QUERY_LIST | QUERY_SEARCH },
    { .name = "hyperparams.*",
      .expr = "(SELECT p.value FROM task_param p WHERE p.task = e.n AND p.section = $1 AND p.name = $2)",
      .sort = "(SELECT p.key FROM task_param p WHERE p.task = e.n AND p.section = $1 AND p.name = $2)",
      .show = QUERY_TEXT,
      .ops = QUERY_LIST | QUERY_ORDER },
    { .name = "execution.parameters.*",
      .expr = "(SELECT p.value FROM task_param p WHERE p.task = e.n AND p.section = 'Args' AND p.name = $1)",
      .sort = "(SELECT p.key FROM task_param p WHERE p.task = e.n AND p.section = 'Args' AND p.name = $1)",
      .show = QUERY_TEXT,
      .ops = QUERY_LIST | QUERY_ORDER },
    { .name = "runtime.*",
      .expr = "(SELECT j.value FROM json_each(" DOC ("runtime") ") j WHERE j.key = $1)",
      .show = QUERY_TEXT,
      .ops = QUERY_EQUAL | QUERY_ORDER },
    { .name = "last_metrics.*",
      .expr = METRIC_FILTER,
      .column = METRIC,
      .sort = METRIC,
      .show = QUERY_REAL,
      .ops = QUERY_RANGE | QUERY_ORDER },
    { .name = "script.repository",
      .expr = "json_extract(" DOC ("script") ", '$.repository')",
      .show = QUERY_TEXT,
      .ops = QUERY_ORDER | QUERY_SEARCH },
    { .name = "script.entry_point",
      .expr = "json_extract(" DOC ("script") ", '$.entry_point')",
      .show = QUERY_TEXT,
      .ops = QUERY_ORDER | QUERY_SEARCH },
    { .name = "script.branch",
      .expr = "json_extract(" DOC ("script") ", '$.branch')",
      .show = QUERY_TEXT,
      .ops = QUERY_ORDER },
    { .name = "script.version_num",
      .expr = "json_extract(" DOC ("script") ", '$.version_num')",
      .show = QUERY_TEXT,
      .ops = QUERY_ORDER },
    { .name = NULL },
};

static const struct query_ref refs[] = {
    { "company", &companies_entity },          { "user", &users_entity },
    { "project", &projects_entity },           { "parent", &tasks_entity },
    { "execution.queue", &queues_entity },     { "models.input.model", &models_entity },
    { "models.output.model", &models_entity }, { NULL, NULL },
};

const struct query_entity tasks_entity = {
    .name = "Task",
    .from = "task e",
    .heavy = "CROSS JOIN task_doc d ON d.task = e.n",
    .key = "e.n",
    .company = "e.company",
    .any_public = "SELECT 1 FROM task WHERE company = '' LIMIT 1",
    .hidden = "e.hidden = 0",
    .fields = fields,
    .refs = refs,
    .shape = task_shape_old,
    .shape_below = 2013,
};
