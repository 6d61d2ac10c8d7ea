/* claim.c - x_queues.claim: our agents take work by one write. In: queues in order of preference, the worker, a token it
 * made and wrote down before it asked. Out: a task that is already in progress for that worker.
 *
 * The same token gives the same task again, so a lost answer costs nothing. With wait_ms the call sleeps on the bells of
 * its queues; each new entry wakes one sleeper, the oldest. */
#include "api/x_queues.api.h"

#include "base/json.h"
#include "services/queues/rules.h"
#include "services/tasks/tasks.h"

enum { QUEUES_MAX = 100, TOKEN_MAX = 128, WAIT_MAX_MS = 60000 };

static int check (const struct x_queues_claim_in *in, struct error *err)
{
    size_t token = strlen (in->token);

    if (!in->queues.n || in->queues.n > QUEUES_MAX)
        return error_set (err, ERR_VALIDATION, "queues: give 1 to %d queues", QUEUES_MAX);
    if (!*in->worker)
        return error_set (err, ERR_VALIDATION, "worker: empty");
    if (token < 16 || token > TOKEN_MAX)
        return error_set (err, ERR_VALIDATION, "token: give 16 to %d characters, random for each new claim",
                          TOKEN_MAX);
    if (in->wait_ms < 0 || in->wait_ms > WAIT_MAX_MS)
        return error_set (err, ERR_VALIDATION, "wait_ms: %lld is not between 0 and %d",
                          (long long)in->wait_ms, WAIT_MAX_MS);
    return 0;
}

static int answer (struct call *c, const char *task, const char *queue, struct x_queues_claim_out *out,
                   struct error *err)
{
    struct str s = { .arena = c->arena };
    struct task_facts f;

    if (task_facts (c, task, false, &f, err) < 0)
        return -1;
    str_putc (&s, '{');
    json_put_some (&s, "name", f.name);
    json_put_some (&s, "type", f.type);
    json_put_some (&s, "project", f.project);
    json_put_some (&s, "user", f.user);
    json_put_some (&s, "company", f.company);
    str_putc (&s, '}');
    out->task = f.id;
    out->queue = queue ? queue : f.queue;
    out->task_info = str_text (&s);
    return 0;
}

/* The first entry whose task still wants to run. Entries of tasks that are gone or no longer queued are dropped.
 * 1 taken, 0 none */
static int claim_from (struct call *c, const struct x_queues_claim_in *in, struct queue *q,
                       struct queue_entry *ret, struct error *err)
{
    int found;

    while ((found = queue_pop (c, q, ret, err)) > 0) {
        if (task_claim (c, ret->task, in->worker, q->id, in->token, err) == 0)
            return 1;
        if (!task_not_own (err) && err->code != ERR_INVALID_TASK_STATUS)
            return -1;
    }
    return found;
}

static void wait_for_entry (struct call *c, const struct x_queues_claim_in *in)
{
    struct str s = { .arena = c->arena };

    for (size_t i = 0; i < in->queues.n; i++)
        str_addf (&s, "%squeue/%s", i ? "\n" : "", in->queues.v[i]);
    call_wait (c, in->wait_ms, "%s", s.p);
}

int x_queues_claim (struct call *c, const struct x_queues_claim_in *in, struct x_queues_claim_out *out,
                    struct error *err)
{
    struct queue_entry e;
    const char *before;
    struct queue q;
    int found;

    if (check (in, err) < 0)
        return -1;
    if ((before = task_claimed_with (c, in->token)))
        return answer (c, before, NULL, out, err);
    if (queue_land (c, 100, err) < 0)
        return -1;
    for (size_t i = 0; i < in->queues.n; i++) {
        if (queue_load (c, in->queues.v[i], &q, err) < 0 || (found = claim_from (c, in, &q, &e, err)) < 0)
            return -1;
        if (found)
            return answer (c, e.task, q.id, out, err);
    }
    if (in->wait_ms && !c->last_try)
        wait_for_entry (c, in);
    return 0;
}
