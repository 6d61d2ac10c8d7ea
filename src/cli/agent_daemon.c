/* agent_daemon.c - `stoker agent daemon`: the reference agent's flags and ours -> struct agent_options. */
#include "agent/agent.h"
#include "base/file.h"
#include "base/home.h"
#include "base/log.h"
#include "base/path.h"
#include "cli/agent.h"
#include "cli/out.h"
#include "client/client.h"
#include "conf/conf.h"
#include "io/gpu_list.h"
#include "io/spawn.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

enum { SLOTS_MAX = 1024, SERVICES_SLOTS = 64, POLL_MIN_S = 5 };

struct opts {
    struct opt_words queues, tags, uptime, downtime, stop, docker, podman;
    bool create_queue, order_fairness, foreground, detached, cpu_only, status, standalone, dynamic_gpus,
        owner_token, unused;
    const char *gpus, *log_level, *services, *git_user, *git_pass;
    int64_t slots, poll_s, optimise;
};

static const char *const levels[] = { "DEBUG", "INFO", "WARN", "WARNING", "ERROR", "CRITICAL", NULL };
#define AT(member) offsetof (struct opts, member)
static const struct opt_row rows[] = {
    { OPT_WORDS, "queue", 'q', AT (queues), .arg = "NAME",
      .help = "queues to take tasks from, the most wanted first: names or ids (default: the server's default "
              "queue)" },
    { OPT_FLAG, "create-queue", 0, AT (create_queue), .help = "make queues that are not there" },
    { OPT_FLAG, "order-fairness", 0, AT (order_fairness),
      .help = "after a task go on with the next queue, instead of the first" },
    { OPT_INT, "slots", 0, AT (slots), .least = 1, .most = SLOTS_MAX,
      .help = "how many tasks run at once (default: 1)" },
    { OPT_TEXT, "gpus", 0, AT (gpus), .arg = "LIST",
      .help = "GPUs to use: all, none, or as in 0,1 or 0-3 (numbers, UUIDs, MIG devices)" },
    { OPT_FLAG, "cpu-only", 0, AT (cpu_only), .help = "use no GPU" },
    { OPT_FLAG, "foreground", 0, AT (foreground), .help = "the output stays on the terminal" },
    { OPT_FLAG, "detached", 'd', AT (detached), .help = "go to the background" },
    { OPT_INT, "polling-interval", 0, AT (poll_s), .arg = "SEC", .least = 1, .most = 86400,
      .help = "pause between two questions to a server that cannot hand out tasks by itself (at least 5)" },
    { OPT_WORDS, "child-report-tags", 0, AT (tags), .arg = "TAG", .help = "tags in the worker's reports" },
    { OPT_WORDS, "uptime", 0, AT (uptime), .arg = "SPAN",
      .help = "working hours: \"HOURS DAYS\", as in \"17-20 MON-FRI\"" },
    { OPT_WORDS, "downtime", 0, AT (downtime), .arg = "SPAN", .help = "hours without work" },
    { OPT_TEXT, "log-level", 0, AT (log_level), .choices = levels, .help = "of the user's process" },
    { OPT_COUNT, "O", 'O', AT (optimise), .help = "Python's -O for the user's process" },
    { OPT_TEXT, "git-user", 0, AT (git_user), .arg = "NAME", .help = "user for repositories" },
    { OPT_TEXT, "git-pass", 0, AT (git_pass), .arg = "WORD",
      .help =
          "password for repositories (seen by all users of this machine: better CLEARML_AGENT_GIT_PASS)" },
    { OPT_MAYBE, "services-mode", 0, AT (services), .arg = "N",
      .help = "many tasks at once, without GPUs (0: off)" },
    { OPT_FLAG, "standalone-mode", 0, AT (standalone),
      .help = "no network installs: everything is in place" },
    { OPT_WORDS, "stop", 0, AT (stop), .arg = "WORKER",
      .help = "stop the agent that these same flags started, or those of these worker ids" },
    { OPT_FLAG, "status", 0, AT (status), .help = "print what this machine's agents do" },
    { OPT_WORDS, "docker", 0, AT (docker), .arg = "IMAGE" },
    { OPT_WORDS, "podman", 0, AT (podman), .arg = "IMAGE" },
    { OPT_FLAG, "dynamic-gpus", 0, AT (dynamic_gpus), .help = NULL },
    { OPT_FLAG, "use-owner-token", 0, AT (owner_token), .help = NULL },
    { OPT_FLAG, "force-current-version", 0, AT (unused), .help = NULL },
    { OPT_FLAG, "check-bootstrap", 0, AT (unused), .help = NULL },
    { 0 },
};
static const struct opt_command command = {
    .name = "agent daemon",
    .about = "Take tasks from queues and run them, one after the other or several at once. Tasks outlive the "
             "agent: "
             "when it is killed, upgraded or started anew they run on, and the next one adopts them.",
    .rows = rows,
    .more = "The first Ctrl-C lets running tasks end and takes nothing new; the second stops them.\n",
    .files = true,
};

/* -- --stop and --status ---------------------------------------------------------------------------------------- */

static bool has_queue (const char *names, const char *name)
{
    size_t n = strlen (name);

    for (const char *p = names; (p = strstr (p, name)); p++)
        if ((p == names || !strncmp (p - 2, ", ", 2)) && (!p[n] || !strncmp (p + n, ", ", 2)))
            return true;
    return false;
}

/* Is this the daemon that these flags start? Never one of another kind: "host" means "host:3", not "host:gpu0". */
static bool is_meant (const struct agent_daemon *d, const char *prefix, bool whole,
                      const struct opt_words *queues)
{
    size_t n = strlen (prefix);

    if (!d->alive || strncmp (d->worker, prefix, n))
        return false;
    if (whole ? d->worker[n] != 0
              : d->worker[n] != ':' || strspn (d->worker + n + 1, "0123456789") != strlen (d->worker + n + 1))
        return false;
    for (size_t i = 0; i < queues->n; i++)
        if (!has_queue (d->queues, queues->v[i]))
            return false;
    return true;
}

static int stop_by_ids (struct arena *a, const struct opts *o)
{
    struct agent_daemon *d;
    struct error err = { 0 };
    size_t n;
    int rc = 0;

    if (agent_daemons (a, &d, &n, &err) < 0)
        return out_failed (command.name, &err);
    for (size_t w = 0; w < o->stop.n; w++) {
        const struct agent_daemon *found = NULL;

        for (size_t i = 0; i < n; i++)
            if (d[i].alive && !strcmp (d[i].worker, o->stop.v[w]))
                found = &d[i];
        if (!found)
            fprintf (stderr, "no agent '%s' runs here\n", o->stop.v[w]);
        rc |= found ? agent_stop_daemon (found, false) : 1;
    }
    return rc;
}

static int print_status (struct arena *a)
{
    struct agent_daemon *d;
    struct error err = { 0 };
    size_t n;

    if (agent_daemons (a, &d, &n, &err) < 0)
        return out_failed (command.name, &err);
    for (size_t i = 0; i < n; i++)
        printf ("%s: %s, queues: %s\n", d[i].worker, d[i].alive ? d[i].mode : "gone", d[i].queues);
    return 0;
}

/* -- options ---------------------------------------------------------------------------------------------------- */

static int refuse (const struct opts *o, struct error *err)
{
    if (o->docker.given || o->podman.given)
        return error_set (err, ENOTSUP,
                          "--docker: this version runs tasks in environments of this machine only");
    if (o->dynamic_gpus)
        return error_set (err, ENOTSUP,
                          "--dynamic-gpus is not supported: --gpus LIST --slots N shares GPUs out");
    if (o->owner_token)
        return error_set (err, ENOTSUP,
                          "--use-owner-token needs a server with users' tokens (feature set enterprise)");
    return 0;
}

/* --services-mode [N]: many slots, no GPU. */
static int set_services (struct opts *o, struct error *err)
{
    char *end;
    long n;

    if (!o->services)
        return 0;
    n = *o->services ? strtol (o->services, &end, 10) : -1;
    if (*o->services && *end)
        return error_set (err, EINVAL, "--services-mode: '%s' is not a whole number", o->services);
    if (!n)
        return 0;
    o->slots = n < 0 ? SERVICES_SLOTS : n;
    o->cpu_only = true;
    o->gpus = NULL;
    return o->slots > SLOTS_MAX ? error_set (err, EINVAL, "--services-mode: at most %d", SLOTS_MAX) : 0;
}

/* Which GPUs, and who says so. */
struct choice {
    const char *gpus, *from; /* NULL = nobody */
    bool cpu_only;
};

/* What a variable says; false: nothing that could be read as devices of this machine (a container's runtime has words
 * of its own: void, paths, names of CDI). */
static bool choose_by (struct arena *a, const char *variable, struct choice *ret)
{
    const char *value = getenv (variable);
    struct error none;

    if (!value || !*value || gpu_list_read (a, variable, value, &ret->gpus, &none) < 0)
        return false;
    ret->from = variable;
    return true;
}

/* Which kind of daemon these flags, the configuration and the environment mean: for starting and for stopping it. In
 * Kubernetes the pod decides, not the flag. */
static void choose_gpus (struct arena *a, const struct opts *o, const struct conf *conf, struct choice *ret)
{
    bool in_pod = getenv ("KUBERNETES_SERVICE_HOST") || getenv ("KUBERNETES_SERVICE_PORT");
    const char *cuda = getenv ("CUDA_VISIBLE_DEVICES");

    *ret = (struct choice){ .cpu_only = o->cpu_only || conf->agent.cpu_only };
    if (ret->cpu_only)
        return;
    if (o->gpus && !in_pod)
        *ret = (struct choice){ .gpus = o->gpus, .from = "--gpus" };
    else if (!choose_by (a, "NVIDIA_VISIBLE_DEVICES", ret) && !choose_by (a, "CUDA_VISIBLE_DEVICES", ret) &&
             cuda && !strcmp (cuda, "-1")) /* CUDA's own word for none */
        ret->gpus = "none";
}

static int stop_by_flags (struct arena *a, const struct opts *o, const struct conf *conf)
{
    bool whole;
    const char *prefix;
    struct choice chosen;
    struct agent_daemon *d;
    struct error err = { 0 };
    size_t n;

    choose_gpus (a, o, conf, &chosen);
    prefix = agent_worker_prefix (a, conf, chosen.gpus, chosen.cpu_only, &whole);
    if (agent_daemons (a, &d, &n, &err) < 0)
        return out_failed (command.name, &err);
    for (size_t i = 0; i < n; i++)
        if (is_meant (&d[i], prefix, whole, &o->queues))
            return agent_stop_daemon (&d[i], false);
    fprintf (stderr, "no agent '%s%s' runs here\n", prefix, whole ? "" : ":<slot>");
    return 1;
}

static int64_t choose_poll (const struct opts *o, const struct conf *conf)
{
    int64_t s = o->poll_s;

    if (!s || getenv ("CLEARML_AGENT_QUEUE_POLL_FREQ_SEC") || getenv ("TRAINS_AGENT_QUEUE_POLL_FREQ_SEC"))
        return (int64_t)(conf->agent.poll_sec * 1000);
    return (s < POLL_MIN_S ? POLL_MIN_S : s) * 1000;
}

/* More words for `stoker execute`. */
static const char *const *execute_words (struct arena *a, const struct opts *o)
{
    const char **v = arena_array (a, const char *, 8 + (size_t)o->optimise);
    size_t n = 0;

    if (o->log_level) {
        v[n++] = "--log-level";
        v[n++] = o->log_level;
    }
    if (o->standalone)
        v[n++] = "--standalone-mode";
    for (int64_t i = 0; i < o->optimise && i < 2; i++)
        v[n++] = "-O";
    return v;
}

/* The word "daemon" and those before it are gone from argv: what starts us again is the whole command line. */
static char **whole_argv (struct arena *a)
{
    struct str all = { .arena = a };
    struct error err;
    char **v;
    size_t n = 0;

    if (file_read ("/proc/self/cmdline", 1 << 20, &all, &err) < 0 || !all.n)
        return arena_array (a, char *, 1);
    v = arena_array (a, char *, all.n + 1);
    for (char *p = all.p; p < all.p + all.n; p += strlen (p) + 1)
        v[n++] = p;
    return v;
}

static void export_git (const struct opts *o)
{
    if (o->git_user)
        setenv ("CLEARML_AGENT_GIT_USER", o->git_user, 1);
    if (o->git_pass)
        setenv ("CLEARML_AGENT_GIT_PASS", o->git_pass, 1);
}

static int run_daemon (struct arena *a, const struct opts *o, const struct conf *conf, struct error *err)
{
    const char *config = getenv ("CLEARML_CONFIG_FILE");
    struct choice chosen;
    struct agent_options ao = { .config_file = config ? home_expand (a, config) : NULL,
                                .queues = o->queues,
                                .create_queue = o->create_queue,
                                .order_fairness = o->order_fairness,
                                .foreground = o->foreground,
                                .detached = o->detached,
                                .slots = (int)o->slots,
                                .tags = o->tags,
                                .uptime = o->uptime,
                                .downtime = o->downtime,
                                .poll_ms = choose_poll (o, conf),
                                .execute = execute_words (a, o) };
    struct client *client;
    int rc;

    choose_gpus (a, o, conf, &chosen);
    ao.gpus = chosen.gpus;
    ao.gpus_from = chosen.from;
    ao.cpu_only = chosen.cpu_only;
    ao.program = spawn_self (a, err);
    if (!ao.program || client_create (conf, &client, err) < 0)
        return -1;
    ao.argv = whole_argv (a);
    export_git (o);
    err->text[0] = 0;
    rc = agent_run (&ao, conf, client, err);
    client_destroy (client);
    return rc == 1 && err->text[0] ? -1 : rc;
}

int agent_daemon_main (int argc, char **argv)
{
    cleanup_arena struct arena *a = arena_create ();
    struct opts o = { .slots = 1 };
    const struct conf *conf;
    struct error err = { 0 };
    int rc;
    int begun = out_parse (&command, argc, argv, &o, a);

    if (begun != VERB_GO)
        return begun;
    if (set_services (&o, &err) < 0 || gpu_list_read (a, "--gpus", o.gpus, &o.gpus, &err) < 0)
        return out_misused (command.name, &err);
    if (o.status)
        return print_status (a);
    if (conf_load (a, NULL, &conf, &err) < 0)
        return out_failed (command.name, &err);
    if (o.stop.given)
        return o.stop.n ? stop_by_ids (a, &o) : stop_by_flags (a, &o, conf);
    if (refuse (&o, &err) < 0 || (rc = run_daemon (a, &o, conf, &err)) < 0)
        return out_failed (command.name, &err);
    return rc;
}
