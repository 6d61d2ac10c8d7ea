/* sortkey_test.c - the order that keys give is the order people expect. */
#include "base/sortkey.h"
#include "base/unit.h"

static int order (const char *a, const char *b)
{
    cleanup_str struct str x = { 0 }, y = { 0 };
    sortkey_add (&x, text_of (a));
    sortkey_add (&y, text_of (b));
    size_t n = x.n < y.n ? x.n : y.n;
    int c = memcmp (x.p, y.p, n);
    return c ? (c < 0 ? -1 : 1) : x.n < y.n ? -1 : x.n > y.n;
}

static void test_order (void **state)
{
    (void)state;
    /* each list ascending */
    static const char *const lists[][8] = {
        { "-3", "-0.5", "0", "0.25", "0.5", "2", "11", "1e3" },
        { "9", "abc", "Abd", "b2", "b11", "b11a", "c" },
        { "v1.2.9", "v1.2.10", "v1.10.0", "v2" },
        { "", "a", "aa" },
        { "run 007", "run 8", "run 70" },
    };
    for (size_t l = 0; l < sizeof lists / sizeof *lists; l++)
        for (size_t i = 0; i + 1 < 8 && lists[l][i + 1]; i++) {
            assert_int_equal (order (lists[l][i], lists[l][i + 1]), -1);
            assert_int_equal (order (lists[l][i + 1], lists[l][i]), 1);
        }
    assert_int_equal (order ("0", "-0"), 0);
    assert_int_equal (order ("lr", "lr"), 0);
    assert_int_not_equal (order ("LR", "lr"), 0);
}

static void test_long (void **state)
{
    (void)state;
    cleanup_str struct str v = { 0 }, k = { 0 };
    for (int i = 0; i < 100000; i++)
        str_putc (&v, i % 2 ? '9' : 'x');
    sortkey_add (&k, str_text (&v));
    assert_true (k.n < 4096);
}

int main (void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test (test_order), cmocka_unit_test (test_long) };
    return cmocka_run_group_tests (tests, NULL, NULL);
}
