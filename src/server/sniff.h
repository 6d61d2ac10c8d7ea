/* sniff.h - what a file is, by its first bytes and its name: the content type it is served with, and whether a browser
 * may show it in place. */
#pragma once
#include "base/text.h"

#include <stdbool.h>

enum { SNIFF_BYTES = 512 };

/* The type to serve. Images, audio and video by their magic; plain text by its bytes (its name then says which text);
 * all else by its name. Never NULL. */
const char *sniff_type (struct text first, const char *path);
/* Pictures (not SVG), sound, film and plain text may be shown; everything else is offered for download. */
bool sniff_inline (const char *type);
