/* task.h - the parts of `stoker task` that stand in files of their own, and what `stoker run` shares with them. */
#pragma once
#include "cli/remote.h"

int task_main (int argc, char **argv);
int task_log (int argc, char **argv);
int task_clone (int argc, char **argv);

/* Print the console of a task from `tail` lines before its end on (< 0: from the start), until it has ended when
 * `follow`. Lines go to standard output, prefixed by nothing. ret_status: the task's last status, in the arena.
 * *stop, when not NULL, ends the following as soon as it is set (a signal handler's flag). */
int task_print_log (struct remote *r, const char *id, int64_t tail, bool follow, const volatile int *stop,
                    char **ret_status, struct error *err) warn_unused;
