/* server.h - the server as one thing: options in, runs until it is told to stop. */
#pragma once
#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct server_options {
    const char *data;          /* data folder */
    const char *const *listen; /* "ADDR:PORT[=web|api|files]"; none: the three default ports on loopback */
    size_t listen_n;
    const char *const *hosts; /* further names a Host header may give while all addresses are loopback */
    size_t hosts_n;
    const char *const *origins; /* pages of other origins whose scripts may call us (CORS) */
    size_t origins_n;
    const char *web_url, *api_url,
        *files_url;             /* how clients reach us; NULL: made of the listening addresses */
    int64_t body_max;           /* bytes of one API request, 0: 64 MB */
    int threads;                /* of the pool, 0: chosen */
    int64_t worker_lost_sec;    /* silence after which a claimed task's worker is lost, 0: never */
    int64_t task_silent_sec;    /* silence after which any running task is stopped, 0: never */
    const char *bootstrap_key;  /* "access:secret" of the first user, or NULL: made up */
    const char *bootstrap_role; /* NULL: admin */
    bool print_login_link;      /* a link with a one-time code on standard output */
    bool sync_off;              /* benches of other things only */
    void (*ready) (void *arg, int web_port, int api_port,
                   int files_port); /* all sockets listen; may be NULL */
    void *ready_arg;
};

/* Opens everything, serves until SIGTERM or SIGINT, finishes what is in work, closes. 0: stopped as asked. */
int server_run (const struct server_options *o, struct error *err) warn_unused;
