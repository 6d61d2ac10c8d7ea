/* spool_test.c - lines in, events out: order, sending again, going on after a crash, segments, the limit. */
#include "base/json.h"
#include "run/folder_test.h"
#include "run/spool.h"

#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

static struct spool *open_in (struct folder *f, int64_t most)
{
    struct spool *s;
    struct error err;
    struct spool_options o = { f->path, "T", "w\"1", "R", most };
    assert_int_equal (spool_open (&o, &s, &err), 0);
    return s;
}

static void add (struct spool *s, const char *line, int64_t time)
{
    spool_add (s, "DEBUG", text_of (line), time);
}

static const char *take (struct folder *f, struct spool *s, size_t max, bool done)
{
    struct str out = { .arena = f->arena };
    if (!spool_next (s, max, &out))
        return "";
    if (done)
        spool_done (s, out.n);
    return out.p;
}

static void events_as_they_are_sent (void **state)
{
    (void)state;
    struct folder f = folder_new ();
    struct spool *s = open_in (&f, 0);
    assert_string_equal (take (&f, s, 1000, true), "");
    add (s, "a \"b\"\t\303\274", 5);
    spool_add (s, "INFO", text_of ("two"), 6);
    const char *want = "{\"type\":\"log\",\"task\":\"T\",\"worker\":\"w\\\"1\",\"level\":\"DEBUG\",\"msg\":"
                       "\"a \\\"b\\\"\\t\\u00fc\",\"timestamp\":5,"
                       "\"x_run\":\"R\",\"x_offset\":1}\n"
                       "{\"type\":\"log\",\"task\":\"T\",\"worker\":\"w\\\"1\",\"level\":\"INFO\",\"msg\":"
                       "\"two\",\"timestamp\":6,"
                       "\"x_run\":\"R\",\"x_offset\":2}\n";
    assert_string_equal (take (&f, s, 1000, false), want);
    assert_string_equal (take (&f, s, 1000, true), want);
    assert_string_equal (take (&f, s, 1000, true), "");
    assert_int_equal (spool_waiting (s), 0);
    spool_discard (s);
    assert_string_equal (folder_sh (&f, "ls"), "");
    folder_done (&f);
}

static size_t count (const char *s)
{
    size_t n = 0;
    for (; *s; s++)
        n += *s == '\n';
    return n;
}

static void order_over_segments_and_crashes (void **state)
{
    (void)state;
    struct folder f = folder_new ();
    struct spool *s = open_in (&f, 0);
    long next = 1, total = 60000;
    for (long i = 1; i <= total; i++) {
        char line[200];
        snprintf (line, sizeof line, "line %ld %0100ld", i, i);
        add (s, line, i);
        if (i == 30000) { /* some are taken, some sent but not confirmed; then the process dies */
            for (int k = 0; k < 20; k++) {
                const char *p = take (&f, s, 100000, true);
                next += (long)count (p);
            }
            assert_true (count (take (&f, s, 100000, false)) > 100);
            spool_close (s);
            folder_sh (&f, "f=$(ls console.0* | tail -1); printf '{\"type\":\"log\",\"x_off' >>$f");
            s = open_in (&f, 0);
        }
    }
    assert_true (strtol (folder_sh (&f, "ls console.0* | wc -l"), NULL, 10) > 2);
    for (const char *p; *(p = take (&f, s, 100000, true));)
        for (const char *line = p; *line; line = strchr (line, '\n') + 1) {
            struct text doc;
            struct error err;
            assert_int_equal (json_check ((struct text){ line, strcspn (line, "\n") }, &doc, &err), 0);
            assert_int_equal (json_int (json_get (doc, "x_offset"), 0), next);
            assert_int_equal (json_int (json_get (doc, "timestamp"), 0), next);
            next++;
        }
    assert_int_equal (next, total + 1);
    assert_string_equal (folder_sh (&f, "ls console.0* | wc -l"), "1");
    spool_close (s);
    s = open_in (&f, 0); /* numbers go on rising though all was taken */
    add (s, "later", 1);
    assert_non_null (strstr (take (&f, s, 1000, true), "\"x_offset\":60001}"));
    spool_close (s);
    folder_done (&f);
}

static void the_limit_drops_and_says_so (void **state)
{
    (void)state;
    struct folder f = folder_new ();
    struct spool *s = open_in (&f, 2000);
    for (int i = 0; i < 100; i++)
        add (s, "0123456789012345678901234567890123456789", i);
    while (*take (&f, s, 1000, true))
        ;
    add (s, "after", 200);
    const char *p = take (&f, s, 4000, true);
    assert_non_null (strstr (p, "lines were dropped here"));
    assert_non_null (strstr (p, "\"after\""));
    spool_close (s);
    folder_done (&f);
}

/* What cannot be opened for a moment is neither lost nor given up for good. */
static void files_that_do_not_open_for_a_while (void **state)
{
    (void)state;
    struct folder f = folder_new ();
    struct spool *s = open_in (&f, 0);
    struct str big = { .arena = f.arena };
    for (int i = 0; i < 1000000; i++)
        str_putc (&big, 'x');
    for (int i = 1; i <= 5; i++) /* fills a segment */
        add (s, big.p, i);
    folder_sh (&f, "mkdir console.00000002"); /* the next one cannot be written */
    add (s, "dropped", 6);
    add (s, "dropped", 7);
    folder_sh (&f, "rmdir console.00000002");
    add (s, "after", 8);
    struct rlimit before, none = { 0 };
    assert_int_equal (getrlimit (RLIMIT_NOFILE, &before), 0);
    none.rlim_max = before.rlim_max;
    assert_int_equal (setrlimit (RLIMIT_NOFILE, &none), 0);
    const char *nothing = take (&f, s, 100, true);
    assert_int_equal (setrlimit (RLIMIT_NOFILE, &before), 0);
    assert_string_equal (nothing, "");
    for (int i = 1; i <= 5; i++)
        assert_int_equal (strlen (strstr (take (&f, s, 100, true), "xx")) / 1000, 1000);
    const char *p = take (&f, s, 4000, true);
    assert_non_null (strstr (p, "[2 lines were dropped here"));
    assert_non_null (strstr (p, "\"after\""));
    assert_string_equal (take (&f, s, 4000, true), "");
    spool_close (s);
    folder_done (&f);
}

static void one_event_longer_than_max (void **state)
{
    (void)state;
    struct folder f = folder_new ();
    struct spool *s = open_in (&f, 0);
    struct str big = { .arena = f.arena };
    for (int i = 0; i < 30000; i++)
        str_putc (&big, 'x');
    add (s, big.p, 1);
    add (s, "small", 2);
    const char *first = take (&f, s, 100, true), *second = take (&f, s, 100, true);
    assert_true (strlen (first) > 30000);
    assert_true (strstr (first, "small") || strstr (second, "small"));
    spool_close (s);
    folder_done (&f);
}

int main (void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test (events_as_they_are_sent),
                                        cmocka_unit_test (order_over_segments_and_crashes),
                                        cmocka_unit_test (files_that_do_not_open_for_a_while),
                                        cmocka_unit_test (the_limit_drops_and_says_so),
                                        cmocka_unit_test (one_event_longer_than_max) };
    return cmocka_run_group_tests (tests, NULL, NULL);
}
