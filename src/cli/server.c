/* server.c - `stoker server`. In: options, and STOKER_BOOTSTRAP_KEY / STOKER_BOOTSTRAP_ROLE, which are read once and
 * taken out of the environment before anything else can see them. */
#include "server/server.h"
#include "base/file.h"
#include "base/home.h"
#include "base/json.h"
#include "base/log.h"
#include "base/opt.h"
#include "base/path.h"
#include "cli/verbs.h"
#include "conf/conf.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { SILENCE_MAX_S = 365 * 24 * 3600 };

struct opts {
    const char *data, *config, *log, *web_url, *api_url, *files_url;
    struct opt_words listen, host, origin;
    int64_t body_mb, threads, worker_lost_sec, task_silent_sec;
    bool print_login_link, sync_off;
};
static const char *const levels[] = { "debug", "info", "warn", "error", NULL };
static const struct opt_row rows[] = {
    { OPT_TEXT, "data", 'd', offsetof (struct opts, data), .arg = "DIR",
      .help =
          "data folder (default: $XDG_DATA_HOME/stoker or ~/.local/share/stoker; of root: /var/lib/stoker)" },
    { OPT_TEXT, "config", 'c', offsetof (struct opts, config), .arg = "FILE",
      .help = "settings (server { listen: [...] ... }); default: DIR/server.conf where it exists" },
    { OPT_EACH, "listen", 'l', offsetof (struct opts, listen), .arg = "ADDR:PORT[=web|api|files]",
      .help = "listen here; may be repeated (default: 127.0.0.1:8080=web, :8008=api, :8081=files)" },
    { OPT_EACH, "host", 0, offsetof (struct opts, host), .arg = "NAME",
      .help = "a further name browsers may use while all addresses are loopback" },
    { OPT_EACH, "cors-origin", 0, offsetof (struct opts, origin), .arg = "ORIGIN",
      .help = "a page of this origin (https://host:port) may call the API" },
    { OPT_TEXT, "web-url", 0, offsetof (struct opts, web_url), .arg = "URL",
      .help = "how people reach the pages" },
    { OPT_TEXT, "api-url", 0, offsetof (struct opts, api_url), .arg = "URL",
      .help = "how clients reach the API" },
    { OPT_TEXT, "files-url", 0, offsetof (struct opts, files_url), .arg = "URL",
      .help = "how clients reach the files" },
    { OPT_INT, "max-request-mb", 0, offsetof (struct opts, body_mb), .arg = "N", .least = 1, .most = 2047,
      .help = "largest API request, inflated (default: 64); files have no such limit" },
    { OPT_INT, "threads", 0, offsetof (struct opts, threads), .arg = "N", .least = 1, .most = 256,
      .help = "worker threads (default: 6)" },
    { OPT_TEXT, "log", 0, offsetof (struct opts, log), .arg = "LEVEL", .choices = levels,
      .help = "how much is told (default: info); debug has a line for each request" },
    { OPT_FLAG, "print-login-link", 0, offsetof (struct opts, print_login_link),
      .help = "print a link that logs the administrator's browser in, once" },
    { OPT_FLAG, "unsafe-no-sync", 0, offsetof (struct opts, sync_off) },
    { 0 },
};
static const struct opt_command command = {
    .name = "server",
    .about =
        "Run the server: the API that ClearML clients speak, the pages, and the files, from one data folder.",
    .rows = rows,
    .more =
        "At the first start an administrator's key is made and written to DIR/first-login, or taken from\n"
        "STOKER_BOOTSTRAP_KEY=ACCESS:SECRET (with STOKER_BOOTSTRAP_ROLE, default admin). SIGTERM and Ctrl-C "
        "finish\n"
        "what is in work, then end.\n",
};

/* The variable's value, its bytes in the environment overwritten, so that /proc/self/environ has it no more. */
static char *take_secret (struct arena *a, const char *name)
{
    char *value = getenv (name), *copy = arena_strdup (a, value);

    if (value)
        memset (value, 'x', strlen (value));
    unsetenv (name);
    return copy;
}

static void take_list (struct opt_words *words, const struct conf_list *list)
{
    if (!words->n && list->n)
        *words = (struct opt_words){ .v = list->v, .n = list->n };
}

static void take_text (const char **word, const char *text)
{
    if (!*word)
        *word = text;
}

/* A setting that nobody reads is worse than an error: people would rely on it. Most of all on one that says who may
 * come in. The file may hold sections of clients, too. */
static int refuse_unknown (const struct conf *conf, const char *path, struct error *err)
{
    static const char *const known[] = {
#define SERVER(kind, field, key, ...) key,
#include "conf/config.def"
    };
    static const char *const strange[] = { "auth", "secure", "apiserver", "services" };

    for (size_t i = 0; i < sizeof (strange) / sizeof (*strange); i++)
        if (conf_get (conf, strange[i]).p)
            return error_set (err, EINVAL,
                              "%s: this server reads nothing of '%s': who may come in is said by keys, which "
                              "`auth.create_credentials` and the page make; take the section out",
                              path, strange[i]);
    for (struct json_iter it = json_iter (conf_get (conf, "server")); json_next (&it);) {
        bool found = false;

        for (size_t i = 0; i < sizeof (known) / sizeof (*known); i++)
            found |= text_is (it.key, known[i] + strlen ("server."));
        if (!found)
            return error_set (err, EINVAL, "%s: there is no setting server.%.*s", path, (int)it.key.n,
                              it.key.p);
    }
    return 0;
}

/* Every client is told these. */
static int refuse_secret (const char *name, const char *url, struct error *err)
{
    const char *from = url ? strstr (url, "://") : NULL, *at = from ? strchr (from + 3, '@') : NULL;

    if (!at || strcspn (from + 3, "/?#") < (size_t)(at - from - 3))
        return 0;
    return error_set (err, EINVAL,
                      "server.%s: the address holds a user or a password, and every client is told it: leave "
                      "that out",
                      name);
}

/* What the command line left open may stand in a file; the user's clearml.conf, which is for clients, is not read. */
static int take_config (struct arena *a, struct opts *o, struct error *err)
{
    const char *path = o->config ? o->config : path_join (a, o->data, "server.conf");
    const struct conf *conf;

    if (!o->config && !file_exists (path))
        path = "/dev/null"; /* the defaults and the environment */
    if (conf_load (a, path, &conf, err) < 0 || refuse_unknown (conf, path, err) < 0)
        return -1;
    take_list (&o->listen, &conf->server.listen);
    take_list (&o->host, &conf->server.hosts);
    take_list (&o->origin, &conf->server.cors_origins);
    take_text (&o->web_url, conf->server.web_url);
    take_text (&o->api_url, conf->server.api_url);
    take_text (&o->files_url, conf->server.files_url);
    take_text (&o->log, conf->server.log);
    o->body_mb = o->body_mb ? o->body_mb : conf->server.max_request_mb;
    o->threads = o->threads ? o->threads : conf->server.threads;
    if (refuse_secret ("web_url", o->web_url, err) < 0 || refuse_secret ("api_url", o->api_url, err) < 0 ||
        refuse_secret ("files_url", o->files_url, err) < 0)
        return -1;
    o->worker_lost_sec = conf->server.worker_lost_sec;
    o->task_silent_sec = conf->server.task_silent_sec;
    if (o->worker_lost_sec < 0 || o->worker_lost_sec > SILENCE_MAX_S || o->task_silent_sec < 0 ||
        o->task_silent_sec > SILENCE_MAX_S)
        return error_set (err, EINVAL,
                          "%s: server.worker_lost_sec and server.task_silent_sec are between 0 and %d", path,
                          SILENCE_MAX_S);
    if (o->body_mb < 0 || o->body_mb > 2047 || o->threads < 0 || o->threads > 256)
        return error_set (err, EINVAL,
                          "%s: server.max_request_mb is at most 2047, server.threads at most 256", path);
    return 0;
}

static int take_log_level (const char *word, struct error *err)
{
    for (int i = 0; word && levels[i]; i++)
        if (!strcmp (levels[i], word)) {
            log_set_level ((enum log_level)i);
            return 0;
        }
    return word ? error_set (err, EINVAL, "server.log is %s: debug, info, warn or error", word) : 0;
}

int server_main (int argc, char **argv)
{
    cleanup_arena struct arena *a = arena_create ();
    struct opts o = { 0 };
    struct server_options so = { .bootstrap_key = take_secret (a, "STOKER_BOOTSTRAP_KEY"),
                                 .bootstrap_role = take_secret (a, "STOKER_BOOTSTRAP_ROLE") };
    struct error err = { 0 };
    enum opt_result r = opt_parse (&command, argc, argv, &o, a, &err);

    if (r != OPT_PARSED) {
        if (r == OPT_FAILED)
            fprintf (stderr, "stoker server: %s\n", err.text);
        return r == OPT_FAILED ? 2 : 0;
    }
    o.data = o.data ? o.data : home_data (a);
    if (take_config (a, &o, &err) < 0 || take_log_level (o.log, &err) < 0) {
        fprintf (stderr, "stoker server: %s\n", err.text);
        return 2;
    }
    so.data = o.data;
    so.listen = o.listen.v;
    so.listen_n = o.listen.n;
    so.hosts = o.host.v;
    so.hosts_n = o.host.n;
    so.origins = o.origin.v;
    so.origins_n = o.origin.n;
    so.web_url = o.web_url;
    so.api_url = o.api_url;
    so.files_url = o.files_url;
    so.body_max = o.body_mb << 20;
    so.threads = (int)o.threads;
    so.worker_lost_sec = o.worker_lost_sec;
    so.task_silent_sec = o.task_silent_sec;
    so.print_login_link = o.print_login_link;
    so.sync_off = o.sync_off;
    if (server_run (&so, &err) < 0) {
        fprintf (stderr, "stoker server: %s\n", err.text);
        return 1;
    }
    return 0;
}
