/* versions.c - files a model had before. A model has one uri; a client that saves weights under a new name replaces it,
 * and the file of the old name would be on the file server with nobody knowing of it. Nothing is deleted at that moment:
 * clients repeat old uris in later edits, and a file of that name may just be uploaded anew. The old uri is kept as a
 * version instead, can be seen and fetched, and goes with the model. */
#include "api/x_models.api.h"
#include "base/clock.h"
#include "services/files/files.h"
#include "services/models/model.h"

enum { VERSIONS_MAX = 1000 };

static bool ends_with (const char *s, const char *end)
{
    size_t n = strlen (s), k = strlen (end);
    return n >= k && !strcmp (s + n - k, end);
}

/* What the SDK says before and instead of an upload is no file. */
static bool is_file (const char *uri)
{
    return uri && *uri && !ends_with (uri, "/uploading_file") && !ends_with (uri, "/failed_uploading");
}

int model_uri_replaced (struct call *c, const struct model *m, const char *uri, struct error *err)
{
    if (!uri || (m->uri && !strcmp (uri, m->uri)))
        return 0;
    if (is_file (m->uri) && db_exec (c->db, &sql_model_version_add, err, V_INT (m->n), V_STR (m->uri),
                                     V_INT (c->now), V_STR (c->who.user)) < 0)
        return -1;
    return db_exec (c->db, &sql_model_version_take, err, V_INT (m->n), V_STR (uri)) < 0
               ? -1
               : file_used_by_model (c->db, m->n, uri, err);
}

int model_old_uris (struct call *c, int64_t n, struct model_uris *ret, struct error *err)
{
    cleanup_rows struct rows r = { 0 };
    size_t cap = 0;
    int more;
    *ret = (struct model_uris){ 0 };
    if (db_query (c->db, &sql_model_versions, &r, err, V_INT (n)) < 0)
        return -1;
    while ((more = db_next (&r, err)) > 0) {
        if (ret->n == cap) {
            const char **old = ret->v;
            cap = cap ? cap * 2 : 8;
            ret->v = arena_array (c->arena, const char *, cap);
            if (ret->n)
                memcpy (ret->v, old, ret->n * sizeof *old);
        }
        ret->v[ret->n++] = row_str (&r, 0, c->arena);
    }
    return more;
}

int model_drop (struct call *c, int64_t n, struct error *err)
{
    return db_exec (c->db, &sql_model_versions_drop, err, V_INT (n)) < 0 ||
                   db_exec (c->db, &sql_model_drop, err, V_INT (n)) < 0 ||
                   file_user_gone (c->db, "model", n, err) < 0
               ? -1
               : 0;
}

/* 1 take it (with its size, where it is ours), 0 it is ours and gone, -1. Of a model shown to every company nobody says
 * whose folder its files lie in. */
static int look_at (struct call *c, const struct model *m, struct x_models_version *v, struct error *err)
{
    struct file_row f;
    const char *files = c->facts && *m->company ? c->facts->files_url : NULL,
               *path = file_path_of_url (c->arena, files, v->uri);
    int rc = path ? file_find (c->db, c->arena, m->company, path, &f, err) : 0;
    if (rc < 0 || (path && !rc))
        return rc;
    v->size = path ? f.size : 0;
    v->has.size = path != NULL;
    return 1;
}

int x_models_versions (struct call *c, const struct x_models_versions_in *in,
                       struct x_models_versions_out *out, struct error *err)
{
    struct model m;
    cleanup_rows struct rows r = { 0 };
    int more = 1, rc;
    if (model_read (c, in->model, true, &m, err) < 0 ||
        db_query (c->db, &sql_model_versions, &r, err, V_INT (m.n)) < 0)
        return -1;
    out->versions.v = arena_array (c->arena, struct x_models_version, VERSIONS_MAX);
    struct x_models_version v = { .uri = m.uri, .current = true };
    for (bool first = true; more > 0 && out->versions.n < VERSIONS_MAX; first = false) {
        if (!first && (more = db_next (&r, err)) > 0) {
            struct str at = { .arena = c->arena };
            clock_format (&at, row_int (&r, 1));
            v = (struct x_models_version){ .uri = row_str (&r, 0, c->arena),
                                           .replaced = at.p,
                                           .user = row_str (&r, 2, c->arena) };
        }
        if (more <= 0 || (first && !is_file (m.uri)))
            continue;
        if ((rc = look_at (c, &m, &v, err)) < 0)
            return -1;
        v.has.current = true;
        if (rc)
            out->versions.v[out->versions.n++] = v;
    }
    return more < 0 ? -1 : 0;
}
