/* base_test.c - arena, str, clock, id, error. */
#include "base/arena.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/id.h"
#include "base/str.h"

#include "base/unit.h"
#include "base/utf8.h"
#include <cmocka.h>

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void test_arena (void **state)
{
    cleanup_arena struct arena *a = arena_create ();
    char *p = arena_strdup (a, "stays");

    (void)state;
    for (int i = 0; i < 1000; i++)
        memset (arena_alloc (a, (size_t)i * 7), 0xff, (size_t)i * 7);
    memset (arena_alloc (a, 10 << 20), 0xff, 10 << 20);
    assert_string_equal (p, "stays");
    assert_string_equal (arena_printf (a, "%d-%s", 7, "x"), "7-x");
}

static void test_json_escape (void **state)
{
    static const char in[] = "a\"b\\\n\x01\xc3\xa9\xf0\x9f\x98\x80\xff\xed\xa0\x80z";
    cleanup_str struct str s = { 0 };

    (void)state;
    str_add_json (&s, in, sizeof (in) - 1);
    assert_string_equal (s.p, "\"a\\\"b\\\\\\n\\u0001\\u00e9\\ud83d\\ude00\\ufffd\\ufffd\\ufffd\\ufffdz\"");
}

static void test_double (void **state)
{
    static const struct {
        double v;
        const char *text;
    } rows[] = {
        { 0.1, "0.1" }, { 1, "1.0" }, { 1.0 / 3, "0.3333333333333333" }, { 1e300, "1e+300" }, { -0.0, "-0.0" }
    };

    (void)state;
    for (size_t i = 0; i < sizeof (rows) / sizeof (*rows); i++) {
        cleanup_str struct str s = { 0 };
        str_add_double (&s, rows[i].v);
        assert_string_equal (s.p, rows[i].text);
    }
}

/* The quick way must print what trying 15, 16, 17 digits prints. */
static void test_doubles (void **state)
{
    cleanup_str struct str s = { 0 };
    unsigned seed = 5;
    char want[64];

    (void)state;
    for (int i = 0; i < 400000; i++) {
        double v =
            (rand_r (&seed) - RAND_MAX / 2) / (1.0 + rand_r (&seed)) * pow (10, rand_r (&seed) % 24 - 8);

        if (i % 4 == 0) { /* short decimals, as people write them */
            snprintf (want, sizeof (want), "%.*g", 1 + rand_r (&seed) % 8, v);
            v = strtod (want, NULL);
        } else if (i % 4 == 1) { /* values that went through 32 bits */
            v = (float)v;
        }
        for (int digits = 15; digits <= 17; digits++) {
            snprintf (want, sizeof (want), "%.*g", digits, v);
            if (strtod (want, NULL) == v)
                break;
        }
        if (!strpbrk (want, ".e"))
            strcat (want, ".0");
        str_reset (&s);
        str_add_double (&s, v);
        assert_string_equal (s.p, want);
    }
}

static void test_clock (void **state)
{
    static const struct {
        const char *text;
        int64_t ms;
    } rows[] = { { "1970-01-01", 0 },
                 { "2026-11-29T18:23:55.692000+00:00", INT64_C (1795976635692) },
                 { "2026-11-29T18:23:55.692Z", INT64_C (1795976635692) },
                 { "2026-11-29 20:23:55.692+02:00", INT64_C (1795976635692) },
                 { "2026-11-29T18:23", INT64_C (1795976580000) } };
    static const char *const bad[] = { "", "yesterday", "2026-13-01", "2026-11-29T", "2026-11-29T18:23:55x" };
    cleanup_str struct str s = { 0 };
    int64_t ms;

    (void)state;
    for (size_t i = 0; i < sizeof (rows) / sizeof (*rows); i++) {
        assert_int_equal (clock_parse (rows[i].text, strlen (rows[i].text), &ms), 0);
        assert_int_equal (ms, rows[i].ms);
    }
    for (size_t i = 0; i < sizeof (bad) / sizeof (*bad); i++)
        assert_int_equal (clock_parse (bad[i], strlen (bad[i]), &ms), -1);
    clock_format (&s, INT64_C (1795976635692));
    assert_string_equal (s.p, "2026-11-29T18:23:55.692000+00:00");
    str_reset (&s);
    clock_format (&s, INT64_C (1795976635000));
    assert_string_equal (s.p, "2026-11-29T18:23:55+00:00");
    str_reset (&s);
    clock_format_us (&s, INT64_C (1767323045000007));
    assert_string_equal (s.p, "2026-01-02T03:04:05.000007+00:00");
    str_reset (&s);
    clock_format_us (&s, -1);
    assert_string_equal (s.p, "1969-12-31T23:59:59.999999+00:00");
    str_reset (&s);
    clock_format (&s, INT64_C (-62135596800000));
    assert_string_equal (s.p, "0001-01-01T00:00:00+00:00");
    str_reset (&s);
    clock_format (&s, INT64_C (253402300800000));
    assert_string_equal (s.p, "10000-01-01T00:00:00+00:00");
}

static void test_error (void **state)
{
    struct error err;

    (void)state;
    assert_int_equal (error_set (&err, 7, "no such %s", "thing"), -1);
    assert_int_equal (error_wrap (&err, "look up %d", 3), -1);
    assert_string_equal (err.text, "look up 3: no such thing");
    assert_int_equal (err.code, 7);
    errno = ENOENT;
    error_errno (&err, "open x");
    assert_string_equal (err.text, "open x: No such file or directory");
}

static void test_id (void **state)
{
    struct id a = id_random (), b = id_random ();

    (void)state;
    assert_true (id_valid (a.hex));
    assert_string_not_equal (a.hex, b.hex);
    assert_false (id_valid ("0123"));
}

/* The first and last letter of each length, and what is next to them and no letter. */
static void test_utf8 (void **state)
{
    static const struct {
        const char *bytes;
        uint32_t cp;
    } good[] = { { "\x01", 1 },
                 { "\x7f", 0x7f },
                 { "\xc2\x80", 0x80 },
                 { "\xdf\xbf", 0x7ff },
                 { "\xe0\xa0\x80", 0x800 },
                 { "\xed\x9f\xbf", 0xd7ff },
                 { "\xee\x80\x80", 0xe000 },
                 { "\xef\xbf\xbf", 0xffff },
                 { "\xf0\x90\x80\x80", 0x10000 },
                 { "\xf4\x8f\xbf\xbf", 0x10ffff } };
    static const char *const bad[] = { "\x80",
                                       "\xbf",
                                       "\xc0\x80",
                                       "\xc1\xbf",
                                       "\xc2",
                                       "\xc2"
                                       "A",
                                       "\xe0\x9f\xbf",
                                       "\xed\xa0\x80",
                                       "\xed\xbf\xbf",
                                       "\xe2\x82",
                                       "\xf0\x8f\xbf\xbf",
                                       "\xf4\x90\x80\x80",
                                       "\xf5\x80\x80\x80",
                                       "\xff" };

    (void)state;
    for (size_t i = 0; i < sizeof (good) / sizeof (*good); i++) {
        char out[4];
        uint32_t cp = 0;
        size_t n = strlen (good[i].bytes);

        assert_int_equal (utf8_take (good[i].bytes, n, &cp), n);
        assert_int_equal (cp, good[i].cp);
        assert_int_equal (utf8_put (out, cp), n);
        assert_memory_equal (out, good[i].bytes, n);
        if (n > 1)
            assert_int_equal (utf8_take (good[i].bytes, n - 1, NULL), 0);
    }
    for (size_t i = 0; i < sizeof (bad) / sizeof (*bad); i++)
        assert_int_equal (utf8_take (bad[i], strlen (bad[i]), NULL), 0);
    assert_int_equal (utf8_letters (TEXT ("a\xc3\xa9\xf0\x9f\x98\x80")), 3);
    assert_int_equal (utf8_letters ((struct text){ 0 }), 0);
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (test_arena),   cmocka_unit_test (test_json_escape), cmocka_unit_test (test_double),
        cmocka_unit_test (test_doubles), cmocka_unit_test (test_clock),       cmocka_unit_test (test_error),
        cmocka_unit_test (test_id),      cmocka_unit_test (test_utf8),
    };
    return cmocka_run_group_tests (tests, NULL, NULL);
}
