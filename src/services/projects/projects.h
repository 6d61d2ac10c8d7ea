/* projects.h - the door of the projects service: names and ids, paths made on demand, subtrees. */
#pragma once
#include "base/error.h"
#include "services/call.h"
#include "store/query.h"

extern const struct query_entity projects_entity;

/* The id of the project with this path ("a/b/c"), made with its missing ancestors when there is none. The name is
 * cleaned first; 400/407, 400/409, 400/12 for bad ones, 400/414 when it belongs to everybody. *ret_id lives in the
 * arena. description may be NULL. */
int project_find_or_create (struct call *c, const char *name, const char *description, const char **ret_id,
                            struct error *err) warn_unused;

/* A condition over projects (alias e): those in which one of some users (a JSON list, ?1) made something, and those above
 * them. */
extern const char project_active_where[];

/* Is it there, own or public? 400/401 when not; 403/21 when it is public and `for_write`. */
int project_check (struct call *c, const char *id, bool for_write, struct error *err) warn_unused;

/* last_update = now. Unknown or NULL ids are ignored. */
int project_touch (struct call *c, const char *id, struct error *err) warn_unused;

/* Name of a project for messages and reports; NULL when there is none. */
const char *project_name (struct call *c, const char *id);
