/* model.h - what the files of the models service share; nobody else includes it. */
#pragma once
#include "api/models.api.h"
#include "base/json.h"
#include "services/answer.h"
#include "services/models/models.h"
#include "sql/sql.h"
#include "store/store.h"

struct model {
    int64_t n;
    const char *id, *company, *name, *task, *project, *uri;
    struct text metadata, tags, system_tags;
    bool ready;
};
/* Own models (also everybody's when `public_too`); 400/201. */
int model_read (struct call *c, const char *id, bool public_too, struct model *ret,
                struct error *err) warn_unused;
int model_changed (struct call *c, const struct model *m, bool update, struct error *err) warn_unused;
int model_set_tags (struct call *c, const struct model *m, struct text tags, struct text system,
                    struct error *err) warn_unused;
struct model_new {
    const char *id, *name, *parent, *project, *task, *comment, *uri, *framework;
    struct text design, labels, tags, system_tags, metadata;
    bool ready, everybody;
};
int model_insert (struct call *c, const struct model_new *m, struct error *err) warn_unused;
int labels_check (struct text labels, struct error *err) warn_unused;
int model_publish_one (struct call *c, const char *id, bool publish_task, bool force_task,
                       struct text *ret_task, struct error *err) warn_unused;

/* -- versions.c: files a model had before */
/* Its uri becomes another: the old one joins its versions. Called before the change. */
int model_uri_replaced (struct call *c, const struct model *m, const char *uri,
                        struct error *err) warn_unused;
/* Uris of the versions, without its own. */
struct model_uris {
    const char **v;
    size_t n;
};
int model_old_uris (struct call *c, int64_t n, struct model_uris *ret, struct error *err) warn_unused;
/* The model and its versions leave their tables. */
int model_drop (struct call *c, int64_t n, struct error *err) warn_unused;
