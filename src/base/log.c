/* log.c - see log.h. A line is made whole in memory and written by one write(2), so lines of threads never
 * mix. */
#include "base/log.h"

#include "base/clock.h"

#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <unistd.h>

static _Atomic int least = LOG_INFO;

void log_set_level (enum log_level level)
{
    atomic_store (&least, (int)level);
}

enum log_level log_get_level (void)
{
    return (enum log_level)atomic_load (&least);
}

void log_write (enum log_level level, const char *room, const char *fmt, ...)
{
    static const char *const names[] = { "debug", "info", "warn", "error" };
    cleanup_str struct str s = { 0 };
    char text[4096];
    va_list ap;

    if ((int)level < atomic_load (&least))
        return;
    va_start (ap, fmt);
    vsnprintf (text, sizeof (text), fmt, ap);
    va_end (ap);
    clock_format (&s, clock_now ());
    str_addf (&s, " %s %s: ", names[level], room);
    for (const char *p = text; *p; p++) /* a line stays one line, whatever a client sent */
        str_putc (&s, (unsigned char)*p < 0x20 || *p == 0x7f ? ' ' : *p);
    str_putc (&s, '\n');
    if (write (STDERR_FILENO, s.p, s.n) < 0)
        return; /* nowhere left to say it */
}
