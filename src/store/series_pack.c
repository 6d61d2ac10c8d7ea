/* series_pack.c - the two binary forms of metric points (see series.h); no database here.
 *
 * Batch body: 1 | texts: n, each with its length | received | runs: n, points: n | each run: metric, variant,
 * other members (numbers of texts), n, then n times (iteration and time as signed differences, the double).
 * Chunk body: squeezed { n | texts | iterations, times: differences of differences | runs of equal "other
 * members" | runs of equal arrival times | doubles XORed with the one before, byte plane by byte plane }.
 */
#include "store/series.h"

#include "store/squeeze.h"
#include "store/varint.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define BATCH_FORM    1
#define NONE_BITS     0x7ff86e756c6c0001u /* a quiet NaN that no computation makes */
#define CHUNK_LONGEST ((size_t)16 << 20)  /* other members can be long */

double point_none (void)
{
    uint64_t bits = NONE_BITS;
    double v;

    memcpy (&v, &bits, sizeof (v));
    return v;
}

static uint64_t bits_of (double v)
{
    uint64_t bits;

    memcpy (&bits, &v, sizeof (bits));
    return bits;
}

bool point_is_none (double v)
{
    return bits_of (v) == NONE_BITS;
}

static inline int64_t minus (int64_t a, int64_t b) /* wraps: NO_ITER is among the iterations */
{
    return (int64_t)((uint64_t)a - (uint64_t)b);
}

static inline int64_t plus (int64_t a, int64_t b)
{
    return (int64_t)((uint64_t)a + (uint64_t)b);
}

/* -- batches ------------------------------------------------------------------------------------------------ */

static void run_pack (struct str *out, const struct batch_run *r)
{
    int64_t iter = 0, time = 0;
    char *p = str_room (out, r->n * 28), *from = p;

    for (size_t i = 0; i < r->n; i++) {
        p = varint_write (p, zigzag (minus (r->points[i].iter, iter)));
        p = varint_write (p, zigzag (minus (r->points[i].time, time)));
        memcpy (p, &r->points[i].value, 8);
        p += 8;
        iter = r->points[i].iter;
        time = r->points[i].time;
    }
    out->n += (size_t)(p - from);
}

void batch_pack (struct str *out, int64_t received, const struct batch_run *runs, size_t n)
{
    struct arena *a = arena_create ();
    struct intern texts = { .arena = a };
    uint32_t (*numbers)[3] = arena_alloc (a, (n + 1) * sizeof (*numbers));
    size_t points = 0;

    for (size_t i = 0; i < n; i++) {
        numbers[i][0] = intern_add (&texts, runs[i].metric);
        numbers[i][1] = intern_add (&texts, runs[i].variant);
        numbers[i][2] = intern_add (&texts, runs[i].extra);
        points += runs[i].n;
    }
    str_putc (out, BATCH_FORM);
    varint_add (out, texts.n);
    for (size_t i = 0; i < texts.n; i++)
        varint_add_text (out, texts.v[i]);
    varint_add_signed (out, received);
    varint_add (out, n);
    varint_add (out, points);
    for (size_t i = 0; i < n; i++) {
        for (int k = 0; k < 3; k++)
            varint_add (out, numbers[i][k]);
        varint_add (out, runs[i].n);
        run_pack (out, &runs[i]);
    }
    arena_destroy (a);
}

int batch_open (struct arena *a, struct text body, struct batch *ret, struct error *err)
{
    struct reader r = reader_of (body);
    struct text form = reader_bytes (&r, 1), *texts;
    size_t n = reader_varint (&r);

    if (r.bad || form.p[0] != BATCH_FORM || n > body.n)
        return error_set (err, EBADMSG, "metric batch is damaged: bad head of %zu bytes", body.n);
    texts = arena_array (a, struct text, n);
    for (size_t i = 0; i < n; i++)
        texts[i] = reader_text (&r);
    ret->texts = texts;
    ret->texts_n = n;
    ret->received = reader_signed (&r);
    ret->runs = reader_varint (&r);
    ret->points = reader_varint (&r);
    if (r.bad || ret->points > body.n || ret->runs > body.n)
        return error_set (err, EBADMSG, "metric batch is damaged: it ends in its head");
    ret->p = r.p;
    ret->end = r.end;
    return 0;
}

int batch_next (struct batch *b, struct arena *a, struct batch_run *ret, struct error *err)
{
    struct reader r = { b->p, b->end, false };
    uint64_t text[3], n;
    struct point *v;
    int64_t iter = 0, time = 0;

    if (!b->runs)
        return 0;
    for (int k = 0; k < 3; k++)
        text[k] = reader_varint (&r);
    n = reader_varint (&r);
    if (r.bad || text[0] >= b->texts_n || text[1] >= b->texts_n || text[2] >= b->texts_n || n > b->points)
        return error_set (err, EBADMSG, "metric batch is damaged: bad run");
    v = arena_array (a, struct point, n);
    for (size_t i = 0; i < n; i++) {
        v[i].iter = iter = plus (iter, reader_signed (&r));
        v[i].time = time = plus (time, reader_signed (&r));
        v[i].received = b->received;
        struct text value = reader_bytes (&r, 8);

        if (!r.bad)
            memcpy (&v[i].value, value.p, sizeof (v[i].value));
    }
    if (r.bad)
        return error_set (err, EBADMSG, "metric batch is damaged: a run is cut off");
    b->p = r.p;
    b->runs--;
    *ret = (struct batch_run){ .metric = b->texts[text[0]],
                               .variant = b->texts[text[1]],
                               .extra = b->texts[text[2]],
                               .points = v,
                               .n = n };
    return 1;
}

/* -- chunks ------------------------------------------------------------------------------------------------- */

static void add_extras (struct str *s, struct arena *a, const struct point *v, size_t n,
                        const struct text *extras)
{
    struct intern texts = { .arena = a };
    struct str runs = { .arena = a };
    size_t i, from;

    for (i = from = 0; i < n; from = i) {
        while (i < n && v[i].extra == v[from].extra)
            i++;
        varint_add (&runs, intern_add (&texts, extras[v[from].extra]));
        varint_add (&runs, i - from);
    }
    varint_add (s, texts.n);
    for (i = 0; i < texts.n; i++)
        varint_add_text (s, texts.v[i]);
    str_add (s, runs.p, runs.n);
}

static void add_received (struct str *s, const struct point *v, size_t n)
{
    int64_t before = 0;
    size_t i, from;

    for (i = from = 0; i < n; from = i) {
        while (i < n && v[i].received == v[from].received)
            i++;
        varint_add_signed (s, minus (v[from].received, before));
        varint_add (s, i - from);
        before = v[from].received;
    }
}

static void add_values (struct str *s, const struct point *v, size_t n)
{
    unsigned char *p = (unsigned char *)str_room (s, n * 8);
    uint64_t before = 0;

    for (size_t i = 0; i < n; i++) {
        uint64_t bits = bits_of (v[i].value), x = bits ^ before;

        for (size_t k = 0; k < 8; k++)
            p[k * n + i] = (unsigned char)(x >> (8 * k));
        before = bits;
    }
    s->n += n * 8;
}

void chunk_pack (struct str *out, const struct point *v, size_t n, const struct text *extras)
{
    struct arena *a = arena_create ();
    struct str s = { .arena = a };
    int64_t step[2] = { 0 }, at[2] = { 0 };

    varint_add (&s, n);
    add_extras (&s, a, v, n, extras);
    for (size_t i = 0; i < n; i++) {
        int64_t now[2] = { v[i].iter, v[i].time };

        for (int k = 0; k < 2; k++) {
            int64_t d = minus (now[k], at[k]);

            varint_add_signed (&s, minus (d, step[k]));
            step[k] = d;
            at[k] = now[k];
        }
    }
    add_received (&s, v, n);
    add_values (&s, v, n);
    squeeze (out, str_text (&s));
    arena_destroy (a);
}

static bool get_extras (struct reader *r, struct intern *extras, struct point *v, size_t n)
{
    size_t texts = reader_varint (r), i, end;
    uint32_t *number;

    if (r->bad || texts > n)
        return false;
    number = arena_array (extras->arena, uint32_t, texts + 1);
    for (i = 0; i < texts; i++)
        number[i] = intern_add (extras, reader_text (r));
    for (i = 0; i < n && !r->bad;) {
        size_t text = reader_varint (r), many = reader_varint (r);

        if (text >= texts || !many || many > n - i)
            return false;
        for (end = i + many; i < end; i++)
            v[i].extra = number[text];
    }
    return !r->bad;
}

static bool get_points (struct reader *r, struct point *v, size_t n)
{
    int64_t step[2] = { 0 }, at[2] = { 0 }, received = 0;
    struct text planes;
    uint64_t bits = 0;

    for (size_t i = 0; i < n; i++) {
        for (int k = 0; k < 2; k++)
            at[k] = plus (at[k], step[k] = plus (step[k], reader_signed (r)));
        v[i].iter = at[0];
        v[i].time = at[1];
    }
    for (size_t i = 0, end; i < n && !r->bad;) {
        received = plus (received, reader_signed (r));
        end = reader_varint (r);
        if (!end || end > n - i)
            return false;
        for (end += i; i < end; i++)
            v[i].received = received;
    }
    planes = reader_bytes (r, n * 8);
    for (size_t i = 0; i < n && !r->bad; i++) {
        for (size_t k = 0; k < 8; k++)
            bits ^= (uint64_t)(unsigned char)planes.p[k * n + i] << (8 * k);
        memcpy (&v[i].value, &bits, 8);
    }
    return !r->bad && r->p == r->end;
}

int chunk_unpack (struct arena *a, struct text body, struct intern *extras, struct point *v, size_t n,
                  struct error *err)
{
    struct text raw;
    struct reader r;

    if (unsqueeze (a, body, CHUNK_LONGEST, &raw, err) < 0)
        return error_wrap (err, "metric chunk");
    r = reader_of (raw);
    if (reader_varint (&r) != n || !get_extras (&r, extras, v, n) || !get_points (&r, v, n))
        return error_set (err, EBADMSG, "metric chunk of %zu points is damaged", n);
    return 0;
}

/* -- merging and summing -------------------------------------------------------------------------------------- */

struct ordered {
    struct point point;
    size_t at;
};

static int by_iter (const void *va, const void *vb)
{
    const struct ordered *a = va, *b = vb;

    if (a->point.iter != b->point.iter)
        return a->point.iter < b->point.iter ? -1 : 1;
    return a->at < b->at ? -1 : a->at > b->at;
}

static void sort_points (struct point *v, size_t n)
{
    struct arena *a = arena_create ();
    struct ordered *o = arena_array (a, struct ordered, n);

    for (size_t i = 0; i < n; i++)
        o[i] = (struct ordered){ v[i], i };
    qsort (o, n, sizeof (*o), by_iter);
    for (size_t i = 0; i < n; i++)
        v[i] = o[i].point;
    arena_destroy (a);
}

size_t points_merge (struct point *v, size_t n)
{
    bool sorted = true;
    size_t left = 0;

    for (size_t i = 1; i < n && sorted; i++)
        sorted = v[i - 1].iter <= v[i].iter;
    if (!sorted)
        sort_points (v, n);
    for (size_t i = 0; i < n; i++) {
        if (left && v[left - 1].iter == v[i].iter)
            left--;
        v[left++] = v[i];
    }
    return left;
}

void series_delta_add (struct series_delta *d, const struct point *p)
{
    int64_t iter = p->iter == SERIES_NO_ITER ? 0 : p->iter;

    if (point_is_none (p->value))
        return;
    if (!d->count || iter < d->first_iter) {
        d->first = p->value;
        d->first_iter = iter;
    }
    if (!d->count || iter > d->last_iter || (iter == d->last_iter && p->time >= d->last_time)) {
        d->last = p->value;
        d->last_iter = iter;
        d->last_time = p->time;
    }
    d->count++;
    if (!isfinite (p->value))
        return;
    if (!d->finite || p->value < d->min) {
        d->min = p->value;
        d->min_iter = iter;
    }
    if (!d->finite || p->value > d->max) {
        d->max = p->value;
        d->max_iter = iter;
    }
    d->finite++;
    d->sum += p->value;
}

double series_round2 (double v)
{
    double hundreds = v * 100, whole = rint (hundreds);
    char text[512];

    if (fabs (hundreds) < 1e9 &&
        fabs (fabs (hundreds - whole) - 0.5) > 1e-6) /* far from a tie: no printing */
        return whole / 100;
    if (!isfinite (v) || fabs (v) >= 1e15) /* no decimals there */
        return v;
    snprintf (text, sizeof (text), "%.2f", v);
    return strtod (text, NULL);
}
