/* event.c - the general way of scan.h: any JSON object to an event, member by member, by a table. */
#include "services/events/scan.h"

#include "base/json.h"
#include "store/series.h"
#include "wire/errors.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

static const char *const type_names[] = { [EVENT_SCALAR] = "training_stats_scalar",
                                          [EVENT_VECTOR] = "training_stats_vector",
                                          [EVENT_IMAGE] = "training_debug_image",
                                          [EVENT_PLOT] = "plot",
                                          [EVENT_LOG] = "log" };

const char *event_type_name (enum event_type t)
{
    return type_names[t];
}

enum event_type event_type_find (struct text name)
{
    for (int t = EVENT_SCALAR; t <= EVENT_LOG; t++) {
        size_t i = 0;

        if (name.n != strlen (type_names[t]))
            continue;
        while (i < name.n && (name.p[i] == type_names[t][i] || (name.p[i] == ' ' && type_names[t][i] == '_')))
            i++;
        if (i == name.n)
            return (enum event_type)t;
    }
    return 0;
}

/* What was read so far; `raw` members keep their JSON until the type is known. */
struct reading {
    struct arena *arena;
    struct event e;
    struct str extra;
    struct text value, iter, time, ts, model, metric, variant;
    struct text level, worker, msg, url, key, plot;
    bool has_worker;
};

struct known {
    const char *name;
    size_t raw; /* offset in struct reading where its JSON goes, 0 = nowhere */
    bool kept;  /* also stays among the other members */
};
#define RAW(member) offsetof (struct reading, member)
static const struct known known[] = {
    { "value", RAW (value), false },     { "values", RAW (value), false },
    { "iter", RAW (iter), false },       { "timestamp", RAW (time), false },
    { "ts", RAW (ts), false },           { "metric", RAW (metric), false },
    { "variant", RAW (variant), false }, { "level", RAW (level), true },
    { "worker", RAW (worker), true },    { "msg", RAW (msg), true },
    { "url", RAW (url), true },          { "key", RAW (key), true },
    { "plot_str", RAW (plot), true },    { "model", RAW (model), true },
    { "@timestamp", 0, false },          { "plot_len", 0, false },
    { "source_urls", 0, false },
};

/* A member's key matches `name`? Keys with escapes are compared unescaped. */
static bool key_is (struct arena *a, struct text key, const char *name)
{
    if (!memchr (key.p, '\\', key.n))
        return text_is (key, name);
    return !strcmp (json_key (a, key), name);
}

static struct text string_of (struct arena *a, struct text v)
{
    return json_string_text (a, v);
}

/* Append JSON text; NaN and infinities, which are at home in `value` only, become null, so that what is answered later is
 * JSON for everybody. */
static void put_valid (struct str *s, struct text v)
{
    static const struct text odd[] = { { "NaN", 3 }, { "-Infinity", 9 }, { "Infinity", 8 } };
    bool quoted = false;

    if (!memchr (v.p, 'N', v.n) && !memchr (v.p, 'I', v.n)) {
        str_add_text (s, v);
        return;
    }
    for (size_t i = 0; i < v.n; i++) {
        size_t k = 0;

        if (quoted && v.p[i] == '\\' && i + 1 < v.n) {
            str_add (s, v.p + i++, 2);
            continue;
        }
        if (v.p[i] == '"')
            quoted = !quoted;
        while (!quoted && k < 3 && (v.n - i < odd[k].n || memcmp (v.p + i, odd[k].p, odd[k].n) != 0))
            k++;
        if (quoted || k == 3) {
            str_putc (s, v.p[i]);
        } else {
            str_puts (s, "null");
            i += odd[k].n - 1;
        }
    }
}

static void keep (struct str *extra, struct text key, struct text value)
{
    str_putc (extra, '"');
    str_add_text (extra, key);
    str_puts (extra, "\":");
    put_valid (extra, value);
    str_putc (extra, ',');
}

/* Bytes of the beginning to show in words: at most `most`, whole letters. */
static int cut (struct text t, size_t most)
{
    size_t n = t.n < most ? t.n : most;

    while (n && n < t.n && (t.p[n] & 0xc0) == 0x80)
        n--;
    return (int)n;
}

/* Members that are read at once. */
static bool take_special (struct reading *r, struct text key, struct text v)
{
    struct event *e = &r->e;

    if (key_is (r->arena, key, "type")) {
        struct text name = string_of (r->arena, v);

        e->type = event_type_find (name);
        if (!e->type && !e->problem)
            e->problem = arena_printf (r->arena, "Invalid event type %.*s", cut (v, 80), v.p);
    } else if (key_is (r->arena, key, "task")) {
        e->task = string_of (r->arena, v);
    } else if (key_is (r->arena, key, "model_event")) {
        e->model = json_true (v);
    } else if (key_is (r->arena, key, "allow_locked")) {
        e->allow_locked = json_true (v);
    } else if (key_is (r->arena, key, "x_axis_label")) {
        e->label = string_of (r->arena, v);
    } else if (key_is (r->arena, key, "x_run")) {
        e->run = string_of (r->arena, v);
    } else if (key_is (r->arena, key, "x_offset")) {
        e->offset = json_int (v, 0);
    } else {
        return false;
    }
    return true;
}

static void take_member (struct reading *r, struct text key, struct text v)
{
    if (take_special (r, key, v))
        return;
    for (size_t i = 0; i < sizeof (known) / sizeof (*known); i++) {
        if (!key_is (r->arena, key, known[i].name))
            continue;
        if (known[i].raw)
            memcpy ((char *)r + known[i].raw, &v, sizeof (v));
        r->has_worker |= known[i].raw == RAW (worker) && json_kind (v) != JSON_NULL;
        if (known[i].kept && !(known[i].raw == RAW (worker) && json_kind (v) == JSON_NULL))
            keep (&r->extra, key, v);
        return;
    }
    keep (&r->extra, key, v);
}

/* An integer as the wire coerces it: int, float (cut), text of one. false: none. */
static bool whole (struct arena *a, struct text v, int64_t *ret)
{
    char *z, *end;
    double f;

    if (json_kind (v) == JSON_STRING)
        z = json_string (a, v);
    else if (json_kind (v) == JSON_NUMBER)
        z = arena_text (a, v);
    else
        return false;
    errno = 0;
    *ret = strtoll (z, &end, 10);
    if (end != z && !*end)
        return errno == 0;
    f = strtod (z, &end);
    if (end == z || *end || !(fabs (f) < 9.2e18))
        return false;
    *ret = (int64_t)f;
    return true;
}

static const char *read_numbers (struct reading *r)
{
    struct event *e = &r->e;
    struct text time = r->ts.p ? r->ts : r->time;

    e->iter = SERIES_NO_ITER;
    if (r->iter.p && json_kind (r->iter) != JSON_NULL &&
        (!whole (r->arena, r->iter, &e->iter) || e->iter == SERIES_NO_ITER))
        return arena_printf (r->arena, "iter must be a whole number within 64 bits, not %.*s",
                             cut (r->iter, 40), r->iter.p);
    if (time.p && json_kind (time) != JSON_NULL &&
        (json_kind (time) != JSON_NUMBER || !whole (r->arena, time, &e->time)))
        return arena_printf (r->arena, "timestamp must be a number of milliseconds, not %.*s", cut (time, 40),
                             time.p);
    return NULL;
}

static const char *read_scalar (struct reading *r)
{
    struct text v = r->value;

    r->e.value = v.p ? NAN : point_none (); /* null is what many JSON writers make of a NaN */
    if (!v.p || json_kind (v) == JSON_NULL)
        return NULL;
    if (json_kind (v) == JSON_NUMBER || json_string_is (v, "NaN") || json_string_is (v, "Infinity") ||
        json_string_is (v, "-Infinity")) {
        r->e.value = json_double (v, NAN);
        if (isinf (r->e.value) && !strchr ("\"I", *v.p) && !(v.n > 1 && v.p[1] == 'I'))
            return arena_printf (r->arena, "value %.*s is out of range", cut (v, 40), v.p);
        if (isnan (r->e.value))
            r->e.value = NAN; /* one bit pattern */
        return NULL;
    }
    return arena_printf (r->arena, "value must be a number, not %.*s", cut (v, 40), v.p);
}

/* A metric's or variant's name: "" when missing; a number is its text. Names end at no NUL: it becomes U+FFFD. */
static struct text name_of (struct arena *a, struct text v)
{
    struct str s = { .arena = a };

    if (json_kind (v) == JSON_NUMBER)
        return v;
    v = string_of (a, v);
    if (!v.n || !memchr (v.p, 0, v.n))
        return v.p ? v : TEXT ("");
    for (size_t i = 0; i < v.n; i++) {
        if (v.p[i])
            str_putc (&s, v.p[i]);
        else
            str_puts (&s, "\xef\xbf\xbd");
    }
    return str_text (&s);
}

static const char *finish (struct reading *r, const struct event_defaults *d)
{
    struct event *e = &r->e;

    if (!e->type)
        return "Event must have a 'type' field";
    if (e->model && r->model.p && json_kind (r->model) == JSON_STRING)
        e->task = string_of (r->arena, r->model);
    if (e->model && e->type == EVENT_LOG)
        return "Task log events are not supported for models";
    if (!e->task.n)
        return e->model ? "Event must have a 'model' field" : "Event must have a 'task' field";
    e->metric = name_of (r->arena, r->metric);
    e->variant = name_of (r->arena, r->variant);
    if (!r->has_worker) {
        str_puts (&r->extra, "\"worker\":");
        str_add_json (&r->extra, d->worker, strlen (d->worker));
        str_putc (&r->extra, ',');
    }
    str_puts (&r->extra, e->model ? "\"model_event\":true" : "\"model_event\":false");
    e->extra = str_text (&r->extra);
    return read_numbers (r);
}

/* Console events are stored apart: level, worker and message as texts, the rest as it is. */
static void read_log (struct reading *r, struct text line, const struct event_defaults *d)
{
    struct event *e = &r->e;
    struct json_iter it = json_iter (line);
    struct str extra = { .arena = r->arena };

    e->level = string_of (r->arena, r->level);
    e->worker = r->has_worker ? string_of (r->arena, r->worker) : text_of (d->worker);
    e->msg = string_of (r->arena, r->msg);
    while (json_next (&it)) {
        struct reading one = { .arena = r->arena, .extra = { .arena = r->arena } };

        if ((e->level.p && key_is (r->arena, it.key, "level")) ||
            (e->msg.p && key_is (r->arena, it.key, "msg")) ||
            (e->worker.p && key_is (r->arena, it.key, "worker")))
            continue;
        take_member (&one, it.key, it.value);
        str_add_text (&extra, str_text (&one.extra));
    }
    if (e->iter != SERIES_NO_ITER)
        str_addf (&extra, "\"iter\":%lld,", (long long)e->iter);
    if (r->value.p) {
        str_puts (&extra, "\"value\":");
        put_valid (&extra, r->value);
        str_putc (&extra, ',');
    }
    str_puts (&extra, "\"model_event\":false");
    e->extra = str_text (&extra);
}

static const char *read_plot (struct reading *r)
{
    if (r->plot.p && json_kind (r->plot) != JSON_STRING && json_kind (r->plot) != JSON_NULL)
        return "plot_str must be a string";
    r->e.plot = string_of (r->arena, r->plot);
    return NULL;
}

/* What is wrong, with the event's own name where it has one: a batch holds many. */
static const char *named (struct reading *r, const char *words)
{
    struct text m = r->e.metric, v = r->e.variant;

    if (!m.n && !v.n)
        return words;
    return arena_printf (r->arena, "%s (metric %.*s, variant %.*s)", words, cut (m, 80), m.p, cut (v, 80),
                         v.p);
}

int event_read (struct arena *a, struct text line, const struct event_defaults *d, struct event *ret,
                struct error *err)
{
    struct reading r = { .arena = a, .extra = { .arena = a }, .e = { .time = d->now, .offset = 0 } };
    struct json_iter it;

    if (json_check (line, &line, err) < 0)
        return error_set (err, ERR_MALFORMED, "%s", err->text);
    if (json_kind (line) != JSON_OBJECT)
        return error_set (err, ERR_MALFORMED, "an event must be a JSON object");
    for (it = json_iter (line); json_next (&it);)
        take_member (&r, it.key, it.value);
    if (!r.e.problem)
        r.e.problem = finish (&r, d);
    if (!r.e.problem && r.e.type == EVENT_SCALAR)
        r.e.problem = read_scalar (&r);
    if (!r.e.problem && r.e.type == EVENT_LOG)
        read_log (&r, line, d);
    if (!r.e.problem && r.e.type == EVENT_IMAGE)
        r.e.url = string_of (a, r.url);
    if (!r.e.problem && r.e.type != EVENT_LOG)
        r.e.key = string_of (a, r.key);
    if (!r.e.problem && r.e.type == EVENT_PLOT)
        r.e.problem = read_plot (&r);
    if (r.e.problem)
        r.e.problem = named (&r, r.e.problem);
    if (!r.e.problem && r.value.p &&
        (r.e.type == EVENT_VECTOR || r.e.type == EVENT_IMAGE || r.e.type == EVENT_PLOT)) {
        str_puts (&r.extra, ",\"value\":");
        put_valid (&r.extra, r.value);
        r.e.extra = str_text (&r.extra);
    }
    *ret = r.e;
    return 0;
}
