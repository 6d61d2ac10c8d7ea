/* load_test.c - the scalars of a machine's load. The GPUs are those of io/nvml_fake.c: three, the third cannot tell its
 * usage. */
#include "base/json.h"
#include "base/unit.h"
#include "run/load.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* "variant=value" of each line of a metric, in order. */
static char *values (struct arena *a, const char *lines, const char *metric)
{
    struct str ret = { .arena = a };

    for (const char *line = lines; *line; line = strchr (line, '\n') + 1) {
        struct text doc = { line, strcspn (line, "\n") };
        struct error err;

        if (json_check (doc, &doc, &err) < 0)
            fail_msg ("%s", err.text);
        assert_true (json_string_is (json_get (doc, "type"), "training_stats_scalar"));
        assert_true (json_string_is (json_get (doc, "task"), "t"));
        assert_true (json_string_is (json_get (doc, "worker"), "w:gpu0"));
        assert_int_equal (json_int (json_get (doc, "iter"), 0), 60);
        if (json_string_is (json_get (doc, "metric"), metric))
            str_addf (&ret, "%s=%g ", json_string (a, json_get (doc, "variant")),
                      json_double (json_get (doc, "value"), -1));
    }
    return ret.p ? ret.p : arena_strdup (a, "");
}

static void test_machine_and_gpus (void **state)
{
    static const struct {
        const char *gpus, *driver, *values;
    } rows[] = {
        { NULL, NVML_FAKE,
          "gpu_0_temperature=40 gpu_0_utilization=10 gpu_0_mem_used_gb=1 gpu_0_mem_free_gb=99 "
          "gpu_0_mem_usage=1 "
          "gpu_0_power_draw=100.5 "
          "gpu_1_temperature=41 gpu_1_utilization=20 gpu_1_mem_used_gb=2 gpu_1_mem_free_gb=98 "
          "gpu_1_mem_usage=2 "
          "gpu_1_power_draw=200.5 "
          "gpu_2_temperature=42 gpu_2_mem_used_gb=3 gpu_2_mem_free_gb=97 gpu_2_mem_usage=3 "
          "gpu_2_power_draw=300.5 " },
        { "1", NVML_FAKE,
          "gpu_1_temperature=41 gpu_1_utilization=20 gpu_1_mem_used_gb=2 gpu_1_mem_free_gb=98 "
          "gpu_1_mem_usage=2 "
          "gpu_1_power_draw=200.5 " },
        { "none", NVML_FAKE, "" },
        { NULL, "/nonexistent.so", "" },
    };

    (void)state;
    for (size_t i = 0; i < sizeof (rows) / sizeof (*rows); i++) {
        cleanup_arena struct arena *a = arena_create ();
        struct str lines = { .arena = a };
        struct load l = { 0 };
        struct load_report r = {
            .task = "t", .worker = "w:gpu0", .disk = "/", .gpus = rows[i].gpus, .iteration = 60
        };

        setenv ("STOKER_NVML", rows[i].driver, 1);
        load_start (&l);
        while (!lines.n) { /* nothing is told of no time at all */
            usleep (2000);
            load_write (&l, &r, &lines);
        }
        load_end (&l);
        assert_string_equal (values (a, lines.p, ":monitor:gpu"), rows[i].values);
        assert_non_null (strstr (values (a, lines.p, ":monitor:machine"), "cpu_usage="));
        assert_non_null (strstr (values (a, lines.p, ":monitor:machine"), "memory_used_gb="));
    }
}

/* What the task's process sees counts, not what the container was given. */
static void test_which (void **state)
{
    (void)state;
    unsetenv ("CUDA_VISIBLE_DEVICES");
    unsetenv ("NVIDIA_VISIBLE_DEVICES");
    assert_null (load_gpus ());
    setenv ("NVIDIA_VISIBLE_DEVICES", "all", 1);
    assert_string_equal (load_gpus (), "all");
    setenv ("CUDA_VISIBLE_DEVICES", "", 1);
    assert_string_equal (load_gpus (), "all");
    setenv ("CUDA_VISIBLE_DEVICES", "1", 1);
    assert_string_equal (load_gpus (), "1");
}

int main (void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test (test_machine_and_gpus),
                                        cmocka_unit_test (test_which) };

    return cmocka_run_group_tests (tests, NULL, NULL);
}
