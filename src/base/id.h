/* id.h - ids of the wire: 32 lower-case hex digits (a random uuid4 without dashes). */
#pragma once
#include <stdbool.h>

struct id {
    char hex[33];
};
struct id id_random (void);
bool id_valid (const char *s); /* exactly 32 hex digits */
