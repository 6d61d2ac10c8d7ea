/* Tests of console text: lines, packing, idempotent sending, pages by time, line ranges, joining, removing. */
#include "store/text.h"

#include "store/store_test.h"

#include <stdio.h>
#include <stdlib.h>

static void lines_are_counted (void **state)
{
    (void)state;
    assert_int_equal (log_lines (TEXT ("")), 1);
    assert_int_equal (log_lines (TEXT ("a")), 1);
    assert_int_equal (log_lines (TEXT ("a\n")), 1);
    assert_int_equal (log_lines (TEXT ("a\nb")), 2);
    assert_int_equal (log_lines (TEXT ("\n\n")), 2);
    assert_int_equal (log_lines ((struct text){ 0 }), 1);
}

static void events_come_back (void **state)
{
    cleanup_arena struct arena *a = arena_create ();
    struct log_event v[] = {
        { .time = 5,
          .received = 9,
          .level = TEXT ("info"),
          .worker = TEXT ("w"),
          .metric = TEXT (""),
          .variant = TEXT (""),
          .extra = TEXT ("\"x\":1"),
          .msg = TEXT ("a\nb") },
        { .time = -5, .received = 8, .metric = TEXT ("m"), .variant = TEXT (""), .extra = TEXT ("") }
    };
    struct log_part *parts;
    struct log_event *back;
    struct error err;
    size_t n;

    (void)state;
    log_pack (a, v, 2, &parts, &n);
    assert_int_equal (n, 1);
    assert_int_equal (parts[0].lines, 3);
    assert_int_equal (parts[0].first_time, -5);
    assert_int_equal (parts[0].last_time, 5);
    assert_int_equal (log_unpack (a, parts[0].body, 10, &back, &n, &err), 0);
    assert_int_equal (n, 2);
    assert_true (text_is (back[0].level, "info") && text_is (back[0].worker, "w") &&
                 text_is (back[0].msg, "a\nb"));
    assert_true (text_is (back[0].extra, "\"x\":1") && back[0].time == 5 && back[0].received == 9);
    assert_int_equal (back[0].line, 10);
    assert_int_equal (back[1].line, 12);
    assert_null (back[1].level.p);
    assert_null (back[1].msg.p);
    assert_true (back[1].time == -5 && text_is (back[1].metric, "m"));
    for (size_t cut = 0; cut < parts[0].body.n; cut++)
        assert_int_equal (log_unpack (a, (struct text){ parts[0].body.p, cut }, 1, &back, &n, &err), -1);
}

struct send {
    const struct log_event *v;
    size_t n;
    int64_t stored;
};

static int send (struct db *db, void *arg, struct error *err)
{
    cleanup_arena struct arena *a = arena_create ();
    struct send *s = arg;
    struct log_part *parts;
    struct stream st;
    size_t n;

    log_pack (a, s->v, s->n, &parts, &n);
    if (stream_need (db, "c", "t", &st, err) < 0 ||
        log_add (db, a, &st, s->v, s->n, parts, n, &s->stored, err) < 0)
        return -1;
    return stream_save (db, &st, err);
}

static int64_t sent (struct fixture *f, const struct log_event *v, size_t n)
{
    struct send s = { v, n, -1 };
    struct error err;

    if (store_write_wait (f->store, send, &s, &err) < 0)
        fail_msg ("%s", err.text);
    return s.stored;
}

struct ask {
    bool by_line, flag;
    int64_t at;
    size_t most, n;
    char out[8192];
};

static int ask_run (struct db *db, void *arg, struct error *err)
{
    cleanup_arena struct arena *a = arena_create ();
    struct ask *q = arg;
    struct log_event *e;
    struct log_line *l;
    struct stream s;
    size_t at = 0;

    if (stream_get (db, "t", &s, err) < 0)
        return -1;
    q->out[0] = 0;
    if (q->by_line) {
        if (log_read_lines (db, a, s.id, q->flag, q->at, q->most, &l, &q->n, err) < 0)
            return -1;
        for (size_t i = 0; i < q->n; i++)
            at += (size_t)snprintf (q->out + at, sizeof (q->out) - at, "%d:%.*s ", (int)l[i].n,
                                    (int)l[i].text.n, l[i].text.p);
        return 0;
    }
    if (log_page (db, a, s.id, q->flag, q->at, q->most, NULL, NULL, &e, &q->n, err) < 0)
        return -1;
    for (size_t i = 0; i < q->n; i++)
        at += (size_t)snprintf (q->out + at, sizeof (q->out) - at, "%.*s ", (int)e[i].msg.n, e[i].msg.p);
    return 0;
}

static const char *asked (struct fixture *f, struct ask *q)
{
    struct error err;

    if (store_read (f->store, ask_run, q, &err) < 0)
        fail_msg ("%s", err.text);
    return q->out;
}
#define PAGE(f, earlier, time, n) asked ((f), &(struct ask){ false, (earlier), (time), (n), 0, "" })
#define LINES(f, before, line, n) asked ((f), &(struct ask){ true, (before), (line), (n), 0, "" })
#define EVENT(t, text)                                                                                       \
    {                                                                                                        \
        .time = (t), .metric = TEXT (""), .variant = TEXT (""), .extra = TEXT (""), .msg = TEXT (text)       \
    }

static void pages_go_by_time (void **state)
{
    struct fixture *f = *state;
    struct log_event a[] = { EVENT (10, "a"), EVENT (30, "c"), EVENT (30, "d") },
                     b[] = { EVENT (20, "b"), EVENT (40, "e") }, c[] = { EVENT (30, "f"), EVENT (5, "z") };

    sent (f, a, 3);
    sent (f, b, 2);
    sent (f, c, 2);
    assert_string_equal (PAGE (f, true, INT64_MAX, 100), "e f d c b a z ");
    assert_string_equal (PAGE (f, false, INT64_MIN, 100), "z a b c d f e ");
    assert_string_equal (PAGE (f, true, INT64_MAX, 1), "e ");
    assert_string_equal (PAGE (f, true, 40, 1), "f d c "); /* ties of the last are not torn apart */
    assert_string_equal (PAGE (f, true, 30, 2), "b a ");
    assert_string_equal (PAGE (f, false, 10, 2), "b c d f ");
    assert_string_equal (PAGE (f, false, 40, 2), "");
}

static void lines_keep_their_numbers (void **state)
{
    struct fixture *f = *state;
    struct log_event a[] = { EVENT (10, "a\nb\n"), EVENT (30, "c") }, b[] = { EVENT (20, "d\n\ne") };

    sent (f, a, 2);
    sent (f, b, 1);
    assert_string_equal (LINES (f, false, 0, 100), "1:a 2:b 3:c 4:d 5: 6:e ");
    assert_string_equal (LINES (f, false, 2, 3), "2:b 3:c 4:d ");
    assert_string_equal (LINES (f, true, INT64_MAX, 2), "5: 6:e ");
    assert_string_equal (LINES (f, true, 3, 5), "1:a 2:b ");
    assert_string_equal (LINES (f, false, 7, 5), "");
}

static void sent_twice_is_stored_once (void **state)
{
    struct fixture *f = *state;
    struct log_event v[4] = { EVENT (1, "a"), EVENT (2, "b"), EVENT (3, "c"), EVENT (4, "other") };

    for (int i = 0; i < 3; i++) {
        v[i].run = TEXT ("run1");
        v[i].offset = i * 2;
    }
    v[3].run = TEXT ("run2");
    assert_int_equal (sent (f, v, 2), 2);
    assert_int_equal (sent (f, v, 2), 0);     /* the answer was lost: all again */
    assert_int_equal (sent (f, v + 1, 3), 2); /* b again, c and another run's new */
    assert_int_equal (sent (f, v, 4), 0);
    assert_string_equal (LINES (f, false, 0, 100), "1:a 2:b 3:c 4:other ");
}

static int join_run (struct db *db, void *arg, struct error *err)
{
    struct stream s;

    (void)arg;
    return stream_get (db, "t", &s, err) < 0 ? -1 : log_join (db, s.id, err);
}

static bool odd (const struct log_event *e, void *arg)
{
    (void)arg;
    return e->time % 2;
}

static int remove_old (struct db *db, void *arg, struct error *err)
{
    struct stream s;

    return stream_get (db, "t", &s, err) < 0 ? -1 : log_remove (db, s.id, 700, NULL, NULL, arg, err);
}

static int remove_run (struct db *db, void *arg, struct error *err)
{
    struct stream s;

    return stream_get (db, "t", &s, err) < 0 ? -1 : log_remove (db, s.id, 500, odd, NULL, arg, err);
}

static int count_run (struct db *db, void *arg, struct error *err)
{
    cleanup_rows struct rows r = { 0 };
    int64_t *ret = arg;
    int rc;

    if (db_query_text (db, "SELECT count(*), sum (lines) FROM log_chunk", &r, err, NULL, 0) < 0)
        return -1;
    rc = db_next (&r, err);
    ret[0] = row_int (&r, 0);
    ret[1] = row_int (&r, 1);
    return rc < 0 ? -1 : 0;
}

static void joining_and_removing_change_no_line (void **state)
{
    struct fixture *f = *state;
    struct error err;
    int64_t count[2], removed = 0;
    char text[600], want[64];

    for (int i = 0; i < 1000; i++) {
        struct log_event e = EVENT (i, "");

        memset (text, 'x', sizeof (text));
        snprintf (text, sizeof (text), "line %d", i);
        text[strlen (text)] = ' ';
        e.msg = (struct text){ text, sizeof (text) };
        sent (f, &e, 1);
        if (i % 64 == 63 && store_write_wait (f->store, join_run, NULL, &err) < 0)
            fail_msg ("%s", err.text);
    }
    for (int i = 0; i < 30; i++)
        if (store_write_wait (f->store, join_run, NULL, &err) < 0)
            fail_msg ("%s", err.text);
    assert_int_equal (store_read (f->store, count_run, count, &err), 0);
    assert_in_range (count[0], 5, 30);
    assert_int_equal (count[1], 1000);
    if (store_write_wait (f->store, remove_run, &removed, &err) < 0)
        fail_msg ("%s", err.text);
    assert_int_equal (removed, 250);
    for (int i = 0; i < 1000; i += 37) {
        const char *got = LINES (f, false, i + 1, 1);
        int wanted = i < 500 && i % 2 ? i + 1 : i;

        snprintf (want, sizeof (want), "%d:line %d ", wanted + 1, wanted);
        assert_memory_equal (got, want, strlen (want));
    }
    if (store_write_wait (f->store, remove_old, &removed, &err) < 0) /* whole chunks, and the head of one */
        fail_msg ("%s", err.text);
    assert_int_equal (removed, 450);
    assert_memory_equal (LINES (f, false, 0, 1), "701:line 700 ", 13);
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (lines_are_counted),
        cmocka_unit_test (events_come_back),
        cmocka_unit_test_setup_teardown (pages_go_by_time, fixture_set_up, fixture_tear_down),
        cmocka_unit_test_setup_teardown (lines_keep_their_numbers, fixture_set_up, fixture_tear_down),
        cmocka_unit_test_setup_teardown (sent_twice_is_stored_once, fixture_set_up, fixture_tear_down),
        cmocka_unit_test_setup_teardown (joining_and_removing_change_no_line, fixture_set_up,
                                         fixture_tear_down),
    };
    return cmocka_run_group_tests_name ("text", tests, NULL, NULL);
}
