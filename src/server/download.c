/* download.c - GET and HEAD of a file: whole, a range, or "not modified". Found and opened on the pool, sent by the loop
 * with sendfile. A browser may show pictures, sound, film and plain text; all else is offered for download, and nothing
 * of it runs: CSP sandbox, nosniff. */
#include "base/clock.h"
#include "base/path.h"
#include "server/blob.h"
#include "server/files.h"
#include "server/sniff.h"
#include "services/files/files.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>
#include <unistd.h>

struct download {
    struct server *server;
    struct http_request *http;
    struct identity who;
    struct pool_job job;
    struct text sent; /* the path as sent */
    const char *path;
    struct file_row row;
};

/* -- ranges */
enum range { RANGE_NONE, RANGE_OK, RANGE_BAD };

static bool number (const char **p, const char *end, int64_t *ret)
{
    const char *start = *p;
    int64_t v = 0;

    for (; *p < end && **p >= '0' && **p <= '9'; ++*p) {
        if (v > (INT64_MAX - 9) / 10)
            return false;
        v = v * 10 + (**p - '0');
    }
    *ret = v;
    return *p > start;
}

/* "bytes=5-", "bytes=5-9", "bytes=-4"; several ranges or another unit: the whole file. */
static enum range range_take (struct text h, int64_t size, int64_t *ret_from, int64_t *ret_n)
{
    const char *p = h.p + 6, *end = h.p + h.n;
    int64_t from = 0, last = size - 1;
    bool has_from, has_last;

    if (h.n < 8 || strncasecmp (h.p, "bytes=", 6) || memchr (h.p, ',', h.n))
        return RANGE_NONE;
    has_from = number (&p, end, &from);
    if (p == end || *p++ != '-')
        return RANGE_NONE;
    has_last = number (&p, end, &last);
    if (p != end || (!has_from && !has_last) || (has_from && has_last && last < from))
        return RANGE_NONE;
    if (!has_from) {
        from = last < size ? size - last : 0;
        if (last == 0)
            return RANGE_BAD;
        last = size - 1;
    }
    if (from >= size)
        return RANGE_BAD;
    if (!has_last || last >= size)
        last = size - 1;
    *ret_from = from;
    *ret_n = last - from + 1;
    return RANGE_OK;
}

/* -- headers */
static const char *http_date (struct arena *a, int64_t ms)
{
    time_t t = (time_t)(ms / 1000);
    char *b = arena_alloc (a, 40);
    struct tm tm;

    gmtime_r (&t, &tm);
    strftime (b, 40, "%a, %d %b %Y %H:%M:%S GMT", &tm);
    return b;
}

static void add_disposition (struct http_request *r, struct http_answer *a, const struct file_row *f)
{
    bool asked =
        r->query.p && (text_starts (r->query, "download") || memmem (r->query.p, r->query.n, "&download", 9));
    const char *how = asked || !sniff_inline (f->type) ? "attachment" : "inline";
    struct str plain = { .arena = r->arena }, coded = { .arena = r->arena };

    for (const unsigned char *p = (const unsigned char *)path_base (f->path); *p; p++) {
        str_putc (&plain, *p < 0x20 || *p >= 0x7f || *p == '"' || *p == '\\' ? '_' : (char)*p);
        if (((*p | 0x20) >= 'a' && (*p | 0x20) <= 'z') || strchr ("0123456789-._", *p))
            str_putc (&coded, (char)*p);
        else
            str_addf (&coded, "%%%02X", *p);
    }
    http_answer_header (
        r, a, "Content-Disposition",
        arena_printf (r->arena, "%s; filename=\"%s\"; filename*=UTF-8''%s", how, plain.p, coded.p));
}

static void add_headers (struct download *d, struct http_answer *a, const char *etag)
{
    struct http_request *r = d->http;

    http_answer_header (r, a, "ETag", etag);
    http_answer_header (r, a, "Last-Modified", http_date (r->arena, d->row.created));
    http_answer_header (r, a, "Accept-Ranges", "bytes");
    http_answer_header (r, a, "Cache-Control", "private, no-cache");
    http_answer_header (r, a, "X-Content-Type-Options", "nosniff");
    http_answer_header (r, a, "Content-Security-Policy",
                        "sandbox; default-src 'none'; style-src 'unsafe-inline'; img-src data:");
    add_disposition (r, a, &d->row);
    front_cors (d->server, r, a);
}

static bool not_modified (struct download *d, const char *etag)
{
    struct text none = http_header (d->http, "if-none-match"),
                since = http_header (d->http, "if-modified-since");

    if (none.p)
        return text_is (none, "*") || memmem (none.p, none.n, etag, strlen (etag));
    return since.p && text_is (since, http_date (d->http->arena, d->row.created));
}

static bool range_wanted (struct download *d, const char *etag)
{
    struct text if_range = http_header (d->http, "if-range");

    return !if_range.p || text_is (if_range, etag) ||
           text_is (if_range, http_date (d->http->arena, d->row.created));
}

/* -- the job */
static void send_file (struct download *d, int fd, int64_t size)
{
    struct http_request *r = d->http;
    const char *etag = arena_printf (r->arena, "\"%.32s\"", d->row.sha256);
    struct http_answer a = { .status = 200, .type = d->row.type, .has_fd = true, .fd = fd, .file_n = size };
    enum range range = RANGE_NONE;

    add_headers (d, &a, etag);
    if (not_modified (d, etag)) {
        a.status = 304;
        a.type = NULL;
    } else if (range_wanted (d, etag) && http_header (r, "range").p) {
        range = range_take (http_header (r, "range"), size, &a.file_from, &a.file_n);
    }
    if (range == RANGE_OK) {
        a.status = 206;
        http_answer_header (r, &a, "Content-Range",
                            arena_printf (r->arena, "bytes %lld-%lld/%lld", (long long)a.file_from,
                                          (long long)(a.file_from + a.file_n - 1), (long long)size));
    } else if (range == RANGE_BAD) {
        a.status = 416;
        a.file_n = 0;
        http_answer_header (r, &a, "Content-Range", arena_printf (r->arena, "bytes */%lld", (long long)size));
    }
    http_respond (r, &a);
}

static int run_find (struct db *db, void *arg, struct error *err)
{
    struct download *d = arg;

    return file_find (db, d->http->arena, d->who.company, d->path, &d->row, err);
}

static void download_job (struct pool_job *job)
{
    struct download *d = (struct download *)((char *)job - offsetof (struct download, job));
    struct text decoded = http_unescape (d->http->arena, d->sent, false);
    struct error err = { 0 };
    int64_t size;
    int rc = 0, fd;

    if (decoded.p && file_path_take (d->http->arena, decoded, &d->path, &err) == 0)
        rc = store_read (d->server->store, run_find, d, &err);
    if (rc > 0 && blob_open (d->server->files_folder, d->row.blob, &fd, &size, &err) == 0)
        send_file (d, fd, size);
    else if (rc < 0)
        files_answer (d->server, d->http, 500, "text/plain; charset=utf-8",
                      arena_printf (d->http->arena, "%s\n", err.text));
    else
        files_answer (d->server, d->http, 404, "text/plain; charset=utf-8", "There is no such file.\n");
}

void download_start (struct server *s, struct http_request *r, const struct identity *who, struct text path)
{
    struct download *d = arena_new (r->arena, struct download);

    d->server = s;
    d->http = r;
    d->who = *who;
    d->sent = path;
    d->job.run = download_job;
    pool_submit (s->files_pool, &d->job);
}
