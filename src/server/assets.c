/* assets.c - the pages: files put into the binary at build time. An address that is no file is the page itself (its
 * router takes it from there). index.html goes out with a fresh nonce for the styles its libraries make; everything
 * else as it lies there, compressed where the browser takes it.
 */
#include "server/assets.h"

#include "server/room.h"

#include <string.h>

static const char no_pages[] =
    "<!doctype html><html lang=\"en\"><meta charset=\"utf-8\"><title>Stoker</title>"
    "<body style=\"font:16px/1.5 system-ui,sans-serif;max-width:40em;margin:10vh auto;padding:0 1em\">"
    "<h1>Stoker is running</h1><p>This binary was built without the pages. The API and the file server "
    "work.</p>"
    "<p>Build them with <code>./dev web</code>, then <code>./dev build</code>.</p>";

static const struct asset *asset_find (struct text path)
{
    size_t low = 0, high = assets_n;

    while (low < high) {
        size_t mid = (low + high) / 2;
        size_t n = strlen (assets[mid].path);
        int c = memcmp (assets[mid].path, path.p, n < path.n ? n : path.n);

        if (!c)
            c = n < path.n ? -1 : n > path.n;
        if (!c)
            return &assets[mid];
        if (c < 0)
            low = mid + 1;
        else
            high = mid;
    }
    return NULL;
}

bool asset_exists (struct text path)
{
    return asset_find (path) != NULL;
}

static void page_headers (struct http_request *r, struct http_answer *a, const char *nonce)
{
    http_answer_header (
        r, a, "Content-Security-Policy",
        arena_printf (r->arena,
                      "default-src 'none'; script-src 'self'; style-src 'self'%s%s%s; img-src 'self' "
                      "blob: data:; media-src 'self' blob: data:; connect-src 'self'; font-src 'self'; "
                      "frame-src 'self'; worker-src 'self'; base-uri 'self'; form-action 'self'; "
                      "frame-ancestors 'self'",
                      nonce ? " 'nonce-" : "", nonce ? nonce : "", nonce ? "'" : ""));
    http_answer_header (r, a, "X-Content-Type-Options", "nosniff");
    http_answer_header (r, a, "Referrer-Policy", "same-origin");
    http_answer_header (r, a, "Cross-Origin-Opener-Policy", "same-origin");
}

/* The page with its nonce in place of each "__NONCE__". */
static struct text with_nonce (struct http_request *r, struct text page, const char *nonce)
{
    static const char mark[] = "__NONCE__";
    struct str s = { .arena = r->arena };
    const char *p = page.p, *end = page.p + page.n, *at;

    while ((at = memmem (p, (size_t)(end - p), mark, sizeof (mark) - 1))) {
        str_add (&s, p, (size_t)(at - p));
        str_puts (&s, nonce);
        p = at + sizeof (mark) - 1;
    }
    str_add (&s, p, (size_t)(end - p));
    return str_text (&s);
}

static void answer_page (struct http_request *r, const struct asset *index)
{
    struct http_answer a = { .status = 200, .type = "text/html; charset=utf-8", .body = text_of (no_pages) };
    struct id nonce = id_random ();

    if (index) {
        struct text page = { (const char *)index->data, (size_t)(index->data_end - index->data) };

        a.body = with_nonce (r, page, nonce.hex);
        page_headers (r, &a, nonce.hex);
    }
    http_answer_header (r, &a, "Cache-Control", "no-cache");
    http_respond (r, &a);
}

static void answer_asset (struct http_request *r, const struct asset *f)
{
    struct http_answer a = { .status = 200, .type = f->type };

    page_headers (r, &a, NULL);
    http_answer_header (r, &a, "ETag", f->etag);
    http_answer_header (r, &a, "Cache-Control",
                        f->immutable ? "public, max-age=31536000, immutable" : "no-cache");
    if (f->gz)
        http_answer_header (r, &a, "Vary", "Accept-Encoding");
    if (text_is (http_header (r, "if-none-match"), f->etag)) {
        a.status = 304;
        a.type = NULL;
    } else if (f->gz && http_accepts_gzip (r)) {
        http_answer_header (r, &a, "Content-Encoding", "gzip");
        a.body = (struct text){ (const char *)f->gz, (size_t)(f->gz_end - f->gz) };
    } else {
        a.body = (struct text){ (const char *)f->data, (size_t)(f->data_end - f->data) };
    }
    http_respond (r, &a);
}

void asset_start (struct server *s, struct http_request *r)
{
    const struct asset *f = asset_find (r->path);

    (void)s;
    if (r->method != HTTP_M_GET && r->method != HTTP_M_HEAD)
        answer_text (r, 405, "text/plain; charset=utf-8", "Pages are read with GET.\n");
    else if (f && strcmp (f->path, "/index.html") != 0)
        answer_asset (r, f);
    else if (text_starts (r->path, "/assets/"))
        answer_text (r, 404, "text/plain; charset=utf-8", "There is no such file.\n");
    else
        answer_page (r, asset_find (TEXT ("/index.html")));
}
