/* nouns.c - `stoker queue ls/create`, `stoker worker ls`, `stoker project ls`: one call each, shown as a table. */
#include "cli/nouns.h"

#include "base/clock.h"
#include "base/opt.h"
#include "cli/out.h"
#include "cli/remote.h"

#include <stdio.h>
#include <string.h>

struct opts {
    bool json, all;
    const char *name, *display_name;
    struct opt_words tags;
};
static const struct opt_row ls_rows[] = {
    { OPT_FLAG, "json", 0, offsetof (struct opts, json), .help = "print JSON" },
    { OPT_FLAG, "all", 'a', offsetof (struct opts, all), .help = "hidden ones too" },
    { 0 },
};

/* Fetch `list` of `call` and hand every item to `row`. */
static int list (const struct opt_command *command, int argc, char **argv, const char *call,
                 const char *list_key, const char *body, const char *const *heads, const char *none,
                 void (*row) (struct remote *r, struct out_table *t, struct text item))
{
    cleanup_arena struct arena *a = arena_create ();
    cleanup_remote struct remote r = { 0 };
    struct error err = { 0 };
    struct opts o = { 0 };
    struct out_table t;
    struct text data;
    int rc = remote_begin (command, argc, argv, &o, a, &r);

    if (rc != VERB_GO)
        return rc;
    if (remote_call (&r, call, arena_printf (a, "{%s%s}", body, o.all ? ",\"search_hidden\":true" : ""),
                     &data, &err) < 0)
        return out_failed (command->name, &err);
    data = json_get (data, list_key);
    if (o.json) {
        printf ("%.*s\n", (int)data.n, data.p);
        return 0;
    }
    out_table_init (&t, a, heads);
    for (struct json_iter it = json_iter (data); json_next (&it);)
        row (&r, &t, it.value);
    if (t.n)
        out_table_print (&t, stdout);
    else
        puts (none);
    return 0;
}

static char *short_id (struct remote *r, struct text item)
{
    char *id = remote_get (r, item, "id");

    return id ? arena_strndup (r->arena, id, 8) : NULL;
}

/* -- queue ---------------------------------------------------------------------------------------------------------- */

static void queue_row (struct remote *r, struct out_table *t, struct text q)
{
    struct text entries = json_get (q, "entries"), workers = json_get (q, "workers");
    struct json_iter first = json_iter (entries);
    const char *head = json_next (&first) ? remote_get (r, first.value, "task.name") : NULL;

    out_cell (t, short_id (r, q));
    out_cell (t, remote_get (r, q, "name"));
    out_cell (t, arena_printf (r->arena, "%d", (int)json_count (entries)));
    out_cell (t, arena_printf (r->arena, "%d", (int)json_count (workers)));
    out_cell (t, head);
}

static int queue_ls (int argc, char **argv)
{
    static const struct opt_command command = {
        .name = "queue ls", .about = "List queues, what waits in them and who serves them.", .rows = ls_rows
    };
    static const char *const heads[] = { "ID", "NAME", ">WAITING", ">WORKERS", "NEXT", NULL };

    return list (&command, argc, argv, "queues.get_all_ex", "queues", "\"order_by\":[\"name\"]", heads,
                 "There is no queue. 'stoker queue create NAME' makes one.", queue_row);
}

static int queue_create (int argc, char **argv)
{
    static const struct opt_row rows[] = {
        { OPT_ARG, "NAME", 0, offsetof (struct opts, name), .required = true,
          .help = "at least three characters" },
        { OPT_TEXT, "display-name", 0, offsetof (struct opts, display_name), .arg = "NAME",
          .help = "shown instead of the name" },
        { OPT_EACH, "tag", 't', offsetof (struct opts, tags), .arg = "TAG", .help = "may be repeated" },
        { OPT_FLAG, "json", 0, offsetof (struct opts, json), .help = "print JSON" },
        { 0 },
    };
    static const struct opt_command command = { .name = "queue create",
                                                .about = "Make a queue.",
                                                .rows = rows };
    cleanup_arena struct arena *a = arena_create ();
    cleanup_remote struct remote r = { 0 };
    struct str body = { .arena = a };
    struct error err = { 0 };
    struct opts o = { 0 };
    struct text data;
    int rc = remote_begin (&command, argc, argv, &o, a, &r);

    if (rc != VERB_GO)
        return rc;
    str_putc (&body, '{');
    json_put_key (&body, "name");
    json_put_string (&body, o.name);
    json_put_some (&body, "display_name", o.display_name);
    if (o.tags.n)
        json_put_strings (&body, "tags", o.tags.v, o.tags.n);
    str_putc (&body, '}');
    if (remote_call (&r, "queues.create", body.p, &data, &err) < 0)
        return out_failed (command.name, &err);
    if (o.json)
        printf ("%.*s\n", (int)data.n, data.p);
    else
        printf ("%s: queue %s\n", remote_get (&r, data, "id"), o.name);
    return 0;
}

int queue_main (int argc, char **argv)
{
    static const struct opt_verb verbs[] = {
        { "ls", "list queues", queue_ls },
        { "create", "make a queue", queue_create },
        { 0 },
    };
    return remote_subverb ("queue", verbs, argc, argv);
}

/* -- worker ---------------------------------------------------------------------------------------------------------- */

static void worker_row (struct remote *r, struct out_table *t, struct text w)
{
    struct str queues = { .arena = r->arena };

    for (struct json_iter it = json_iter (json_get (w, "queues")); json_next (&it);) {
        const char *name = remote_get (r, it.value, "name");
        str_addf (&queues, "%s%s", queues.n ? ", " : "", name ? name : "?");
    }
    out_cell (t, remote_get (r, w, "id"));
    out_cell (t, queues.p);
    out_cell (t, remote_get (r, w, "task.name") ? remote_get (r, w, "task.name") : "idle");
    out_cell (t, out_age (r->arena, remote_get_time (r, w, "last_activity_time"), clock_now ()));
    out_cell (t, remote_get (r, w, "ip"));
}

static int worker_ls (int argc, char **argv)
{
    static const struct opt_command command = { .name = "worker ls",
                                                .about = "List workers: agents, and what they run.",
                                                .rows = ls_rows };
    static const char *const heads[] = { "WORKER", "QUEUES", "RUNS", "SEEN", "ADDRESS", NULL };

    return list (&command, argc, argv, "workers.get_all", "workers", "\"last_seen\":3600", heads,
                 "No worker was seen in the last hour. 'stoker agent daemon --queue default' starts one.",
                 worker_row);
}

int worker_main (int argc, char **argv)
{
    static const struct opt_verb verbs[] = { { "ls", "list workers and what they run", worker_ls }, { 0 } };

    return remote_subverb ("worker", verbs, argc, argv);
}

/* -- project ---------------------------------------------------------------------------------------------------------- */

static void project_row (struct remote *r, struct out_table *t, struct text p)
{
    out_cell (t, short_id (r, p));
    out_cell (t, remote_get (r, p, "name"));
    out_cell (t, remote_get (r, p, "stats.active.total_tasks"));
    out_cell (t, remote_get (r, p, "stats.active.status_count.in_progress"));
    out_cell (t, remote_get (r, p, "stats.active.status_count.queued"));
    out_cell (t, out_age (r->arena, remote_get_time (r, p, "last_update"), clock_now ()));
}

static int project_ls (int argc, char **argv)
{
    static const struct opt_command command = { .name = "project ls",
                                                .about = "List projects and what runs in them.",
                                                .rows = ls_rows };
    static const char *const heads[] = { "ID", "NAME", ">TASKS", ">RUNNING", ">QUEUED", "UPDATED", NULL };

    return list (&command, argc, argv, "projects.get_all_ex", "projects",
                 "\"include_stats\":true,\"order_by\":[\"-last_update\"]", heads,
                 "There is no project yet: the first Task.init () makes one.", project_row);
}

int project_main (int argc, char **argv)
{
    static const struct opt_verb verbs[] = { { "ls", "list projects", project_ls }, { 0 } };

    return remote_subverb ("project", verbs, argc, argv);
}
