/* agent.c - the daemon's life: open, run the loop, end. See agent.h for what the signals mean. */
#include "agent/room.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/path.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { TIDY_MS = 60000, STOP_SLACK_MS = 5000 };

void agent_say (const struct agent *g, const char *fmt, ...)
{
    va_list ap;

    (void)g;
    va_start (ap, fmt);
    vprintf (fmt, ap);
    va_end (ap);
    putchar ('\n');
    fflush (stdout);
}

/* -- stopping --------------------------------------------------------------------------------------------------- */

static void finish (struct agent *g, int code)
{
    g->exit_code = code;
    loop_stop (g->loop);
}

static void signal_runs (struct agent *g, int signum)
{
    struct error err;

    for (struct run *r = g->runs; r; r = r->next)
        if (!r->ended && g->engine->signal (&r->at, signum, &err) < 0)
            log_warn ("agent", "task %s: %s", r->task, err.text);
}

/* The supervisors had their time: grace over -> no more grace -> killed, and settled as lost (stopped). */
static void on_stop_timer (void *arg)
{
    struct agent *g = arg;

    g->stop_step++;
    signal_runs (g, g->stop_step == 1 ? SIGTERM : SIGKILL);
    loop_timer_reset (g->stop_timer, STOP_SLACK_MS);
}

void agent_mode_set (struct agent *g, enum agent_mode m)
{
    if (m <= g->mode)
        return;
    g->mode = m;
    taker_stop (g);
    worker_write (g);
    if (m == AGENT_DRAINING)
        agent_say (g, "Draining: nothing new is taken; %zu running. Once more stops what runs.", g->n_runs);
    if (m == AGENT_STOPPING) {
        if (g->n_runs)
            agent_say (g, "Stopping: %zu running task%s TERM", g->n_runs, g->n_runs == 1 ? " gets" : "s get");
        signal_runs (g, SIGTERM);
        g->stop_timer = loop_timer_add (g->loop, (int64_t)(g->conf->agent.grace_sec * 1000) + STOP_SLACK_MS,
                                        false, on_stop_timer, g);
    }
}

void run_ended (struct agent *g)
{
    bool looking = false;

    for (int i = 0; i < g->o->slots; i++)
        looking |= g->slots[i].asked; /* the taker will say what came of it */
    if (g->mode == AGENT_RUNNING)
        taker_ask (g);
    else if (!g->n_runs && !looking && !g->adopting)
        finish (g, g->mode == AGENT_STOPPING || g->interrupts ? AGENT_STOPPED : 0);
}

static void on_signal (int signum, void *arg)
{
    struct agent *g = arg;

    if (signum == SIGHUP) {
        agent_say (g, "Starting anew; %zu running tasks go on", g->n_runs);
        g->restart = true;
        taker_stop (g);
        finish (g, 0);
        return;
    }
    if (signum == SIGINT)
        g->interrupts++;
    if (signum == SIGTERM && g->mode == AGENT_STOPPING) {
        signal_runs (g, SIGTERM); /* no more grace */
        return;
    }
    if (signum == SIGUSR1 || (signum == SIGINT && g->interrupts == 1))
        agent_mode_set (g, AGENT_DRAINING);
    else if (g->mode == AGENT_STOPPING)
        signal_runs (g, SIGTERM);
    else
        agent_mode_set (g, AGENT_STOPPING);
    if (!g->n_runs)
        run_ended (g);
}

/* Orphans end as our children when we are process 1 of a container: let none of them stay a zombie. Supervisors are
 * left to their pidfds. */
static void on_child (int signum, void *arg)
{
    struct agent *g = arg;
    siginfo_t info = { 0 };

    (void)signum;
    while (!waitid (P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) && info.si_pid) {
        for (const struct run *r = g->runs; r; r = r->next)
            if (r->at.child && r->at.process.pid == info.si_pid)
                return; /* the others are seen when its pidfd has been */
        waitpid (info.si_pid, NULL, WNOHANG);
        info.si_pid = 0;
    }
}

static void on_tidy (void *arg)
{
    struct agent *g = arg;

    on_child (SIGCHLD, g);
    if (g->mode == AGENT_RUNNING)
        adopt_orphans (g);
}

/* -- opening ---------------------------------------------------------------------------------------------------- */

/* fd 1 and 2 go to the worker's log file, whose name is printed before. */
static int redirect_output (struct agent *g, struct error *err)
{
    char *path = path_join (g->arena, g->folder, "log");
    int fd = open (path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);

    if (fd < 0)
        return error_errno (err, "open %s", path);
    agent_say (g, "Worker '%s': output goes to %s", g->worker, path);
    if (dup2 (fd, 1) < 0 || dup2 (fd, 2) < 0)
        return error_errno (err, "redirect the output");
    close (fd);
    return 0;
}

/* The parent leaves with 0 when the agent is at work: from then on `status` shows it and `stop` finds it. */
static void leave_when_ready (int ready)
{
    char byte;
    ssize_t n;

    do
        n = read (ready, &byte, 1);
    while (n < 0 && errno == EINTR);
    _exit (n == 1 ? 0 : 1);
}

static int detach (struct agent *g, struct error *err)
{
    int ready[2], null;
    pid_t pid;

    if (pipe2 (ready, O_CLOEXEC) < 0)
        return error_errno (err, "make a pipe");
    pid = fork ();
    if (pid < 0)
        return error_errno (err, "fork");
    if (pid) {
        close (ready[1]);
        leave_when_ready (ready[0]);
    }
    close (ready[0]);
    g->ready_fd = ready[1];
    setsid ();
    null = open ("/dev/null", O_RDONLY | O_CLOEXEC);
    if (null >= 0) {
        dup2 (null, 0);
        close (null);
    }
    return 0;
}

static void print_queues (struct agent *g)
{
    const struct queues *queues = queues_get (g);

    agent_say (g, "Worker '%s', %d slot%s, server %s", g->worker, g->o->slots, g->o->slots > 1 ? "s" : "",
               client_server (g->client));
    for (size_t i = 0; i < queues->n; i++)
        agent_say (g, "Queue '%s' (%s)", queues->v[i].name, queues->v[i].id);
}

static int add_hours (struct hours *h, const struct opt_words *words, struct text list, struct arena *a,
                      struct error *err)
{
    for (size_t i = 0; i < words->n; i++)
        if (hours_add (h, words->v[i], err) < 0)
            return -1;
    if (words->given)
        return 0;
    for (struct json_iter it = json_iter (list); json_next (&it);) {
        char *entry = json_string (a, it.value);

        if (!entry || hours_add (h, entry, err) < 0)
            return entry ? -1 : error_set (err, EINVAL, "agent.uptime, agent.downtime: lists of texts");
    }
    return 0;
}

static int set_hours (struct agent *g, struct error *err)
{
    if (add_hours (&g->uptime, &g->o->uptime, g->conf->agent.uptime, g->arena, err) < 0 ||
        add_hours (&g->downtime, &g->o->downtime, g->conf->agent.downtime, g->arena, err) < 0)
        return -1;
    if (g->uptime.given && g->downtime.given) {
        log_warn ("agent", "uptime and downtime are both set: both are ignored");
        g->uptime.given = g->downtime.given = false;
    }
    return 0;
}

static int agent_open (struct agent *g, struct error *err)
{
    if (set_hours (g, err) < 0 || slots_find_devices (g, err) < 0)
        return -1;
    if (client_login (g->client, err) < 0)
        return client_advise (g->conf, err);
    if (queues_resolve (g, g->client, true, err) < 0 || worker_open (g, err) < 0)
        return -1;
    client_set_worker (g->client, g->worker);
    slots_make (g);
    print_queues (g);
    int claims = client_feature (g->client, "x_queues.claim", err);
    if (claims < 0)
        return -1;
    g->claims = claims > 0;
    if (worker_register (g, err) < 0)
        log_warn ("agent", "register: %s", err->text); /* the first report registers it too */
    if (g->o->detached && !g->restart) {
        if (redirect_output (g, err) < 0 || detach (g, err) < 0)
            return -1;
    } else if (!g->o->foreground && redirect_output (g, err) < 0) {
        return -1;
    }
    return 0;
}

static const int signals[] = { SIGTERM, SIGINT, SIGHUP, SIGUSR1 };

static int agent_begin (struct agent *g, struct error *err)
{
    signal (SIGPIPE, SIG_IGN);
    if (loop_create (&g->loop, err) < 0)
        return -1;
    for (size_t i = 0; i < sizeof (signals) / sizeof (*signals); i++)
        loop_signal_add (g->loop, signals[i], on_signal, g);
    loop_signal_add (g->loop, SIGCHLD, on_child, g);
    worker_write (g); /* whoever finds us in it may send us signals */
    if (courier_start (g, err) < 0 || taker_start (g, err) < 0)
        return -1;
    adopt_all (g);
    adopt_orphans (g);
    g->tidy_timer = loop_timer_add (g->loop, TIDY_MS, true, on_tidy, g);
    taker_ask (g);
    if (g->ready_fd >= 0) {
        ssize_t ignored = write (g->ready_fd, "r", 1);

        (void)ignored; /* the parent may have been killed */
        close (g->ready_fd);
        g->ready_fd = -1;
    }
    return 0;
}

static void agent_end (struct agent *g)
{
    taker_stop (g);
    taker_join (g);
    courier_end (g);
    worker_close (g);
    queues_free (g);
}

/* The same process image anew; running tasks stay our children and are adopted from their journals. */
static void start_anew (struct agent *g)
{
    setenv ("STOKER_RESTART_WORKER", g->worker, 1);
    execv (g->o->program, g->o->argv);
    log_error ("agent", "start %s anew: %s", g->o->program, strerror (errno));
}

int agent_run (const struct agent_options *o, const struct conf *conf, struct client *client,
               struct error *err)
{
    cleanup_arena struct arena *a = arena_create ();
    struct agent g = { .arena = a,
                       .o = o,
                       .conf = conf,
                       .client = client,
                       .engine = &engine_local,
                       .started = clock_now (),
                       .lock_fd = -1,
                       .name_fd = -1,
                       .ready_fd = -1 };
    struct agent_options again = *o;
    const char *restarted = getenv ("STOKER_RESTART_WORKER");
    int r;

    pthread_mutex_init (&g.queues_lock, NULL);
    if (restarted) { /* keep the id (and with it the tasks), whatever slot is free now */
        again.worker = arena_strdup (a, restarted);
        again.foreground = true; /* the output goes where it went */
        again.detached = false;
        g.o = &again;
        unsetenv ("STOKER_RESTART_WORKER");
    }
    if (agent_open (&g, err) < 0 || agent_begin (&g, err) < 0) {
        agent_end (&g);
        loop_destroy (g.loop);
        return 1;
    }
    r = loop_run (g.loop, err);
    agent_end (&g);
    if (g.restart)
        start_anew (&g);
    if (g.exit_code == AGENT_STOPPED)
        agent_say (&g, "Worker '%s' has stopped", g.worker);
    loop_destroy (g.loop);
    return r < 0 ? 1 : g.exit_code;
}
