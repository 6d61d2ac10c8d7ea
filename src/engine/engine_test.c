/* engine_test.c - start, follow, adopt, signal and sweep real processes. */
#include "base/file.h"
#include "base/id.h"
#include "base/unit.h"
#include "engine/engine.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void wait_end (int pidfd)
{
    struct pollfd p = { .fd = pidfd, .events = POLLIN };

    assert_int_equal (poll (&p, 1, 60000), 1);
}

static void test_start (void **state)
{
    const char *argv[] = { "/bin/sh", "-c", "echo out; echo $MARK >&2; exit 7", NULL };
    const char *env[] = { "MARK=here", "PATH=/usr/bin:/bin", NULL };
    char log[] = "/tmp/engine_testXXXXXX";
    struct placement p = { .argv = argv, .env = env, .log = log };
    cleanup_str struct str text = { 0 };
    struct engine_run r;
    struct error err = { 0 };
    int code;

    (void)state;
    close (mkstemp (log));
    assert_int_equal (engine_local.start (&p, &r, &err), 0);
    wait_end (r.pidfd);
    engine_local.end (&r, &code);
    assert_int_equal (code, 7);
    assert_int_equal (file_read (log, 100, &text, &err), 0);
    assert_string_equal (text.p, "out\nhere\n");
    unlink (log);
    argv[0] = "/nonexistent/program";
    p.log = NULL;
    assert_int_equal (engine_local.start (&p, &r, &err), -1);
    assert_int_equal (err.code, ENOENT);
}

static void test_adopt (void **state)
{
    const char *argv[] = { "/bin/sleep", "1000", NULL }, *env[] = { NULL };
    struct placement p = { .argv = argv, .env = env };
    struct engine_run r, again;
    struct error err = { 0 };
    int code;

    (void)state;
    assert_int_equal (engine_local.start (&p, &r, &err), 0);
    assert_int_equal (getsid (r.process.pid), r.process.pid); /* a session of its own */
    assert_int_equal (engine_local.adopt (&r.process, &again, &err), 0);
    assert_int_equal (engine_local.signal (&again, SIGTERM, &err), 0);
    wait_end (again.pidfd);
    engine_local.end (&again, &code);
    assert_int_equal (code, -1);
    engine_local.end (&r, &code);
    assert_int_equal (code, 128 + SIGTERM);
    assert_int_equal (engine_local.adopt (&r.process, &again, &err), -1);
    assert_int_equal (err.code, ESRCH);
}

static void test_sweep (void **state)
{
    char variable[64];
    /* a grandchild in a session of its own, whose parent ends: no group and no parent leads to it */
    const char *argv[] = { "/bin/sh", "-c", "setsid sleep 1000 & setsid sleep 1000 & wait", NULL };
    const char *env[] = { variable, "PATH=/usr/bin:/bin", NULL };
    struct placement p = { .argv = argv, .env = env };
    struct engine_run r;
    struct error err = { 0 };
    int code;

    (void)state;
    snprintf (variable, sizeof (variable), "STOKER_RUN_ID=%s", id_random ().hex);
    assert_int_equal (engine_local.start (&p, &r, &err), 0);
    while (engine_local.sweep (variable, 0) < 3)
        usleep (10000);
    engine_local.signal (&r, SIGKILL, &err);
    wait_end (r.pidfd);
    engine_local.end (&r, &code);
    assert_int_equal (engine_local.sweep (variable, 0), 2);
    assert_int_equal (engine_local.sweep (variable, SIGKILL), 2);
    while (engine_local.sweep (variable, 0))
        usleep (10000);
    variable[strlen (variable) - 1] = 0;
    assert_int_equal (engine_local.sweep (variable, 0), 0); /* only the exact value counts */
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (test_start),
        cmocka_unit_test (test_adopt),
        cmocka_unit_test (test_sweep),
    };
    return cmocka_run_group_tests (tests, NULL, NULL);
}
