/* files.c - the file front: who may, and which of upload, download and removal it is. */
#include "server/files.h"

#include "base/clock.h"
#include "base/file.h"
#include "base/json.h"
#include "base/log.h"
#include "base/path.h"
#include "server/blob.h"
#include "services/files/files.h"

#include <stdlib.h>
#include <string.h>

enum { DELETE_BODY_MAX = 4 << 20 };

void files_answer (struct server *s, struct http_request *r, int status, const char *type, const char *text)
{
    struct http_answer a = { .status = status, .type = type, .body = text_of (text) };

    http_answer_header (r, &a, "X-Content-Type-Options", "nosniff");
    http_answer_header (r, &a, "Content-Security-Policy", "sandbox; default-src 'none'");
    front_cors (s, r, &a);
    http_respond (r, &a);
}

/* -- removal: DELETE /path and POST /delete_many */
struct removal {
    struct server *server;
    struct http_request *http; /* NULL: nobody waits for an answer, and this is on the heap */
    struct arena *arena;
    struct identity who;
    struct pool_job job;
    struct store_write write;
    struct text body;                   /* delete_many: {"files": [...]} */
    const char *path;                   /* DELETE: the one */
    const char *url;                    /* of what went with a task or model */
    bool removed;                       /* DELETE */
    struct str deleted, missing, empty; /* members of the answer, of the last run */
    struct error err;
    int rc;
};
#define WRITE_REMOVAL(w) ((struct removal *)((char *)(w)-offsetof (struct removal, write)))
#define JOB_REMOVAL(j)   ((struct removal *)((char *)(j)-offsetof (struct removal, job)))

/* A file, or all below a folder; of those that went with a task or model (nobody waits for the answer) what another names
 * stays. 1 something went, 0 nothing there, -1. */
static int remove_path (const struct removal *m, struct db *db, const char *path, struct error *err)
{
    const char *company = m->who.company;
    int64_t now = clock_now (), n;

    if (!m->http)
        n = file_remove_unused (db, company, path, m->url, err);
    else if (!(n = file_remove_row (db, company, path, now, err)))
        n = file_remove_folder (db, company, path, now, err);
    return n < 0 ? -1 : n > 0;
}

static void list_add (struct str *list, const char *given)
{
    if (list->n)
        str_putc (list, ',');
    json_put_string (list, given);
}

/* Clients delete a task and then its files, which by then went with the task: for ten minutes that counts as done. */
static const char *gone_key (const struct removal *m, const char *path)
{
    return arena_printf (m->arena, "file_gone/%s/%s", m->who.company, path);
}

static bool went_with_task (const struct removal *m, const char *path)
{
    struct text ignored;

    return m->http && volatile_get (m->server->volatiles, m->arena, gone_key (m, path), &ignored);
}

static int remove_one_of_many (struct removal *m, struct db *db, struct text given, struct error *err)
{
    char *name = json_string (m->arena, given);
    bool plus = m->http; /* as the reference reads this list; in a url "+" is a plus */
    struct text decoded = name ? http_unescape (m->arena, text_of (name), plus) : (struct text){ 0 };
    const char *path = NULL;
    struct error ignored;
    int rc = 0;

    if (!name || !*name) {
        list_add (&m->empty, name ? name : "");
        return 0;
    }
    if (decoded.p && file_path_take (m->arena, decoded, &path, &ignored) == 0 &&
        (rc = remove_path (m, db, path, err)) < 0)
        return -1;
    if (rc && !m->http)
        volatile_put (m->server->volatiles, gone_key (m, path), TEXT (""), 10 * 60 * 1000);
    if (!rc && !(decoded.p && path && went_with_task (m, path))) {
        list_add (&m->missing, name);
        return 0;
    }
    if (m->deleted.n)
        str_putc (&m->deleted, ',');
    json_put_string (&m->deleted, name);
    str_putc (&m->deleted, ':');
    json_put_string (&m->deleted, path);
    return 0;
}

static int run_removal (struct store_write *w, struct db *db, struct error *err)
{
    struct removal *m = WRITE_REMOVAL (w);
    struct json_iter it = json_iter (json_get (m->body, "files"));
    int rc;

    if (m->path) {
        rc = file_remove_row (db, m->who.company, m->path, clock_now (), err);
        m->removed = rc > 0 || (rc == 0 && went_with_task (m, m->path));
        return rc < 0 ? -1 : 0;
    }
    m->deleted = m->missing = m->empty = (struct str){ .arena = m->arena };
    while (json_next (&it))
        if (remove_one_of_many (m, db, it.value, err) < 0)
            return -1;
    return 0;
}

static void answer_removal (struct pool_job *job)
{
    struct removal *m = JOB_REMOVAL (job);
    struct http_request *r = m->http;
    struct str s = { .arena = r->arena };

    if (m->rc < 0) {
        files_answer (m->server, r, 500, "text/plain; charset=utf-8",
                      arena_printf (r->arena, "%s\n", m->err.text));
        return;
    }
    if (m->path && !m->removed) {
        files_answer (m->server, r, 404, "text/plain; charset=utf-8",
                      arena_printf (r->arena, "File %s not found\n", m->path));
        return;
    }
    if (m->path) {
        json_put_string (&s, m->path);
    } else {
        str_addf (&s, "{\"deleted\": {%s}, \"errors\": {", m->deleted.p ? m->deleted.p : "");
        if (m->missing.n)
            str_addf (&s, "\"Not found\": [%s]%s", m->missing.p, m->empty.n ? ", " : "");
        if (m->empty.n)
            str_addf (&s, "\"Empty path not allowed\": [%s]", m->empty.p);
        str_puts (&s, "}}");
    }
    files_answer (m->server, r, 200, "application/json", s.p);
}

static void on_removed (struct store_write *w, int rc, const struct error *err)
{
    struct removal *m = WRITE_REMOVAL (w);

    m->rc = rc;
    if (rc < 0)
        m->err = *err;
    if (m->http) {
        m->job.run = answer_removal;
        pool_submit (m->server->files_pool, &m->job);
        return;
    }
    if (rc < 0)
        log_warn ("files", "removal failed words=%s", m->err.text);
    arena_destroy (m->arena); /* m lies in it */
}

static void removal_submit (struct removal *m)
{
    m->write = (struct store_write){ .run = run_removal, .done = on_removed };
    store_submit (m->server->store, &m->write);
}

static struct removal *removal_create (struct server *s, struct http_request *r, const struct identity *who)
{
    struct removal *m = arena_new (r->arena, struct removal);

    m->server = s;
    m->http = r;
    m->arena = r->arena;
    m->who = *who;
    return m;
}

static void delete_start (struct server *s, struct http_request *r, const struct identity *who,
                          struct text path)
{
    struct removal *m = removal_create (s, r, who);
    struct text decoded = http_unescape (r->arena, path, false);
    struct error err;

    if (!decoded.p || file_path_take (r->arena, decoded, &m->path, &err) < 0)
        files_answer (s, r, 404, "text/plain; charset=utf-8", "There is no such file.\n");
    else
        removal_submit (m);
}

static void delete_many_job (struct pool_job *job)
{
    struct removal *m = JOB_REMOVAL (job);
    struct error err = { 0 };

    if (http_body_inflate (m->http, DELETE_BODY_MAX, &err) < 0 ||
        json_check (m->http->body, &m->body, &err) < 0 ||
        json_kind (json_get (m->body, "files")) != JSON_ARRAY)
        files_answer (m->server, m->http, 400, "text/plain; charset=utf-8",
                      "The body must be {\"files\": [\"path\", ...]}.\n");
    else
        removal_submit (m);
}

static void delete_many_body (struct http_request *r, void *arg)
{
    struct removal *m = arg;

    (void)r;
    m->job.run = delete_many_job;
    pool_submit (m->server->files_pool, &m->job);
}

/* "http://host:8081/a%20b", "http://host:8080/files/a%20b" or "/a b" -> the path below the files, still encoded. */
static struct text path_of_url (struct server *s, struct text url)
{
    const char *p = memmem (url.p, url.n, "://", 3), *slash;
    size_t n = strlen (s->facts.files_url);

    if (p)
        url.n = strcspn (url.p, "?#");
    if (text_starts (url, s->facts.files_url) && url.n > n)
        return (struct text){ url.p + n, url.n - n };
    if (!p)
        return url;
    slash = memchr (p + 3, '/', url.n - (size_t)(p + 3 - url.p));
    url = slash ? (struct text){ slash, url.n - (size_t)(slash - url.p) } : TEXT ("");
    return text_starts (url, "/files/") ? (struct text){ url.p + 6, url.n - 6 } : url;
}

void files_delete_later (struct server *s, const char *company, const char *url)
{
    struct arena *a = arena_create ();
    struct removal *m = arena_new (a, struct removal);
    struct text path = path_of_url (s, text_of (url));
    struct str body = { .arena = a };

    m->server = s;
    m->arena = a;
    m->url = arena_strdup (a, url);
    m->who.company = arena_strdup (a, company ? company : s->facts.company);
    str_puts (&body, "{\"files\":[");
    str_add_json (&body, path.p, path.n);
    str_puts (&body, "]}");
    m->body = str_text (&body);
    removal_submit (m);
}

/* -- the front */
static void refuse_stranger (struct server *s, struct http_request *r, const struct error *err)
{
    files_answer (s, r, WIRE_STATUS (err->code), "text/plain; charset=utf-8",
                  arena_printf (r->arena, "%s\n", err->text));
}

static void route (struct server *s, struct http_request *r, const struct identity *who, struct text path)
{
    bool root = text_is (path, "/");

    if (r->method == HTTP_M_POST && root)
        upload_start (s, r, who, NULL);
    else if (r->method == HTTP_M_POST && text_is (path, "/delete_many"))
        http_read_body (r, DELETE_BODY_MAX, delete_many_body, removal_create (s, r, who));
    else if (r->method == HTTP_M_DELETE && !root)
        delete_start (s, r, who, path);
    else if ((r->method == HTTP_M_GET || r->method == HTTP_M_HEAD) && !root)
        download_start (s, r, who, path);
    else if (r->method == HTTP_M_PUT && !root) {
        struct text decoded = http_unescape (r->arena, path, false);

        if (decoded.p)
            upload_start (s, r, who, arena_text (r->arena, decoded));
        else
            files_answer (s, r, 400, "text/plain; charset=utf-8", "The path is not percent-encoded UTF-8.\n");
    } else {
        files_answer (s, r, 405, "text/plain; charset=utf-8",
                      "Files are sent by POST / (multipart) or PUT /path, read by GET, removed by DELETE.\n");
    }
}

void files_start (struct server *s, struct http_request *r, struct text path)
{
    struct identity who;
    struct error err;
    bool probe = text_is (path, "/") && (r->method == HTTP_M_GET || r->method == HTTP_M_HEAD);

    if ((!probe || session_has_credentials (r)) && session_check (s, r, r->arena, true, &who, &err) < 0)
        refuse_stranger (s, r, &err);
    else if (probe)
        files_answer (s, r, 200, "text/plain; charset=utf-8", "OK");
    else
        route (s, r, &who, path);
}

/* -- left-overs. DATA/files/clean is there between a clean end and the next start. */
static const char *clean_path (struct server *s)
{
    return path_join (s->arena, s->files_folder, "clean");
}

int files_open (struct server *s, struct error *err)
{
    live_init (&s->live);
    s->files_folder = path_join (s->arena, s->options->data, "files");
    if (blobs_open (s->files_folder, err) < 0)
        return -1;
    s->swept = file_exists (clean_path (s));
    if (!s->swept)
        return 0;
    return file_remove (clean_path (s), err) < 0 ? -1 : folder_sync (s->files_folder, err);
}

static void sweep_job (struct pool_job *job)
{
    struct server *s = (struct server *)((char *)job - offsetof (struct server, sweeping));
    struct error err = { 0 };
    int64_t removed = 0;

    int rc = sweep_blobs (s->store, s->files_folder, &s->live, &s->stopping, &removed, &err);

    if (rc < 0)
        log_warn ("files", "%s", err.text);
    s->swept = rc == 0;
    if (removed)
        log_info ("files", "blobs without a file removed count=%lld", (long long)removed);
}

void files_sweep (struct server *s)
{
    if (s->swept)
        return;
    s->sweeping.run = sweep_job;
    pool_submit (s->files_pool, &s->sweeping);
}

void files_close (struct server *s)
{
    struct error err = { 0 };

    if (!s->files_folder)
        return;
    if (s->drained && s->swept && file_write (clean_path (s), TEXT (""), 0600, &err) < 0)
        log_warn ("files", "%s", err.text);
    live_done (&s->live);
}
