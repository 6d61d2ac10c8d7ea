/* queue.c - into and out of queues. The queue's entries are the queues service's; the status and execution.queue of the
 * task are ours. Checks come before any write, so that a refusal leaves everything as it was. */
#include "services/queues/queues.h"
#include "services/tasks/task.h"

static int find_queue (struct call *c, const struct task_enqueue *q, struct queue_name *ret,
                       struct error *err)
{
    bool id = q->queue && *q->queue, name = q->queue_name && *q->queue_name;
    if (id && name)
        return error_set (err, ERR_VALIDATION, "give either queue or queue_name, not both");
    if (id)
        return queue_find (c, q->queue, ret, err);
    if (name)
        return queue_get_or_create (c, q->queue_name, ret, err);
    return queue_get_default (c, ret, err);
}

static int check_refs (struct call *c, const struct task_facts *t, struct error *err)
{
    struct task_doc d;
    if (task_doc_read (c, t->n, &d, err) < 0)
        return -1;
    return task_refs (c, t->parent, t->project, d.models, err);
}

int task_enqueue_one (struct call *c, const char *id, const struct task_enqueue *q, struct text *ret_fields,
                      struct error *err)
{
    struct task_facts t;
    struct queue_name queue;
    enum task_status from;
    struct task_change ch = { .to = TASK_QUEUED, .reason = q->reason, .message = q->message };
    if (task_facts_of (c, id, false, &t, &from, err) < 0 ||
        task_may (c, VERB_ENQUEUE, from, q->force, err) < 0 || (q->validate && check_refs (c, &t, err) < 0) ||
        find_queue (c, q, &queue, err) < 0)
        return -1;
    const char *execution = q->keep_queue && t.queue && *t.queue ? t.queue : queue.id;
    int held = queue_holds (c, queue.id, t.id, err);
    if (held < 0)
        return -1;
    if (held && from == TASK_QUEUED) {
        error_set (err, ERR_TASK_ALREADY_QUEUED, "task %s is already in queue %s", t.id, queue.name);
        return fail_facts (c, err, { "task", t.id });
    }
    const char *before = from == TASK_QUEUED && t.enqueue_status ? t.enqueue_status : t.status;
    if (queue_remove_everywhere (c, t.id, NULL, err) < 0 || queue_add (c, queue.id, t.id, err) < 0 ||
        task_move (c, &t, &ch, err) < 0)
        return -1;
    if (db_exec (c->db, &sql_task_set_queue, err, V_INT (t.n), V_STR (execution), V_STR (before),
                 V_INT (c->now)) < 0)
        return -1;
    fields_str (&ch.fields, "enqueue_status", before);
    if (execution == queue.id)
        fields_str (&ch.fields, "execution.queue", execution);
    *ret_fields = fields_close (&ch.fields);
    return 0;
}

int task_dequeue_one (struct call *c, const char *id, const char *new_status, bool everywhere,
                      const char *reason, const char *message, int64_t *ret_dequeued, int64_t *ret_updated,
                      struct text *ret_fields, struct error *err)
{
    struct task_facts t;
    struct error why = { 0 };
    enum task_status from, to;
    *ret_dequeued = 1;
    *ret_updated = 0;
    *ret_fields = TEXT ("{}");
    if (new_status && *new_status && !task_status_parse (new_status, &to))
        return error_set (err, ERR_VALIDATION, "new_status: '%s' is no task status", new_status);
    if (task_facts_of (c, id, false, &t, &from, &why) < 0) {
        if (why.code != ERR_INVALID_TASK_ID) {
            *err = why;
            return -1;
        }
        return queue_remove_everywhere (c, id, NULL, err) < 0 ? -1 : 0; /* a stray entry of a deleted task */
    }
    if ((from == TASK_QUEUED || everywhere) && queue_remove_everywhere (c, t.id, NULL, err) < 0)
        return -1;
    if (from != TASK_QUEUED && from != TASK_IN_PROGRESS)
        return 0;
    if (queue_confirm (c, t.id, err) < 0)
        return -1;
    if (!new_status || !*new_status)
        if (!task_status_parse (t.enqueue_status, &to) || to == TASK_QUEUED)
            to = TASK_CREATED;
    struct task_change ch = { .to = to, .reason = reason, .message = message };
    if (task_move (c, &t, &ch, err) < 0 ||
        db_exec (c->db, &sql_task_set_enqueue_status, err, V_INT (t.n), V_NULL ()) < 0)
        return -1;
    fields_str (&ch.fields, "enqueue_status", NULL);
    *ret_fields = fields_close (&ch.fields);
    *ret_updated = 1;
    return 0;
}

/* -- the door for queues */
int task_unqueue (struct call *c, const char *task, bool forget_queue, const char *reason, struct error *err)
{
    struct task_facts t;
    struct error why = { 0 };
    enum task_status from, to;
    if (task_facts_of (c, task, false, &t, &from, &why) < 0) {
        if (task_not_own (&why))
            return 0;
        *err = why;
        return -1;
    }
    if (from == TASK_QUEUED) {
        if (!task_status_parse (t.enqueue_status, &to) || to == TASK_QUEUED)
            to = TASK_CREATED;
        struct task_change ch = { .to = to, .reason = reason };
        if (task_move (c, &t, &ch, err) < 0)
            return -1;
    }
    return db_exec (c->db, &sql_task_set_queue, err, V_INT (t.n), V_STR (forget_queue ? NULL : t.queue),
                    V_NULL (), V_NULL ()) < 0
               ? -1
               : 0;
}

int task_queue (struct call *c, const char *task, const char *queue, struct error *err)
{
    struct task_facts t;
    enum task_status from;
    struct task_change ch = { .to = TASK_QUEUED, .reason = "", .message = "" };
    if (task_facts_of (c, task, false, &t, &from, err) < 0 ||
        task_may (c, VERB_ENQUEUE, from, false, err) < 0)
        return -1;
    const char *before = from == TASK_QUEUED && t.enqueue_status ? t.enqueue_status : t.status;
    if (task_move (c, &t, &ch, err) < 0)
        return -1;
    return db_exec (c->db, &sql_task_set_queue, err, V_INT (t.n), V_STR (queue), V_STR (before),
                    V_INT (c->now)) < 0
               ? -1
               : 0;
}

int task_set_queue (struct call *c, const char *task, const char *queue, struct error *err)
{
    return db_exec (c->db, &sql_task_set_queue_of, err, V_STR (task), V_STR (c->who.company), V_STR (queue)) <
                   0
               ? -1
               : 0;
}
