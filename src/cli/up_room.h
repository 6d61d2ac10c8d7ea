/* up_room.h - inside of `stoker up` only.
 *
 *   up.c           the verb: what is started when, signals, the end
 *   up_config.c    the key, clearml.conf, the link that logs in
 *   up_children.c  the two child processes, and whether the server answers */
#pragma once
#include "base/arena.h"
#include "base/error.h"
#include "io/loop.h"
#include "io/spawn.h"

#include <stdbool.h>
#include <stdint.h>

struct up_opts {
    bool json, no_agent, cpu_only;
    const char *data, *queue, *gpus;
    int64_t port, slots;
};

enum part { SERVER, AGENT, PARTS };

struct up {
    struct arena *arena;
    struct loop *loop;
    const char *data, *config, *program;
    char access[31], secret[65];
    int ports[3]; /* web, api, files */
    struct child children[PARTS];
    struct loop_watch *watches[PARTS];
    struct loop_timer *respawn;
    size_t log_from[PARTS]; /* where in its log file a child's output begins */
    int interrupts;
    bool stopping;
    int rc;
    const struct up_opts *o;
};

/* up_config.c */
int up_read_key (struct up *u, struct error *err) warn_unused; /* of clearml.conf, or a new one */
int up_write_config (struct up *u, struct error *err) warn_unused;
/* A link with a one-time code that opens the page logged in, from the server that the configuration file names. */
int up_make_link (struct up *u, const char **ret, struct error *err) warn_unused;

/* up_children.c */
/* Somebody else's server would answer in place of ours: so look before it is started. */
int up_check_ports (struct up *u, struct error *err) warn_unused;
int up_start_server (struct up *u, struct error *err) warn_unused;
int up_start_agent (struct up *u, struct error *err) warn_unused;
/* Until the server answers, or has ended. */
int up_wait_for_server (struct up *u, struct error *err) warn_unused;
/* The last lines of what a child wrote: what a person needs when it ended by itself. */
void up_show_log_end (struct up *u, enum part part);
