/* series.c - rows of series and reading their points; see series.h. */
#include "store/series.h"

#include "base/digest.h"
#include "sql/sql.h"
#include "store/store.h"
#include "store/varint.h"

#include <errno.h>
#include <math.h>

static double real_or_nan (struct rows *r, int col)
{
    return row_null (r, col) ? NAN : row_real (r, col);
}

void series_key (struct text metric, struct text variant, char ret[SERIES_KEY + 1])
{
    digest_md5_hex (metric, ret);
    digest_md5_hex (variant, ret + SERIES_KEY / 2);
}

/* -- adding ------------------------------------------------------------------------------------------------- */

/* The sums of what is stored (count 0: nothing yet) and of one request: server.md 4.11. */
static void combine (struct series *s, const struct series_delta *d)
{
    if (!d->count)
        return;
    if (!s->count) {
        s->first = d->first;
        s->first_iter = d->first_iter;
    }
    s->last = d->last;
    s->last_iter = d->last_iter;
    s->count += d->count;
    if (!d->finite)
        return;
    if (!s->finite || d->min < s->min) {
        s->min = d->min;
        s->min_iter = d->min_iter;
    }
    if (!s->finite || d->max > s->max) {
        s->max = d->max;
        s->max_iter = d->max_iter;
    }
    s->mean = series_round2 (((s->finite ? s->mean * (double)s->finite : 0) + d->sum) /
                             (double)(s->finite + d->finite));
    s->finite += d->finite;
}

static int find (struct db *db, int64_t stream, const struct series_delta *d, struct series *ret,
                 struct arena *a, struct error *err)
{
    cleanup_rows struct rows r = { 0 };
    int rc;

    if (db_query (db, &sql_series_find, &r, err, V_INT (stream),
                  V_TEXT (((struct text){ d->key, SERIES_KEY }))) < 0)
        return -1;
    if ((rc = db_next (&r, err)) <= 0)
        return rc;
    *ret = (struct series){ .id = row_int (&r, 0),
                            .count = row_int (&r, 1),
                            .finite = row_int (&r, 2),
                            .last = real_or_nan (&r, 3),
                            .last_iter = row_int (&r, 4),
                            .min = real_or_nan (&r, 5),
                            .min_iter = row_int (&r, 6),
                            .max = real_or_nan (&r, 7),
                            .max_iter = row_int (&r, 8),
                            .first = real_or_nan (&r, 9),
                            .first_iter = row_int (&r, 10),
                            .mean = real_or_nan (&r, 11),
                            .label = row_null (&r, 12) ? NULL : row_str (&r, 12, a) };
    return 1;
}

static int add_delta (struct db *db, struct stream *st, int64_t now, struct series_delta *d, int64_t most,
                      struct arena *a, struct error *err)
{
    struct series s = { .last = NAN, .min = NAN, .max = NAN, .first = NAN, .mean = NAN };
    struct text key = { d->key, SERIES_KEY };
    struct value label;
    int64_t rc;

    if ((rc = find (db, st->id, d, &s, a, err)) < 0)
        return -1;
    combine (&s, d);
    label = d->label.p ? V_TEXT (d->label) : V_STR (s.label);
    if (rc)
        return db_exec (db, &sql_series_update, err, V_INT (s.id), label, V_INT (now), V_INT (s.count),
                        V_INT (s.finite), V_REAL (s.last), V_INT (s.last_iter), V_REAL (s.min),
                        V_INT (s.min_iter), V_REAL (s.max), V_INT (s.max_iter), V_REAL (s.first),
                        V_INT (s.first_iter), V_REAL (s.mean)) < 0
                   ? -1
                   : 0;
    rc =
        db_exec (db, &sql_series_insert, err, V_INT (st->id), V_TEXT (key), V_TEXT (d->metric),
                 V_TEXT (d->variant), V_INT (st->series >= most), label, V_INT (now), V_INT (s.count),
                 V_INT (s.finite), V_REAL (s.last), V_INT (s.last_iter), V_REAL (s.min), V_INT (s.min_iter),
                 V_REAL (s.max), V_INT (s.max_iter), V_REAL (s.first), V_INT (s.first_iter), V_REAL (s.mean));
    st->series++;
    return rc < 0 ? -1 : 0;
}

int series_add (struct db *db, struct stream *s, int64_t now, struct text body, size_t points,
                struct series_delta *d, size_t n, int64_t most, struct error *err)
{
    cleanup_arena struct arena *a = arena_create ();

    if (db_exec (db, &sql_metric_batch_insert, err, V_INT (s->id), V_INT ((int64_t)points), V_BLOB (body)) <
        0)
        return -1;
    s->batches++;
    s->points += (int64_t)points;
    for (size_t i = 0; i < n; i++) {
        if (add_delta (db, s, now, &d[i], most, a, err) < 0)
            return -1;
    }
    return 0;
}

/* -- reading ------------------------------------------------------------------------------------------------ */

int series_list (struct db *db, struct arena *a, int64_t stream, struct series **ret, size_t *ret_n,
                 struct error *err)
{
    cleanup_rows struct rows r = { 0 };
    struct series *v = NULL, *s;
    size_t n = 0, cap = 0;
    int rc;

    if (db_query (db, &sql_series_list, &r, err, V_INT (stream)) < 0)
        return -1;
    while ((rc = db_next (&r, err)) > 0) {
        if (n == cap) {
            struct series *more = arena_array (a, struct series, cap ? cap * 2 : 16);

            if (n)
                memcpy (more, v, n * sizeof (*v));
            v = more;
            cap = cap ? cap * 2 : 16;
        }
        s = &v[n++];
        s->id = row_int (&r, 0);
        s->metric = row_str (&r, 1, a);
        s->variant = row_str (&r, 2, a);
        if (row_text (&r, 3).n == SERIES_KEY)
            memcpy (s->key, row_text (&r, 3).p, SERIES_KEY);
        s->hidden = row_int (&r, 4) != 0;
        s->label = row_null (&r, 5) ? NULL : row_str (&r, 5, a);
        s->updated = row_int (&r, 6);
        s->count = row_int (&r, 7);
        s->finite = row_int (&r, 8);
        s->last = real_or_nan (&r, 9);
        s->last_iter = row_int (&r, 10);
        s->min = real_or_nan (&r, 11);
        s->min_iter = row_int (&r, 12);
        s->max = real_or_nan (&r, 13);
        s->max_iter = row_int (&r, 14);
        s->first = real_or_nan (&r, 15);
        s->first_iter = row_int (&r, 16);
        s->mean = real_or_nan (&r, 17);
    }
    *ret = v;
    *ret_n = n;
    return rc;
}

struct pending { /* a series' points that are still in batches, in order of arrival */
    struct point *v;
    size_t n, cap;
};

struct series_reader {
    struct db *db;
    struct arena *arena;
    const struct series *const *series;
    struct pending *pending;
    struct intern extras, names; /* names: "metric \0 variant" -> number of the series */
    size_t n;
};

static struct text name_of (struct str *s, struct text metric, struct text variant)
{
    str_reset (s);
    str_add_text (s, metric);
    str_putc (s, 0);
    str_add_text (s, variant);
    return str_text (s);
}

static void pending_add (struct arena *a, struct pending *p, const struct point *v, size_t n)
{
    if (p->cap - p->n < n) {
        size_t cap = p->cap * 2 > p->n + n ? p->cap * 2 : p->n + n + 16;
        struct point *more = arena_array (a, struct point, cap);

        if (p->n)
            memcpy (more, p->v, p->n * sizeof (*v));
        p->v = more;
        p->cap = cap;
    }
    if (n)
        memcpy (p->v + p->n, v, n * sizeof (*v));
    p->n += n;
}

static int read_batch (struct series_reader *r, struct text body, struct str *name, struct error *err)
{
    cleanup_arena struct arena *scratch = arena_create ();
    struct batch b;
    struct batch_run run;
    int rc;

    if (batch_open (scratch, body, &b, err) < 0)
        return -1;
    while ((rc = batch_next (&b, scratch, &run, err)) > 0) {
        int64_t at = intern_find (&r->names, name_of (name, run.metric, run.variant));
        struct point *v = (struct point *)run.points;
        uint32_t extra;

        if (at < 0)
            continue;
        extra = intern_add (&r->extras, run.extra);
        for (size_t i = 0; i < run.n; i++)
            v[i].extra = extra;
        pending_add (r->arena, &r->pending[at], v, run.n);
    }
    return rc;
}

int series_open (struct db *db, struct arena *a, int64_t stream, const struct series *const *v, size_t n,
                 struct series_reader **ret, struct error *err)
{
    struct series_reader *r = arena_new (a, struct series_reader);
    cleanup_rows struct rows rows = { 0 };
    cleanup_str struct str name = { 0 };
    int rc;

    *r = (struct series_reader){ .db = db,
                                 .arena = a,
                                 .series = v,
                                 .n = n,
                                 .pending = arena_array (a, struct pending, n),
                                 .extras = { .arena = a, .copy = true },
                                 .names = { .arena = a, .copy = true } };
    for (size_t i = 0; i < n; i++) {
        if (intern_add (&r->names, name_of (&name, text_of (v[i]->metric), text_of (v[i]->variant))) != i)
            return error_set (err, EBADMSG, "stream %lld: two series have the same name", (long long)stream);
    }
    if (db_query (db, &sql_metric_batch_list, &rows, err, V_INT (stream)) < 0)
        return -1;
    while ((rc = db_next (&rows, err)) > 0) {
        if (read_batch (r, row_text (&rows, 2), &name, err) < 0)
            return -1;
    }
    *ret = r;
    return rc;
}

int series_points (struct series_reader *r, size_t i, struct arena *a, struct point **ret, size_t *ret_n,
                   struct error *err)
{
    cleanup_rows struct rows rows = { 0 };
    struct pending all = { 0 };
    int rc;

    if (db_query (r->db, &sql_metric_chunk_list, &rows, err, V_INT (r->series[i]->id)) < 0)
        return -1;
    while ((rc = db_next (&rows, err)) > 0) {
        int64_t n = row_int (&rows, 1);
        struct point *v;

        if (n < 0 || n > SERIES_CHUNK)
            return error_set (err, EBADMSG, "metric chunk %lld says it holds %lld points",
                              (long long)row_int (&rows, 0), (long long)n);
        v = arena_array (a, struct point, n);
        if (chunk_unpack (a, row_text (&rows, 2), &r->extras, v, (size_t)n, err) < 0)
            return -1;
        pending_add (a, &all, v, (size_t)n);
    }
    if (rc < 0)
        return -1;
    pending_add (a, &all, r->pending[i].v, r->pending[i].n);
    *ret = all.v;
    *ret_n = points_merge (all.v, all.n);
    return 0;
}

struct text series_extra (const struct series_reader *r, uint32_t extra)
{
    return r->extras.v[extra];
}
