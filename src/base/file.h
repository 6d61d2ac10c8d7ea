/* file.h - whole files, folders and descriptors: read with a maximum, written so that a reader sees the old or the
 * new content and never half of it. Paths are NUL-terminated; errors carry the path and errno as code. */
#pragma once
#include "base/error.h"
#include "base/str.h"
#include "base/text.h"

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>
#include <unistd.h>

/* Append the content to *ret (heap or arena, as the caller made it). Longer than max: EFBIG, *ret untouched. */
int file_read (const char *path, size_t max, struct str *ret, struct error *err) warn_unused;

/* The new content or the old, never a mixture, also after a power cut: temporary file beside it, fsync, rename,
 * fsync of the folder. `mode` is exact (the umask does not touch it). */
int file_write (const char *path, struct text content, mode_t mode, struct error *err) warn_unused;

int file_append (const char *path, struct text content, mode_t mode,
                 struct error *err) warn_unused;                   /* no fsync */
int file_remove (const char *path, struct error *err) warn_unused; /* one that is not there is fine */
bool file_exists (const char *path);                               /* anything of that name, links followed */
int64_t file_size (const char *path);                              /* bytes; -1 when it cannot be looked at */

/* All n bytes, through short writes and EINTR. `what` names the descriptor in errors. */
int fd_write (int fd, const void *p, size_t n, const char *what, struct error *err) warn_unused;
int fd_read (int fd, size_t max, struct str *ret, const char *what,
             struct error *err) warn_unused; /* to the end */

int folder_make (const char *path, mode_t mode, struct error *err) warn_unused; /* with its parents */
int folder_remove (const char *path, struct error *err) warn_unused; /* and all in it; follows no link */
int folder_sync (const char *path, struct error *err) warn_unused;   /* names in it are durable */
bool folder_exists (const char *path);

static inline void cleanup_close_ (int *fd)
{
    if (*fd >= 0)
        close (*fd);
}
/* cleanup_close int fd = -1; */
#define cleanup_close __attribute__ ((cleanup (cleanup_close_)))
/* return TAKE_FD (fd): hands a descriptor out of its scope */
#define TAKE_FD(fd)                                                                                          \
    ({                                                                                                       \
        int take_fd_ = (fd);                                                                                 \
        (fd) = -1;                                                                                           \
        take_fd_;                                                                                            \
    })
