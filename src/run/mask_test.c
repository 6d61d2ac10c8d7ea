/* mask_test.c - secrets in text, alone, twice, one inside another, and those of URLs. */
#include "base/unit.h"
#include "run/mask.h"

#include <string.h>

static void masked (void **state)
{
    (void)state;
    static const struct {
        const char *in, *want;
    } rows[] = {
        { "nothing here", "nothing here" },
        { "", "" },
        { "tok-1234", "****" },
        { "a tok-1234 b tok-1234", "a **** b ****" },
        { "tok-1234567", "****" }, /* the longer one */
        { "https://u:s%40cret@h/x", "https://u:****@h/x" },
        { "https://onlytoken@h/x", "https://****@h/x" },
        { "ab abc", "ab abc" }, /* too short to be one */
    };
    cleanup_arena struct arena *a = arena_create ();
    struct mask m = { .arena = a };
    mask_add (&m, "tok-1234");
    mask_add (&m, "tok-1234567");
    mask_add (&m, "abc");
    mask_add (&m, NULL);
    mask_add_urls (&m, "https://u:s%40cret@h/simple https://h/simple,https://onlytoken@g/");
    mask_add_urls (&m, NULL);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct text t = mask_apply (&m, a, text_of (rows[i].in));
        assert_string_equal (arena_text (a, t), rows[i].want);
    }
}

int main (void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test (masked) };
    return cmocka_run_group_tests (tests, NULL, NULL);
}
