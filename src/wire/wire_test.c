/* wire_test.c - the walkers on hand-made tables, against the facts of the wire: coercions, versions, paths, query
 * strings, the envelope. */
#include "base/unit.h"
#include "wire/errors.h"
#include "wire/wire.h"

#include <math.h>
#include <stdio.h>

struct part {
    struct {
        bool name, size;
    } has, null;
    const char *name;
    int64_t size;
};
struct thing {
    struct {
        bool name, colour, count, weight, on, any, dict, part, parts, names, sizes, old, limit;
    } has, null;
    const char *name, *colour;
    int64_t count;
    double weight;
    bool on;
    struct text any, dict;
    struct part *part;
    struct {
        struct part *v;
        size_t n;
    } parts;
    struct {
        const char **v;
        size_t n;
    } names;
    struct {
        int64_t *v;
        size_t n;
    } sizes;
    int64_t old, limit;
    struct text rest;
};
static const char *const colours[] = { "red", "green", NULL };
#define ROW(s, f, ...)                                                                                       \
    {                                                                                                        \
        .name = #f, offsetof (struct s, f), offsetof (struct s, has.f), offsetof (struct s, null.f),         \
        __VA_ARGS__                                                                                          \
    }
static const struct wire_field part_fields[] = {
    ROW (part, name, WIRE_STRING, WIRE_REQUIRED),
    ROW (part, size, WIRE_INT),
    { .name = NULL },
};
static const struct wire_type part_type = { "part", sizeof (struct part), 0, part_fields };
static const struct wire_field thing_fields[] = {
    ROW (thing, name, WIRE_STRING),
    ROW (thing, colour, WIRE_ENUM, .names = colours, .otherwise = "\"red\""),
    ROW (thing, count, WIRE_INT, WIRE_ALWAYS),
    ROW (thing, weight, WIRE_FLOAT),
    ROW (thing, on, WIRE_BOOL, .otherwise = "true"),
    ROW (thing, any, WIRE_JSON),
    ROW (thing, dict, WIRE_JSON, WIRE_DICT),
    ROW (thing, part, WIRE_OBJECT, .type = &part_type),
    ROW (thing, parts, WIRE_OBJECT, WIRE_LIST, .type = &part_type),
    ROW (thing, names, WIRE_STRING, WIRE_LIST),
    ROW (thing, sizes, WIRE_INT, WIRE_LIST),
    ROW (thing, old, WIRE_INT, .until = 2012),
    ROW (thing, limit, WIRE_INT, .since = 2005, .otherwise = "7"),
    { .name = NULL },
};
static const struct wire_type thing_type = { "thing", sizeof (struct thing), offsetof (struct thing, rest),
                                             thing_fields };
struct all {
    struct {
        bool none_;
    } has, null;
    struct text rest;
};
static const struct wire_field no_fields[] = { { .name = NULL } };
static const struct wire_type all_type = { "all", sizeof (struct all), offsetof (struct all, rest),
                                           no_fields };

static const struct wire_call calls[] = {
    { .name = "a.get", .version = 1000 },     { .name = "a.get", .version = 2004 },
    { .name = "a.get_all", .version = 1000 }, { .name = "b.log", .version = 1000 },
    { .name = "b.log", .version = 1007 },     { .name = "b.log", .version = 2009 },
};
const struct wire_call *const wire_calls = calls;
const size_t wire_calls_n = sizeof (calls) / sizeof (*calls);

static struct arena *arena;
static struct error err;
static int set_up (void **state)
{
    (void)state;
    arena = arena_create ();
    err = (struct error){ 0 };
    return 0;
}
static int tear_down (void **state)
{
    (void)state;
    arena_destroy (arena);
    return 0;
}

static int decode (const char *json, int version, struct thing *t)
{
    *t = (struct thing){ 0 };
    return wire_decode (arena, &thing_type, text_of (json), version, true, t, &err);
}

#define assert_text(t, s) assert_string_equal (arena_text (arena, (t)), (s))

static void decodes (void **state)
{
    struct thing t;

    (void)state;
    assert_int_equal (
        decode ("{\"name\":\"x\\u00e9\",\"colour\":\"green\",\"count\":5,\"weight\":1,\"on\":false,"
                "\"any\":[1, "
                "2],\"dict\":{\"a\":1},\"part\":{\"name\":\"p\"},\"parts\":[{\"name\":\"q\",\"size\":3},"
                "{\"name\":\"r\"}],\"names\":[\"u\",\"v\"],\"sizes\":[1,\"2\",3.7],\"method\":\"get\","
                "\"\\u0061\":1}",
                2013, &t),
        0);
    assert_string_equal (t.name, "x\xc3\xa9");
    assert_string_equal (t.colour, "green");
    assert_true (t.count == 5 && t.weight == 1 && !t.on && t.has.on);
    assert_text (t.any, "[1, 2]");
    assert_text (t.dict, "{\"a\":1}");
    assert_string_equal (t.part->name, "p");
    assert_false (t.part->has.size);
    assert_int_equal (t.parts.n, 2);
    assert_string_equal (t.parts.v[1].name, "r");
    assert_int_equal (t.parts.v[0].size, 3);
    assert_string_equal (t.names.v[1], "v");
    assert_true (t.sizes.n == 3 && t.sizes.v[1] == 2 && t.sizes.v[2] == 3);
    assert_text (t.rest, "{\"method\":\"get\",\"\\u0061\":1}");
    assert_true (t.limit == 7 && !t.has.limit);
}

static void absent_null_given (void **state)
{
    struct thing t;

    (void)state;
    assert_int_equal (decode ("{}", 2013, &t), 0);
    assert_true (!t.has.name && !t.null.name && !t.name && t.on && !strcmp (t.colour, "red") && !t.rest.p);
    assert_int_equal (
        decode ("{\"name\":null,\"colour\":null,\"dict\":null,\"names\":null,\"any\":null,\"on\":null}", 2013,
                &t),
        0);
    assert_true (!t.has.name && t.null.name && !t.has.dict && t.null.dict && t.null.names && t.names.n == 0);
    assert_true (t.on && !t.has.on && t.null.on);
    assert_text (t.dict, "{}");
    assert_false (t.has.any);
    assert_string_equal (t.colour, "red");
    /* the last of two wins, also when it is null */
    assert_int_equal (decode ("{\"name\":\"a\",\"name\":null,\"count\":1,\"count\":2}", 2013, &t), 0);
    assert_true (!t.has.name && t.null.name && !t.name && t.count == 2);
    /* "null/empty/false are the empty list" */
    assert_int_equal (decode ("{\"names\":\"\",\"sizes\":false,\"parts\":{}}", 2013, &t), 0);
    assert_true (t.has.names && t.names.n == 0 && t.sizes.n == 0 && t.parts.n == 0);
    assert_int_equal (decode ("null", 2013, &t), 0);
}

static void coerces (void **state)
{
    static const struct {
        const char *json;
        int64_t want;
    } ints[] = { { "3", 3 },    { "3.9", 3 },   { "-3.9", -3 },  { "\"12\"", 12 }, { "\" -7 \"", -7 },
                 { "true", 1 }, { "false", 0 }, { "1e3", 1000 }, { "\"+5\"", 5 } };
    static const char *const no_ints[] = {
        "\"x\"", "\"1.5\"", "\"\"", "[]", "{}", "NaN", "Infinity", "\" \""
    };
    static const struct {
        const char *json;
        bool want;
    } bools[] = { { "\"false\"", true }, { "0", false },  { "1", true },
                  { "\"\"", false },     { "[]", false }, { "[0]", true } };
    struct thing t;

    (void)state;
    for (size_t i = 0; i < sizeof (ints) / sizeof (*ints); i++) {
        assert_int_equal (decode (arena_printf (arena, "{\"count\":%s}", ints[i].json), 2013, &t), 0);
        assert_int_equal (t.count, ints[i].want);
    }
    for (size_t i = 0; i < sizeof (no_ints) / sizeof (*no_ints); i++)
        assert_int_equal (decode (arena_printf (arena, "{\"count\":%s}", no_ints[i]), 2013, &t), -1);
    for (size_t i = 0; i < sizeof (bools) / sizeof (*bools); i++) {
        assert_int_equal (decode (arena_printf (arena, "{\"on\":%s}", bools[i].json), 2013, &t), 0);
        assert_int_equal (t.on, bools[i].want);
    }
    assert_int_equal (decode ("{\"weight\":NaN}", 2013, &t), 0);
    assert_true (isnan (t.weight));
    assert_int_equal (decode ("{\"weight\":\"1\"}", 2013, &t), -1);
}

static void refuses (void **state)
{
    static const struct {
        const char *json, *words;
    } bad[] = {
        { "{\"name\":5}", "field name: a string expected, found 5" },
        { "{\"colour\":\"blue\"}", "field colour: one of red green expected, found \"blue\"" },
        { "{\"colour\":1}", "field colour" },
        { "{\"parts\":[{\"name\":\"a\"},{\"name\":{}}]}", "field parts[1].name: a string" },
        { "{\"parts\":[{}]}", "field parts[0].name is required" },
        { "{\"parts\":[null]}", "field parts[0]: an object" },
        { "{\"parts\":\"x\"}", "field parts: a list" },
        { "{\"part\":{\"name\":null}}", "field part.name is required" },
        { "{\"part\":[]}", "field part: an object" },
        { "{\"dict\":[]}", "field dict: an object" },
        { "{\"names\":[\"a\",2]}", "field names[1]: a string" },
        { "{\"names\":7}", "field names: a list" },
    };
    struct thing t;

    (void)state;
    for (size_t i = 0; i < sizeof (bad) / sizeof (*bad); i++) {
        assert_int_equal (decode (bad[i].json, 2013, &t), -1);
        assert_int_equal (err.code, ERR_VALIDATION);
        if (!strstr (err.text, bad[i].words))
            fail_msg ("%s: %s", bad[i].json, err.text);
    }
    assert_int_equal (decode ("[]", 2013, &t), -1);
    assert_int_equal (err.code, ERR_MALFORMED);
    t = (struct thing){ 0 };
    assert_int_equal (wire_decode (arena, &thing_type, TEXT ("{\"parts\":[{}]}"), 2013, false, &t, &err), 0);
}

static void versions (void **state)
{
    struct thing t;
    struct str s = { .arena = arena };

    (void)state;
    assert_int_equal (decode ("{\"old\":1,\"limit\":2}", 2012, &t), 0);
    assert_true (t.old == 1 && t.limit == 2);
    assert_int_equal (decode ("{\"old\":\"x\",\"limit\":2}", 2013, &t), 0);
    assert_text (t.rest, "{\"old\":\"x\"}");
    t = (struct thing){ .has = { .old = true, .limit = true }, .old = 1, .limit = 2 };
    wire_encode (&s, &thing_type, &t, 2004);
    assert_string_equal (s.p, "{\"count\":0,\"old\":1}");
    str_reset (&s);
    wire_encode (&s, &thing_type, &t, 2013);
    assert_string_equal (s.p, "{\"count\":0,\"limit\":2}");
}

static void all_rest (void **state)
{
    struct all a = { 0 };

    (void)state;
    assert_int_equal (wire_decode (arena, &all_type, TEXT ("{\"x\": 1}"), 2013, true, &a, &err), 0);
    assert_text (a.rest, "{\"x\": 1}");
    a = (struct all){ 0 };
    assert_int_equal (wire_decode (arena, &all_type, TEXT ("{ }"), 2013, true, &a, &err), 0);
    assert_null (a.rest.p);
}

static void encodes (void **state)
{
    static const char *const names[] = { "a\"", NULL };
    struct part part = { .name = "p", .size = 4, .has.size = true };
    struct thing t = { .name = "n",
                       .on = true,
                       .has.on = true,
                       .weight = 0.5,
                       .has.weight = true,
                       .any = TEXT ("[1]"),
                       .part = &part,
                       .parts = { &part, 1 },
                       .names = { (const char **)names, 2 },
                       .null.colour = true,
                       .rest = TEXT ("{ \"z\":1}") };
    struct thing empty = { 0 };
    struct str s = { .arena = arena };

    (void)state;
    wire_encode (&s, &thing_type, &t, 2034);
    assert_string_equal (s.p,
                         "{\"name\":\"n\",\"colour\":null,\"count\":0,\"weight\":0.5,\"on\":true,\"any\":[1],"
                         "\"part\":{\"name\":\"p\",\"size\":4},\"parts\":[{\"name\":\"p\",\"size\":4}],"
                         "\"names\":[\"a\\\"\",null], \"z\":1}");
    str_reset (&s);
    wire_encode (&s, &thing_type, &empty, 2034);
    assert_string_equal (s.p, "{\"count\":0}");
}

static void finds (void **state)
{
    (void)state;
    assert_ptr_equal (wire_find (TEXT ("a.get"), 2034), &calls[1]);
    assert_ptr_equal (wire_find (TEXT ("a.get"), 2003), &calls[0]);
    assert_ptr_equal (wire_find (TEXT ("b.log"), 1999), &calls[4]);
    assert_ptr_equal (wire_find (TEXT ("b.log"), 999000), &calls[5]);
    assert_null (wire_find (TEXT ("b.log"), 999));
    assert_null (wire_find (TEXT ("a.ge"), 2034));
    assert_null (wire_find (TEXT ("a.get_"), 2034));
    assert_null (wire_find (TEXT ("c"), 2034));
    assert_null (wire_find (TEXT (""), 2034));
}

static void paths (void **state)
{
    static const struct {
        const char *path, *name, *text;
        int version;
    } good[] = {
        { "/v2.23/tasks.get_all", "tasks.get_all", "2.23", 2023 },
        { "tasks.get_all", "tasks.get_all", "2.34", 2034 },
        { "/v999.0/x1.y_/", "x1.y_", "999.0", 999000 },
        { "/v23/ab.cd", "ab.cd", "23", 23000 },
        { "v1.5/ab.cd", "ab.cd", "1.5", 1005 },
        { "/__a.__b", "__a.__b", "2.34", 2034 },
        { "/v23./ab.cd", "ab.cd", "23.", 23000 },
        { "/v2.99999/ab.cd", "ab.cd", "2.99999", 2999 },
    };
    static const char *const bad[] = { "/",
                                       "",
                                       "/tasks",
                                       "/vx/tasks.get_all",
                                       "/v2/tasks.get_all",
                                       "/v2./tasks.get_all",
                                       "/a.get",
                                       "/ab.c",
                                       "/1ab.cd",
                                       "/ab.cd.ef",
                                       "/ab.cd//",
                                       "//ab.cd",
                                       "/v2.3/v2.3/ab.cd",
                                       "/ab-x.cd",
                                       "/ab.c\xc3\xa9" };
    struct wire_path p;

    (void)state;
    for (size_t i = 0; i < sizeof (good) / sizeof (*good); i++) {
        if (wire_path_parse (text_of (good[i].path), &p, &err) < 0)
            fail_msg ("%s", good[i].path);
        assert_text (p.name, good[i].name);
        assert_text (p.version_text, good[i].text);
        assert_int_equal (p.version, good[i].version);
    }
    for (size_t i = 0; i < sizeof (bad) / sizeof (*bad); i++) {
        if (wire_path_parse (text_of (bad[i]), &p, &err) == 0)
            fail_msg ("taken: %s", bad[i]);
        assert_int_equal (err.code, ERR_MALFORMED);
        assert_true (p.name.n == 0 && p.version == 1000);
    }
}

static void queries (void **state)
{
    static const struct {
        const char *body, *query, *want;
    } rows[] = {
        { "{\"a\":1}", "", "{\"a\":1}" },
        { "{\"a\":1,\"b\":2}", "a=x&c=%C3%A9+y", "{\"a\":\"x\",\"b\":2,\"c\":\"\\u00e9 y\"}" },
        { NULL, "a.b=1&a.c=true&d=False", "{\"a\":{\"b\":1,\"c\":true},\"d\":false}" },
        { "{\"a\":{\"z\":1}}", "a.b=1", "{\"a\":{\"z\":1,\"b\":1}}" },
        { "{\"a\":5}", "a.b=1", "{\"a\":{\"b\":1}}" },
        { NULL, "x=1&x=2.5&y[]=q", "{\"x\":[1,2.5],\"y\":[\"q\"]}" },
        { NULL, "i=007&f=1.&g=.5&n=-1&e=&k&t=TRUE&u=tRue&d=1.2.3",
          "{\"i\":7,\"f\":1.0,\"g\":0.5,\"n\":\"-1\",\"e\":\"\",\"k\":\"\",\"t\":true,\"u\":\"tRue\",\"d\":"
          "\"1.2.3\"}" },
        { NULL, "b=12345678901234567890123", "{\"b\":12345678901234567890123}" },
        { NULL, "&&=1&.=2&p=%zz%4", "{\"p\":\"%zz%4\"}" },
    };
    struct text out;

    (void)state;
    for (size_t i = 0; i < sizeof (rows) / sizeof (*rows); i++) {
        assert_int_equal (
            wire_merge_query (arena, text_of (rows[i].body), text_of (rows[i].query), &out, &err), 0);
        assert_text (out, rows[i].want);
    }
    assert_int_equal (wire_merge_query (arena, TEXT ("[1]"), TEXT (""), &out, &err), -1);
    assert_int_equal (err.code, ERR_MALFORMED);
    struct str deep = { .arena = arena };
    for (int i = 0; i < 40; i++)
        str_puts (&deep, "a.");
    str_puts (&deep, "b=1");
    assert_int_equal (wire_merge_query (arena, TEXT ("{}"), str_text (&deep), &out, &err), -1);
    str_reset (&deep);
    for (int i = 0; i < 1001; i++)
        str_puts (&deep, "a&");
    assert_int_equal (wire_merge_query (arena, TEXT ("{}"), str_text (&deep), &out, &err), -1);
}

static void envelopes (void **state)
{
    struct wire_meta m = { .id = "i",
                           .name = TEXT ("b.log"),
                           .requested = TEXT ("2.23"),
                           .requested_version = 2023,
                           .call = &calls[4] };
    struct str s = { .arena = arena };

    (void)state;
    wire_envelope (&s, &m, TEXT ("{\"x\":1}"));
    assert_string_equal (
        s.p, "{\"meta\":{\"id\":\"i\",\"trx\":\"i\",\"endpoint\":{\"name\":\"b.log\",\"requested_version\":"
             "\"2.23\",\"actual_version\":\"1.7\"},\"result_code\":200,\"result_subcode\":0,"
             "\"result_msg\":\"OK\",\"error_stack\":null,\"error_data\":{}},\"data\":{\"x\":1}}");
    str_reset (&s);
    m = (struct wire_meta){ .id = "i",
                            .trx = "t",
                            .requested = TEXT ("1.0"),
                            .requested_version = 1000,
                            .code = ERR_MALFORMED,
                            .message = "no \"path\"" };
    wire_envelope (&s, &m, (struct text){ NULL, 0 });
    assert_string_equal (
        s.p, "{\"meta\":{\"id\":\"i\",\"trx\":\"t\",\"endpoint\":{\"name\":\"\",\"requested_version\":1.0,"
             "\"actual_version\":null},\"result_code\":400,\"result_subcode\":0,"
             "\"result_msg\":\"no \\\"path\\\"\",\"error_stack\":null,\"error_data\":{}},\"data\":{}}");
    str_reset (&s);
    m = (struct wire_meta){ .id = "i",
                            .name = TEXT ("a.get"),
                            .requested = TEXT ("2.0"),
                            .requested_version = 2000,
                            .call = &calls[0],
                            .code = ERR_INVALID_TASK_ID,
                            .message = "x" };
    wire_envelope (&s, &m, (struct text){ NULL, 0 });
    assert_non_null (strstr (s.p, "\"requested_version\":2.0,\"actual_version\":1.0}"));
    assert_non_null (strstr (s.p, "\"result_code\":400,\"result_subcode\":101,"));
}

#define TEST(f) cmocka_unit_test_setup_teardown (f, set_up, tear_down)
int main (void)
{
    const struct CMUnitTest tests[] = {
        TEST (decodes),  TEST (absent_null_given), TEST (coerces),  TEST (refuses),
        TEST (versions), TEST (all_rest),          TEST (encodes),  TEST (finds),
        TEST (paths),    TEST (queries),           TEST (envelopes)
    };

    return cmocka_run_group_tests (tests, NULL, NULL);
}
