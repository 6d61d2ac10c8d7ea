/* agent.c - the verbs of `stoker agent`: daemon, execute, list, status, stop, drain, restart, init, config.
 *
 * Called as clearml-agent or trains-agent, options may stand before the verb (--config-file, --debug), no verb prints
 * the help, and --version says what scripts look for. */
#include "cli/agent.h"
#include "agent/agent.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/home.h"
#include "base/log.h"
#include "base/path.h"
#include "cli/out.h"
#include "cli/remote.h"
#include "cli/verbs.h"
#include "client/client.h"
#include "conf/conf.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { STOP_WAIT_MS = 30000, STOP_AGAIN_MS = 15000 };

bool agent_is_name (const char *argv0)
{
    const char *name = path_base (argv0);

    return !strcmp (name, "clearml-agent") || !strcmp (name, "trains-agent");
}

/* -- list: the server's workers as YAML ------------------------------------------------------------------------- */

static void put_yaml_text (struct str *s, const char *text)
{
    bool plain = *text && strcmp (text, "null") && strcmp (text, "true") && strcmp (text, "false");

    for (const char *p = text; *p && plain; p++)
        plain = (*p >= '0' && *p <= '9' && p != text) || ((*p | 32) >= 'a' && (*p | 32) <= 'z') ||
                strchr ("_./ -", *p ? *p : '_');
    if (plain && text[0] != ' ' && text[0] != '-')
        str_puts (s, text);
    else
        json_put_string (s, text); /* a JSON string is a YAML string */
}

/* `v` behind "key:" or "-", whose line begins at column `indent`. */
static void put_yaml (struct arena *a, struct str *s, struct text v, int indent)
{
    enum json_kind k = json_kind (v);
    bool first = true;

    if (k == JSON_STRING) {
        str_putc (s, ' ');
        put_yaml_text (s, json_string (a, v));
    } else if ((k != JSON_OBJECT && k != JSON_ARRAY) || !json_count (v)) {
        str_putc (s, ' ');
        str_add_text (s, v);
    }
    if ((k != JSON_OBJECT && k != JSON_ARRAY) || !json_count (v)) {
        str_putc (s, '\n');
        return;
    }
    for (struct json_iter it = json_iter (v); json_next (&it); first = false) {
        bool in_list = s->n && s->p[s->n - 1] == '-';

        if (in_list && first && k == JSON_OBJECT)
            str_putc (s, ' ');
        else
            str_addf (s, "%s%*s", first && s->n ? "\n" : "", indent, "");
        if (k == JSON_ARRAY) {
            str_putc (s, '-');
        } else {
            put_yaml_text (s, json_key (a, it.key));
            str_putc (s, ':');
        }
        put_yaml (a, s, it.value, indent + 2);
    }
}

/* Of the verbs that only print. */
struct print_opts {
    bool json;
};
static const struct opt_row print_rows[] = {
    { OPT_FLAG, "json", 0, offsetof (struct print_opts, json), .help = "print JSON" },
    { 0 },
};

static int list_main (int argc, char **argv)
{
    static const struct opt_command command = { .name = "agent list",
                                                .about = "List the workers that the server knows, as YAML.",
                                                .rows = print_rows };
    cleanup_arena struct arena *a = arena_create ();
    cleanup_remote struct remote r = { 0 };
    struct str s = { .arena = a };
    struct print_opts o = { 0 };
    struct error err = { 0 };
    struct text data;
    int begun = remote_begin (&command, argc, argv, &o, a, &r);

    if (begun != VERB_GO)
        return begun;
    if (remote_call (&r, "workers.get_all", "{\"last_seen\":0}", &data, &err) < 0)
        return out_failed (command.name, &err);
    if (o.json) {
        data = json_get (data, "workers");
        printf ("%.*s\n", (int)data.n, data.p);
        return 0;
    }
    str_puts (&s, "workers:");
    put_yaml (a, &s, json_get (data, "workers"), 0);
    fputs (s.p, stdout);
    return 0;
}

/* -- status: this machine's daemons and tasks ------------------------------------------------------------------- */

static void status_json (struct agent_daemon *d, size_t n, struct agent_task *t, size_t n_tasks)
{
    cleanup_str struct str s = { 0 };

    str_puts (&s, "{\"daemons\":[");
    for (size_t i = 0; i < n; i++) {
        json_put_comma (&s);
        str_putc (&s, '{');
        json_put_key (&s, "worker");
        json_put_string (&s, d[i].worker);
        json_put_key (&s, "mode");
        json_put_string (&s, d[i].alive ? d[i].mode : "gone");
        json_put_key (&s, "queues");
        json_put_string (&s, d[i].queues);
        json_put_key (&s, "server");
        json_put_string (&s, d[i].server);
        str_addf (&s, ",\"pid\":%d,\"slots\":%d,\"started\":%lld}", (int)d[i].process.pid, d[i].slots,
                  (long long)d[i].started);
    }
    str_puts (&s, "],\"tasks\":[");
    for (size_t i = 0; i < n_tasks; i++) {
        json_put_comma (&s);
        str_putc (&s, '{');
        json_put_key (&s, "task");
        json_put_string (&s, t[i].task);
        json_put_key (&s, "worker");
        json_put_string (&s, t[i].worker);
        json_put_key (&s, "stage");
        json_put_string (&s, t[i].stage);
        str_addf (&s, ",\"alive\":%s,\"t\":%lld}", t[i].alive ? "true" : "false", (long long)t[i].t);
    }
    str_puts (&s, "]}\n");
    fputs (s.p, stdout);
}

static void status_print (struct arena *a, struct agent_daemon *d, size_t n, struct agent_task *t,
                          size_t n_tasks)
{
    static const char *const heads[] = { "WORKER", "STATE", "PID", "SLOTS", "SINCE", "QUEUES", NULL };
    static const char *const task_heads[] = { "TASK", "WORKER", "STAGE", "SINCE", NULL };
    struct out_table table;
    int64_t now = clock_now ();

    if (!n)
        printf ("No agent runs here (for this user).\n");
    out_table_init (&table, a, heads);
    for (size_t i = 0; i < n; i++) {
        out_cell (&table, d[i].worker);
        out_cell (&table, d[i].alive ? d[i].mode : "gone");
        out_cell (&table, arena_printf (a, "%d", (int)d[i].process.pid));
        out_cell (&table, arena_printf (a, "%d", d[i].slots));
        out_cell (&table, out_age (a, d[i].started, now));
        out_cell (&table, d[i].queues);
    }
    if (n)
        out_table_print (&table, stdout);
    if (!n_tasks)
        return;
    putchar ('\n');
    out_table_init (&table, a, task_heads);
    for (size_t i = 0; i < n_tasks; i++) {
        out_cell (&table, t[i].task);
        out_cell (&table, t[i].worker);
        out_cell (&table, t[i].alive ? t[i].stage : arena_printf (a, "%s (lost)", t[i].stage));
        out_cell (&table, out_age (a, t[i].t, now));
    }
    out_table_print (&table, stdout);
}

static int status_main (int argc, char **argv)
{
    static const struct opt_command command = { .name = "agent status",
                                                .about = "Show the agents of this machine and what they run.",
                                                .rows = print_rows };
    cleanup_arena struct arena *a = arena_create ();
    struct print_opts o = { 0 };
    struct agent_daemon *d;
    struct agent_task *t;
    struct error err = { 0 };
    size_t n, n_tasks;
    int begun = out_parse (&command, argc, argv, &o, a);

    if (begun != VERB_GO)
        return begun;
    if (agent_daemons (a, &d, &n, &err) < 0 || agent_tasks (a, &t, &n_tasks, &err) < 0)
        return out_failed (command.name, &err);
    if (o.json)
        status_json (d, n, t, n_tasks);
    else
        status_print (a, d, n, t, n_tasks);
    return 0;
}

/* -- stop, drain, restart --------------------------------------------------------------------------------------- */

struct which_opts {
    struct opt_words workers;
    bool all, wait;
};

/* Send a signal to exactly that process and wait for its end; true when it has ended. */
static bool signal_and_wait (int pidfd, int signum, int64_t ms)
{
    struct pollfd p = { .fd = pidfd, .events = POLLIN };

    if (signum && syscall (SYS_pidfd_send_signal, pidfd, signum, NULL, 0) < 0)
        return errno == ESRCH;
    return poll (&p, 1, (int)ms) > 0;
}

int agent_stop_daemon (const struct agent_daemon *d, bool quiet)
{
    struct error err;
    cleanup_close int fd = process_open (&d->process, &err);
    bool gone;

    if (fd < 0)
        return 1;
    gone = signal_and_wait (fd, SIGTERM, STOP_WAIT_MS) || signal_and_wait (fd, SIGTERM, STOP_AGAIN_MS);
    if (!gone) {
        fprintf (stderr, "agent %s does not end: killed (its tasks, if any, run on)\n", d->worker);
        gone = signal_and_wait (fd, SIGKILL, STOP_AGAIN_MS);
    }
    if (gone && !quiet)
        printf ("agent %s (pid %d) has stopped\n", d->worker, (int)d->process.pid);
    return !gone;
}

static int drain_daemon (const struct agent_daemon *d, bool wait)
{
    struct error err;
    cleanup_close int fd = process_open (&d->process, &err);

    if (fd < 0)
        return 1;
    if (signal_and_wait (fd, SIGUSR1, 0)) {
        printf ("agent %s has ended\n", d->worker);
        return 0;
    }
    printf ("agent %s takes nothing new and ends with its last task\n", d->worker);
    fflush (stdout);
    if (wait)
        signal_and_wait (fd, 0, -1);
    return 0;
}

static int restart_daemon (const struct agent_daemon *d)
{
    struct error err;
    cleanup_close int fd = process_open (&d->process, &err);

    if (fd < 0)
        return 1;
    signal_and_wait (fd, SIGHUP, 0);
    printf ("agent %s starts anew; its tasks run on\n", d->worker);
    return 0;
}

/* The live daemons that are meant; an error lists those there are. */
static int choose (struct arena *a, const struct which_opts *o, struct agent_daemon **ret, size_t *ret_n,
                   struct error *err)
{
    struct str there = { .arena = a };
    struct agent_daemon *all, *list;
    size_t n, alive = 0, found = 0;

    if (agent_daemons (a, &all, &n, err) < 0)
        return -1;
    list = arena_array (a, struct agent_daemon, n + 1);
    for (size_t i = 0; i < n; i++) {
        bool named = false;

        if (!all[i].alive)
            continue;
        alive++;
        str_addf (&there, "%s%s", there.n ? ", " : "", all[i].worker);
        for (size_t w = 0; w < o->workers.n; w++)
            named |= !strcmp (o->workers.v[w], all[i].worker);
        if (named || o->all || !o->workers.n)
            list[found++] = all[i];
    }
    if (!alive)
        return error_set (err, ESRCH, "no agent runs here (for this user)");
    if (found < o->workers.n)
        return error_set (err, ESRCH, "not all of these agents run here; there are: %s", there.p);
    if (found > 1 && !o->all && !o->workers.n)
        return error_set (err, EINVAL, "%zu agents run here: name one, or --all; there are: %s", found,
                          there.p);
    *ret = list;
    *ret_n = found;
    return 0;
}

static const struct opt_row which_rows[] = {
    { OPT_FLAG, "all", 0, offsetof (struct which_opts, all), .help = "all agents of this machine and user" },
    { OPT_FLAG, "wait", 0, offsetof (struct which_opts, wait), .help = "drain: come back when it has ended" },
    { OPT_ARGS, "WORKER", 0, offsetof (struct which_opts, workers),
      .help = "worker id; not needed when only one runs" },
    { 0 },
};

static int which_main (const struct opt_command *command, int argc, char **argv, int signum)
{
    cleanup_arena struct arena *a = arena_create ();
    struct which_opts o = { 0 };
    struct agent_daemon *d = NULL;
    struct error err = { 0 };
    size_t n = 0;
    int rc = 0;
    int begun = out_parse (command, argc, argv, &o, a);

    if (begun != VERB_GO)
        return begun;
    if (choose (a, &o, &d, &n, &err) < 0)
        return out_failed (command->name, &err);
    for (size_t i = 0; i < n; i++)
        rc |= signum == SIGTERM   ? agent_stop_daemon (&d[i], false)
              : signum == SIGUSR1 ? drain_daemon (&d[i], o.wait)
                                  : restart_daemon (&d[i]);
    return rc;
}

static int stop_main (int argc, char **argv)
{
    static const struct opt_command command = {
        .name = "agent stop",
        .about = "Stop agents: their tasks get TERM, then KILL, and are reported as stopped.",
        .rows = which_rows
    };
    return which_main (&command, argc, argv, SIGTERM);
}

static int drain_main (int argc, char **argv)
{
    static const struct opt_command command = {
        .name = "agent drain",
        .about = "Let agents take nothing new and end when what they run has ended.",
        .rows = which_rows
    };
    return which_main (&command, argc, argv, SIGUSR1);
}

static int restart_main (int argc, char **argv)
{
    static const struct opt_command command = {
        .name = "agent restart",
        .about = "Start agents anew (after an upgrade, with a changed configuration); their tasks run on.",
        .rows = which_rows
    };
    return which_main (&command, argc, argv, SIGHUP);
}

/* -- config ----------------------------------------------------------------------------------------------------- */

/* One object: the lines of conf_show are keys and JSON values. */
static void config_json (const char *lines)
{
    cleanup_str struct str s = { 0 };

    str_putc (&s, '{');
    for (const char *line = lines; *line; line += strcspn (line, "\n"), line += *line == '\n') {
        const char *equal = strstr (line, " = ");
        size_t n = strcspn (line, "\n");

        json_put_comma (&s);
        str_add_json (&s, line, (size_t)(equal - line));
        str_putc (&s, ':');
        str_add (&s, equal + 3, n - (size_t)(equal + 3 - line));
    }
    str_puts (&s, "}\n");
    fputs (s.p, stdout);
}

static int config_main (int argc, char **argv)
{
    static const struct opt_command command = { .name = "agent config",
                                                .about = "Print the configuration in use, secrets masked.",
                                                .rows = print_rows };
    cleanup_arena struct arena *a = arena_create ();
    cleanup_str struct str s = { 0 };
    const struct conf *conf;
    struct print_opts o = { 0 };
    struct error err = { 0 };
    int begun = out_parse (&command, argc, argv, &o, a);

    if (begun != VERB_GO)
        return begun;
    if (conf_load (a, NULL, &conf, &err) < 0)
        return out_failed (command.name, &err);
    conf_show (conf, &s);
    if (o.json) {
        config_json (s.p);
        return 0;
    }
    for (size_t i = 0; conf->files[i]; i++)
        printf ("# %s\n", conf->files[i]);
    fputs (s.p, stdout);
    return 0;
}

/* -- the table -------------------------------------------------------------------------------------------------- */

static const struct opt_verb verbs[] = {
    { "daemon", "Take tasks from queues and run them.", agent_daemon_main },
    { "execute", "Run one task here and now.", execute_main },
    { "list", "List the workers that the server knows.", list_main },
    { "status", "Show the agents of this machine and what they run.", status_main },
    { "stop", "Stop agents of this machine, and their tasks.", stop_main },
    { "drain", "Let agents end with what they run.", drain_main },
    { "restart", "Start agents anew; their tasks run on.", restart_main },
    { "init", "Write ~/clearml.conf: which server, which key.", init_main },
    { "config", "Print the configuration in use, secrets masked.", config_main },
    { 0 },
};

static void print_help (const char *argv0)
{
    const char *name = agent_is_name (argv0) ? path_base (argv0) : "stoker agent";

    fputs ("Usage: ", stdout);
    fputs (name, stdout);
    fputs (" [--config-file FILE] [--debug] [--version] VERB [options]\n\n", stdout);
    opt_verbs_help (verbs, stdout);
    fputs ("\n`", stdout);
    fputs (name, stdout);
    fputs (" VERB --help` says more.\n", stdout);
}

/* Use exactly this file: everything below reads the environment. */
static int use_config (struct arena *a, const char *path, struct error *err)
{
    path = home_expand (a, path);
    if (access (path, R_OK) < 0)
        return error_errno (err, "--config-file %s", path);
    setenv ("CLEARML_CONFIG_FILE", path, 1);
    setenv ("TRAINS_CONFIG_FILE", path, 1);
    return 0;
}

/* Options before the verb. *ret_exit -1: go on with the word at the returned index. */
static int global_options (struct arena *a, int argc, char **argv, int *ret_exit, struct error *err)
{
    int i = 1;

    *ret_exit = -1;
    for (; i < argc && argv[i][0] == '-'; i++) {
        const char *w = argv[i];

        if (!strcmp (w, "-h") || !strcmp (w, "--help")) {
            print_help (argv[0]);
            *ret_exit = 0;
        } else if (!strcmp (w, "--version")) {
            printf ("CLEARML-AGENT version %s\n", STOKER_VERSION);
            *ret_exit = 0;
        } else if (!strcmp (w, "--debug") || !strcmp (w, "-d")) {
            log_set_level (LOG_DEBUG);
        } else if (!strncmp (w, "--config-file", 13) && (w[13] == '=' || (!w[13] && i + 1 < argc))) {
            if (use_config (a, w[13] ? w + 14 : argv[++i], err) < 0)
                *ret_exit = out_failed ("agent", err);
        } else {
            error_set (err, EINVAL, "unknown option %s before the verb", w);
            *ret_exit = out_misused ("agent", err);
        }
        if (*ret_exit >= 0)
            break;
    }
    return i;
}

int agent_main (int argc, char **argv)
{
    cleanup_arena struct arena *a = arena_create ();
    struct error err = { 0 };
    const struct opt_verb *v;
    int rc, i;

    opt_help_last (argc, argv);
    i = global_options (a, argc, argv, &rc, &err);
    if (rc >= 0)
        return rc;
    if (i >= argc) {
        print_help (argv[0]);
        return 0;
    }
    if (!(v = opt_verb_find (verbs, argv[i], &err)))
        return out_misused ("agent", &err);
    return v->main (argc - i, argv + i);
}
