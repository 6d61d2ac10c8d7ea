/* hours.h - working hours: "HOURS DAYS" as in "9-17 MON-FRI", "22 SAT", "0-7,20-0 SUN,WED". A single hour means from
 * then to midnight, an end of 0 means midnight, no days mean all days. Local time. */
#pragma once
#include "base/error.h"

#include <stdbool.h>
#include <stdint.h>

struct hours {
    bool given;
    uint32_t day[7]; /* bit h: hour h of that day, day 0 is Sunday */
};
/* Add one entry. */
int hours_add (struct hours *h, const char *entry, struct error *err) warn_unused;
bool hours_hold (const struct hours *h, int weekday, int hour);
