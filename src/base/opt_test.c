/* opt_test.c - what the command line parser takes, refuses and suggests. */
#include "base/opt.h"
#include "base/unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct values {
    bool json, foreground;
    int64_t optimise, limit;
    const char *gpus, *level, *services, *task;
    struct opt_words queue, listen, rest;
};

static const char *const levels[] = { "DEBUG", "INFO", "WARN", NULL };
static const struct opt_row rows[] = {
    { OPT_FLAG, "json", 'j', offsetof (struct values, json), .help = "print JSON" },
    { OPT_FLAG, "foreground", 0, offsetof (struct values, foreground), .help = "stay" },
    { OPT_COUNT, "optimise", 'O', offsetof (struct values, optimise), .help = "as Python's -O" },
    { OPT_INT, "limit", 'n', offsetof (struct values, limit), .least = 1, .most = 500, .help = "how many" },
    { OPT_TEXT, "gpus", 'g', offsetof (struct values, gpus), .arg = "LIST", .help = "which" },
    { OPT_TEXT, "log-level", 0, offsetof (struct values, level), .choices = levels, .help = "how much" },
    { OPT_MAYBE, "services-mode", 0, offsetof (struct values, services), .arg = "N", .help = "many" },
    { OPT_WORDS, "queue", 'q', offsetof (struct values, queue), .arg = "NAME", .help = "queues" },
    { OPT_EACH, "listen", 0, offsetof (struct values, listen), .arg = "ADDR", .help = "addresses" },
    { OPT_ARG, "TASK", 0, offsetof (struct values, task), .help = "id", .required = true },
    { OPT_ARGS, "MORE", 0, offsetof (struct values, rest), .help = "others" },
    { 0 },
};
static const struct opt_command command = { .name = "test", .about = "Try it.", .rows = rows, .files = true };

static enum opt_result parse (struct values *v, struct error *err, struct arena *a, const char *words)
{
    char *argv[64];
    int argc = 0;

    argv[argc++] = "test";
    for (char *w = strtok (arena_strdup (a, words), " "); w; w = strtok (NULL, " "))
        argv[argc++] = w;
    *v = (struct values){ .limit = 50 };
    return opt_parse (&command, argc, argv, v, a, err);
}

static void test_forms (void **state)
{
    cleanup_arena struct arena *a = arena_create ();
    struct values v;
    struct error err = { 0 };

    (void)state;
    assert_int_equal (parse (&v, &err, a, "-j --limit 7 --gpus=0,1 T a b"), OPT_PARSED);
    assert_true (v.json);
    assert_int_equal (v.limit, 7);
    assert_string_equal (v.gpus, "0,1");
    assert_string_equal (v.task, "T");
    assert_int_equal (v.rest.n, 2);
    assert_string_equal (v.rest.v[1], "b");
    assert_null (v.rest.v[2]);

    assert_int_equal (parse (&v, &err, a, "T -jOO -n9 -gall --fore"), OPT_PARSED);
    assert_true (v.json && v.foreground);
    assert_int_equal (v.optimise, 2);
    assert_int_equal (v.limit, 9);
    assert_string_equal (v.gpus, "all");

    assert_int_equal (parse (&v, &err, a, "T --gpu 0"), OPT_PARSED); /* the beginning of a name is enough */
    assert_string_equal (v.gpus, "0");
    assert_int_equal (v.limit, 50);

    assert_int_equal (parse (&v, &err, a, "T --queue a b c d e --json --queue f"), OPT_PARSED);
    assert_int_equal (v.queue.n, 6);
    assert_string_equal (v.queue.v[4], "e");
    assert_string_equal (v.queue.v[5], "f");
    assert_int_equal (parse (&v, &err, a, "T --queue"), OPT_PARSED);
    assert_true (v.queue.given);
    assert_int_equal (v.queue.n, 0);

    assert_int_equal (parse (&v, &err, a, "T --listen x --listen y z"), OPT_PARSED);
    assert_int_equal (v.listen.n, 2);
    assert_string_equal (v.rest.v[0], "z");

    assert_int_equal (parse (&v, &err, a, "T --services-mode --json"), OPT_PARSED);
    assert_string_equal (v.services, "");
    assert_int_equal (parse (&v, &err, a, "T --services-mode 4"), OPT_PARSED);
    assert_string_equal (v.services, "4");
    assert_int_equal (parse (&v, &err, a, "T --services-mode -1"), OPT_PARSED); /* a number, not an option */
    assert_string_equal (v.services, "-1");

    assert_int_equal (parse (&v, &err, a, "T --log-level debug"), OPT_PARSED);
    assert_string_equal (v.level, "DEBUG");
    assert_int_equal (parse (&v, &err, a, "-- --odd -j"), OPT_PARSED);
    assert_string_equal (v.task, "--odd");
    assert_string_equal (v.rest.v[0], "-j");
}

static void test_refused (void **state)
{
    static const struct {
        const char *words, *text;
    } rows_[] = {
        { "", "TASK is missing" },
        { "T --jsno", "unknown option --jsno; did you mean --json?" },
        { "T --wholly-other", "unknown option --wholly-other" },
        { "T --l 3", "--l may be --limit or --log-level: write it out" },
        { "T --limit 0", "--limit: 0 is not within 1 to 500" },
        { "T --limit 5x", "--limit: '5x' is not a whole number" },
        { "T --limit", "--limit needs a value: --limit N" },
        { "T --gpus --json", "--gpus needs a value: --gpus LIST" },
        { "T --json=1", "--json takes no value" },
        { "T --log-level loud", "--log-level: 'loud' is none of DEBUG, INFO, WARN" },
        { "T -x", "unknown option -x" },
        { "T @/nonexistent/words", "read options from /nonexistent/words: No such file or directory" },
    };
    cleanup_arena struct arena *a = arena_create ();
    struct values v;

    (void)state;
    for (size_t i = 0; i < sizeof (rows_) / sizeof (*rows_); i++) {
        struct error err = { 0 };

        assert_int_equal (parse (&v, &err, a, rows_[i].words), OPT_FAILED);
        assert_string_equal (err.text, rows_[i].text);
    }
}

static void test_file (void **state)
{
    cleanup_arena struct arena *a = arena_create ();
    char path[] = "/tmp/opt_testXXXXXX";
    int fd = mkstemp (path);
    struct values v;
    struct error err = { 0 };

    (void)state;
    assert_int_equal (write (fd, "--gpus\n0\r\nmy task\n", 18), 18);
    close (fd);
    assert_int_equal (parse (&v, &err, a, arena_printf (a, "@%s", path)), OPT_PARSED);
    assert_string_equal (v.gpus, "0");
    assert_string_equal (v.task, "my task");
    unlink (path);
}

static void test_command (void **state)
{
    static const struct opt_row run_rows[] = {
        { OPT_FLAG, "json", 0, offsetof (struct values, json), .help = "print JSON" },
        { OPT_COMMAND, "COMMAND", 0, offsetof (struct values, rest), .required = true },
        { 0 },
    };
    static const struct opt_command run = { .name = "run", .about = "Run.", .rows = run_rows };
    char *argv[] = { "run", "--json", "--", "python", "-u", "--json", "--", "x" };
    cleanup_arena struct arena *a = arena_create ();
    struct values v = { 0 };
    struct error err = { 0 };

    (void)state;
    assert_int_equal (opt_parse (&run, 8, argv, &v, a, &err), OPT_PARSED);
    assert_int_equal (v.rest.n, 5);
    assert_string_equal (v.rest.v[0], "python");
    assert_string_equal (v.rest.v[4], "x");
    argv[2] = "python";
    assert_int_equal (opt_parse (&run, 8, argv, &v, a, &err), OPT_PARSED);
}

static void test_verbs (void **state)
{
    static const struct opt_verb verbs[] = { { .name = "daemon", .about = "run" },
                                             { .name = "execute", .about = "one" },
                                             { .name = "hidden" },
                                             { 0 } };
    struct error err = { 0 };

    (void)state;
    assert_ptr_equal (opt_verb_find (verbs, "execute", &err), &verbs[1]);
    assert_null (opt_verb_find (verbs, "deamon", &err));
    assert_string_equal (err.text, "no such command 'deamon'; did you mean 'daemon'?");
    assert_null (opt_verb_find (verbs, "worker", &err));
    assert_string_equal (err.text, "no such command 'worker'");
}

static void test_help (void **state)
{
    char *text = NULL;
    size_t n = 0;
    FILE *f = open_memstream (&text, &n);

    (void)state;
    opt_help (&command, f);
    fclose (f);
    assert_non_null (strstr (text, "Usage: stoker test [options] TASK [MORE...]\n"));
    assert_non_null (strstr (text, "\n  -n, --limit N             how many\n"));
    assert_non_null (strstr (text, "\n      --log-level WORD      how much (DEBUG, INFO, WARN)\n"));
    free (text);
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (test_forms),   cmocka_unit_test (test_refused), cmocka_unit_test (test_file),
        cmocka_unit_test (test_command), cmocka_unit_test (test_verbs),   cmocka_unit_test (test_help),
    };
    return cmocka_run_group_tests (tests, NULL, NULL);
}
