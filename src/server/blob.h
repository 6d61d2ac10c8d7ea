/* blob.h - bytes of files in the data folder: DATA/files/<first two digits>/<id>, written under DATA/files/tmp first, so
 * that a name in place is always whole. All of it blocks: for the pool. */
#pragma once
#include "base/digest.h"
#include "base/error.h"
#include "base/id.h"
#include "base/text.h"

#include <stdbool.h>
#include <stdint.h>

struct blob {           /* one that is being written */
    const char *folder; /* DATA/files */
    struct id id;
    int fd; /* -1: none */
    int64_t size;
    struct digest_stream *digest;
    bool placed;
    char sha256[65];
};

int blobs_open (const char *folder,
                struct error *err) warn_unused; /* makes the folders, removes left-overs in tmp */

int blob_create (struct blob *b, const char *folder, struct error *err) warn_unused;
int blob_add (struct blob *b, struct text bytes, struct error *err) warn_unused;
int blob_place (struct blob *b,
                struct error *err) warn_unused; /* fsync, rename, fsync of the folder; sha256 is there */
void blob_drop (
    struct blob *b); /* what was written is removed, also when it is in place; {0} and fd -1 are fine */

int blob_open (const char *folder, const char *id, int *ret_fd, int64_t *ret_size,
               struct error *err) warn_unused;
int blob_remove (const char *folder, const char *id,
                 struct error *err) warn_unused; /* one that is gone is fine */
