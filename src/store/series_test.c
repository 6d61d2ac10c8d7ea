/* Tests of the packed forms of metric points, folding and merging, on a real store. */
#include "store/series.h"

#include "sql/sql.h"
#include "store/store_test.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static bool same_value (double a, double b)
{
    return memcmp (&a, &b, sizeof (a)) == 0;
}

static void assert_points (const struct point *a, const struct point *b, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        assert_int_equal (a[i].iter, b[i].iter);
        assert_int_equal (a[i].time, b[i].time);
        assert_int_equal (a[i].received, b[i].received);
        assert_true (same_value (a[i].value, b[i].value));
    }
}

static void batch_comes_back (void **state)
{
    cleanup_arena struct arena *a = arena_create ();
    struct point p[] = { { .iter = 5, .time = 1000, .value = 0.1, .received = 77 },
                         { .iter = SERIES_NO_ITER, .time = -3, .value = NAN, .received = 77 },
                         { .iter = INT64_MAX, .time = INT64_MAX, .value = -INFINITY, .received = 77 },
                         { .iter = SERIES_SINGLE, .time = 0, .value = point_none (), .received = 77 } };
    struct batch_run runs[] = { { TEXT ("loss"), TEXT ("train"), TEXT ("\"worker\":\"w\""), 0, p, 3 },
                                { TEXT ("loss"), TEXT (""), TEXT (""), 1, p + 3, 1 } };
    struct str body = { .arena = a };
    struct batch b;
    struct batch_run r;
    struct error err;

    (void)state;
    batch_pack (&body, 77, runs, 2);
    assert_int_equal (batch_open (a, str_text (&body), &b, &err), 0);
    assert_int_equal (b.points, 4);
    assert_int_equal (batch_next (&b, a, &r, &err), 1);
    assert_true (text_is (r.metric, "loss") && text_is (r.variant, "train") &&
                 text_is (r.extra, "\"worker\":\"w\""));
    assert_int_equal (r.n, 3);
    assert_points (r.points, p, 3);
    assert_int_equal (batch_next (&b, a, &r, &err), 1);
    assert_int_equal (r.variant.n, 0);
    assert_true (point_is_none (r.points[0].value));
    assert_int_equal (batch_next (&b, a, &r, &err), 0);
    for (size_t cut = 0; cut < body.n; cut++) { /* a damaged one is refused, never read past its end */
        char *part = malloc (cut + 1);
        int rc;

        memcpy (part, body.p, cut);
        rc = batch_open (a, (struct text){ part, cut }, &b, &err);
        while (rc >= 0 && (rc = batch_next (&b, a, &r, &err)) > 0)
            ;
        assert_int_equal (rc, -1);
        free (part);
    }
}

static void chunk_comes_back (void **state)
{
    cleanup_arena struct arena *a = arena_create ();
    struct intern extras = { .arena = a, .copy = true };
    struct text texts[] = { TEXT (""), TEXT ("\"a\":1"), TEXT ("\"b\":[2]") };
    struct point p[SERIES_CHUNK], back[SERIES_CHUNK];
    struct str body = { .arena = a };
    struct error err;

    (void)state;
    srand (7);
    for (int i = 0; i < SERIES_CHUNK; i++)
        p[i] = (struct point){ .iter = i == 0 ? SERIES_NO_ITER : i * 10 + rand () % 10,
                               .time = 1700000000000 + i * 350 + rand () % 40,
                               .value = i % 50 == 7   ? NAN
                                        : i % 50 == 8 ? INFINITY
                                                      : 1.0 / (1 + i) + rand () % 3,
                               .received = 1700000000000 + i / 10 * 2000,
                               .extra = i / 100 % 3 };
    chunk_pack (&body, p, SERIES_CHUNK, texts);
    assert_int_equal (chunk_unpack (a, str_text (&body), &extras, back, SERIES_CHUNK, &err), 0);
    assert_points (back, p, SERIES_CHUNK);
    for (int i = 0; i < SERIES_CHUNK; i++)
        assert_true (text_equal (extras.v[back[i].extra], texts[p[i].extra]));
    assert_int_equal (chunk_unpack (a, str_text (&body), &extras, back, SERIES_CHUNK - 1, &err), -1);
    for (size_t cut = 0; cut < body.n; cut++)
        assert_int_equal (chunk_unpack (a, (struct text){ body.p, cut }, &extras, back, SERIES_CHUNK, &err),
                          -1);
}

static void merge_keeps_the_later (void **state)
{
    struct point p[] = { { .iter = 3, .value = 1 },
                         { .iter = 1, .value = 2 },
                         { .iter = 3, .value = 3 },
                         { .iter = SERIES_NO_ITER, .value = 4 },
                         { .iter = 1, .value = 5 } };

    (void)state;
    assert_int_equal (points_merge (p, 5), 3);
    assert_true (p[0].value == 4 && p[1].value == 5 && p[2].value == 3);
}

static void mean_rounds_like_printing (void **state)
{
    (void)state;
    assert_true (series_round2 (0.125) == 0.12); /* a tie, exact in binary: to even */
    assert_true (series_round2 (0.375) == 0.38);
    assert_true (series_round2 (2.675) == 2.67); /* below the tie in binary */
    assert_true (series_round2 (-1.005) == -1.0);
    assert_true (series_round2 (1.115) == 1.11 || series_round2 (1.115) == 1.12);
    assert_true (series_round2 (1e300) == 1e300);
    assert_true (isnan (series_round2 (NAN)));
    srand (3);
    for (int i = 0; i < 100000; i++) {
        double v = (rand () - RAND_MAX / 2) / 1000.0 / (1 + rand () % 1000);
        char text[64];

        snprintf (text, sizeof (text), "%.2f", v);
        assert_true (series_round2 (v) == strtod (text, NULL));
    }
}

static void delta_tells_last_first_least (void **state)
{
    struct series_delta d = { 0 };
    struct point p[] = { { .iter = 5, .time = 10, .value = 2 },
                         { .iter = 7, .time = 10, .value = 9 },
                         { .iter = 7, .time = 9, .value = 8 },
                         { .iter = 3, .time = 99, .value = -1 },
                         { .iter = 6, .time = 1, .value = NAN },
                         { .iter = 4, .time = 1, .value = INFINITY },
                         { .iter = 9, .time = 1, .value = point_none () } };

    (void)state;
    for (size_t i = 0; i < sizeof (p) / sizeof (*p); i++)
        series_delta_add (&d, &p[i]);
    assert_int_equal (d.count, 6);
    assert_int_equal (d.finite, 4);
    assert_true (d.last == 9 && d.first == -1 && d.min == -1 && d.max == 9 && d.sum == 18);
    assert_int_equal (d.first_iter, 3);
    assert_int_equal (d.max_iter, 7);
}

/* -- on a store ---------------------------------------------------------------------------------------------------- */

struct model { /* what must be there: the truth kept by hand */
    double value[4][3000];
    bool there[4][3000];
};
struct step {
    struct model *model;
    int batches, fold;
    bool in_slices; /* one series a call */
    unsigned seed;
};

static const struct text variants[4] = { TEXT ("a"), TEXT ("b"), TEXT ("c"), TEXT ("d") };

static int add_some (struct db *db, void *arg, struct error *err)
{
    struct step *step = arg;
    struct stream s;

    if (stream_need (db, "c", "t", &s, err) < 0)
        return -1;
    for (int k = 0; k < step->batches; k++) {
        cleanup_arena struct arena *a = arena_create ();
        struct batch_run runs[4];
        struct series_delta deltas[4] = { 0 };
        struct str body = { .arena = a };
        int base = rand_r (&step->seed) % 2900;

        for (uint32_t i = 0; i < 4; i++) {
            struct point *p = arena_array (a, struct point, 20);

            deltas[i].metric = TEXT ("m");
            deltas[i].variant = variants[i];
            series_key (deltas[i].metric, deltas[i].variant, deltas[i].key);
            for (int n = 0; n < 20; n++) {
                int iter = base + rand_r (&step->seed) % 100;

                p[n] = (struct point){ .iter = iter, .time = k, .value = rand_r (&step->seed) };
                step->model->value[i][iter] = p[n].value;
                step->model->there[i][iter] = true;
                series_delta_add (&deltas[i], &p[n]);
            }
            runs[i] = (struct batch_run){ TEXT ("m"), variants[i], TEXT (""), i, p, 20 };
        }
        batch_pack (&body, k, runs, 4);
        if (series_add (db, &s, k, str_text (&body), 80, deltas, 4, 2000, err) < 0)
            return -1;
    }
    return stream_save (db, &s, err);
}

static int fold_some (struct db *db, void *arg, struct error *err)
{
    struct step *step = arg;
    struct stream s;

    if (stream_get (db, "t", &s, err) < 0)
        return -1;
    return series_fold (db, s.id, (size_t)step->fold, step->in_slices ? 0 : INT64_MAX, err) < 0 ? -1 : 0;
}

static int check_all (struct db *db, void *arg, struct error *err)
{
    cleanup_arena struct arena *a = arena_create ();
    const struct model *m = ((struct step *)arg)->model;
    const struct series *wanted[4];
    struct series_reader *r;
    struct series *v;
    struct stream s;
    size_t n;

    if (stream_get (db, "t", &s, err) < 0 || series_list (db, a, s.id, &v, &n, err) < 0)
        return -1;
    assert_int_equal (n, 4);
    for (int i = 0; i < 4; i++)
        wanted[i] = &v[i];
    if (series_open (db, a, s.id, wanted, 4, &r, err) < 0)
        return -1;
    for (int i = 0; i < 4; i++) {
        struct point *p;
        size_t points, at = 0;

        if (series_points (r, (size_t)i, a, &p, &points, err) < 0)
            return -1;
        for (int iter = 0; iter < 3000; iter++) {
            if (!m->there[i][iter])
                continue;
            assert_true (at < points);
            assert_int_equal (p[at].iter, iter);
            assert_true (p[at++].value == m->value[i][iter]);
        }
        assert_int_equal (at, points);
    }
    return 0;
}

static void fold_and_merge_agree_with_the_truth (void **state)
{
    struct fixture *f = *state;
    struct model *m = calloc (1, sizeof (*m));
    struct step step = { .model = m, .seed = 11 };
    struct error err;

    for (int round = 0; round < 40; round++) {
        step.batches = 1 + round % 7;
        step.fold = round % 3 ? 200 : 100000;
        step.in_slices = round % 5 < 3;
        if (store_write_wait (f->store, add_some, &step, &err) < 0 ||
            store_read (f->store, check_all, &step, &err) < 0 ||
            (round % 2 && store_write_wait (f->store, fold_some, &step, &err) < 0) ||
            store_read (f->store, check_all, &step, &err) < 0)
            fail_msg ("round %d: %s", round, err.text);
    }
    free (m);
}

static int check_chunks (struct db *db, void *arg, struct error *err)
{
    cleanup_rows struct rows r = { 0 };
    int64_t last = INT64_MIN, *ret = arg;
    int rc;

    if (db_query_text (
            db,
            "SELECT first_iter, last_iter, points, length (body) FROM metric_chunk WHERE series = 1 "
            "ORDER BY first_iter",
            &r, err, NULL, 0) < 0)
        return -1;
    while ((rc = db_next (&r, err)) > 0) {
        assert_true (row_int (&r, 0) > last);
        assert_true (row_int (&r, 1) >= row_int (&r, 0));
        assert_in_range (row_int (&r, 2), 1, SERIES_CHUNK);
        assert_true (row_int (&r, 3) <= SERIES_CHUNK_MAX);
        last = row_int (&r, 1);
        ++*ret;
    }
    return rc;
}

static void chunks_do_not_overlap (void **state)
{
    struct fixture *f = *state;
    struct model *m = calloc (1, sizeof (*m));
    struct step step = { .model = m, .seed = 5, .batches = 30, .fold = 500 };
    struct error err;
    int64_t chunks = 0;

    for (int round = 0; round < 30; round++) {
        if (store_write_wait (f->store, add_some, &step, &err) < 0 ||
            store_write_wait (f->store, fold_some, &step, &err) < 0)
            fail_msg ("%s", err.text);
    }
    if (store_read (f->store, check_chunks, &chunks, &err) < 0)
        fail_msg ("%s", err.text);
    assert_true (chunks > 2);
    free (m);
}

static int retire (struct db *db, void *arg, struct error *err)
{
    struct stream s;
    bool more = true;
    int slices = 0;

    (void)arg;
    if (stream_retire (db, "t", err) < 0 || stream_get (db, "t", &s, err) < 0)
        return -1;
    assert_int_equal (s.id, 0);
    for (; more; slices++) {
        if (stream_sweep (db, 3, &more, err) < 0)
            return -1;
    }
    return slices;
}

static int count_rows (struct db *db, void *arg, struct error *err)
{
    cleanup_rows struct rows r = { 0 };
    int64_t *ret = arg;
    int rc;

    if (db_query_text (db,
                       "SELECT (SELECT count(*) FROM series) + (SELECT count(*) FROM metric_chunk) + (SELECT "
                       "count(*) FROM metric_batch) + (SELECT count(*) FROM event_stream)",
                       &r, err, NULL, 0) < 0)
        return -1;
    rc = db_next (&r, err);
    *ret = rc > 0 ? row_int (&r, 0) : -1;
    return rc < 0 ? -1 : 0;
}

static void retired_rows_are_swept_in_slices (void **state)
{
    struct fixture *f = *state;
    struct model *m = calloc (1, sizeof (*m));
    struct step step = { .model = m, .seed = 5, .batches = 30, .fold = 500 };
    struct error err = { 0 };
    int64_t rows = -1;

    if (store_write_wait (f->store, add_some, &step, &err) < 0 ||
        store_write_wait (f->store, fold_some, &step, &err) < 0 ||
        store_write_wait (f->store, retire, NULL, &err) < 0 ||
        store_read (f->store, count_rows, &rows, &err) < 0)
        fail_msg ("%s", err.text);
    assert_int_equal (rows, 0);
    free (m);
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (batch_comes_back),
        cmocka_unit_test (chunk_comes_back),
        cmocka_unit_test (merge_keeps_the_later),
        cmocka_unit_test (mean_rounds_like_printing),
        cmocka_unit_test (delta_tells_last_first_least),
        cmocka_unit_test_setup_teardown (fold_and_merge_agree_with_the_truth, fixture_set_up,
                                         fixture_tear_down),
        cmocka_unit_test_setup_teardown (chunks_do_not_overlap, fixture_set_up, fixture_tear_down),
        cmocka_unit_test_setup_teardown (retired_rows_are_swept_in_slices, fixture_set_up, fixture_tear_down),
    };
    return cmocka_run_group_tests_name ("series", tests, NULL, NULL);
}
