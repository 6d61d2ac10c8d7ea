/* rules.c - names, paths and the tree of projects: cleaning, finding, making with ancestors, moving subtrees. */
#include "base/id.h"
#include "base/utf8.h"
#include "services/projects/project.h"

/* -- paths */
int project_path_clean (struct arena *a, const char *name, const char **ret, struct error *err)
{
    struct str s = { .arena = a };
    char *copy = arena_strdup (a, name ? name : ""), *save = NULL;
    int depth = 0;
    for (char *part = strtok_r (copy, "/", &save); part; part = strtok_r (NULL, "/", &save)) {
        const char *clean = strip (a, part);
        if (!*clean)
            continue;
        str_addf (&s, "%s%s", s.n ? "/" : "", clean);
        depth++;
    }
    if (!depth)
        return error_set (err, ERR_INVALID_PROJECT_NAME, "'%s' is no project name", name ? name : "");
    if (depth > PROJECT_DEPTH_MAX)
        return error_set (err, ERR_PROJECT_DEPTH, "project path '%s' has %d levels; at most %d are possible",
                          s.p, depth, PROJECT_DEPTH_MAX);
    *ret = s.p;
    return 0;
}

static const char *basename_of (const char *path)
{
    const char *slash = strrchr (path, '/');
    return slash ? slash + 1 : path;
}

/* -- finding */
static int project_row (struct call *c, const char *id, struct project *ret, struct error *err)
{
    cleanup_rows struct rows r = { 0 };
    if (db_query (c->db, &sql_project_get, &r, err, V_STR (id), V_STR (c->who.company)) < 0)
        return -1;
    int more = db_next (&r, err);
    if (more <= 0)
        return more;
    *ret = (struct project){
        .id = row_str (&r, 0, c->arena),
        .company = row_str (&r, 1, c->arena),
        .name = row_str (&r, 2, c->arena),
        .basename = row_str (&r, 3, c->arena),
        .parent = row_str (&r, 4, c->arena),
        .description = row_str (&r, 5, c->arena),
    };
    return 1;
}

int project_find (struct call *c, const char *id, struct project *ret, struct error *err)
{
    return project_row (c, id, ret, err);
}

int project_own (struct call *c, const char *id, struct project *ret, struct error *err)
{
    int found = project_row (c, id, ret, err);
    if (found < 0)
        return -1;
    if (!found)
        return error_set (err, ERR_INVALID_PROJECT_ID, "Invalid project id: id=%s", id);
    if (!*ret->company)
        return error_set (err, ERR_NO_WRITE_PERMISSION,
                          "project %s belongs to everybody: it cannot be changed", id);
    return 0;
}

int project_check (struct call *c, const char *id, bool for_write, struct error *err)
{
    struct project p;
    int found = project_row (c, id, &p, err);
    if (found < 0)
        return -1;
    if (!found)
        return error_set (err, ERR_INVALID_PROJECT_ID, "Invalid project id: id=%s", id);
    if (for_write && !*p.company)
        return error_set (err, ERR_NO_WRITE_PERMISSION,
                          "project %s belongs to everybody: it cannot be changed", id);
    return 0;
}

const char *project_name (struct call *c, const char *id)
{
    struct project p;
    struct error err = { 0 };
    return id && project_row (c, id, &p, &err) > 0 ? p.name : NULL;
}

int project_touch (struct call *c, const char *id, struct error *err)
{
    if (!id)
        return 0;
    return db_exec (c->db, &sql_project_touch, err, V_STR (id), V_INT (c->now)) < 0 ? -1 : 0;
}

/* 1 own, 2 public, 0 none, -1 */
static int by_name (struct call *c, const char *path, const char **ret_id, struct error *err)
{
    cleanup_rows struct rows r = { 0 };
    if (db_query (c->db, &sql_project_by_name, &r, err, V_STR (c->who.company), V_STR (path)) < 0)
        return -1;
    int more = db_next (&r, err);
    if (more <= 0)
        return more;
    *ret_id = row_str (&r, 0, c->arena);
    return row_text (&r, 1).n ? 1 : 2;
}

static int taken_by_all (const char *path, struct error *err)
{
    return error_set (err, ERR_PUBLIC_PROJECT_EXISTS, "a project of everybody has the name: name=%s", path);
}

int project_name_free (struct call *c, const char *path, struct error *err)
{
    const char *id;
    int found = by_name (c, path, &id, err);
    if (found < 0)
        return -1;
    if (found == 1)
        return error_set (err, ERR_NOT_UNIQUE,
                          "Project with the same name already exists: name=%s, company=%s", path,
                          c->who.company);
    return found == 2 ? taken_by_all (path, err) : 0;
}

/* -- making */
/* The id of an ancestor, made when missing, touched when there. */
static int ancestor (struct call *c, const char *path, const char **ret_id, struct error *err)
{
    int found = by_name (c, path, ret_id, err);
    if (found < 0)
        return -1;
    if (found == 2)
        return taken_by_all (path, err);
    if (found == 1)
        return project_touch (c, *ret_id, err);
    struct project_new what = { .description = "" };
    return project_make (c, path, &what, ret_id, err);
}

int project_make (struct call *c, const char *path, const struct project_new *what, const char **ret_id,
                  struct error *err)
{
    struct arena *a = c->arena;
    const char *base = basename_of (path), *parent = NULL, *id = arena_strdup (a, id_random ().hex);
    struct text tags = what->tags.p ? what->tags : TEXT ("[]"),
                system = what->system_tags.p ? what->system_tags : TEXT ("[]");
    if (utf8_letters (text_of (base)) < 3)
        return error_set (err, ERR_VALIDATION, "project name must have at least 3 characters: '%s' in '%s'",
                          base, path);
    if (base > path && ancestor (c, arena_strndup (a, path, (size_t)(base - path) - 1), &parent, err) < 0)
        return -1;
    bool hidden = memmem (system.p, system.n, "\"hidden\"", 8) != NULL;
    if (db_exec (c->db, &sql_project_add, err, V_STR (id), V_STR (c->who.company), V_STR (c->who.user),
                 V_STR (path), V_STR (base), V_STR (parent), V_STR (what->description), V_INT (c->now),
                 V_TEXT (tags), V_TEXT (system), V_INT (hidden), V_STR (what->output)) < 0 ||
        db_exec (c->db, &sql_project_tree_self, err, V_STR (id)) < 0 ||
        (parent && db_exec (c->db, &sql_project_tree_under, err, V_STR (id), V_STR (parent)) < 0))
        return -1;
    *ret_id = id;
    return 0;
}

int project_find_or_create (struct call *c, const char *name, const char *description, const char **ret_id,
                            struct error *err)
{
    const char *path;
    struct project_new what = { .description = description ? description : "" };
    if (project_path_clean (c->arena, name, &path, err) < 0)
        return -1;
    int found = by_name (c, path, ret_id, err);
    if (found < 0)
        return -1;
    if (found == 2)
        return taken_by_all (path, err);
    return found ? 0 : project_make (c, path, &what, ret_id, err);
}

/* -- moving */
int project_replace (struct call *c, const struct project *p, const char *parent, const char *new_name,
                     struct error *err)
{
    if (db_exec (c->db, &sql_project_set_parent, err, V_STR (p->id), V_STR (parent), V_STR (new_name),
                 V_INT (c->now)) < 0 ||
        db_exec (c->db, &sql_project_rename_below, err, V_STR (p->id), V_STR (p->name), V_STR (new_name)) <
            0 ||
        db_exec (c->db, &sql_project_tree_cut, err, V_STR (p->id)) < 0)
        return -1;
    if (parent && db_exec (c->db, &sql_project_tree_under, err, V_STR (p->id), V_STR (parent)) < 0)
        return -1;
    return 0;
}
