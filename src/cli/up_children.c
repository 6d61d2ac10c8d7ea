/* up_children.c - server and agent as child processes of `stoker up`: their command lines, environment and logs; when the
 * server answers. */
#include "base/clock.h"
#include "base/file.h"
#include "base/path.h"
#include "cli/up_room.h"
#include "io/port_owner.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *const part_names[PARTS] = { "server", "agent" };
/* When `up` itself is killed: the server ends in order; the agent goes as in a crash, so that tasks run on and the next
 * one adopts them (SIGTERM would stop them). */
static const int death_signals[PARTS] = { SIGTERM, SIGKILL };

static int open_log (struct up *u, enum part part, struct error *err)
{
    char *folder = path_join (u->arena, u->data, "log");
    char *path = path_join (u->arena, folder, arena_printf (u->arena, "%s.log", part_names[part]));
    struct stat is;
    int fd;

    if (folder_make (folder, 0700, err) < 0)
        return -1;
    fd = open (path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    if (fd < 0)
        return error_errno (err, "open %s", path);
    u->log_from[part] = fstat (fd, &is) == 0 ? (size_t)is.st_size : 0;
    return fd;
}

/* The environment of a child: ours less what configures clients, plus `extra`. */
static const char *const *child_env (struct up *u, const char *const *extra)
{
    static const char *const dropped[] = {
        "STOKER_BOOTSTRAP_", "CLEARML_CONFIG_FILE=", "TRAINS_CONFIG_FILE=", "CLEARML_API_",
        "TRAINS_API_",       "CLEARML_WEB_HOST=",    "CLEARML_FILES_HOST="
    };
    size_t n = 0, e = 0;
    const char **env;

    while (environ[n])
        n++;
    while (extra[e])
        e++;
    env = arena_array (u->arena, const char *, n + e + 1);
    n = 0;
    for (char **p = environ; *p; p++) {
        bool drop = false;
        for (size_t i = 0; i < sizeof (dropped) / sizeof (*dropped); i++)
            drop |= !strncmp (*p, dropped[i], strlen (dropped[i]));
        if (!drop)
            env[n++] = *p;
    }
    memcpy (env + n, extra, e * sizeof (*env));
    return env;
}

static int start_part (struct up *u, enum part part, const char *const *argv, const char *const *extra,
                       struct error *err)
{
    cleanup_close int log = open_log (u, part, err);
    struct spawn s = { .argv = argv,
                       .env = child_env (u, extra),
                       .in = SPAWN_NULL,
                       .out = log,
                       .err = log,
                       .new_group = true, /* Ctrl-C comes to us alone; we decide */
                       .death_signal = death_signals[part] };

    if (log < 0)
        return -1;
    return spawn_start (&s, &u->children[part], err) < 0 ? error_wrap (err, "start the %s", part_names[part])
                                                         : 0;
}

int up_start_server (struct up *u, struct error *err)
{
    static const char *const fronts[] = { "web", "api", "files" };
    const char *listen[3];

    for (int i = 0; i < 3; i++)
        listen[i] = arena_printf (u->arena, "127.0.0.1:%d=%s", u->ports[i], fronts[i]);
    return start_part (
        u, SERVER,
        (const char *[]){ u->program, "server", "--data", u->data, "--listen", listen[0], "--listen",
                          listen[1], "--listen", listen[2], NULL },
        (const char *[]){ arena_printf (u->arena, "STOKER_BOOTSTRAP_KEY=%s:%s", u->access, u->secret), NULL },
        err);
}

int up_start_agent (struct up *u, struct error *err)
{
    const char *argv[16] = { u->program, "agent", "daemon", "--foreground", "--queue", u->o->queue };
    int n = 6;

    if (u->o->slots) {
        argv[n++] = "--slots";
        argv[n++] = arena_printf (u->arena, "%d", (int)u->o->slots);
    }
    if (u->o->gpus) {
        argv[n++] = "--gpus";
        argv[n++] = u->o->gpus;
    }
    if (u->o->cpu_only)
        argv[n++] = "--cpu-only";
    argv[n++] = "--create-queue";
    return start_part (u, AGENT, argv,
                       (const char *[]){ arena_printf (u->arena, "CLEARML_CONFIG_FILE=%s", u->config), NULL },
                       err);
}

/* The last lines of what a child wrote: what a person needs when it ended by itself. */
void up_show_log_end (struct up *u, enum part part)
{
    char *path = path_join (u->arena, u->data, arena_printf (u->arena, "log/%s.log", part_names[part]));
    cleanup_str struct str s = { 0 };
    struct error err = { 0 };
    const char *p;
    int lines = 0;

    if (file_read (path, 64 << 20, &s, &err) < 0 || s.n <= u->log_from[part])
        return;
    for (p = s.p + s.n; p > s.p + u->log_from[part] && lines < 12; p--)
        lines += p > s.p + 1 && p[-2] == '\n';
    p += lines == 12;
    fprintf (stderr, "%s:\n%s", path, p);
}

static int server_ended (struct up *u, struct error *err)
{
    cleanup_str struct str words = { 0 };
    struct spawn_end end;

    if (spawn_wait (&u->children[SERVER], &end, err) < 0)
        return -1;
    u->children[SERVER].pid = 0;
    spawn_end_words (&end, &words);
    up_show_log_end (u, SERVER);
    return error_set (err, ECHILD, "the server ended while it started (%s)", words.p);
}

/* Somebody else's server would answer in place of ours: so look before it is started. */
int up_check_ports (struct up *u, struct error *err)
{
    for (int i = 0; i < 3; i++) {
        cleanup_close int fd = socket (AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        struct sockaddr_in at = { .sin_family = AF_INET,
                                  .sin_port = htons ((uint16_t)u->ports[i]),
                                  .sin_addr.s_addr = htonl (INADDR_LOOPBACK) };
        cleanup_str struct str owner = { 0 };

        if (fd < 0)
            return error_errno (err, "make a socket");
        setsockopt (fd, SOL_SOCKET, SO_REUSEADDR, &(int){ 1 }, sizeof (int));
        if (bind (fd, (struct sockaddr *)&at, sizeof (at)) == 0)
            continue;
        if (errno != EADDRINUSE)
            return error_errno (err, "port %d", u->ports[i]);
        port_owner_describe (&owner, u->ports[i]);
        return error_set (err, EADDRINUSE, "port %d is taken%s; --port N uses N, N+1 and N+2 instead",
                          u->ports[i], owner.n ? owner.p : "");
    }
    return 0;
}

/* Whether the server answers a request. That it listens is not enough: it does so before it has its data folder. */
static bool answers (struct up *u, int ended)
{
    static const char ping[] = "GET /debug.ping HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n";
    cleanup_close int fd = socket (AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    struct sockaddr_in to = { .sin_family = AF_INET,
                              .sin_port = htons ((uint16_t)u->ports[1]),
                              .sin_addr.s_addr = htonl (INADDR_LOOPBACK) };
    struct pollfd either[] = { { .fd = fd, .events = POLLIN }, { .fd = ended, .events = POLLIN } };
    char got[5];

    if (fd < 0 || connect (fd, (struct sockaddr *)&to, sizeof (to)) < 0 ||
        send (fd, ping, sizeof (ping) - 1, MSG_NOSIGNAL) != sizeof (ping) - 1)
        return false;
    return poll (either, 2, 1000) > 0 && !either[1].revents &&
           recv (fd, got, sizeof (got), MSG_WAITALL) == sizeof (got) && !memcmp (got, "HTTP/", 5);
}

/* Until the server answers, or has ended: its pidfd is readable then. */
int up_wait_for_server (struct up *u, struct error *err)
{
    struct pollfd ended = { .fd = u->children[SERVER].pidfd, .events = POLLIN };
    int64_t give_up = clock_monotonic () + 60000;

    while (clock_monotonic () < give_up) {
        if (answers (u, ended.fd))
            return 0;
        if (poll (&ended, 1, 2) > 0)
            return server_ended (u, err);
    }
    return error_set (err, ETIMEDOUT, "the server does not answer on port %d; see %s/log/server.log",
                      u->ports[1], u->data);
}
