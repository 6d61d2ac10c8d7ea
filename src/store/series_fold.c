/* series_fold.c - turns the oldest batches of a stream into chunks, then deletes them.
 *
 * It may take several transactions: the batches stay until all their series are done, and merging points that are in a
 * chunk already changes nothing, so that a reader in between, or a crash, sees the same points.
 *
 * New points replace stored ones of the same iteration. Only chunks whose range the new points touch are
 * rewritten, and the last one when it is not full, so that a series that only grows is written about twice.
 */
#include "store/series.h"

#include "base/clock.h"
#include "sql/sql.h"
#include "store/store.h"

#include <errno.h>

struct gathered { /* new points of one series */
    struct text metric, variant;
    struct point *v;
    size_t n, cap;
};
struct fold {
    struct arena *arena;
    struct intern names, extras;
    struct gathered *v;
    size_t cap;
    int64_t last, batches; /* the last batch taken, how many */
    size_t points;
    int64_t upto; /* of a fold under way: its last batch, 0 = choose */
    size_t done;  /* ... and so many series are folded */
};

static void grow_points (struct arena *a, struct point **v, size_t *cap, size_t n, size_t more)
{
    struct point *p;

    if (*cap - n >= more)
        return;
    *cap = *cap * 2 > n + more ? *cap * 2 : n + more;
    p = arena_array (a, struct point, *cap);
    if (n)
        memcpy (p, *v, n * sizeof (*p));
    *v = p;
}

static struct gathered *gathered_of (struct fold *f, struct text metric, struct text variant)
{
    struct str name = { .arena = f->arena };
    uint32_t i;

    str_add_text (&name, metric);
    str_putc (&name, 0);
    str_add_text (&name, variant);
    i = intern_add (&f->names, str_text (&name));
    if (i >= f->cap) {
        struct gathered *v = arena_array (f->arena, struct gathered, f->cap ? f->cap * 2 : 64);

        if (f->cap)
            memcpy (v, f->v, f->cap * sizeof (*v));
        f->v = v;
        f->cap = f->cap ? f->cap * 2 : 64;
    }
    if (!f->v[i].metric.p) {
        f->v[i].metric = (struct text){ arena_memdup (f->arena, metric.p, metric.n), metric.n };
        f->v[i].variant = (struct text){ arena_memdup (f->arena, variant.p, variant.n), variant.n };
    }
    return &f->v[i];
}

static int gather_batch (struct fold *f, struct text body, struct error *err)
{
    cleanup_arena struct arena *scratch = arena_create ();
    struct batch b;
    struct batch_run run;
    int rc;

    if (batch_open (scratch, body, &b, err) < 0)
        return -1;
    while ((rc = batch_next (&b, scratch, &run, err)) > 0) {
        struct gathered *g = gathered_of (f, run.metric, run.variant);
        uint32_t extra = intern_add (&f->extras, run.extra);

        grow_points (f->arena, &g->v, &g->cap, g->n, run.n);
        for (size_t i = 0; i < run.n; i++) {
            g->v[g->n] = run.points[i];
            g->v[g->n++].extra = extra;
        }
    }
    return rc;
}

static int gather (struct db *db, int64_t stream, size_t most, struct fold *f, struct error *err)
{
    cleanup_rows struct rows r = { 0 };
    int rc;

    if (db_query (db, &sql_metric_batch_list, &r, err, V_INT (stream)) < 0)
        return -1;
    while ((f->upto ? f->last < f->upto : f->points < most) && (rc = db_next (&r, err)) != 0) {
        if (rc < 0 || gather_batch (f, row_text (&r, 2), err) < 0)
            return -1;
        f->last = row_int (&r, 0);
        f->points += (size_t)row_int (&r, 1);
        f->batches++;
    }
    return 0;
}

/* Write points as chunks: as many of them as fit the page, never more than SERIES_CHUNK. */
static int write_chunks (struct db *db, int64_t series, const struct point *v, size_t n,
                         const struct text *extras, struct error *err)
{
    cleanup_str struct str body = { 0 };

    while (n) {
        size_t take = n < SERIES_CHUNK ? n : SERIES_CHUNK;

        for (;; take = (take + 1) / 2) {
            str_reset (&body);
            chunk_pack (&body, v, take, extras);
            if (body.n <= SERIES_CHUNK_MAX || take == 1)
                break;
        }
        if (db_exec (db, &sql_metric_chunk_insert, err, V_INT (series), V_INT (v[0].iter),
                     V_INT (v[take - 1].iter), V_INT ((int64_t)take), V_BLOB (str_text (&body))) < 0)
            return -1;
        v += take;
        n -= take;
    }
    return 0;
}

/* The stored points that the new ones (merged, ascending) touch, before them in *all; their chunks' ids. */
static int take_touched (struct db *db, struct fold *f, int64_t series, const struct gathered *g,
                         struct gathered *all, int64_t **ret_ids, size_t *ret_n, struct error *err)
{
    cleanup_rows struct rows r = { 0 };
    size_t ids = 0, cap = 0;
    int64_t *id = NULL;
    int rc;

    if (db_query (db, &sql_metric_chunk_touched, &r, err, V_INT (series), V_INT (g->v[0].iter),
                  V_INT (g->v[g->n - 1].iter)) < 0)
        return -1;
    while ((rc = db_next (&r, err)) > 0) {
        int64_t n = row_int (&r, 1);

        if (n < 0 || n > SERIES_CHUNK)
            return error_set (err, EBADMSG, "metric chunk %lld says it holds %lld points",
                              (long long)row_int (&r, 0), (long long)n);
        grow_points (f->arena, &all->v, &all->cap, all->n, (size_t)n);
        if (chunk_unpack (f->arena, row_text (&r, 2), &f->extras, all->v + all->n, (size_t)n, err) < 0)
            return -1;
        all->n += (size_t)n;
        if (ids == cap) {
            int64_t *more = arena_array (f->arena, int64_t, cap ? cap * 2 : 8);

            if (ids)
                memcpy (more, id, ids * sizeof (*id));
            id = more;
            cap = cap ? cap * 2 : 8;
        }
        id[ids++] = row_int (&r, 0);
    }
    *ret_ids = id;
    *ret_n = ids;
    return rc;
}

static int series_id (struct db *db, int64_t stream, const struct gathered *g, int64_t *ret,
                      struct error *err)
{
    cleanup_rows struct rows r = { 0 };
    char key[SERIES_KEY + 1];
    int rc;

    series_key (g->metric, g->variant, key);
    if (db_query (db, &sql_series_find, &r, err, V_INT (stream),
                  V_TEXT (((struct text){ key, SERIES_KEY }))) < 0 ||
        (rc = db_next (&r, err)) < 0)
        return -1;
    if (!rc)
        return error_set (err, EBADMSG, "stream %lld: a batch names a series without a row",
                          (long long)stream);
    *ret = row_int (&r, 0);
    return 0;
}

static int fold_series (struct db *db, int64_t stream, struct fold *f, struct gathered *g, struct error *err)
{
    struct gathered all = { 0 };
    int64_t id = 0, *old = NULL;
    size_t n = 0;

    if (series_id (db, stream, g, &id, err) < 0)
        return -1;
    g->n = points_merge (g->v, g->n);
    if (take_touched (db, f, id, g, &all, &old, &n, err) < 0)
        return -1;
    for (size_t i = 0; i < n; i++) {
        if (db_exec (db, &sql_metric_chunk_delete, err, V_INT (old[i])) < 0)
            return -1;
    }
    grow_points (f->arena, &all.v, &all.cap, all.n, g->n);
    memcpy (all.v + all.n, g->v, g->n * sizeof (*g->v));
    all.n = points_merge (all.v, all.n + g->n);
    return write_chunks (db, id, all.v, all.n, f->extras.v, err);
}

static int load_state (struct db *db, int64_t stream, struct fold *f, struct error *err)
{
    cleanup_rows struct rows r = { 0 };
    int rc;

    if (db_query (db, &sql_stream_fold_state, &r, err, V_INT (stream)) < 0 || (rc = db_next (&r, err)) < 0)
        return -1;
    f->upto = rc ? row_int (&r, 0) : 0;
    f->done = rc ? (size_t)row_int (&r, 1) : 0;
    return 0;
}

int series_fold (struct db *db, int64_t stream, size_t most, int64_t until, struct error *err)
{
    cleanup_arena struct arena *a = arena_create ();
    struct fold f = { .arena = a, .names = { .arena = a }, .extras = { .arena = a, .copy = true } };

    if (load_state (db, stream, &f, err) < 0 || gather (db, stream, most, &f, err) < 0)
        return -1;
    if (!f.batches)
        return 1;
    for (size_t i = f.done; i < f.names.n; i++) {
        if (i > f.done && clock_monotonic () >= until)
            return db_exec (db, &sql_stream_folding, err, V_INT (stream), V_INT (f.last),
                            V_INT ((int64_t)i)) < 0
                       ? -1
                       : 0;
        if (fold_series (db, stream, &f, &f.v[i], err) < 0)
            return -1;
    }
    if (db_exec (db, &sql_metric_batch_delete, err, V_INT (stream), V_INT (f.last)) < 0 ||
        db_exec (db, &sql_stream_folded, err, V_INT (stream), V_INT (f.batches), V_INT ((int64_t)f.points)) <
            0)
        return -1;
    return 1;
}
