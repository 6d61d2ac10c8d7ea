/* remove.c - deleting, moving and merging projects: the subtree goes along. */
#include "services/models/models.h"
#include "services/projects/project.h"
#include "services/tasks/tasks.h"

/* -- what is there */
struct holds {
    int64_t tasks, live_tasks, reports, live_reports, models, live_models, pipelines, datasets;
};

static int count_row (struct call *c, const struct sql *sql, const char *id, int64_t *ret, int n,
                      struct error *err)
{
    cleanup_rows struct rows r = { 0 };
    if (db_query (c->db, sql, &r, err, V_STR (c->who.company), V_STR (id)) < 0 || db_next (&r, err) < 0)
        return -1;
    for (int i = 0; i < n; i++)
        ret[i] = row_int (&r, i);
    return 0;
}

static int holds_read (struct call *c, const char *id, struct holds *h, struct error *err)
{
    int64_t t[4], m[2];
    *h = (struct holds){ 0 };
    if (count_row (c, &sql_project_tasks_counts, id, t, 4, err) < 0 ||
        count_row (c, &sql_project_models_counts, id, m, 2, err) < 0 ||
        count_row (c, &sql_project_pipelines_below, id, &h->pipelines, 1, err) < 0 ||
        count_row (c, &sql_project_datasets_used, id, &h->datasets, 1, err) < 0)
        return -1;
    h->reports = t[2];
    h->live_reports = t[3];
    h->tasks = t[0] - t[2];
    h->live_tasks = t[1] - t[3];
    h->models = m[0];
    h->live_models = m[1];
    return 0;
}

int projects_validate_delete (struct call *c, const struct projects_validate_delete_in *in,
                              struct projects_validate_delete_out *out, struct error *err)
{
    struct project p;
    struct holds h;
    if (project_own (c, in->project, &p, err) < 0 || holds_read (c, p.id, &h, err) < 0)
        return -1;
    out->tasks = h.tasks;
    out->non_archived_tasks = h.live_tasks;
    out->models = h.models;
    out->non_archived_models = h.live_models;
    out->reports = h.reports;
    out->non_archived_reports = h.live_reports;
    out->pipelines = h.pipelines;
    out->datasets = h.datasets;
    out->has.tasks = out->has.non_archived_tasks = out->has.models = out->has.non_archived_models =
        out->has.reports = out->has.non_archived_reports = out->has.pipelines = out->has.datasets = true;
    return 0;
}

static int delete_check (const struct project *p, const struct holds *h, struct error *err)
{
    if (h->pipelines)
        return error_set (err, ERR_PROJECT_HAS_PIPELINES, "project %s has %lld pipelines: use force", p->name,
                          (long long)h->pipelines);
    if (h->datasets)
        return error_set (err, ERR_PROJECT_HAS_DATASETS, "project %s has %lld datasets: use force", p->name,
                          (long long)h->datasets);
    if (h->live_tasks + h->live_reports)
        return error_set (err, ERR_PROJECT_HAS_TASKS,
                          "project %s has %lld tasks that are not archived: use force", p->name,
                          (long long)(h->live_tasks + h->live_reports));
    if (h->live_models)
        return error_set (err, ERR_PROJECT_HAS_MODELS,
                          "project %s has %lld models that are not archived: use force", p->name,
                          (long long)h->live_models);
    return 0;
}

/* -- delete */
static int each_id (struct call *c, const struct sql *sql, const char *project,
                    int (*fn) (struct call *c, const char *id, void *arg, struct error *err), void *arg,
                    int64_t *ret, struct error *err)
{
    struct tag_list ids = { 0 };
    int more;
    {
        cleanup_rows struct rows r = { 0 };
        if (db_query (c->db, sql, &r, err, V_STR (c->who.company), V_STR (project)) < 0)
            return -1;
        while ((more = db_next (&r, err)) > 0)
            tags_add (c->arena, &ids, row_str (&r, 0, c->arena));
        if (more < 0)
            return -1;
    }
    for (size_t i = 0; i < ids.n; i++)
        if (fn (c, ids.v[i], arg, err) < 0)
            return -1;
    *ret = (int64_t)ids.n;
    return 0;
}

struct urls {
    bool keep_files;
    struct str models, artifacts;
};

static int delete_task (struct call *c, const char *id, void *arg, struct error *err)
{
    struct urls *u = arg;
    return task_delete_with_project (c, id, u->keep_files, &u->artifacts, err);
}

static int delete_model (struct call *c, const char *id, void *arg, struct error *err)
{
    struct urls *u = arg;
    return model_delete (c, id, true, !u->keep_files, &u->models, err);
}

static int delete_contents (struct call *c, const char *id, bool keep_files, struct projects_delete_out *out,
                            struct error *err)
{
    struct urls u = { keep_files, { .arena = c->arena }, { .arena = c->arena } };
    /* models first: those that lie elsewhere are not their task's to take along */
    if (each_id (c, &sql_project_models_of, id, delete_model, &u, &out->deleted_models, err) < 0 ||
        each_id (c, &sql_project_tasks_of, id, delete_task, &u, &out->deleted_tasks, err) < 0)
        return -1;
    struct str s = { .arena = c->arena };
    str_addf (&s, "{\"model_urls\":[%s],\"artifact_urls\":[%s],\"event_urls\":[]}",
              u.models.n ? u.models.p : "", u.artifacts.n ? u.artifacts.p : "");
    out->urls = str_text (&s);
    return 0;
}

int projects_delete (struct call *c, const struct projects_delete_in *in, struct projects_delete_out *out,
                     struct error *err)
{
    struct project p;
    struct holds h;
    if (project_own (c, in->project, &p, err) < 0 || holds_read (c, p.id, &h, err) < 0 ||
        (!in->force && delete_check (&p, &h, err) < 0))
        return -1;
    out->urls = TEXT ("null");
    if (in->delete_contents) {
        if (delete_contents (c, p.id, !in->delete_external_artifacts, out, err) < 0)
            return -1;
    } else {
        out->disassociated_tasks = h.tasks + h.reports;
        if (db_exec (c->db, &sql_project_free_tasks, err, V_STR (p.id)) < 0 ||
            db_exec (c->db, &sql_project_free_models, err, V_STR (p.id)) < 0)
            return -1;
    }
    int64_t n = db_exec (c->db, &sql_project_drop_tree, err, V_STR (p.id));
    if (n < 0 || db_exec (c->db, &sql_project_tree_drop, err, V_STR (p.id)) < 0)
        return -1;
    out->deleted = n;
    out->has.deleted = out->has.disassociated_tasks = out->has.deleted_models = out->has.deleted_tasks = true;
    return 0;
}

/* -- move and merge */
static int tree_number (struct call *c, const struct sql *sql, const char *id, int64_t *ret,
                        struct error *err)
{
    cleanup_rows struct rows r = { 0 };
    if (db_query (c->db, sql, &r, err, V_STR (id)) < 0 || db_next (&r, err) < 0)
        return -1;
    *ret = row_int (&r, 0);
    return 0;
}

static int tree_holds (struct call *c, const char *ancestor, const char *id, struct error *err)
{
    cleanup_rows struct rows r = { 0 };
    if (db_query (c->db, &sql_project_tree_holds, &r, err, V_STR (ancestor), V_STR (id)) < 0)
        return -1;
    return db_next (&r, err);
}

static int move_under (struct call *c, const struct project *p, const char *parent, const char *parent_name,
                       struct error *err)
{
    const char *name = parent ? arena_printf (c->arena, "%s/%s", parent_name, p->basename) : p->basename;
    int64_t height = 0, depth = -1;
    if (tree_number (c, &sql_project_tree_height, p->id, &height, err) < 0 ||
        (parent && tree_number (c, &sql_project_tree_depth, parent, &depth, err) < 0))
        return -1;
    if (depth + 2 + height > PROJECT_DEPTH_MAX)
        return error_set (err, ERR_PROJECT_DEPTH,
                          "project path '%s' and what lies below it would have more than %d "
                          "levels",
                          name, PROJECT_DEPTH_MAX);
    if (project_name_free (c, name, err) < 0)
        return -1;
    return project_replace (c, p, parent, name, err);
}

static int same (const char *a, const char *b)
{
    return a && b ? !strcmp (a, b) : a == b;
}

int projects_move (struct call *c, const struct projects_move_in *in, struct projects_move_out *out,
                   struct error *err)
{
    struct project p;
    const char *parent = NULL, *path = NULL;
    int64_t below = 0;
    if (project_own (c, in->project, &p, err) < 0)
        return -1;
    if (in->new_location && *strip (c->arena, in->new_location)) {
        if (project_path_clean (c->arena, in->new_location, &path, err) < 0)
            return -1;
        size_t n = strlen (p.name);
        if (!strncmp (path, p.name, n) && (path[n] == '/' || !path[n]))
            return error_set (err, ERR_PROJECT_UNDER_ITSELF, "project %s cannot be moved under itself: %s",
                              p.name, path);
        if (project_find_or_create (c, path, "", &parent, err) < 0)
            return -1;
    }
    if (same (parent, p.parent))
        return error_set (err, ERR_PROJECT_SAME, "project %s lies there already: location=%s", p.name,
                          path ? path : "");
    if (tree_number (c, &sql_project_tree_size, p.id, &below, err) < 0 ||
        project_touch (c, p.parent, err) < 0 || project_touch (c, parent, err) < 0 ||
        move_under (c, &p, parent, path, err) < 0)
        return -1;
    out->moved = below;
    out->has.moved = true;
    return 0;
}

int projects_merge (struct call *c, const struct projects_merge_in *in, struct projects_merge_out *out,
                    struct error *err)
{
    struct project p, to = { 0 };
    const char *destination = in->destination_project;
    struct tag_list children = { 0 };
    int more;
    if (project_own (c, in->project, &p, err) < 0 ||
        (destination && project_own (c, destination, &to, err) < 0))
        return -1;
    if (destination && !strcmp (p.id, to.id))
        return error_set (err, ERR_PROJECT_SAME, "a project cannot be merged into itself: source=%s", p.name);
    if (destination) {
        int inside = tree_holds (c, p.id, to.id, err);
        if (inside < 0)
            return -1;
        if (inside)
            return error_set (err, ERR_PROJECT_INTO_CHILD, "project %s cannot be merged into %s below it",
                              p.name, to.name);
    }
    int64_t tasks = db_exec (c->db, &sql_project_merge_tasks, err, V_STR (p.id), V_STR (destination)),
            models = tasks < 0
                         ? -1
                         : db_exec (c->db, &sql_project_merge_models, err, V_STR (p.id), V_STR (destination));
    if (models < 0)
        return -1;
    {
        cleanup_rows struct rows r = { 0 };
        if (db_query (c->db, &sql_project_children, &r, err, V_STR (p.id)) < 0)
            return -1;
        while ((more = db_next (&r, err)) > 0)
            tags_add (c->arena, &children, row_str (&r, 0, c->arena));
        if (more < 0)
            return -1;
    }
    for (size_t i = 0; i < children.n; i++) {
        struct project child;
        if (project_own (c, children.v[i], &child, err) < 0 ||
            move_under (c, &child, destination, to.name, err) < 0)
            return -1;
    }
    if (db_exec (c->db, &sql_project_drop, err, V_STR (p.id)) < 0 ||
        db_exec (c->db, &sql_project_tree_forget, err, V_STR (p.id)) < 0 ||
        project_touch (c, destination, err) < 0)
        return -1;
    out->moved_entities = tasks + models;
    out->moved_projects = (int64_t)children.n;
    out->has.moved_entities = out->has.moved_projects = true;
    return 0;
}

/* -- everybody's */
int projects_make_public (struct call *c, const struct projects_make_public_in *in,
                          struct projects_make_public_out *out, struct error *err)
{
    out->has.updated = true;
    return share_all (c, &sql_project_make_public, in->ids.v, in->ids.n, ERR_INVALID_PROJECT_ID,
                      &out->updated, err);
}

int projects_make_private (struct call *c, const struct projects_make_private_in *in,
                           struct projects_make_private_out *out, struct error *err)
{
    out->has.updated = true;
    return share_all (c, &sql_project_make_private, in->ids.v, in->ids.n, ERR_INVALID_PROJECT_ID,
                      &out->updated, err);
}
