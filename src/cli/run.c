/* run.c - `stoker run -- python train.py ...`: this folder as a task, through a queue, its log followed to the end.
 *
 * In: the command behind `--`, the current folder (cli/pack.h). Out: the task's console; the exit code is the task's.
 * Ctrl-C asks whether to detach or to abort; without a terminal it detaches. */
#include "cli/run.h"

#include "base/opt.h"
#include "cli/out.h"
#include "cli/pack.h"
#include "cli/task.h"
#include "io/spawn.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct opts {
    bool json, detach, local, dry;
    const char *queue, *name, *project, *image, *type;
    struct opt_words tags;
    struct pack_wish pack;
};
static const char *const types[] = { "training",    "testing", "inference",  "data_processing",
                                     "application", "monitor", "controller", "optimizer",
                                     "service",     "qc",      "custom",     NULL };
static const struct opt_row rows[] = {
    { OPT_COMMAND, "COMMAND", 0, offsetof (struct opts, pack.command), .required = true,
      .help = "python SCRIPT ..., python -m MODULE ... or bash SCRIPT ..." },
    { OPT_TEXT, "queue", 'q', offsetof (struct opts, queue), .arg = "QUEUE",
      .help = "name or id (default: default)" },
    { OPT_TEXT, "name", 0, offsetof (struct opts, name), .arg = "NAME",
      .help = "of the task (default: the script's)" },
    { OPT_TEXT, "project", 'p', offsetof (struct opts, project), .arg = "NAME",
      .help =
          "made when there is none (default: the folder's name; of less than 3 letters: 'NAME project')" },
    { OPT_EACH, "tag", 't', offsetof (struct opts, tags), .arg = "TAG", .help = "may be repeated" },
    { OPT_TEXT, "type", 0, offsetof (struct opts, type), .arg = "TYPE", .choices = types,
      .help = "kind of task (default: training)" },
    { OPT_TEXT, "docker", 0, offsetof (struct opts, image), .arg = "IMAGE",
      .help = "container image, for agents that run in containers" },
    { OPT_TEXT, "requirements", 'r', offsetof (struct opts, pack.requirements), .arg = "FILE",
      .help = "packages to install (default: requirements.txt here or at the top of the repository)" },
    { OPT_TEXT, "base", 0, offsetof (struct opts, pack.base), .arg = "COMMIT",
      .help = "check out this commit and send the rest as a diff (default: the newest that the remote has)" },
    { OPT_EACH, "include", 'i', offsetof (struct opts, pack.include), .arg = "FILE",
      .help = "an untracked file to take along; may be repeated" },
    { OPT_EACH, "allow", 0, offsetof (struct opts, pack.allow), .arg = "WHAT",
      .help = "let a refused file through by its path; or: size, secrets" },
    { OPT_FLAG, "detach", 'd', offsetof (struct opts, detach), .help = "enqueue and return at once" },
    { OPT_FLAG, "local", 0, offsetof (struct opts, local), .help = "run the task here, by no queue" },
    { OPT_FLAG, "dry-run", 0, offsetof (struct opts, dry),
      .help = "show what would be sent, and send nothing" },
    { OPT_FLAG, "json", 0, offsetof (struct opts, json),
      .help = "all output is JSON lines: the task's id, the lines of its log, its status" },
    { 0 },
};
static const struct opt_command command = {
    .name = "run",
    .about = "Run a command of this folder as a task: commit, changes and requirements travel, the log comes "
             "back.",
    .rows = rows,
    .more = "examples:\n"
            "  stoker run -- python train.py --lr 0.1\n"
            "  stoker run --queue gpu --include data/labels.csv -- python -m train\n"
            "  stoker run --local -- python train.py\n"
            "\n"
            "Exit code: the task's own; 130 when Ctrl-C left it (it goes on, which is said).\n",
};

static volatile int interrupted; /* the signal flag: Ctrl-C while following */

static void on_interrupt (int signum)
{
    (void)signum;
    interrupted = 1;
}

static int project_id (struct remote *r, const char *name, char **ret, struct error *err)
{
    struct str body = { .arena = r->arena };
    struct error none = { 0 };
    struct text data;

    if (remote_find_project (r, name, ret, &none) == 0)
        return 0;
    if (none.code != ENOENT) {
        *err = none;
        return -1;
    }
    str_putc (&body, '{');
    json_put_key (&body, "name");
    json_put_string (&body, name);
    str_puts (&body, ",\"description\":\"\"}");
    if (remote_check_project_name (name, err) < 0 ||
        remote_call (r, "projects.create", body.p, &data, err) < 0)
        return -1;
    *ret = remote_get (r, data, "id");
    return *ret ? 0 : error_set (err, EPROTO, "the server told no id of the project");
}

static void put_script (struct str *s, const struct pack *p)
{
    json_put_key (s, "script");
    str_putc (s, '{');
    json_put_some (s, "repository", p->repository ? p->repository : "");
    json_put_some (s, "branch", p->branch);
    json_put_some (s, "version_num", p->commit);
    json_put_some (s, "entry_point", p->entry_point);
    json_put_some (s, "working_dir", p->working_dir);
    json_put_some (s, "binary", p->binary);
    json_put_key (s, "diff");
    str_add_json (s, p->diff.p, p->diff.n);
    if (p->requirements.p) {
        json_put_key (s, "requirements");
        str_puts (s, "{\"pip\":");
        str_add_json (s, p->requirements.p, p->requirements.n);
        str_putc (s, '}');
    }
    str_putc (s, '}');
}

static char *task_body (struct arena *a, const struct opts *o, const struct pack *p, const char *project)
{
    struct str s = { .arena = a };

    str_putc (&s, '{');
    json_put_some (&s, "name", o->name ? o->name : p->name);
    json_put_some (&s, "type", o->type ? o->type : "training");
    json_put_some (&s, "project", project);
    put_script (&s, p);
    if (o->image) {
        json_put_key (&s, "container");
        str_putc (&s, '{');
        json_put_some (&s, "image", o->image);
        str_putc (&s, '}');
    }
    if (o->tags.n)
        json_put_strings (&s, "tags", o->tags.v, o->tags.n);
    str_putc (&s, '}');
    return s.p;
}

static int create (struct remote *r, const struct opts *o, const struct pack *p, char **ret_id,
                   struct error *err)
{
    struct text data;
    char *project;

    if (project_id (r, o->project ? o->project : p->project, &project, err) < 0 ||
        remote_call (r, "tasks.create", task_body (r->arena, o, p, project), &data, err) < 0)
        return -1;
    *ret_id = remote_get (r, data, "id");
    if (!*ret_id)
        return error_set (err, EPROTO, "the server told no id of the task");
    if (!o->json && r->web)
        printf ("task %s\n%s/projects/%s/tasks/%s\n", *ret_id, r->web, project, *ret_id);
    return 0;
}

/* What the person wants after Ctrl-C. */
static bool wants_abort (const char *id)
{
    char answer[16];

    if (!isatty (STDIN_FILENO)) {
        fprintf (stderr, "stoker run: detached; the task runs on. See: stoker task log --follow %s\n", id);
        return false;
    }
    fprintf (stderr, "\nThe task is not part of this command. [d]etach (it goes on) or [a]bort it? ");
    if (fgets (answer, sizeof (answer), stdin) && (*answer == 'a' || *answer == 'A'))
        return true;
    fprintf (stderr, "Detached. See: stoker task log --follow %s\n", id);
    return false;
}

/* The task's exit code as its agent reported it; 0 completed, 1 otherwise when nobody knows. */
static int exit_code (struct remote *r, const char *id, const char *status)
{
    bool good = !strcmp (status, "completed") || !strcmp (status, "published") || !strcmp (status, "closed");
    struct error err;
    struct text data, why;

    if (good)
        return 0;
    if (remote_call (r, "x_tasks.timeline", arena_printf (r->arena, "{\"task\":\"%s\"}", id), &data, &err) <
        0)
        return 1;
    why = json_get (data, "why");
    if (json_kind (json_get (why, "signal")) == JSON_NUMBER)
        return 128 + (int)json_int (json_get (why, "signal"), 0);
    return (int)json_int (json_get (why, "exit_code"), 1);
}

static int follow (struct remote *r, const struct opts *o, const char *id, struct error *err)
{
    struct sigaction sa = { .sa_handler = on_interrupt };
    struct text data;
    struct task_log log = { .id = id, .tail = -1, .json = o->json, .follow = true, .stop = &interrupted };
    char *status;

    sigaction (SIGINT, &sa, NULL);
    for (;;) {
        if (task_log_print (r, &log, &status, err) < 0)
            return -1;
        if (!interrupted)
            break;
        interrupted = 0;
        if (!wants_abort (id))
            return 128 + SIGINT; /* how the task ends is not known: 0 would let a script go on */
        if (remote_call (
                r, "tasks.stop",
                arena_printf (r->arena, "{\"task\":\"%s\",\"status_message\":\"stoker run: Ctrl-C\"}", id),
                &data, err) < 0)
            return -1;
    }
    if (o->json)
        printf ("{\"id\":\"%s\",\"status\":\"%s\"}\n", id, status);
    else
        fprintf (stderr, "task %s: %s\n", id, out_status (r->arena, status));
    return exit_code (r, id, status);
}

static int run_local (struct remote *r, const char *id, struct error *err)
{
    const char *program = spawn_self (r->arena, err);

    if (!program)
        return -1;
    fflush (stdout);
    execv (program, (char *const[]){ (char *)program, (char *)"execute", (char *)"--id", (char *)id, NULL });
    return error_errno (err, "start %s execute", program);
}

static int run (struct remote *r, const struct opts *o, const struct pack *p, struct error *err)
{
    struct text data;
    char *id, *queue;

    if (!o->local && remote_find_queue (r, o->queue, &queue, err) < 0)
        return -1;
    if (create (r, o, p, &id, err) < 0)
        return -1;
    if (o->local)
        return run_local (r, id, err);
    if (remote_call (r, "tasks.enqueue",
                     arena_printf (r->arena, "{\"task\":\"%s\",\"queue\":\"%s\"}", id, queue), &data,
                     err) < 0)
        return error_wrap (err, "the task %s is made, but not enqueued", id);
    if (o->json)
        printf ("{\"id\":\"%s\",\"queue\":\"%s\"}\n", id, queue);
    if (o->detach)
        return 0;
    return follow (r, o, id, err);
}

int run_main (int argc, char **argv)
{
    cleanup_arena struct arena *a = arena_create ();
    cleanup_remote struct remote r = { 0 };
    struct opts o = { .queue = "default" };
    struct error err = { 0 };
    struct pack p;
    int rc;
    int begun = out_parse (&command, argc, argv, &o, a);

    if (begun != VERB_GO)
        return begun;
    if (pack_folder (a, &o.pack, &p, &err) < 0)
        return out_failed ("run", &err);
    if (o.dry) {
        puts (task_body (a, &o, &p, o.project ? o.project : p.project));
        return 0;
    }
    if (remote_open (a, &r, &err) < 0 || (rc = run (&r, &o, &p, &err)) < 0)
        return out_failed ("run", &err);
    return rc;
}
