/* query_test.c - the query language on a small entity: what each filter form selects, how pages and projections come
 * out, which inputs are refused with which code; and every fragment in each place it may stand. */
#include "base/unit.h"

#include "store/query_parts.h"
#include "store/sqlite.h"
#include "store/volatile.h"

#include <stdio.h>
#include <stdlib.h>

static const char schema[] =
    "CREATE TABLE thing (n INTEGER PRIMARY KEY, id TEXT UNIQUE, company TEXT, name TEXT, tags TEXT DEFAULT "
    "'[]',"
    " weight INTEGER, made INTEGER, boss TEXT, hidden INTEGER DEFAULT 0, ready INTEGER DEFAULT 0);"
    "CREATE TABLE thing_doc (thing INTEGER PRIMARY KEY, doc TEXT);"
    "CREATE TABLE param (thing INTEGER, section TEXT, name TEXT, value TEXT, key BLOB);"
    "CREATE TABLE tree (ancestor TEXT, thing TEXT);"
    "INSERT INTO thing (n, id, company, name, tags, weight, made, boss, ready) VALUES"
    " (1, 'a', 'c', 'alpha one', '[\"x\"]', 5, 1000, NULL, 1),"
    " (2, 'b', 'c', 'beta', '[\"x\",\"y\"]', NULL, 2000, 'a', 0),"
    " (3, 'd', 'c', 'Alpha.two', '[]', 11, 3000, 'a', 1),"
    " (4, 'e', '', 'public', '[\"y\"]', 2, 4000, 'b', 0),"
    " (5, 'f', 'other', 'foreign', '[\"x\"]', 1, 5000, NULL, 1);"
    "INSERT INTO thing (n, id, company, name, hidden, made) VALUES (6, 'h', 'c', 'hidden', 1, 6000);"
    "INSERT INTO thing_doc SELECT n, '{\"deep\":{\"p\":' || n || "
    "',\"q.r\":[1,2]},\"boss\":\"a\",\"esc\\u0061\":1}'"
    " FROM thing;"
    "INSERT INTO param VALUES (1, 'S', 'l.r', '2', sortkey('2')), (2, 'S', 'l.r', '11', sortkey('11')),"
    " (3, 'S', 'l.r', '1', sortkey('1'));"
    "INSERT INTO tree VALUES ('a','a'), ('a','b'), ('b','b');";

static const struct query_entity thing;
static const struct query_field fields[] = {
    { .name = "id", .expr = "e.id", .show = QUERY_TEXT, .ops = QUERY_LIST | QUERY_ORDER | QUERY_FILLED },
    { .name = "company", .expr = "e.company", .show = QUERY_TEXT },
    { .name = "name",
      .expr = "e.name",
      .show = QUERY_TEXT,
      .ops = QUERY_PATTERN | QUERY_ORDER | QUERY_SEARCH },
    { .name = "tags",
      .each = "SELECT value AS v FROM json_each(e.tags)",
      .column = "e.tags",
      .show = QUERY_JSON,
      .ops = QUERY_LIST },
    { .name = "weight",
      .expr = "e.weight",
      .show = QUERY_INT,
      .ops = QUERY_RANGE | QUERY_ORDER,
      .otherwise = "0" },
    { .name = "made", .expr = "e.made", .show = QUERY_TIME, .ops = QUERY_DATE | QUERY_ORDER },
    { .name = "boss",
      .expr = "e.boss",
      .show = QUERY_TEXT,
      .ops = QUERY_LIST | QUERY_TREE | QUERY_ORDER,
      .subtree = "SELECT t.thing FROM tree t WHERE t.ancestor IN" },
    { .name = "ready", .expr = "e.ready", .show = QUERY_BOOL, .ops = QUERY_EQUAL | QUERY_ORDER },
    { .name = "doc", .column = "d.doc", .show = QUERY_JSON, .ops = QUERY_HEAVY },
    { .name = "secret", .expr = "'s'", .show = QUERY_TEXT, .ops = QUERY_ASKED },
    { .name = "params.*",
      .expr = "(SELECT value FROM param WHERE thing = e.n AND section = $1 AND name = $2)",
      .sort = "(SELECT key FROM param WHERE thing = e.n AND section = $1 AND name = $2)",
      .show = QUERY_TEXT,
      .ops = QUERY_LIST | QUERY_ORDER },
    { .name = "company_now.*", .expr = "$company || $now || $1", .show = QUERY_TEXT, .ops = QUERY_EQUAL },
    { .name = NULL },
};
static const struct query_ref refs[] = { { "boss", &thing }, { "doc.boss", &thing }, { NULL, NULL } };
static const struct query_entity thing = {
    .name = "Thing",
    .from = "thing e",
    .heavy = "CROSS JOIN thing_doc d ON d.thing = e.n",
    .key = "e.n",
    .company = "e.company",
    .any_public = "SELECT 1 FROM thing WHERE company = '' LIMIT 1",
    .hidden = "e.hidden = 0",
    .fields = fields,
    .refs = refs,
};

struct fixture {
    struct db *db;
    struct arena *a;
    struct volatile_store *v;
    struct query_source src;
};

static int set_up (void **state)
{
    struct fixture *f = calloc (1, sizeof *f);
    struct error err = { 0 };
    if (db_open (":memory:", CONNECTION_WRITER, true, &f->db, &err) < 0 ||
        db_run_script (f->db, schema, &err) < 0) {
        print_error ("%s\n", err.text);
        return -1;
    }
    f->a = arena_create ();
    f->v = volatile_create ();
    f->src = (struct query_source){
        .db = f->db, .arena = f->a, .company = "c", .version = 2034, .now = 9000, .volatiles = f->v
    };
    *state = f;
    return 0;
}

static int tear_down (void **state)
{
    struct fixture *f = *state;
    volatile_destroy (f->v);
    arena_destroy (f->a);
    db_close (f->db);
    free (f);
    return 0;
}

static const char *answer (struct fixture *f, const char *body, unsigned flags)
{
    struct query_options o = { .flags = flags };
    struct query_result r;
    struct error err = { 0 };
    if (query_run (&f->src, &thing, text_of (body), &o, &r, &err) < 0)
        return arena_printf (f->a, "%d", err.code);
    return arena_text (f->a, r.items);
}

/* Ids of the things that match, in their order: "ab" */
static const char *ids (struct fixture *f, const char *body)
{
    struct str s = { .arena = f->a };
    const char *p = arena_printf (f->a, "{\"only_fields\":[\"id\"],%s", body + 1), *text = answer (f, p, 0);
    if (text[0] != '[')
        return text;
    for (const char *q = text; (q = strstr (q, "\"id\":\"")) != NULL; q += 6)
        str_putc (&s, q[6]);
    return s.p ? s.p : "";
}

static void test_filters (void **state)
{
    static const struct {
        const char *body, *want;
    } cases[] = {
        { "{\"x\":1}", "abde" },
        { "{\"search_hidden\":true}", "abdeh" },
        { "{\"id\":[\"h\"]}", "h" },
        { "{\"id\":\"b\"}", "b" },
        { "{\"id\":[\"f\"]}", "" },
        { "{\"id\":[\"a\",\"nope\",\"d\"]}", "ad" },
        { "{\"non_public\":true}", "abd" },
        /* patterns */
        { "{\"name\":\"lpha\"}", "ad" },
        { "{\"name\":\"^alpha\"}", "a" },
        { "{\"name\":\"^alpha\\\\ one$\"}", "a" },
        { "{\"name\":\"^alpha.one$\"}", "a" },
        { "{\"name\":\"^Alpha\\\\.two$\"}", "d" },
        { "{\"name\":\"^bet?a\"}", "b" },
        { "{\"name\":\"^bet|two\"}", "bd" },
        { "{\"name\":\"^betax*$\"}", "b" },
        { "{\"name\":\"(?i)^ALPHA\"}", "ad" },
        { "{\"name\":\"\"}", "abde" },
        { "{\"name\":\"[\"}", "4000021" },
        { "{\"name\":\"(\"}", "4000021" },
        { "{\"name\":5}", "4000012" },
        /* lists */
        { "{\"tags\":[\"x\"]}", "ab" },
        { "{\"tags\":[]}", "abde" },
        { "{\"tags\":[\"-x\"]}", "de" },
        { "{\"tags\":[\"x\",\"-y\"]}", "a" },
        { "{\"tags\":[\"-x\",\"-y\"]}", "d" },
        { "{\"tags\":[\"__$all\",\"x\",\"y\"]}", "b" },
        { "{\"tags\":[\"__$any\",\"x\",\"y\"]}", "abe" },
        { "{\"tags\":[\"__$any\",\"__$not\",\"x\",\"y\"]}", "bde" },
        { "{\"tags\":[\"__$all\",\"x\",\"__$not\",\"y\"]}", "a" },
        { "{\"tags\":[\"__$or\",\"-x\"]}", "" },
        { "{\"tags\":[\"__$or\",\"y\",\"__$nop\",\"-x\"]}", "bde" },
        { "{\"tags\":[null]}", "d" },
        { "{\"tags\":[null,\"y\"]}", "bde" },
        { "{\"tags\":[\"*\"]}", "" },
        { "{\"tags\":[\"-\"]}", "4000016" },
        { "{\"tags\":[\"__$not\"]}", "4000016" },
        { "{\"tags\":[\"__$not\",\"__$any\"]}", "4000016" },
        { "{\"tags\":[\"__$xor\",\"a\"]}", "4000016" },
        { "{\"tags\":[5]}", "4000016" },
        { "{\"boss\":[null]}", "a" },
        { "{\"boss\":[\"-a\"]}", "ae" },
        { "{\"boss\":[\"a\"],\"include_subprojects\":true}", "bde" },
        { "{\"boss\":[\"a\"]}", "bd" },
        { "{\"boss\":null}", "abde" },
        /* filters: any and all, include and exclude, with and without null */
        { "{\"filters\":{\"tags\":{\"any\":{\"include\":[\"x\"]}}}}", "ab" },
        { "{\"filters\":{\"tags\":{\"any\":{\"include\":[\"x\",null]}}}}", "abd" },
        { "{\"filters\":{\"tags\":{\"any\":{\"exclude\":[\"x\"]}}}}", "de" },
        { "{\"filters\":{\"tags\":{\"any\":{\"exclude\":[\"x\",\"y\"]}}}}", "ade" },
        { "{\"filters\":{\"tags\":{\"any\":{\"exclude\":[\"x\",null]}}}}", "abde" },
        { "{\"filters\":{\"tags\":{\"any\":{\"exclude\":[null]}}}}", "abe" },
        { "{\"filters\":{\"tags\":{\"all\":{\"include\":[\"x\",\"y\"]}}}}", "b" },
        { "{\"filters\":{\"tags\":{\"all\":{\"include\":[\"x\",null]}}}}", "" },
        { "{\"filters\":{\"tags\":{\"all\":{\"include\":[null]}}}}", "d" },
        { "{\"filters\":{\"tags\":{\"all\":{\"exclude\":[\"x\",\"y\"]}}}}", "d" },
        { "{\"filters\":{\"tags\":{\"all\":{\"exclude\":[\"x\",null]}}}}", "e" },
        { "{\"filters\":{\"tags\":{\"any\":{\"include\":[\"x\"]},\"all\":{\"exclude\":[\"y\"]}}}}", "a" },
        { "{\"filters\":{\"tags\":{\"any\":{\"include\":[\"x\"]},\"all\":{\"exclude\":[\"y\"]},\"op\":\"or\"}"
          "}}",
          "abd" },
        { "{\"tags\":[\"y\"],\"filters\":{\"tags\":{\"any\":{\"include\":[\"x\"]}}}}", "ab" },
        { "{\"filters\":{\"tags\":{\"some\":{}}}}", "4000012" },
        { "{\"filters\":{\"tags\":{\"op\":\"xor\"}}}", "4000012" },
        { "{\"filters\":{\"tags\":5}}", "4000012" },
        { "{\"filters\":[]}", "4000016" },
        /* ranges */
        { "{\"weight\":[5,11]}", "ad" },
        { "{\"weight\":[6,null]}", "d" },
        { "{\"weight\":[null,5]}", "abe" },
        { "{\"weight\":[\"5\",\"5.5\"]}", "a" },
        { "{\"weight\":[\">=5\"]}", "ad" },
        { "{\"weight\":[\">2\",\"<11\"]}", "a" },
        { "{\"weight\":[null,null]}", "4000012" },
        { "{\"weight\":[1]}", "4000012" },
        { "{\"weight\":[1,2,3]}", "4000012" },
        { "{\"weight\":[\"x\",5]}", "4000012" },
        /* dates */
        { "{\"made\":\">=1970-01-01T00:00:02\"}", "bde" },
        { "{\"made\":[\">1970-01-01T00:00:02\",\"<1970-01-01T00:00:04\"]}", "d" },
        { "{\"made\":[\"1970-01-01T00:00:02\",\"1970-01-01T00:00:03\"]}", "bd" },
        { "{\"made\":[\"1970-01-01T00:00:03\",null]}", "de" },
        { "{\"made\":\"1970-01-01T00:00:03\"}", "d" },
        { "{\"made\":[\"rubbish\"]}", "abde" },
        { "{\"made\":[\">=1970-01-01\",\">=1970-01-01T00:00:04\"]}", "e" },
        /* one value, dotted names */
        { "{\"ready\":true}", "ad" },
        { "{\"ready\":false}", "be" },
        { "{\"params.S.l%2Er\":[\"11\"]}", "b" },
        { "{\"params.S.l%2Er.value\":[\"1\",\"2\"]}", "ad" },
        { "{\"company_now.x\":\"c9000x\"}", "abde" },
        { "{\"company_now.x\":\"c9000y\"}", "" },
        /* several fields at once */
        { "{\"_any_\":{\"fields\":[\"name\",\"tags\"],\"pattern\":\"^(BETA|x)$\"}}", "ab" },
        { "{\"_all_\":{\"fields\":[\"name\",\"tags\"],\"pattern\":\"t|x\"}}", "b" },
        { "{\"_any_\":{\"fields\":[\"nope\"],\"pattern\":\"x\"}}", "" },
        { "{\"_any_\":{\"fields\":[],\"pattern\":\"x\"}}", "abde" },
        { "{\"_or_\":{\"fields\":[\"made\",\"name\"],\"datetime\":\">1970-01-01T00:00:03\"}}", "e" },
        { "{\"_any_\":{\"fields\":[\"name\"],\"datetime\":\">1970-01-01\"}}", "abde" },
        { "{\"_any_\":{\"fields\":[\"name\"]}}", "4000016" },
        { "{\"_any_\":{\"fields\":[\"name\"],\"pattern\":\"a\",\"datetime\":\"b\"}}", "4000016" },
        { "{\"_any_\":{\"pattern\":\"a\"}}", "4000016" },
        { "{\"_any_\":{\"fields\":[\"name\"],\"pattern\":\"[\"}}", "4000021" },
        { "{\"search_text\":\"beta, two!\"}", "bd" },
        { "{\"search_text\":\"bet\"}", "" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *got = ids (*state, cases[i].body);
        if (strcmp (got, cases[i].want))
            fail_msg ("%s: want %s, got %s", cases[i].body, cases[i].want, got);
    }
}

static void test_order_and_pages (void **state)
{
    static const struct {
        const char *body, *want;
    } cases[] = {
        { "{\"order_by\":[\"name\"]}", "dabe" },
        { "{\"order_by\":[\"-name\"]}", "ebad" },
        { "{\"order_by\":\"-made\"}", "edba" },
        { "{\"order_by\":[\"weight\"]}", "eadb" }, /* missing last, both ways */
        { "{\"order_by\":[\"-weight\"]}", "daeb" },
        { "{\"order_by\":[\"boss\"]}", "bdea" },
        { "{\"order_by\":[\"-boss\",\"-id\"]}", "edba" },
        { "{\"order_by\":[\"-ready\"]}", "daeb" }, /* equals by creation, in the same direction */
        { "{\"order_by\":[\"ready\"]}", "bead" },
        { "{\"order_by\":[\"params.S.l%2Er\"]}", "dabe" }, /* 1 2 11 */
        { "{\"order_by\":[\"-params.S.l%2Er.value\"]}", "bade" },
        { "{\"order_by\":[\"doc.nothing\"]}", "abde" },
        { "{\"order_by\":[\"nope\"]}", "4000014" },
        { "{\"order_by\":{}}", "4000014" },
        { "{\"order_by\":[\"@text_score\"]}", "4000016" },
        { "{\"page\":0,\"page_size\":3}", "abd" },
        { "{\"page\":1,\"page_size\":3}", "e" },
        { "{\"page\":2,\"page_size\":3}", "" },
        { "{\"page\":-1,\"page_size\":3}", "4000012" },
        { "{\"page\":0,\"page_size\":0}", "4000012" },
        { "{\"page\":0,\"page_size\":null}", "4000011" },
        { "{\"page\":null,\"page_size\":null}", "abde" },
        { "{\"start\":1,\"size\":2}", "bd" },
        { "{\"start\":0,\"size\":0}", "4000012" },
        { "{\"page\":9223372036854775807,\"page_size\":3}", "" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *got = ids (*state, cases[i].body);
        if (strcmp (got, cases[i].want))
            fail_msg ("%s: want %s, got %s", cases[i].body, cases[i].want, got);
    }
}

static void test_scroll (void **state)
{
    struct fixture *f = *state;
    struct query_options o = { 0 };
    struct query_result r;
    struct error err = { 0 };
    assert_int_equal (query_run (&f->src, &thing, TEXT ("{\"scroll_id\":null,\"size\":3}"), &o, &r, &err), 0);
    assert_int_equal (r.n, 3);
    assert_int_equal (strlen (r.scroll_id), 32);
    const char *next = arena_printf (f->a, "{\"scroll_id\":\"%s\",\"size\":3}", r.scroll_id),
               *again = arena_printf (f->a, "{\"scroll_id\":\"%s\",\"size\":1,\"refresh_scroll\":true}",
                                      r.scroll_id);
    assert_int_equal (query_run (&f->src, &thing, text_of (next), &o, &r, &err), 0);
    assert_int_equal (r.n, 1);
    assert_int_equal (query_run (&f->src, &thing, text_of (next), &o, &r, &err), 0);
    assert_int_equal (r.n, 0);
    assert_int_equal (query_run (&f->src, &thing, text_of (again), &o, &r, &err), 0);
    assert_int_equal (r.n, 4);
}

static void test_projection (void **state)
{
    static const struct {
        const char *body;
        unsigned flags;
        const char *want;
    } cases[] = {
        { "{\"id\":[\"b\"],\"only_fields\":[\"name\",\"boss\"]}", 0, "[{\"name\":\"beta\",\"boss\":\"a\"}]" },
        { "{\"id\":[\"b\"],\"only_fields\":\"name\"}", 0, "[{\"name\":\"beta\"}]" },
        { "{\"id\":[\"b\"],\"projection\":[\"name\"],\"only_fields\":[\"id\"]}", 0, "[{\"name\":\"beta\"}]" },
        { "{\"id\":[\"b\"],\"projection\":[],\"only_fields\":[\"id\"]}", 0, "[{\"id\":\"b\"}]" },
        { "{\"id\":[\"b\"],\"only_fields\":[\"weight\"]}", 0, "[{\"weight\":0}]" },
        { "{\"id\":[\"a\"],\"only_fields\":[\"boss\"]}", 0, "[{}]" },
        { "{\"id\":[\"b\"],\"only_fields\":[\"made\",\"ready\"]}", 0,
          "[{\"made\":\"1970-01-01T00:00:02+00:00\",\"ready\":false}]" },
        { "{\"id\":[\"b\"],\"only_fields\":[\"-doc\",\"-made\",\"-tags\"]}", 0,
          "[{\"id\":\"b\",\"company\":\"c\",\"name\":\"beta\",\"weight\":0,\"boss\":\"a\",\"ready\":false}"
          "]" },
        { "{\"id\":[\"b\"],\"only_fields\":[\"secret\"]}", 0, "[{\"secret\":\"s\"}]" },
        { "{\"id\":[\"b\"],\"only_fields\":[\"doc.deep.p\"]}", 0, "[{\"doc\":{\"deep\":{\"p\":2}}}]" },
        { "{\"id\":[\"b\"],\"only_fields\":[\"doc.deep.q%2Er\"]}", 0,
          "[{\"doc\":{\"deep\":{\"q.r\":[1,2]}}}]" },
        { "{\"id\":[\"b\"],\"only_fields\":[\"doc.esca\"]}", 0, "[{\"doc\":{\"esc\\u0061\":1}}]" },
        { "{\"id\":[\"b\"],\"only_fields\":[\"doc\",\"doc.deep.p\",\"-doc.deep\"]}", 0,
          "[{\"doc\":{\"boss\":\"a\",\"esc\\u0061\":1}}]" },
        { "{\"id\":[\"b\"],\"only_fields\":[\"name\"]}", QUERY_EX, "[{\"id\":\"b\",\"name\":\"beta\"}]" },
        { "{\"id\":[\"b\"],\"only_fields\":[\"boss\"]}", QUERY_EX,
          "[{\"id\":\"b\",\"boss\":{\"id\":\"a\"}}]" },
        { "{\"id\":[\"b\"],\"only_fields\":[\"boss.name\"]}", QUERY_EX,
          "[{\"id\":\"b\",\"boss\":{\"name\":\"alpha one\",\"id\":\"a\"}}]" },
        { "{\"id\":[\"e\"],\"only_fields\":[\"boss.boss.name\"]}", QUERY_EX,
          "[{\"id\":\"e\",\"boss\":{\"boss\":{\"name\":\"alpha one\",\"id\":\"a\"},\"id\":\"b\"}}]" },
        { "{\"id\":[\"b\"],\"only_fields\":[\"doc.boss.name\"]}", QUERY_EX,
          "[{\"id\":\"b\",\"doc\":{\"boss\":{\"name\":\"alpha one\",\"id\":\"a\"}}}]" },
        { "{\"only_fields\":[\"boss.name\"]}", 0, "4000014" },
        { "{\"only_fields\":[\"nope\"]}", 0, "4000014" },
        { "{\"only_fields\":[\"nope\"]}", QUERY_EX, "4000014" },
        { "{\"only_fields\":[\"boss.nope\"]}", QUERY_EX, "4000014" },
        { "{\"only_fields\":[\"params\"]}", 0, "4000014" },
        { "{\"only_fields\":[\"-\"]}", 0, "4000014" },
        { "{\"only_fields\":[\"\"]}", 0, "4000014" },
        { "{\"only_fields\":[\".\"]}", 0, "4000014" },
        { "{\"only_fields\":{}}", 0, "4000014" },
        { "{\"only_fields\":[5]}", 0, "4000014" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *got = answer (*state, cases[i].body, cases[i].flags);
        if (strcmp (got, cases[i].want))
            fail_msg ("%s: want %s, got %s", cases[i].body, cases[i].want, got);
    }
}

static void test_one (void **state)
{
    struct fixture *f = *state;
    struct text doc;
    struct error err = { 0 };
    assert_int_equal (query_one (&f->src, &thing, "e", TEXT ("{\"only_fields\":[\"name\"]}"), 0, &doc, &err),
                      0);
    assert_true (text_is (doc, "{\"name\":\"public\"}"));
    assert_int_equal (query_one (&f->src, &thing, "e", TEXT ("{}"), QUERY_OWN, &doc, &err), 0);
    assert_null (doc.p);
    assert_int_equal (query_one (&f->src, &thing, "f", TEXT ("{}"), 0, &doc, &err), 0);
    assert_null (doc.p);
}

static void test_conditions (void **state)
{
    struct fixture *f = *state;
    struct query_where w;
    struct error err = { 0 };
    struct value extra = V_INT (5);
    struct query_options o = {
        .flags = QUERY_OWN, .where = "e.weight > ?1", .values = &extra, .values_n = 1
    };
    assert_int_equal (query_conditions (&f->src, &thing, TEXT ("{\"ready\":true}"), &o, &w, &err), 0);
    cleanup_rows struct rows r = { 0 };
    const char *sql = arena_printf (f->a, "SELECT count(*), min(e.id) FROM thing e WHERE %s", w.sql.p);
    assert_int_equal (db_query_text (f->db, sql, &r, &err, w.values, w.n), 0);
    assert_int_equal (db_next (&r, &err), 1);
    assert_int_equal (row_int (&r, 0), 1);
    assert_true (text_is (row_text (&r, 1), "d"));
}

/* A pattern that would run for ever is stopped with words. */
static void test_pattern_limit (void **state)
{
    struct fixture *f = *state;
    struct error err = { 0 };
    assert_int_equal (db_run_script (f->db,
                                     "INSERT INTO thing (n, id, company, name) VALUES (9, 'z', 'c',"
                                     " 'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa!')",
                                     &err),
                      0);
    const char *got = answer (f, "{\"name\":\"^(?:a+)+$\"}", 0);
    assert_true (!strcmp (got, "4000021") || !strcmp (got, "[]"));
    got = answer (f, "{\"name\":\"(?:(?:a?){30}){30}(?:a{30}){30}$|(a|aa|aaa)+b\"}", 0);
    assert_string_equal (got, "4000021");
}

int main (void)
{
#define T(name) cmocka_unit_test_setup_teardown (name, set_up, tear_down)
    const struct CMUnitTest tests[] = { T (test_filters),      T (test_order_and_pages),
                                        T (test_scroll),       T (test_projection),
                                        T (test_one),          T (test_conditions),
                                        T (test_pattern_limit) };
    return cmocka_run_group_tests (tests, NULL, NULL);
}
