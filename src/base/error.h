/* error.h - an error is a value with words: it lives on the caller's stack and is filled by whoever fails.
 *
 * A function that can fail returns int 0/-1 and takes `struct error *err` last. `code` is 0 when nobody gave
 * one; an errno value (below 10000) for a failed system call; or a wire code (see wire/errors.h) =
 * status*10000+subcode.
 */
#pragma once
#include <stddef.h>

#define warn_unused __attribute__ ((warn_unused_result))

struct error {
    int code;
    char text[512];
};

/* Write the text, set the code, return -1: `return error_set (err, EINVAL, "queue %s: no such queue", name);`
 */
int error_set (struct error *err, int code, const char *fmt, ...) __attribute__ ((format (printf, 3, 4)));

/* Prefix what is there with more words ("take from queue gpu: ..."), keep the code, return -1. */
int error_wrap (struct error *err, const char *fmt, ...) __attribute__ ((format (printf, 2, 3)));

/* For a system call that failed: "<words>: <strerror (errno)>", code = errno; return -1. */
int error_errno (struct error *err, const char *fmt, ...) __attribute__ ((format (printf, 2, 3)));
