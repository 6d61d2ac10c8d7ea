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
#include "cli/up_room.h"
#include "io/gpu_list.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const struct opt_row rows[] = {
    { OPT_TEXT, "data", 'd', offsetof (struct up_opts, data), .arg = "DIR",
      .help =
          "data folder (default: $XDG_DATA_HOME/stoker or ~/.local/share/stoker; of root: /var/lib/stoker)" },
    { OPT_INT, "port", 'p', offsetof (struct up_opts, port), .arg = "N", .least = 1, .most = 65533,
      .help = "pages on port N, API on N+1, files on N+2 (default: 8080, 8008, 8081)" },
    { OPT_TEXT, "queue", 'q', offsetof (struct up_opts, queue), .arg = "NAME",
      .help = "the queue the agent serves (default: default)" },
    { OPT_INT, "slots", 0, offsetof (struct up_opts, slots), .arg = "N", .least = 1, .most = 1024,
      .help = "how many tasks the agent runs at once (default: 1)" },
    { OPT_TEXT, "gpus", 0, offsetof (struct up_opts, gpus), .arg = "LIST",
      .help = "the agent's GPUs, as in 0,1 or all" },
    { OPT_FLAG, "cpu-only", 0, offsetof (struct up_opts, cpu_only), .help = "the agent uses no GPU" },
    { OPT_FLAG, "no-agent", 0, offsetof (struct up_opts, no_agent), .help = "the server alone" },
    { OPT_FLAG, "json", 0, offsetof (struct up_opts, json),
      .help = "one line of JSON when all is up, for programs" },
    { 0 },
};
static const struct opt_command command = {
    .name = "up",
    .about = "Start a server and an agent on this machine, for this machine. Nothing has to be configured.",
    .rows = rows,
    .more = "The first Ctrl-C lets running tasks end and takes no new ones; the second stops them.\n",
};

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
    if (up_start_agent (u, &err) < 0)
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
        up_show_log_end (u, AGENT);
        u->respawn = u->respawn ? u->respawn : loop_timer_add (u->loop, 2000, false, on_respawn, u);
        loop_timer_reset (u->respawn, 2000);
        return;
    }
    if (!u->stopping) {
        fprintf (stderr, "stoker up: the server ended (%s)\n", words.p);
        up_show_log_end (u, SERVER);
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

    if (!pid || !file_exists (u->config) || up_make_link (u, &link, &none) < 0)
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

    if (up_check_ports (u, err) < 0)
        return explain_running (u, err);
    if (folder_make (u->data, 0700, err) < 0)
        return error_wrap (err, "data folder (--data DIR chooses another)");
    if (up_read_key (u, err) < 0 || loop_create (&u->loop, err) < 0)
        return -1;
    if (up_start_server (u, err) < 0 || up_wait_for_server (u, err) < 0)
        return explain_running (u, err);
    if (up_write_config (u, err) < 0)
        return -1;
    watch_part (u, SERVER);
    loop_signal_add (u->loop, SIGINT, on_signal, u);
    loop_signal_add (u->loop, SIGTERM, on_signal, u);
    if (!u->o->no_agent) {
        if (up_start_agent (u, err) < 0)
            return -1;
        watch_part (u, AGENT);
    }
    if (up_make_link (u, &link, err) < 0)
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
    struct up_opts o = { .queue = "default" };
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
