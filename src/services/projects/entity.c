/* entity.c - the project as the query language sees it. A filter by `parent` means any ancestor, except in shallow
 * searches, where it means the direct parent: hence two tables that differ in that row only. */
#include "services/oldtags.h"
#include "services/projects/project.h"
#include "services/users/users.h"

#define FIELDS(parent_each)                                                                                  \
    { .name = "id",                                                                                          \
      .expr = "e.id",                                                                                        \
      .show = QUERY_TEXT,                                                                                    \
      .ops = QUERY_LIST | QUERY_ORDER | QUERY_FILLED | QUERY_SEARCH },                                       \
        { .name = "company", .expr = "e.company", .show = QUERY_TEXT, .ops = QUERY_ORDER },                  \
        { .name = "user", .expr = "e.user", .show = QUERY_TEXT, .ops = QUERY_LIST | QUERY_ORDER },           \
        { .name = "name",                                                                                    \
          .expr = "e.name",                                                                                  \
          .show = QUERY_TEXT,                                                                                \
          .ops = QUERY_PATTERN | QUERY_ORDER | QUERY_FILLED | QUERY_SEARCH },                                \
        { .name = "basename",                                                                                \
          .expr = "e.basename",                                                                              \
          .show = QUERY_TEXT,                                                                                \
          .ops = QUERY_PATTERN | QUERY_ORDER | QUERY_FILLED },                                               \
        { .name = "description",                                                                             \
          .expr = "e.description",                                                                           \
          .show = QUERY_TEXT,                                                                                \
          .ops = QUERY_PATTERN | QUERY_ORDER | QUERY_SEARCH },                                               \
        { .name = "created",                                                                                 \
          .expr = "e.created",                                                                               \
          .show = QUERY_TIME,                                                                                \
          .ops = QUERY_RANGE | QUERY_ORDER | QUERY_FILLED },                                                 \
        { .name = "tags", QUERY_JSON_LIST ("tags") },                                                        \
        { .name = "system_tags", QUERY_JSON_LIST ("system_tags"), .flags = tag_flags },                      \
        { .name = "default_output_destination",                                                              \
          .expr = "e.default_output_destination",                                                            \
          .show = QUERY_TEXT },                                                                              \
        { .name = "last_update",                                                                             \
          .expr = "e.last_update",                                                                           \
          .show = QUERY_TIME,                                                                                \
          .ops = QUERY_RANGE | QUERY_ORDER | QUERY_FILLED },                                                 \
        { .name = "featured", .expr = "e.featured", .show = QUERY_INT, .ops = QUERY_ORDER | QUERY_FILLED },  \
        { .name = "logo_url", .expr = "e.logo_url", .show = QUERY_TEXT },                                    \
        { .name = "logo_blob", .expr = "e.logo_blob", .show = QUERY_TEXT, .ops = QUERY_ASKED },              \
        { .name = "parent",                                                                                  \
          .expr = "e.parent",                                                                                \
          .each = parent_each,                                                                               \
          .column = "e.parent",                                                                              \
          .show = QUERY_TEXT,                                                                                \
          .ops = QUERY_LIST | QUERY_ORDER },                                                                 \
        { .name = "path",                                                                                    \
          .each = "SELECT t.ancestor AS v FROM project_tree t WHERE t.project = e.id AND t.depth > 0",       \
          .column = "(SELECT json_group_array(ancestor) FROM (SELECT t.ancestor FROM project_tree t "        \
                    "WHERE t.project = e.id AND t.depth > 0 ORDER BY t.depth DESC))",                        \
          .show = QUERY_JSON,                                                                                \
          .ops = QUERY_LIST | QUERY_ASKED },                                                                 \
        { .name = "company_origin", .expr = "e.company_origin", .show = QUERY_TEXT, .ops = QUERY_ASKED },    \
    {                                                                                                        \
        .name = NULL                                                                                         \
    }

static const struct query_flag tag_flags[] = { { "hidden", "e.hidden = 1" }, { NULL, NULL } };

#define ANCESTORS "SELECT t.ancestor AS v FROM project_tree t WHERE t.project = e.id AND t.depth > 0"

static const struct query_field fields[] = { FIELDS (ANCESTORS) };
static const struct query_field shallow_fields[] = { FIELDS (NULL) };

static const struct query_ref refs[] = {
    { "company", &companies_entity },
    { "user", &users_entity },
    { "parent", &projects_entity },
    { NULL, NULL },
};

#define ENTITY(table)                                                                                        \
    {                                                                                                        \
        .name = "Project", .from = "project e", .key = "e.n", .company = "e.company",                        \
        .any_public = "SELECT 1 FROM project WHERE company = '' LIMIT 1", .hidden = "e.hidden = 0",          \
        .fields = table, .refs = refs, .shape = old_tags_join, .shape_below = OLD_TAGS_BELOW                 \
    }
const struct query_entity projects_entity = ENTITY (fields);
const struct query_entity projects_shallow_entity = ENTITY (shallow_fields);
