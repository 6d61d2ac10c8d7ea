/* hours.c - see hours.h. */
#include "agent/hours.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static const char *const names[] = { "SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT" };

static int fail (const char *entry, const char *what, struct error *err)
{
    return error_set (err, EINVAL, "working hours '%s': %s; written as \"9-17 MON-FRI\"", entry, what);
}

/* A number up to 24 at *p; -1 when there is none. */
static int read_hour (const char **p)
{
    char *end;
    long v;

    if (!isdigit ((unsigned char)**p))
        return -1;
    v = strtol (*p, &end, 10);
    *p = end;
    return v <= 24 ? (int)v : -1;
}

static int read_hours (const char **p, uint32_t *ret)
{
    uint32_t bits = 0;

    for (;; ++*p) {
        int from = read_hour (p), to = 24;

        if (from < 0)
            return -1;
        if (**p == '-') {
            ++*p;
            to = read_hour (p);
            if (to < 0)
                return -1;
            to = to ? to : 24;
        }
        if (from >= to)
            return -1;
        for (int i = from; i < to; i++)
            bits |= 1u << i;
        if (**p != ',')
            break;
    }
    *ret = bits;
    return 0;
}

static int read_day (const char **p)
{
    for (int i = 0; i < 7; i++) {
        if (strncasecmp (*p, names[i], 3))
            continue;
        *p += 3;
        return i;
    }
    return -1;
}

static int read_days (const char **p, bool *days)
{
    for (;; ++*p) {
        int from = read_day (p), to = from;

        if (from < 0)
            return -1;
        if (**p == '-') {
            ++*p;
            if ((to = read_day (p)) < 0)
                return -1;
        }
        for (int i = from;; i = (i + 1) % 7) { /* FRI-MON goes over the weekend */
            days[i] = true;
            if (i == to)
                break;
        }
        if (**p != ',')
            return 0;
    }
}

int hours_add (struct hours *h, const char *entry, struct error *err)
{
    const char *p = entry + strspn (entry, " ");
    bool days[7] = { false };
    uint32_t bits;

    if (read_hours (&p, &bits) < 0)
        return fail (entry, "the hours are not understood", err);
    p += strspn (p, " ");
    if (!*p)
        memset (days, true, sizeof (days));
    else if (read_days (&p, days) < 0)
        return fail (entry, "the days are not understood", err);
    if (p[strspn (p, " ")])
        return fail (entry, "something stands behind the days", err);
    for (int i = 0; i < 7; i++)
        if (days[i])
            h->day[i] |= bits;
    h->given = true;
    return 0;
}

bool hours_hold (const struct hours *h, int weekday, int hour)
{
    return h->day[weekday % 7] >> (hour % 24) & 1;
}
