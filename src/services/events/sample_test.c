/* Tests of thinning curves: stretches, true extremes, gaps for NaN, shared intervals. */
#include "services/events/sample.h"

#include "base/unit.h"

#include <math.h>

static void points_below_the_limit_stay (void **state)
{
    cleanup_arena struct arena *a = arena_create ();
    struct point p[] = { { .iter = SERIES_NO_ITER, .value = 9 },
                         { .iter = SERIES_SINGLE, .value = 9 },
                         { .iter = -3, .time = 30, .value = 1 },
                         { .iter = 5, .time = 10, .value = 2 },
                         { .iter = 7, .time = 20, .value = point_none () } };
    struct stretch *s;
    int64_t min, max;
    size_t n;

    (void)state;
    assert_true (sample_range (p, 5, SAMPLE_ITER, &min, &max, &n));
    assert_true (min == -3 && max == 5 && n == 2);
    sample_stretches (a, p, 5, SAMPLE_ITER, 1, &s, &n);
    assert_int_equal (n, 2);
    assert_true (s[0].x == -3 && stretch_mean (&s[0]) == 1 && s[1].x == 5);
    sample_stretches (a, p, 5, SAMPLE_TIME, 1, &s, &n); /* by time the order turns */
    assert_true (n == 2 && s[0].x == 10 && s[1].x == 30);
    assert_false (sample_range (p, 2, SAMPLE_ITER, &min, &max, &n));
}

static void hundred_points_make_ten (void **state)
{
    cleanup_arena struct arena *a = arena_create ();
    struct point p[100];
    struct stretch *s;
    size_t n;

    (void)state;
    for (int i = 0; i < 100; i++)
        p[i] = (struct point){ .iter = i, .value = i };
    assert_int_equal (sample_interval (100, 0, 99, 100), 1);
    assert_int_equal (sample_interval (100, 0, 99, 10), 10);
    assert_int_equal (sample_interval (9, 0, 1000000, 10), 1);
    assert_int_equal (sample_interval (3, INT64_MIN + 1, INT64_MAX, 1), INT64_MAX);
    sample_stretches (a, p, 100, SAMPLE_ITER, 10, &s, &n);
    assert_int_equal (n, 10);
    for (size_t i = 0; i < 10; i++) {
        assert_int_equal (s[i].x, i * 10);
        assert_int_equal (s[i].count, 10);
        assert_true (stretch_mean (&s[i]) == (double)i * 10 + 4.5);
        assert_true (s[i].min == (double)i * 10 && s[i].max == (double)i * 10 + 9);
    }
}

static void no_spike_is_lost_and_nan_leaves_a_gap (void **state)
{
    cleanup_arena struct arena *a = arena_create ();
    static struct point p[10000];
    struct stretch *s;
    double min = INFINITY, max = -INFINITY;
    int64_t nan = 0, inf = 0, minus = 0, count = 0;
    size_t n;

    (void)state;
    for (int i = 0; i < 10000; i++)
        p[i] = (struct point){ .iter = i, .value = sin (i / 100.0) };
    p[4321].value = 1000;
    p[8765].value = -1000;
    p[50].value = p[60].value = INFINITY;
    p[70].value = -INFINITY;
    for (int i = 100; i < 140; i++)
        p[i].value = NAN;
    sample_stretches (a, p, 10000, SAMPLE_ITER, 20, &s, &n);
    assert_int_equal (n, 500);
    for (size_t i = 0; i < n; i++) {
        count += s[i].count;
        nan += s[i].nan;
        inf += s[i].inf;
        minus += s[i].minus_inf;
        if (s[i].x == 100 || s[i].x == 120) {
            assert_int_equal (s[i].finite, 0);
            assert_true (isnan (stretch_mean (&s[i])));
            continue;
        }
        min = s[i].min < min ? s[i].min : min;
        max = s[i].max > max ? s[i].max : max;
        assert_true (isfinite (stretch_mean (&s[i])));
    }
    assert_true (max == 1000 && min == -1000);
    assert_true (nan == 40 && inf == 3 && minus == 1 && count == 10000);
}

static void negative_iterations_round_down (void **state)
{
    cleanup_arena struct arena *a = arena_create ();
    struct point p[] = { { .iter = INT64_MIN + 1, .value = 1 },
                         { .iter = -11, .value = 1 },
                         { .iter = -10, .value = 2 },
                         { .iter = -1, .value = 4 },
                         { .iter = 0, .value = 8 } };
    struct stretch *s;
    size_t n;

    (void)state;
    sample_stretches (a, p, 5, SAMPLE_ITER, 10, &s, &n);
    assert_int_equal (n, 4);
    assert_true (s[1].x == -20 && s[2].x == -10 && s[2].count == 2 && s[3].x == 0);
}

static void neighbours_share_an_interval (void **state)
{
    struct sample_plan p[] = { {
                                   0,
                                   100,
                                   10,
                               },
                               { 1, 1, 10 },
                               { 2, 109, 10 },
                               { 3, 111, 10 },
                               { 4, 1, 5995 } };

    (void)state;
    sample_group (p, 5);
    for (int i = 0; i < 5; i++) {
        static const int64_t want[] = { 109, 1, 109, 111, 1 };

        assert_int_equal (p[i].interval, want[p[i].curve]);
    }
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (points_below_the_limit_stay),
        cmocka_unit_test (hundred_points_make_ten),
        cmocka_unit_test (no_spike_is_lost_and_nan_leaves_a_gap),
        cmocka_unit_test (negative_iterations_round_down),
        cmocka_unit_test (neighbours_share_an_interval),
    };
    return cmocka_run_group_tests_name ("events sample", tests, NULL, NULL);
}
