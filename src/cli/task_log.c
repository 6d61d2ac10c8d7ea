/* task_log.c - `stoker task log`: a task's console, once or followed to its end.
 *
 * With x_events.log of our server a follower waits in a long poll and sees a line as soon as it is stored (a short one
 * where Ctrl-C must be heard); against other servers events.get_task_log is asked again every second. What those hold are
 * events, each of one or several lines; how far back N lines reach is found newest first, and printed from there on. */
#include "cli/task.h"

#include "base/clock.h"
#include "base/opt.h"
#include "cli/out.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

enum { PAGE_LINES = 5000 };

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
      .help = "only the last N lines (default: all; with --json the last N objects)" },
    { OPT_FLAG, "json", 0, offsetof (struct log_opts, json),
      .help = "one JSON object a line instead of the text; at the end the task's status" },
    { 0 },
};
static const struct opt_command command = { .name = "task log",
                                            .about = "Print a task's console.",
                                            .rows = rows };

/* One arena a page, so that following for days does not grow. `cut`: how many of its own lines are left out. */
static void print_line (const struct task_log *p, struct arena *a, struct text line, const char *text_key,
                        int64_t cut)
{
    const char *s;

    if (p->json) {
        printf ("%.*s\n", (int)line.n, line.p);
        return;
    }
    s = json_string (a, json_get (line, text_key));
    for (s = s ? s : ""; cut > 0; cut--)
        s += strcspn (s, "\n"), s += *s == '\n';
    fputs (s, stdout);
    if (!*s || s[strlen (s) - 1] != '\n')
        putchar ('\n');
}

static void print_page (struct task_log *p, struct arena *a, struct text data, size_t *ret_n)
{
    struct text lines = json_get (data, "lines");
    char *next = json_string (a, json_get (data, "next"));

    for (struct json_iter it = json_iter (lines); json_next (&it);)
        print_line (p, a, it.value, "text", 0);
    *ret_n = json_count (lines);
    if (next)
        snprintf (p->cursor, sizeof (p->cursor), "%s", next);
}

/* The page after the cursor, from our server. */
static int page_own (struct task_log *p, struct remote *page, int64_t wait_ms, size_t *ret_n,
                     struct error *err)
{
    struct str body = { .arena = page->arena };
    struct text data;

    str_addf (&body, "{\"task\":\"%s\",\"limit\":%d,\"after\":", p->id, PAGE_LINES);
    json_put_string (&body, p->cursor);
    if (wait_ms)
        str_addf (&body, ",\"wait_ms\":%d", (int)wait_ms);
    str_putc (&body, '}');
    if (remote_wait (page, "x_events.log", body.p, wait_ms, &data, err) < 0)
        return -1;
    print_page (p, page->arena, data, ret_n);
    return 0;
}

/* Go back by `tail` lines, page by page, and print the page arrived at: what follows it comes by the cursor. */
static int print_tail (struct task_log *p, struct remote *r, int64_t tail, struct error *err)
{
    char before[sizeof (p->cursor)] = "";

    for (int64_t left = tail;;) {
        cleanup_arena struct arena *a = arena_create ();
        struct remote page = *r;
        struct str body = { .arena = a };
        struct text data;
        char *prev;
        size_t n;

        page.arena = a;
        str_addf (&body, "{\"task\":\"%s\",\"limit\":%d", p->id,
                  (int)(left > PAGE_LINES ? PAGE_LINES
                        : left            ? left
                                          : 1));
        json_put_some (&body, "before", *before ? before : NULL);
        str_putc (&body, '}');
        if (remote_call (&page, "x_events.log", body.p, &data, err) < 0)
            return -1;
        n = json_count (json_get (data, "lines"));
        prev = json_string (a, json_get (data, "prev"));
        if (left <= (int64_t)n || !n || !prev) {
            if (tail)
                print_page (p, a, data, &n);
            else if ((prev = json_string (a, json_get (data, "next"))))
                snprintf (p->cursor, sizeof (p->cursor), "%s", prev);
            return 0;
        }
        left -= (int64_t)n;
        snprintf (before, sizeof (before), "%s", prev);
    }
}

/* A page from any other server: lines after p->from; those of that very millisecond that were printed are skipped. */
static int page_other (struct task_log *p, struct remote *page, size_t *ret_n, struct error *err)
{
    struct arena *a = page->arena;
    struct text data;
    int64_t from = p->from, seen = p->skip;

    if (remote_call (
            page, "events.get_task_log",
            arena_printf (
                a,
                "{\"task\":\"%s\",\"batch_size\":%d,\"navigate_earlier\":false,\"from_timestamp\":%lld,"
                "\"order\":\"asc\"}",
                p->id, PAGE_LINES, (long long)(from ? from - 1 : 0)),
            &data, err) < 0)
        return -1;
    *ret_n = 0;
    for (struct json_iter it = json_iter (json_get (data, "events")); json_next (&it);) {
        int64_t t = json_int (json_get (it.value, "timestamp"), 0);

        if (t == from && seen-- > 0)
            continue;
        p->skip = t == p->from ? p->skip + 1 : 1;
        p->from = t;
        print_line (p, a, it.value, "msg", p->cut);
        p->cut = 0;
        ++*ret_n;
    }
    return 0;
}

/* How many lines print_line makes of an event. */
static int64_t count_lines (const struct task_log *p, struct arena *a, struct text event)
{
    const char *s = p->json ? NULL : json_string (a, json_get (event, "msg"));
    int64_t n = 0;

    if (!s || !*s)
        return 1;
    for (; *s; s += strcspn (s, "\n"), s += *s == '\n')
        n++;
    return n;
}

/* Count lines of a page, newest first, until *left of them are found: then the printer stands there. An event's whole
 * millisecond is on its page. */
static void step_back (struct task_log *p, struct arena *a, struct text events, int64_t *left,
                       bool *ret_found, int64_t *ret_oldest)
{
    for (struct json_iter it = json_iter (events); json_next (&it);) {
        int64_t t = json_int (json_get (it.value, "timestamp"), 0), n;

        *ret_oldest = t;
        if (*ret_found) {
            p->skip += t == p->from;
            continue;
        }
        n = count_lines (p, a, it.value);
        if (*left && n < *left) {
            *left -= n;
            continue;
        }
        *ret_found = true;
        p->from = t;
        p->skip = *left ? 0 : 1;
        p->cut = *left ? n - *left : 0;
    }
}

/* Place the printer `tail` lines before the end of what any other server has. */
static int find_tail_other (struct task_log *p, struct remote *r, int64_t tail, struct error *err)
{
    int64_t oldest = 0;

    for (bool found = false; !found;) {
        cleanup_arena struct arena *a = arena_create ();
        struct remote page = *r;
        struct text data;

        page.arena = a;
        if (remote_call (&page, "events.get_task_log",
                         arena_printf (a,
                                       "{\"task\":\"%s\",\"batch_size\":%d,\"navigate_earlier\":true,"
                                       "\"from_timestamp\":%lld,\"order\":\"desc\"}",
                                       p->id, (int)(tail < PAGE_LINES ? tail + 1 : PAGE_LINES),
                                       (long long)oldest),
                         &data, err) < 0)
            return -1;
        data = json_get (data, "events");
        if (!json_count (data))
            return 0; /* there are not so many: all */
        step_back (p, a, data, &tail, &found, &oldest);
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

/* One page; wait_ms: how long to wait for a line when there is none. */
static int page (struct task_log *p, struct remote *r, int64_t wait_ms, size_t *ret_n, struct error *err)
{
    cleanup_arena struct arena *a = arena_create ();
    struct remote page = *r;

    page.arena = a;
    if (r->has_log)
        return page_own (p, &page, wait_ms, ret_n, err);
    if (wait_ms)
        nanosleep (&(struct timespec){ .tv_sec = 1 }, NULL);
    return page_other (p, &page, ret_n, err);
}

/* All there is after the place where the printer stands. */
static int print_rest (struct task_log *p, struct remote *r, struct error *err)
{
    for (size_t n = 1; n > 0;)
        if (page (p, r, 0, &n, err) < 0 || out_written (err) < 0)
            return -1;
    return 0;
}

int task_log_print (struct remote *r, struct task_log *p, char **ret_status, struct error *err)
{
    int64_t tail = p->begun ? -1 : p->tail;
    size_t n;

    p->begun = true;
    if (tail >= 0 && (r->has_log ? print_tail : find_tail_other) (p, r, tail, err) < 0)
        return -1;
    if (tail && print_rest (p, r, err) < 0)
        return -1;
    for (;;) {
        cleanup_arena struct arena *a = arena_create ();
        char *status;

        if (out_written (err) < 0 || task_status (r, p->id, a, &status, err) < 0)
            return -1;
        if (has_ended (status) || !p->follow || (p->stop && *p->stop)) {
            *ret_status = arena_strdup (r->arena, status);
            return p->follow ? print_rest (p, r, err) : 0; /* what came between the last page and the end */
        }
        if (page (p, r, p->stop ? 1000 : 20000, &n, err) < 0)
            return -1;
    }
}

int task_log (int argc, char **argv)
{
    cleanup_arena struct arena *a = arena_create ();
    cleanup_remote struct remote r = { 0 };
    struct log_opts o = { .tail = -1 };
    struct error err = { 0 };
    struct task_log log = { 0 };
    char *id, *status;
    int rc = remote_begin (&command, argc, argv, &o, a, &r);

    if (rc != VERB_GO)
        return rc;
    if (remote_find_task (&r, o.task, &id, &err) < 0)
        return out_failed (command.name, &err);
    log = (struct task_log){ .id = id, .tail = o.tail, .json = o.json, .follow = o.follow };
    if (task_log_print (&r, &log, &status, &err) < 0)
        return out_failed (command.name, &err);
    if (o.json)
        printf ("{\"id\":\"%s\",\"status\":\"%s\"}\n", id, status);
    return 0;
}
