/* init.c - `stoker init` (and `stoker agent init`): writes the configuration file that clients and agents read.
 *
 * In: a server's address and a key with its secret, from flags, the environment, a pasted block of a settings page, or
 * questions on a terminal. Out: ~/clearml.conf (or the file the environment names), 0600, after one try to log in. A
 * secret is never taken from the command line, where every user of the machine could read it. */
#include "base/file.h"
#include "base/hocon.h"
#include "base/home.h"
#include "base/json.h"
#include "base/opt.h"
#include "base/path.h"
#include "cli/agent.h"
#include "cli/out.h"
#include "cli/sdkconf.h"
#include "client/client.h"
#include "conf/conf.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>

enum { PASTE_MAX = 64 << 10 };

struct opts {
    bool force, no_check;
    const char *server, *api, *web, *files, *key, *secret_file;
};
static const struct opt_row rows[] = {
    { OPT_TEXT, "server", 0, offsetof (struct opts, server), .arg = "URL",
      .help = "address of the server (its page or its API): the other addresses follow from it" },
    { OPT_TEXT, "api", 0, offsetof (struct opts, api), .arg = "URL", .help = "address of the API" },
    { OPT_TEXT, "web", 0, offsetof (struct opts, web), .arg = "URL", .help = "address of the page" },
    { OPT_TEXT, "files", 0, offsetof (struct opts, files), .arg = "URL",
      .help = "address of the file server" },
    { OPT_TEXT, "key", 0, offsetof (struct opts, key), .arg = "KEY",
      .help = "access key (or CLEARML_API_ACCESS_KEY)" },
    { OPT_TEXT, "secret-file", 0, offsetof (struct opts, secret_file), .arg = "FILE",
      .help = "file with the secret, - for standard input (or CLEARML_API_SECRET_KEY)" },
    { OPT_FLAG, "no-check", 0, offsetof (struct opts, no_check), .help = "do not try to log in" },
    { OPT_FLAG, "force", 'f', offsetof (struct opts, force), .help = "replace a file that is there" },
    { 0 },
};
static const struct opt_command command = {
    .name = "init",
    .about = "Write ~/clearml.conf: which server to use, and with which key.",
    .rows = rows,
    .more = "Without flags it asks. The block that a settings page shows for a new key can be pasted.\n",
};

struct answers {
    struct arena *a;
    const char *api, *web, *files, *key, *secret;
};

/* -- addresses -------------------------------------------------------------------------------------------------- */

/* http://app.x -> http://api.x, or http://h:8080 -> http://h:8008; NULL when the URL has no such part. */
static char *swap (struct arena *a, const char *url, const char *from, const char *to)
{
    const char *at = strstr (url, from);

    if (!at)
        return NULL;
    return arena_printf (a, "%.*s%s%s", (int)(at - url), url, to, at + strlen (from));
}

/* The three fronts of a server, in the two usual forms. */
static const char *const fronts[2][3] = { { "://app.", "://api.", "://files." },
                                          { ":8080", ":8008", ":8081" } };

/* Fill what is missing from one address. A server on one port answers everything by prefix. */
static void derive (struct answers *w, const char *server)
{
    size_t n = strlen (server);
    char *url = arena_strndup (w->a, server, n && server[n - 1] == '/' ? n - 1 : n);

    for (int form = 0; form < 2; form++) {
        for (int i = 0; i < 3; i++) {
            const char *from = fronts[form][i];
            const char *at = strstr (url, from);

            if (!at || (form == 1 && at[strlen (from)] && at[strlen (from)] != '/'))
                continue;
            w->web = w->web ? w->web : swap (w->a, url, from, fronts[form][0]);
            w->api = w->api ? w->api : swap (w->a, url, from, fronts[form][1]);
            w->files = w->files ? w->files : swap (w->a, url, from, fronts[form][2]);
            return;
        }
    }
    w->web = w->web ? w->web : url;
    w->api = w->api ? w->api : arena_printf (w->a, "%s/api", url);
    w->files = w->files ? w->files : arena_printf (w->a, "%s/files", url);
}

static int check_url (const char *what, const char *url, struct error *err)
{
    if (!strncmp (url, "http://", 7) || !strncmp (url, "https://", 8))
        return 0;
    return error_set (err, EINVAL, "%s '%s': an address begins with http:// or https://", what, url);
}

/* -- asking ----------------------------------------------------------------------------------------------------- */

static char *read_line (struct arena *a)
{
    char *line = NULL, *copy = NULL;
    size_t cap = 0;
    ssize_t n = getline (&line, &cap, stdin);

    if (n >= 0) {
        while (n && (line[n - 1] == '\n' || line[n - 1] == '\r'))
            line[--n] = 0;
        copy = arena_strdup (a, line);
        explicit_bzero (line, cap);
    }
    free (line);
    return copy;
}

static char *ask (struct answers *w, const char *question)
{
    printf ("%s: ", question);
    fflush (stdout);
    return read_line (w->a);
}

static char *ask_hidden (struct answers *w, const char *question)
{
    struct termios before, quiet;
    bool tty = !tcgetattr (0, &before);
    char *v;

    if (tty) {
        quiet = before;
        quiet.c_lflag &= ~(tcflag_t)ECHO;
        tcsetattr (0, TCSAFLUSH, &quiet);
    }
    v = ask (w, question);
    if (tty) {
        tcsetattr (0, TCSAFLUSH, &before);
        putchar ('\n');
    }
    return v;
}

static const char *member (struct answers *w, struct text doc, const char *section, const char *key)
{
    return json_string (w->a, json_get (section ? json_get (doc, section) : doc, key));
}

/* A block as settings pages show it: api { web_server: ... credentials { ... } } */
static int take_block (struct answers *w, const char *block, struct error *err)
{
    struct hocon *h = hocon_create (w->a);
    struct text doc, api;

    if (hocon_add_text (h, "the pasted block", text_of (block), err) < 0 || hocon_resolve (h, &doc, err) < 0)
        return -1;
    api = json_get (doc, "api");
    if (!api.p)
        api = doc;
    w->api = w->api ? w->api : member (w, api, NULL, "api_server");
    w->web = w->web ? w->web : member (w, api, NULL, "web_server");
    w->files = w->files ? w->files : member (w, api, NULL, "files_server");
    w->key = w->key ? w->key : member (w, api, "credentials", "access_key");
    w->secret = w->secret ? w->secret : member (w, api, "credentials", "secret_key");
    return 0;
}

static int count (const char *s, char c)
{
    int n = 0;

    for (; *s; s++)
        n += *s == c;
    return n;
}

/* The first answer: an address, or a block over several lines. */
static int ask_server (struct answers *w, struct error *err)
{
    struct str block = { .arena = w->a };
    char *line = ask (w, "Address of the server, or the block of its settings page");
    int open;

    if (line && (strchr (line, '{') || !strncmp (line, "api", 3))) {
        for (open = 0; line && block.n < PASTE_MAX; line = read_line (w->a)) {
            str_addf (&block, "%s\n", line);
            open += count (line, '{') - count (line, '}');
            if ((open <= 0 && strchr (line, '}')) || !*line)
                break;
        }
        return take_block (w, block.p, err);
    }
    if (!line || !*line)
        return error_set (err, EINVAL, "no address was given");
    if (check_url ("the server", line, err) < 0)
        return -1;
    derive (w, line);
    return 0;
}

static int ask_missing (struct answers *w, struct error *err)
{
    if (!isatty (0) && (!w->api || !w->key || !w->secret))
        return error_set (err, EINVAL,
                          "%s is missing; without a terminal give --server, --key and --secret-file",
                          !w->api   ? "the server's address"
                          : !w->key ? "the access key"
                                    : "the secret");
    if (!w->api && ask_server (w, err) < 0)
        return -1;
    if (!w->key)
        w->key = ask (w, "Access key");
    if (!w->secret)
        w->secret = ask_hidden (w, "Secret (not shown)");
    if (!w->api || !w->key || !*w->key || !w->secret || !*w->secret)
        return error_set (err, EINVAL, "the server's address, the access key and the secret are all needed");
    if (!w->web || !w->files)
        derive (w, w->api);
    return 0;
}

/* -- the file --------------------------------------------------------------------------------------------------- */

static int refuse_existing (struct arena *a, const char *path, struct error *err)
{
    const char *old = path_join (a, home_folder (a), "trains.conf");
    const char *both[] = { path, old };

    for (int i = 0; i < 2; i++)
        if (file_size (both[i]) > 0)
            return error_set (err, EEXIST, "%s is there already: edit it, or replace it with --force",
                              both[i]);
    return 0;
}

static void put (struct str *s, const char *indent, const char *key, const char *value)
{
    str_addf (s, "%s%s: ", indent, key);
    json_put_string (s, value);
    str_putc (s, '\n');
}

static int write_file (const struct answers *w, const char *path, struct error *err)
{
    cleanup_str struct str s = { 0 };
    int r;

    str_puts (
        &s, "# Configuration of ClearML clients and of stoker's agent, written by `stoker init`.\n\napi {\n");
    put (&s, "    ", "web_server", w->web);
    put (&s, "    ", "api_server", w->api);
    put (&s, "    ", "files_server", w->files);
    str_puts (&s, "    credentials {\n");
    put (&s, "        ", "access_key", w->key);
    put (&s, "        ", "secret_key", w->secret);
    str_puts (&s, "    }\n}\n\nagent {\n    # git_user: \"\"\n    # git_pass: \"\"\n    package_manager {\n"
                  "        # extra_index_url: []\n    }\n}\n" SDK_SETTINGS);
    r = file_write (path, str_text (&s), 0600, err);
    explicit_bzero (s.p, s.n);
    return r;
}

/* One login with what was given, before anything is written. */
static int try_login (const struct answers *w, struct error *err)
{
    struct conf conf = { .api = { .api_server = w->api,
                                  .access_key = w->key,
                                  .secret_key = w->secret,
                                  .verify_certificate = "true",
                                  .default_method = "post" } };
    struct client *c;
    int r;

    if (client_create (&conf, &c, err) < 0)
        return -1;
    r = client_login (c, err);
    if (!r)
        client_logout (c);
    client_destroy (c);
    return r;
}

static int read_secret (struct answers *w, const char *file, struct error *err)
{
    struct str s = { .arena = w->a };

    if (!strcmp (file, "-")) {
        w->secret = read_line (w->a);
        return w->secret ? 0 : error_set (err, EINVAL, "--secret-file -: nothing came");
    }
    if (file_read (file, 4096, &s, err) < 0)
        return -1;
    while (s.n && strchr (" \r\n\t", s.p[s.n - 1]))
        s.p[--s.n] = 0;
    w->secret = s.p;
    return 0;
}

static int fill (struct answers *w, const struct opts *o, struct error *err)
{
    const char *given[] = { o->server, o->api, o->web, o->files };

    for (size_t i = 0; i < 4; i++)
        if (given[i] && check_url ("the address", given[i], err) < 0)
            return -1;
    w->api = o->api;
    w->web = o->web;
    w->files = o->files;
    if (o->server)
        derive (w, o->server);
    w->key = o->key ? o->key : getenv ("CLEARML_API_ACCESS_KEY");
    w->secret = getenv ("CLEARML_API_SECRET_KEY");
    if (o->secret_file && read_secret (w, o->secret_file, err) < 0)
        return -1;
    return ask_missing (w, err);
}

int init_main (int argc, char **argv)
{
    cleanup_arena struct arena *a = arena_create ();
    struct answers w = { .a = a };
    struct opts o = { 0 };
    const char *path = conf_path (a);
    struct error err = { 0 };
    int begun = out_parse (&command, argc, argv, &o, a);

    if (begun != VERB_GO)
        return begun;
    if (!o.force && refuse_existing (a, path, &err) < 0)
        return out_failed (command.name, &err);
    if (fill (&w, &o, &err) < 0)
        return out_failed (command.name, &err);
    if (!o.no_check && try_login (&w, &err) < 0) {
        error_wrap (&err, "nothing was written");
        return out_failed (command.name, &err);
    }
    if (write_file (&w, path, &err) < 0)
        return out_failed (command.name, &err);
    printf ("%s was written: server %s%s\n", path, w.api, o.no_check ? "" : ", login works");
    return 0;
}
