/* rules.c - the rules of queues: names, order of entries, flight, waiting-time samples. In: the call's database and
 * time. Out: rows and bells.
 *
 * An entry's `place` orders its queue. New entries take a place 2^20 behind the last, moved ones half-way between their
 * new neighbours; when two neighbours touch, the queue is numbered anew. length and added_sum stand in the queue's row,
 * so that lengths and mean waiting times cost no scan.
 */
#include "services/queues/rules.h"

#include "base/id.h"
#include "services/answer.h"
#include "services/tasks/tasks.h"
#include "sql/sql.h"
#include "store/store.h"

#include <ctype.h>
#include <errno.h>

enum { GAP = 1 << 20 };

/* -- queues ------------------------------------------------------------------------------------------------------ */
static void queue_read (struct call *c, struct rows *r, struct queue *ret)
{
    *ret = (struct queue){ .seq = row_int (r, 0),
                           .id = row_str (r, 1, c->arena),
                           .name = row_str (r, 2, c->arena),
                           .display_name = row_str (r, 3, c->arena),
                           .length = row_int (r, 4),
                           .added_sum = row_int (r, 5) };
}

/* 1 found, 0 none */
static int queue_get (struct call *c, const struct sql *sql, const char *key, struct queue *ret,
                      struct error *err)
{
    cleanup_rows struct rows r = { 0 };
    int found;

    if (db_query (c->db, sql, &r, err, V_STR (c->who.company), V_STR (key)) < 0 ||
        (found = db_next (&r, err)) < 0)
        return -1;
    if (found)
        queue_read (c, &r, ret);
    return found;
}

int queue_load (struct call *c, const char *id, struct queue *ret, struct error *err)
{
    int found = queue_get (c, &sql_queue_by_id, id, ret, err);

    if (found == 0) {
        error_set (err, ERR_INVALID_QUEUE_ID, "queue: there is no queue %s", id);
        return fail_facts (c, err, { "queue", id });
    }
    return found < 0 ? -1 : 0;
}

static void name_of (const struct queue *q, struct queue_name *ret)
{
    *ret = (struct queue_name){ q->id, q->name, q->display_name };
}

int queue_find (struct call *c, const char *id, struct queue_name *ret, struct error *err)
{
    struct queue q;

    if (queue_load (c, id, &q, err) < 0)
        return -1;
    name_of (&q, ret);
    return 0;
}

int queue_find_by_name (struct call *c, const char *name, struct queue_name *ret, struct error *err)
{
    struct queue q;
    int found = queue_get (c, &sql_queue_by_name, name, &q, err);

    if (found == 1)
        name_of (&q, ret);
    return found;
}

int queue_get_default (struct call *c, struct queue_name *ret, struct error *err)
{
    cleanup_rows struct rows r = { 0 };
    struct queue q;
    int found;

    if (db_query (c->db, &sql_queue_defaults, &r, err, V_STR (c->who.company)) < 0 ||
        (found = db_next (&r, err)) < 0)
        return -1;
    if (!found) {
        error_set (err, ERR_NO_DEFAULT_QUEUE, "No queue has the system tag 'default'");
        return fail_facts (c, err, { "company", c->who.company });
    }
    queue_read (c, &r, &q);
    if ((found = db_next (&r, err)) < 0)
        return -1;
    if (found)
        return error_set (err, ERR_MANY_DEFAULT_QUEUES, "More than one queue has the system tag 'default'");
    name_of (&q, ret);
    return 0;
}

int queue_name_check (struct call *c, const char *name, const char **ret_trimmed, struct error *err)
{
    size_t n;

    while (isspace ((unsigned char)*name))
        name++;
    for (n = strlen (name); n && isspace ((unsigned char)name[n - 1]);)
        n--;
    if (n < 3)
        return error_set (err, ERR_DATA_VALIDATION,
                          "name: '%.*s' is too short, a queue's name has 3 characters or more", (int)n, name);
    *ret_trimmed = arena_strndup (c->arena, name, n);
    return 0;
}

int queue_create (struct call *c, const char *name, const char *display_name, struct text tags,
                  struct text system_tags, struct text metadata, const char **ret_id, struct error *err)
{
    struct id id = id_random ();
    const char *trimmed;

    if (queue_name_check (c, name, &trimmed, err) < 0)
        return -1;
    if (db_exec (c->db, &sql_queue_create, err, V_STR (c->who.company), V_STR (id.hex), V_STR (trimmed),
                 V_STR (display_name), V_INT (c->now), V_TEXT (tags.p ? tags : TEXT ("[]")),
                 V_TEXT (system_tags.p ? system_tags : TEXT ("[]")),
                 V_TEXT (metadata.p ? metadata : TEXT ("{}"))) < 0)
        return err->code == EEXIST
                   ? error_set (err, ERR_NOT_UNIQUE, "name: there is already a queue called '%s'", trimmed)
                   : -1;
    *ret_id = arena_strdup (c->arena, id.hex);
    return 0;
}

int queue_get_or_create (struct call *c, const char *name, struct queue_name *ret, struct error *err)
{
    const char *trimmed, *id;
    int found;

    if (queue_name_check (c, name, &trimmed, err) < 0)
        return -1;
    if ((found = queue_find_by_name (c, trimmed, ret, err)) != 0)
        return found < 0 ? -1 : 0;
    if (queue_create (c, trimmed, NULL, (struct text){ 0 }, (struct text){ 0 }, (struct text){ 0 }, &id,
                      err) < 0)
        return -1;
    *ret = (struct queue_name){ id, trimmed, NULL };
    return 0;
}

/* -- samples ----------------------------------------------------------------------------------------------------- */
double queue_wait (struct call *c, const struct queue *q)
{
    double wait = q->length ? ((double)c->now - (double)q->added_sum / (double)q->length) / 1000 : 0;

    return wait < 0 ? 0 : wait;
}

int queue_sample (struct call *c, const struct queue *q, struct error *err)
{
    return db_exec (c->db, &sql_queue_sample_put, err, V_INT (q->seq), V_INT (c->now / 1000), V_INT (c->now),
                    V_REAL (queue_wait (c, q)), V_INT (q->length)) < 0
               ? -1
               : 0;
}

static int queue_grow (struct call *c, struct queue *q, int by, int64_t added, struct error *err)
{
    q->length += by;
    q->added_sum += by * added;
    return db_exec (c->db, &sql_queue_grow, err, V_INT (q->seq), V_INT (by), V_INT (by * added),
                    V_INT (c->now)) < 0
               ? -1
               : 0;
}

/* -- entries ----------------------------------------------------------------------------------------------------- */
int queue_add (struct call *c, const char *queue, const char *task, struct error *err)
{
    struct queue q;

    if (queue_load (c, queue, &q, err) < 0)
        return -1;
    if (db_exec (c->db, &sql_queue_entry_append, err, V_INT (q.seq), V_STR (task), V_INT (c->now)) < 0)
        return err->code == EEXIST ? error_set (err, ERR_TASK_ALREADY_QUEUED,
                                                "task %s already waits in queue %s", task, queue)
                                   : -1;
    if (queue_confirm (c, task, err) < 0 || queue_grow (c, &q, 1, c->now, err) < 0 ||
        queue_sample (c, &q, err) < 0)
        return -1;
    call_ring (c, 1, "queue/%s", q.id);
    return 0;
}

/* 1 found, 0 not in this queue */
static int entry_find (struct call *c, const struct queue *q, const char *task, int64_t *ret_place,
                       int64_t *ret_added, struct error *err)
{
    cleanup_rows struct rows r = { 0 };
    int found;

    if (db_query (c->db, &sql_queue_entry_find, &r, err, V_INT (q->seq), V_STR (task)) < 0 ||
        (found = db_next (&r, err)) < 0)
        return -1;
    if (found) {
        *ret_place = row_int (&r, 0);
        *ret_added = row_int (&r, 1);
    }
    return found;
}

static int not_queued (const struct queue *q, const char *task, struct error *err)
{
    return error_set (err, ERR_TASK_NOT_QUEUED, "task %s is not in queue %s", task, q->id);
}

static int entry_remove (struct call *c, struct queue *q, int64_t place, int64_t added, struct error *err)
{
    if (db_exec (c->db, &sql_queue_entry_remove, err, V_INT (q->seq), V_INT (place)) < 0)
        return -1;
    return queue_grow (c, q, -1, added, err);
}

int queue_remove (struct call *c, const char *queue, const char *task, struct error *err)
{
    struct queue q;
    int64_t place, added;
    int found;

    if (queue_load (c, queue, &q, err) < 0 || (found = entry_find (c, &q, task, &place, &added, err)) < 0 ||
        queue_confirm (c, task, err) < 0)
        return -1;
    if (!found)
        return not_queued (&q, task, err);
    if (entry_remove (c, &q, place, added, err) < 0)
        return -1;
    return queue_sample (c, &q, err);
}

int queue_remove_everywhere (struct call *c, const char *task, const char *except, struct error *err)
{
    cleanup_rows struct rows r = { 0 };
    int more, removed = 0;

    if (db_query (c->db, &sql_queue_entries_of_task, &r, err, V_STR (c->who.company), V_STR (task)) < 0)
        return -1;
    while ((more = db_next (&r, err)) > 0) {
        struct queue q = { .seq = row_int (&r, 0) };
        struct text id = row_text (&r, 3);

        if (except && text_is (id, except))
            continue;
        if (entry_remove (c, &q, row_int (&r, 1), row_int (&r, 2), err) < 0)
            return -1;
        removed++;
    }
    if (more < 0 || queue_confirm (c, task, err) < 0)
        return -1;
    return removed;
}

int queue_holds (struct call *c, const char *queue, const char *task, struct error *err)
{
    struct queue q;
    int64_t place, added;
    int found = queue_get (c, &sql_queue_by_id, queue, &q, err);

    return found == 1 ? entry_find (c, &q, task, &place, &added, err) : found;
}

/* 1 with the first entry */
static int entry_first (struct call *c, const struct queue *q, int64_t *ret_place, struct queue_entry *ret,
                        struct error *err)
{
    cleanup_rows struct rows r = { 0 };
    int found;

    if (db_query (c->db, &sql_queue_entry_first, &r, err, V_INT (q->seq)) < 0 ||
        (found = db_next (&r, err)) < 0)
        return -1;
    if (found) {
        *ret_place = row_int (&r, 0);
        *ret = (struct queue_entry){ row_str (&r, 1, c->arena), row_int (&r, 2) };
    }
    return found;
}

int queue_peek (struct call *c, const struct queue *q, struct queue_entry *ret, struct error *err)
{
    int64_t place;

    return entry_first (c, q, &place, ret, err);
}

int queue_pop (struct call *c, struct queue *q, struct queue_entry *ret, struct error *err)
{
    int64_t place;
    int found = entry_first (c, q, &place, ret, err);

    if (found <= 0)
        return found;
    if (queue_sample (c, q, err) < 0 || entry_remove (c, q, place, ret->added, err) < 0)
        return -1;
    return 1;
}

int queue_head (struct call *c, const char *id, struct queue_head *ret, struct error *err)
{
    struct queue q;
    struct queue_entry e = { 0 };
    int found;

    if (queue_load (c, id, &q, err) < 0 || (found = queue_peek (c, &q, &e, err)) < 0)
        return -1;
    *ret = (struct queue_head){ q.length, found ? e.task : NULL };
    return 0;
}

/* -- flight ------------------------------------------------------------------------------------------------------ */
int queue_confirm (struct call *c, const char *task, struct error *err)
{
    return db_exec (c->db, &sql_queue_flight_remove, err, V_STR (c->who.company), V_STR (task)) < 0 ? -1 : 0;
}

int queue_fly (struct call *c, const struct queue *q, const struct queue_entry *e, struct error *err)
{
    return db_exec (c->db, &sql_queue_flight_put, err, V_STR (c->who.company), V_STR (e->task),
                    V_INT (q->seq), V_INT (e->added), V_INT (c->now + QUEUE_FLIGHT_MS)) < 0
               ? -1
               : 0;
}

/* Nobody runs it: the task is still there and still waits. */
static int still_waiting (struct call *c, const char *task, struct error *err)
{
    struct task_facts facts = { 0 };

    if (task_facts (c, task, false, &facts, err) < 0)
        return task_not_own (err) ? 0 : -1;
    return facts.status && (!strcmp (facts.status, "queued") || !strcmp (facts.status, "created"));
}

static int flight_end (struct call *c, const char *task, struct queue *q, int64_t added, struct error *err)
{
    int waiting = q->id ? still_waiting (c, task, err) : 0;
    int64_t put;

    if (waiting < 0 || queue_confirm (c, task, err) < 0)
        return -1;
    if (!waiting)
        return 0;
    put = db_exec (c->db, &sql_queue_entry_prepend, err, V_INT (q->seq), V_STR (task), V_INT (added));
    if (put < 0 || (put > 0 && queue_grow (c, q, 1, added, err) < 0))
        return -1;
    call_ring (c, 1, "queue/%s", q->id);
    return 0;
}

int queue_land (struct call *c, int64_t max, struct error *err)
{
    cleanup_rows struct rows r = { 0 };
    int more, n = 0;

    if (db_query (c->db, &sql_queue_flight_late, &r, err, V_INT (c->now), V_INT (max)) < 0)
        return -1;
    while ((more = db_next (&r, err)) > 0) {
        const char *company = c->who.company;
        struct queue q = { .seq = row_int (&r, 2), .id = row_str (&r, 4, c->arena) };
        int rc;

        c->who.company = row_str (&r, 0, c->arena);
        rc = flight_end (c, row_str (&r, 1, c->arena), &q, row_int (&r, 3), err);
        c->who.company = company;
        if (rc < 0)
            return -1;
        n++;
    }
    return more < 0 ? -1 : n;
}

/* -- moving ------------------------------------------------------------------------------------------------------ */
static int count_before (struct call *c, const struct queue *q, int64_t place, int64_t *ret,
                         struct error *err)
{
    cleanup_rows struct rows r = { 0 };

    if (db_query (c->db, &sql_queue_entry_before, &r, err, V_INT (q->seq), V_INT (place)) < 0 ||
        db_next (&r, err) < 0)
        return -1;
    *ret = row_int (&r, 0);
    return 0;
}

/* A free place at position `to` among the others; 0 with *ret, 1: no room between the neighbours. */
static int place_for (struct call *c, const struct queue *q, const char *task, int64_t to, int64_t *ret,
                      struct error *err)
{
    cleanup_rows struct rows r = { 0 };
    int64_t before = 0, after = 0, first = to > 0 ? to - 1 : 0;
    int n = 0, more = 0;

    if (db_query (c->db, &sql_queue_entry_at, &r, err, V_INT (q->seq), V_STR (task), V_INT (first)) < 0)
        return -1;
    while (n < 2 && (more = db_next (&r, err)) > 0)
        *(n++ ? &after : &before) = row_int (&r, 0);
    if (more < 0)
        return -1;
    if (!n)
        *ret = 0;
    else if (to == 0)
        *ret = before - GAP;
    else if (n == 1)
        *ret = before + GAP;
    else
        *ret = before + (after - before) / 2;
    return n == 2 && to > 0 && *ret == before;
}

/* Number all entries anew, GAP apart. */
static int renumber (struct call *c, const struct queue *q, struct error *err)
{
    cleanup_rows struct rows r = { 0 };
    struct queue_entry *list = arena_array (c->arena, struct queue_entry, (size_t)q->length + 1);
    int64_t n = 0;
    int more;

    if (db_query (c->db, &sql_queue_entry_list, &r, err, V_INT (q->seq), V_INT (q->length)) < 0)
        return -1;
    while ((more = db_next (&r, err)) > 0)
        list[n++] = (struct queue_entry){ row_str (&r, 0, c->arena), row_int (&r, 1) };
    rows_done (&r);
    if (more < 0 || db_exec (c->db, &sql_queue_entry_clear, err, V_INT (q->seq)) < 0)
        return -1;
    for (int64_t i = 0; i < n; i++)
        if (db_exec (c->db, &sql_queue_entry_put, err, V_INT (q->seq), V_INT ((i + 1) * GAP),
                     V_STR (list[i].task), V_INT (list[i].added)) < 0)
            return -1;
    return 0;
}

static int move_to (struct call *c, const struct queue *q, const char *task, int64_t to, struct error *err)
{
    int64_t place, added, target;
    int full;

    for (int tries = 0; tries < 2; tries++) {
        if (entry_find (c, q, task, &place, &added, err) < 0 ||
            (full = place_for (c, q, task, to, &target, err)) < 0)
            return -1;
        if (!full)
            return db_exec (c->db, &sql_queue_entry_move, err, V_INT (q->seq), V_INT (place),
                            V_INT (target)) < 0
                       ? -1
                       : 0;
        if (renumber (c, q, err) < 0)
            return -1;
    }
    return error_set (err, ERR_INCONSISTENT, "queue %s: no room to move task %s", q->id, task);
}

int queue_move (struct call *c, const char *queue, const char *task, int64_t by, int64_t *ret_position,
                struct error *err)
{
    struct queue q;
    int64_t place, added, at, to;
    int found;

    if (queue_load (c, queue, &q, err) < 0 || (found = entry_find (c, &q, task, &place, &added, err)) < 0)
        return -1;
    if (!found)
        return not_queued (&q, task, err);
    if (count_before (c, &q, place, &at, err) < 0)
        return -1;
    to = by < -at ? 0 : by > q.length - 1 - at ? q.length - 1 : at + by;
    if (to != at && (move_to (c, &q, task, to, err) < 0 || queue_grow (c, &q, 0, 0, err) < 0))
        return -1;
    *ret_position = to;
    return 0;
}

/* -- clearing ---------------------------------------------------------------------------------------------------- */
int queue_release_task (struct call *c, const struct queue *q, const char *task, const char *reason,
                        struct error *err)
{
    struct task_facts facts = { 0 };

    if (task_facts (c, task, false, &facts, err) < 0)
        return task_not_own (err) ? 0 : -1;
    if (!facts.queue || strcmp (facts.queue, q->id) != 0)
        return 0;
    return task_unqueue (c, task, true, reason, err) < 0 ? -1 : 1;
}

int queue_clear (struct call *c, struct queue *q, const char *reason, struct queue_tasks *ret,
                 struct error *err)
{
    cleanup_rows struct rows r = { 0 };
    const char **list = arena_array (c->arena, const char *, (size_t)q->length + 1);
    size_t n = 0;
    int more, released;

    if (queue_sample (c, q, err) < 0 ||
        db_query (c->db, &sql_queue_entry_list, &r, err, V_INT (q->seq), V_INT (q->length)) < 0)
        return -1;
    while ((more = db_next (&r, err)) > 0) {
        const char *task = row_str (&r, 0, c->arena);

        if ((released = queue_release_task (c, q, task, reason, err)) < 0)
            return -1;
        if (released)
            list[n++] = task;
    }
    rows_done (&r);
    if (more < 0 || db_exec (c->db, &sql_queue_entry_clear, err, V_INT (q->seq)) < 0 ||
        db_exec (c->db, &sql_queue_flight_clear, err, V_INT (q->seq)) < 0 ||
        db_exec (c->db, &sql_queue_empty, err, V_INT (q->seq), V_INT (c->now)) < 0)
        return -1;
    q->length = q->added_sum = 0;
    *ret = (struct queue_tasks){ list, n };
    return 0;
}

int queue_delete (struct call *c, struct queue *q, bool force, struct error *err)
{
    struct queue_tasks tasks;
    const char *reason = arena_printf (c->arena, "Queue %s was deleted", q->id);

    if (q->length && !force)
        return error_set (err, ERR_QUEUE_NOT_EMPTY, "queue %s holds %lld tasks: delete it with force=true",
                          q->id, (long long)q->length);
    if (queue_clear (c, q, reason, &tasks, err) < 0 ||
        db_exec (c->db, &sql_queue_sample_clear, err, V_INT (q->seq)) < 0 ||
        db_exec (c->db, &sql_queue_delete, err, V_INT (q->seq)) < 0)
        return -1;
    return 0;
}

int queue_create_first (struct db *db, const char *company, int64_t now, struct error *err)
{
    struct id id = id_random ();

    return db_exec (db, &sql_queue_create_first, err, V_STR (company), V_STR (id.hex), V_INT (now)) < 0 ? -1
                                                                                                        : 0;
}
