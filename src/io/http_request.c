/* http_request.c - reading a request: headers, cookies, percent-encoding, inflating a body. See http_server.h. */
#include "io/http_server.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <zlib.h>

struct text http_header (const struct http_request *r, const char *name)
{
    for (size_t i = 0; i < r->headers_n; i++)
        if (text_is (r->headers[i].name, name))
            return r->headers[i].value;
    return (struct text){ 0 };
}

static struct text cookie_in (struct text line, const char *name)
{
    size_t name_n = strlen (name);
    struct text found = { 0 };

    for (const char *p = line.p, *end = line.p + line.n; p < end;) {
        const char *stop = memchr (p, ';', (size_t)(end - p));

        if (!stop)
            stop = end;
        while (p < stop && *p == ' ')
            p++;
        if ((size_t)(stop - p) > name_n && !memcmp (p, name, name_n) && p[name_n] == '=')
            found = (struct text){ p + name_n + 1, (size_t)(stop - p) - name_n - 1 };
        p = stop + 1;
    }
    if (found.n >= 2 && found.p[0] == '"' && found.p[found.n - 1] == '"')
        found = (struct text){ found.p + 1, found.n - 2 };
    return found;
}

struct text http_cookie (const struct http_request *r, const char *name)
{
    struct text found = { 0 }, one;

    for (size_t i = 0; i < r->headers_n; i++)
        if (text_is (r->headers[i].name, "cookie") && (one = cookie_in (r->headers[i].value, name)).p)
            found = one;
    return found;
}

static int hex (char c)
{
    return c >= '0' && c <= '9'                     ? c - '0'
           : (c | 0x20) >= 'a' && (c | 0x20) <= 'f' ? (c | 0x20) - 'a' + 10
                                                    : -1;
}

struct text http_unescape (struct arena *a, struct text t, bool plus)
{
    char *out = arena_alloc (a, t.n + 1);
    size_t n = 0;

    for (size_t i = 0; i < t.n; i++) {
        char c = t.p[i];

        if (c == '+' && plus)
            c = ' ';
        else if (c == '%') {
            if (t.n - i < 3 || hex (t.p[i + 1]) < 0 || hex (t.p[i + 2]) < 0)
                return (struct text){ 0 };
            c = (char)(hex (t.p[i + 1]) << 4 | hex (t.p[i + 2]));
            i += 2;
        }
        if (!c)
            return (struct text){ 0 };
        out[n++] = c;
    }
    return (struct text){ out, n };
}

/* -- inflating */
static int inflate_all (z_stream *z, struct text in, size_t max, struct str *out, struct error *err)
{
    int rc = Z_OK;

    z->next_in = (Bytef *)(uintptr_t)in.p;
    z->avail_in = (uInt)in.n;
    while (rc != Z_STREAM_END) {
        size_t room = 65536;

        z->next_out = (Bytef *)str_room (out, room);
        z->avail_out = (uInt)room;
        rc = inflate (z, Z_NO_FLUSH);
        out->n += room - z->avail_out;
        if (out->n > max)
            return error_set (err, 413, "the inflated body is larger than %zu bytes", max);
        if (rc == Z_STREAM_END && z->avail_in &&
            z->next_in[0] == 0x1f) /* gzip members may follow each other */
            rc = inflateReset (z) == Z_OK ? Z_OK : Z_DATA_ERROR;
        if (rc != Z_OK && rc != Z_STREAM_END)
            return error_set (err, 400, "the compressed body is broken or cut off");
    }
    if (z->avail_in)
        return error_set (err, 400, "bytes follow the compressed body");
    return 0;
}

static int inflate_as (struct text in, int bits, size_t max, struct str *out, struct error *err)
{
    z_stream z = { 0 };
    int rc;

    if (inflateInit2 (&z, bits) != Z_OK)
        return error_set (err, 500, "inflate the body: no memory");
    rc = inflate_all (&z, in, max, out, err);
    inflateEnd (&z);
    return rc;
}

int http_body_inflate (struct http_request *r, size_t max, struct error *err)
{
    struct text coding = http_header (r, "content-encoding");
    cleanup_str struct str out = { 0 };
    int bits;

    if (!coding.p || !coding.n || (coding.n == 8 && !strncasecmp (coding.p, "identity", 8)))
        return 0;
    if ((coding.n == 4 && !strncasecmp (coding.p, "gzip", 4)) ||
        (coding.n == 6 && !strncasecmp (coding.p, "x-gzip", 6)))
        bits = 15 + 16;
    else if (coding.n == 7 && !strncasecmp (coding.p, "deflate", 7))
        bits = 15;
    else
        return error_set (err, 415, "Content-Encoding %.*s is not known: gzip and deflate are",
                          (int)(coding.n < 40 ? coding.n : 40), coding.p);
    if (r->body.n > UINT32_MAX || inflate_as (r->body, bits, max, &out, err) < 0)
        return -1;
    str_done (&r->body_bytes);
    r->body_bytes = out;
    out = (struct str){ 0 };
    r->body = str_text (&r->body_bytes);
    return 0;
}
