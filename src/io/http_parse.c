/* http_parse.c - see http_parse.h. Names and values are gathered in one string of the request (they may come in
 * pieces) and become slices of it when the head is complete. */
#include "io/http_parse.h"

#include "base/clock.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

struct http_span { /* offsets in head_bytes: the string may move while it grows */
    uint32_t name, name_n, value, value_n;
};

/* -- the request */
struct http_request *http_request_create (void)
{
    struct arena *a = arena_create ();
    struct http_request *r = arena_new (a, struct http_request);

    r->arena = a;
    r->content_length = -1;
    r->started_us = clock_now_us ();
    r->head_bytes.arena = a;
    return r;
}

void http_request_destroy (struct http_request *r)
{
    if (!r)
        return;
    str_done (&r->body_bytes);
    arena_destroy (r->arena); /* r lies in it */
}

/* -- refusing */
int http_parse_refuse (struct http_parse *p, int status, const char *words)
{
    if (!p->status) {
        p->status = status;
        p->words = words;
    }
    return -1;
}

/* -- the scan of the head: lines end in CRLF, none begins with a blank, none holds a lone CR or a NUL */
enum {
    SCAN_BEFORE,
    SCAN_BEFORE_LF,
    SCAN_REQUEST,
    SCAN_REQUEST_LF,
    SCAN_START,
    SCAN_LINE,
    SCAN_LF,
    SCAN_END,
    SCAN_OFF
};

static int scan_step (struct http_parse *p, char c)
{
    switch (p->scan) {
        case SCAN_BEFORE: /* empty lines before a request are allowed */
            p->scan = c == '\r' ? SCAN_BEFORE_LF : SCAN_REQUEST;
            break;
        case SCAN_REQUEST:
            if ((c == ' ' && p->blank) || c == '\t')
                return http_parse_refuse (p, 400, "the request line must have single blanks");
            p->blank = c == ' ';
            if (c == '\r')
                p->scan = SCAN_REQUEST_LF;
            break;
        case SCAN_START:
            if (c == ' ' || c == '\t')
                return http_parse_refuse (p, 400,
                                          "a header line begins with a blank (folded lines are not taken)");
            if (c == ':')
                return http_parse_refuse (p, 400, "a header has no name");
            p->scan = c == '\r' ? SCAN_END : SCAN_LINE;
            break;
        case SCAN_LINE:
            if (c == '\r')
                p->scan = SCAN_LF;
            break;
        default: /* after a CR */
            if (c != '\n')
                return http_parse_refuse (p, 400, "a CR without LF in the request head");
            p->scan = p->scan == SCAN_BEFORE_LF ? SCAN_BEFORE : p->scan == SCAN_END ? SCAN_OFF : SCAN_START;
            return 0;
    }
    if (c == '\n')
        return http_parse_refuse (p, 400, "a LF without CR in the request head");
    if (!c)
        return http_parse_refuse (p, 400, "a NUL byte in the request head");
    return 0;
}

/* Bytes of a header line from the start on that scan_step would only pass over. */
static size_t plain_run (struct text in)
{
    size_t n = 0;

    while (n < in.n && (unsigned char)in.p[n] > '\r')
        n++;
    return n;
}

static int scan_head (struct http_parse *p, struct text in)
{
    for (size_t i = 0; i < in.n && p->scan != SCAN_OFF; i++) {
        if (p->scan == SCAN_LINE) {
            size_t room = p->limits->head_bytes - p->head_n, left = in.n - i;
            size_t n = plain_run ((struct text){ in.p + i, left < room ? left : room });

            p->head_n += (uint32_t)n;
            if ((i += n) == in.n)
                break;
        }
        if (++p->head_n > p->limits->head_bytes)
            return http_parse_refuse (p, p->scan < SCAN_START ? 414 : 431, "the request head is too large");
        if (scan_step (p, in.p[i]) < 0)
            return -1;
    }
    return 0;
}

/* -- llhttp's callbacks */
static struct http_parse *parse_of (llhttp_t *l)
{
    return l->data;
}

static int on_begin (llhttp_t *l)
{
    struct http_parse *p = parse_of (l);

    if (!p->request)
        p->request = http_request_create ();
    return 0;
}

static int on_url (llhttp_t *l, const char *at, size_t n)
{
    struct http_parse *p = parse_of (l);
    struct http_request *r = p->request;

    if (r->head_bytes.n + n > p->limits->target_bytes)
        return http_parse_refuse (p, 414, "the request target is too long");
    str_add (&r->head_bytes, at, n);
    r->target.n = r->head_bytes.n;
    return 0;
}

static struct http_span *span_add (struct http_request *r)
{
    if (r->spans_n == r->spans_cap) {
        size_t cap = r->spans_cap ? r->spans_cap * 2 : 16;
        struct http_span *more = arena_array (r->arena, struct http_span, cap);

        if (r->spans_n)
            memcpy (more, r->spans, r->spans_n * sizeof (*more));
        r->spans = more;
        r->spans_cap = cap;
    }
    return &r->spans[r->spans_n++];
}

static int on_field (llhttp_t *l, const char *at, size_t n)
{
    struct http_parse *p = parse_of (l);
    struct http_request *r = p->request;
    struct http_span *s;

    if (l->flags & F_TRAILING) /* trailers of a chunked body are dropped, but not without end */
        return (p->head_n += (uint32_t)n) > p->limits->head_bytes
                   ? http_parse_refuse (p, 431, "the trailers are too large")
                   : 0;
    if (!r->spans_n || r->in_value) {
        if (r->spans_n == p->limits->headers)
            return http_parse_refuse (p, 431, "too many headers");
        s = span_add (r);
        s->name = (uint32_t)r->head_bytes.n;
        r->in_value = false;
    }
    s = &r->spans[r->spans_n - 1];
    for (size_t i = 0; i < n; i++)
        str_putc (&r->head_bytes, at[i] >= 'A' && at[i] <= 'Z' ? (char)(at[i] | 0x20) : at[i]);
    s->name_n = (uint32_t)r->head_bytes.n - s->name;
    return 0;
}

static int on_field_end (llhttp_t *l)
{
    struct http_request *r = parse_of (l)->request;

    if (!(l->flags & F_TRAILING) && r->spans_n) {
        r->spans[r->spans_n - 1].value = (uint32_t)r->head_bytes.n;
        r->in_value = true;
    }
    return 0;
}

static int on_value (llhttp_t *l, const char *at, size_t n)
{
    struct http_parse *p = parse_of (l);
    struct http_request *r = p->request;
    struct http_span *s;

    if (l->flags & F_TRAILING)
        return (p->head_n += (uint32_t)n) > p->limits->head_bytes
                   ? http_parse_refuse (p, 431, "the trailers are too large")
                   : 0;
    s = &r->spans[r->spans_n - 1];
    str_add (&r->head_bytes, at, n);
    s->value_n = (uint32_t)r->head_bytes.n - s->value;
    return 0;
}

static int on_body (llhttp_t *l, const char *at, size_t n)
{
    struct http_parse *p = parse_of (l);

    return p->on_body ? p->on_body (p, (struct text){ at, n }, p->arg) : 0;
}

static int on_complete (llhttp_t *l)
{
    (void)l;
    return HPE_PAUSED;
}

/* -- the head as a whole */
static const struct {
    llhttp_method_t theirs;
    enum http_method ours;
    const char *name;
} methods[] = {
    { HTTP_GET, HTTP_M_GET, "GET" },
    { HTTP_HEAD, HTTP_M_HEAD, "HEAD" },
    { HTTP_POST, HTTP_M_POST, "POST" },
    { HTTP_PUT, HTTP_M_PUT, "PUT" },
    { HTTP_DELETE, HTTP_M_DELETE, "DELETE" },
    { HTTP_PATCH, HTTP_M_PATCH, "PATCH" },
    { HTTP_OPTIONS, HTTP_M_OPTIONS, "OPTIONS" },
};

static int take_method (struct http_parse *p, struct http_request *r)
{
    for (size_t i = 0; i < sizeof (methods) / sizeof (*methods); i++)
        if (methods[i].theirs == (llhttp_method_t)p->llhttp.method) {
            r->method = methods[i].ours;
            r->method_name = methods[i].name;
            return 0;
        }
    return http_parse_refuse (p, 405,
                              "this method is not taken: GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS are");
}

/* "/path?query", "http://host/path?query" (cut to the path) or "*". */
static int take_target (struct http_parse *p, struct http_request *r)
{
    const char *q, *slash;

    r->target.p = r->head_bytes.p;
    if (r->target.n && memchr (r->target.p, '#', r->target.n))
        return http_parse_refuse (p, 400, "the request target holds a fragment");
    r->path = r->target;
    if (r->target.n > 7 && !strncasecmp (r->target.p, "http", 4) &&
        (q = memmem (r->target.p, r->target.n, "://", 3))) {
        slash = memchr (q + 3, '/', r->target.n - (size_t)(q + 3 - r->target.p));
        r->path = slash ? (struct text){ slash, r->target.n - (size_t)(slash - r->target.p) } : TEXT ("/");
    }
    if (!r->path.n || (*r->path.p != '/' && !(text_is (r->path, "*") && r->method == HTTP_M_OPTIONS)))
        return http_parse_refuse (p, 400, "the request target must begin with /");
    if ((q = memchr (r->path.p, '?', r->path.n))) {
        r->query = (struct text){ q + 1, r->path.n - (size_t)(q + 1 - r->path.p) };
        r->path.n = (size_t)(q - r->path.p);
    }
    return 0;
}

static void take_headers (struct http_request *r)
{
    struct http_header *h = arena_array (r->arena, struct http_header, r->spans_n ? r->spans_n : 1);

    for (size_t i = 0; i < r->spans_n; i++) {
        struct text v = { r->head_bytes.p + r->spans[i].value, r->spans[i].value_n };

        while (v.n && (v.p[v.n - 1] == ' ' || v.p[v.n - 1] == '\t'))
            v.n--;
        h[i] = (struct http_header){ { r->head_bytes.p + r->spans[i].name, r->spans[i].name_n }, v };
    }
    r->headers = h;
    r->headers_n = r->spans_n;
}

static size_t header_count (const struct http_request *r, const char *name)
{
    size_t n = 0;

    for (size_t i = 0; i < r->headers_n; i++)
        n += text_is (r->headers[i].name, name);
    return n;
}

static bool host_ok (struct text host)
{
    for (size_t i = 0; i < host.n; i++)
        if ((unsigned char)host.p[i] <= 0x20 || strchr ("/\\@,?#\"<>", host.p[i]) ||
            (unsigned char)host.p[i] >= 0x7f)
            return false;
    return host.n > 0;
}

static int check_headers (struct http_parse *p, struct http_request *r)
{
    struct text te = http_header (r, "transfer-encoding"), expect = http_header (r, "expect");
    struct text length = http_header (r, "content-length");

    if (header_count (r, "host") != 1 || !host_ok (http_header (r, "host")))
        return http_parse_refuse (p, 400, "a request must have one Host header that names a host");
    if (header_count (r, "content-length") > 1 || (te.p && length.p))
        return http_parse_refuse (p, 400, "the length of the body is given more than once");
    if (te.p && (te.n != 7 || strncasecmp (te.p, "chunked", 7) || header_count (r, "transfer-encoding") > 1))
        return http_parse_refuse (p, 501, "this Transfer-Encoding is not known: only \"chunked\" is");
    if (te.p && p->llhttp.http_minor == 0)
        return http_parse_refuse (p, 400, "HTTP/1.0 has no Transfer-Encoding");
    if (expect.p && !(expect.n == 12 && !strncasecmp (expect.p, "100-continue", 12)))
        return http_parse_refuse (p, 417, "this Expect is not known: only \"100-continue\" is");
    r->expect_continue = expect.p && p->llhttp.http_minor > 0;
    r->chunked = te.p != NULL;
    if (length.p && p->llhttp.content_length > INT64_MAX)
        return http_parse_refuse (p, 413, "the body is too large");
    if (length.p)
        r->content_length = (int64_t)p->llhttp.content_length;
    return 0;
}

static int on_headers (llhttp_t *l)
{
    struct http_parse *p = parse_of (l);
    struct http_request *r = p->request;

    l->upgrade = 0; /* we never change protocols: the request is answered as it stands */
    if (l->http_major != 1 || l->http_minor > 1)
        return http_parse_refuse (p, 505, "only HTTP/1.1 and HTTP/1.0 are spoken");
    if (take_method (p, r) < 0 || take_target (p, r) < 0)
        return -1;
    take_headers (r);
    if (check_headers (p, r) < 0)
        return -1;
    r->keep_alive =
        l->http_minor ? !(l->flags & F_CONNECTION_CLOSE) : (l->flags & F_CONNECTION_KEEP_ALIVE) != 0;
    return HPE_PAUSED;
}

static const llhttp_settings_t settings = {
    .on_message_begin = on_begin,
    .on_url = on_url,
    .on_header_field = on_field,
    .on_header_field_complete = on_field_end,
    .on_header_value = on_value,
    .on_headers_complete = on_headers,
    .on_body = on_body,
    .on_message_complete = on_complete,
};

/* -- the door */
void http_parse_init (struct http_parse *p, const struct http_limits *limits)
{
    *p = (struct http_parse){ .limits = limits };
    llhttp_init (&p->llhttp, HTTP_REQUEST, &settings);
    p->llhttp.data = p;
}

void http_parse_next (struct http_parse *p)
{
    /* llhttp remembers a "Connection: close" and refuses what follows; whether to go on is decided above */
    llhttp_init (&p->llhttp, HTTP_REQUEST, &settings);
    p->llhttp.data = p;
    p->request = NULL;
    p->scan = SCAN_BEFORE;
    p->blank = false;
    p->head_n = 0;
}

void http_parse_done (struct http_parse *p)
{
    http_request_destroy (p->request);
    p->request = NULL;
}

bool http_parse_idle (const struct http_parse *p)
{
    return p->head_n == 0;
}

static const char *words_of (llhttp_errno_t e)
{
    switch (e) {
        case HPE_INVALID_METHOD:
            return "the request does not begin with a method";
        case HPE_INVALID_URL:
            return "the request target is malformed";
        case HPE_INVALID_VERSION:
            return "the HTTP version is malformed";
        case HPE_INVALID_HEADER_TOKEN:
            return "a header is malformed";
        case HPE_INVALID_CONTENT_LENGTH:
        case HPE_UNEXPECTED_CONTENT_LENGTH:
            return "Content-Length is malformed or given twice";
        case HPE_INVALID_CHUNK_SIZE:
        case HPE_STRICT:
            return "the chunks of the body are malformed";
        case HPE_INVALID_TRANSFER_ENCODING:
            return "Transfer-Encoding is malformed";
        default:
            return "the request is not HTTP/1.1";
    }
}

enum http_parse_result http_parse_feed (struct http_parse *p, struct text in, size_t *ret_used)
{
    bool had_headers = p->request && p->request->headers;
    llhttp_errno_t e;

    *ret_used = 0;
    if (p->status || scan_head (p, in) < 0)
        return HTTP_PARSE_REFUSED;
    e = llhttp_execute (&p->llhttp, in.p ? in.p : "", in.n);
    if (e == HPE_OK) {
        *ret_used = in.n;
        return HTTP_PARSE_MORE;
    }
    if (e == HPE_PAUSED) {
        *ret_used = (size_t)(llhttp_get_error_pos (&p->llhttp) - (in.p ? in.p : ""));
        llhttp_resume (&p->llhttp);
        return had_headers ? HTTP_PARSE_DONE : HTTP_PARSE_HEADERS;
    }
    http_parse_refuse (p, 400, words_of (e));
    return HTTP_PARSE_REFUSED;
}
