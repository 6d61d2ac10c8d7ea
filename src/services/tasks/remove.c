/* remove.c - reset, delete, archive: what goes with a task and what is told to those who point at it. Events are
 * retired in one statement; their rows go later, in slices. */
#include "services/events/events.h"
#include "services/files/files.h"
#include "services/models/models.h"
#include "services/queues/queues.h"
#include "services/tasks/task.h"

/* Uris of the artifacts the task itself made. */
static void artifact_urls (struct text execution, struct str *out)
{
    str_putc (out, '[');
    struct json_iter it = json_iter (json_get (execution, "artifacts"));
    while (json_next (&it)) {
        struct text uri = json_get (it.value, "uri");
        if (json_string_is (json_get (it.value, "mode"), "input") || json_kind (uri) != JSON_STRING ||
            uri.n <= 2)
            continue;
        json_put_comma (out);
        str_add_text (out, uri);
    }
    str_putc (out, ']');
}

static struct text urls_of (struct call *c, struct text execution, const struct models_of_task *models)
{
    struct str s = { .arena = c->arena };
    str_puts (&s, "{\"model_urls\":");
    str_add_text (&s, models->urls.n ? str_text (&models->urls) : TEXT ("[]"));
    str_puts (&s, ",\"artifact_urls\":");
    artifact_urls (execution, &s);
    str_puts (&s, ",\"event_urls\":[]}");
    return str_text (&s);
}

/* -- files: those on our own file server, and those under a path that carries the task's id, go with it after the commit,
 * unless somebody else names them then */
static void delete_listed (struct call *c, const struct task_facts *t, struct text list)
{
    struct json_iter it = json_iter (list);
    while (json_next (&it)) {
        const char *url = json_string (c->arena, it.value);
        if (file_is_ours (c->arena, c->facts, t->id, url))
            call_after_commit (c, EFFECT_FILES_DELETE, url, t->company, 0);
    }
}

/* Called while the events are still there. */
static int delete_files (struct call *c, const struct task_facts *t, struct text execution,
                         const struct models_of_task *models, struct error *err)
{
    struct str artifacts = { .arena = c->arena }, events = { .arena = c->arena };
    artifact_urls (execution, &artifacts);
    if (events_urls (c->db, c->arena, t->id, &events, err) < 0)
        return -1;
    delete_listed (c, t, str_text (&artifacts));
    delete_listed (c, t, str_text (&models->urls));
    delete_listed (c, t, str_text (&events));
    return 0;
}

/* Without force nothing published may hang on it. */
static int check_published (struct call *c, const struct task_facts *t, struct error *err)
{
    int64_t children = 0, models = 0;
    cleanup_rows struct rows r = { 0 };
    if (db_query (c->db, &sql_task_published_children, &r, err, V_STR (t->id)) < 0 || db_next (&r, err) < 0)
        return -1;
    children = row_int (&r, 0);
    if (models_published_of_task (c, t->id, &models, err) < 0)
        return -1;
    if (children || models) {
        error_set (err, ERR_TASK_CANNOT_BE_DELETED,
                   "task %s has %lld published children and %lld published models: use force", t->id,
                   (long long)children, (long long)models);
        return fail_facts (c, err, { "task", t->id }, { "children", NULL, children },
                           { "models", NULL, models });
    }
    return 0;
}

static int check_deletable (struct call *c, const struct task_facts *t, enum task_status from, bool force,
                            struct error *err)
{
    if (task_guard_check (GUARD_DELETE, from, t->archived, force, err) == 0)
        return force ? 0 : check_published (c, t, err);
    return fail_facts (c, err, { "task", t->id }, { "expected", task_status_name (TASK_CREATED) },
                       { "current", t->status });
}

/* -- reset */

static int reset_docs (struct call *c, const struct task_facts *t, const struct task_doc *d, bool clear_all,
                       struct error *err)
{
    struct arena *a = c->arena;
    struct text none = { 0 };
    struct task_doc fresh = {
        .execution = clear_all ? TEXT (DOC_EXECUTION) : doc_input_artifacts (c->arena, d->execution),
        .models = doc_set (a, d->models, "output", TEXT ("[]")),
        .output =
            doc_set (a, doc_set (a, doc_set (a, d->output, "result", none), "error", none), "model", none),
        .runtime = TEXT ("{}"),
        .no_script = clear_all,
    };
    return task_doc_save (c, t->n, &fresh, err);
}

int task_reset_one (struct call *c, const char *id, const struct task_reset *how, struct task_removed *ret,
                    struct error *err)
{
    struct task_facts t;
    struct task_doc d;
    enum task_status from;
    struct models_of_task models = { .urls = { .arena = c->arena } };
    struct task_change ch = { .to = TASK_CREATED, .reason = "reset", .message = "reset" };
    if (task_facts_of (c, id, false, &t, &from, err) < 0 ||
        task_may (c, VERB_RESET, from, how->force, err) < 0 ||
        (!how->force && check_published (c, &t, err) < 0) || task_doc_read (c, t.n, &d, err) < 0)
        return -1;
    int64_t removed = queue_remove_everywhere (c, t.id, NULL, err);
    if (removed < 0 || models_release (c, t.id, false, how->keep_models, &models, err) < 0 ||
        (!how->keep_files && delete_files (c, &t, d.execution, &models, err) < 0) ||
        reset_docs (c, &t, &d, how->clear_all, err) < 0 ||
        db_exec (c->db, &sql_task_reset_row, err, V_INT (t.n)) < 0 ||
        db_exec (c->db, &sql_task_stages_drop, err, V_INT (t.n)) < 0 ||
        events_retire (c->db, t.id, err) < 0 || task_move (c, &t, &ch, err) < 0)
        return -1;
    call_after_commit (c, EFFECT_SWEEP, NULL, NULL, 0);
    *ret = (struct task_removed){
        .fields = fields_close (&ch.fields),
        .urls = how->urls ? urls_of (c, d.execution, &models) : (struct text){ 0 },
        .dequeued = removed,
        .deleted_models = models.deleted,
        .updated_models = models.updated,
    };
    return 0;
}

/* -- delete */
static int delete_steps (struct call *c, const struct task_facts *t, const struct task_delete *how,
                         struct error *err)
{
    struct id_list steps;
    struct value v[2] = { V_STR (t->id), V_STR (c->who.company) };
    if (id_list_read (c, &sql_task_steps, &steps, err, v, 2) < 0)
        return -1;
    for (size_t i = 0; i < steps.n; i++) {
        struct task_removed ignored;
        struct task_delete step = { .force = true,
                                    .keep_models = how->keep_models,
                                    .keep_files = how->keep_files };
        if (task_delete_one (c, steps.v[i], &step, &ignored, err) < 0)
            return -1;
    }
    return 0;
}

static int drop_rows (struct call *c, int64_t n, struct error *err)
{
    static const struct sql *const drops[] = { &sql_task_drop, &sql_task_doc_drop, &sql_task_params_drop,
                                               &sql_task_models_drop, &sql_task_stages_drop };
    for (size_t i = 0; i < sizeof drops / sizeof *drops; i++)
        if (db_exec (c->db, drops[i], err, V_INT (n)) < 0)
            return -1;
    return file_user_gone (c->db, "task", n, err);
}

int task_delete_one (struct call *c, const char *id, const struct task_delete *how, struct task_removed *ret,
                     struct error *err)
{
    struct task_facts t;
    struct task_doc d;
    enum task_status from;
    struct models_of_task models = { .urls = { .arena = c->arena } };
    if (task_facts_of (c, id, false, &t, &from, err) < 0 ||
        check_deletable (c, &t, from, how->force, err) < 0 || task_doc_read (c, t.n, &d, err) < 0)
        return -1;
    if (how->steps && !strcmp (t.type, "controller") && delete_steps (c, &t, how, err) < 0)
        return -1;
    int64_t children = how->forgotten ? db_exec (c->db, &sql_task_free_children, err, V_STR (t.id),
                                                 V_INT (c->now), V_STR (c->who.user))
                                      : db_exec (c->db, &sql_task_orphan_children, err, V_STR (t.id));
    if (children < 0 || queue_remove_everywhere (c, t.id, NULL, err) < 0 ||
        models_release (c, t.id, !how->forgotten, how->keep_models, &models, err) < 0 ||
        (!how->keep_files && delete_files (c, &t, d.execution, &models, err) < 0) ||
        drop_rows (c, t.n, err) < 0 || events_retire (c->db, t.id, err) < 0)
        return -1;
    call_ring (c, -1, "task/%s", t.id);
    call_after_commit (c, EFFECT_SWEEP, NULL, NULL, 0);
    *ret = (struct task_removed){
        .urls = how->urls ? urls_of (c, d.execution, &models) : (struct text){ 0 },
        .updated_children = children,
        .deleted_models = models.deleted,
        .updated_models = models.updated,
    };
    return 0;
}

/* -- archive */
static int archive_steps (struct call *c, const struct task_facts *t, bool archive, const char *reason,
                          const char *message, struct error *err)
{
    struct id_list steps;
    struct value v[2] = { V_STR (t->id), V_STR (c->who.company) };
    if (id_list_read (c, &sql_task_steps, &steps, err, v, 2) < 0)
        return -1;
    for (size_t i = 0; i < steps.n; i++)
        if (task_archive_one (c, steps.v[i], archive, reason, message, false, err) < 0)
            return -1;
    return 0;
}

int task_archive_one (struct call *c, const char *id, bool archive, const char *reason, const char *message,
                      bool steps, struct error *err)
{
    struct task_facts t;
    enum task_status from, to;
    if (task_facts_of (c, id, false, &t, &from, err) < 0)
        return -1;
    if (steps && !strcmp (t.type, "controller") && archive_steps (c, &t, archive, reason, message, err) < 0)
        return -1;
    if (archive) {
        if (queue_remove_everywhere (c, t.id, NULL, err) < 0)
            return -1;
        to = from;
        if (from == TASK_QUEUED && (!task_status_parse (t.enqueue_status, &to) || to == TASK_QUEUED))
            to = TASK_CREATED;
        if (from == TASK_IN_PROGRESS)
            to = TASK_STOPPED;
        struct task_change ch = { .to = to, .reason = reason, .message = message };
        if (to != from && task_move (c, &t, &ch, err) < 0)
            return -1;
    }
    if (db_exec (c->db, &sql_task_set_message, err, V_INT (t.n), V_STR (reason ? reason : ""),
                 V_STR (message ? message : ""), V_INT (c->now), V_STR (c->who.user)) < 0)
        return -1;
    struct tag_list tags = task_system_tags (c, t.n);
    if (archive)
        tags_add (c->arena, &tags, "archived");
    else
        tags_remove (&tags, "archived");
    call_ring (c, -1, "task/%s", t.id);
    return task_set_system_tags (c, t.n, tags_write (c->arena, &tags), err);
}

static void join (struct str *to, struct text list)
{
    struct json_iter it = json_iter (list);
    while (json_next (&it)) {
        str_puts (to, to->n ? "," : "");
        str_add_text (to, it.value);
    }
}

int task_delete_with_project (struct call *c, const char *id, bool keep_files, struct str *artifacts,
                              struct error *err)
{
    struct task_removed r;
    struct task_delete how = {
        .force = true, .urls = true, .keep_files = keep_files, .keep_models = true, .forgotten = true
    };
    if (task_delete_one (c, id, &how, &r, err) < 0)
        return -1;
    join (artifacts, json_get (r.urls, "artifact_urls"));
    return 0;
}
