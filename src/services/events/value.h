/* value.h - how metric values are written: a NaN or an infinity has three faces. */
#pragma once
#include "base/str.h"

#include <stdbool.h>

enum value_form {
    VALUE_BARE,  /* NaN, Infinity, -Infinity: for Python clients of reference calls */
    VALUE_NULLS, /* null: valid JSON, for everybody else */
    VALUE_WORDS  /* "NaN", "Infinity", "-Infinity": our own calls */
};
static inline enum value_form value_form (bool bare_nan)
{
    return bare_nan ? VALUE_BARE : VALUE_NULLS;
}
void value_put (struct str *s, double v, enum value_form form);
