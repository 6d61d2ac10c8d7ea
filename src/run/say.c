/* say.c - see say.h. */
#include "run/say.h"
#include "base/str.h"

#include <stdarg.h>
#include <stdio.h>

void say (const struct say *s, const char *level, const char *fmt, ...)
{
    char text[2048];
    va_list ap;
    if (!s || !s->notice)
        return;
    va_start (ap, fmt);
    vsnprintf (text, sizeof text, fmt, ap);
    va_end (ap);
    s->notice (s->arg, level, text);
}
