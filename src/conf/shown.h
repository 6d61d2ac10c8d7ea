/* shown.h - values as people may see them: secrets inside of texts become ****. Inside conf only. */
#pragma once
#include "base/str.h"
#include "base/text.h"

/* A JSON value, its texts without
 *   passwords of addresses      https://user:****@host/path, also a token alone before the @
 *   values of secret names      DB_PASSWORD=****, --env=API_TOKEN=****, --token ****, also as a list's next text */
void shown_put (struct str *out, struct text json);
