/* sample.h - thinning a curve: equal stretches of the x axis, each with mean, true extremes and counts. No database. */
#pragma once
#include "base/arena.h"
#include "store/series.h"

enum sample_key { SAMPLE_ITER, SAMPLE_TIME };

struct stretch {
    int64_t x; /* where it begins: a multiple of the interval */
    int64_t count, finite, nan, inf;
    int64_t minus_inf;    /* of inf */
    double sum, min, max; /* of the finite values */
    double odd;           /* the last value that is not finite */
};

/* Smallest and largest key of the points; false when there are none. Single values, points without iteration and
 * points without value are no part of a curve, here and below. */
bool sample_range (const struct point *v, size_t n, enum sample_key key, int64_t *ret_min, int64_t *ret_max,
                   size_t *ret_n);
/* Stretches of `interval` (at least 1) with points in them, ascending. v ascends by iteration. */
void sample_stretches (struct arena *a, const struct point *v, size_t n, enum sample_key key,
                       int64_t interval, struct stretch **ret, size_t *ret_n);
/* The mean of the finite values; without any, the last of the others. */
double stretch_mean (const struct stretch *s);
/* Interval that gives about `samples` stretches: server.md 7.2. */
int64_t sample_interval (size_t points, int64_t min, int64_t max, int64_t samples);

/* Curves of nearly the same interval get the same one: sorted by interval, a group takes the next while it is at most
 * a tenth longer, 50 curves and 6000 samples together; all use the group's longest. */
struct sample_plan {
    size_t curve;
    int64_t interval, samples;
};
void sample_group (struct sample_plan *v, size_t n);
