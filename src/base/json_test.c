/* json_test.c - the scanner against what Python's json takes and refuses, the walkers, trees, writing. */
#include "base/json.h"
#include "base/unit.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define assert_text(t, s)                                                                                    \
    do {                                                                                                     \
        struct text t_ = (t);                                                                                \
        assert_int_equal (t_.n, strlen (s));                                                                 \
        assert_memory_equal (t_.p, s, t_.n);                                                                 \
    } while (0)

static void takes (void **state)
{
    static const char *const good[] = { "null",
                                        "true",
                                        "false",
                                        "0",
                                        "-0",
                                        "1.5",
                                        "1e5",
                                        "1E-5",
                                        "1.25e+300",
                                        "NaN",
                                        "Infinity",
                                        "-Infinity",
                                        "\"\"",
                                        "\"a\\u00e9\\n\\/\"",
                                        "[]",
                                        "{}",
                                        "[1,2,[3,{\"a\":[]}]]",
                                        " { \"a\" : 1 , \"b\" : [ ] } \n",
                                        "\"\\ud800\"",
                                        "\"\xc3\xa9\xf0\x9f\x98\x80\"",
                                        "123456789012345678901234" };
    struct error err = { 0 };
    struct text t;

    (void)state;
    for (size_t i = 0; i < sizeof (good) / sizeof (*good); i++)
        if (json_check (text_of (good[i]), &t, &err) < 0)
            fail_msg ("%s: %s", good[i], err.text);
    assert_int_equal (json_check (TEXT ("  [ 1 ]\t"), &t, &err), 0);
    assert_text (t, "[ 1 ]");
}

static void refuses (void **state)
{
    static const char *const bad[] = { "",
                                       " ",
                                       "nul",
                                       "nan",
                                       "01",
                                       "+1",
                                       "1.",
                                       ".5",
                                       "1e",
                                       "-",
                                       "--1",
                                       "'a'",
                                       "\"a",
                                       "\"\\x\"",
                                       "\"\\u12g4\"",
                                       "\"\\u123",
                                       "\"\t\"",
                                       "\"\xff\"",
                                       "\"\xc0\xaf\"",
                                       "\"\xed\xa0\x80\"",
                                       "\"\xf4\x90\x80\x80\"",
                                       "[1,]",
                                       "[,1]",
                                       "[1 2]",
                                       "[1",
                                       "{",
                                       "{\"a\"}",
                                       "{\"a\":}",
                                       "{\"a\":1,}",
                                       "{a:1}",
                                       "{1:2}",
                                       "[]]",
                                       "1 2",
                                       "{} x",
                                       "tru",
                                       "-Inf",
                                       "Infinityx",
                                       "\"\\" };
    struct error err = { 0 };
    struct text t = { NULL, 7 };

    (void)state;
    for (size_t i = 0; i < sizeof (bad) / sizeof (*bad); i++)
        if (json_check (text_of (bad[i]), &t, &err) == 0)
            fail_msg ("taken: %s", bad[i]);
    assert_int_equal (t.n, 7);
    json_check (TEXT ("{\"a\":[1,x]}"), &t, &err);
    assert_non_null (strstr (err.text, "byte 8"));
}

static void depth (void **state)
{
    struct error err = { 0 };
    char deep[2000];
    struct text t;

    (void)state;
    memset (deep, '[', 513);
    memset (deep + 512, ']', 512);
    assert_int_equal (json_check ((struct text){ deep, 1024 }, &t, &err), 0);
    memset (deep, '[', 513);
    memset (deep + 513, ']', 513);
    assert_int_equal (json_check ((struct text){ deep, 1026 }, &t, &err), -1);
    assert_non_null (strstr (err.text, "512"));
}

static void walks (void **state)
{
    struct arena *a = arena_create ();
    struct text doc =
        TEXT ("{\"a\": 1, \"b\\\"\\u0041\": [ {\"x\":\"}]\"}, \"\\\\\" , null ], \"a\": 2,\"e\":\"\"}");
    struct json_iter it = json_iter (doc);
    static const char *const path[] = { "o", "p" };

    (void)state;
    assert_true (json_next (&it));
    assert_text (it.key, "a");
    assert_text (it.value, "1");
    assert_true (json_next (&it));
    assert_string_equal (json_key (a, it.key), "b\"A");
    assert_text (it.value, "[ {\"x\":\"}]\"}, \"\\\\\" , null ]");
    assert_int_equal (json_count (it.value), 3);
    assert_true (json_next (&it));
    assert_true (json_next (&it));
    assert_text (it.key, "e");
    assert_text (it.value, "\"\"");
    assert_false (json_next (&it));

    assert_text (json_get (doc, "a"), "2"); /* the last one wins */
    assert_int_equal (json_kind (json_get (doc, "b\"A")), JSON_ARRAY);
    assert_int_equal (json_kind (json_get (doc, "b")), JSON_ABSENT);
    assert_int_equal (json_kind (json_get (TEXT ("[1]"), "a")), JSON_ABSENT);
    assert_text (json_get_path (TEXT ("{\"o\":{\"p\":[7]}}"), path, 2), "[7]");
    assert_null (json_get_path (TEXT ("{\"o\":1}"), path, 2).p);
    assert_int_equal (json_count (TEXT ("{}")), 0);
    assert_int_equal (json_count (TEXT ("5")), 0);
    arena_destroy (a);
}

static void values (void **state)
{
    struct arena *a = arena_create ();

    (void)state;
    assert_string_equal (json_string (a, TEXT ("\"a\\u00e9\\ud83d\\ude00\\n\\\"\\/\\\\\"")),
                         "a\xc3\xa9\xf0\x9f\x98\x80\n\"/\\");
    assert_string_equal (json_string (a, TEXT ("\"\\ud800x\"")), "\xef\xbf\xbdx");
    assert_string_equal (json_string (a, TEXT ("\"\\u0000a\\u0000\\u0000bc\\u0000\"")),
                         "\xef\xbf\xbd"
                         "a\xef\xbf\xbd\xef\xbf\xbd"
                         "bc\xef\xbf\xbd");
    assert_int_equal (json_string_text (a, TEXT ("\"a\\u0000b\"")).n, 3);
    assert_null (json_string (a, TEXT ("5")));
    assert_null (json_string (a, (struct text){ NULL, 0 }));
    assert_true (json_string_is (TEXT ("\"\\u0061b\""), "ab"));
    assert_false (json_string_is (TEXT ("\"ab\""), "a"));
    assert_false (json_string_is (TEXT ("5"), "5"));

    assert_int_equal (json_int (TEXT ("12"), -1), 12);
    assert_int_equal (json_int (TEXT ("-9223372036854775808"), 0), INT64_MIN);
    assert_int_equal (json_int (TEXT ("9223372036854775807"), 0), INT64_MAX);
    assert_int_equal (json_int (TEXT ("99999999999999999999"), 0), INT64_MAX);
    assert_int_equal (json_int (TEXT ("1.9"), 0), 1);
    assert_int_equal (json_int (TEXT ("-1.9"), 0), -1);
    assert_int_equal (json_int (TEXT ("1e3"), 0), 1000);
    assert_int_equal (json_int (TEXT ("\" 42 \""), 0), 42);
    assert_int_equal (json_int (TEXT ("\"x\""), 7), 7);
    assert_int_equal (json_int (TEXT ("\"\""), 7), 7);
    assert_int_equal (json_int (TEXT ("NaN"), 7), 7);
    assert_int_equal (json_int (TEXT ("true"), 7), 7);

    assert_true (json_double (TEXT ("0.1"), 0) == 0.1);
    assert_true (json_double (TEXT ("1e-400"), 1) == 0);
    assert_true (json_double (TEXT ("1.7976931348623157e308"), 0) == 1.7976931348623157e308);
    assert_true (json_double (TEXT ("3.14159265358979323846264338327950288"), 0) == 3.14159265358979323846);
    assert_true (json_double (TEXT ("9007199254740993"), 0) == 9007199254740993.0);
    assert_true (signbit (json_double (TEXT ("-0.0"), 1)));
    assert_true (isnan (json_double (TEXT ("NaN"), 0)) && isnan (json_double (TEXT ("\"nan\""), 0)));
    assert_true (json_double (TEXT ("-Infinity"), 0) == -INFINITY);
    assert_true (json_double (TEXT ("\"Infinity\""), 0) == INFINITY);
    assert_true (json_double (TEXT ("\"0x10\""), 5) == 5);
    assert_true (json_double (TEXT ("[]"), 5) == 5);

    assert_true (json_true (TEXT ("\"false\"")) && json_true (TEXT ("[0]")) && json_true (TEXT ("NaN")) &&
                 json_true (TEXT ("0.5")) && json_true (TEXT ("{\"a\":null}")));
    assert_false (json_true (TEXT ("\"\"")) || json_true (TEXT ("[ ]")) || json_true (TEXT ("{}")) ||
                  json_true (TEXT ("0")) || json_true (TEXT ("-0.0")) || json_true (TEXT ("null")));
    arena_destroy (a);
}

/* The exact short cut must agree with strtod everywhere. */
static void doubles_agree (void **state)
{
    char z[64];

    (void)state;
    srandom (1);
    for (int i = 0; i < 20000; i++) {
        snprintf (z, sizeof (z), "%ld.%lde%ld", random () % 100000, random () % 1000000, random () % 50 - 25);
        assert_true (json_double (text_of (z), 0) == strtod (z, NULL));
    }
}

static void trees (void **state)
{
    static const char doc[] = "{\"i\":-5,\"u\":18446744073709551615,\"b\":123456789012345678901234567890,"
                              "\"d\":1.50,\"n\":NaN,\"z\":null,\"t\":true,\"s\":\"\\u00e9\\u0000x\","
                              "\"a\":[1,[],{}],\"m\":9223372036854775807}";
    struct arena *a = arena_create ();
    struct error err = { 0 };
    struct json_object *o;

    (void)state;
    assert_int_equal (json_tree (a, text_of (doc), &o, &err), 0);
    assert_text (json_text (a, o), doc);
    json_object_object_add (o, "d", json_object_new_double (0.1));
    json_object_object_del (o, "b");
    assert_non_null (strstr (json_text (a, o).p, "\"d\":0.1,\"n\":NaN"));
    assert_int_equal (json_tree (a, TEXT ("null"), &o, &err), 0);
    assert_null (o);
    assert_text (json_text (a, o), "null");
    assert_int_equal (json_tree (a, (struct text){ NULL, 0 }, &o, &err), 0);
    assert_null (o);
    assert_int_equal (json_tree (a, TEXT ("{"), &o, &err), -1);
    arena_destroy (a);
}

static void writes (void **state)
{
    struct str s = { 0 };

    (void)state;
    str_putc (&s, '{');
    json_put_key (&s, "a");
    json_put_string (&s, "x\"\xc3\xa9");
    json_put_key (&s, "b");
    str_putc (&s, '[');
    json_put_comma (&s);
    str_puts (&s, "1");
    json_put_comma (&s);
    json_put_string (&s, NULL);
    str_puts (&s, "]}");
    assert_string_equal (s.p, "{\"a\":\"x\\\"\\u00e9\",\"b\":[1,null]}");
    str_done (&s);
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (takes), cmocka_unit_test (refuses), cmocka_unit_test (depth),
        cmocka_unit_test (walks), cmocka_unit_test (values),  cmocka_unit_test (doubles_agree),
        cmocka_unit_test (trees), cmocka_unit_test (writes),
    };

    return cmocka_run_group_tests (tests, NULL, NULL);
}
