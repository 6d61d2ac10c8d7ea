/* descend_test.c - real processes that ignore TERM, fork twice, leave the session, and fork on and on. */
#include "run/descend.h"
#include "run/folder_test.h"

#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

static void nothing_is_left (void **state)
{
    (void)state;
    struct folder f = folder_new ();
    struct error err;
    prctl (PR_SET_CHILD_SUBREAPER, 1);
    const char *argv[] = { "sh", "-c",
                           "trap '' TERM\n"
                           "(setsid sh -c 'trap \"\" TERM; (sleep 1000 & sleep 1001 & wait) &' &) \n"
                           "python3 -c \"import os, time\nif os.fork() == 0:\n os.setsid()\n if os.fork() == "
                           "0:\n  time.sleep(1000)\n os._exit(0)\n\"\n"
                           "while :; do sleep 0.01 & wait $!; done &\n"
                           "touch ready; sleep 1002",
                           NULL };
    struct spawn s = { .argv = argv, .cwd = f.path, .new_session = true };
    struct child c;
    assert_int_equal (spawn_start (&s, &c, &err), 0);
    for (int i = 0; i < 6000 && !folder_read (&f, "ready"); i++)
        usleep (10000);
    struct descendant *v;
    assert_true (descendants_list (f.arena, getpid (), &v) >= 5);
    assert_true (descendants_signal (getpid (), SIGTERM) >= 5);
    assert_true (descendants_end (c.pid, 60000));
    size_t n = descendants_list (f.arena, getpid (), &v);
    assert_true (n == 1 && v[0].pid == c.pid && v[0].zombie); /* ours to wait for */
    struct spawn_end end;
    assert_int_equal (spawn_wait (&c, &end, &err), 0);
    assert_true (end.signaled && end.code == SIGKILL);
    assert_int_equal (descendants_list (f.arena, getpid (), &v), 0);
    folder_done (&f);
}

static void a_control_group_where_there_is_one (void **state)
{
    (void)state;
    struct cgroup g;
    struct error err;
    if (!cgroup_create (&g, "test"))
        skip ();
    int procs = cgroup_procs (&g);
    const char *argv[] = { "sh", "-c", "setsid sleep 1000 & exec sleep 1000", NULL };
    struct spawn s = { .argv = argv, .cgroup_procs = procs };
    struct child c;
    struct spawn_end end;
    assert_int_equal (spawn_start (&s, &c, &err), 0);
    close (procs);
    cgroup_kill (&g);
    assert_int_equal (spawn_wait (&c, &end, &err), 0);
    assert_true (end.signaled && end.code == SIGKILL);
    assert_true (descendants_end (0, 60000));
    cgroup_remove (&g);
}

int main (void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test (nothing_is_left),
                                        cmocka_unit_test (a_control_group_where_there_is_one) };
    return cmocka_run_group_tests (tests, NULL, NULL);
}
