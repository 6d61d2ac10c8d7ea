/* task_log.c - `stoker task log`: a task's console, once or followed to its end.
 *
 * With x_events.log of our server a follower waits in a long poll and sees a line as soon as it is stored (a short one
 * where Ctrl-C must be heard); against
 * other servers events.get_task_log is asked again every second. */
#include "cli/task.h"

#include "base/clock.h"
#include "base/opt.h"
#include "cli/out.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

struct log_opts {
    bool json, follow;
    const char *task;
    int64_t tail;
};
static const struct opt_row rows[] = {
    { OPT_ARG, "TASK", 0, offsetof (struct log_opts, task), .required = true,
      .help = "an id, its beginning, or a name" },
    { OPT_FLAG, "follow", 'f', offsetof (struct log_opts, follow), .help = "go on until the task has ended" },
    { OPT_INT, "tail", 'n', offsetof (struct log_opts, tail), .arg = "N", .least = 0, .most = 10000000,
      .help = "only the last N lines (default: all)" },
    { OPT_FLAG, "json", 0, offsetof (struct log_opts, json),
      .help = "one JSON object a line instead of the text; at the end the task's status" },
    { 0 },
};
static const struct opt_command command = { .name = "task log",
                                            .about = "Print a task's console.",
                                            .rows = rows };

/* Where a printer stands. One arena a page, so that following for days does not grow. */
struct printer {
    struct remote *r;
    const char *id;
    bool json;
    char cursor[256];   /* of x_events.log, "" at the start */
    int64_t from, skip; /* ms of the last line seen by get_task_log, and how many lines carried that time */
    int64_t printed;
};

static void print_line (struct printer *p, struct arena *a, struct text line, const char *text_key)
{
    struct text text = json_get (line, text_key);
    char *s;

    p->printed++;
    if (p->json) {
        printf ("%.*s\n", (int)line.n, line.p);
        return;
    }
    s = json_string (a, text);
    fputs (s ? s : "", stdout);
    if (!s || !*s || s[strlen (s) - 1] != '\n')
        putchar ('\n');
}

/* A page from our server. *ret_open: more may come. */
static int page_own (struct printer *p, struct arena *a, int64_t limit, int64_t wait_ms, bool backwards,
                     bool *ret_open, size_t *ret_n, struct error *err)
{
    struct remote page = *p->r;
    struct str body = { .arena = a };
    struct text data, lines;
    char *next;

    page.arena = a;
    str_addf (&body, "{\"task\":\"%s\",\"limit\":%d", p->id, (int)limit);
    if (*p->cursor) {
        json_put_key (&body, "after");
        json_put_string (&body, p->cursor);
    } else if (!backwards)
        str_puts (&body, ",\"after\":\"\"");
    if (wait_ms)
        str_addf (&body, ",\"wait_ms\":%d", (int)wait_ms);
    str_putc (&body, '}');
    if (remote_wait (&page, "x_events.log", body.p, wait_ms, &data, err) < 0)
        return -1;
    lines = json_get (data, "lines");
    for (struct json_iter it = json_iter (lines); json_next (&it);)
        print_line (p, a, it.value, "text");
    *ret_n = json_count (lines);
    *ret_open = json_true (json_get (data, "open"));
    next = remote_get (&page, data, "next");
    if (next)
        snprintf (p->cursor, sizeof (p->cursor), "%s", next);
    return 0;
}

/* A page from any other server: lines after p->from; those of that very millisecond that were printed are skipped. */
static int page_other (struct printer *p, struct arena *a, size_t *ret_n, struct error *err)
{
    struct remote page = *p->r;
    struct text data;
    int64_t from = p->from, seen = p->skip;

    page.arena = a;
    if (remote_call (
            &page, "events.get_task_log",
            arena_printf (
                a,
                "{\"task\":\"%s\",\"batch_size\":5000,\"navigate_earlier\":false,\"from_timestamp\":%lld,"
                "\"order\":\"asc\"}",
                p->id, (long long)(from ? from - 1 : 0)),
            &data, err) < 0)
        return -1;
    *ret_n = 0;
    for (struct json_iter it = json_iter (json_get (data, "events")); json_next (&it);) {
        int64_t t = json_int (json_get (it.value, "timestamp"), 0);

        if (t == from && seen-- > 0)
            continue;
        p->skip = t == p->from ? p->skip + 1 : 1;
        p->from = t;
        print_line (p, a, it.value, "msg");
        ++*ret_n;
    }
    return 0;
}

static int task_status (struct remote *r, const char *id, struct arena *a, char **ret, struct error *err)
{
    struct remote page = *r;
    struct text data;
    struct json_iter it;
    const char *body = arena_printf (
        a, "{\"id\":[\"%s\"],\"only_fields\":[\"id\",\"status\",\"status_reason\",\"status_message\"]}", id);

    page.arena = a;
    if (remote_call (&page, "tasks.get_all", body, &data, err) < 0)
        return -1;
    it = json_iter (json_get (data, "tasks"));
    if (!json_next (&it))
        return error_set (err, ENOENT, "the server has no task %s any more", id);
    *ret = remote_get (&page, it.value, "status");
    return *ret ? 0 : error_set (err, EPROTO, "the server tells no status of task %s", id);
}

static bool has_ended (const char *status)
{
    static const char *const ended[] = { "completed", "failed", "stopped", "published", "closed" };

    for (size_t i = 0; i < sizeof (ended) / sizeof (*ended); i++)
        if (!strcmp (status, ended[i]))
            return true;
    return false;
}

/* The last `tail` lines of our server are one page without a cursor; the whole log starts at the empty cursor. */
static int print_once (struct printer *p, int64_t tail, struct error *err)
{
    bool open = true;

    if (p->r->has_log && tail >= 0) {
        cleanup_arena struct arena *a = arena_create ();
        size_t n;
        return tail ? page_own (p, a, tail < 5000 ? tail : 5000, 0, true, &open, &n, err) : 0;
    }
    for (size_t n = 1; n > 0;) {
        cleanup_arena struct arena *a = arena_create ();
        if ((p->r->has_log ? page_own (p, a, 5000, 0, false, &open, &n, err) : page_other (p, a, &n, err)) <
            0)
            return -1;
    }
    return 0;
}

static int follow_step (struct printer *p, int64_t wait_ms, struct error *err)
{
    cleanup_arena struct arena *a = arena_create ();
    size_t n;
    bool open;

    if (p->r->has_log)
        return page_own (p, a, 5000, wait_ms, false, &open, &n, err);
    nanosleep (&(struct timespec){ .tv_sec = 1 }, NULL);
    return page_other (p, a, &n, err);
}

int task_print_log (struct remote *r, const char *id, int64_t tail, bool follow, const volatile int *stop,
                    char **ret_status, struct error *err)
{
    struct printer p = { .r = r, .id = id };

    if (print_once (&p, tail, err) < 0)
        return -1;
    for (;;) {
        cleanup_arena struct arena *a = arena_create ();
        char *status;

        fflush (stdout);
        if (task_status (r, id, a, &status, err) < 0)
            return -1;
        if (has_ended (status) || !follow || (stop && *stop)) {
            *ret_status = arena_strdup (r->arena, status);
            return follow ? print_once (&p, -1, err) : 0; /* what came between the last page and the end */
        }
        if (follow_step (&p, stop ? 1000 : 20000, err) < 0)
            return -1;
    }
}

int task_log (int argc, char **argv)
{
    cleanup_arena struct arena *a = arena_create ();
    cleanup_remote struct remote r = { 0 };
    struct log_opts o = { .tail = -1 };
    struct error err = { 0 };
    char *id, *status;
    int rc = remote_begin (&command, argc, argv, &o, a, &r);

    if (rc != VERB_GO)
        return rc;
    if (remote_find_task (&r, o.task, &id, &err) < 0)
        return out_failed (command.name, &err);
    if (task_print_log (&r, id, o.tail, o.follow, NULL, &status, &err) < 0)
        return out_failed (command.name, &err);
    if (o.json)
        printf ("{\"id\":\"%s\",\"status\":\"%s\"}\n", id, status);
    return 0;
}
