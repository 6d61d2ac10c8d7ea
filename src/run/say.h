/* say.h - how the stations speak while they prepare a task: notices of ours and the output of helpers (git, uv, pip)
 * go into the task's log; and the descriptor by which they learn that the task is to be stopped. */
#pragma once
#include <stddef.h>

struct say {
    void (*notice) (void *arg, const char *level, const char *text); /* level: INFO, WARNING, ERROR */
    void (*output) (void *arg, const char *p, size_t n); /* bytes of a helper program, as they come */
    void *arg;
    int cancel; /* readable once the task is to be stopped; 0 = never */
};

void say (const struct say *s, const char *level, const char *fmt, ...)
    __attribute__ ((format (printf, 3, 4)));
