/* server.c - builds the parts of the server, runs the loop, takes them down in reverse. See server.h.
 *
 * Stopping (SIGTERM, SIGINT): no new connections; waiting calls are told that their time is over; requests in work are
 * finished; then the pool and the store are closed. A second signal, or 30 seconds, ends the patience with clients that
 * do not read their answers.
 */
#include "server/server.h"

#include "base/clock.h"
#include "base/file.h"
#include "base/log.h"
#include "base/path.h"
#include "server/background.h"
#include "server/jobs.h"
#include "server/room.h"
#include "services/auth/auth.h"
#include "services/queues/queues.h"

#include <errno.h>
#include <malloc.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

enum { HURRY_MS = 30000, READERS = 4, THREADS = 6, FILES_THREADS = 3, DESCRIPTORS = 65536 };

static const char *const front_names[FRONTS] = { "web", "api", "files" };

/* -- listening */
/* "ADDR:PORT=front" -> the two parts; without a front the well-known ports mean theirs, all others the pages. */
static int split_front (struct server *s, const char *spec, const char **ret_address, enum front *ret,
                        struct error *err)
{
    const char *eq = strrchr (spec, '=');
    size_t n = strlen (spec);

    *ret_address = spec;
    if (!eq) {
        *ret = n > 5 && !strcmp (spec + n - 5, ":8008")   ? FRONT_API
               : n > 5 && !strcmp (spec + n - 5, ":8081") ? FRONT_FILES
                                                          : FRONT_WEB;
        return 0;
    }
    *ret_address = arena_strndup (s->arena, spec, (size_t)(eq - spec));
    for (int i = 0; i < FRONTS; i++)
        if (!strcmp (eq + 1, front_names[i])) {
            *ret = (enum front)i;
            return 0;
        }
    return error_set (err, EINVAL, "--listen %s: the front must be web, api or files", spec);
}

static int listen_one (struct server *s, const char *spec, struct error *err)
{
    struct listener *l = &s->listeners[s->listeners_n];
    const char *colon;

    if (s->listeners_n == LISTENERS_MAX)
        return error_set (err, EINVAL, "more than %d addresses to listen on", LISTENERS_MAX);
    if (split_front (s, spec, &l->address, &l->front, err) < 0 ||
        http_server_listen (s->http, l->address, s->listeners_n, &l->port, &l->loopback, err) < 0)
        return -1;
    colon = strrchr (l->address, ':');
    l->address = colon ? arena_strndup (s->arena, l->address, (size_t)(colon - l->address)) : "0.0.0.0";
    s->all_loopback = s->all_loopback && l->loopback;
    s->listeners_n++;
    return 0;
}

static int listen_all (struct server *s, struct error *err)
{
    static const char *const usual[] = { "127.0.0.1:8080=web", "127.0.0.1:8008=api", "127.0.0.1:8081=files" };
    const char *const *list = s->options->listen_n ? s->options->listen : usual;
    size_t n = s->options->listen_n ? s->options->listen_n : 3;

    s->all_loopback = true;
    for (size_t i = 0; i < n; i++)
        if (listen_one (s, list[i], err) < 0)
            return -1;
    return 0;
}

/* The address of a front as clients see it: its own port, else any port with the part's prefix. */
static const char *url_of (struct server *s, enum front front)
{
    static const char *const prefix[FRONTS] = { "", "/api", "/files" };
    const struct listener *l = &s->listeners[0];
    const char *path = prefix[front], *host;

    for (int i = 0; i < s->listeners_n; i++)
        if (s->listeners[i].front == front) {
            l = &s->listeners[i];
            path = "";
            break;
        }
    host = l->address;
    if (!strcmp (host, "0.0.0.0") || !strcmp (host, "[::]") || !*host || !strcmp (host, "*"))
        host = "localhost";
    return arena_printf (s->arena, "http://%s:%d%s", host, l->port, path);
}

/* An address as told, without slashes at its end: paths are put behind it. */
static const char *told_url (struct server *s, const char *told, enum front front)
{
    size_t n = told ? strlen (told) : 0;

    while (n && told[n - 1] == '/')
        n--;
    return n ? arena_strndup (s->arena, told, n) : url_of (s, front);
}

static int port_of (struct server *s, enum front front)
{
    for (int i = 0; i < s->listeners_n; i++)
        if (s->listeners[i].front == front)
            return s->listeners[i].port;
    return 0;
}

/* -- the first start */
struct first {
    struct server *server;
    struct auth_start_options options;
    struct auth_start *start;
};

static int run_start (struct db *db, void *arg, struct error *err)
{
    struct first *f = arg;

    *f->start = (struct auth_start){ 0 };
    if (auth_start (db, f->server->arena, &f->options, f->start, err) < 0)
        return -1;
    return queue_create_first (db, f->start->company, f->options.now, err);
}

static int run_load (struct db *db, void *arg, struct error *err)
{
    return auth_load (arg, db, err);
}

/* The first administrator's key goes into a file that only its owner can read; to a terminal also as it is. */
static int tell_first_login (struct server *s, const struct auth_start *start, struct error *err)
{
    const char *path = path_join (s->arena, s->options->data, "first-login");
    char *text;

    if (!start->first_access)
        return 0;
    text =
        arena_printf (s->arena, "access_key: %s\nsecret_key: %s\n", start->first_access, start->first_secret);
    if (file_write (path, text_of (text), 0600, err) < 0)
        return error_wrap (err, "write the first login");
    printf ("first start: the administrator's key is in %s\n", path);
    if (isatty (STDOUT_FILENO))
        printf ("%s", text);
    return 0;
}

static int prepare_auth (struct server *s, struct auth_start *start, struct error *err)
{
    struct first f = { .server = s,
                       .options = { .bootstrap_key = s->options->bootstrap_key,
                                    .bootstrap_role = s->options->bootstrap_role,
                                    .now = clock_now () },
                       .start = start };

    if (store_write_wait (s->store, run_start, &f, err) < 0)
        return error_wrap (err, "prepare the data folder %s", s->options->data);
    s->auth = auth_create (s->volatiles);
    return store_read (s->store, run_load, s->auth, err);
}

static void prepare_facts (struct server *s, struct auth_start *start)
{
    const struct server_options *o = s->options;

    s->facts = (struct server_facts){
        .version = "2.3.0",
        .build = "stoker",
        .commit = "",
        .api_version = "2.34",
        .server_uuid = start->server_uuid,
        .company = start->company,
        .company_name = start->company_name,
        .token_secret = arena_memdup (s->arena, start->token_secret, sizeof (start->token_secret)),
        .token_secret_n = sizeof (start->token_secret),
        .volatiles = s->volatiles,
        .web_url = told_url (s, o->web_url, FRONT_WEB),
        .api_url = told_url (s, o->api_url, FRONT_API),
        .files_url = told_url (s, o->files_url, FRONT_FILES),
        .started = clock_now (),
    };
}

/* -- building and tearing down */
static int server_open (struct server *s, struct auth_start *start, struct error *err)
{
    const struct server_options *o = s->options;
    struct http_handlers handlers = {
        .on_request = front_request, .on_refused = front_refused, .on_ended = front_ended, .arg = s
    };
    int threads = o->threads > 0 ? o->threads : THREADS;
    struct store_options so = { .folder = o->data, .readers = READERS, .sync_off = o->sync_off };

    s->body_max = o->body_max > 0 ? (size_t)o->body_max : API_BODY_MAX;
    s->arena = arena_create ();
    if (http_server_create (s->loop, NULL, &handlers, &s->http, err) < 0 || listen_all (s, err) < 0)
        return -1;
    s->topics = topics_create ();
    s->volatiles = volatile_create ();
    if (store_open (&so, &s->store, err) < 0 || prepare_auth (s, start, err) < 0)
        return -1;
    prepare_facts (s, start);
    if (files_open (s, err) < 0 || tell_first_login (s, start, err) < 0)
        return -1;
    s->waits = waits_create (s);
    background_add (s);
    s->jobs = jobs_create (s);
    if (pool_create (FILES_THREADS, &s->files_pool, err) < 0 || pool_create (threads, &s->pool, err) < 0)
        return -1;
    files_sweep (s);
    return 0;
}

static void server_close (struct server *s)
{
    for (int i = 0; i < 2; i++)
        loop_signal_remove (s->signals[i]);
    loop_timer_remove (s->hurry);
    pool_destroy (s->pool);
    pool_destroy (s->files_pool);
    jobs_destroy (s->jobs);
    files_close (s);
    background_finish (s);
    store_close (s->store);
    queues_background_destroy (s->queues_background);
    arena_destroy (s->silence_arena);
    waits_destroy (s->waits);
    http_server_destroy (s->http);
    auth_destroy (s->auth);
    volatile_destroy (s->volatiles);
    topics_destroy (s->topics);
    loop_destroy (s->loop);
    arena_destroy (s->arena);
}

/* -- stopping */
static void stop_now (void *arg)
{
    loop_stop (((struct server *)arg)->loop);
}

static void on_drained (void *arg)
{
    ((struct server *)arg)->drained = true;
    stop_now (arg);
}

static void on_signal (int signum, void *arg)
{
    struct server *s = arg;

    if (s->stopping) {
        log_warn ("server", "second signal %d: stopping at once", signum);
        stop_now (s);
        return;
    }
    log_info ("server", "signal %d: finishing %zu connections", signum, http_server_connections (s->http));
    s->stopping = true;
    s->hurry = loop_timer_add (s->loop, HURRY_MS, false, stop_now, s);
    waits_end_all (s->waits);
    http_server_drain (s->http, on_drained, s);
}

static void print_addresses (struct server *s, const struct auth_start *start)
{
    const struct server_facts *f = &s->facts;

    printf ("web   %s\napi   %s\nfiles %s\n", f->web_url, f->api_url, f->files_url);
    if (s->options->print_login_link && start->admin)
        printf ("login %s/login?code=%s\n", f->web_url,
                auth_code_create (s->arena, s->volatiles, start->company, start->admin));
    fflush (stdout);
}

/* A connection is a descriptor: as many as the system lets us have. */
static void raise_limit (void)
{
    struct rlimit r;

    if (getrlimit (RLIMIT_NOFILE, &r) < 0 || r.rlim_cur >= DESCRIPTORS)
        return;
    r.rlim_cur = r.rlim_max < DESCRIPTORS ? r.rlim_max : DESCRIPTORS;
    setrlimit (RLIMIT_NOFILE, &r);
}

int server_run (const struct server_options *o, struct error *err)
{
    struct server s = { .options = o };
    struct auth_start start = { 0 };
    int rc;

    raise_limit ();
    mallopt (M_ARENA_MAX, 2); /* many threads, few heaps: memory that one freed serves the others */
    rc = loop_create (&s.loop, err);
    if (rc == 0) { /* before it listens: a signal that comes early is heard once the loop runs */
        s.signals[0] = loop_signal_add (s.loop, SIGTERM, on_signal, &s);
        s.signals[1] = loop_signal_add (s.loop, SIGINT, on_signal, &s);
        rc = server_open (&s, &start, err);
    }
    if (rc == 0) {
        print_addresses (&s, &start);
        if (o->ready)
            o->ready (o->ready_arg, port_of (&s, FRONT_WEB), port_of (&s, FRONT_API),
                      port_of (&s, FRONT_FILES));
        log_info ("server", "ready data=%s", o->data);
        rc = loop_run (s.loop, err);
        if (rc == 0 &&
            !s.drained) { /* what is stored is stored; threads may still be inside requests: just go */
            log_warn ("server", "stopped with requests in work");
            fflush (stdout);
            _exit (0);
        }
    }
    server_close (&s);
    if (rc == 0)
        log_info ("server", "stopped");
    return rc;
}
