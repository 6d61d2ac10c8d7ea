/* gpu_list_test.c - lists of GPUs: how they are read, and what is said of a device that is not here. The driver is
 * nvml_fake.c: three devices, the third split into two MIG devices. */
#include "base/unit.h"
#include "io/gpu_list.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static void test_read (void **state)
{
    static const struct {
        const char *words, *list; /* NULL: refused */
    } rows[] = {
        { "0,2-4", "0,2,3,4" },
        { "0, 1 ,2", "0,1,2" },
        { "3-3", "3" },
        { "", "" },
        { "all", "all" },
        { "ALL", "all" },
        { "none", "none" },
        { "0:1,2", "0:1,2" },
        { "GPU-ab-c,0", "GPU-ab-c,0" },
        { "MIG-GPU-ab/1/0", "MIG-GPU-ab/1/0" },
        { "foo", NULL },
        { "0,", "0" },
        { ",0", NULL },
        { "0;1", NULL },
        { "-1", NULL },
        { "4-2", NULL },
        { "0-", NULL },
        { "0:", NULL },
        { "1e3", NULL },
        { "99999999999", NULL },
        { "GPU-", NULL },
        { "0,all", NULL },
        { "0-99999999999", NULL },
        { "0 1", NULL },
    };
    cleanup_arena struct arena *a = arena_create ();

    (void)state;
    for (size_t i = 0; i < sizeof (rows) / sizeof (*rows); i++) {
        const char *list = NULL;
        struct error err = { 0 };
        int r = gpu_list_read (a, "--gpus", rows[i].words, &list, &err);

        if (r != (rows[i].list ? 0 : -1) || (r == 0 && strcmp (list, rows[i].list)))
            fail_msg ("'%s' became '%s'", rows[i].words, r ? err.text : list);
        if (r < 0)
            assert_non_null (strstr (err.text, "--gpus: '"));
    }
}

static void test_select (void **state)
{
    static const struct {
        const char *list, *chosen; /* their indices */
    } rows[] = {
        { NULL, "012" },
        { "", "012" },
        { "all", "012" },
        { "none", "" },
        { "-1", "" },
        { "0,1", "01" },
        { "2,0", "02" },
        { "1:0", "1" },
        { "1-2", "12" },
        { "10,11", "012" },
        { "void", "012" },
        { "GPU-aaaa0001", "1" },
        { "GPU-aaaa0009", "012" },
    };

    (void)state;
    for (size_t i = 0; i < sizeof (rows) / sizeof (*rows); i++) {
        struct gpu v[3] = { { .index = 0, .uuid = "GPU-aaaa0000-x" },
                            { .index = 1, .uuid = "GPU-aaaa0001-x" },
                            { .index = 2, .uuid = "GPU-aaaa0002-x" } };
        size_t n = gpu_list_select (rows[i].list, v, 3);
        char chosen[4] = "";

        for (size_t k = 0; k < n; k++)
            chosen[k] = (char)('0' + v[k].index);
        if (strcmp (chosen, rows[i].chosen))
            fail_msg ("%s: %s", rows[i].list ? rows[i].list : "(null)", chosen);
    }
}

static void test_check (void **state)
{
    static const char *const here[] = {
        "0,1,2", "GPU-aaaa0000", "2:0,2:1", "MIG-bbbb0001-x", "MIG-GPU-aaaa0002-x/1/0", "all", "none", ""
    };
    static const struct {
        const char *list, *words;
    } not_here[] = {
        { "0,7", "--gpus: no GPU 7 here: there are 3: 0 (Fake), 1 (Fake), 2 (Fake)" },
        { "3", "--gpus: no GPU 3 here" },
        { "GPU-aaaa0009", "--gpus: no GPU GPU-aaaa0009 here" },
        { "2:2", "--gpus: no GPU 2:2 here" },
        { "0:0", "--gpus: no GPU 0:0 here" },
        { "MIG-bbbb0002-x", "--gpus: no GPU MIG-bbbb0002-x here" },
        { "MIG-GPU-aaaa0003-x/1/0", "--gpus: no GPU MIG-GPU-aaaa0003-x/1/0 here" },
    };
    struct error err = { 0 };

    (void)state;
    setenv ("STOKER_NVML", NVML_FAKE, 1);
    for (size_t i = 0; i < sizeof (here) / sizeof (*here); i++)
        if (gpu_list_check_here ("--gpus", here[i], &err))
            fail_msg ("%s: %s", here[i], err.text);
    for (size_t i = 0; i < sizeof (not_here) / sizeof (*not_here); i++) {
        assert_int_equal (gpu_list_check_here ("--gpus", not_here[i].list, &err), -1);
        assert_int_equal (err.code, ENODEV);
        if (strncmp (err.text, not_here[i].words, strlen (not_here[i].words)))
            fail_msg ("%s: %s", not_here[i].list, err.text);
    }
    setenv ("STOKER_NVML_FAKE_DEVICES", "0", 1);
    assert_int_equal (gpu_list_check_here ("--gpus", "0", &err), -1);
    assert_string_equal (err.text, "--gpus: no GPU 0 here: the driver shows none (--cpu-only uses none)");
    setenv ("STOKER_NVML_FAKE_DEVICES", "1", 1);
    assert_int_equal (gpu_list_check_here ("--gpus", "1", &err), -1);
    assert_string_equal (err.text, "--gpus: no GPU 1 here: there is one: 0 (Fake)");
    setenv ("STOKER_NVML", "/nonexistent.so", 1);
    assert_int_equal (gpu_list_check_here ("--gpus", "7", &err), 1); /* nobody can tell */
    assert_int_equal (gpu_list_check_here ("--gpus", "all", &err), 0);
    assert_int_equal (gpu_list_check (NULL, "--gpus", "all", &err), 0);
}

int main (void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test (test_read), cmocka_unit_test (test_select),
                                        cmocka_unit_test (test_check) };

    return cmocka_run_group_tests (tests, NULL, NULL);
}
