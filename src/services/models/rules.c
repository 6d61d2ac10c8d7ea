/* rules.c - models in their table: reading, writing, publishing, what becomes of them when their task goes. */
#include "base/id.h"
#include "services/events/events.h"
#include "services/files/files.h"
#include "services/models/model.h"
#include "services/projects/projects.h"
#include "services/tasks/tasks.h"

int model_read (struct call *c, const char *id, bool public_too, struct model *ret, struct error *err)
{
    cleanup_rows struct rows r = { 0 };
    if (db_query (c->db, &sql_model_get, &r, err, V_STR (id), V_STR (c->who.company), V_INT (public_too)) < 0)
        return -1;
    int more = db_next (&r, err);
    if (more < 0)
        return -1;
    if (!more) {
        error_set (err, ERR_INVALID_MODEL_ID, "Invalid model id: id=%s (no such own%s model)", id,
                   public_too ? " or public" : "");
        return fail_facts (c, err, { "id", id }, { "company", c->who.company });
    }
    *ret = (struct model){
        .n = row_int (&r, 0),
        .id = row_str (&r, 1, c->arena),
        .company = row_str (&r, 2, c->arena),
        .name = row_str (&r, 3, c->arena),
        .task = row_str (&r, 4, c->arena),
        .project = row_str (&r, 5, c->arena),
        .uri = row_str (&r, 6, c->arena),
        .ready = row_int (&r, 7),
        .metadata = row_copy (&r, 8, c->arena),
        .tags = row_copy (&r, 9, c->arena),
        .system_tags = row_copy (&r, 10, c->arena),
    };
    return 0;
}

int models_check (struct call *c, const char *const *ids, size_t n, struct error *err)
{
    for (size_t i = 0; i < n; i++) {
        struct model m;
        if (model_read (c, ids[i], true, &m, err) < 0)
            return -1;
    }
    return 0;
}

int model_changed (struct call *c, const struct model *m, bool update, struct error *err)
{
    return db_exec (c->db, update ? &sql_model_change_update : &sql_model_change, err, V_INT (m->n),
                    V_INT (c->now), V_STR (c->who.user)) < 0
               ? -1
               : 0;
}

int model_set_tags (struct call *c, const struct model *m, struct text tags, struct text system,
                    struct error *err)
{
    return db_exec (c->db, &sql_model_set_tags, err, V_INT (m->n), V_TEXT (tags), V_TEXT (system),
                    V_INT (memmem (system.p, system.n, "\"archived\"", 10) != NULL)) < 0
               ? -1
               : 0;
}

int labels_check (struct text labels, struct error *err)
{
    if (json_kind (labels) <= JSON_NULL)
        return 0;
    if (json_kind (labels) != JSON_OBJECT)
        return error_set (err, ERR_VALIDATION, "labels: must be an object {label: number}");
    struct json_iter it = json_iter (labels);
    while (json_next (&it))
        if (json_kind (it.value) != JSON_NUMBER && json_kind (it.value) != JSON_NULL)
            return error_set (err, ERR_VALIDATION, "labels.%.*s: must be a whole number", (int)it.key.n,
                              it.key.p);
    return 0;
}

int model_insert (struct call *c, const struct model_new *m, struct error *err)
{
    const char *id = m->id ? m->id : arena_strdup (c->arena, id_random ().hex);
    struct text system = m->system_tags.p ? m->system_tags : TEXT ("[]");
    if (db_exec (c->db, &sql_model_add, err, V_STR (id), V_STR (m->everybody ? "" : c->who.company),
                 V_STR (c->who.user), V_STR (m->name), V_STR (m->parent), V_STR (m->project), V_STR (m->task),
                 V_INT (c->now), V_STR (m->comment), V_TEXT (m->tags.p ? m->tags : TEXT ("[]")),
                 V_TEXT (system), V_INT (memmem (system.p, system.n, "\"archived\"", 10) != NULL),
                 V_STR (m->uri ? m->uri : ""), V_STR (m->framework),
                 V_TEXT (m->design.p ? m->design : TEXT ("{}")),
                 V_TEXT (m->labels.p ? m->labels : TEXT ("{}")), V_INT (m->ready), V_STR (c->who.user),
                 V_TEXT (m->metadata)) < 0 ||
        file_used_by_model (c->db, db_last_id (c->db), m->uri, err) < 0)
        return -1;
    return project_touch (c, m->project, err);
}

/* -- publishing */
int model_make_ready (struct call *c, const char *id, struct error *err)
{
    return db_exec (c->db, &sql_model_make_ready, err, V_STR (id), V_STR (c->who.company), V_INT (c->now),
                    V_STR (c->who.user)) < 0
               ? -1
               : 0;
}

int model_publish_one (struct call *c, const char *id, bool publish_task, bool force_task,
                       struct text *ret_task, struct error *err)
{
    struct model m;
    struct task_facts t;
    struct error why = { 0 };
    *ret_task = (struct text){ 0 };
    if (model_read (c, id, false, &m, err) < 0)
        return -1;
    if (m.ready) {
        error_set (err, ERR_MODEL_READY, "model %s is published already", id);
        return fail_facts (c, err, { "company", c->who.company }, { "model", id });
    }
    if (m.task && publish_task) {
        if (task_facts (c, m.task, false, &t, &why) == 0) {
            struct text data;
            if (strcmp (t.status, "published")) {
                if (task_publish (c, t.id, force_task, &data, err) < 0)
                    return -1;
                struct str s = { .arena = c->arena };
                str_putc (&s, '{');
                fields_str (&s, "id", t.id);
                fields_json (&s, "data", data);
                str_putc (&s, '}');
                *ret_task = str_text (&s);
            }
        } else if (why.code != ERR_INVALID_TASK_ID) {
            *err = why;
            return -1;
        }
    }
    return model_make_ready (c, id, err);
}

/* -- going */
static void put_url (struct str *urls, const char *uri)
{
    if (!urls || !uri || !*uri)
        return;
    str_puts (urls, urls->n ? "," : "");
    json_put_string (urls, uri);
}

static bool is_our_file (struct call *c, const struct model *m, const char *uri)
{
    const char *task = m->task;
    if (task && !strncmp (task, "__DELETED__", 11))
        task += 11;
    return file_is_ours (c->arena, c->facts, task, uri);
}

int model_delete (struct call *c, const char *id, bool force, bool files, struct str *urls, struct error *err)
{
    struct model_uris old;
    struct model m;
    struct task_facts t;
    struct error why = { 0 };
    int64_t users;
    if (model_read (c, id, false, &m, err) < 0 || task_model_users (c, id, &users, err) < 0)
        return -1;
    if (!force && users) {
        error_set (err, ERR_MODEL_IN_USE, "model %s is an input of tasks: num_tasks=%lld: use force", id,
                   (long long)users);
        return fail_facts (c, err, { "num_tasks", NULL, users });
    }
    if (!force && m.task && task_facts (c, m.task, false, &t, &why) == 0 && !strcmp (t.status, "published")) {
        error_set (err, ERR_MODEL_TASK_EXISTS, "the task that made model %s is published: task=%s: use force",
                   id, m.task);
        return fail_facts (c, err, { "task", m.task });
    }
    if (model_old_uris (c, m.n, &old, err) < 0 || task_forget_model (c, id, err) < 0 ||
        model_drop (c, m.n, err) < 0 || events_retire (c->db, id, err) < 0)
        return -1;
    for (size_t i = 0; i <= old.n; i++) {
        const char *uri = i ? old.v[i - 1] : m.uri;
        put_url (urls, uri);
        if (files && is_our_file (c, &m, uri))
            call_after_commit (c, EFFECT_FILES_DELETE, uri, m.company, 0);
    }
    return 0;
}

struct of_task {
    const char *id, *uri;
    int64_t n;
    bool ready, used;
};

static int of_task_read (struct call *c, const char *task, struct of_task **ret, size_t *ret_n,
                         struct error *err)
{
    cleanup_rows struct rows r = { 0 };
    size_t cap = 0, n = 0;
    struct of_task *v = NULL;
    int more;
    if (db_query (c->db, &sql_model_of_task, &r, err, V_STR (task)) < 0)
        return -1;
    while ((more = db_next (&r, err)) > 0) {
        if (n == cap) {
            struct of_task *old = v;
            cap = cap ? cap * 2 : 8;
            v = arena_array (c->arena, struct of_task, cap);
            if (n)
                memcpy (v, old, n * sizeof *v);
        }
        v[n++] = (struct of_task){ row_str (&r, 0, c->arena), row_str (&r, 1, c->arena), row_int (&r, 3),
                                   row_int (&r, 2), row_int (&r, 4) };
    }
    *ret = v;
    *ret_n = n;
    return more;
}

int models_release (struct call *c, const char *task, bool gone, bool keep_drafts, struct models_of_task *ret,
                    struct error *err)
{
    struct of_task *v;
    size_t n;
    ret->urls = (struct str){ .arena = c->arena };
    str_putc (&ret->urls, '[');
    if (of_task_read (c, task, &v, &n, err) < 0)
        return -1;
    for (size_t i = 0; i < n; i++) {
        if (!v[i].ready && !v[i].used && !keep_drafts) {
            struct model_uris old;
            if (model_old_uris (c, v[i].n, &old, err) < 0 || model_drop (c, v[i].n, err) < 0 ||
                events_retire (c->db, v[i].id, err) < 0)
                return -1;
            for (size_t k = 0; k <= old.n; k++) {
                const char *uri = k ? old.v[k - 1] : v[i].uri;
                if (!uri || !*uri)
                    continue;
                json_put_comma (&ret->urls);
                json_put_string (&ret->urls, uri);
            }
            ret->deleted++;
            continue;
        }
        const char *mark = gone && v[i].ready ? arena_printf (c->arena, "__DELETED__%s", task) : NULL;
        if (db_exec (c->db, &sql_model_set_task, err, V_STR (v[i].id), V_STR (mark)) < 0)
            return -1;
        ret->updated++;
    }
    str_putc (&ret->urls, ']');
    return 0;
}

int models_published_of_task (struct call *c, const char *task, int64_t *ret, struct error *err)
{
    cleanup_rows struct rows r = { 0 };
    if (db_query (c->db, &sql_model_published_of_task, &r, err, V_STR (task)) < 0 || db_next (&r, err) < 0)
        return -1;
    *ret = row_int (&r, 0);
    return 0;
}

int model_touch_from_events (struct call *c, const char *id, int64_t last_iteration, struct error *err)
{
    return db_exec (c->db, &sql_model_touch_events, err, V_STR (id), V_STR (c->who.company), V_INT (c->now),
                    V_INT (last_iteration)) < 0
               ? -1
               : 0;
}
