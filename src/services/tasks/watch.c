/* watch.c - the long poll by which a task's agent learns that its status or message changed ("stopping"). */
#include "api/x_tasks.api.h"
#include "base/digest.h"
#include "services/tasks/task.h"

enum { WAIT_MOST_MS = 30000 };

static bool same (const char *a, const char *b)
{
    return !strcmp (a ? a : "", b ? b : "");
}

int x_tasks_watch (struct call *c, const struct x_tasks_watch_in *in, struct x_tasks_watch_out *out,
                   struct error *err)
{
    struct task_facts t;
    cleanup_rows struct rows r = { 0 };
    if (task_facts (c, in->task, false, &t, err) < 0 ||
        db_query (c->db, &sql_task_times, &r, err, V_INT (t.n)) < 0 || db_next (&r, err) < 0)
        return -1;
    out->status = row_str (&r, 5, c->arena);
    out->status_message = row_str (&r, 7, c->arena);
    out->run = digest_mark (c->arena, row_str (&r, 11, c->arena));
    if (in->wait_ms > 0 && !c->last_try && same (out->status, in->status) &&
        same (out->status_message, in->status_message) && (!in->run || same (out->run, in->run)))
        call_wait (c, in->wait_ms < WAIT_MOST_MS ? in->wait_ms : WAIT_MOST_MS, "task/%s", t.id);
    return 0;
}
