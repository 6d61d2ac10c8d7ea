/* entity.c - the model as the query language sees it. */
#include "services/events/events.h"
#include "services/models/model.h"
#include "services/oldtags.h"
#include "services/projects/projects.h"
#include "services/tasks/tasks.h"
#include "services/users/users.h"

#define METADATA "(SELECT json_extract(j.value, '$.value') FROM json_each(e.metadata) j WHERE j.key = $1)"

/* Clients up to 2.16 know metadata as a list they never read. */
static int write_metadata (const struct query_source *src, struct rows *r, int col, struct str *out,
                           struct error *err)
{
    (void)err;
    if (src->version && src->version <= 2016)
        str_puts (out, "[]");
    else
        str_add_text (out, row_text (r, col));
    return 0;
}

static const struct query_flag tag_flags[] = { { "archived", "e.archived = 1" }, { NULL, NULL } };

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
    { .name = "parent",
      .expr = "e.parent",
      .show = QUERY_TEXT,
      .ops = QUERY_LIST | QUERY_ORDER | QUERY_SEARCH },
    { .name = "project",
      .expr = "e.project",
      .subtree = "SELECT t.project FROM project_tree t WHERE t.ancestor IN",
      .few = "SELECT count(*) FROM (SELECT 1 FROM json_each(?2) j CROSS JOIN project_tree t ON t.ancestor = "
             "j.value "
             "CROSS JOIN model k ON k.project = t.project WHERE k.company = ?1 LIMIT 2000)",
      .show = QUERY_TEXT,
      .ops = QUERY_LIST | QUERY_ORDER | QUERY_TREE | QUERY_SEARCH },
    { .name = "created",
      .expr = "e.created",
      .show = QUERY_TIME,
      .ops = QUERY_RANGE | QUERY_ORDER | QUERY_FILLED },
    { .name = "task", .expr = "e.task", .show = QUERY_TEXT, .ops = QUERY_LIST | QUERY_ORDER | QUERY_SEARCH },
    { .name = "comment",
      .expr = "e.comment",
      .show = QUERY_TEXT,
      .ops = QUERY_PATTERN | QUERY_ORDER | QUERY_SEARCH },
    { .name = "tags", QUERY_JSON_LIST ("tags") },
    { .name = "system_tags", QUERY_JSON_LIST ("system_tags"), .flags = tag_flags },
    { .name = "uri", .expr = "e.uri", .show = QUERY_TEXT, .ops = QUERY_LIST | QUERY_ORDER },
    { .name = "framework", .expr = "e.framework", .show = QUERY_TEXT, .ops = QUERY_LIST | QUERY_ORDER },
    { .name = "design", .column = "e.design", .show = QUERY_JSON },
    { .name = "labels", .column = "e.labels", .show = QUERY_JSON },
    { .name = "ready",
      .expr = "e.ready",
      .show = QUERY_BOOL,
      .ops = QUERY_EQUAL | QUERY_ORDER | QUERY_FILLED },
    { .name = "ui_cache", .column = "e.ui_cache", .show = QUERY_JSON, .ops = QUERY_ASKED },
    { .name = "last_update",
      .expr = "e.last_update",
      .show = QUERY_TIME,
      .ops = QUERY_DATE | QUERY_ORDER | QUERY_FILLED },
    { .name = "last_change",
      .expr = "e.last_change",
      .show = QUERY_TIME,
      .ops = QUERY_DATE | QUERY_ORDER | QUERY_FILLED },
    { .name = "last_changed_by", .expr = "e.last_changed_by", .show = QUERY_TEXT, .ops = QUERY_ORDER },
    { .name = "metadata", .column = "e.metadata", .show = QUERY_JSON, .write = write_metadata },
    { .name = "last_iteration",
      .expr = "e.last_iteration",
      .show = QUERY_INT,
      .ops = QUERY_RANGE | QUERY_ORDER | QUERY_FILLED },
    { .name = "last_metrics", .column = "e.id", .show = QUERY_JSON, .write = events_last_metrics },
    { .name = "unique_metrics",
      .column = "e.id",
      .show = QUERY_JSON,
      .ops = QUERY_ASKED,
      .write = events_unique_metrics },
    { .name = "company_origin", .expr = "e.company_origin", .show = QUERY_TEXT, .ops = QUERY_ASKED },

    { .name = "last_metrics.*",
      .expr = EVENTS_METRIC_FILTER,
      .column = EVENTS_METRIC,
      .sort = EVENTS_METRIC,
      .show = QUERY_REAL,
      .ops = QUERY_RANGE | QUERY_ORDER },
    { .name = "metadata.*",
      .expr = METADATA,
      .sort = "sortkey(" METADATA ")",
      .show = QUERY_TEXT,
      .ops = QUERY_LIST | QUERY_ORDER },
    { .name = NULL },
};

static const struct query_ref refs[] = {
    { "company", &companies_entity }, { "user", &users_entity }, { "project", &projects_entity },
    { "parent", &models_entity },     { "task", &tasks_entity }, { NULL, NULL },
};

const struct query_entity models_entity = {
    .name = "Model",
    .from = "model e",
    .tagged = "model",
    .key = "e.n",
    .company = "e.company",
    .any_public = "SELECT 1 FROM model WHERE company = '' LIMIT 1",
    .fields = fields,
    .refs = refs,
    .shape = old_tags_join,
    .shape_below = OLD_TAGS_BELOW,
};
