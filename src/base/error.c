/* error.c - writing and wrapping of error values; see error.h. Texts too long are cut, never overrun. */
#include "base/error.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

int error_set (struct error *err, int code, const char *fmt, ...)
{
    char text[sizeof (err->text)];
    va_list ap;

    va_start (ap, fmt);
    vsnprintf (text, sizeof (text), fmt, ap);
    va_end (ap);
    memcpy (err->text, text, sizeof (text));
    err->code = code;
    return -1;
}

int error_wrap (struct error *err, const char *fmt, ...)
{
    char old[sizeof (err->text)];
    va_list ap;
    int n;

    memcpy (old, err->text, sizeof (old));
    va_start (ap, fmt);
    n = vsnprintf (err->text, sizeof (err->text), fmt, ap);
    va_end (ap);
    if (n >= 0 && (size_t)n < sizeof (err->text))
        snprintf (err->text + n, sizeof (err->text) - (size_t)n, ": %s", old);
    return -1;
}

int error_errno (struct error *err, const char *fmt, ...)
{
    int code = errno;
    va_list ap;
    int n;

    va_start (ap, fmt);
    n = vsnprintf (err->text, sizeof (err->text), fmt, ap);
    va_end (ap);
    if (n >= 0 && (size_t)n < sizeof (err->text))
        snprintf (err->text + n, sizeof (err->text) - (size_t)n, ": %s", strerror (code));
    err->code = code;
    return -1;
}
