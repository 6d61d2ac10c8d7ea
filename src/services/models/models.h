/* models.h - the door of the models service. */
#pragma once
#include "base/error.h"
#include "services/call.h"
#include "store/query.h"

extern const struct query_entity models_entity;

/* Every id an own or public model? 400/201 naming the first that is not. */
int models_check (struct call *c, const char *const *ids, size_t n, struct error *err) warn_unused;

/* Publish a model that is not ready yet (ready = true); already ready or unknown: nothing. */
int model_make_ready (struct call *c, const char *id, struct error *err) warn_unused;

/* What becomes of the models a task made when it is reset or deleted: drafts that are no task's input are deleted
 * (unless keep_drafts); others lose their task (reset), or have it marked "__DELETED__<task>" (gone). Counts, and the
 * uris of the deleted ones as JSON array text. */
struct models_of_task {
    int64_t deleted, updated;
    struct str urls;
};
int models_release (struct call *c, const char *task, bool gone, bool keep_drafts, struct models_of_task *ret,
                    struct error *err) warn_unused;

/* Delete one: 400/205 when it is a task's input, 400/206 when its task is published, unless force. The uris of all its
 * versions (JSON strings) join urls (a list without brackets), where given; `files`: those on our own file server are
 * deleted after the commit. */
int model_delete (struct call *c, const char *id, bool force, bool files, struct str *urls,
                  struct error *err) warn_unused;

/* How many published models name this task as their maker. */
int models_published_of_task (struct call *c, const char *task, int64_t *ret, struct error *err) warn_unused;

/* last_iteration of a model grows to `iteration` (models' own events). */
int model_touch_from_events (struct call *c, const char *id, int64_t last_iteration,
                             struct error *err) warn_unused;
