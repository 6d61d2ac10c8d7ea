/* worker.c - who we are on this machine: an id, a folder STATE/workers/<id>, and a lock in it.
 *
 * The lock is a flock on STATE/workers/<id>/lock, held for as long as the process lives: a crash frees it, a pid that
 * is given out again cannot hold it. STATE/workers/<id>/daemon (JSON) tells `agent status` and `agent stop` who holds
 * it, by pid, boot and start time. A name among the machine's abstract sockets keeps users of one server apart. Slots of ids without GPUs ("host:0", "host:cpu:1") are the smallest free number. */
#include "agent/room.h"
#include "base/file.h"
#include "base/home.h"
#include "base/json.h"
#include "base/log.h"
#include "base/path.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

enum { SLOTS_MAX = 10000, FILE_MAX = 64 << 10 };

/* Ids may hold anything; a folder's name must not: bytes other than letters, digits and -_.,: become %XX. */
char *worker_folder (struct arena *a, const char *state, const char *worker)
{
    struct str s = { .arena = a };

    str_addf (&s, "%s/workers/", state);
    for (const char *p = worker; *p; p++) {
        bool first_dot = *p == '.' && p == worker;

        if ((isalnum ((unsigned char)*p) || strchr ("-_.,:", *p)) && !first_dot)
            str_putc (&s, *p);
        else
            str_addf (&s, "%%%02x", (unsigned char)*p);
    }
    return s.p;
}

char *agent_worker_prefix (struct arena *a, const struct conf *conf, const char *gpus, bool cpu_only,
                           bool *ret_whole)
{
    char host[256] = "worker";
    const char *name = conf->agent.worker_name;
    struct str s = { .arena = a };

    *ret_whole = true;
    if (conf->agent.worker_id && *conf->agent.worker_id)
        return arena_strdup (a, conf->agent.worker_id);
    if (!name || !*name) {
        gethostname (host, sizeof (host) - 1);
        name = host;
    }
    str_puts (&s, name);
    *ret_whole = false;
    if (cpu_only || (gpus && !strcmp (gpus, "none"))) {
        str_puts (&s, ":cpu");
    } else if (gpus && *gpus) {
        str_puts (&s, ":gpu");
        for (const char *p = gpus; *p; p++)
            if (*p != ' ')
                str_putc (&s, *p == ':' ? '.' : *p); /* a MIG device 0:1 is told as 0.1 */
        *ret_whole = true;
    }
    return s.p;
}

/* 1: ours now; 0: another daemon has it. */
static int lock_folder (struct agent *g, const char *folder, struct error *err)
{
    char *path = path_join (g->arena, folder, "lock");
    cleanup_close int fd = -1;

    if (folder_make (folder, 0700, err) < 0)
        return -1;
    fd = open (path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (fd < 0)
        return error_errno (err, "open %s", path);
    if (flock (fd, LOCK_EX | LOCK_NB) < 0)
        return errno == EWOULDBLOCK ? 0 : error_errno (err, "lock %s", path);
    g->lock_fd = TAKE_FD (fd);
    return 1;
}

static int take_id (struct agent *g, const char *worker, struct error *err)
{
    char *folder = worker_folder (g->arena, g->state, worker);
    int r = lock_folder (g, folder, err);

    if (r > 0) {
        g->worker = worker;
        g->folder = folder;
    }
    return r;
}

/* Two users of a machine have a STATE each, but for a server they are one worker if they choose the same id: so an id
 * that was chosen by us is also a name in the machine's abstract socket names, which no crash can leave behind.
 * 1: ours now; 0: another daemon has it. */
static int take_name (struct agent *g, const char *worker)
{
    struct sockaddr_un at = { .sun_family = AF_UNIX };
    int n = snprintf (at.sun_path + 1, sizeof (at.sun_path) - 1, "stoker-agent/%s/%s", worker,
                      client_server (g->client));
    socklen_t len = (socklen_t)(offsetof (struct sockaddr_un, sun_path) + 1 + (size_t)n);

    if ((size_t)n >= sizeof (at.sun_path) - 1)
        return 1; /* too long to be a name */
    g->name_fd = socket (AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (g->name_fd < 0 || bind (g->name_fd, (struct sockaddr *)&at, len) == 0 || errno != EADDRINUSE)
        return 1;
    close (g->name_fd);
    g->name_fd = -1;
    return 0;
}

static int take_slot (struct agent *g, const char *prefix, struct error *err)
{
    for (int i = 0; i < SLOTS_MAX; i++) {
        int r = take_id (g, arena_printf (g->arena, "%s:%d", prefix, i), err);

        if (r > 0 && !take_name (g, g->worker)) {
            close (g->lock_fd);
            g->lock_fd = -1;
            continue;
        }
        if (r)
            return r < 0 ? -1 : 0;
    }
    return error_set (err, EBUSY, "%d daemons run here already", SLOTS_MAX);
}

int worker_open (struct agent *g, struct error *err)
{
    bool whole;
    const char *prefix = agent_worker_prefix (g->arena, g->conf, g->o->gpus, g->o->cpu_only, &whole);
    int r;

    g->state = home_state (g->arena);
    g->runs_folder = path_join (g->arena, g->state, "runs");
    if (folder_make (g->runs_folder, 0700, err) < 0)
        return -1;
    if (g->o->worker)
        prefix = g->o->worker, whole = true;
    if (!whole)
        return take_slot (g, prefix, err);
    r = take_id (g, prefix, err);
    if (r == 0)
        return error_set (
            err, EBUSY,
            "a daemon with worker id '%s' runs here already: stop it (stoker agent stop %s), or give "
            "this one another id (CLEARML_WORKER_ID, agent.worker_id)",
            prefix, prefix);
    if (r > 0 && g->o->worker)
        take_name (g, prefix); /* chosen by us, before we started anew */
    return r < 0 ? -1 : 0;
}

static const char *const mode_names[] = { "running", "draining", "stopping" };

void worker_write (struct agent *g)
{
    cleanup_arena struct arena *a = arena_create ();
    const struct queues *queues = queues_get (g);
    struct str s = { .arena = a };
    struct process_identity me;
    struct error err;

    if (process_identify (getpid (), &me) <= 0) {
        log_warn ("agent", "the worker's file is not written: /proc cannot be read");
        return;
    }
    str_putc (&s, '{');
    json_put_key (&s, "worker");
    json_put_string (&s, g->worker);
    json_put_key (&s, "server");
    json_put_string (&s, client_server (g->client));
    json_put_key (&s, "queues");
    str_putc (&s, '[');
    for (size_t i = 0; i < queues->n; i++) {
        json_put_comma (&s);
        json_put_string (&s, queues->v[i].name);
    }
    str_puts (&s, "]");
    json_put_key (&s, "mode");
    json_put_string (&s, mode_names[g->mode]);
    json_put_key (&s, "boot");
    json_put_string (&s, me.boot);
    str_addf (&s, ",\"pid\":%d,\"ticks\":%llu,\"slots\":%d,\"started\":%lld}\n", (int)me.pid,
              (unsigned long long)me.ticks, g->o->slots, (long long)g->started);
    if (file_write (path_join (a, g->folder, "daemon"), str_text (&s), 0600, &err) < 0)
        log_warn ("agent", "%s", err.text);
}

void worker_close (struct agent *g)
{
    struct error err;

    if (g->lock_fd < 0)
        return;
    if (file_remove (path_join (g->arena, g->folder, "daemon"), &err) < 0)
        log_warn ("agent", "%s", err.text);
    close (g->lock_fd);
    g->lock_fd = -1;
    if (g->name_fd >= 0)
        close (g->name_fd);
    g->name_fd = -1;
}

/* -- what others ask -------------------------------------------------------------------------------------------- */

static int by_name (const void *a, const void *b)
{
    return strcmp (*(char *const *)a, *(char *const *)b);
}

/* Names in a folder, sorted; a missing folder has none. */
static int names_in (struct arena *a, const char *folder, char ***ret, size_t *ret_n, struct error *err)
{
    DIR *dir = opendir (folder);
    char **v = NULL;
    size_t n = 0, cap = 0;

    if (!dir && errno != ENOENT)
        return error_errno (err, "open %s", folder);
    for (struct dirent *e = dir ? readdir (dir) : NULL; e; e = readdir (dir)) {
        if (e->d_name[0] == '.')
            continue;
        if (n == cap) {
            char **wider = arena_array (a, char *, cap = cap ? cap * 2 : 16);

            if (n)
                memcpy (wider, v, n * sizeof (*v));
            v = wider;
        }
        v[n++] = arena_strdup (a, e->d_name);
    }
    if (dir)
        closedir (dir);
    if (n)
        qsort (v, n, sizeof (*v), by_name);
    *ret = v;
    *ret_n = n;
    return 0;
}

static char *join_names (struct arena *a, struct text list)
{
    struct str s = { .arena = a };

    for (struct json_iter it = json_iter (list); json_next (&it);)
        str_addf (&s, "%s%s", s.n ? ", " : "", json_string (a, it.value));
    return s.p ? s.p : arena_strdup (a, "");
}

static bool read_daemon (struct arena *a, const char *path, struct agent_daemon *ret)
{
    struct str body = { .arena = a };
    struct text doc;
    struct error err;
    char *boot;

    if (file_read (path, FILE_MAX, &body, &err) < 0 || json_check (str_text (&body), &doc, &err) < 0)
        return false;
    *ret = (struct agent_daemon){ .worker = json_string (a, json_get (doc, "worker")),
                                  .server = json_string (a, json_get (doc, "server")),
                                  .mode = json_string (a, json_get (doc, "mode")),
                                  .queues = join_names (a, json_get (doc, "queues")),
                                  .slots = (int)json_int (json_get (doc, "slots"), 1),
                                  .started = json_int (json_get (doc, "started"), 0) };
    ret->process.pid = (pid_t)json_int (json_get (doc, "pid"), 0);
    ret->process.ticks = (uint64_t)json_int (json_get (doc, "ticks"), 0);
    boot = json_string (a, json_get (doc, "boot"));
    if (boot && strlen (boot) < sizeof (ret->process.boot))
        strcpy (ret->process.boot, boot);
    ret->alive = process_alive (&ret->process) != 0;
    return ret->worker && ret->mode;
}

int agent_daemons (struct arena *a, struct agent_daemon **ret, size_t *ret_n, struct error *err)
{
    const char *folder = path_join (a, home_state (a), "workers");
    size_t n, found = 0;
    char **names;

    if (names_in (a, folder, &names, &n, err) < 0)
        return -1;
    struct agent_daemon *list = arena_array (a, struct agent_daemon, n + 1);
    for (size_t i = 0; i < n; i++)
        if (read_daemon (a, path_join (a, path_join (a, folder, names[i]), "daemon"), &list[found]))
            found++;
    *ret = list;
    *ret_n = found;
    return 0;
}

int agent_tasks (struct arena *a, struct agent_task **ret, size_t *ret_n, struct error *err)
{
    const char *folder = path_join (a, home_state (a), "runs");
    size_t n, found = 0;
    char **names;

    if (names_in (a, folder, &names, &n, err) < 0)
        return -1;
    struct agent_task *list = arena_array (a, struct agent_task, n + 1);
    for (size_t i = 0; i < n; i++) {
        char *run = path_join (a, folder, names[i]);
        struct journal_entry e;
        struct error why;

        if (journal_read (a, path_join (a, run, "journal"), &e, &why) < 0 || !e.task)
            continue;
        list[found++] = (struct agent_task){ .task = e.task,
                                             .worker = e.worker ? e.worker : "",
                                             .stage = e.stage,
                                             .token = e.token,
                                             .server = e.server ? e.server : "",
                                             .folder = run,
                                             .alive = process_alive (&e.process) != 0,
                                             .t = e.t };
    }
    *ret = list;
    *ret_n = found;
    return 0;
}
