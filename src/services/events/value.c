/* value.c - see value.h. */
#include "services/events/value.h"

#include <math.h>

void value_put (struct str *s, double v, enum value_form form)
{
    if (isfinite (v) || form == VALUE_BARE) {
        str_add_double (s, v);
    } else if (form == VALUE_NULLS) {
        str_puts (s, "null");
    } else {
        str_putc (s, '"');
        str_add_double (s, v);
        str_putc (s, '"');
    }
}
