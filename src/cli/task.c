/* task.c - `stoker task ...`: list, look at, clone, queue and steer tasks. Sub-verbs are rows of the table at the end;
 * those that only send one call with a task's id are rows of `simple` below. log and clone are in files of their own.
 *
 * In: words and the configured server. Out: tables for people, --json for programs. */
#include "cli/task.h"

#include "base/clock.h"
#include "base/opt.h"
#include "cli/out.h"
#include "cli/remote.h"
#include "client/client.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* -- ls ------------------------------------------------------------------------------------------------------------ */

struct ls_opts {
    bool json, archived, all;
    const char *project, *name, *status, *order;
    struct opt_words tags;
    int64_t limit, page;
};
static const char *const statuses[] = { "draft",      "queued",  "running",     "completed", "failed",
                                        "aborted",    "created", "in_progress", "stopped",   "published",
                                        "publishing", "closed",  NULL };
static const struct opt_row ls_rows[] = {
    { OPT_TEXT, "project", 'p', offsetof (struct ls_opts, project), .arg = "NAME",
      .help = "only tasks of this project" },
    { OPT_TEXT, "name", 0, offsetof (struct ls_opts, name), .arg = "PATTERN",
      .help = "only names that this regular expression finds" },
    { OPT_TEXT, "status", 's', offsetof (struct ls_opts, status), .arg = "STATUS", .choices = statuses,
      .help = "only tasks in this status" },
    { OPT_EACH, "tag", 't', offsetof (struct ls_opts, tags), .arg = "TAG",
      .help = "only tasks with this tag; may be repeated" },
    { OPT_FLAG, "archived", 0, offsetof (struct ls_opts, archived),
      .help = "archived tasks instead of the others" },
    { OPT_FLAG, "all", 'a', offsetof (struct ls_opts, all), .help = "archived and hidden tasks too" },
    { OPT_TEXT, "order", 0, offsetof (struct ls_opts, order), .arg = "FIELD",
      .help = "sort by this field, -FIELD: descending (default: -last_update)" },
    { OPT_INT, "limit", 'n', offsetof (struct ls_opts, limit), .arg = "N", .least = 1, .most = 500,
      .help = "at most N tasks (default: 50)" },
    { OPT_INT, "page", 0, offsetof (struct ls_opts, page), .arg = "N", .least = 0, .most = 1000000,
      .help = "page N of that many (default: 0)" },
    { OPT_FLAG, "json", 0, offsetof (struct ls_opts, json), .help = "print JSON" },
    { 0 },
};
static const struct opt_command ls_command = { .name = "task ls",
                                               .about = "List tasks, the last changed first.",
                                               .rows = ls_rows };

static int ls_body (struct remote *r, const struct ls_opts *o, struct str *s, struct error *err)
{
    char *project;

    str_addf (s,
              "{\"only_fields\":[\"id\",\"name\",\"status\",\"status_reason\",\"type\",\"project.name\","
              "\"user.name\","
              "\"created\",\"started\",\"completed\",\"last_update\",\"last_iteration\",\"tags\"],\"page\":%"
              "d,\"page_size\":%d",
              (int)o->page, (int)o->limit);
    json_put_key (s, "order_by");
    str_putc (s, '[');
    json_put_string (s, o->order ? o->order : "-last_update");
    str_putc (s, ']');
    if (o->project) {
        if (remote_find_project (r, o->project, &project, err) < 0)
            return -1;
        str_addf (s, ",\"project\":[\"%s\"]", project);
    }
    json_put_some (s, "name", o->name);
    if (o->status)
        str_addf (s, ",\"status\":[\"%s\"]", out_status_meant (o->status));
    if (o->tags.n) {
        json_put_key (s, "tags");
        str_puts (s, "[\"__$all\"");
        for (size_t i = 0; i < o->tags.n; i++) {
            str_putc (s, ',');
            json_put_string (s, o->tags.v[i]);
        }
        str_putc (s, ']');
    }
    if (o->all)
        str_puts (s, ",\"search_hidden\":true}");
    else
        str_puts (s, o->archived ? ",\"system_tags\":[\"archived\"]}"
                                 : ",\"system_tags\":[\"__$not\",\"archived\"]}");
    return 0;
}

static int task_ls (int argc, char **argv)
{
    static const char *const heads[] = {
        "ID", "NAME", "PROJECT", "STATUS", ">ITER", "UPDATED", "USER", NULL
    };
    cleanup_arena struct arena *a = arena_create ();
    cleanup_remote struct remote r = { 0 };
    struct ls_opts o = { .limit = 50 };
    struct error err = { 0 };
    struct str body = { .arena = a };
    struct out_table t;
    struct text data;
    int rc = remote_begin (&ls_command, argc, argv, &o, a, &r);

    if (rc != VERB_GO)
        return rc;
    if (ls_body (&r, &o, &body, &err) < 0 || remote_call (&r, "tasks.get_all_ex", body.p, &data, &err) < 0)
        return out_failed ("task ls", &err);
    data = json_get (data, "tasks");
    if (o.json) {
        printf ("%.*s\n", (int)data.n, data.p);
        return 0;
    }
    out_table_init (&t, a, heads);
    for (struct json_iter it = json_iter (data); json_next (&it);) {
        char *id = remote_get (&r, it.value, "id");

        out_cell (&t, id ? arena_strndup (a, id, 8) : NULL);
        out_cell (&t, remote_get (&r, it.value, "name"));
        out_cell (&t, remote_get (&r, it.value, "project.name"));
        out_cell (&t, out_status (a, remote_get (&r, it.value, "status")));
        out_cell (&t, remote_get (&r, it.value, "last_iteration"));
        out_cell (&t, out_age (a, remote_get_time (&r, it.value, "last_update"), clock_now ()));
        out_cell (&t, remote_get (&r, it.value, "user.name"));
    }
    if (t.n)
        out_table_print (&t, stdout);
    else
        puts ("No task matches. 'stoker run -- python train.py' makes one; 'stoker task ls --all' shows "
              "archived ones too.");
    return 0;
}

/* -- show ---------------------------------------------------------------------------------------------------------- */

struct one_opts {
    bool json;
    const char *task, *message;
    bool force;
    const char *queue;
    struct opt_words tasks;
};
static const struct opt_row show_rows[] = {
    { OPT_ARG, "TASK", 0, offsetof (struct one_opts, task), .required = true,
      .help = "an id, its beginning, or a name" },
    { OPT_FLAG, "json", 0, offsetof (struct one_opts, json), .help = "print JSON" },
    { 0 },
};
static const struct opt_command show_command = {
    .name = "task show",
    .about = "Show one task: what it is, where it stands and why, its parameters and last metrics.",
    .rows = show_rows
};

static int get_task (struct remote *r, const char *id, struct text *ret, struct error *err)
{
    const char *body = arena_printf (r->arena,
                                     "{\"id\":[\"%s\"],\"only_fields\":[\"*\",\"project.name\",\"user.name\","
                                     "\"execution.queue.name\",\"parent.name\"]}",
                                     id);
    struct text data;
    struct json_iter it;

    if (remote_call (r, "tasks.get_by_id_ex", body, &data, err) < 0)
        return -1;
    it = json_iter (json_get (data, "tasks"));
    if (!json_next (&it))
        return error_set (err, ENOENT, "the server has no task %s any more", id);
    *ret = it.value;
    return 0;
}

static void line (const char *what, const char *value)
{
    if (value && *value)
        printf ("%-12s %s\n", what, value);
}

static void show_parameters (struct remote *r, struct text task)
{
    static const char *const heads[] = { "PARAMETER", "VALUE", NULL };
    struct out_table t;

    out_table_init (&t, r->arena, heads);
    for (struct json_iter section = json_iter (json_get (task, "hyperparams")); json_next (&section);)
        for (struct json_iter p = json_iter (section.value); json_next (&p);) {
            out_cell (&t, arena_printf (r->arena, "%s/%s", json_key (r->arena, section.key),
                                        json_key (r->arena, p.key)));
            out_cell (&t, remote_get (r, p.value, "value"));
        }
    if (t.n) {
        putchar ('\n');
        out_table_print (&t, stdout);
    }
}

static void show_metrics (struct remote *r, struct text task)
{
    static const char *const heads[] = { "METRIC", ">LAST", ">MIN", ">MAX", NULL };
    struct out_table t;

    out_table_init (&t, r->arena, heads);
    for (struct json_iter m = json_iter (json_get (task, "last_metrics")); json_next (&m);)
        for (struct json_iter v = json_iter (m.value); json_next (&v);) {
            const char *metric = remote_get (r, v.value, "metric"),
                       *variant = remote_get (r, v.value, "variant");
            out_cell (&t, arena_printf (r->arena, "%s / %s", metric ? metric : "", variant ? variant : ""));
            out_cell (&t, remote_get (r, v.value, "value"));
            out_cell (&t, remote_get (r, v.value, "min_value"));
            out_cell (&t, remote_get (r, v.value, "max_value"));
        }
    if (t.n) {
        putchar ('\n');
        out_table_print (&t, stdout);
    }
}

/* What became of it and how long each stage took; a server without x_tasks.timeline shows none. */
static void show_stages (struct remote *r, const char *id)
{
    static const char *const heads[] = { "STAGE", ">TOOK", "", NULL };
    struct error ignored;
    struct out_table t;
    struct text data;

    if (remote_call (r, "x_tasks.timeline", arena_printf (r->arena, "{\"task\":\"%s\"}", id), &data,
                     &ignored) < 0)
        return;
    out_table_init (&t, r->arena, heads);
    for (struct json_iter it = json_iter (json_get (data, "stages")); json_next (&it);) {
        int64_t started = remote_get_time (r, it.value, "started"),
                ended = remote_get_time (r, it.value, "ended");
        bool failed = json_kind (json_get (it.value, "ok")) == JSON_FALSE;
        const char *detail = remote_get (r, it.value, "detail");

        out_cell (&t, remote_get (r, it.value, "name"));
        out_cell (&t, ended ? out_duration (r->arena, ended - started) : "running");
        out_cell (&t, failed ? arena_printf (r->arena, "failed%s%s", detail ? ": " : "", detail ? detail : "")
                      : detail ? detail
                               : " ");
    }
    if (t.n) {
        putchar ('\n');
        out_table_print (&t, stdout);
    }
}

static int task_show (int argc, char **argv)
{
    cleanup_arena struct arena *a = arena_create ();
    cleanup_remote struct remote r = { 0 };
    struct one_opts o = { 0 };
    struct error err = { 0 };
    struct text task;
    char *id, *repo;
    int64_t started, ended;
    int rc = remote_begin (&show_command, argc, argv, &o, a, &r);

    if (rc != VERB_GO)
        return rc;
    if (remote_find_task (&r, o.task, &id, &err) < 0 || get_task (&r, id, &task, &err) < 0)
        return out_failed ("task show", &err);
    if (o.json) {
        printf ("%.*s\n", (int)task.n, task.p);
        return 0;
    }
    line ("task", id);
    line ("name", remote_get (&r, task, "name"));
    line ("project", remote_get (&r, task, "project.name"));
    line ("status", out_status (a, remote_get (&r, task, "status")));
    line ("why", remote_get (&r, task, "status_reason"));
    line ("message", remote_get (&r, task, "status_message"));
    line ("type", remote_get (&r, task, "type"));
    line ("user", remote_get (&r, task, "user.name"));
    line ("worker", remote_get (&r, task, "last_worker"));
    line ("queue", remote_get (&r, task, "execution.queue.name"));
    line ("parent", remote_get (&r, task, "parent.name"));
    line ("created", remote_get (&r, task, "created"));
    started = remote_get_time (&r, task, "started");
    ended = remote_get_time (&r, task, "completed");
    line ("started", remote_get (&r, task, "started"));
    if (started)
        line ("ran", out_duration (a, (ended > started ? ended : clock_now ()) - started));
    repo = remote_get (&r, task, "script.repository");
    line ("repository", repo);
    line ("commit", remote_get (&r, task, "script.version_num"));
    line ("entry", remote_get (&r, task, "script.entry_point"));
    if (r.web)
        line ("page",
              arena_printf (a, "%s/projects/%s/tasks/%s", r.web,
                            remote_get (&r, task, "project.id") ? remote_get (&r, task, "project.id") : "*",
                            id));
    show_stages (&r, id);
    show_parameters (&r, task);
    show_metrics (&r, task);
    return 0;
}

/* -- one call on each named task -------------------------------------------------------------------------------------- */

/* `extra` is put into the call's body; `said` is what the person reads when it worked. */
struct simple {
    const char *verb, *call, *about, *said, *idle, /* said when nothing was to be done */
        *hint,                                     /* what to do when the task's status forbids it */
        *running; /* refused in these words while it runs, where the server would not refuse it */
    bool message, force, queue;
};
static const struct simple simples[] = {
    { "task enqueue", "tasks.enqueue", "Put tasks into a queue, for an agent to run.", "queued",
      .hint =
          "A task that ran: 'stoker task clone' makes a copy to run, 'stoker task reset' a draft of it again",
      .queue = true },
    { "task dequeue", "tasks.dequeue", "Take tasks out of their queue; they are drafts again.",
      "out of the queue", "stands in no queue",
      .running = "an agent has taken it already; 'stoker task abort' stops it" },
    { "task abort", "tasks.stop", "Stop running tasks: their processes get TERM, time to end, then KILL.",
      "stopping",
      .hint = "Only a running task can be stopped; 'stoker task dequeue' takes one out of its queue",
      .message = true, .force = true },
    { "task reset", "tasks.reset", "Make tasks drafts again: their logs, metrics and outputs are deleted.",
      "reset", .hint = "A published task stays as it is, a running one is aborted first; --force resets them",
      .force = true },
    { "task publish", "tasks.publish", "Publish tasks: from then on they cannot change.", "published",
      .hint = "Only a task that has ended can be published, once", .message = true, .force = true },
    { "task archive", "tasks.archive_many", "Archive tasks: out of sight, nothing is deleted.", "archived",
      .message = true },
    { "task unarchive", "tasks.unarchive_many", "Bring archived tasks back.", "back" },
    { "task delete", "tasks.delete", "Delete tasks with their logs, metrics and draft models.", "deleted",
      .hint = "--force deletes it all the same", .force = true },
};

static int simple_rows (const struct simple *s, struct opt_row *rows)
{
    int n = 0;

    rows[n++] = (struct opt_row){ OPT_ARGS,
                                  "TASK",
                                  0,
                                  offsetof (struct one_opts, tasks),
                                  .required = true,
                                  .help = "ids, their beginnings, or names" };
    if (s->queue)
        rows[n++] = (struct opt_row){ OPT_TEXT,
                                      "queue",
                                      'q',
                                      offsetof (struct one_opts, queue),
                                      .arg = "QUEUE",
                                      .help = "name or id (default: the server's default queue)" };
    if (s->message)
        rows[n++] = (struct opt_row){ OPT_TEXT,      "message",
                                      'm',           offsetof (struct one_opts, message),
                                      .arg = "TEXT", .help = "why; shown beside the status" };
    if (s->force)
        rows[n++] = (struct opt_row){ OPT_FLAG, "force", 'f', offsetof (struct one_opts, force),
                                      .help = "also where the task's status forbids it" };
    rows[n++] = (struct opt_row){ OPT_FLAG, "json", 0, offsetof (struct one_opts, json),
                                  .help = "print JSON, one answer a line" };
    rows[n] = (struct opt_row){ 0 };
    return n;
}

static int simple_body (struct remote *r, const struct simple *s, const struct one_opts *o, const char *id,
                        struct str *body, struct error *err)
{
    char *queue;

    if (strstr (s->call, "_many"))
        str_addf (body, "{\"ids\":[\"%s\"]", id);
    else
        str_addf (body, "{\"task\":\"%s\"", id);
    if (o->force)
        str_puts (body, ",\"force\":true");
    json_put_some (body, "status_message", o->message);
    if (o->queue) {
        if (remote_find_queue (r, o->queue, &queue, err) < 0)
            return -1;
        str_addf (body, ",\"queue\":\"%s\"", queue);
    }
    str_putc (body, '}');
    return 0;
}

static int check_running (struct remote *r, const struct simple *s, const char *id, struct error *err)
{
    struct text data;
    struct json_iter it;

    if (!s->running)
        return 0;
    if (remote_call (r, "tasks.get_all",
                     arena_printf (r->arena,
                                   "{\"id\":[\"%s\"],\"only_fields\":[\"status\"],\"search_hidden\":true}",
                                   id),
                     &data, err) < 0)
        return -1;
    it = json_iter (json_get (data, "tasks"));
    return json_next (&it) && json_string_is (json_get (it.value, "status"), "in_progress")
               ? error_set (err, EBUSY, "%s", s->running)
               : 0;
}

/* A call for many tasks answers well also when it could do nothing: why stands with the task. */
static int check_failed (struct remote *r, struct text data, struct error *err)
{
    struct json_iter failed = json_iter (json_get (data, "failed"));
    char *words;

    if (!json_next (&failed))
        return 0;
    words = remote_get (r, failed.value, "error.msg");
    return error_set (err, EPERM, "%s", words ? words : "refused");
}

/* The status forbids it: say which it is, in people's words, and what is possible. */
static void explain_status (struct remote *r, const struct simple *s, const char *word, struct error *err)
{
    static const char mark[] = "current_status=";
    const char *at = strstr (err->text, mark);
    char *status;

    if (!at || !client_refused (err, 400)) {
        if (!strstr (err->text, word))
            error_wrap (err, "%s", word);
        if (s->hint && client_refused (err, 400) && strstr (err->text, "use force"))
            snprintf (err->text + strlen (err->text), sizeof (err->text) - strlen (err->text), ". %s",
                      s->hint);
        return;
    }
    at += strlen (mark);
    status = arena_strndup (r->arena, at, strcspn (at, ", "));
    error_set (err, err->code, "%s: its status is '%s'%s%s", word, out_status_word (status),
               s->hint ? ". " : "", s->hint ? s->hint : "");
}

static int simple_one (struct remote *r, const struct simple *s, const struct one_opts *o, const char *word)
{
    struct str body = { .arena = r->arena };
    struct error err = { 0 };
    struct text data;
    char *id;

    if (remote_find_task (r, word, &id, &err) < 0 || check_running (r, s, id, &err) < 0 ||
        simple_body (r, s, o, id, &body, &err) < 0 || remote_call (r, s->call, body.p, &data, &err) < 0 ||
        check_failed (r, data, &err) < 0) {
        explain_status (r, s, word, &err);
        return out_failed (s->verb, &err);
    }
    if (o->json)
        printf ("{\"id\":\"%s\",\"answer\":%.*s}\n", id, (int)data.n, data.p);
    else
        printf ("%s: %s\n", id, s->idle && !json_int (json_get (data, "updated"), 1) ? s->idle : s->said);
    return 0;
}

static int simple_main (int argc, char **argv)
{
    cleanup_arena struct arena *a = arena_create ();
    cleanup_remote struct remote r = { 0 };
    struct opt_row rows[8];
    struct one_opts o = { 0 };
    const struct simple *s = simples;
    struct opt_command command;
    int rc;

    while (strcmp (s->verb + strlen ("task "), argv[0]))
        s++;
    simple_rows (s, rows);
    command = (struct opt_command){ .name = s->verb, .about = s->about, .rows = rows };
    rc = remote_begin (&command, argc, argv, &o, a, &r);
    if (rc != VERB_GO)
        return rc;
    rc = 0;
    for (size_t i = 0; i < o.tasks.n; i++)
        if (simple_one (&r, s, &o, o.tasks.v[i]))
            rc = 1;
    return rc;
}

int task_main (int argc, char **argv)
{
    static const struct opt_verb verbs[] = {
        { "ls", "list tasks", task_ls },
        { "show", "show one task: status and why, parameters, last metrics", task_show },
        { "log", "print a task's console; --follow until it ends", task_log },
        { "clone", "copy a task with other parameters, and perhaps enqueue the copy", task_clone },
        { "enqueue", "put tasks into a queue", simple_main },
        { "dequeue", "take tasks out of their queue", simple_main },
        { "abort", "stop running tasks", simple_main },
        { "reset", "make tasks drafts again", simple_main },
        { "publish", "publish tasks: they cannot change any more", simple_main },
        { "archive", "put tasks out of sight", simple_main },
        { "unarchive", "bring archived tasks back", simple_main },
        { "delete", "delete tasks with what they left", simple_main },
        { 0 },
    };
    return remote_subverb ("task", verbs, argc, argv);
}
