/* spawn_test.c - real programs: output, input, exit codes, signals, missing programs, no leaked descriptors, timeouts. */
#include "base/unit.h"
#include "io/spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static int run (const char *const *argv, struct text in, struct str *out, struct spawn_end *end,
                int64_t timeout)
{
    struct error err = { 0 };
    struct spawn s = { .argv = argv };
    int r = spawn_run (&s, in, out, out, 1 << 20, timeout, end, &err);
    return r < 0 ? -err.code : 0;
}

static void output_and_code (void **state)
{
    (void)state;
    cleanup_str struct str out = { 0 };
    struct spawn_end end;
    const char *argv[] = { "sh", "-c", "echo one; echo two >&2; exit 3", NULL };
    assert_int_equal (run (argv, (struct text){ 0 }, &out, &end, 0), 0);
    assert_string_equal (out.p, "one\ntwo\n");
    assert_false (end.signaled);
    assert_int_equal (end.code, 3);
}

static void input_larger_than_a_pipe (void **state)
{
    (void)state;
    size_t n = 600000;
    char *big = malloc (n);
    memset (big, 'x', n);
    cleanup_str struct str out = { 0 };
    struct spawn_end end;
    const char *argv[] = { "cat", NULL };
    assert_int_equal (run (argv, (struct text){ big, n }, &out, &end, 0), 0);
    assert_int_equal (out.n, n);
    assert_memory_equal (out.p, big, n);
    free (big);
}

static void output_over_the_maximum_is_cut (void **state)
{
    (void)state;
    cleanup_str struct str out = { 0 };
    struct spawn_end end;
    struct error err;
    const char *argv[] = { "sh", "-c", "yes | head -c 300000", NULL };
    struct spawn s = { .argv = argv };
    assert_int_equal (spawn_run (&s, (struct text){ 0 }, &out, NULL, 1000, 0, &end, &err), 0);
    assert_int_equal (out.n, 1000);
    assert_int_equal (end.code, 0);
}

static void input_nobody_reads (void **state)
{
    (void)state;
    size_t n = 600000;
    char *big = calloc (1, n);
    struct spawn_end end;
    const char *argv[] = { "true", NULL };
    assert_int_equal (run (argv, (struct text){ big, n }, NULL, &end, 0), 0);
    assert_int_equal (end.code, 0);
    free (big);
}

static void signal_is_told (void **state)
{
    (void)state;
    struct spawn_end end;
    cleanup_str struct str words = { 0 };
    const char *argv[] = { "sh", "-c", "kill -TERM $$", NULL };
    assert_int_equal (run (argv, (struct text){ 0 }, NULL, &end, 0), 0);
    assert_true (end.signaled);
    assert_int_equal (end.code, SIGTERM);
    spawn_end_words (&end, &words);
    assert_string_equal (words.p, "signal 15 (Terminated)");
}

static void missing_program_and_directory (void **state)
{
    (void)state;
    struct spawn_end end;
    const char *argv[] = { "no-such-program-here", NULL };
    assert_int_equal (run (argv, (struct text){ 0 }, NULL, &end, 0), -ENOENT);
    const char *ok[] = { "true", NULL };
    struct spawn s = { .argv = ok, .cwd = "/no/such/folder" };
    struct child c;
    struct error err;
    assert_int_equal (spawn_start (&s, &c, &err), -1);
    assert_int_equal (err.code, ENOENT);
    assert_non_null (strstr (err.text, "working directory"));
    assert_int_equal (waitpid (-1, NULL, WNOHANG), -1); /* nothing left to reap */
}

static void descriptors_do_not_leak (void **state)
{
    (void)state;
    int leak = fcntl (0, F_DUPFD, 100); /* on purpose without CLOEXEC; high: the shell opens low ones */
    int kept = fcntl (0, F_DUPFD_CLOEXEC, 110);
    cleanup_str struct str out = { 0 };
    struct spawn_end end;
    struct error err;
    const char *argv[] = { "sh", "-c", "for f in /proc/self/fd/*; do echo ${f##*/}; done", NULL };
    struct spawn s = { .argv = argv, .keep = &kept, .keep_n = 1 };
    assert_int_equal (spawn_run (&s, (struct text){ 0 }, &out, NULL, 4096, 0, &end, &err), 0);
    char want[64], bad[16];
    snprintf (want, sizeof want, "\n%d\n", kept);
    snprintf (bad, sizeof bad, "\n%d\n", leak);
    assert_non_null (strstr (out.p, want));
    assert_null (strstr (out.p, bad));
    close (leak), close (kept);
}

static void session_and_environment (void **state)
{
    (void)state;
    struct error err;
    int p[2];
    assert_int_equal (pipe2 (p, O_CLOEXEC), 0);
    const char *argv[] = { "sh", "-c", "echo $A $$ $(cut -d' ' -f5,6 /proc/$$/stat)", NULL };
    const char *env[] = { "A=b c", "PATH=/usr/bin:/bin", NULL };
    struct spawn s = {
        .argv = argv, .env = env, .in = SPAWN_NULL, .out = p[1], .err = SPAWN_INHERIT, .new_session = true
    };
    struct child c;
    assert_int_equal (spawn_start (&s, &c, &err), 0);
    close (p[1]);
    char buf[256] = "", want[64];
    ssize_t n = read (p[0], buf, sizeof buf - 1);
    assert_true (n > 0);
    snprintf (want, sizeof want, "b c %d %d %d\n", (int)c.pid, (int)c.pid, (int)c.pid);
    assert_string_equal (buf, want);
    struct spawn_end end;
    assert_int_equal (spawn_wait (&c, &end, &err), 0);
    close (p[0]);
}

static void time_is_up (void **state)
{
    (void)state;
    struct spawn_end end;
    const char *argv[] = { "sleep", "1000", NULL };
    assert_int_equal (run (argv, (struct text){ 0 }, NULL, &end, 50), -ETIMEDOUT);
}

static void knows_itself (void **state)
{
    cleanup_arena struct arena *a = arena_create ();
    struct error err;
    struct stat running, found;
    const char *self = spawn_self (a, &err);

    (void)state;
    assert_non_null (self);
    assert_int_equal (self[0], '/');
    assert_int_equal (stat ("/proc/self/exe", &running), 0);
    assert_int_equal (stat (self, &found), 0);
    assert_int_equal (found.st_ino, running.st_ino);
    assert_int_equal (found.st_dev, running.st_dev);
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (output_and_code),
        cmocka_unit_test (input_larger_than_a_pipe),
        cmocka_unit_test (output_over_the_maximum_is_cut),
        cmocka_unit_test (signal_is_told),
        cmocka_unit_test (input_nobody_reads),
        cmocka_unit_test (missing_program_and_directory),
        cmocka_unit_test (descriptors_do_not_leak),
        cmocka_unit_test (session_and_environment),
        cmocka_unit_test (time_is_up),
        cmocka_unit_test (knows_itself),
    };
    return cmocka_run_group_tests (tests, NULL, NULL);
}
