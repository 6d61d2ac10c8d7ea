/* stages.c - the story of a task: what its own times say (waiting, running), what its agent reported of its stages, and
 * why it ended. A reader asks first "what happened, and when?". */
#include "api/x_tasks.api.h"
#include "base/clock.h"
#include "services/tasks/task.h"

enum { STAGES_MAX = 200 };

static const char *time_text (struct call *c, int64_t ms)
{
    struct str s = { .arena = c->arena };
    if (!ms)
        return NULL;
    clock_format (&s, ms);
    return s.p;
}

static struct x_tasks_stage *stage_new (struct x_tasks_timeline_out *out)
{
    struct x_tasks_stage *s = &out->stages.v[out->stages.n++];
    *s = (struct x_tasks_stage){ 0 };
    return s;
}

static int reported (struct call *c, const struct task_facts *t, struct x_tasks_timeline_out *out,
                     struct error *err)
{
    cleanup_rows struct rows r = { 0 };
    int more;
    if (db_query (c->db, &sql_task_stages, &r, err, V_INT (t->n)) < 0)
        return -1;
    while ((more = db_next (&r, err)) > 0 && out->stages.n < STAGES_MAX) {
        struct x_tasks_stage *s = stage_new (out);
        s->name = row_str (&r, 0, c->arena);
        s->started = time_text (c, row_int (&r, 1));
        s->ended = time_text (c, row_int (&r, 2));
        s->ok = row_int (&r, 3);
        s->has.ok = !row_null (&r, 3);
        s->detail = row_str (&r, 4, c->arena);
    }
    return more < 0 ? -1 : 0;
}

static void why_of (struct call *c, struct rows *r, struct text runtime, struct x_tasks_timeline_out *out)
{
    const char *status = row_str (r, 5, c->arena), *reason = row_str (r, 6, c->arena),
               *message = row_str (r, 7, c->arena);
    struct text code = json_get (runtime, "exit_code"), signal = json_get (runtime, "signal");
    struct x_tasks_why *w = arena_new (c->arena, struct x_tasks_why);
    struct str s = { .arena = c->arena };
    str_puts (&s, status);
    if (reason && *reason)
        str_addf (&s, ": %s", reason);
    if (message && *message && (!reason || strcmp (reason, message)))
        str_addf (&s, " (%s)", message);
    w->text = s.p;
    const char *words =
        reason ? strstr (reason, "exit code ") : NULL; /* as agents put it; below 0: a signal */
    int64_t number = words ? strtol (words + 10, NULL, 10) : 0;
    if (json_kind (code) > JSON_NULL || (words && number >= 0)) {
        w->exit_code = json_kind (code) > JSON_NULL ? json_int (code, 0) : number;
        w->has.exit_code = true;
    }
    if (json_kind (signal) > JSON_NULL || number < 0) {
        w->signal = json_kind (signal) > JSON_NULL ? json_int (signal, 0) : -number;
        w->has.signal = true;
    }
    out->why = w;
}

int x_tasks_timeline (struct call *c, const struct x_tasks_timeline_in *in, struct x_tasks_timeline_out *out,
                      struct error *err)
{
    struct task_facts t;
    struct task_doc d;
    cleanup_rows struct rows r = { 0 };
    if (task_facts (c, in->task, true, &t, err) < 0 || task_doc_read (c, t.n, &d, err) < 0 ||
        db_query (c->db, &sql_task_times, &r, err, V_INT (t.n)) < 0 || db_next (&r, err) < 0)
        return -1;
    int64_t created = row_int (&r, 0), started = row_int (&r, 1), completed = row_int (&r, 2),
            changed = row_int (&r, 4), enqueued = row_int (&r, 8);
    const char *status = row_str (&r, 5, c->arena);
    bool queued = !strcmp (status, "queued"), running = !strcmp (status, "in_progress");
    out->stages.v = arena_array (c->arena, struct x_tasks_stage, STAGES_MAX + 8);
    struct x_tasks_stage *s = stage_new (out);
    s->name = "created";
    s->started = s->ended = time_text (c, created);
    s->ok = s->has.ok = true;
    if (enqueued || queued) {
        s = stage_new (out);
        s->name = "queued";
        s->started = time_text (c, enqueued ? enqueued : changed);
        s->ended = queued || started < enqueued ? NULL : time_text (c, started);
        s->ok = s->has.ok = s->ended != NULL;
    }
    if (reported (c, &t, out, err) < 0)
        return -1;
    if (started) {
        s = stage_new (out);
        s->name = "running";
        s->started = time_text (c, started);
        s->ended = running ? NULL : time_text (c, completed ? completed : changed);
        s->has.ok = !running;
        s->ok = !strcmp (status, "completed") || !strcmp (status, "published") || !strcmp (status, "closed");
        s->detail = row_str (&r, 9, c->arena);
    }
    why_of (c, &r, d.runtime, out);
    return 0;
}

int x_tasks_stage (struct call *c, const struct x_tasks_stage_in *in, struct x_tasks_stage_out *out,
                   struct error *err)
{
    struct task_facts t;
    struct value ok = in->has.ok ? V_INT (in->ok) : V_NULL (),
                 started = in->has.started ? V_INT (in->started) : V_NULL (),
                 ended = in->has.ended ? V_INT (in->ended) : V_NULL ();
    (void)out;
    if (task_facts (c, in->task, false, &t, err) < 0)
        return -1;
    int64_t n = db_exec (c->db, &sql_task_stage_set, err, V_INT (t.n), V_STR (in->stage), started, ended, ok,
                         V_STR (in->detail));
    if (n == 0)
        n = db_exec (c->db, &sql_task_stage_put, err, V_INT (t.n), V_STR (in->stage), started, ended, ok,
                     V_STR (in->detail));
    call_ring (c, -1, "task/%s", t.id);
    return n < 0 ? -1 : 0;
}
