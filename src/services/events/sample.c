/* sample.c - see sample.h. */
#include "services/events/sample.h"

#include <math.h>
#include <stdlib.h>

enum { GROUP_CURVES = 50, GROUP_SAMPLES = 6000 };

static bool on_curve (const struct point *p)
{
    return p->iter != SERIES_NO_ITER && p->iter != SERIES_SINGLE && !point_is_none (p->value);
}

static int64_t key_of (const struct point *p, enum sample_key key)
{
    return key == SAMPLE_ITER ? p->iter : p->time;
}

bool sample_range (const struct point *v, size_t n, enum sample_key key, int64_t *ret_min, int64_t *ret_max,
                   size_t *ret_n)
{
    size_t points = 0;

    for (size_t i = 0; i < n; i++) {
        int64_t k = key_of (&v[i], key);

        if (!on_curve (&v[i]))
            continue;
        *ret_min = points && *ret_min < k ? *ret_min : k;
        *ret_max = points && *ret_max > k ? *ret_max : k;
        points++;
    }
    *ret_n = points;
    return points > 0;
}

static void stretch_add (struct stretch *s, double v)
{
    s->count++;
    if (!isfinite (v)) {
        s->nan += isnan (v);
        s->inf += isinf (v) != 0;
        s->minus_inf += isinf (v) && v < 0;
        s->odd = v;
        return;
    }
    s->min = s->finite && s->min < v ? s->min : v;
    s->max = s->finite && s->max > v ? s->max : v;
    s->sum += v;
    s->finite++;
}

double stretch_mean (const struct stretch *s)
{
    double mean;

    if (!s->finite)
        return s->odd;
    mean = s->sum / (double)s->finite;
    return isfinite (mean) ? mean : s->min / 2 + s->max / 2; /* the sum ran over */
}

/* Largest multiple of interval that is not above k, also below zero. */
static int64_t floor_to (int64_t k, int64_t interval)
{
    int64_t rest = k % interval;

    if (rest < 0)
        rest += interval;
    return k < INT64_MIN + rest ? INT64_MIN : k - rest;
}

static int by_time (const void *va, const void *vb)
{
    const struct point *a = va, *b = vb;

    if (a->time != b->time)
        return a->time < b->time ? -1 : 1;
    return a->iter < b->iter ? -1 : a->iter > b->iter;
}

static const struct point *in_order (struct arena *a, const struct point *v, size_t n, enum sample_key key)
{
    bool sorted = true;
    struct point *own;

    if (key == SAMPLE_ITER)
        return v;
    for (size_t i = 1; i < n && sorted; i++)
        sorted = v[i - 1].time <= v[i].time;
    if (sorted)
        return v;
    own = arena_memdup (a, v, n * sizeof (*v));
    qsort (own, n, sizeof (*own), by_time);
    return own;
}

void sample_stretches (struct arena *a, const struct point *v, size_t n, enum sample_key key,
                       int64_t interval, struct stretch **ret, size_t *ret_n)
{
    struct stretch *s = NULL;
    size_t used = 0, cap = 0;

    v = in_order (a, v, n, key);
    for (size_t i = 0; i < n; i++) {
        int64_t x;

        if (!on_curve (&v[i]))
            continue;
        x = floor_to (key_of (&v[i], key), interval);
        if (!used || s[used - 1].x != x) {
            if (used == cap) {
                struct stretch *more = arena_array (a, struct stretch, cap ? cap * 2 : 256);

                if (used)
                    memcpy (more, s, used * sizeof (*s));
                s = more;
                cap = cap ? cap * 2 : 256;
            }
            s[used++] = (struct stretch){ .x = x };
        }
        stretch_add (&s[used - 1], v[i].value);
    }
    *ret = s;
    *ret_n = used;
}

int64_t sample_interval (size_t points, int64_t min, int64_t max, int64_t samples)
{
    uint64_t range = (uint64_t)max - (uint64_t)min, interval;

    if (points < (uint64_t)samples)
        return 1;
    interval = range / (uint64_t)samples + 1; /* ceil ((range + 1) / samples) */
    return interval > INT64_MAX ? INT64_MAX : (int64_t)interval;
}

static int by_interval (const void *va, const void *vb)
{
    const struct sample_plan *a = va, *b = vb;

    if (a->interval != b->interval)
        return a->interval < b->interval ? -1 : 1;
    return a->curve < b->curve ? -1 : a->curve > b->curve;
}

void sample_group (struct sample_plan *v, size_t n)
{
    if (n)
        qsort (v, n, sizeof (*v), by_interval);
    for (size_t from = 0, end; from < n; from = end) {
        int64_t most = v[from].interval + v[from].interval / 10, samples = 0;

        for (end = from; end < n && v[end].interval <= most && end - from < GROUP_CURVES; end++) {
            if (end > from && samples + v[end].samples > GROUP_SAMPLES)
                break;
            samples += v[end].samples;
        }
        for (size_t i = from; i < end; i++)
            v[i].interval = v[end - 1].interval;
    }
}
