/* task_clone.c - `stoker task clone`: a draft like another task, with other parameters; --queue sends it on its way.
 *
 * A parameter is SECTION/NAME=VALUE. One that the source task has not is an error that names the nearest one, unless
 * --new allows it: a typing mistake must not start a training with the old value. A parameter keeps the type that was
 * recorded; one recorded as null, or new, takes the type that its value has in Python, or a list would arrive as text. */
#include "cli/task.h"

#include "base/opt.h"
#include "cli/out.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct clone_opts {
    bool json, allow_new;
    const char *task, *name, *project, *queue, *comment;
    struct opt_words set, tags;
};
static const struct opt_row rows[] = {
    { OPT_ARG, "TASK", 0, offsetof (struct clone_opts, task), .required = true,
      .help = "an id, its beginning, or a name" },
    { OPT_TEXT, "name", 0, offsetof (struct clone_opts, name), .arg = "NAME",
      .help = "of the clone (default: Clone of ...)" },
    { OPT_TEXT, "project", 'p', offsetof (struct clone_opts, project), .arg = "NAME",
      .help = "of the clone, made when there is none (default: the source's)" },
    { OPT_EACH, "set", 's', offsetof (struct clone_opts, set), .arg = "SECTION/NAME=VALUE",
      .help = "another value for a parameter, as in Args/lr=0.1; may be repeated" },
    { OPT_FLAG, "new", 0, offsetof (struct clone_opts, allow_new),
      .help = "--set may add parameters that the source has not" },
    { OPT_EACH, "tag", 't', offsetof (struct clone_opts, tags), .arg = "TAG",
      .help = "tags of the clone; may be repeated" },
    { OPT_TEXT, "comment", 0, offsetof (struct clone_opts, comment), .arg = "TEXT",
      .help = "description of the clone" },
    { OPT_TEXT, "queue", 'q', offsetof (struct clone_opts, queue), .arg = "QUEUE",
      .help = "enqueue the clone there" },
    { OPT_FLAG, "json", 0, offsetof (struct clone_opts, json), .help = "print JSON" },
    { 0 },
};
static const struct opt_command command = {
    .name = "task clone",
    .about = "Copy a task as a draft, with other parameters if you like, and perhaps enqueue the copy.",
    .rows = rows,
    .more = "example:\n  stoker task clone 4be2 --set Args/lr=0.3 --queue default\n",
};

struct source {
    const char *name;
    struct text parameters;
};
struct parameter {
    const char *section, *name, *value, *type, *description;
};

static int parse_parameter (struct arena *a, const char *word, struct parameter *ret, struct error *err)
{
    const char *slash = strchr (word, '/'), *equals = strchr (word, '=');

    if (!equals || !slash || slash > equals || slash == word || slash + 1 == equals)
        return error_set (err, EINVAL, "--set %s: write SECTION/NAME=VALUE, as in Args/lr=0.1", word);
    ret->section = arena_strndup (a, word, (size_t)(slash - word));
    ret->name = arena_strndup (a, slash + 1, (size_t)(equals - slash - 1));
    ret->value = equals + 1;
    return 0;
}

static int get_source (struct remote *r, const char *id, struct source *ret, struct error *err)
{
    struct text data;
    struct json_iter it;

    if (remote_call (
            r, "tasks.get_all",
            arena_printf (
                r->arena,
                "{\"id\":[\"%s\"],\"only_fields\":[\"name\",\"hyperparams\"],\"search_hidden\":true}", id),
            &data, err) < 0)
        return -1;
    it = json_iter (json_get (data, "tasks"));
    if (!json_next (&it))
        return error_set (err, ENOENT, "the server has no task %s any more", id);
    ret->name = remote_get (r, it.value, "name");
    ret->parameters = json_get (it.value, "hyperparams");
    return 0;
}

/* "Section/name" of each, for the nearest name. */
static const char *const *names_of (struct arena *a, struct text sections)
{
    const char **names;
    size_t n = 0;

    for (struct json_iter s = json_iter (sections); json_next (&s);)
        n += json_count (s.value);
    names = arena_array (a, const char *, n + 1);
    n = 0;
    for (struct json_iter s = json_iter (sections); json_next (&s);)
        for (struct json_iter p = json_iter (s.value); json_next (&p);)
            names[n++] = arena_printf (a, "%s/%s", json_key (a, s.key), json_key (a, p.key));
    return names;
}

/* The Python type that a text reads as, NULL for None. */
static const char *type_of (const char *value)
{
    static const char *const pairs[][2] = { { "[]", "list" }, { "()", "tuple" }, { "{}", "dict" } };
    size_t n = strlen (value);
    const char *digits = value + (*value == '-' || *value == '+');
    char *end;

    if (!n || !strcmp (value, "None"))
        return NULL;
    if (!strcmp (value, "True") || !strcmp (value, "False"))
        return "bool";
    for (size_t i = 0; n > 1 && i < sizeof (pairs) / sizeof (*pairs); i++)
        if (*value == pairs[i][0][0] && value[n - 1] == pairs[i][0][1])
            return pairs[i][1];
    if (*digits && !digits[strspn (digits, "0123456789")])
        return "int";
    strtod (value, &end);
    return *end || strpbrk (value, "xX \t") ? "str" : "float";
}

/* What the source says of a parameter; false: it has none of this name. */
static bool take_recorded (struct arena *a, struct text sections, struct parameter *p)
{
    struct text was = json_get (json_get (sections, p->section), p->name);
    const char *value = json_string (a, json_get (was, "value"));

    p->type = json_string (a, json_get (was, "type"));
    p->description = json_string (a, json_get (was, "description"));
    if (!p->type || !*p->type || !strcmp (p->type, "NoneType"))
        p->type = value && *value ? p->type : type_of (p->value);
    return was.p != NULL;
}

static int unknown (struct arena *a, const struct parameter *p, struct text sections, struct error *err)
{
    const char *full = arena_printf (a, "%s/%s", p->section, p->name),
               *near = opt_nearest (full, names_of (a, sections));

    if (near)
        return error_set (err, EINVAL, "the task has no parameter %s; did you mean %s? (--new adds it)", full,
                          near);
    return error_set (err, EINVAL, "the task has no parameter %s (--new adds it)", full);
}

static int take_parameters (struct remote *r, struct text sections, const struct clone_opts *o,
                            struct parameter *p, struct error *err)
{
    for (size_t i = 0; i < o->set.n; i++)
        if (!take_recorded (r->arena, sections, &p[i]) && !o->allow_new)
            return unknown (r->arena, &p[i], sections, err);
    return 0;
}

static int set_parameters (struct remote *r, const char *id, const struct parameter *p, size_t n,
                           struct error *err)
{
    struct str body = { .arena = r->arena };
    struct text data;

    if (!n)
        return 0;
    str_addf (&body, "{\"task\":\"%s\",\"hyperparams\":[", id);
    for (size_t i = 0; i < n; i++) {
        json_put_comma (&body);
        str_puts (&body, "{\"section\":");
        json_put_string (&body, p[i].section);
        json_put_key (&body, "name");
        json_put_string (&body, p[i].name);
        json_put_key (&body, "value");
        json_put_string (&body, p[i].value);
        if (p[i].type && *p[i].type) {
            json_put_key (&body, "type");
            json_put_string (&body, p[i].type);
        }
        if (p[i].description) {
            json_put_key (&body, "description");
            json_put_string (&body, p[i].description);
        }
        str_putc (&body, '}');
    }
    str_puts (&body, "]}");
    return remote_call (r, "tasks.edit_hyper_params", body.p, &data, err);
}

static int make_clone (struct remote *r, const char *source, const char *name, const struct clone_opts *o,
                       char **ret_id, struct error *err)
{
    struct str body = { .arena = r->arena };
    struct text data;

    if (o->project && remote_check_project_name (o->project, err) < 0)
        return -1;
    str_addf (&body, "{\"task\":\"%s\"", source);
    json_put_some (&body, "new_task_name", o->name ? o->name : arena_printf (r->arena, "Clone of %s", name));
    json_put_some (&body, "new_task_comment", o->comment);
    json_put_some (&body, "new_project_name", o->project);
    if (o->tags.n)
        json_put_strings (&body, "new_task_tags", o->tags.v, o->tags.n);
    str_putc (&body, '}');
    if (remote_call (r, "tasks.clone", body.p, &data, err) < 0)
        return -1;
    *ret_id = remote_get (r, data, "id");
    return *ret_id ? 0 : error_set (err, EPROTO, "the server told no id of the clone");
}

static int run (struct remote *r, const struct clone_opts *o, char **ret_id, struct error *err)
{
    struct parameter *p = arena_array (r->arena, struct parameter, o->set.n);
    char *source, *queue = NULL;
    struct source is = { 0 };
    struct text data;

    for (size_t i = 0; i < o->set.n; i++)
        if (parse_parameter (r->arena, o->set.v[i], &p[i], err) < 0)
            return -1;
    if (remote_find_task (r, o->task, &source, err) < 0 ||
        (o->queue && remote_find_queue (r, o->queue, &queue, err) < 0))
        return -1;
    if (get_source (r, source, &is, err) < 0 || take_parameters (r, is.parameters, o, p, err) < 0 ||
        make_clone (r, source, is.name ? is.name : source, o, ret_id, err) < 0)
        return -1;
    if (set_parameters (r, *ret_id, p, o->set.n, err) < 0)
        return error_wrap (err, "the clone %s is made, but its parameters are not set", *ret_id);
    if (queue && remote_call (r, "tasks.enqueue",
                              arena_printf (r->arena, "{\"task\":\"%s\",\"queue\":\"%s\"}", *ret_id, queue),
                              &data, err) < 0)
        return error_wrap (err, "the clone %s is made, but not enqueued", *ret_id);
    return 0;
}

int task_clone (int argc, char **argv)
{
    cleanup_arena struct arena *a = arena_create ();
    cleanup_remote struct remote r = { 0 };
    struct clone_opts o = { 0 };
    struct error err = { 0 };
    char *id;
    int rc = remote_begin (&command, argc, argv, &o, a, &r);

    if (rc != VERB_GO)
        return rc;
    if (run (&r, &o, &id, &err) < 0)
        return out_failed (command.name, &err);
    if (o.json)
        printf ("{\"id\":\"%s\",\"queued\":%s}\n", id, o.queue ? "true" : "false");
    else
        printf ("%s%s%s\n", id, o.queue ? ": in queue " : ": draft", o.queue ? o.queue : "");
    return 0;
}
