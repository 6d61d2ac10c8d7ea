/* task.h - the parts of `stoker task` that stand in files of their own, and what `stoker run` shares with them. */
#pragma once
#include "cli/remote.h"

int task_main (int argc, char **argv);
int task_log (int argc, char **argv);
int task_clone (int argc, char **argv);

/* Printing the console of a task. Zeroed but for what is wished; a second task_log_print goes on where the first ended. */
struct task_log {
    const char *id;
    int64_t tail; /* from so many lines before the end on; < 0: from the start */
    bool json,
        follow; /* the server's JSON of each line instead of its text; go on until the task has ended */
    const volatile int
        *stop; /* ends the following as soon as it is set (a signal handler's flag); may be NULL */

    bool begun;
    char cursor[256];   /* of x_events.log, "" at the start */
    int64_t from, skip; /* ms of the last event seen by get_task_log, and how many events carried that time */
    int64_t cut;        /* lines of the next event that are left out */
};

/* Print to standard output. ret_status: the task's last status, in the arena of r. */
int task_log_print (struct remote *r, struct task_log *log, char **ret_status, struct error *err) warn_unused;
