/* upload.c - POST multipart/form-data (each field's NAME is a path) and PUT /path with the bytes: into blobs, in constant
 * memory, whatever the size.
 *
 *   loop  on_data      gathers what the socket gives, pauses it while too much waits
 *   pool  feed_job     parses, hashes, writes to DATA/files/tmp
 *   pool  final_job    all parts complete: (each was synced and renamed at its end) then
 *   writer run_rows    the rows, in one transaction; only after its commit 200
 *
 * Two buffers: the loop fills one while the pool empties the other. Whatever goes wrong, the blobs written so far are
 * removed; a crash leaves at most a blob that no row names, or one in tmp, which the next start removes (sweep.h).
 */
#include "base/clock.h"
#include "base/json.h"
#include "base/log.h"
#include "server/blob.h"
#include "server/files.h"
#include "server/multipart.h"
#include "server/room.h"
#include "server/sniff.h"
#include "services/files/files.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { WAITING_MAX = 256 * 1024, PARTS_MAX = 1000 };

struct part {
    const char *path, *type;
    struct blob blob;
    struct live_blob live;
    char first[SNIFF_BYTES];
    size_t first_n;
};
struct upload {
    struct server *server;
    struct http_request *http;
    struct identity who;
    struct pool_job job;
    struct store_write write;
    const char *raw_path; /* PUT: the one path; NULL: multipart */
    struct multipart multipart;
    struct part **parts;
    size_t parts_n, parts_cap;
    struct error err; /* code: an HTTP status or an errno */
    bool feed_failed; /* what the feed job says when it is over */

    /* the loop's */
    struct str filling, working; /* working is the pool's while busy */
    bool busy, ended, aborted, failed, paused;
    int abort_status;
    const char *abort_words;
};
#define JOB_UPLOAD(j)   ((struct upload *)((char *)(j)-offsetof (struct upload, job)))
#define WRITE_UPLOAD(w) ((struct upload *)((char *)(w)-offsetof (struct upload, write)))

static void pool_do (struct upload *u, void (*step) (struct pool_job *job))
{
    u->job.run = step;
    pool_submit (u->server->files_pool, &u->job);
}

/* -- the end */
static void forget_live (struct upload *u)
{
    for (size_t i = 0; i < u->parts_n; i++)
        live_remove (&u->server->live, &u->parts[i]->live);
}

static void drop_all (struct upload *u)
{
    forget_live (u);
    for (size_t i = 0; i < u->parts_n; i++)
        blob_drop (&u->parts[i]->blob);
    u->parts_n = 0;
}

static int status_of (struct error *err)
{
    if (err->code == ENOSPC || err->code == EDQUOT) {
        error_set (err, ENOSPC, "the disk of the server is full: nothing was stored");
        return 500;
    }
    return err->code >= 10000                    ? WIRE_STATUS (err->code)
           : err->code >= 400 && err->code < 600 ? err->code
                                                 : 500;
}

static void respond (struct upload *u, int status, const char *type, const char *text)
{
    str_done (&u->filling);
    str_done (&u->working);
    files_answer (u->server, u->http, status, type, text);
}

static void respond_failed (struct upload *u)
{
    int status = status_of (&u->err);

    log_write (status >= 500 ? LOG_WARN : LOG_DEBUG, "files", "upload refused code=%d words=%s", status,
               u->err.text);
    respond (u, status, "text/plain; charset=utf-8", arena_printf (u->http->arena, "%s\n", u->err.text));
}

static void drop_job (struct pool_job *job)
{
    struct upload *u = JOB_UPLOAD (job);

    drop_all (u);
    respond_failed (u);
}

/* -- parts (pool) */
static int part_begin (struct text name, struct text type, void *arg, struct error *err)
{
    struct upload *u = arg;
    struct part *p = arena_new (u->http->arena, struct part);

    (void)type;
    p->blob.fd = -1;
    if (u->parts_n == PARTS_MAX)
        return error_set (err, 413, "more than %d files in one upload", PARTS_MAX);
    if (file_path_take (u->http->arena, name, &p->path, err) < 0)
        return -1;
    if (u->parts_n == u->parts_cap) {
        size_t cap = u->parts_cap ? u->parts_cap * 2 : 4;
        struct part **more = arena_array (u->http->arena, struct part *, cap);

        if (u->parts_n)
            memcpy (more, u->parts, u->parts_n * sizeof (*more));
        u->parts = more;
        u->parts_cap = cap;
    }
    u->parts[u->parts_n++] = p;
    if (blob_create (&p->blob, u->server->files_folder, err) < 0)
        return -1;
    live_add (&u->server->live, &p->live, p->blob.id.hex);
    return 0;
}

static int part_data (struct text bytes, void *arg, struct error *err)
{
    struct upload *u = arg;
    struct part *p = u->parts[u->parts_n - 1];

    if (p->first_n < SNIFF_BYTES) {
        size_t n = bytes.n < SNIFF_BYTES - p->first_n ? bytes.n : SNIFF_BYTES - p->first_n;

        memcpy (p->first + p->first_n, bytes.p, n);
        p->first_n += n;
    }
    return blob_add (&p->blob, bytes, err);
}

static int part_end (void *arg, struct error *err)
{
    struct upload *u = arg;
    struct part *p = u->parts[u->parts_n - 1];

    p->type = sniff_type ((struct text){ p->first, p->first_n }, p->path);
    return blob_place (&p->blob, err);
}

static const struct multipart_events events = { part_begin, part_data, part_end };

/* -- rows */
static int run_rows (struct store_write *w, struct db *db, struct error *err)
{
    struct upload *u = WRITE_UPLOAD (w);

    for (size_t i = 0; i < u->parts_n; i++) {
        const struct part *p = u->parts[i];
        struct file_row row = { .path = p->path,
                                .blob = p->blob.id.hex,
                                .sha256 = p->blob.sha256,
                                .type = p->type,
                                .user = u->who.user,
                                .size = p->blob.size,
                                .created = clock_now () };

        if (file_put (db, u->who.company, &row, err) < 0)
            return -1;
    }
    return 0;
}

static void stored_job (struct pool_job *job)
{
    struct upload *u = JOB_UPLOAD (job);
    struct str s = { .arena = u->http->arena };

    forget_live (u);
    str_putc (&s, '[');
    for (size_t i = 0; i < u->parts_n; i++) {
        if (i)
            str_puts (&s, ", ");
        json_put_string (&s, u->parts[i]->path);
    }
    str_putc (&s, ']');
    respond (u, 200, "text/html; charset=utf-8", s.p);
}

static void on_rows (struct store_write *w, int rc, const struct error *err)
{
    struct upload *u = WRITE_UPLOAD (w);

    if (rc < 0)
        u->err = *err;
    pool_do (u, rc < 0 ? drop_job : stored_job);
}

static void final_job (struct pool_job *job)
{
    struct upload *u = JOB_UPLOAD (job);
    int rc = 0;

    if (u->raw_path)
        rc = part_end (u, &u->err);
    else if (!multipart_complete (&u->multipart))
        rc = error_set (&u->err, 400, "the upload ends before its closing boundary: nothing was stored");
    if (rc < 0) {
        drop_job (job);
        return;
    }
    u->write = (struct store_write){ .run = run_rows, .done = on_rows };
    store_submit (u->server->store, &u->write);
}

/* -- the stream (loop, but feed_job) */
static void on_fed (void *arg);

static void feed_job (struct pool_job *job)
{
    struct upload *u = JOB_UPLOAD (job);
    struct text bytes = str_text (&u->working);
    int rc = u->raw_path ? part_data (bytes, u, &u->err) : multipart_feed (&u->multipart, bytes, &u->err);

    if (rc < 0) {
        u->feed_failed = true;
        drop_all (u);
    }
    loop_post (u->server->loop, on_fed, u);
}

static void start_feed (struct upload *u)
{
    struct str empty = u->working;

    if (u->busy || !u->filling.n)
        return;
    u->working = u->filling;
    u->filling = empty;
    str_reset (&u->filling);
    u->busy = true;
    pool_do (u, feed_job);
}

static void abort_finish (struct upload *u)
{
    u->busy = true;
    error_set (&u->err, u->abort_status ? u->abort_status : 400, "%s: nothing was stored",
               u->abort_words ? u->abort_words : "the client broke off");
    pool_do (u, drop_job);
}

static void on_fed (void *arg)
{
    struct upload *u = arg;

    u->busy = false;
    u->failed = u->feed_failed;
    if (u->aborted) {
        abort_finish (u);
    } else if (u->failed) {
        respond_failed (u);
    } else {
        start_feed (u);
        if (!u->busy && u->ended) {
            u->busy = true;
            pool_do (u, final_job);
        } else if (u->paused) {
            u->paused = false;
            http_body_resume (u->http);
        }
    }
}

static void on_data (struct http_request *r, struct text part, void *arg)
{
    struct upload *u = arg;

    if (u->failed)
        return;
    str_add_text (&u->filling, part);
    start_feed (u);
    if (u->filling.n >= WAITING_MAX && !u->paused) {
        u->paused = true;
        http_body_pause (r);
    }
}

static void on_end (struct http_request *r, void *arg)
{
    struct upload *u = arg;

    (void)r;
    u->ended = true;
    if (!u->busy) {
        u->busy = true;
        pool_do (u, final_job);
    }
}

static void on_abort (struct http_request *r, void *arg)
{
    struct upload *u = arg;

    u->aborted = true;
    u->abort_status = http_abort_reason (r, &u->abort_words);
    if (!u->busy)
        abort_finish (u);
}

static const struct http_sink sink = { on_data, on_end, on_abort };

void upload_start (struct server *s, struct http_request *r, const struct identity *who, const char *raw_path)
{
    struct upload *u = arena_new (r->arena, struct upload);
    int rc;

    u->server = s;
    u->http = r;
    u->who = *who;
    u->raw_path = raw_path;
    if (http_header (r, "content-encoding").n)
        rc = error_set (&u->err, 415, "an upload is sent as it is, without Content-Encoding");
    else if (raw_path)
        rc = part_begin (text_of (raw_path), (struct text){ 0 }, u, &u->err);
    else
        rc = multipart_init (&u->multipart, r->arena, http_header (r, "content-type"), &events, u, &u->err);
    if (rc < 0)
        respond_failed (u);
    else
        http_stream_body (r, UINT64_MAX, &sink, u);
}
