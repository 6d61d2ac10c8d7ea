/* files.h - the door of the files: what is stored under which path. A file is a row (company, path, size, sha256, type,
 * created, user, blob); its bytes lie in a blob, named by our id, which server/ writes before the row and removes after
 * it (a job row of kind "blob" says which). A client's path is only ever a key: it never becomes a file-system path.
 */
#pragma once
#include "base/arena.h"
#include "base/error.h"
#include "base/text.h"

#include <stdbool.h>
#include <stdint.h>

struct db;
enum { FILE_PATH_MAX = 4096 };
#define FILE_JOB_BLOB "blob" /* body: {"blob": "<id>"} */

struct file_row {
    const char *path;   /* without leading slashes */
    const char *blob;   /* id */
    const char *sha256; /* 64 hex digits */
    const char *type;   /* content type */
    const char *user;
    int64_t size, created; /* ms */
};

/* A path as sent -> as stored: leading slashes gone, nothing decoded. 400/16 when it is empty, too long, not UTF-8 or
 * has a control character, an empty part, "." or "..". */
int file_path_take (struct arena *a, struct text sent, const char **ret, struct error *err) warn_unused;

/* The stored path that a client's url of our file server means ("http://host:8081/a%20b" -> "a b"); NULL: the url is not
 * below files_url (which may be NULL: none is). */
const char *file_path_of_url (struct arena *a, const char *files_url, const char *url);

/* Does a file that `owner` (a task's id; NULL: none) names go with it? When it lies on our file server, by any of the
 * addresses that the server knows of itself, or under a path that carries the owner's id: it may have more addresses. */
struct server_facts;
bool file_is_ours (struct arena *a, const struct server_facts *facts, const char *owner, const char *url);

/* 1 found, 0 none, -1. Texts live in the arena. */
int file_find (struct db *db, struct arena *a, const char *company, const char *path, struct file_row *ret,
               struct error *err) warn_unused;

/* The blobs of the next files behind `at`, which moves on; at the beginning {"", ""}. *ret_n < max: there are no more.
 * Texts live in the arena. */
struct file_cursor {
    const char *company, *path;
};
int file_blobs_next (struct db *db, struct arena *a, struct file_cursor *at, const char **ret, size_t max,
                     size_t *ret_n, struct error *err) warn_unused;

/* New or in place of what was there; the old blob becomes a job. */
int file_put (struct db *db, const char *company, const struct file_row *row, struct error *err) warn_unused;

/* 1 removed, 0 none, -1. The blob becomes a job. */
int file_remove_row (struct db *db, const char *company, const char *path, int64_t now,
                     struct error *err) warn_unused;
/* -- what is named by models and tasks goes with the last of them
 * A model names this uri too; what it named before stays named. */
int file_used_by_model (struct db *db, int64_t n, const char *uri, struct error *err) warn_unused;
/* A task names the artifacts of this execution document, and no others. */
int file_used_by_task (struct db *db, int64_t n, struct text execution, struct error *err) warn_unused;
/* The model ("model") or task ("task") is gone. */
int file_user_gone (struct db *db, const char *kind, int64_t n, struct error *err) warn_unused;
/* A file, or all below a folder, but what somebody names, itself or a folder it lies in; `url`: how it was named by who
 * went. How many went, -1. */
int64_t file_remove_unused (struct db *db, const char *company, const char *path, const char *url,
                            struct error *err) warn_unused;

/* All files below "folder/"; returns how many, -1. */
int64_t file_remove_folder (struct db *db, const char *company, const char *folder, int64_t now,
                            struct error *err) warn_unused;
