/* squeeze.h - bytes in zstd level 1, or as they are where that would not be smaller. The first byte says
 * which, a varint after it the full length. */
#pragma once
#include "base/arena.h"
#include "base/error.h"
#include "base/str.h"
#include "base/text.h"

void squeeze (struct str *out, struct text raw); /* appends */
/* The bytes back, in the arena or in place. -1: broken, or longer than most. */
int unsqueeze (struct arena *a, struct text in, size_t most, struct text *ret, struct error *err) warn_unused;
