/* topic_test.c - bells and volatile entries. */
#include "base/unit.h"

#include "base/clock.h"
#include "store/topic.h"
#include "store/volatile.h"

#include <stdlib.h>
#include <string.h>

static void count (void *arg)
{
    ++*(int *)arg;
}

static void oldest_first (void **state)
{
    struct topics *t = topics_create ();
    int woken[3] = { 0 }, other = 0;
    struct topic_wait *w[3], *o = topic_wait (t, "queue/b", count, &other);

    (void)state;
    for (int i = 0; i < 3; i++)
        w[i] = topic_wait (t, "queue/a", count, &woken[i]);
    assert_int_equal (topic_ring (t, "queue/a", 1), 1);
    assert_int_equal (woken[0], 1);
    assert_int_equal (woken[1], 0);
    topic_leave (t, w[1]); /* gone: the next one gets the bell */
    assert_int_equal (topic_ring (t, "queue/a", 1), 1);
    assert_int_equal (woken[2], 1);
    assert_int_equal (topic_ring (t, "queue/a", -1), 0);
    assert_int_equal (woken[0] + woken[2], 2);
    assert_int_equal (other, 0);
    topic_leave (t, w[0]);
    topic_leave (t, w[2]);
    topic_leave (t, o);
    topic_leave (t, NULL);
    topics_destroy (t);
}

static void ring_before_wait (void **state)
{
    struct topics *t = topics_create ();
    uint64_t seq = topic_seq (t);
    int woken = 0;
    struct topic_wait *w;

    (void)state;
    topic_ring (t, "task/1", 1);
    w = topic_wait_since (t, "task/1", seq, count, &woken);
    assert_int_equal (woken, 1);
    assert_int_equal (topic_ring (t, "task/1", -1), 0); /* woken once only */
    topic_leave (t, w);
    w = topic_wait_since (t, "task/1", topic_seq (t), count, &woken);
    assert_int_equal (woken, 1);
    assert_int_equal (topic_ring (t, "task/1", -1), 1);
    assert_int_equal (woken, 2);
    topic_leave (t, w);
    topics_destroy (t);
}

static void several_topics (void **state)
{
    struct topics *t = topics_create ();
    int both = 0, one = 0;
    struct topic_wait *w = topic_wait (t, "queue/a\nqueue/b\nqueue/a", count, &both),
                      *o = topic_wait (t, "queue/b", count, &one);

    (void)state;
    assert_int_equal (topic_ring (t, "queue/c", -1), 0);
    assert_int_equal (topic_ring (t, "queue/b", 1), 1);
    assert_int_equal (both, 1);
    assert_int_equal (one, 0);
    assert_int_equal (topic_ring (t, "queue/a", -1), 0); /* woken once, whatever it waited for */
    assert_int_equal (topic_ring (t, "queue/b", -1), 1);
    topic_leave (t, w);
    w = topic_wait (t, "queue/a\nqueue/b", count, &both);
    topic_leave (t, w);
    assert_int_equal (topic_ring (t, "queue/a", -1) + topic_ring (t, "queue/b", -1), 0);
    topic_leave (t, o);
    topics_destroy (t);
}

static void put_get_expire (void **state)
{
    struct volatile_store *v = volatile_create ();
    cleanup_arena struct arena *a = arena_create ();
    struct text got = { 0 };

    (void)state;
    volatile_put (v, "worker/c/1", TEXT ("one"), 1000);
    volatile_put (v, "worker/c/1", TEXT ("uno"), 1000);
    assert_true (volatile_get (v, a, "worker/c/1", &got));
    assert_true (text_is (got, "uno"));
    assert_false (volatile_get (v, a, "worker/c/2", &got));
    clock_turn (900);
    assert_true (volatile_touch (v, "worker/c/1", 1000));
    clock_turn (900);
    assert_true (volatile_get (v, a, "worker/c/1", &got));
    clock_turn (101);
    assert_false (volatile_get (v, a, "worker/c/1", &got));
    assert_false (volatile_touch (v, "worker/c/1", 1000));
    assert_false (volatile_drop (v, "worker/c/1"));
    volatile_put (v, "x", TEXT (""), 1000);
    assert_true (volatile_drop (v, "x"));
    assert_false (volatile_get (v, a, "x", &got));
    volatile_destroy (v);
}

static bool collect (const char *key, struct text value, void *arg)
{
    (void)value;
    strcat (strcat (arg, key), " ");
    return !strstr (arg, "stop");
}

static void list_in_order (void **state)
{
    struct volatile_store *v = volatile_create ();
    char seen[100] = "";

    (void)state;
    volatile_put (v, "w/c/b", TEXT ("1"), 1000);
    volatile_put (v, "w/c/a", TEXT ("1"), 1000);
    volatile_put (v, "w/d/a", TEXT ("1"), 1000);
    volatile_put (v, "w/c/old", TEXT ("1"), 0);
    volatile_each (v, "w/c/", collect, seen);
    assert_string_equal (seen, "w/c/a w/c/b ");
    volatile_put (v, "w/c/astop", TEXT ("1"), 1000);
    seen[0] = '\0';
    volatile_each (v, "w/c/", collect, seen);
    assert_string_equal (seen, "w/c/a w/c/astop ");
    volatile_destroy (v);
}

static void many_entries (void **state)
{
    struct volatile_store *v = volatile_create ();
    cleanup_arena struct arena *a = arena_create ();
    struct text got;

    (void)state;
    for (int i = 0; i < 20000; i++)
        volatile_put (v, arena_printf (a, "k/%d", i), text_of (arena_printf (a, "%d", i)), 60000);
    for (int i = 0; i < 20000; i += 7) {
        assert_true (volatile_get (v, a, arena_printf (a, "k/%d", i), &got));
        assert_int_equal (atoi (got.p), i);
    }
    volatile_destroy (v);
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (oldest_first),   cmocka_unit_test (ring_before_wait),
        cmocka_unit_test (several_topics), cmocka_unit_test (put_get_expire),
        cmocka_unit_test (list_in_order),  cmocka_unit_test (many_entries),
    };

    return cmocka_run_group_tests (tests, NULL, NULL);
}
