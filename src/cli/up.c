/* up.c - `stoker up`: a server and an agent on this machine, as two child processes, with no configuration.
 *
 * In: a data folder and three ports. Out: DATA/clearml.conf (0600) that makes any client use this server, a link that
 * opens the page logged in, the children's output in DATA/log/. The API key of the folder's owner is made at the first
 * start, kept in that clearml.conf, and handed to the server by STOKER_BOOTSTRAP_KEY at each start.
 *
 * First Ctrl-C drains: the agent takes nothing new, running tasks end; the second, or SIGTERM, stops the tasks too. */
#include "cli/up.h"

#include "base/clock.h"
#include "base/file.h"
#include "base/home.h"
#include "base/json.h"
#include "base/opt.h"
#include "base/path.h"
#include "cli/out.h"
#include "cli/sdkconf.h"
#include "client/client.h"
#include "conf/conf.h"
#include "io/gpu_list.h"
#include "io/loop.h"
#include "io/port_owner.h"
#include "io/spawn.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

struct opts {
    bool json, no_agent, cpu_only;
    const char *data, *queue, *gpus;
    int64_t port, slots;
};
static const struct opt_row rows[] = {
    { OPT_TEXT, "data", 'd', offsetof (struct opts, data), .arg = "DIR",
      .help =
          "data folder (default: $XDG_DATA_HOME/stoker or ~/.local/share/stoker; of root: /var/lib/stoker)" },
    { OPT_INT, "port", 'p', offsetof (struct opts, port), .arg = "N", .least = 1, .most = 65533,
      .help = "pages on port N, API on N+1, files on N+2 (default: 8080, 8008, 8081)" },
    { OPT_TEXT, "queue", 'q', offsetof (struct opts, queue), .arg = "NAME",
      .help = "the queue the agent serves (default: default)" },
    { OPT_INT, "slots", 0, offsetof (struct opts, slots), .arg = "N", .least = 1, .most = 1024,
      .help = "how many tasks the agent runs at once (default: 1)" },
    { OPT_TEXT, "gpus", 0, offsetof (struct opts, gpus), .arg = "LIST",
      .help = "the agent's GPUs, as in 0,1 or all" },
    { OPT_FLAG, "cpu-only", 0, offsetof (struct opts, cpu_only), .help = "the agent uses no GPU" },
    { OPT_FLAG, "no-agent", 0, offsetof (struct opts, no_agent), .help = "the server alone" },
    { OPT_FLAG, "json", 0, offsetof (struct opts, json),
      .help = "one line of JSON when all is up, for programs" },
    { 0 },
};
static const struct opt_command command = {
    .name = "up",
    .about = "Start a server and an agent on this machine, for this machine. Nothing has to be configured.",
    .rows = rows,
    .more = "The first Ctrl-C lets running tasks end and takes no new ones; the second stops them.\n",
};

enum part { SERVER, AGENT, PARTS };
static const char *const part_names[PARTS] = { "server", "agent" };
/* When `up` itself is killed: the server ends in order; the agent goes as in a crash, so that tasks run on and the next
 * one adopts them (SIGTERM would stop them). */
static const int death_signals[PARTS] = { SIGTERM, SIGKILL };

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
    const struct opts *o;
};

/* -- the key and the configuration file ---------------------------------------------------------------------------- */

static void random_text (char *to, size_t n, const char *alphabet)
{
    unsigned char b[128];
    size_t m = strlen (alphabet), i = 0;

    while (i < n) {
        if (getrandom (b, sizeof (b), 0) != sizeof (b))
            abort ();
        for (size_t j = 0; j < sizeof (b) && i < n; j++)
            if (b[j] < 256 / m * m)
                to[i++] = alphabet[b[j] % m];
    }
    to[n] = 0;
}

static int read_key (struct up *u, struct error *err)
{
    const struct conf *conf;

    if (!file_exists (u->config)) {
        random_text (u->access, 30, "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789");
        random_text (u->secret, 64, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789");
        return 0;
    }
    if (conf_load (u->arena, u->config, &conf, err) < 0)
        return -1;
    if (!conf->api.access_key || !conf->api.secret_key ||
        strlen (conf->api.access_key) >= sizeof (u->access) ||
        strlen (conf->api.secret_key) >= sizeof (u->secret))
        return error_set (err, EINVAL, "%s: no api.credentials as stoker up writes them; move the file away",
                          u->config);
    strcpy (u->access, conf->api.access_key);
    strcpy (u->secret, conf->api.secret_key);
    return 0;
}

static int write_config (struct up *u, struct error *err)
{
    cleanup_str struct str s = { 0 };

    str_addf (&s,
              "# Written by stoker up at each start: the server of %s.\n"
              "# Use it with: export CLEARML_CONFIG_FILE=%s\n"
              "api {\n"
              "    web_server: http://127.0.0.1:%d\n"
              "    api_server: http://127.0.0.1:%d\n"
              "    files_server: http://127.0.0.1:%d\n"
              "    credentials {\n        \"access_key\" = \"%s\"\n        \"secret_key\" = \"%s\"\n    }\n"
              "    http { max_req_size: 62914560 } # the SDK's own limit of a plot: 15 MB unless "
              "told\n}\n" SDK_SETTINGS,
              u->data, u->config, u->ports[0], u->ports[1], u->ports[2], u->access, u->secret);
    return file_write (u->config, str_text (&s), 0600, err);
}

/* -- children --------------------------------------------------------------------------------------------------------- */

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

static int start_server (struct up *u, struct error *err)
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

static int start_agent (struct up *u, struct error *err)
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
static void show_log_end (struct up *u, enum part part)
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
    show_log_end (u, SERVER);
    return error_set (err, ECHILD, "the server ended while it started (%s)", words.p);
}

/* Somebody else's server would answer in place of ours: so look before it is started. */
static int check_ports (struct up *u, struct error *err)
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
static int wait_for_server (struct up *u, struct error *err)
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

/* -- running ----------------------------------------------------------------------------------------------------------- */

static void tell (struct up *u, enum part part, int sig)
{
    if (u->children[part].pid)
        kill (u->children[part].pid, sig);
}

static void stop_server_then_end (struct up *u)
{
    if (u->children[SERVER].pid)
        tell (u, SERVER, SIGTERM);
    else
        loop_stop (u->loop);
}

static void on_signal (int signum, void *arg)
{
    struct up *u = arg;

    u->interrupts++;
    if (signum == SIGINT && u->interrupts == 1) {
        fprintf (stderr,
                 "\nstoker up: taking no new tasks; running ones may end. Ctrl-C again stops them.\n");
        u->stopping = true;
        if (!u->children[AGENT].pid)
            stop_server_then_end (u);
        tell (u, AGENT, SIGINT);
        return;
    }
    if (u->interrupts <= 2 || signum != SIGINT)
        fprintf (stderr, "stoker up: stopping\n");
    u->stopping = true;
    if (u->children[AGENT].pid)
        tell (u, AGENT, SIGTERM);
    else
        stop_server_then_end (u);
}

static void watch_part (struct up *u, enum part part);

static void on_respawn (void *arg)
{
    struct up *u = arg;
    struct error err = { 0 };

    if (u->stopping || u->children[AGENT].pid)
        return;
    if (start_agent (u, &err) < 0)
        fprintf (stderr, "stoker up: %s\n", err.text);
    else
        watch_part (u, AGENT);
}

static void part_ended (struct up *u, enum part part)
{
    cleanup_str struct str words = { 0 };
    struct error err = { 0 };
    struct spawn_end end;

    loop_watch_remove (u->watches[part]);
    u->watches[part] = NULL;
    if (spawn_wait (&u->children[part], &end, &err) == 0)
        spawn_end_words (&end, &words);
    u->children[part].pid = 0;
    if (part == AGENT) {
        if (u->stopping) {
            stop_server_then_end (u);
            return;
        }
        fprintf (stderr, "stoker up: the agent ended (%s); starting it again in 2 s\n", words.p);
        show_log_end (u, AGENT);
        u->respawn = u->respawn ? u->respawn : loop_timer_add (u->loop, 2000, false, on_respawn, u);
        loop_timer_reset (u->respawn, 2000);
        return;
    }
    if (!u->stopping) {
        fprintf (stderr, "stoker up: the server ended (%s)\n", words.p);
        show_log_end (u, SERVER);
        u->rc = 1;
        u->stopping = true;
    }
    if (u->children[AGENT].pid)
        tell (u, AGENT, SIGTERM);
    else
        loop_stop (u->loop);
}

static void on_pidfd (int fd, int events, void *arg)
{
    struct up *u = arg;

    (void)events;
    for (int part = 0; part < PARTS; part++)
        if (u->children[part].pid && u->children[part].pidfd == fd) {
            part_ended (u, (enum part)part);
            return;
        }
}

static void watch_part (struct up *u, enum part part)
{
    u->watches[part] = loop_watch_add (u->loop, u->children[part].pidfd, LOOP_READ, on_pidfd, u);
}

/* A link with a one-time code that opens the page logged in, from the server that the configuration file names. */
static int make_link (struct up *u, const char **ret, struct error *err)
{
    const struct conf *conf;
    struct client *client;
    struct text data;
    char *code = NULL;
    int rc;

    if (conf_load (u->arena, u->config, &conf, err) < 0 || client_create (conf, &client, err) < 0)
        return -1;
    rc = client_call (client, u->arena, "x_login.create", 2034, TEXT ("{}"), &data, err);
    client_destroy (client);
    if (rc == 0 && !(code = json_string (u->arena, json_get (data, "code"))))
        return error_set (err, EPROTO, "the server gave no login code");
    if (rc == 0)
        *ret = arena_printf (u->arena, "%s/login?code=%s", conf->api.web_server, code);
    return rc;
}

static void say (struct up *u, const char *link, int64_t ms)
{
    char *web = arena_printf (u->arena, "http://127.0.0.1:%d", u->ports[0]);

    if (u->o->json) {
        struct str s = { .arena = u->arena };
        struct {
            const char *key, *value;
        } members[] = { { "web", web },
                        { "api", arena_printf (u->arena, "http://127.0.0.1:%d", u->ports[1]) },
                        { "files", arena_printf (u->arena, "http://127.0.0.1:%d", u->ports[2]) },
                        { "config", u->config },
                        { "data", u->data },
                        { "link", link } };
        str_putc (&s, '{');
        for (size_t i = 0; i < sizeof (members) / sizeof (*members); i++) {
            json_put_key (&s, members[i].key);
            json_put_string (&s, members[i].value);
        }
        puts (arena_printf (u->arena, "%s}", s.p));
    } else {
        printf ("Stoker is up (%s). Data: %s\n\n", out_duration (u->arena, ms), u->data);
        printf ("  Open (logs you in, once):   %s\n", link);
        printf ("  Use it from your code:      export CLEARML_CONFIG_FILE=%s\n", u->config);
        if (!u->o->no_agent)
            printf ("  The agent serves queue:     %s\n", u->o->queue);
        printf ("\nCtrl-C: running tasks may end, no new ones start; again: stops them.\n");
    }
    fflush (stdout);
}

/* The process that serves our data folder, 0 when there is none. */
static int served_by (struct up *u)
{
    cleanup_str struct str s = { 0 };
    struct error none;
    int pid;

    if (file_read (path_join (u->arena, u->data, "lock"), 64, &s, &none) < 0 || !s.n)
        return 0;
    pid = atoi (s.p);
    return pid > 1 && !u->children[SERVER].pid && (kill (pid, 0) == 0 || errno == EPERM) ? pid : 0;
}

/* Our server cannot start. When that is because it runs already, say how to use it: who calls `up` again wants that. */
static int explain_running (struct up *u, struct error *err)
{
    struct error none;
    const char *link;
    int pid = served_by (u);

    if (!pid || !file_exists (u->config) || make_link (u, &link, &none) < 0)
        return -1;
    error_set (err, EBUSY,
               "Stoker is up already: process %d serves %s\n\n"
               "  Open (logs you in, once):   %s\n"
               "  Use it from your code:      export CLEARML_CONFIG_FILE=%s\n\n"
               "'stoker agent status' shows its agent; another server needs a --data and a --port of its own",
               pid, u->data, link, u->config);
    return -1;
}

static int run (struct up *u, struct error *err)
{
    int64_t start = clock_monotonic ();
    const char *link = NULL;

    if (check_ports (u, err) < 0)
        return explain_running (u, err);
    if (folder_make (u->data, 0700, err) < 0)
        return error_wrap (err, "data folder (--data DIR chooses another)");
    if (read_key (u, err) < 0 || loop_create (&u->loop, err) < 0)
        return -1;
    if (start_server (u, err) < 0 || wait_for_server (u, err) < 0)
        return explain_running (u, err);
    if (write_config (u, err) < 0)
        return -1;
    watch_part (u, SERVER);
    loop_signal_add (u->loop, SIGINT, on_signal, u);
    loop_signal_add (u->loop, SIGTERM, on_signal, u);
    if (!u->o->no_agent) {
        if (start_agent (u, err) < 0)
            return -1;
        watch_part (u, AGENT);
    }
    if (make_link (u, &link, err) < 0)
        return -1;
    say (u, link, clock_monotonic () - start);
    return loop_run (u->loop, err);
}

static void end_children (struct up *u)
{
    struct spawn_end end;
    struct error err;

    for (int part = PARTS - 1; part >= 0; part--)
        if (u->children[part].pid) {
            tell (u, (enum part)part, SIGTERM);
            if (spawn_wait (&u->children[part], &end, &err) < 0)
                fprintf (stderr, "stoker up: %s\n", err.text);
        }
}

int up_main (int argc, char **argv)
{
    cleanup_arena struct arena *a = arena_create ();
    struct opts o = { .queue = "default" };
    struct up u = { .arena = a, .ports = { 8080, 8008, 8081 }, .o = &o };
    struct error err = { 0 };
    char cwd[PATH_MAX];
    int begun = out_parse (&command, argc, argv, &o, a);

    if (begun != VERB_GO)
        return begun;
    if (gpu_list_read (a, "--gpus", o.gpus, &o.gpus, &err) < 0)
        return out_misused ("up", &err);
    if (gpu_list_check_here ("--gpus", o.gpus, &err) < 0) /* that nobody can tell is the agent's to say */
        return out_failed ("up", &err);
    u.program = spawn_self (a, &err);
    if (!u.program)
        return out_failed ("up", &err);
    if (!getcwd (cwd, sizeof (cwd))) {
        error_errno (&err, "find the working folder");
        return out_failed ("up", &err);
    }
    u.data = o.data ? path_clean (a, path_join (a, cwd, o.data)) : home_data (a);
    u.config = path_join (a, u.data, "clearml.conf");
    for (int i = 0; o.port && i < 3; i++)
        u.ports[i] = (int)o.port + i;
    if (run (&u, &err) < 0) {
        out_failed ("up", &err);
        u.rc = 1;
    }
    end_children (&u);
    loop_destroy (u.loop);
    return u.rc;
}
