/* task.h - what the files of the tasks service share; nobody else includes it. */
#pragma once
#include "api/tasks.api.h"
#include "base/json.h"
#include "services/answer.h"
#include "services/tasks/rules.h"
#include "services/tasks/tasks.h"
#include "sql/sql.h"
#include "store/store.h"

/* The documents of a task: JSON texts; absent means "leave as it is" (saving) or "none" (reading). */
struct task_doc {
    struct text script, execution, hyperparams, configuration, models, output, container, runtime, report,
        report_assets;
    bool no_script; /* saving: the script is removed */
};

/* -- row.c: the tables */
int task_facts_of (struct call *c, const char *id, bool public_too, struct task_facts *ret,
                   enum task_status *ret_status, struct error *err) warn_unused;
int task_doc_read (struct call *c, int64_t n, struct task_doc *ret, struct error *err) warn_unused;
/* Saves what is present; side tables follow hyperparams and models. */
int task_doc_save (struct call *c, int64_t n, const struct task_doc *d, struct error *err) warn_unused;
struct task_row {
    const char *id, *user, *name, *type, *comment, *parent, *project, *queue;
    struct text tags, system_tags; /* sorted JSON lists */
};
int task_insert (struct call *c, const struct task_row *row, const struct task_doc *d,
                 struct error *err) warn_unused;
int task_set_system_tags (struct call *c, int64_t n, struct text tags, struct error *err) warn_unused;
struct tag_list task_system_tags (struct call *c, int64_t n);
/* last_change now, by whom; last_update too when `update`. Rings. */
int task_changed (struct call *c, const struct task_facts *t, bool update, struct error *err) warn_unused;
/* Ids of a set: SELECT of one text column into a list. */
struct id_list {
    const char **v;
    size_t n;
};
int id_list_read (struct call *c, const struct sql *sql, struct id_list *ret, struct error *err,
                  const struct value *v, size_t n) warn_unused;

/* -- doc.c: documents from requests; pure JSON */
/* Members of `over` replace those of `base`; a null removes. Both may be absent. */
struct text doc_merge (struct arena *a, struct text base, struct text over);
/* Without / with one member. An absent value removes it. */
struct text doc_set (struct arena *a, struct text object, const char *key, struct text value);
/* `execution` with the artifacts that were given to the task, without those it made. */
struct text doc_input_artifacts (struct arena *a, struct text execution);
struct text doc_string (struct arena *a, const char *s); /* JSON text of a string */
#define DOC_EXECUTION                                                                                        \
    "{\"test_split\":0,\"parameters\":{},\"model_desc\":{},\"model_labels\":{},\"artifacts\":[]}"
#define DOC_SCRIPT "{\"binary\":\"python\",\"repository\":\"\",\"entry_point\":\"\",\"requirements\":{}}"
#define DOC_MODELS "{\"input\":[],\"output\":[]}"
int doc_script (struct arena *a, struct text base, struct text in, struct text *ret,
                struct error *err) warn_unused;
int doc_execution (struct arena *a, struct text base, struct text in, struct text *ret,
                   struct error *err) warn_unused;
int doc_hyperparams (struct arena *a, struct text in, struct text *ret, struct error *err) warn_unused;
int doc_configuration (struct arena *a, struct text in, struct text *ret, struct error *err) warn_unused;
int doc_models (struct arena *a, struct text base, struct text in, int64_t now, struct text *ret,
                struct error *err) warn_unused;
int doc_container (struct arena *a, struct text in, struct text *ret, struct error *err) warn_unused;
int doc_runtime (struct arena *a, struct text in, struct text *ret, struct error *err) warn_unused;
/* One hyperparameter or configuration item, checked, with section and name as given. */
int doc_item (struct arena *a, const char *what, const char *section, const char *name, struct text in,
              struct text *ret, struct error *err) warn_unused;
/* Artifacts by (key, mode): those of `in` replace or join those of `list`; result sorted by key. */
int doc_artifacts (struct arena *a, struct text list, struct text in, struct text *ret,
                   struct error *err) warn_unused;
const char *doc_section (const char *section); /* "Properties" is "properties" */

/* -- input.c: the parts that create, edit, validate and clone have in common */
struct task_input {
    struct text execution, script, hyperparams, configuration, models, container, runtime,
        output; /* as given */
    const char *output_dest, *parent, *project;
    bool edit;
};
/* Old clients' forms (execution.model, docker_cmd, parameters, ...) become the newer ones. */
int task_input_modernize (struct call *c, struct task_input *in, const struct task_doc *stored,
                          struct error *err) warn_unused;
/* Documents checked and merged over `stored` (create: defaults). */
int task_input_doc (struct call *c, const struct task_input *in, const struct task_doc *stored,
                    struct task_doc *ret, struct error *err) warn_unused;
/* Do the parent, the project and the input models it names exist, and may they be used? 400/16, 403/21, 400/201. */
int task_input_refs (struct call *c, const struct task_input *in, struct error *err) warn_unused;
/* The same of a task that is there, or is copied from one: a parent marked as deleted is fine. Absent parts are not
 * looked at. 400/101, 400/401, 403/21, 400/201. */
int task_refs (struct call *c, const char *parent, const char *project, struct text models,
               struct error *err) warn_unused;

/* -- status.c */
struct task_change { /* a change of status */
    enum task_status to;
    const char *reason, *message;
    struct str fields; /* the echo: opened by task_move, the caller adds and closes */
};
/* task_verb_check, which tells what it is about. */
int task_may (struct call *c, enum task_verb verb, enum task_status from, bool force,
              struct error *err) warn_unused;
int task_move (struct call *c, struct task_facts *t, struct task_change *ch, struct error *err) warn_unused;
/* A verb with its check, stamp and echo. */
int task_do (struct call *c, struct task_facts *t, enum task_status from, enum task_verb verb, bool force,
             struct task_change *ch, struct error *err) warn_unused;
/* A run that was taken for dead is in_progress again; any other task, and an unknown one, stays. */
int task_revive (struct call *c, const char *id, struct error *err) warn_unused;
int task_publish_one (struct call *c, const char *id, bool force, bool publish_model, const char *reason,
                      const char *message, struct text *ret_fields, struct error *err) warn_unused;
int task_stop_one (struct call *c, const char *id, bool force, bool steps, const char *reason,
                   const char *message, struct text *ret_fields, struct error *err) warn_unused;

/* -- queue.c */
struct task_enqueue {
    const char *queue, *queue_name, *reason, *message;
    bool force, keep_queue; /* keep_queue: execution.queue stays, unless there is none yet */
    bool validate;          /* only if what it points at is there */
};
int task_enqueue_one (struct call *c, const char *id, const struct task_enqueue *q, struct text *ret_fields,
                      struct error *err) warn_unused;
int task_dequeue_one (struct call *c, const char *id, const char *new_status, bool everywhere,
                      const char *reason, const char *message, int64_t *ret_dequeued, int64_t *ret_updated,
                      struct text *ret_fields, struct error *err) warn_unused;

/* -- remove.c */
struct task_reset {
    bool force, clear_all, urls, keep_models, keep_files; /* urls: tell them */
    const char *reason, *message;
};
struct task_removed {
    struct text fields, urls; /* urls absent: not asked */
    int64_t dequeued, deleted_models, updated_models, updated_children;
};
int task_reset_one (struct call *c, const char *id, const struct task_reset *how, struct task_removed *ret,
                    struct error *err) warn_unused;
struct task_delete {
    bool force, urls, keep_models, keep_files, steps; /* urls: tell them */
    bool forgotten; /* what points at it points at nothing, instead of at "__DELETED__..." */
};
int task_delete_one (struct call *c, const char *id, const struct task_delete *how, struct task_removed *ret,
                     struct error *err) warn_unused;
int task_archive_one (struct call *c, const char *id, bool archive, const char *reason, const char *message,
                      bool steps, struct error *err) warn_unused;

/* -- shape.c */
int task_shape_old (const struct query_source *src, struct text doc, struct str *out, struct error *err);
