/* journal_test.c - journals survive torn lines and fold; processes are told apart; path helpers. */
#include "base/file.h"
#include "base/home.h"
#include "base/journal.h"
#include "base/path.h"
#include "base/unit.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static char folder[] = "/tmp/journal_testXXXXXX";

static int make_folder (void **state)
{
    (void)state;
    return mkdtemp (folder) ? 0 : -1;
}

static int drop_folder (void **state)
{
    struct error err;

    (void)state;
    return folder_remove (folder, &err);
}

static void test_fold (void **state)
{
    cleanup_arena struct arena *a = arena_create ();
    char *path = path_join (a, folder, "journal");
    struct journal_entry e;
    struct error err = { 0 };
    struct stat st;
    FILE *f;

    (void)state;
    assert_int_equal (journal_read (a, path, &e, &err), -1);
    assert_int_equal (err.code, ENOENT);
    assert_int_equal (
        journal_append (
            path, &(struct journal_entry){ .stage = "claimed", .task = "T", .worker = "w:0", .t = 5 }, &err),
        0);
    assert_int_equal (
        journal_append (path,
                        &(struct journal_entry){ .stage = "supervisor",
                                                 .process = { "boot-1", 77, UINT64_C (123456789) } },
                        &err),
        0);
    assert_int_equal (journal_append (path,
                                      &(struct journal_entry){ .stage = "exited",
                                                               .has_exit = true,
                                                               .exit_code = 3,
                                                               .message = "line \"1\"\nline 2" },
                                      &err),
                      0);
    f = fopen (path, "a");
    fputs ("not json\n{\"stage\":\"repor", f); /* a foreign line and a torn one */
    fclose (f);
    assert_int_equal (stat (path, &st), 0);
    assert_int_equal (st.st_mode & 0777, 0600);
    assert_int_equal (journal_read (a, path, &e, &err), 0);
    assert_string_equal (e.stage, "exited");
    assert_string_equal (e.task, "T");
    assert_string_equal (e.worker, "w:0");
    assert_string_equal (e.message, "line \"1\"\nline 2");
    assert_string_equal (e.process.boot, "boot-1");
    assert_int_equal (e.process.pid, 77);
    assert_int_equal (e.process.ticks, 123456789);
    assert_true (e.has_exit && e.exit_code == 3 && !e.signal);
    assert_null (e.reported);
    assert_true (e.t > 5);
    /* what comes after a torn line is not torn with it */
    assert_int_equal (
        journal_append (path, &(struct journal_entry){ .stage = "settling", .process = { "b", 78, 1 } },
                        &err),
        0);
    assert_int_equal (journal_append (path, &(struct journal_entry){ .stage = "reported" }, &err), 0);
    assert_int_equal (journal_read (a, path, &e, &err), 0);
    assert_string_equal (e.stage, "reported");
    assert_int_equal (e.process.pid, 78);
}

static void test_process (void **state)
{
    struct process_identity me, child;
    struct error err;
    pid_t pid;
    int fd;

    (void)state;
    assert_int_equal (process_identify (getpid (), &me), 1);
    assert_int_equal (process_alive (&me), 1);
    me.ticks++;
    assert_int_equal (process_alive (&me), 0); /* the same pid, another process */
    me.ticks--;
    me.boot[0] ^= 1;
    assert_int_equal (process_alive (&me), 0); /* before the machine was started anew */
    pid = fork ();
    if (!pid) {
        pause ();
        _exit (0);
    }
    assert_int_equal (process_identify (pid, &child), 1);
    fd = process_open (&child, &err);
    assert_true (fd >= 0);
    close (fd);
    kill (pid, SIGKILL);
    while (process_alive (&child) == 1) /* a zombie is dead, though its pid is taken */
        usleep (1000);
    assert_int_equal (process_open (&child, &err), -1);
    waitpid (pid, NULL, 0);
    assert_int_equal (process_identify (pid, &child), 0);
    assert_int_equal (process_open (&child, &err), -1);
    assert_int_equal (err.code, ESRCH);
}

/* When nothing can be opened any more nobody is taken for dead. */
static void test_process_without_descriptors (void **state)
{
    struct process_identity me;
    struct rlimit before, none = { 0 };
    struct error err = { 0 };

    (void)state;
    assert_int_equal (process_identify (getpid (), &me), 1);
    assert_int_equal (getrlimit (RLIMIT_NOFILE, &before), 0);
    none.rlim_max = before.rlim_max;
    assert_int_equal (setrlimit (RLIMIT_NOFILE, &none), 0);
    int alive = process_alive (&me), fd = process_open (&me, &err);
    assert_int_equal (setrlimit (RLIMIT_NOFILE, &before), 0);
    assert_int_equal (alive, -1);
    assert_int_equal (fd, -1);
    assert_int_equal (err.code, EMFILE);
    assert_int_equal (process_alive (&me), 1);
}

static void test_home (void **state)
{
    cleanup_arena struct arena *a = arena_create ();

    (void)state;
    setenv ("HOME", "/home/ann", 1);
    setenv ("T_X", "val", 1);
    assert_string_equal (home_expand (a, "~/x/$T_X/${T_X}y/$NOT_THERE/$"),
                         "/home/ann/x/val/valy/$NOT_THERE/$");
    assert_string_equal (home_expand (a, "~ann/x"), "~ann/x");
    setenv ("XDG_STATE_HOME", "/s", 1);
    unsetenv ("STOKER_STATE");
    assert_string_equal (home_state (a), "/s/stoker");
    setenv ("STOKER_STATE", "/other", 1);
    assert_string_equal (home_state (a), "/other");
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (test_fold),
        cmocka_unit_test (test_process),
        cmocka_unit_test (test_process_without_descriptors),
        cmocka_unit_test (test_home),
    };
    return cmocka_run_group_tests (tests, make_folder, drop_folder);
}
