/* row.c - reading and writing the tables of a task: the row, the documents, and the side tables that follow them. */
#include "base/sortkey.h"
#include "services/files/files.h"
#include "services/projects/projects.h"
#include "services/tasks/task.h"

/* -- the row */
int task_facts_of (struct call *c, const char *id, bool public_too, struct task_facts *ret,
                   enum task_status *ret_status, struct error *err)
{
    cleanup_rows struct rows r = { 0 };
    if (db_query (c->db, &sql_task_facts, &r, err, V_STR (id), V_STR (c->who.company)) < 0)
        return -1;
    int more = db_next (&r, err);
    if (more < 0)
        return -1;
    if (!more) {
        error_set (err, ERR_INVALID_TASK_ID, "Invalid task id: id=%s, company=%s", id, c->who.company);
        return fail_facts (c, err, { "id", id }, { "company", c->who.company });
    }
    const char *company = row_str (&r, 1, c->arena);
    if (!public_too && !*company)
        return error_set (err, ERR_NO_WRITE_PERMISSION, "task %s belongs to everybody: it cannot be changed",
                          id);
    *ret = (struct task_facts){
        .n = row_int (&r, 0),
        .id = arena_strdup (c->arena, id),
        .company = company,
        .name = row_str (&r, 2, c->arena),
        .type = row_str (&r, 3, c->arena),
        .status = row_str (&r, 4, c->arena),
        .project = row_str (&r, 5, c->arena),
        .parent = row_str (&r, 6, c->arena),
        .user = row_str (&r, 7, c->arena),
        .queue = row_str (&r, 8, c->arena),
        .enqueue_status = row_str (&r, 9, c->arena),
        .last_worker = row_str (&r, 10, c->arena),
        .claim = row_str (&r, 11, c->arena),
        .created = row_int (&r, 12),
        .started = row_int (&r, 13),
        .completed = row_int (&r, 14),
        .last_update = row_int (&r, 15),
        .last_iteration = row_int (&r, 16),
        .archived = row_int (&r, 17),
        .development = row_int (&r, 18),
    };
    enum task_status s = TASK_UNKNOWN;
    task_status_parse (ret->status, &s);
    if (ret_status)
        *ret_status = s;
    return 0;
}

int task_facts (struct call *c, const char *id, bool public_too, struct task_facts *ret, struct error *err)
{
    return task_facts_of (c, id, public_too, ret, NULL, err);
}

static bool truth (struct text tags, const char *quoted)
{
    return tags.p && memmem (tags.p, tags.n, quoted, strlen (quoted));
}

int task_insert (struct call *c, const struct task_row *row, const struct task_doc *d, struct error *err)
{
    if (db_exec (c->db, &sql_task_add, err, V_STR (row->id), V_STR (c->who.company), V_STR (row->user),
                 V_STR (row->name), V_STR (row->type), V_STR (row->comment), V_INT (c->now),
                 V_STR (row->parent), V_STR (row->project), V_STR (row->queue), V_TEXT (row->tags),
                 V_TEXT (row->system_tags), V_INT (truth (row->system_tags, "\"hidden\"")),
                 V_INT (truth (row->system_tags, "\"archived\"")), V_STR (c->who.user)) < 0)
        return -1;
    int64_t n = db_last_id (c->db);
    if (db_exec (c->db, &sql_task_doc_add, err, V_INT (n), V_TEXT (d->script), V_TEXT (d->execution),
                 V_TEXT (d->hyperparams), V_TEXT (d->configuration), V_TEXT (d->models), V_TEXT (d->output),
                 V_TEXT (d->container), V_TEXT (d->runtime)) < 0)
        return -1;
    if (json_count (json_get (d->execution, "artifacts")) &&
        file_used_by_task (c->db, n, d->execution, err) < 0)
        return -1;
    struct task_doc side = { .hyperparams = d->hyperparams, .models = d->models };
    if (d->hyperparams.n > 2 || d->models.n > sizeof DOC_MODELS - 1)
        if (task_doc_save (c, n, &side, err) < 0)
            return -1;
    return project_touch (c, row->project, err);
}

int task_set_system_tags (struct call *c, int64_t n, struct text tags, struct error *err)
{
    return db_exec (c->db, &sql_task_set_system_tags, err, V_INT (n), V_TEXT (tags),
                    V_INT (truth (tags, "\"hidden\"")), V_INT (truth (tags, "\"archived\""))) < 0
               ? -1
               : 0;
}

struct tag_list task_system_tags (struct call *c, int64_t n)
{
    struct error err = { 0 };
    struct tag_list l = { 0 };
    cleanup_rows struct rows r = { 0 };
    if (db_query (c->db, &sql_task_tags, &r, &err, V_INT (n)) == 0 && db_next (&r, &err) > 0)
        l = tags_read (c->arena, row_copy (&r, 1, c->arena));
    return l;
}

int task_changed (struct call *c, const struct task_facts *t, bool update, struct error *err)
{
    if (db_exec (c->db, update ? &sql_task_change_update : &sql_task_change, err, V_INT (t->n),
                 V_INT (c->now), V_STR (c->who.user)) < 0)
        return -1;
    call_ring (c, -1, "task/%s", t->id);
    return 0;
}

/* -- documents */
int task_doc_read (struct call *c, int64_t n, struct task_doc *ret, struct error *err)
{
    cleanup_rows struct rows r = { 0 };
    if (db_query (c->db, &sql_task_doc_get, &r, err, V_INT (n)) < 0)
        return -1;
    int more = db_next (&r, err);
    if (more < 0)
        return -1;
    if (!more)
        return error_set (err, ERR_INCONSISTENT, "task row %lld has no document", (long long)n);
    struct text *const to[] = { &ret->script, &ret->execution,    &ret->hyperparams, &ret->configuration,
                                &ret->models, &ret->output,       &ret->container,   &ret->runtime,
                                &ret->report, &ret->report_assets };
    *ret = (struct task_doc){ 0 };
    for (int i = 0; i < 10; i++)
        *to[i] = row_copy (&r, i, c->arena);
    return 0;
}

static int save_param (struct call *c, int64_t n, const char *section, const char *name, struct text item,
                       struct error *err)
{
    const char *value = json_string (c->arena, json_get (item, "value"));
    struct str key = { .arena = c->arena };
    sortkey_add (&key, text_of (value ? value : ""));
    return db_exec (c->db, &sql_task_param_add, err, V_INT (n), V_STR (section), V_STR (name), V_STR (value),
                    V_BLOB (str_text (&key))) < 0
               ? -1
               : 0;
}

static int save_params (struct call *c, int64_t n, struct text hyperparams, struct error *err)
{
    if (db_exec (c->db, &sql_task_params_drop, err, V_INT (n)) < 0)
        return -1;
    struct json_iter sections = json_iter (hyperparams);
    while (json_next (&sections)) {
        const char *section = json_key (c->arena, sections.key);
        struct json_iter it = json_iter (sections.value);
        while (json_next (&it))
            if (save_param (c, n, section, json_key (c->arena, it.key), it.value, err) < 0)
                return -1;
    }
    return 0;
}

static int save_models (struct call *c, int64_t n, struct text models, struct error *err)
{
    static const char *const kinds[] = { "input", "output" };
    if (db_exec (c->db, &sql_task_models_drop, err, V_INT (n)) < 0)
        return -1;
    for (int k = 0; k < 2; k++) {
        struct json_iter it = json_iter (json_get (models, kinds[k]));
        while (json_next (&it)) {
            const char *model = json_string (c->arena, json_get (it.value, "model"));
            if (model &&
                db_exec (c->db, &sql_task_model_add, err, V_INT (n), V_STR (kinds[k]), V_STR (model)) < 0)
                return -1;
        }
    }
    return 0;
}

int task_doc_save (struct call *c, int64_t n, const struct task_doc *d, struct error *err)
{
    if (db_exec (c->db, &sql_task_doc_set, err, V_INT (n), V_TEXT (d->script), V_TEXT (d->execution),
                 V_TEXT (d->hyperparams), V_TEXT (d->configuration), V_TEXT (d->models), V_TEXT (d->output),
                 V_TEXT (d->container), V_INT (d->no_script), V_TEXT (d->runtime)) < 0)
        return -1;
    if (d->execution.p && file_used_by_task (c->db, n, d->execution, err) < 0)
        return -1;
    if (d->hyperparams.p && save_params (c, n, d->hyperparams, err) < 0)
        return -1;
    return d->models.p ? save_models (c, n, d->models, err) : 0;
}

int id_list_read (struct call *c, const struct sql *sql, struct id_list *ret, struct error *err,
                  const struct value *v, size_t n)
{
    cleanup_rows struct rows r = { 0 };
    size_t cap = 0;
    int more;
    *ret = (struct id_list){ 0 };
    if (db_query_values (c->db, sql, &r, err, v, n) < 0)
        return -1;
    while ((more = db_next (&r, err)) > 0) {
        if (ret->n == cap) {
            cap = cap ? cap * 2 : 16;
            const char **more_v = arena_array (c->arena, const char *, cap);
            if (ret->n)
                memcpy (more_v, ret->v, ret->n * sizeof *more_v);
            ret->v = more_v;
        }
        ret->v[ret->n++] = row_str (&r, 0, c->arena);
    }
    return more;
}

/* -- small questions */
int tasks_known (struct call *c, const char *const *ids, size_t n, bool *found, struct error *err)
{
    for (size_t i = 0; i < n; i++) {
        cleanup_rows struct rows r = { 0 };
        if (db_query (c->db, &sql_task_known, &r, err, V_STR (ids[i]), V_STR (c->who.company)) < 0)
            return -1;
        int more = db_next (&r, err);
        if (more < 0)
            return -1;
        found[i] = more;
    }
    return 0;
}

const char *task_name (struct call *c, const char *id)
{
    struct error err = { 0 };
    cleanup_rows struct rows r = { 0 };
    if (!id || db_query (c->db, &sql_task_name_of, &r, &err, V_STR (id), V_STR (c->who.company)) < 0 ||
        db_next (&r, &err) <= 0)
        return NULL;
    return row_str (&r, 0, c->arena);
}
