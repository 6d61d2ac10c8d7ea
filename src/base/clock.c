/* clock.c - reading, printing and parsing of time; see clock.h. Civil dates by the days-from-civil formula of
 * H. Hinnant ("chrono-Compatible Low-Level Date Algorithms"). */
#include "base/clock.h"

#include <stdatomic.h>
#include <time.h>

static _Atomic int64_t turned;

static int64_t read_us (clockid_t id)
{
    struct timespec ts;

    clock_gettime (id, &ts);
    return (int64_t)ts.tv_sec * 1000000 + ts.tv_nsec / 1000;
}

int64_t clock_now_us (void)
{
    return read_us (CLOCK_REALTIME) + atomic_load (&turned) * 1000;
}

int64_t clock_now (void)
{
    return clock_now_us () / 1000;
}

int64_t clock_monotonic (void)
{
    return read_us (CLOCK_MONOTONIC) / 1000 + atomic_load (&turned);
}

void clock_turn (int64_t ms)
{
    atomic_fetch_add (&turned, ms);
}

static int64_t days_from_civil (int64_t y, int m, int d)
{
    int64_t era, yoe, doy;

    y -= m <= 2;
    era = (y >= 0 ? y : y - 399) / 400;
    yoe = y - era * 400;
    doy = (153 * (m + (m > 2 ? -3 : 9)) + 2) / 5 + d - 1;
    return era * 146097 + yoe * 365 + yoe / 4 - yoe / 100 + doy - 719468;
}

/* Times stand in every answer: printf would take ten times as long. */
static void put_digits (struct str *s, int v, int n)
{
    char b[8];

    for (int i = n; i-- > 0; v /= 10)
        b[i] = (char)('0' + v % 10);
    str_add (s, b, (size_t)n);
}

static void put_part (struct str *s, char before, int v, int digits)
{
    str_putc (s, before);
    put_digits (s, v, digits);
}

void clock_format_us (struct str *s, int64_t us)
{
    int64_t fraction = us % 1000000;
    time_t sec;
    struct tm tm;

    if (fraction < 0)
        fraction += 1000000;
    sec = (us - fraction) / 1000000;
    gmtime_r (&sec, &tm);
    if (tm.tm_year < -1900 || tm.tm_year > 9999 - 1900)
        str_add_int (s, tm.tm_year + INT64_C (1900));
    else
        put_digits (s, tm.tm_year + 1900, 4);
    put_part (s, '-', tm.tm_mon + 1, 2);
    put_part (s, '-', tm.tm_mday, 2);
    put_part (s, 'T', tm.tm_hour, 2);
    put_part (s, ':', tm.tm_min, 2);
    put_part (s, ':', tm.tm_sec, 2);
    if (fraction)
        put_part (s, '.', (int)fraction, 6);
    str_puts (s, "+00:00");
}

void clock_format (struct str *s, int64_t ms)
{
    clock_format_us (s, ms * 1000);
}

struct reader {
    const char *p, *end;
};

static int digits (struct reader *r, int n, int *ret)
{
    int v = 0;

    for (int i = 0; i < n; i++, r->p++) {
        if (r->p == r->end || *r->p < '0' || *r->p > '9')
            return -1;
        v = v * 10 + (*r->p - '0');
    }
    *ret = v;
    return 0;
}

static int is (struct reader *r, const char *any)
{
    if (r->p < r->end)
        for (; *any; any++)
            if (*r->p == *any) {
                r->p++;
                return 1;
            }
    return 0;
}

static int parse_time (struct reader *r, int64_t *ms)
{
    int h, m = 0, s = 0, f = 0, scale = 100;

    if (digits (r, 2, &h) < 0 || h > 24)
        return -1;
    if (is (r, ":") && (digits (r, 2, &m) < 0 || m > 59))
        return -1;
    if (is (r, ":") && (digits (r, 2, &s) < 0 || s > 60))
        return -1;
    if (is (r, ".,"))
        for (int d; r->p < r->end && *r->p >= '0' && *r->p <= '9'; scale /= 10) {
            if (digits (r, 1, &d) < 0)
                return -1;
            f += d * scale;
        }
    *ms += ((h * 60 + m) * 60 + s) * INT64_C (1000) + f;
    return 0;
}

static int parse_zone (struct reader *r, int64_t *ms)
{
    int sign = r->p < r->end && *r->p == '-' ? -1 : 1, h, m = 0;

    if (is (r, "Zz") || r->p == r->end)
        return 0;
    if (!is (r, "+-") || digits (r, 2, &h) < 0)
        return -1;
    is (r, ":");
    if (r->p < r->end && digits (r, 2, &m) < 0)
        return -1;
    *ms -= sign * (h * 60 + m) * INT64_C (60000);
    return 0;
}

int clock_parse (const char *text, size_t n, int64_t *ret_ms)
{
    struct reader r = { text, text + n };
    int y, m, d;
    int64_t ms;

    if (digits (&r, 4, &y) < 0 || !is (&r, "-") || digits (&r, 2, &m) < 0 || !is (&r, "-") ||
        digits (&r, 2, &d) < 0)
        return -1;
    if (m < 1 || m > 12 || d < 1 || d > 31)
        return -1;
    ms = days_from_civil (y, m, d) * INT64_C (86400000);
    if (is (&r, "Tt ") && (parse_time (&r, &ms) < 0 || parse_zone (&r, &ms) < 0))
        return -1;
    if (r.p != r.end)
        return -1;
    *ret_ms = ms;
    return 0;
}
