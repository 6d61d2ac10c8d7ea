/* claim.c - the first two stations: the task becomes ours, and we read what it is. */
#include "run/room.h"

#include <errno.h>
#include <string.h>
#include <strings.h>

static const char *body_with_task (struct run *r, const char *task, const char *rest)
{
    struct str s = { .arena = r->arena };
    str_puts (&s, "{\"task\":");
    json_put_string (&s, task);
    str_addf (&s, "%s}", rest);
    return s.p;
}

/* --id may be a name: then it must be the name of exactly one task. */
static int find_task (struct run *r, struct error *err)
{
    const char *given = r->options->task;
    struct text data;
    struct str s = { .arena = r->arena };
    size_t n = strlen (given);
    if (n >= 30 && strspn (given, "-abcdef0123456789") == n) {
        r->task = given;
        return 0;
    }
    str_puts (&s, "{\"name\":");
    struct str pattern = { .arena = r->arena };
    str_putc (&pattern, '^');
    for (const char *p = given; *p; p++) {
        if (strchr ("\\^$.|?*+()[]{}", *p))
            str_putc (&pattern, '\\');
        str_putc (&pattern, *p);
    }
    str_putc (&pattern, '$');
    json_put_string (&s, pattern.p);
    str_puts (&s, ",\"only_fields\":[\"id\",\"name\"],\"search_hidden\":true}");
    if (run_call (r, "tasks.get_all", s.p, &data, err) < 0)
        return error_wrap (err, "look for the task '%s'", given);
    struct json_iter it = json_iter (json_get (data, "tasks"));
    const char *found = NULL;
    size_t count = 0;
    while (json_next (&it)) {
        found = json_string (r->arena, json_get (it.value, "id"));
        count++;
    }
    if (!count)
        return error_set (err, ENOENT, "no task has the id or name '%s'", given);
    if (count > 1)
        return error_set (err, ENOENT, "%zu tasks are named '%s': give the id", count, given);
    r->task = found;
    return 0;
}

static int clone_task (struct run *r, struct error *err)
{
    struct text data;
    if (run_call (r, "tasks.get_by_id", body_with_task (r, r->task, ""), &data, err) < 0)
        return error_wrap (err, "task %s", r->task);
    const char *name = json_string (r->arena, json_get (json_get (data, "task"), "name"));
    struct str rest = { .arena = r->arena };
    str_puts (&rest, ",\"new_task_name\":");
    json_put_string (&rest, arena_printf (r->arena, "Clone of %s", name ? name : r->task));
    if (run_call (r, "tasks.clone", body_with_task (r, r->task, rest.p), &data, err) < 0)
        return error_wrap (err, "clone task %s", r->task);
    r->task = json_string (r->arena, json_get (data, "id"));
    return r->task ? 0 : error_set (err, EPROTO, "clone: the server's answer has no id");
}

/* 1 = the task is in progress and its message is `sign`: we took it, and the answer was lost. */
static int was_taken_by_us (struct run *r, const char *sign, struct error *err)
{
    struct text data;
    const char *body = arena_printf (
        r->arena, "{\"id\":[\"%s\"],\"only_fields\":[\"status\",\"status_message\"],\"search_hidden\":true}",
        r->task);
    if (run_call (r, "tasks.get_all", body, &data, err) < 0)
        return -1;
    struct json_iter it = json_iter (json_get (data, "tasks"));
    return json_next (&it) && json_string_is (json_get (it.value, "status"), "in_progress") &&
           json_string_is (json_get (it.value, "status_message"), sign);
}

/* 1 = taken out of its queue, 0 = it was in none. */
static int dequeue (struct run *r, struct error *err)
{
    struct text data;
    struct str rest = { .arena = r->arena };
    const char *sign = arena_printf (r->arena, "Taken by stoker agent %s, run %s", r->worker, r->id);
    str_puts (&rest, ",\"new_status\":\"in_progress\",\"status_message\":");
    json_put_string (&rest, sign);
    if (run_call (r, "tasks.dequeue", body_with_task (r, r->task, rest.p), &data, err) == 0)
        return json_int (json_get (data, "updated"), 0) > 0;
    return client_refused (err, 400) ? was_taken_by_us (r, sign, err) : -1;
}

/* Out of its queue and in progress, when nobody has done that for us. */
static int take_task (struct run *r, struct error *err)
{
    struct text data;
    int dequeued = dequeue (r, err);
    if (dequeued < 0)
        return error_wrap (err, "take task %s out of its queue", r->task);
    if (r->options->require_queue && !dequeued)
        return error_set (err, EINVAL, "--require-queue: task %s is in no queue", r->task);
    struct str rest = { .arena = r->arena };
    str_puts (&rest, ",\"force\":true,\"status_reason\":\"worker started execution\",\"status_message\":");
    json_put_string (&rest, arena_printf (r->arena, "Changed by stoker agent %s", r->worker));
    if (run_call (r, "tasks.started", body_with_task (r, r->task, rest.p), &data, err) < 0)
        return error_wrap (err, "start task %s", r->task);
    return 0;
}

int station_claim (struct run *r, struct error *err)
{
    if (find_task (r, err) < 0 || (r->options->clone && clone_task (r, err) < 0))
        return -1;
    if (r->claimed || r->options->quiet || !r->rank0)
        return 0;
    return take_task (r, err);
}

int station_fetch (struct run *r, struct error *err)
{
    struct text data;
    if (run_call (r, "tasks.get_by_id", body_with_task (r, r->task, ""), &data, err) < 0)
        return error_wrap (err, "task %s", r->task);
    r->doc = json_get (data, "task");
    r->script = json_get (r->doc, "script");
    if (json_kind (r->doc) != JSON_OBJECT)
        return error_set (err, EPROTO, "task %s: the server's answer has no task", r->task);
    if (!r->claimed || !r->rank0 || r->options->quiet)
        return 0;
    enum stop_reason why = guard_first_look (r->doc);
    if (why != STOP_NONE) {
        stop_set (&r->stop, why);
        return 0;
    }
    /* a daemon that got it from a plain queue has told the server; a task that still waits is taken here */
    return json_string_is (json_get (r->doc, "status"), "queued") ? take_task (r, err) : 0;
}
