/* clock.h - the one clock. Wall time in int64_t milliseconds since 1970 UTC; tests may turn it. */
#pragma once
#include "base/str.h"

#include <stdint.h>

int64_t clock_now (void);       /* wall time, ms */
int64_t clock_now_us (void);    /* wall time, microseconds */
int64_t clock_monotonic (void); /* ms since boot; for intervals and timeouts */
void clock_turn (int64_t ms);   /* tests: add ms to both from now on */

/* "2026-11-29T18:23:55.692000+00:00": six digits, the fraction left out when zero (what the wire shows). */
void clock_format_us (struct str *s, int64_t us);
void clock_format (struct str *s, int64_t ms);
/* Any ISO 8601 date or date-time, zone optional (none = UTC), fraction optional -> ms. -1 when it is none. */
int clock_parse (const char *text, size_t n, int64_t *ret_ms);
