/* agent_test.c - the parts of the daemon that can be looked at alone: hours, worker ids, what the machine says. */
#include "agent/hours.h"
#include "agent/machine.h"
#include "agent/room.h"
#include "base/json.h"
#include "base/unit.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bool holds (const char *entry, int weekday, int hour)
{
    struct hours h = { 0 };
    struct error err = { 0 };

    if (hours_add (&h, entry, &err) < 0)
        fail_msg ("%s", err.text);
    return hours_hold (&h, weekday, hour);
}

static void test_hours (void **state)
{
    static const char *const bad[] = { "",       "MON",        "9-17 MOX",  "25 MON", "17-9 MON",
                                       "9- MON", "9-17 MON x", "9,,10 MON", "-9",     "9-17 MON-" };

    (void)state;
    assert_true (holds ("17-20 TUE", 2, 17));
    assert_true (holds ("17-20 TUE", 2, 19));
    assert_false (holds ("17-20 TUE", 2, 20)); /* the end is not in it */
    assert_false (holds ("17-20 TUE", 3, 17));
    assert_true (holds ("9 SUN", 0, 23));  /* to midnight */
    assert_true (holds ("0-7 SUN", 0, 0)); /* begins at hour 0 */
    assert_true (holds ("20-0 SAT", 6, 23));
    assert_true (holds ("1-2,5-6 MON,WED-FRI", 4, 5));
    assert_false (holds ("1-2,5-6 MON,WED-FRI", 2, 5));
    assert_true (holds ("8-9 FRI-MON", 0, 8)); /* over the weekend */
    assert_false (holds ("8-9 FRI-MON", 2, 8));
    assert_true (holds ("8-9", 3, 8)); /* all days */
    for (size_t i = 0; i < sizeof (bad) / sizeof (*bad); i++) {
        struct hours h = { 0 };
        struct error err = { 0 };

        assert_int_equal (hours_add (&h, bad[i], &err), -1);
        assert_false (h.given);
    }
}

static void test_ids (void **state)
{
    static const struct {
        const char *gpus, *id;
        bool cpu_only, whole;
    } rows[] = {
        { NULL, "box", false, false },        { "", "box", false, false },
        { NULL, "box:cpu", true, false },     { "none", "box:cpu", false, false },
        { "all", "box:gpuall", false, true }, { "0,1", "box:gpu0,1", false, true },
        { "0:1", "box:gpu0.1", false, true }, { "0,10,11", "box:gpu0,10,11", false, true },
    };
    cleanup_arena struct arena *a = arena_create ();
    struct conf conf = { .agent.worker_name = "box" };
    bool whole;

    (void)state;
    for (size_t i = 0; i < sizeof (rows) / sizeof (*rows); i++) {
        assert_string_equal (agent_worker_prefix (a, &conf, rows[i].gpus, rows[i].cpu_only, &whole),
                             rows[i].id);
        assert_int_equal (whole, rows[i].whole);
    }
    conf.agent.worker_id = "my:own";
    assert_string_equal (agent_worker_prefix (a, &conf, "0", true, &whole), "my:own");
    assert_true (whole);
    assert_string_equal (worker_folder (a, "/s", "../a b:gpu0,1/ü"),
                         "/s/workers/%2e.%2fa%20b:gpu0,1%2f%c3%bc");
}

static double number (struct text doc, const char *key, size_t at)
{
    struct text v = json_get (doc, key);

    for (struct json_iter it = json_iter (v); json_next (&it); at--)
        if (!at)
            return json_double (it.value, -1);
    return json_double (v, -1);
}

static void test_machine (void **state)
{
    cleanup_arena struct arena *a = arena_create ();
    struct machine *m = machine_create ("/");
    struct str first = { .arena = a }, second = { .arena = a };
    struct error err = { 0 };
    struct text doc;

    (void)state;
    machine_write (m, NULL, true, &first);
    assert_int_equal (json_check (str_text (&first), &doc, &err), 0);
    assert_null (json_get (doc, "cpu_usage").p); /* nothing to compare with yet */
    usleep (50000);
    machine_write (m, "none", true, &second);
    assert_int_equal (json_check (str_text (&second), &doc, &err), 0);
    assert_int_equal (json_count (json_get (doc, "cpu_usage")), 1);
    assert_true (number (doc, "cpu_usage", 0) >= 0 && number (doc, "cpu_usage", 0) <= 100);
    assert_true (number (doc, "memory_used", 0) > 1);
    assert_true (number (doc, "memory_free", 0) > 1);
    assert_true (number (doc, "disk_free_home", 0) >= 0 && number (doc, "disk_free_home", 0) <= 100);
    assert_true (number (doc, "network_rx", 0) >= 0);
    assert_null (json_get (doc, "gpu_usage").p);
    machine_destroy (m);
}

static void check_gpus (struct machine *m, const char *gpus, const char *want)
{
    cleanup_arena struct arena *a = arena_create ();
    struct str s = { .arena = a };
    struct error err = { 0 };
    struct text doc;

    machine_write (m, gpus, true, &s);
    assert_int_equal (json_check (str_text (&s), &doc, &err), 0);
    doc = json_get (doc, "gpu_usage");
    if (!text_equal (doc, text_of (want)))
        fail_msg ("gpus %s: %.*s instead of %s", gpus ? gpus : "(null)", (int)doc.n, doc.p ? doc.p : "",
                  want ? want : "nothing");
}

/* A library with NVML's names (io/nvml_fake.c): three devices, 10, 20 and 30 % busy, the last cannot tell. */
static void test_gpus (void **state)
{
    cleanup_arena struct arena *a = arena_create ();
    struct str s = { .arena = a };
    struct machine *m;
    struct text doc;
    struct error err = { 0 };

    (void)state;
    setenv ("STOKER_NVML", NVML_FAKE, 1);
    m = machine_create ("/");
    check_gpus (m, NULL, "[10.0,20.0]");
    check_gpus (m, "all", "[10.0,20.0]");
    check_gpus (m, "1", "[20.0]");
    check_gpus (m, "GPU-aaaa0000", "[10.0]");
    check_gpus (m, "1,0", "[10.0,20.0]");
    check_gpus (m, "none", NULL);
    check_gpus (m, "7", "[10.0,20.0]"); /* none matches: all */
    machine_write (m, "2", false, &s);
    assert_int_equal (json_check (str_text (&s), &doc, &err), 0);
    assert_true (number (doc, "gpu_memory_used", 0) == 3 * 1024.0);
    assert_true (number (doc, "gpu_memory_free", 0) == 97 * 1024.0);
    assert_true (number (doc, "gpu_temperature", 0) == 42.0);
    machine_destroy (m);
    setenv ("STOKER_NVML", "/nonexistent.so", 1);
    m = machine_create ("/");
    check_gpus (m, NULL, NULL);
    machine_destroy (m);
}

static void test_slots (void **state)
{
    cleanup_arena struct arena *a = arena_create ();
    struct agent_options o = { .slots = 2, .gpus = "0,1,2" };
    struct agent g = { .arena = a, .o = &o, .devices = o.gpus, .worker = "box:gpu0,1,2" };

    (void)state;
    slots_make (&g);
    assert_string_equal (g.slots[0].worker, "box:gpu0,1,2:s0");
    assert_string_equal (g.slots[0].gpus, "0,2");
    assert_string_equal (g.slots[1].gpus, "1");
    o = (struct agent_options){ .slots = 3, .gpus = "4" }; /* more slots than GPUs: shared */
    g.devices = o.gpus;
    slots_make (&g);
    assert_string_equal (g.slots[2].gpus, "4");
    o = (struct agent_options){ .slots = 1, .gpus = "0,1" };
    g.devices = o.gpus;
    slots_make (&g);
    assert_string_equal (g.slots[0].worker, "box:gpu0,1,2");
    assert_string_equal (g.slots[0].gpus, "0,1");
    o = (struct agent_options){ .slots = 2, .cpu_only = true };
    slots_make (&g);
    assert_string_equal (g.slots[1].gpus, "none");
    setenv ("STOKER_NVML", NVML_FAKE, 1);
    o = (struct agent_options){ .slots = 3, .gpus = "all" };
    g.devices = o.gpus;
    slots_make (&g);
    assert_string_equal (g.slots[2].gpus, "2");
}

/* The driver of nvml_fake.c has devices 0 to 2. */
static void test_devices (void **state)
{
    static const struct {
        const char *gpus, *from, *worker; /* worker: not NULL = started anew */
        int rc;
        const char *devices;
    } rows[] = {
        { "0,2", "--gpus", NULL, 0, "0,2" },
        { "7", "--gpus", NULL, -1, NULL },
        { "7", "CUDA_VISIBLE_DEVICES", NULL, -1, NULL },
        { "7", "--gpus", "box:gpu7", 0, "7" },                 /* tasks run: it goes on */
        { "7", "NVIDIA_VISIBLE_DEVICES", NULL, -1, NULL },     /* three are here, one is wanted */
        { "5,6,7", "NVIDIA_VISIBLE_DEVICES", NULL, 0, "all" }, /* a container's three of the host's */
        { "5,6,7", "--gpus", NULL, -1, NULL },
        { NULL, NULL, NULL, 0, NULL },
    };

    (void)state;
    setenv ("STOKER_NVML", NVML_FAKE, 1);
    for (size_t i = 0; i < sizeof (rows) / sizeof (*rows); i++) {
        struct agent_options o = { .gpus = rows[i].gpus,
                                   .gpus_from = rows[i].from,
                                   .worker = rows[i].worker };
        struct agent g = { .o = &o };
        struct error err = { 0 };

        assert_int_equal (slots_find_devices (&g, &err), rows[i].rc);
        if (rows[i].rc == 0 && rows[i].devices)
            assert_string_equal (g.devices, rows[i].devices);
        if (rows[i].rc < 0)
            assert_true (!strncmp (err.text, rows[i].from, strlen (rows[i].from)));
    }
}

static struct queues *queue_list (const char *id, bool missing)
{
    struct arena *a = arena_create ();
    struct queues *list = arena_new (a, struct queues);

    *list = (struct queues){ .arena = a, .v = arena_new (a, struct queue), .n = 1, .missing = missing };
    list->v[0] = (struct queue){ .name = "default", .id = arena_strdup (a, id) };
    return list;
}

/* Looked up again and again, for days, they are kept once. */
static void test_queues (void **state)
{
    struct agent g = { 0 };
    const struct queues *first, *second;

    (void)state;
    pthread_mutex_init (&g.queues_lock, NULL);
    queues_set (&g, queue_list ("q1", true));
    first = queues_get (&g);
    for (int i = 0; i < 100; i++)
        queues_set (&g, queue_list ("q1", true));
    assert_ptr_equal (queues_get (&g), first);
    assert_null (first->older);
    queues_set (&g, queue_list ("q2", true));
    second = queues_get (&g);
    assert_string_equal (second->v[0].id, "q2");
    assert_ptr_equal (second->older, first);
    assert_string_equal (first->v[0].id, "q1"); /* somebody may be reading it */
    queues_set (&g, queue_list ("q2", false));
    assert_ptr_equal (queues_get (&g)->older, second);
    queues_free (&g);
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (test_hours),  cmocka_unit_test (test_ids),   cmocka_unit_test (test_machine),
        cmocka_unit_test (test_gpus),   cmocka_unit_test (test_slots), cmocka_unit_test (test_devices),
        cmocka_unit_test (test_queues),
    };
    return cmocka_run_group_tests (tests, NULL, NULL);
}
