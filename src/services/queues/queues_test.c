/* queues_test.c - the rules of queues that need a turned clock or a look inside, on a real store with real tasks: flight,
 * lengths that follow the entries, bells, samples, claims. */
#include "base/unit.h"

#include "api/tasks.api.h"
#include "api/x_queues.api.h"
#include "base/file.h"
#include "base/path.h"
#include "services/queues/rules.h"
#include "services/tasks/tasks.h"
#include "sql/sql.h"
#include "store/migrate.h"
#include "store/sqlite.h"
#include "store/volatile.h"

#include <stdio.h>
#include <stdlib.h>

static char folder[] = "/tmp/queues_test.XXXXXX";
static struct db *db;
static struct volatile_store *volatiles;
static struct server_facts facts;

/* -- each test runs in one transaction, on the test's own thread ------------------------------------------------- */
static void in_write (void (*fn) (struct call *c))
{
    cleanup_arena struct arena *a = arena_create ();
    struct error err = { 0 };
    struct call c = { .arena = a,
                      .db = db,
                      .facts = &facts,
                      .who = { "c", "Company", "u", "User", "root", NULL, NULL, 0 },
                      .version = 2034,
                      .now = 1700000000000,
                      .now_us = 1700000000000000 };

    assert_int_equal (db_step (db, STEP_BEGIN, &err), 0);
    fn (&c);
    assert_int_equal (db_step (db, STEP_COMMIT, &err), 0);
}

#define ok(expr)                                                                                             \
    do {                                                                                                     \
        if ((expr) < 0)                                                                                      \
            fail_msg (#expr ": %s", err.text);                                                               \
    } while (0)

static void at (struct call *c, int64_t ms)
{
    c->now = 1700000000000 + ms;
    c->now_us = c->now * 1000;
}

static const char *new_queue (struct call *c, const char *name)
{
    struct error err = { 0 };
    const char *id = NULL;

    ok (queue_create (c, name, NULL, (struct text){ 0 }, (struct text){ 0 }, (struct text){ 0 }, &id, &err));
    return id;
}

static const char *new_task (struct call *c)
{
    struct tasks_create_in in = { .has = { .name = true, .type = true },
                                  .name = "a task",
                                  .type = "training" };
    struct tasks_create_out out = { 0 };
    struct error err = { 0 };

    c->body = TEXT ("{\"name\":\"a task\",\"type\":\"training\"}");
    ok (tasks_create (c, &in, &out, &err));
    return out.id;
}

/* A task that waits in the queue, status and entry. */
static const char *queued_task (struct call *c, const char *queue)
{
    const char *task = new_task (c);
    struct error err = { 0 };

    ok (task_queue (c, task, queue, &err));
    ok (queue_add (c, queue, task, &err));
    return task;
}

/* "T1 T2": entries as letters of the tasks given */
static const char *order (struct call *c, const char *queue, const char *const *tasks, size_t n)
{
    cleanup_rows struct rows r = { 0 };
    struct error err = { 0 };
    struct str s = { .arena = c->arena };
    struct queue q;
    int64_t sum = 0, length = 0;

    ok (queue_load (c, queue, &q, &err));
    ok (db_query (c->db, &sql_queue_entry_list, &r, &err, V_INT (q.seq), V_INT (-1)));
    str_puts (&s, "");
    while (db_next (&r, &err) > 0) {
        size_t i = 0;

        while (i < n && !text_is (row_text (&r, 0), tasks[i]))
            i++;
        str_putc (&s, (char)('a' + i));
        length++;
        sum += row_int (&r, 1);
    }
    assert_int_equal (q.length, length); /* in every test, after every step */
    assert_int_equal (q.added_sum, sum);
    return s.p ? s.p : "";
}

static const char *pop (struct call *c, const char *queue)
{
    struct error err = { 0 };
    struct queue q;
    struct queue_entry e = { 0 };

    ok (queue_load (c, queue, &q, &err));
    ok (queue_pop (c, &q, &e, &err));
    if (e.task)
        ok (queue_fly (c, &q, &e, &err));
    return e.task;
}

/* -- flight ------------------------------------------------------------------------------------------------------ */
static void flight_body (struct call *c)
{
    struct error err = { 0 };
    const char *q = new_queue (c, "flight"), *t[4];

    for (int i = 0; i < 4; i++) {
        at (c, i);
        t[i] = queued_task (c, q);
    }
    at (c, 1000);
    assert_string_equal (pop (c, q), t[0]);
    at (c, 2000);
    assert_string_equal (pop (c, q), t[1]);
    assert_string_equal (order (c, q, t, 4), "cd");
    at (c, 1000 + QUEUE_FLIGHT_MS - 1);
    assert_int_equal (queue_land (c, 100, &err), 0);
    at (c, 2000 + QUEUE_FLIGHT_MS);
    c->effects = NULL;
    assert_int_equal (queue_land (c, 100, &err), 2);
    assert_string_equal (order (c, q, t, 4), "abcd"); /* to the head, in their old order */
    assert_int_equal (c->effects->what, EFFECT_RING);
    assert_string_equal (c->effects->key, arena_printf (c->arena, "queue/%s", q));

    /* a sign of life: it does not come back */
    assert_string_equal (pop (c, q), t[0]);
    ok (queue_confirm (c, t[0], &err));
    /* started, but the sign was missed: the status says enough */
    assert_string_equal (pop (c, q), t[1]);
    ok (task_claim (c, t[1], "w", q, "token", &err));
    /* its queue is gone */
    at (c, 10000000);
    assert_true (queue_land (c, 100, &err) >= 0);
    assert_string_equal (order (c, q, t, 4), "cd");
}

static void flight (void **state)
{
    (void)state;
    in_write (flight_body);
}

static void flight_ends_body (struct call *c)
{
    struct error err = { 0 };
    const char *q = new_queue (c, "gone soon"), *other = new_queue (c, "other one"), *t = queued_task (c, q);
    struct queue loaded;

    /* queued elsewhere while in flight: stays there only */
    assert_string_equal (pop (c, q), t);
    ok (queue_add (c, other, t, &err));
    at (c, 10000000);
    assert_int_equal (queue_land (c, 100, &err), 0);
    assert_string_equal (order (c, q, &t, 1), "");
    assert_string_equal (order (c, other, &t, 1), "a");

    /* taken out while in flight */
    assert_string_equal (pop (c, other), t);
    assert_int_equal (queue_remove (c, other, t, &err), -1);
    assert_int_equal (err.code, ERR_TASK_NOT_QUEUED);
    at (c, 20000000);
    assert_int_equal (queue_land (c, 100, &err), 0);

    /* its queue is deleted while in flight */
    ok (queue_add (c, other, t, &err));
    assert_string_equal (pop (c, other), t);
    ok (queue_load (c, other, &loaded, &err));
    ok (queue_delete (c, &loaded, true, &err));
    at (c, 30000000);
    assert_int_equal (queue_land (c, 100, &err), 0);

    /* its task is deleted while in flight */
    ok (queue_add (c, q, "0123456789abcdef0123456789abcdef", &err));
    assert_string_equal (pop (c, q), "0123456789abcdef0123456789abcdef");
    at (c, 40000000);
    assert_int_equal (queue_land (c, 100, &err), 1);
    assert_string_equal (order (c, q, &t, 1), "");
}

static void flight_ends (void **state)
{
    (void)state;
    in_write (flight_ends_body);
}

/* -- order ------------------------------------------------------------------------------------------------------- */
/* Random moves against a plain array. */
static void moves_body (struct call *c)
{
    enum { N = 8 };
    struct error err = { 0 };
    const char *q = new_queue (c, "moves"), *t[N];
    char want[N + 1] = "abcdefgh";

    srand (7);
    for (int i = 0; i < N; i++) {
        t[i] = arena_printf (c->arena, "%032d", i);
        ok (queue_add (c, q, t[i], &err));
    }
    for (int i = 0; i < 400; i++) {
        int from = rand () % N, by = rand () % (2 * N + 1) - N, to = from + by;
        int64_t position = -1;
        char moved = want[from];

        to = to < 0 ? 0 : to > N - 1 ? N - 1 : to;
        ok (queue_move (c, q, t[moved - 'a'], by, &position, &err));
        memmove (want + from, want + from + 1, (size_t)(N - from));
        memmove (want + to + 1, want + to, (size_t)(N - to));
        want[to] = moved;
        want[N] = '\0';
        assert_int_equal (position, to);
        assert_string_equal (order (c, q, t, N), want);
    }
}

static void moves (void **state)
{
    (void)state;
    in_write (moves_body);
}

/* -- samples ----------------------------------------------------------------------------------------------------- */
static void samples_body (struct call *c)
{
    cleanup_rows struct rows r = { 0 };
    struct error err = { 0 };
    const char *q = new_queue (c, "samples");
    struct queue loaded;

    at (c, 0);
    ok (queue_add (c, q, "t1", &err));
    at (c, 10000);
    ok (queue_add (c, q, "t2", &err)); /* waits: 10 s and 0 s */
    at (c, 10500);
    ok (queue_remove (c, q, "t1", &err)); /* the same second: the longer wait stays */
    ok (queue_load (c, q, &loaded, &err));
    ok (db_query (c->db, &sql_queue_sample_list, &r, &err, V_INT (loaded.seq), V_INT (0), V_INT (1LL << 40)));
    assert_int_equal (db_next (&r, &err), 1);
    assert_true (row_real (&r, 2) == 0);
    assert_int_equal (row_int (&r, 3), 1);
    assert_int_equal (db_next (&r, &err), 1);
    assert_int_equal (row_int (&r, 0), 1700000010);
    assert_true (row_real (&r, 2) == 5);
    assert_int_equal (row_int (&r, 3), 2);
    assert_int_equal (db_next (&r, &err), 0);
}

static void samples (void **state)
{
    (void)state;
    in_write (samples_body);
}

/* -- claims ------------------------------------------------------------------------------------------------------ */
static void claims_body (struct call *c)
{
    struct error err = { 0 };
    const char *high = new_queue (c, "high"), *low = new_queue (c, "low one"), *queues[] = { high, low };
    const char *t = queued_task (c, low);
    struct x_queues_claim_in in = {
        .queues = { queues, 2 }, .worker = "w", .token = "0123456789abcdef", .wait_ms = 500
    };
    struct x_queues_claim_out out = { 0 }, again = { 0 }, none = { 0 };

    ok (x_queues_claim (c, &in, &out, &err));
    assert_string_equal (out.task, t);
    assert_string_equal (out.queue, low);
    assert_null (c->wait_topic);
    ok (x_queues_claim (c, &in, &again, &err));
    assert_string_equal (again.task, t);
    assert_string_equal (again.queue, low);

    in.token = "another token 16";
    ok (x_queues_claim (c, &in, &none, &err));
    assert_null (none.task);
    assert_string_equal (c->wait_topic, arena_printf (c->arena, "queue/%s\nqueue/%s", high, low));
    assert_int_equal (c->wait_until, c->now + 500);
    at (c, 200); /* woken in vain: the time does not begin anew */
    c->wait_topic = NULL;
    ok (x_queues_claim (c, &in, &none, &err));
    assert_non_null (c->wait_topic);
    assert_int_equal (c->wait_until, 1700000000500);
    c->wait_topic = NULL;
    c->last_try = true;
    ok (x_queues_claim (c, &in, &none, &err));
    assert_null (c->wait_topic);
}

static void claims (void **state)
{
    (void)state;
    in_write (claims_body);
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (flight),  cmocka_unit_test (flight_ends), cmocka_unit_test (moves),
        cmocka_unit_test (samples), cmocka_unit_test (claims),
    };
    cleanup_arena struct arena *a = arena_create ();
    struct error err = { 0 };
    int failed;

    if (!mkdtemp (folder) ||
        db_open (path_join (a, folder, "stoker.db"), CONNECTION_WRITER, true, &db, &err) < 0 ||
        migrate (db, folder, &err) < 0) {
        fprintf (stderr, "%s\n", err.text);
        return 1;
    }
    volatiles = volatile_create ();
    facts = (struct server_facts){ .company = "c", .company_name = "Company", .volatiles = volatiles };
    failed = cmocka_run_group_tests (tests, NULL, NULL);
    db_close (db);
    volatile_destroy (volatiles);
    return folder_remove (folder, &err) < 0 ? 1 : failed;
}
