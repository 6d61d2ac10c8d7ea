/* tasks_test.c - tasks on a real store, where a clock must be turned or another service's part played: silent runs,
 * runs that come back, claims, queues that go. */
#include "base/unit.h"

#include "api/tasks.api.h"
#include "base/file.h"
#include "base/path.h"
#include "services/queues/queues.h"
#include "services/tasks/task.h"
#include "store/migrate.h"
#include "store/sqlite.h"

#include <stdio.h>
#include <stdlib.h>

static char folder[] = "/tmp/tasks_test.XXXXXX";
static struct db *db;

enum { HOUR = 3600 * 1000 };
static const int64_t T0 = 1700000000000;

static void in_write (void (*fn) (struct call *c))
{
    cleanup_arena struct arena *a = arena_create ();
    struct error err = { 0 };
    static const struct server_facts facts = { .files_url = "http://files.example:8081" };
    struct call c = { .arena = a,
                      .db = db,
                      .facts = &facts,
                      .who = { "c", "Company", "u", "User", "root", NULL, NULL },
                      .version = 2034,
                      .now = T0,
                      .now_us = T0 * 1000 };
    c.body = TEXT ("{}");
    assert_int_equal (db_step (db, STEP_BEGIN, &err), 0);
    fn (&c);
    assert_int_equal (db_step (db, STEP_ROLLBACK, &err), 0);
}

#define ok(expr)                                                                                             \
    do {                                                                                                     \
        struct error err = { 0 };                                                                            \
        if ((expr) < 0)                                                                                      \
            fail_msg (#expr ": %s", err.text);                                                               \
    } while (0)

static const char *new_task (struct call *c)
{
    struct tasks_create_in in = { .name = "a task", .type = "training" };
    struct tasks_create_out out = { 0 };
    ok (tasks_create (c, &in, &out, &err));
    return out.id;
}

static struct task_facts facts_of (struct call *c, const char *task)
{
    struct task_facts t = { 0 };
    ok (task_facts (c, task, false, &t, &err));
    return t;
}

static void start (struct call *c, const char *task)
{
    struct tasks_started_in in = { .task = task };
    struct tasks_started_out out = { 0 };
    ok (tasks_started (c, &in, &out, &err));
}

static void events_came (struct call *c, const char *task, int64_t iteration)
{
    struct task_facts t = facts_of (c, task);
    ok (task_touch_from_events (c, &t, iteration, &err));
}

static void worker_told (struct call *c, const char *task)
{
    struct task_facts t = facts_of (c, task);
    ok (task_touch_from_worker (c, &t, "box:0", &err));
}

/* Did it ring for who watches the task and for who follows its console? */
static bool rang (struct call *c, const char *task)
{
    static const char *const topics[] = { "task", "events" };
    int n = 0;
    for (struct effect *e = c->effects; e; e = e->next)
        for (int i = 0; i < 2; i++)
            n += e->what == EFFECT_RING && e->number < 0 &&
                 !strcmp (e->key, arena_printf (c->arena, "%s/%s", topics[i], task));
    assert_true (n == 0 || n == 2);
    return n;
}

static void silent (struct call *c)
{
    const char *quiet = new_task (c), *busy = new_task (c), *draft = new_task (c);
    const struct task_silence limits = { .lost_ms = 180 * 1000, .silent_ms = 2 * HOUR };
    int64_t n = 0;
    start (c, quiet);
    start (c, busy);
    c->now += 2 * HOUR;
    events_came (c, busy, 5);
    c->now++;
    ok (tasks_stop_silent (c, &(struct task_silence){ 0 }, 10, &n, &err));
    assert_int_equal (n, 0);
    ok (tasks_stop_silent (c, &limits, 10, &n, &err));
    assert_int_equal (n, 1);
    assert_string_equal (facts_of (c, quiet).status, "stopped");
    assert_string_equal (facts_of (c, busy).status, "in_progress");
    assert_string_equal (facts_of (c, draft).status, "created");
    assert_int_equal (facts_of (c, quiet).completed, 0);
    assert_int_equal (facts_of (c, busy).last_iteration, 5);
    /* the link is back: it never was dead */
    events_came (c, quiet, 7);
    assert_string_equal (facts_of (c, quiet).status, "in_progress");
    assert_int_equal (facts_of (c, quiet).last_iteration, 7);
    events_came (c, quiet, 3);
    assert_int_equal (facts_of (c, quiet).last_iteration, 7);
}

static const char *claimed_task (struct call *c, const char *token)
{
    const char *task = new_task (c);
    ok (task_queue (c, task, "q", &err));
    ok (task_claim (c, task, "box:0", "q", token, &err));
    return task;
}

static const char *word (struct call *c, const char *task, const char *column)
{
    struct tasks_get_by_id_in in = { .task = task };
    struct tasks_get_by_id_out out = { 0 };
    ok (tasks_get_by_id (c, &in, &out, &err));
    return json_string (c->arena, json_get (out.task, column));
}

/* A claimed run whose worker's machine is gone fails soon; what comes from it later revives it, whatever it is. */
static void lost (struct call *c)
{
    enum { LOST = 180 * 1000 };
    const struct task_silence limits = { .lost_ms = LOST, .silent_ms = 2 * HOUR };
    struct tasks_stop_in stop = { 0 };
    struct tasks_stop_out stopped = { 0 };
    struct tasks_ping_in ping = { 0 };
    struct tasks_ping_out pinged = { 0 };
    const char *by_hand = new_task (c), *alive, *gone[3], *wanted_end;
    int64_t n = 0;
    start (c, by_hand);
    alive = claimed_task (c, "t-alive");
    wanted_end = claimed_task (c, "t-end");
    for (int i = 0; i < 3; i++)
        gone[i] = claimed_task (c, arena_printf (c->arena, "t-%d", i));
    stop.task = wanted_end;
    ok (tasks_stop (c, &stop, &stopped, &err));
    assert_string_equal (facts_of (c, wanted_end).status, "in_progress");
    c->now += LOST;
    c->effects = NULL;
    ok (tasks_stop_silent (c, &limits, 10, &n, &err));
    assert_int_equal (n, 0);
    worker_told (c, alive);
    c->now += 1;
    ok (tasks_stop_silent (c, &limits, 10, &n, &err));
    assert_int_equal (n, 4);
    assert_true (rang (c, gone[0]) && rang (c, wanted_end) && !rang (c, alive));
    c->effects = NULL;
    assert_string_equal (facts_of (c, by_hand).status, "in_progress"); /* nobody said it would tell */
    assert_string_equal (facts_of (c, alive).status, "in_progress");
    assert_string_equal (facts_of (c, wanted_end).status, "stopped");
    assert_string_equal (facts_of (c, gone[0]).status, "failed");
    assert_string_equal (word (c, gone[0], "status_reason"), "Forced stop (worker lost)");
    assert_int_equal (facts_of (c, gone[0]).completed, 0);
    c->now += 1000;
    worker_told (c, gone[0]);
    events_came (c, gone[1], 7);
    ping.task = gone[2];
    ok (tasks_ping (c, &ping, &pinged, &err));
    for (int i = 0; i < 3; i++) {
        assert_true (rang (c, gone[i]));
        assert_string_equal (facts_of (c, gone[i]).status, "in_progress");
        assert_string_equal (word (c, gone[i], "status_reason"), "");
        assert_string_equal (word (c, gone[i], "status_message"), "");
    }
    c->effects = NULL;
    events_came (c, gone[0], 8);
    assert_false (rang (c, gone[0])); /* nothing new */
    worker_told (c, wanted_end);      /* it lives, and still has to end */
    assert_string_equal (facts_of (c, wanted_end).status, "in_progress");
    assert_string_equal (word (c, wanted_end, "status_message"), "stopping");
}

/* A whole cluster is gone: its runs end in slices, lost ones before silent ones. */
static void many_are_lost (struct call *c)
{
    const struct task_silence limits = { .lost_ms = 1000, .silent_ms = 1000 };
    int64_t n = 0;
    for (int i = 0; i < 5; i++)
        if (i < 3)
            claimed_task (c, arena_printf (c->arena, "t-%d", i));
        else
            start (c, new_task (c));
    c->now += 1001;
    for (int i = 0; i < 3; i++) {
        ok (tasks_stop_silent (c, &limits, 2, &n, &err));
        assert_int_equal (n, i < 2 ? 2 : 1);
    }
    ok (tasks_stop_silent (c, &limits, 2, &n, &err));
    assert_int_equal (n, 0);
}

static int ring_unless_bad (struct call *c, const char *id, const void *in, struct str *item,
                            struct error *err)
{
    (void)in;
    (void)item;
    call_ring (c, 1, "first/%s", id);
    call_ring (c, 1, "second/%s", id);
    return strncmp (id, "bad", 3) ? 0 : error_set (err, ERR_INVALID_TASK_ID, "bad");
}

/* What one of many asked for before it failed is undone with it. */
static void failures_leave_no_effects (struct call *c)
{
    static const char *const ids[] = { "bad 1", "a", "bad 2", "bad 3", "b", "bad 4" };
    static const char *const topics[] = { "before", "first/a", "second/a", "first/b", "second/b", "behind" };
    struct text done, failed;
    struct effect *e;
    size_t n = 0;
    ok (many_run (c, ids, 1, ring_unless_bad, NULL, &done, &failed, &err));
    assert_null (c->effects);
    call_ring (c, 1, "before");
    ok (many_run (c, ids, 6, ring_unless_bad, NULL, &done, &failed, &err));
    assert_int_equal (json_count (done), 2);
    call_ring (c, 1, "behind");
    for (e = c->effects; e && n < 6; e = e->next)
        assert_string_equal (e->key, topics[n++]);
    assert_true (n == 6 && !e);
}

/* Once it went back into a queue it is another run: the old worker's token is worth nothing. */
static void claim_ends_with_the_queue (struct call *c)
{
    const char *task = claimed_task (c, "old token");
    struct tasks_stopped_in in = { .task = task };
    struct tasks_stopped_out out = { 0 };
    struct tasks_enqueue_in again = { .task = task, .queue_name = "a queue", .update_execution_queue = true };
    struct tasks_enqueue_out queued = { 0 };
    ok (tasks_stopped (c, &in, &out, &err));
    assert_string_equal (task_claimed_with (c, "old token"), task);
    ok (tasks_enqueue (c, &again, &queued, &err));
    assert_null (task_claimed_with (c, "old token"));
}

static void stopped_by_hand_stays (struct call *c)
{
    const char *task = new_task (c);
    struct tasks_stopped_in in = { .task = task };
    struct tasks_stopped_out out = { 0 };
    start (c, task);
    ok (tasks_stopped (c, &in, &out, &err));
    events_came (c, task, 1);
    assert_string_equal (facts_of (c, task).status, "stopped");
}

static void claims (struct call *c)
{
    const char *task = new_task (c);
    struct tasks_enqueue_in in = { .task = task, .queue_name = "gpu queue", .update_execution_queue = true };
    struct tasks_enqueue_out out = { 0 };
    struct error why = { 0 };
    assert_int_equal (task_claim (c, task, "w", NULL, "token-1", &why), -1); /* not queued */
    assert_int_equal (why.code, ERR_INVALID_TASK_STATUS);
    ok (tasks_enqueue (c, &in, &out, &err));
    struct task_facts queued = facts_of (c, task);
    ok (task_claim (c, task, "w", queued.queue, "token-1", &err));
    struct task_facts t = facts_of (c, task);
    assert_string_equal (t.status, "in_progress");
    assert_string_equal (t.last_worker, "w");
    assert_string_equal (t.claim, "token-1");
    assert_int_equal (t.started, T0);
    assert_string_equal (task_claimed_with (c, "token-1"), task); /* asked again: the same */
    assert_null (task_claimed_with (c, "token-2"));
    assert_int_equal (task_claim (c, task, "w2", NULL, "token-2", &why), -1); /* given once */
    struct task_removed removed;
    struct task_reset how = { .force = true };
    ok (task_reset_one (c, task, &how, &removed, &err));
    assert_null (task_claimed_with (c, "token-1"));
}

static void queue_goes (struct call *c)
{
    const char *task = new_task (c);
    struct tasks_enqueue_in in = { .task = task,
                                   .queue_name = "short lived",
                                   .update_execution_queue = true };
    struct tasks_enqueue_out out = { 0 };
    ok (tasks_enqueue (c, &in, &out, &err));
    ok (task_unqueue (c, task, false, "the queue went", &err));
    assert_string_equal (facts_of (c, task).status, "created");
    assert_non_null (facts_of (c, task).queue);
    ok (task_unqueue (c, task, true, "", &err));
    assert_null (facts_of (c, task).queue);
    ok (task_unqueue (c, "no such task", true, "", &err));
    ok (task_queue (c, task, "q", &err));
    assert_string_equal (facts_of (c, task).enqueue_status, "created");
}

/* Files under our own server or with the task's id in their path go with it; others stay. */
static void files_go (struct call *c)
{
    const char *task = new_task (c);
    c->body = text_of (arena_printf (
        c->arena,
        "{\"artifacts\":[{\"key\":\"a\",\"type\":\"t\",\"uri\":\"http://files.example:8081/x/a\"},"
        "{\"key\":\"b\",\"type\":\"t\",\"uri\":\"http://other.example/p/n.%s/artifacts/b\"},"
        "{\"key\":\"c\",\"type\":\"t\",\"uri\":\"http://other.example/precious\"},"
        "{\"key\":\"d\",\"type\":\"t\",\"uri\":\"s3://bucket/%s/d\"},"
        "{\"key\":\"e\",\"type\":\"t\",\"uri\":\"http://files.example:8081/given\",\"mode\":\"input\"}]}",
        task, task));
    struct tasks_add_or_update_artifacts_in in = { .task = task };
    struct tasks_add_or_update_artifacts_out out = { 0 };
    struct task_removed removed;
    ok (tasks_add_or_update_artifacts (c, &in, &out, &err));
    c->effects = NULL;
    struct task_delete keep = { .keep_files = true, .urls = true }, how = { 0 };
    struct str gone = { .arena = c->arena };
    assert_int_equal (db_save (db, &(struct error){ 0 }), 0);
    ok (task_delete_one (c, task, &keep, &removed, &err));
    for (struct effect *e = c->effects; e; e = e->next)
        assert_int_not_equal (e->what, EFFECT_FILES_DELETE);
    assert_int_equal (json_count (json_get (removed.urls, "artifact_urls")), 4);
    assert_int_equal (db_undo (db, &(struct error){ 0 }), 0);
    ok (task_delete_one (c, task, &how, &removed, &err));
    for (struct effect *e = c->effects; e; e = e->next)
        if (e->what == EFFECT_FILES_DELETE)
            str_addf (&gone, "%s ", strrchr (e->key, '/') + 1);
    assert_string_equal (gone.p, "a b ");
}

#define T(name)                                                                                              \
    static void test_##name (void **state)                                                                   \
    {                                                                                                        \
        (void)state;                                                                                         \
        in_write (name);                                                                                     \
    }
T (silent)
T (lost)
T (many_are_lost)
T (failures_leave_no_effects)
T (claim_ends_with_the_queue)
T (stopped_by_hand_stays)
T (claims)
T (queue_goes)
T (files_go)

static int set_up (void **state)
{
    struct error err = { 0 };
    char path[64];
    (void)state;
    if (!mkdtemp (folder))
        return -1;
    snprintf (path, sizeof path, "%s/db", folder);
    if (db_open (path, CONNECTION_WRITER, true, &db, &err) < 0 || migrate (db, folder, &err) < 0) {
        print_error ("%s\n", err.text);
        return -1;
    }
    return 0;
}

static int tear_down (void **state)
{
    struct error err;
    (void)state;
    db_close (db);
    return folder_remove (folder, &err);
}

int main (void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test (test_silent),
                                        cmocka_unit_test (test_lost),
                                        cmocka_unit_test (test_many_are_lost),
                                        cmocka_unit_test (test_failures_leave_no_effects),
                                        cmocka_unit_test (test_claim_ends_with_the_queue),
                                        cmocka_unit_test (test_stopped_by_hand_stays),
                                        cmocka_unit_test (test_claims),
                                        cmocka_unit_test (test_queue_goes),
                                        cmocka_unit_test (test_files_go) };
    return cmocka_run_group_tests (tests, set_up, tear_down);
}
