/* value.h - how metric values are written: a NaN or an infinity has three faces. */
#pragma once
#include "base/str.h"

#include <stdbool.h>

enum value_form {
    VALUE_BARE,  /* NaN, Infinity, -Infinity: for Python clients of reference calls */
    VALUE_NULLS, /* null: valid JSON, for everybody else */
    VALUE_WORDS  /* "NaN", "Infinity", "-Infinity": our own calls, and reference calls of our own page */
};
/* Of a struct call or query_source. */
#define VALUE_FORM(of) ((of)->bare_nan ? VALUE_BARE : (of)->word_nan ? VALUE_WORDS : VALUE_NULLS)
void value_put (struct str *s, double v, enum value_form form);
