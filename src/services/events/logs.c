/* logs.c - the console: get_task_log in its three versions, download, clearing; our x_events.log. */
#include "api/events.api.h"
#include "api/x_events.api.h"
#include "base/json.h"
#include "services/call.h"
#include "services/events/row.h"
#include "services/events/scroll.h"
#include "services/events/select.h"
#include "services/tasks/tasks.h"
#include "sql/sql.h"
#include "store/store.h"
#include "store/text.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

enum { PAGE_MOST = 10000, LINES_MOST = 5000, WAIT_MOST_MS = 120000 };

struct wanted { /* events of some metrics only */
    const struct metric_choice *v;
    size_t n;
    struct arena *arena;
};

static bool is_wanted (const struct log_event *e, void *arg)
{
    const struct wanted *w = arg;

    for (size_t i = 0; i < w->n; i++) {
        if (!text_is (e->metric, w->v[i].metric))
            continue;
        if (!w->v[i].n)
            return true;
        for (size_t k = 0; k < w->v[i].n; k++)
            if (text_is (e->variant, w->v[i].variants[k]))
                return true;
    }
    return false;
}

static void put_text (struct str *s, const char *name, struct text t)
{
    if (!t.p)
        return;
    str_puts (s, ",\"");
    str_puts (s, name);
    str_puts (s, "\":");
    str_add_json (s, t.p, t.n);
}

void event_log_put (struct str *s, const struct log_event *e, const char *task, bool whole)
{
    str_puts (s, "{\"timestamp\":");
    str_add_int (s, e->time);
    if (whole) {
        str_puts (s, ",\"type\":\"log\",\"task\":");
        json_put_string (s, task);
    }
    put_text (s, "level", e->level);
    put_text (s, "worker", e->worker);
    put_text (s, "msg", e->msg);
    if (e->extra.n) {
        str_putc (s, ',');
        str_add_text (s, e->extra);
    }
    event_received (s, e->received);
    put_text (s, "metric", e->metric);
    put_text (s, "variant", e->variant);
    str_putc (s, '}');
}

static struct text put_events (struct call *c, const char *task, const struct log_event *v, size_t n,
                               bool reverse)
{
    struct str s = { .arena = c->arena };

    str_putc (&s, '[');
    for (size_t i = 0; i < n; i++) {
        if (i)
            str_putc (&s, ',');
        event_log_put (&s, &v[reverse ? n - 1 - i : i], task, true);
    }
    str_putc (&s, ']');
    return str_text (&s);
}

static size_t page_size (int64_t asked)
{
    return (size_t)(asked < 1 ? 1 : asked > PAGE_MOST ? PAGE_MOST : asked);
}

static int check_order (const char *order, struct error *err)
{
    if (!order || !strcmp (order, "asc") || !strcmp (order, "desc"))
        return 0;
    return error_set (err, ERR_VALIDATION, "field order: '%.40s' is neither asc nor desc", order);
}

int events_get_task_log_2_9 (struct call *c, const struct events_get_task_log_2_9_in *in,
                             struct events_get_task_log_2_9_out *out, struct error *err)
{
    int64_t from = (int64_t)in->from_timestamp, none = in->navigate_earlier ? INT64_MAX : INT64_MIN;
    struct metric_choice *choices;
    struct log_event *v;
    struct stream stream;
    struct wanted w;
    size_t n;

    METRIC_CHOICES (c->arena, in->metrics, choices);
    w = (struct wanted){ choices, in->metrics.n, c->arena };
    if (check_order (in->order, err) < 0 || select_stream (c, in->task, false, &stream, err) < 0 ||
        log_page (c->db, c->arena, stream.id, in->navigate_earlier, from ? from : none,
                  page_size (in->batch_size), w.n ? is_wanted : NULL, &w, &v, &n, err) < 0)
        return -1;
    out->total = stream.log_events;
    if (w.n && log_count (c->db, stream.id, is_wanted, &w, &out->total, err) < 0)
        return -1;
    out->events = put_events (c, in->task, v, n,
                              in->order && !strcmp (in->order, in->navigate_earlier ? "asc" : "desc"));
    out->returned = (int64_t)n;
    out->has.returned = out->has.total = true;
    return 0;
}

/* -- the older versions: by scroll ----------------------------------------------------------------------------------- */

struct scrolled {
    const char *task;
    bool earlier, reverse; /* direction of the scroll; pages turned round */
    size_t size;
    const char *scroll_id;
    struct text events; /* out, as the next three */
    size_t returned;
    int64_t total;
    char *next;
};

static int scroll_log (struct call *c, struct scrolled *q, struct error *err)
{
    int64_t time = q->earlier ? INT64_MAX : INT64_MIN;
    struct stream stream;
    struct log_event *v = NULL;
    struct text state;
    size_t n = 0;
    bool ended = q->scroll_id && !strcmp (q->scroll_id, "FFFF");

    if (q->scroll_id && *q->scroll_id && !ended) {
        if (scroll_open (c, "log", q->scroll_id, &state, err) < 0)
            return -1;
        time = json_int (json_get (state, "time"), time);
        q->earlier = json_true (json_get (state, "earlier"));
        q->reverse = json_true (json_get (state, "reverse"));
    }
    if (select_stream (c, q->task, false, &stream, err) < 0 ||
        (!ended &&
         log_page (c->db, c->arena, stream.id, q->earlier, time, q->size, NULL, NULL, &v, &n, err) < 0))
        return -1;
    q->events = put_events (c, q->task, v, n, q->reverse);
    q->returned = n;
    q->total = stream.log_events;
    q->next =
        n ? scroll_make (c, "log",
                         text_of (arena_printf (
                             c->arena, "{\"time\":%" PRId64 ",\"earlier\":%s,\"reverse\":%s}", v[n - 1].time,
                             q->earlier ? "true" : "false", q->reverse ? "true" : "false")))
          : "FFFF";
    return 0;
}

int events_get_task_log_1_0 (struct call *c, const struct events_get_task_log_1_0_in *in,
                             struct events_get_task_log_1_0_out *out, struct error *err)
{
    struct scrolled q = { .task = in->task,
                          .earlier = !in->order || strcmp (in->order, "asc") != 0,
                          .size = page_size (in->batch_size),
                          .scroll_id = in->scroll_id };

    if (check_order (in->order, err) < 0 || scroll_log (c, &q, err) < 0)
        return -1;
    out->events = q.events;
    out->returned = (int64_t)q.returned;
    out->total = q.total;
    out->scroll_id = q.next;
    out->has.returned = out->has.total = true;
    return 0;
}

int events_get_task_log_1_7 (struct call *c, const struct events_get_task_log_1_7_in *in,
                             struct events_get_task_log_1_7_out *out, struct error *err)
{
    bool head = in->from && !strcmp (in->from, "head"), asc = in->order && !strcmp (in->order, "asc");
    struct scrolled q = { .task = in->task,
                          .earlier = !head,
                          .reverse = head != asc,
                          .size = page_size (in->batch_size),
                          .scroll_id = in->scroll_id };

    if (in->from && !head && strcmp (in->from, "tail") != 0)
        return error_set (err, ERR_VALIDATION, "field from: '%.40s' is neither head nor tail", in->from);
    if (check_order (in->order, err) < 0 || scroll_log (c, &q, err) < 0)
        return -1;
    out->events = q.events;
    out->returned = (int64_t)q.returned;
    out->total = q.total;
    out->scroll_id = q.next;
    out->has.returned = out->has.total = true;
    return 0;
}

/* -- as a file ------------------------------------------------------------------------------------------------------- */

static void put_plain (struct str *s, struct text t)
{
    if (t.p)
        str_add_text (s, t);
}

/* A placeholder of line_format; false: there is none of this name. e NULL: only look. */
static bool put_placeholder (struct str *s, struct text name, const struct log_event *e)
{
    static const char *const names[] = {
        "asctime", "timestamp", "worker", "level", "msg", "metric", "variant"
    };
    size_t i = 0;

    while (i < sizeof (names) / sizeof (*names) && !text_is (name, names[i]))
        i++;
    if (i == sizeof (names) / sizeof (*names))
        return false;
    if (!e)
        return true;
    if (i < 2)
        str_add_int (s, e->time);
    else
        put_plain (s, i == 2   ? e->worker
                      : i == 3 ? e->level
                      : i == 4 ? e->msg
                      : i == 5 ? e->metric
                               : e->variant);
    return true;
}

/* "{asctime} {msg}": "{{" and "}}" are braces. e NULL: only check. */
static int put_formatted (struct str *s, const char *format, const struct log_event *e, struct error *err)
{
    for (const char *p = format; *p; p++) {
        const char *end;

        if ((*p == '{' || *p == '}') && p[1] == *p) {
            str_putc (s, *p++);
        } else if (*p != '{') {
            str_putc (s, *p);
        } else {
            end = strchr (p, '}');
            if (!end || !put_placeholder (s, (struct text){ p + 1, (size_t)(end - p - 1) }, e))
                return error_set (
                    err, ERR_FIELDS_VALUE,
                    "field line_format: unknown placeholder at '%.40s'; known are asctime, worker, level, "
                    "msg, metric, variant",
                    p);
            p = end;
        }
    }
    return 0;
}

int events_download_task_log (struct call *c, const struct events_download_task_log_in *in,
                              struct events_download_task_log_out *out, struct error *err)
{
    bool json = !strcmp (in->line_type, "json");
    struct str s = { .arena = c->arena };
    int64_t from = INT64_MIN;
    struct stream stream;
    struct log_event *v;
    size_t n;

    (void)out;
    if (!json && strcmp (in->line_type, "text") != 0)
        return error_set (err, ERR_VALIDATION, "field line_type: '%.40s' is neither json nor text",
                          in->line_type);
    if (put_formatted (&s, in->line_format, NULL, err) < 0 ||
        select_stream (c, in->task, false, &stream, err) < 0)
        return -1;
    str_reset (&s);
    do {
        cleanup_arena struct arena *page = arena_create ();

        if (log_page (c->db, page, stream.id, false, from, 5000, NULL, NULL, &v, &n, err) < 0)
            return -1;
        for (size_t i = 0; i < n; i++) {
            if (json)
                event_log_put (&s, &v[i], in->task, false);
            else if (put_formatted (&s, in->line_format, &v[i], err) < 0)
                return -1;
            str_putc (&s, '\n');
        }
        from = n ? v[n - 1].time : from;
    } while (n);
    c->raw_reply = str_text (&s);
    c->raw_type = "text/plain";
    c->raw_filename = arena_printf (c->arena, "task_%s.log", in->task);
    return 0;
}

/* -- clearing -------------------------------------------------------------------------------------------------------- */

struct to_clear {
    const struct events_clear_task_log_in *in;
};

static bool among (const char *const *v, size_t n, struct text t)
{
    for (size_t i = 0; i < n; i++)
        if (text_is (t, v[i]))
            return true;
    return false;
}

static bool is_to_clear (const struct log_event *e, void *arg)
{
    const struct to_clear *t = arg;

    if (t->in->include_metrics.n &&
        !among ((const char *const *)t->in->include_metrics.v, t->in->include_metrics.n, e->metric))
        return false;
    return !among ((const char *const *)t->in->exclude_metrics.v, t->in->exclude_metrics.n, e->metric);
}

static int check_unlocked (struct call *c, const char *task, bool allow_locked, struct error *err)
{
    struct task_facts f;

    if (task_facts (c, task, false, &f, err) < 0)
        return -1;
    if (!allow_locked && (!strcmp (f.status, "published") || !strcmp (f.status, "publishing")))
        return error_set (err, ERR_INVALID_TASK_ID, "task %s is published: its events cannot be changed",
                          task);
    return 0;
}

int events_clear_task_log (struct call *c, const struct events_clear_task_log_in *in,
                           struct events_clear_task_log_out *out, struct error *err)
{
    int64_t before = in->threshold_sec > 0 ? c->now - in->threshold_sec * 1000 : INT64_MAX;
    bool some = in->include_metrics.n || in->exclude_metrics.n;
    struct to_clear t = { in };
    struct stream stream;

    if (check_unlocked (c, in->task, in->allow_locked, err) < 0 ||
        stream_get (c->db, in->task, &stream, err) < 0)
        return -1;
    if (stream.id &&
        log_remove (c->db, stream.id, before, some ? is_to_clear : NULL, &t, &out->deleted, err) < 0)
        return -1;
    out->has.deleted = true;
    return 0;
}

int events_delete_for_task (struct call *c, const struct events_delete_for_task_in *in,
                            struct events_delete_for_task_out *out, struct error *err)
{
    if (check_unlocked (c, in->task, in->allow_locked, err) < 0 || stream_retire (c->db, in->task, err) < 0)
        return -1;
    call_after_commit (c, EFFECT_SWEEP, NULL, NULL, 0);
    out->deleted = out->has.deleted = true;
    return 0;
}

/* -- x_events.log ---------------------------------------------------------------------------------------------------- */

/* A cursor names the stream, so that a task that was reset is read from its new start. */
static char *cursor_of (struct call *c, const struct stream *s, int64_t line)
{
    return arena_printf (c->arena, "%" PRId64 "-%" PRId64, s->id, line);
}

static int read_cursor (const char *field, const char *text, const struct stream *s, int64_t *ret,
                        struct error *err)
{
    int64_t stream, line;
    int end = 0;

    if (sscanf (text, "%" SCNd64 "-%" SCNd64 "%n", &stream, &line, &end) != 2 || text[end] || line < 0)
        return error_set (err, ERR_VALIDATION, "field %s: '%.60s' is no cursor that x_events.log gave", field,
                          text);
    *ret = stream == s->id ? line : 0;
    return 0;
}

static bool is_open (const char *status)
{
    return !strcmp (status, "created") || !strcmp (status, "queued") || !strcmp (status, "in_progress");
}

/* C strings cannot hold NUL: shown as U+FFFD, like other bytes that are no text. */
static char *line_text (struct arena *a, struct text t)
{
    struct str s = { .arena = a };

    if (!t.n)
        return "";
    if (!memchr (t.p, 0, t.n))
        return arena_text (a, t);
    for (size_t i = 0; i < t.n; i++) {
        if (t.p[i])
            str_putc (&s, t.p[i]);
        else
            str_puts (&s, "\xef\xbf\xbd");
    }
    return s.p;
}

static void fill_lines (struct call *c, const struct log_line *v, size_t n, struct x_events_log_out *out)
{
    out->lines.v = arena_array (c->arena, struct x_events_line, n + 1);
    for (size_t i = 0; i < n; i++) {
        struct x_events_line *l = &out->lines.v[out->lines.n++];

        l->n = v[i].n;
        l->t = v[i].time;
        l->level = v[i].level.p ? arena_text (c->arena, v[i].level) : NULL;
        l->text = line_text (c->arena, v[i].text);
        l->has.n = l->has.t = true;
    }
}

int x_events_log (struct call *c, const struct x_events_log_in *in, struct x_events_log_out *out,
                  struct error *err)
{
    size_t limit = (size_t)(in->limit < 1 ? 1 : in->limit > LINES_MOST ? LINES_MOST : in->limit), n = 0;
    int64_t after = 0, before = INT64_MAX, last;
    struct log_line *v = NULL;
    struct task_facts facts;
    struct stream s;

    if (in->after && in->before)
        return error_set (err, ERR_VALIDATION, "fields after and before: give one of them");
    if (task_facts (c, in->task, true, &facts, err) < 0 || stream_get (c->db, in->task, &s, err) < 0 ||
        (in->after && *in->after && read_cursor ("after", in->after, &s, &after, err) < 0) ||
        (in->before && read_cursor ("before", in->before, &s, &before, err) < 0))
        return -1;
    if (s.id && log_read_lines (c->db, c->arena, s.id, !in->after, in->after ? after + 1 : before, limit, &v,
                                &n, err) < 0)
        return -1;
    out->open = is_open (facts.status);
    if (!n && !in->before && in->wait_ms > 0 && out->open && !c->last_try) {
        call_wait (c, in->wait_ms < WAIT_MOST_MS ? in->wait_ms : WAIT_MOST_MS, "events/%s\ntask/%s", in->task,
                   in->task); /* lines, or its end */
        return 0;
    }
    fill_lines (c, v, n, out);
    last = n ? v[n - 1].n : in->after ? after : in->before && before > 0 ? before - 1 : 0;
    out->next = cursor_of (c, &s, last);
    if (n && v[0].n > 1)
        out->prev = cursor_of (c, &s, v[0].n);
    out->total = s.lines;
    out->has.total = out->has.open = true;
    return 0;
}

/* -- scrolls keep nothing here --------------------------------------------------------------------------------------- */

int events_clear_scroll (struct call *c, const struct events_clear_scroll_in *in,
                         struct events_clear_scroll_out *out, struct error *err)
{
    (void)c;
    (void)in;
    (void)out;
    (void)err;
    return 0;
}
