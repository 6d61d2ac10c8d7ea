/* project.h - what the files of the projects service share; nobody else includes it. */
#pragma once
#include "api/projects.api.h"
#include "base/json.h"
#include "services/answer.h"
#include "services/projects/projects.h"
#include "sql/sql.h"
#include "store/store.h"

enum { PROJECT_DEPTH_MAX = 10 };

/* The same table with `parent` meaning the direct parent, for shallow searches. */
extern const struct query_entity projects_shallow_entity;

struct project {
    const char *id, *company, *name, *basename, *parent, *description;
};
/* 1 found (own or public), 0 none, -1 */
int project_find (struct call *c, const char *id, struct project *ret, struct error *err) warn_unused;
/* An own project; 400/401, public 403/21. */
int project_own (struct call *c, const char *id, struct project *ret, struct error *err) warn_unused;

struct project_new {
    const char *description, *output;
    struct text tags, system_tags; /* sorted lists; absent: none */
};
/* " a / b//c " -> "a/b/c"; 400/407 when nothing is left, 400/409 when too deep. */
int project_path_clean (struct arena *a, const char *name, const char **ret, struct error *err) warn_unused;
/* Make it; its missing ancestors too. The name is clean. */
int project_make (struct call *c, const char *path, const struct project_new *what, const char **ret_id,
                  struct error *err) warn_unused;
/* 400/801 or 400/414 when the name is taken. */
int project_name_free (struct call *c, const char *path, struct error *err) warn_unused;
/* Everything that must be done when a project (with its subtree) gets a new parent (NULL: top) and name. */
int project_replace (struct call *c, const struct project *p, const char *parent, const char *new_name,
                     struct error *err) warn_unused;

/* -- query pieces */
/* {"project":[...],"include_subprojects":true,...filter} */
struct text project_scope (struct call *c, const char *const *projects, size_t n, bool below,
                           struct text filter);

/* -- stats.c */
int project_item (const struct query_source *src, const char *id, struct str *out, void *arg,
                  struct error *err);
struct project_extras {
    struct call *c;
    struct text body;
    bool stats, with_children, own, hidden, dataset, search_hidden;
    bool children; /* how many lie directly inside, instead of the names of all below */
    const char *children_type;
};
