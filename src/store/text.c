/* text.c - the packed form of console events, and writing them; see text.h.
 *
 * Body: squeezed { texts: n, each with its length | events: n | each event: time and arrival as signed differences,
 * level, worker, metric, variant, other members (number of the text + 1, 0 = absent), length of the message + 1
 * (0 = absent) | the messages }.
 */
#include "store/text.h"

#include "sql/sql.h"
#include "store/intern.h"
#include "store/squeeze.h"
#include "store/store.h"
#include "store/varint.h"

#include <errno.h>

#define BODY_LONGEST ((size_t)1 << 30)
enum { TEXTS = 5 };

int64_t log_lines (struct text msg)
{
    int64_t n = 1;

    if (msg.n && msg.p[msg.n - 1] == '\n')
        msg.n--;
    for (const char *p = msg.p, *end = msg.p + msg.n; msg.n && (p = memchr (p, '\n', (size_t)(end - p))); p++)
        n++;
    return n;
}

/* -- packing ------------------------------------------------------------------------------------------------ */

static void pack_event (struct str *s, struct intern *texts, const struct log_event *e,
                        const struct log_event *before)
{
    const struct text t[TEXTS] = { e->level, e->worker, e->metric, e->variant, e->extra };

    varint_add_signed (s, e->time - (before ? before->time : 0));
    varint_add_signed (s, e->received - (before ? before->received : 0));
    for (int i = 0; i < TEXTS; i++)
        varint_add (s, t[i].p ? intern_add (texts, t[i]) + 1 : 0);
    varint_add (s, e->msg.p ? e->msg.n + 1 : 0);
}

static struct log_part pack_part (struct arena *a, const struct log_event *v, size_t n)
{
    struct arena *scratch = arena_create ();
    struct str events = { .arena = scratch }, raw = { .arena = scratch }, body = { .arena = a };
    struct intern texts = { .arena = scratch };
    struct log_part p = { .events = (int64_t)n, .first_time = v[0].time, .last_time = v[0].time };

    for (size_t i = 0; i < n; i++) {
        pack_event (&events, &texts, &v[i], i ? &v[i - 1] : NULL);
        p.lines += log_lines (v[i].msg);
        p.first_time = v[i].time < p.first_time ? v[i].time : p.first_time;
        p.last_time = v[i].time > p.last_time ? v[i].time : p.last_time;
    }
    varint_add (&raw, texts.n);
    for (size_t i = 0; i < texts.n; i++)
        varint_add_text (&raw, texts.v[i]);
    varint_add (&raw, n);
    str_add (&raw, events.p, events.n);
    for (size_t i = 0; i < n; i++)
        str_add (&raw, v[i].msg.p ? v[i].msg.p : "", v[i].msg.n);
    p.size = (int64_t)raw.n;
    squeeze (&body, str_text (&raw));
    p.body = str_text (&body);
    arena_destroy (scratch);
    return p;
}

void log_pack (struct arena *a, const struct log_event *v, size_t n, struct log_part **ret, size_t *ret_n)
{
    struct log_part *parts = arena_array (a, struct log_part, n);
    size_t parts_n = 0;

    for (size_t i = 0, from = 0, size = 0; i < n; i++) {
        size += v[i].msg.n + v[i].extra.n + 16;
        if (size >= LOG_CHUNK || i + 1 == n) {
            parts[parts_n++] = pack_part (a, v + from, i + 1 - from);
            from = i + 1;
            size = 0;
        }
    }
    *ret = parts;
    *ret_n = parts_n;
}

static bool unpack_event (struct reader *r, const struct text *texts, size_t texts_n, struct log_event *e,
                          const struct log_event *before)
{
    struct text *t[TEXTS] = { &e->level, &e->worker, &e->metric, &e->variant, &e->extra };
    size_t n;

    e->time = reader_signed (r) + (before ? before->time : 0);
    e->received = reader_signed (r) + (before ? before->received : 0);
    for (int i = 0; i < TEXTS; i++) {
        n = reader_varint (r);
        if (n > texts_n)
            return false;
        *t[i] = n ? texts[n - 1] : (struct text){ 0 };
    }
    n = reader_varint (r);
    e->msg = (struct text){ n ? "" : NULL, n ? n - 1 : 0 };
    return !r->bad;
}

int log_unpack (struct arena *a, struct text body, int64_t first_line, struct log_event **ret, size_t *ret_n,
                struct error *err)
{
    struct text raw, *texts;
    struct log_event *v;
    struct reader r;
    size_t n;
    bool good = true;

    if (unsqueeze (a, body, BODY_LONGEST, &raw, err) < 0)
        return error_wrap (err, "console chunk");
    if (raw.p >= body.p && raw.p < body.p + body.n) /* the caller's row goes away */
        raw.p = arena_memdup (a, raw.p, raw.n);
    r = reader_of (raw);
    n = reader_varint (&r);
    if (n > raw.n)
        return error_set (err, EBADMSG, "console chunk is damaged: bad head");
    texts = arena_array (a, struct text, n);
    for (size_t i = 0; i < n; i++)
        texts[i] = reader_text (&r);
    *ret_n = reader_varint (&r);
    if (r.bad || *ret_n > raw.n)
        return error_set (err, EBADMSG, "console chunk is damaged: bad head");
    v = arena_array (a, struct log_event, *ret_n);
    for (size_t i = 0; i < *ret_n && good; i++)
        good = unpack_event (&r, texts, n, &v[i], i ? &v[i - 1] : NULL);
    for (size_t i = 0; i < *ret_n && good; i++) {
        if (v[i].msg.p)
            v[i].msg = reader_bytes (&r, v[i].msg.n);
        v[i].line = first_line;
        first_line += log_lines (v[i].msg);
    }
    if (!good || r.bad || r.p != r.end)
        return error_set (err, EBADMSG, "console chunk of %zu events is damaged", *ret_n);
    *ret = v;
    return 0;
}

/* -- writing ------------------------------------------------------------------------------------------------ */

static int insert_part (struct db *db, int64_t stream, int64_t first_line, const struct log_part *p,
                        struct error *err)
{
    return db_exec (db, &sql_log_insert, err, V_INT (stream), V_INT (first_line), V_INT (p->lines),
                    V_INT (p->events), V_INT (p->first_time), V_INT (p->last_time), V_INT (p->size),
                    V_BLOB (p->body)) < 0
               ? -1
               : 0;
}

struct run { /* how far the output of one run is stored */
    struct text name;
    int64_t upto;
};

static int run_upto (struct db *db, int64_t stream, struct text name, int64_t *ret, struct error *err)
{
    cleanup_rows struct rows r = { 0 };
    int rc;

    if (db_query (db, &sql_log_run_get, &r, err, V_INT (stream), V_TEXT (name)) < 0 ||
        (rc = db_next (&r, err)) < 0)
        return -1;
    *ret = rc ? row_int (&r, 0) : -1;
    return 0;
}

/* Which events are new? keep[i] says so; the runs' new ends are stored. */
static int choose_new (struct db *db, struct arena *a, int64_t stream, const struct log_event *v, size_t n,
                       bool *keep, size_t *ret_kept, struct error *err)
{
    struct run *runs = NULL;
    size_t runs_n = 0, runs_cap = 0, k;

    *ret_kept = n;
    for (size_t i = 0; i < n; i++) {
        keep[i] = true;
        if (!v[i].run.p)
            continue;
        for (k = 0; k < runs_n && !text_equal (runs[k].name, v[i].run); k++)
            ;
        if (k == runs_n) {
            if (runs_n == runs_cap) {
                struct run *more = arena_array (a, struct run, runs_cap ? runs_cap * 2 : 4);

                if (runs_n)
                    memcpy (more, runs, runs_n * sizeof (*runs));
                runs = more;
                runs_cap = runs_cap ? runs_cap * 2 : 4;
            }
            runs[runs_n].name = v[i].run;
            if (run_upto (db, stream, v[i].run, &runs[runs_n++].upto, err) < 0)
                return -1;
        }
        keep[i] = v[i].offset > runs[k].upto;
        *ret_kept -= !keep[i];
        runs[k].upto = keep[i] ? v[i].offset : runs[k].upto;
    }
    for (k = 0; k < runs_n; k++) {
        if (db_exec (db, &sql_log_run_put, err, V_INT (stream), V_TEXT (runs[k].name), V_INT (runs[k].upto)) <
            0)
            return -1;
    }
    return 0;
}

int log_add (struct db *db, struct arena *a, struct stream *s, const struct log_event *v, size_t n,
             const struct log_part *parts, size_t parts_n, int64_t *ret_stored, struct error *err)
{
    bool *keep = arena_array (a, bool, n);
    size_t kept;

    if (choose_new (db, a, s->id, v, n, keep, &kept, err) < 0)
        return -1;
    *ret_stored = (int64_t)kept;
    if (kept < n) {
        struct log_event *some = arena_array (a, struct log_event, kept + 1);
        struct log_part *again;

        for (size_t i = 0, k = 0; i < n; i++)
            if (keep[i])
                some[k++] = v[i];
        log_pack (a, some, kept, &again, &parts_n);
        parts = again;
    }
    for (size_t i = 0; i < parts_n; i++) {
        if (insert_part (db, s->id, s->lines + 1, &parts[i], err) < 0)
            return -1;
        s->lines += parts[i].lines;
        s->log_events += parts[i].events;
        s->log_chunks++;
    }
    return 0;
}

/* -- joining ------------------------------------------------------------------------------------------------ */

struct joining { /* neighbours gathered so far */
    struct arena *arena;
    struct log_event *v;
    size_t n, cap;
    int64_t *ids;
    size_t ids_n, ids_cap;
    int64_t first_line, next_line, size;
};

static void joining_add (struct joining *j, int64_t id, const struct log_event *v, size_t n)
{
    if (j->n + n > j->cap) {
        size_t cap = j->n + n > j->cap * 2 ? j->n + n : j->cap * 2;
        struct log_event *more = arena_array (j->arena, struct log_event, cap);

        if (j->n)
            memcpy (more, j->v, j->n * sizeof (*v));
        j->v = more;
        j->cap = cap;
    }
    if (n)
        memcpy (j->v + j->n, v, n * sizeof (*v));
    j->n += n;
    if (j->ids_n == j->ids_cap) {
        int64_t *more = arena_array (j->arena, int64_t, j->ids_cap ? j->ids_cap * 2 : 16);

        if (j->ids_n)
            memcpy (more, j->ids, j->ids_n * sizeof (*more));
        j->ids = more;
        j->ids_cap = j->ids_cap ? j->ids_cap * 2 : 16;
    }
    j->ids[j->ids_n++] = id;
}

/* One chunk instead of several. */
static int joining_write (struct db *db, int64_t stream, struct joining *j, struct error *err)
{
    struct log_part p;

    if (j->ids_n < 2)
        return 0;
    for (size_t i = 0; i < j->ids_n; i++) {
        if (db_exec (db, &sql_log_delete, err, V_INT (j->ids[i])) < 0)
            return -1;
    }
    p = pack_part (j->arena, j->v, j->n);
    return insert_part (db, stream, j->first_line, &p, err);
}

/* Gather chunks from the first unjoined one until they fill a chunk. 1 = filled, 0 = that was all. */
static int gather_neighbours (struct db *db, int64_t stream, struct joining *j, struct error *err)
{
    cleanup_rows struct rows r = { 0 };
    int rc;

    if (db_query (db, &sql_log_to_join, &r, err, V_INT (stream)) < 0)
        return -1;
    while ((rc = db_next (&r, err)) > 0) {
        struct log_event *v;
        size_t n;

        if (j->ids_n &&
            (row_int (&r, 1) != j->next_line || j->size + row_int (&r, 3) > (int64_t)LOG_CHUNK * 2)) {
            j->next_line = row_int (&r, 1);
            return 1;
        }
        if (log_unpack (j->arena, row_text (&r, 4), row_int (&r, 1), &v, &n, err) < 0)
            return -1;
        if (!j->ids_n)
            j->first_line = row_int (&r, 1);
        joining_add (j, row_int (&r, 0), v, n);
        j->next_line = row_int (&r, 1) + row_int (&r, 2);
        j->size += row_int (&r, 3);
        if (j->size >= (int64_t)LOG_CHUNK)
            return 1;
    }
    return rc;
}

int log_join (struct db *db, int64_t stream, struct error *err)
{
    cleanup_arena struct arena *a = arena_create ();
    struct joining j = { .arena = a };
    int filled = gather_neighbours (db, stream, &j, err);

    if (filled < 0 || joining_write (db, stream, &j, err) < 0)
        return -1;
    /* an end that is not full stays where the next round begins */
    return db_exec (db, &sql_log_joined, err, V_INT (stream), V_INT (filled ? j.next_line : j.first_line),
                    V_INT ((int64_t)j.ids_n)) < 0
               ? -1
               : 0;
}

/* -- removing ----------------------------------------------------------------------------------------------- */

/* A chunk's events without those to drop: each run of neighbours that stay becomes a chunk, so that lines keep their
 * numbers. */
static int thin_chunk (struct db *db, struct arena *a, int64_t stream, int64_t id, const struct log_event *v,
                       size_t n, const bool *drop, struct error *err)
{
    if (db_exec (db, &sql_log_delete, err, V_INT (id)) < 0)
        return -1;
    for (size_t i = 0, from = 0; i < n; from = i) {
        while (i < n && drop[i] == drop[from])
            i++;
        if (!drop[from]) {
            struct log_part p = pack_part (a, v + from, i - from);

            if (insert_part (db, stream, v[from].line, &p, err) < 0)
                return -1;
        }
    }
    return 0;
}

struct chunk_ref {
    int64_t id, first_line, events, first_time, last_time;
    struct text body;
};
struct removal {
    int64_t stream, before;
    bool (*drop) (const struct log_event *e, void *arg);
    void *arg;
    int64_t removed;
};

static int chunk_refs (struct db *db, struct arena *a, int64_t stream, int64_t from_line,
                       struct chunk_ref *ret, size_t most, size_t *ret_n, struct error *err)
{
    cleanup_rows struct rows r = { 0 };
    int rc = 0;

    *ret_n = 0;
    if (db_query (db, &sql_log_from_line, &r, err, V_INT (stream), V_INT (from_line)) < 0)
        return -1;
    while (*ret_n < most && (rc = db_next (&r, err)) > 0)
        ret[(*ret_n)++] = (struct chunk_ref){ row_int (&r, 0), row_int (&r, 1), row_int (&r, 2),
                                              row_int (&r, 3), row_int (&r, 4), row_copy (&r, 5, a) };
    return rc < 0 ? -1 : 0;
}

static int remove_from_chunk (struct db *db, struct arena *a, struct removal *m, const struct chunk_ref *c,
                              struct error *err)
{
    struct log_event *v;
    size_t n, gone = 0;
    bool *mark;

    if (c->first_time >= m->before)
        return 0;
    if (!m->drop && c->last_time < m->before) { /* all of it: no need to look inside */
        m->removed += c->events;
        return db_exec (db, &sql_log_delete, err, V_INT (c->id)) < 0 ? -1 : 0;
    }
    if (log_unpack (a, c->body, c->first_line, &v, &n, err) < 0)
        return -1;
    mark = arena_array (a, bool, n);
    for (size_t i = 0; i < n; i++)
        gone += mark[i] = v[i].time < m->before && (!m->drop || m->drop (&v[i], m->arg));
    m->removed += (int64_t)gone;
    return gone ? thin_chunk (db, a, m->stream, c->id, v, n, mark, err) : 0;
}

int log_remove (struct db *db, int64_t stream, int64_t before,
                bool (*drop) (const struct log_event *e, void *arg), void *arg, int64_t *ret_removed,
                struct error *err)
{
    struct removal m = { .stream = stream, .before = before, .drop = drop, .arg = arg };
    struct chunk_ref c[16]; /* a window's first chunk is the one before's last: seen twice, changed once */
    int64_t from = 0;
    size_t n;

    do {
        cleanup_arena struct arena *a = arena_create ();

        if (chunk_refs (db, a, stream, from, c, 16, &n, err) < 0)
            return -1;
        for (size_t i = 0; i < n; i++) {
            if (remove_from_chunk (db, a, &m, &c[i], err) < 0)
                return -1;
        }
        if (n)
            from = c[n - 1].first_line + 1;
    } while (n == 16);
    *ret_removed = m.removed;
    return db_exec (db, &sql_log_removed, err, V_INT (stream), V_INT (m.removed)) < 0 ? -1 : 0;
}
