/* stop.h - the one place where it is decided that a task must end before its time: the first reason counts. */
#pragma once
#include "base/error.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

enum stop_reason {
    STOP_NONE,
    STOP_USER,    /* somebody stopped it on the server */
    STOP_SIGNAL,  /* TERM or INT to the supervisor */
    STOP_RESET,   /* the task was reset */
    STOP_CHANGED, /* it is stopped, closed, published or queued by now */
    STOP_FAILED,  /* it was marked failed */
    STOP_GONE,    /* it was deleted */
    STOP_TAKEN,   /* another agent runs it */
};

struct stop_words {
    const char *name; /* as in the log: "stopped" */
    const char *text; /* for people */
    bool report;      /* the final status is ours to set: stopped */
};
extern const struct stop_words stop_words[];

struct stop {
    int fd; /* readable once there is a reason */
    _Atomic int reason;
    _Atomic bool at_once; /* a second signal: no more grace */
    int now_fd;           /* readable then */
    pthread_t thread;
    bool started;
};

/* Make ready, block TERM, INT and HUP in this and all later threads, and listen for them in a thread. HUP is ignored. */
int stop_open (struct stop *s, struct error *err) warn_unused;
void stop_close (struct stop *s);
void stop_set (struct stop *s, enum stop_reason reason);
enum stop_reason stop_get (struct stop *s);
