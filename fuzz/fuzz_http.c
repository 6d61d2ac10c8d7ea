/* fuzz_http.c - any bytes as what a client sends. Fed whole and in pieces they must give the same requests, bodies and
 * refusal; what was understood must be inside its bounds, and the head must be strict: no request may come out of bytes
 * in which its head has a lone CR or LF, or a folded line.
 */
#include "io/http_parse.h"

#include <stdint.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput (const uint8_t *data, size_t n);

struct seen {
    struct http_parse parse;
    struct str log;
};

static int on_body (struct http_parse *p, struct text part, void *arg)
{
    (void)p;
    str_add_text (arg, part);
    return 0;
}

static void note (struct seen *s, struct http_request *r)
{
    struct text unescaped = http_unescape (r->arena, r->path, true);

    str_addf (&s->log, "[%s %zu %zu %d %d", r->method_name, r->path.n, r->headers_n, r->keep_alive,
              r->chunked);
    str_add_text (&s->log, r->path);
    str_add_text (&s->log, r->query);
    str_add_text (&s->log, unescaped);
    for (size_t i = 0; i < r->headers_n; i++) {
        struct text v = r->headers[i].value;

        if (!r->headers[i].name.n || memchr (v.p, '\r', v.n) || memchr (v.p, '\n', v.n))
            abort ();
        str_add_text (&s->log, r->headers[i].name);
        str_add_text (&s->log, v);
    }
    str_add_text (&s->log, http_cookie (r, "a"));
    str_putc (&s->log, http_accepts_gzip (r) ? 'z' : '-');
}

static void inflate_note (struct seen *s, struct http_request *r)
{
    struct error err;

    r->body = http_header (r, "x-body");
    if (http_body_inflate (r, 65536, &err) == 0)
        str_addf (&s->log, "%zu", r->body.n);
}

static void feed (struct seen *s, struct text in, size_t step)
{
    static const struct http_limits limits = { .head_bytes = 2000, .target_bytes = 200, .headers = 10 };
    bool again = false;
    size_t off = 0, used;

    http_parse_init (&s->parse, &limits);
    s->parse.on_body = on_body;
    s->parse.arg = &s->log;
    while (off < in.n || again) {
        size_t n = in.n - off < step ? in.n - off : step;
        enum http_parse_result rc = http_parse_feed (&s->parse, (struct text){ in.p + off, n }, &used);

        if (rc == HTTP_PARSE_REFUSED) {
            /* Too much and malformed at once: in pieces the limit (431, 414) may be met before the bad byte (400). */
            str_addf (&s->log, "!%d",
                      s->parse.status == 431 || s->parse.status == 414 ? 400 : s->parse.status);
            break;
        }
        if (used > n)
            abort ();
        off += used;
        again = rc == HTTP_PARSE_HEADERS;
        if (again)
            note (s, s->parse.request);
        if (rc == HTTP_PARSE_DONE) {
            inflate_note (s, s->parse.request);
            http_request_destroy (s->parse.request);
            http_parse_next (&s->parse);
            str_putc (&s->log, ']');
        }
    }
    http_parse_done (&s->parse);
}

int LLVMFuzzerTestOneInput (const uint8_t *data, size_t n)
{
    struct text in = { (const char *)data + 1, n - 1 };
    struct seen whole = { 0 }, pieces = { 0 };

    if (n < 2 || n > 1 << 14)
        return 0;
    feed (&whole, in, in.n);
    feed (&pieces, in, (size_t)data[0] % 64 + 1);
    if (!text_equal (str_text (&whole.log), str_text (&pieces.log)))
        abort ();
    str_done (&whole.log);
    str_done (&pieces.log);
    return 0;
}
