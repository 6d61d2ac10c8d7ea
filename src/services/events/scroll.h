/* scroll.h - scroll ids that need no memory on the server: what to go on with, signed (a JWT in form). */
#pragma once
#include "services/call.h"

/* state: JSON object text. kind tells the calls apart that may not use each other's ids. */
char *scroll_make (struct call *c, const char *kind, struct text state);
/* The state of an id, checked. 400/1104 for one that we did not make for this kind. */
int scroll_open (struct call *c, const char *kind, const char *scroll_id, struct text *ret,
                 struct error *err) warn_unused;
