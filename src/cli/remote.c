/* remote.c - see remote.h. The client itself (login, retry, renewal) is client/client.h. */
#include "cli/remote.h"

#include "base/clock.h"
#include "base/id.h"
#include "base/opt.h"
#include "cli/out.h"
#include "client/client.h"
#include "conf/conf.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

enum { PREFIX_LEAST = 4 }; /* characters of the beginning of an id */
enum { VERSION = 2034 };   /* asked for in every call */

/* What kinds of things are found by: the call, the list in its answer, what people call one. */
struct kind {
    const char *call, *list, *noun, *more; /* more: what else can be done when there is none */
};
static const struct kind task_kind = { "tasks.get_all_ex", "tasks", "task", "" };
static const struct kind queue_kind = { "queues.get_all_ex", "queues", "queue",
                                        ", 'stoker queue create' makes one" };
static const struct kind project_kind = { "projects.get_all_ex", "projects", "project", "" };

char *remote_get (struct remote *r, struct text doc, const char *path)
{
    const char *part = path;
    struct text v = doc;

    for (const char *dot; (dot = strchr (part, '.')); part = dot + 1)
        v = json_get (v, arena_strndup (r->arena, part, (size_t)(dot - part)));
    v = json_get (v, part);
    switch (json_kind (v)) {
        case JSON_ABSENT:
        case JSON_NULL:
            return NULL;
        case JSON_STRING:
            return json_string (r->arena, v);
        default:
            return arena_text (r->arena, v);
    }
}

int64_t remote_get_time (struct remote *r, struct text doc, const char *path)
{
    char *s = remote_get (r, doc, path);
    int64_t ms;

    return s && clock_parse (s, strlen (s), &ms) == 0 ? ms : 0;
}

/* As Python's re.escape: a backslash before every ASCII byte that is no word character. */
static void add_escaped (struct str *s, const char *word)
{
    for (; *word; word++) {
        bool plain =
            (*word >= '0' && *word <= '9') || ((*word | 32) >= 'a' && (*word | 32) <= 'z') || *word == '_';
        if (!plain && (unsigned char)*word < 0x80)
            str_putc (s, '\\');
        str_putc (s, *word);
    }
}

static int ask (struct remote *r, const struct kind *k, const char *filter, struct text *ret,
                struct error *err)
{
    static const char format[] =
        "{%s,\"only_fields\":[\"id\",\"name\"],\"page\":0,\"page_size\":8,\"search_hidden\":true}";
    struct text data;

    if (remote_call (r, k->call, arena_printf (r->arena, format, filter), &data, err) < 0)
        return -1;
    *ret = json_get (data, k->list);
    return 0;
}

/* What `word` may mean: an id, else the beginning of one, else a name. */
static int ask_for (struct remote *r, const struct kind *k, const char *word, struct text *ret,
                    struct error *err)
{
    size_t n = strlen (word);
    struct str pattern = { .arena = r->arena }, filter = { .arena = r->arena };

    if (id_valid (word))
        return ask (r, k, arena_printf (r->arena, "\"id\":[\"%s\"]", word), ret, err);
    if (n >= PREFIX_LEAST && n < 32 && strspn (word, "0123456789abcdef") == n) {
        str_addf (&filter, "\"_any_\":{\"fields\":[\"id\"],\"pattern\":\"^%s\"}", word);
        if (ask (r, k, filter.p, ret, err) < 0)
            return -1;
        if (json_count (*ret))
            return 0;
        str_reset (&filter);
    }
    str_putc (&pattern, '^');
    add_escaped (&pattern, word);
    str_putc (&pattern, '$');
    str_puts (&filter, "\"name\":");
    str_add_json (&filter, pattern.p, pattern.n);
    return ask (r, k, filter.p, ret, err);
}

/* Meant as the beginning of an id, and too short for one? */
static bool is_short (const char *word)
{
    size_t n = strlen (word);

    return n && n < PREFIX_LEAST && strspn (word, "0123456789abcdef") == n;
}

static int find (struct remote *r, const struct kind *k, const char *word, char **ret_id, struct error *err)
{
    struct text found;
    struct json_iter it;
    size_t n;

    if (ask_for (r, k, word, &found, err) < 0)
        return -1;
    n = json_count (found);
    it = json_iter (found);
    if (n == 1 && json_next (&it)) {
        *ret_id = json_string (r->arena, json_get (it.value, "id"));
        return *ret_id ? 0 : error_set (err, EPROTO, "the server answered a %s without an id", k->noun);
    }
    if (n == 0)
        return error_set (err, ENOENT, "no %s '%s'; 'stoker %s ls' lists them%s%s", k->noun, word, k->noun,
                          k->more,
                          is_short (word) ? "; the beginning of an id has 4 characters or more" : "");
    error_set (err, EINVAL, "'%s' means %s%d %ss; say which by id:", word, n > 7 ? "more than " : "",
               n > 7 ? 7 : (int)n, k->noun);
    while (json_next (&it)) {
        size_t used = strlen (err->text);
        snprintf (err->text + used, sizeof (err->text) - used, "\n  %s  %s", remote_get (r, it.value, "id"),
                  remote_get (r, it.value, "name"));
    }
    return -1;
}

int remote_find_task (struct remote *r, const char *word, char **ret_id, struct error *err)
{
    return find (r, &task_kind, word, ret_id, err);
}

int remote_find_queue (struct remote *r, const char *word, char **ret_id, struct error *err)
{
    return find (r, &queue_kind, word, ret_id, err);
}

int remote_find_project (struct remote *r, const char *word, char **ret_id, struct error *err)
{
    return find (r, &project_kind, word, ret_id, err);
}

int remote_check_project_name (const char *name, struct error *err)
{
    if (strlen (name) >= PROJECT_LEAST)
        return 0;
    return error_set (err, EINVAL, "project '%s': a project's name has %d characters or more", name,
                      PROJECT_LEAST);
}

int remote_begin (const struct opt_command *command, int argc, char **argv, void *into, struct arena *a,
                  struct remote *ret)
{
    struct error err = { 0 };
    int begun = out_parse (command, argc, argv, into, a);

    if (begun != VERB_GO)
        return begun;
    return remote_open (a, ret, &err) < 0 ? out_failed (command->name, &err) : VERB_GO;
}

int remote_subverb (const char *noun, const struct opt_verb *verbs, int argc, char **argv)
{
    struct error err = { 0 };
    const struct opt_verb *v;

    opt_help_last (argc, argv);
    if (argc < 2 || !strcmp (argv[1], "--help") || !strcmp (argv[1], "-h")) {
        FILE *to = argc < 2 ? stderr : stdout;
        fprintf (to, "Usage: stoker %s COMMAND ...\n\n", noun);
        opt_verbs_help (verbs, to);
        return argc < 2 ? 2 : 0;
    }
    if (!(v = opt_verb_find (verbs, argv[1], &err)))
        return out_misused (noun, &err);
    return v->main (argc - 1, argv + 1);
}

int remote_open (struct arena *a, struct remote *ret, struct error *err)
{
    const struct conf *conf;

    *ret = (struct remote){ .arena = a };
    if (conf_load (a, NULL, &conf, err) < 0)
        return -1;
    if (client_create (conf, &ret->client, err) < 0)
        return -1;
    if (client_login (ret->client, err) < 0)
        return client_advise (conf, err);
    ret->web = conf->api.web_server;
    int log = client_feature (ret->client, "log", err);
    ret->has_log = log > 0;
    return log < 0 ? -1 : 0;
}

void remote_close (struct remote *r)
{
    client_destroy (r->client);
    r->client = NULL;
}

int remote_call (struct remote *r, const char *call, const char *body, struct text *ret, struct error *err)
{
    return client_call (r->client, r->arena, call, VERSION, text_of (body), ret, err);
}

int remote_wait (struct remote *r, const char *call, const char *body, int64_t wait_ms, struct text *ret,
                 struct error *err)
{
    struct client_request q = {
        .call = call, .version = VERSION, .body = text_of (body), .wait_ms = wait_ms
    };

    return client_send (r->client, r->arena, &q, ret, err);
}
