/* multipart.h - multipart/form-data as a stream: bytes in, parts out, in constant memory. Nothing here knows a socket or
 * a file. A part without a file name is a form field and is skipped. */
#pragma once
#include "base/arena.h"
#include "base/error.h"
#include "base/str.h"
#include "base/text.h"

#include <stdbool.h>

enum { MULTIPART_HEAD_MAX = 16384, MULTIPART_BOUNDARY_MAX = 200 };

struct multipart_events {
    int (*begin) (struct text name, struct text type, void *arg,
                  struct error *err); /* the field's name, unquoted */
    int (*data) (struct text bytes, void *arg, struct error *err);
    int (*end) (void *arg, struct error *err);
};
struct multipart {
    const struct multipart_events *events;
    void *arg;
    struct str mark; /* "\r\n--boundary" */
    struct str head; /* of the part being read */
    size_t matched;  /* bytes of the mark seen at the end of what came */
    int state;
    bool taking; /* this part is a file */
};

/* content_type: the header's value. -1: 400 in err->code when it is not multipart/form-data with a boundary. */
int multipart_init (struct multipart *m, struct arena *a, struct text content_type,
                    const struct multipart_events *events, void *arg, struct error *err) warn_unused;
int multipart_feed (struct multipart *m, struct text in, struct error *err) warn_unused;
bool multipart_complete (const struct multipart *m); /* the closing boundary was seen */
