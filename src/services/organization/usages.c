/* usages.c - how long tasks of projects ran, day by day: by project, queue and user, in seconds, and in seconds of CPUs and
 * GPUs as the workers of a queue said how many a task there uses. The runs come sorted by what they are summed by, so that
 * one row of days is enough. A day is one of the time zone that from_date is written in. */
#include "api/organization.api.h"
#include "base/clock.h"
#include "base/json.h"
#include "services/answer.h"
#include "sql/sql.h"
#include "store/store.h"

enum { SECOND = 1000, DAY = 24 * 3600 * SECOND, DAYS_MAX = 3660, CELLS_MAX = 1000000 };

/* -- what is asked ------------------------------------------------------------------------------------------------ */
enum field { DURATION, CPU, GPU, FIELDS };
static const char *const field_names[] = { "duration", "cpu_usage", "gpu_usage", NULL };
static const char *const made_up_names[] = { NULL, "cpu_artificial_weights", "gpu_artificial_weights" };

enum key { PROJECT, QUEUE, USER, KEYS };
static const char *const key_names[] = { "project", "queue", "user", NULL };

struct wish {
    int64_t from, to; /* ms, the beginning of a day each */
    size_t days;
    bool fields[FIELDS], keys[KEYS], development;
    struct text projects; /* JSON list */
};

/* Which of `names` are in the list: those in `otherwise` when it is empty. */
static int chosen (const char *what, const char *const *v, size_t n, const char *const *names,
                   unsigned otherwise, bool *ret, struct error *err)
{
    for (size_t k = 0; names[k]; k++)
        ret[k] = !n && otherwise & 1u << k;
    for (size_t i = 0; i < n; i++) {
        size_t k = 0;
        while (names[k] && strcmp (names[k], v[i] ? v[i] : "") != 0)
            k++;
        if (!names[k])
            return error_set (err, ERR_VALIDATION, "%s: '%s' is not one of %s, %s, %s", what,
                              v[i] ? v[i] : "null", names[0], names[1], names[2]);
        ret[k] = true;
    }
    return 0;
}

/* The moment, and the midnight before it where it is written, as if that were UTC. */
static int moment (const char *what, const char *text, int64_t *ret_at, int64_t *ret_day, struct error *err)
{
    size_t date = strcspn (text, "Tt ");
    if (clock_parse (text, strlen (text), ret_at) < 0 || clock_parse (text, date, ret_day) < 0)
        return error_set (err, ERR_VALIDATION, "%s: '%s' is no ISO 8601 date", what, text);
    return 0;
}

/* How far the zone of a date-time is east of UTC. */
static int64_t zone_of (const char *text, int64_t at)
{
    const char *time = strpbrk (text, "Tt "), *zone = time ? strpbrk (time + 1, "Zz+-") : NULL;
    int64_t local = at;
    if (zone && clock_parse (text, (size_t)(zone - text), &local) < 0)
        local = at;
    return local - at;
}

static int wish_of (struct call *c, const struct organization_get_project_usages_in *in, struct wish *w,
                    struct error *err)
{
    int64_t from, to, first, last;
    if (!in->projects.n)
        return error_set (err, ERR_VALIDATION, "projects: give at least one");
    if (chosen ("usage_fields", in->usage_fields.v, in->usage_fields.n, field_names,
                1u << DURATION | 1u << GPU, w->fields, err) < 0 ||
        chosen ("breakdown_keys", in->breakdown_keys.v, in->breakdown_keys.n, key_names, ~0u, w->keys, err) <
            0 ||
        moment ("from_date", in->from_date, &from, &first, err) < 0 ||
        moment ("to_date", in->to_date, &to, &last, err) < 0)
        return -1;
    if (from > to)
        return error_set (err, ERR_VALIDATION, "from_date: later than to_date");
    if ((last - first) / DAY >= DAYS_MAX)
        return error_set (err, ERR_VALIDATION, "to_date: more than %d days after from_date", DAYS_MAX);
    w->days = last > first ? (size_t)((last - first) / DAY) + 1 : 1;
    w->from = first - zone_of (in->from_date, from);
    w->to = w->from + (int64_t)w->days * DAY;
    w->development = in->include_development;
    w->projects = tags_of (c->arena, in->projects.v, in->projects.n);
    return 0;
}

/* One project alone is shown by its children, and what lies in it directly. */
static int with_children (struct call *c, const char *project, struct text *ret, struct error *err)
{
    struct tag_list ids = { 0 };
    cleanup_rows struct rows r = { 0 };
    int more;
    tags_add (c->arena, &ids, project);
    if (db_query (c->db, &sql_project_children, &r, err, V_STR (project)) < 0)
        return -1;
    while ((more = db_next (&r, err)) > 0)
        tags_add (c->arena, &ids, row_str (&r, 0, c->arena));
    *ret = tags_write (c->arena, &ids);
    return more;
}

/* -- the sums ----------------------------------------------------------------------------------------------------- */
struct day {
    double v[FIELDS]; /* whole seconds stay exact */
};
struct sums {
    const struct wish *w;
    struct day *days;
    size_t n; /* how many were opened */
    const char *id, *name;
    bool any, made_up[FIELDS]; /* made_up: no worker of a queue said how many it uses, so it is one */
    struct str total, series;
};

static int64_t least (int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int64_t most (int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* One run, from and to a moment within the days asked for. */
static void add_run (struct sums *s, int64_t started, int64_t stopped, double cpu, double gpu)
{
    for (int64_t d = (started - s->w->from) / DAY; d < (int64_t)s->w->days; d++) {
        int64_t begin = s->w->from + d * DAY;
        if (begin >= stopped)
            break;
        int64_t seconds = least (stopped, begin + DAY) / SECOND - most (started, begin) / SECOND;
        s->days[d].v[DURATION] += (double)seconds;
        s->days[d].v[CPU] += (double)seconds * cpu;
        s->days[d].v[GPU] += (double)seconds * gpu;
    }
}

static void put_head (struct sums *s, struct str *out)
{
    json_put_comma (out);
    str_putc (out, '{');
    fields_str (out, "name", s->name);
    fields_str (out, "id", s->id);
}

static void put_tail (struct sums *s, struct str *out)
{
    for (int f = CPU; f < FIELDS; f++)
        if (s->w->fields[f] && s->made_up[f])
            fields_json (out, made_up_names[f], TEXT ("true"));
    str_putc (out, '}');
}

static void put_number (struct str *out, enum field f, double v)
{
    if (f == DURATION)
        str_add_int (out, (int64_t)v);
    else
        str_add_double (out, v);
}

/* What was summed is told; the days are empty again. */
static void close_sums (struct sums *s)
{
    if (!s->any)
        return;
    put_head (s, &s->total);
    put_head (s, &s->series);
    json_put_key (&s->series, "dates");
    str_putc (&s->series, '[');
    for (size_t d = 0; d < s->w->days; d++) {
        json_put_comma (&s->series);
        str_add_int (&s->series, (s->w->from + (int64_t)d * DAY) / SECOND);
    }
    str_putc (&s->series, ']');
    for (int f = 0; f < FIELDS; f++) {
        double sum = 0;
        if (!s->w->fields[f])
            continue;
        json_put_key (&s->series, field_names[f]);
        str_putc (&s->series, '[');
        for (size_t d = 0; d < s->w->days; d++) {
            json_put_comma (&s->series);
            put_number (&s->series, (enum field)f, s->days[d].v[f]);
            sum += s->days[d].v[f];
        }
        str_putc (&s->series, ']');
        json_put_key (&s->total, field_names[f]);
        put_number (&s->total, (enum field)f, sum);
    }
    put_tail (s, &s->total);
    put_tail (s, &s->series);
    memset (s->days, 0, s->w->days * sizeof (*s->days));
    s->any = s->made_up[CPU] = s->made_up[GPU] = false;
}

/* Does the row go on with what is summed? */
static bool goes_on (const struct sums *s, struct rows *r)
{
    if (!s->any || row_null (r, 0) != !s->id)
        return false;
    return !s->id || text_is (row_text (r, 0), s->id);
}

/* What is summed from now on: one more row of days, as far as an answer may grow. */
static int open_sums (struct call *c, struct sums *s, struct rows *r, struct error *err)
{
    close_sums (s);
    if (++s->n * s->w->days > CELLS_MAX)
        return error_set (err, ERR_VALIDATION,
                          "to_date: %zu days of more than %zu projects, queues or users are too much for one "
                          "answer: ask for fewer days or projects",
                          s->w->days, s->n - 1);
    s->any = true;
    s->id = row_null (r, 0) ? NULL : row_str (r, 0, c->arena);
    s->name = row_null (r, 1) ? s->id : row_str (r, 1, c->arena);
    return 0;
}

static int usages_by (struct call *c, const struct wish *w, enum key key, struct text *ret, struct error *err)
{
    struct sums s = { .w = w,
                      .days = arena_array (c->arena, struct day, w->days),
                      .total = { .arena = c->arena },
                      .series = { .arena = c->arena } };
    struct str out = { .arena = c->arena };
    cleanup_rows struct rows r = { 0 };
    int more;

    memset (s.days, 0, w->days * sizeof (*s.days));
    if (db_query (c->db, &sql_organization_runs, &r, err, V_STR (c->who.company), V_TEXT (w->projects),
                  V_STR (key_names[key]), V_INT (w->from), V_INT (w->to), V_INT (c->now),
                  V_INT (w->development)) < 0)
        return -1;
    while ((more = db_next (&r, err)) > 0) {
        if (!goes_on (&s, &r) && open_sums (c, &s, &r, err) < 0)
            return -1;
        s.made_up[CPU] |= row_null (&r, 4);
        s.made_up[GPU] |= row_null (&r, 5);
        add_run (&s, row_int (&r, 2), row_int (&r, 3), row_null (&r, 4) ? 1 : row_real (&r, 4),
                 row_null (&r, 5) ? 1 : row_real (&r, 5));
    }
    if (more < 0)
        return -1;
    close_sums (&s);
    str_puts (&out, "{\"total\":[");
    str_add_text (&out, str_text (&s.total));
    str_puts (&out, "],\"series\":[");
    str_add_text (&out, str_text (&s.series));
    str_puts (&out, "]}");
    *ret = str_text (&out);
    return 0;
}

int organization_get_project_usages (struct call *c, const struct organization_get_project_usages_in *in,
                                     struct organization_get_project_usages_out *out, struct error *err)
{
    struct text *const to[] = { [PROJECT] = &out->projects, [QUEUE] = &out->queues, [USER] = &out->users };
    struct wish w = { 0 };

    if (wish_of (c, in, &w, err) < 0 ||
        (in->projects.n == 1 && with_children (c, in->projects.v[0], &w.projects, err) < 0))
        return -1;
    for (int k = 0; k < KEYS; k++)
        if (w.keys[k] && usages_by (c, &w, (enum key)k, to[k], err) < 0)
            return -1;
    return 0;
}
