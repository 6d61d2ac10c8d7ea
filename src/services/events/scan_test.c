/* Tests of the event scanners and of packing a request. The fast way and the general way must say the same of every
 * line that the fast way takes. */
#include "services/events/scan.h"

#include "base/unit.h"
#include "services/events/batch.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static const struct event_defaults defaults = { .worker = "host \"x\"", .now = 1234 };

static void assert_text (struct text a, struct text b)
{
    if (!text_equal (a, b))
        fail_msg ("'%.*s' is not '%.*s'", (int)a.n, a.p, (int)b.n, b.p);
}

/* Both ways; true when the fast one took the line. */
static bool compare (const char *line)
{
    cleanup_arena struct arena *a = arena_create ();
    struct str extra = { .arena = a };
    struct event fast, slow;
    struct error err;

    if (!event_scan (line, line + strlen (line), &defaults, &extra, &fast))
        return false;
    if (event_read (a, text_of (line), &defaults, &slow, &err) < 0)
        fail_msg ("%s: %s", line, err.text);
    if (slow.problem)
        fail_msg ("%s: %s", line, slow.problem);
    assert_int_equal (fast.type, slow.type);
    assert_text (fast.task, slow.task);
    assert_text (fast.metric, slow.metric);
    assert_text (fast.variant, slow.variant);
    assert_text (fast.extra, slow.extra);
    assert_int_equal (fast.iter, slow.iter);
    assert_int_equal (fast.time, slow.time);
    assert_int_equal (fast.model, slow.model);
    assert_int_equal (fast.allow_locked, slow.allow_locked);
    assert_memory_equal (&fast.value, &slow.value, sizeof (double));
    return true;
}

static void fast_way_takes_what_clients_send (void **state)
{
    (void)state;
    assert_true (compare ("{\"timestamp\": 1795973999516, \"type\": \"training_stats_scalar\", \"task\": "
                          "\"f7a51ac0a83d4e39b2c313bd23472956\", "
                          "\"iter\": 0, \"metric\": \"loss.a/b\", \"variant\": \"train $x\", \"value\": 1.0, "
                          "\"allow_locked\": false, "
                          "\"model_event\": false, \"method\": \"get\"}"));
    assert_true (compare ("{\"timestamp\":1,\"type\":\"training_stats_scalar\",\"task\":\"t\",\"iter\":-"
                          "2147483648,\"value\":-0.0,"
                          "\"worker\":\"vm:0\",\"n\":null,\"b\":true}"));
    assert_true (compare (" {\"type\":\"training_stats_scalar\",\"task\":\"t\"}\r"));
}

static void fast_way_leaves_the_rest (void **state)
{
    static const char *const lines[] = {
        "",
        "{",
        "{}",
        "[]",
        "{\"type\":\"log\",\"task\":\"t\"}",
        "{\"type\":\"training_stats_scalar\"}",
        "{\"type\":\"training_stats_scalar\",\"task\":\"\"}",
        "{\"type\":\"training_stats_scalar\",\"task\":\"t\",\"value\":NaN}",
        "{\"type\":\"training_stats_scalar\",\"task\":\"t\",\"value\":1e400}",
        "{\"type\":\"training_stats_scalar\",\"task\":\"t\",\"value\":\"1\"}",
        "{\"type\":\"training_stats_scalar\",\"task\":\"t\",\"value\":01}",
        "{\"type\":\"training_stats_scalar\",\"task\":\"t\",\"value\":1.}",
        "{\"type\":\"training_stats_scalar\",\"task\":\"t\",\"value\":-}",
        "{\"type\":\"training_stats_scalar\",\"task\":\"t\",\"iter\":1.5}",
        "{\"type\":\"training_stats_scalar\",\"task\":\"t\",\"iter\":9223372036854775808}",
        "{\"type\":\"training_stats_scalar\",\"task\":\"t\",\"task\":\"u\"}",
        "{\"type\":\"training_stats_scalar\",\"task\":\"t\",\"x\":{}}",
        "{\"type\":\"training_stats_scalar\",\"task\":\"t\",}",
        "{\"type\":\"training_stats_scalar\",\"task\":\"t\"} x",
        "{\"type\":\"training_stats_scalar\",\"task\":\"t\",\"metric\":\"a\\u0041\"}",
    };

    (void)state;
    for (size_t i = 0; i < sizeof (lines) / sizeof (*lines); i++)
        if (compare (lines[i]))
            fail_msg ("taken: %s", lines[i]);
}

static const char *pick (const char *const *v, size_t n, unsigned *seed)
{
    return v[(unsigned)rand_r (seed) % n];
}
#define PICK(list, seed) pick ((list), sizeof (list) / sizeof (*(list)), (seed))

/* Lines made of likely and unlikely pieces, often broken: whatever the fast way takes, both must agree on. */
static void both_ways_agree (void **state)
{
    static const char *const keys[] = { "type",         "task",        "iter",      "metric",
                                        "variant",      "value",       "timestamp", "worker",
                                        "allow_locked", "model_event", "method",    "values",
                                        "ts",           "x",           "model",     "@timestamp",
                                        "x_axis_label", "x_run",       "x_offset",  "plot_len" };
    static const char *const values[] = { "\"training_stats_scalar\"",
                                          "\"training stats scalar\"",
                                          "\"t\"",
                                          "\"\"",
                                          "0",
                                          "-0",
                                          "7",
                                          "-12",
                                          "1.5",
                                          "-0.0",
                                          "1e3",
                                          "1E-7",
                                          "123456789012345678",
                                          "0.1",
                                          "0.30000000000000004",
                                          "12345678901234567.5",
                                          "9.999999999999999e22",
                                          "2.5e-308",
                                          "1e309",
                                          "true",
                                          "false",
                                          "null",
                                          "NaN",
                                          "Infinity",
                                          "\"a b\"",
                                          "\"\\n\"",
                                          "[]",
                                          "{\"a\":1}",
                                          "179597399951.6",
                                          "1795973999516",
                                          "4.9406564584124654e-324",
                                          "0.000001",
                                          "\"w\x7f\"" };
    static const char *const numbers[] = {
        "0", "-7", "1795973999516", "0.1", "0.3333333333333333", "-1.5e-9"
    };
    static const char *const plain[] = { "\"loss\"", "\"a/b $x\"", "false", "true", "3" };
    static const char *const gaps[] = { "", "", "", " ", "\t", "  " };
    unsigned seed = 1;
    size_t taken = 0;
    char line[4096];

    (void)state;
    for (int round = 0; round < 200000; round++) {
        int n = 1 + rand_r (&seed) % 5, at = 0;

        at += sprintf (line + at, "%s{%s", PICK (gaps, &seed), PICK (gaps, &seed));
        at += sprintf (line + at, "\"type\":%s\"training_stats_scalar\",\"task\":\"t\"", PICK (gaps, &seed));
        for (int i = 0; i < n; i++) {
            const char *key = PICK (keys, &seed);
            bool number = !strcmp (key, "iter") || !strcmp (key, "timestamp") || !strcmp (key, "value");
            const char *value = rand_r (&seed) % 8 == 0 ? PICK (values, &seed)
                                : number                ? PICK (numbers, &seed)
                                                        : PICK (plain, &seed);

            at += sprintf (line + at, "%s,%s\"%s\"%s:%s%s", PICK (gaps, &seed), PICK (gaps, &seed), key,
                           PICK (gaps, &seed), PICK (gaps, &seed), value);
        }
        at += sprintf (line + at, "%s}%s", PICK (gaps, &seed), PICK (gaps, &seed));
        if (rand_r (&seed) % 20 == 0)
            line[rand_r (&seed) % at] = (char)(rand_r (&seed) % 95 + 32);
        taken += compare (line);
    }
    assert_in_range (taken, 10000, 190000); /* the mix is neither all plain nor all odd */
}

/* Numbers of all lengths and sizes must come out as strtod reads them. */
static void numbers_are_exact (void **state)
{
    cleanup_arena struct arena *a = arena_create ();
    struct str extra = { .arena = a };
    unsigned seed = 42;

    (void)state;
    for (int i = 0; i < 300000; i++) {
        char number[64], line[256];
        struct event e;
        double v;

        if (i % 3 == 0) {
            uint64_t bits =
                (uint64_t)rand_r (&seed) << 40 ^ (uint64_t)rand_r (&seed) << 20 ^ (uint64_t)rand_r (&seed);

            memcpy (&v, &bits, 8);
            snprintf (number, sizeof (number), "%.17g", isfinite (v) ? v : 0);
        } else {
            v = (rand_r (&seed) - RAND_MAX / 2) / (1.0 + rand_r (&seed)) * pow (10, rand_r (&seed) % 20 - 10);
            snprintf (number, sizeof (number), "%.*g", 1 + rand_r (&seed) % 19, v);
        }
        snprintf (line, sizeof (line), "{\"type\":\"training_stats_scalar\",\"task\":\"t\",\"value\":%s}",
                  number);
        str_reset (&extra);
        if (!event_scan (line, line + strlen (line), &defaults, &extra, &e))
            continue; /* e-308 and the like are left to the other way */
        v = strtod (number, NULL);
        if (memcmp (&v, &e.value, 8) != 0)
            fail_msg ("%s was read as %.17g", number, e.value);
    }
}

static struct event read_one (struct arena *a, const char *line)
{
    struct event e;
    struct error err;

    if (event_read (a, text_of (line), &defaults, &e, &err) < 0)
        fail_msg ("%s: %s", line, err.text);
    return e;
}

static void values_are_coerced (void **state)
{
#define SCALAR "{\"type\":\"training_stats_scalar\",\"task\":\"t\","
    cleanup_arena struct arena *a = arena_create ();

    (void)state;
    assert_int_equal (read_one (a, SCALAR "\"iter\":\"7\"}").iter, 7);
    assert_int_equal (read_one (a, SCALAR "\"iter\":1.5}").iter, 1);
    assert_int_equal (read_one (a, SCALAR "\"iter\":null}").iter, SERIES_NO_ITER);
    assert_non_null (read_one (a, SCALAR "\"iter\":1e30}").problem);
    assert_non_null (read_one (a, SCALAR "\"iter\":\"x\"}").problem);
    assert_true (isnan (read_one (a, SCALAR "\"value\":NaN}").value));
    assert_true (isnan (read_one (a, SCALAR "\"value\":\"NaN\"}").value));
    assert_false (point_is_none (read_one (a, SCALAR "\"value\":NaN}").value));
    assert_true (read_one (a, SCALAR "\"value\":\"-Infinity\"}").value == -INFINITY);
    assert_true (read_one (a, SCALAR "\"value\":Infinity}").value == INFINITY);
    assert_false (point_is_none (read_one (a, SCALAR "\"value\":null}").value));
    assert_true (isnan (read_one (a, SCALAR "\"value\":null}").value));
    assert_true (point_is_none (read_one (a, SCALAR "\"iter\":1}").value));
    assert_non_null (read_one (a, SCALAR "\"value\":true}").problem);
    assert_non_null (read_one (a, SCALAR "\"value\":\"1\"}").problem);
    assert_non_null (read_one (a, SCALAR "\"value\":1e400}").problem);
    assert_true (read_one (a, SCALAR "\"values\":4}").value == 4);
    assert_int_equal (read_one (a, SCALAR "\"timestamp\":5}").time, 5);
    assert_int_equal (read_one (a, SCALAR "\"ts\":6}").time, 6);
    assert_int_equal (read_one (a, SCALAR "\"x\":1}").time, 1234);
    assert_non_null (read_one (a, SCALAR "\"timestamp\":\"2026-01-01\"}").problem);
    assert_int_equal (read_one (a, "{\"type\":\"training debug image\",\"task\":\"t\"}").type, EVENT_IMAGE);
    assert_non_null (read_one (a, "{\"type\":\"bogus\",\"task\":\"t\"}").problem);
    assert_non_null (read_one (a, "{\"task\":\"t\"}").problem);
    assert_non_null (read_one (a, "{\"type\":\"log\"}").problem);
    assert_non_null (read_one (a, "{\"type\":\"log\",\"model\":\"m\",\"model_event\":true}").problem);
    assert_text (read_one (a, "{\"type\":\"plot\",\"model\":\"m\",\"model_event\":true}").task, TEXT ("m"));
    assert_text (read_one (a, SCALAR "\"metric\":null}").metric, TEXT (""));
    assert_text (
        read_one (a, SCALAR "\"worker\":\"w\",\"x\":[NaN,-Infinity,\"NaN\\\\\",{\"I\":Infinity}],\"y\":NaN}")
            .extra,
        TEXT (
            "\"worker\":\"w\",\"x\":[null,null,\"NaN\\\\\",{\"I\":null}],\"y\":null,\"model_event\":false"));
}

static void console_events_are_told_apart (void **state)
{
    cleanup_arena struct arena *a = arena_create ();
    struct event e = read_one (
        a, "{\"type\":\"log\",\"task\":\"t\",\"level\":\"INFO\",\"msg\":\"a\\u0000b\\n\",\"method\":\"get\","
           "\"x_run\":\"r\",\"x_offset\":17,\"iter\":3}");

    (void)state;
    assert_null (e.problem);
    assert_text (e.level, TEXT ("INFO"));
    assert_text (e.worker, TEXT ("host \"x\""));
    assert_int_equal (e.msg.n, 4);
    assert_memory_equal (e.msg.p, "a\0b\n", 4);
    assert_text (e.run, TEXT ("r"));
    assert_int_equal (e.offset, 17);
    assert_text (e.extra, TEXT ("\"method\":\"get\",\"iter\":3,\"model_event\":false"));
}

/* -- packing --------------------------------------------------------------------------------------------------------- */

static struct event_batch *batch_of (struct arena *a, const char *lines)
{
    struct event_batch *b;
    struct error err;

    if (event_batch_read (a, text_of (lines), true, &defaults, &b, &err) < 0)
        fail_msg ("%s", err.text);
    return b;
}

static void requests_are_packed_by_task (void **state)
{
    cleanup_arena struct arena *a = arena_create ();
    struct event_batch *b =
        batch_of (a, "{\"type\":\"training_stats_scalar\",\"task\":\"t1\",\"metric\":\"m\",\"variant\":\"a\","
                     "\"iter\":1,\"value\":5}\n"
                     "{\"type\":\"training_stats_scalar\",\"task\":\"t2\",\"metric\":\"m\",\"variant\":\"a\","
                     "\"iter\":9,\"value\":6}\n"
                     "{\"type\":\"training_stats_scalar\",\"task\":\"t1\",\"metric\":\"m\",\"variant\":\"b\","
                     "\"iter\":2,\"value\":7}\n"
                     "{\"type\":\"training_stats_scalar\",\"task\":\"t1\",\"metric\":\"m\",\"variant\":\"a\","
                     "\"iter\":3,\"value\":1}\n"
                     "{\"type\":\"training_stats_scalar\",\"task\":\"t1\",\"metric\":\":monitor:gpu\","
                     "\"variant\":\"u\",\"iter\":99,\"value\":1}\n"
                     "{\"type\":\"nonsense\",\"task\":\"t1\"}\n{\"type\":\"nonsense\",\"task\":\"t1\"}\n"
                     "{\"type\":\"log\",\"task\":\"t1\",\"msg\":\"hello\"}\n"
                     "{\"type\":\"plot\",\"task\":\"t1\",\"iter\":4,\"plot_str\":\"{\\\"source\\\": "
                     "\\\"s3://b/x\\\"}\"}\n");
    struct event_group *g = &b->groups[0];
    struct batch packed;
    struct batch_run r;
    struct error err;

    (void)state;
    assert_int_equal (b->n, 2);
    assert_int_equal (b->events, 9);
    assert_int_equal (b->problems_n, 1);
    assert_int_equal (b->problems[0].n, 2);
    assert_string_equal (g->task, "t1");
    assert_int_equal (g->n, 6);
    assert_int_equal (g->iter, 4);
    assert_int_equal (g->points, 4);
    assert_int_equal (g->series_n, 3);
    assert_text (g->series[0].variant, TEXT ("a"));
    assert_true (g->series[0].last == 1 && g->series[0].max == 5 && g->series[0].count == 2);
    assert_string_equal (g->series[0].key, "6f8f57715090da2632453988d9a1501b" /* md5 of m */
                                           "0cc175b9c0f1b6a831c399e269772661" /* md5 of a */);
    assert_int_equal (batch_open (a, g->body, &packed, &err), 0);
    assert_int_equal (batch_next (&packed, a, &r, &err), 1);
    assert_int_equal (r.n, 2);
    assert_true (r.points[0].iter == 1 && r.points[1].iter == 3 && r.points[1].value == 1);
    assert_int_equal (g->logs_n, 1);
    assert_int_equal (g->parts_n, 1);
    assert_int_equal (g->rows_n, 1);
    assert_int_equal (b->groups[1].points, 1);
    assert_int_equal (b->groups[1].iter, 9);
}

static void contradictions_refuse_the_request (void **state)
{
    static const char *const lines[] = {
        "{\"type\":\"plot\",\"task\":\"t\"}\n{\"type\":\"plot\",\"task\":\"t\",\"allow_locked\":true}",
        "{\"type\":\"plot\",\"task\":\"t\"}\n{\"type\":\"plot\",\"model\":\"t\",\"model_event\":true}",
        "{\"type\":\"plot\",\"task\":\"t\"}\n\n{\"type\":\"plot\",\"task\":\"t\"}",
        "nonsense",
        "[1]",
        "{\"type\":\"plot\""
    };
    struct event_batch *b;
    struct error err;

    (void)state;
    for (size_t i = 0; i < sizeof (lines) / sizeof (*lines); i++) {
        cleanup_arena struct arena *a = arena_create ();

        if (event_batch_read (a, text_of (lines[i]), true, &defaults, &b, &err) != -1)
            fail_msg ("taken: %s", lines[i]);
    }
}

static void same_series_with_other_members_keeps_its_order (void **state)
{
    cleanup_arena struct arena *a = arena_create ();
    struct event_batch *b =
        batch_of (a, "{\"type\":\"training_stats_scalar\",\"task\":\"t\",\"iter\":1,\"value\":1,\"x\":1}\n"
                     "{\"type\":\"training_stats_scalar\",\"task\":\"t\",\"iter\":1,\"value\":2,\"x\":2}\n"
                     "{\"type\":\"training_stats_scalar\",\"task\":\"t\",\"iter\":1,\"value\":3,\"x\":1}\n");
    struct batch packed;
    struct batch_run r;
    struct error err;
    double last = 0;
    int runs = 0;

    (void)state;
    assert_int_equal (b->groups[0].series_n, 1);
    assert_int_equal (batch_open (a, b->groups[0].body, &packed, &err), 0);
    for (; batch_next (&packed, a, &r, &err) == 1; runs++)
        last = r.points[r.n - 1].value;
    assert_int_equal (runs, 3);
    assert_true (last == 3);
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (fast_way_takes_what_clients_send),
        cmocka_unit_test (fast_way_leaves_the_rest),
        cmocka_unit_test (both_ways_agree),
        cmocka_unit_test (numbers_are_exact),
        cmocka_unit_test (values_are_coerced),
        cmocka_unit_test (console_events_are_told_apart),
        cmocka_unit_test (requests_are_packed_by_task),
        cmocka_unit_test (contradictions_refuse_the_request),
        cmocka_unit_test (same_series_with_other_members_keeps_its_order),
    };
    return cmocka_run_group_tests_name ("events scan", tests, NULL, NULL);
}
