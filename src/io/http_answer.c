/* http_answer.c - making an answer: its head, compression, and handing it to the loop thread. See http_server.h. */
#include "io/http_conn.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>
#include <unistd.h>
#include <zlib.h>

enum { GZIP_LEAST = 500 };

static const struct {
    int status;
    const char *reason;
} reasons[] = {
    { 200, "OK" },
    { 201, "Created" },
    { 204, "No Content" },
    { 206, "Partial Content" },
    { 301, "Moved Permanently" },
    { 302, "Found" },
    { 303, "See Other" },
    { 304, "Not Modified" },
    { 307, "Temporary Redirect" },
    { 400, "Bad Request" },
    { 401, "Unauthorized" },
    { 403, "Forbidden" },
    { 404, "Not Found" },
    { 405, "Method Not Allowed" },
    { 408, "Request Timeout" },
    { 409, "Conflict" },
    { 410, "Gone" },
    { 411, "Length Required" },
    { 412, "Precondition Failed" },
    { 413, "Content Too Large" },
    { 414, "URI Too Long" },
    { 415, "Unsupported Media Type" },
    { 416, "Range Not Satisfiable" },
    { 417, "Expectation Failed" },
    { 421, "Misdirected Request" },
    { 429, "Too Many Requests" },
    { 431, "Request Header Fields Too Large" },
    { 500, "Internal Server Error" },
    { 501, "Not Implemented" },
    { 505, "HTTP Version Not Supported" },
    { 507, "Insufficient Storage" },
};

const char *http_reason (int status)
{
    for (size_t i = 0; i < sizeof (reasons) / sizeof (*reasons); i++)
        if (reasons[i].status == status)
            return reasons[i].reason;
    return "Status";
}

void http_answer_header (struct http_request *r, struct http_answer *a, const char *name, const char *value)
{
    a->headers.arena = r->arena;
    str_puts (&a->headers, name);
    str_puts (&a->headers, ": ");
    for (; *value; value++)
        str_putc (&a->headers, (unsigned char)*value < 0x20 || *value == 0x7f ? ' ' : *value);
    str_puts (&a->headers, "\r\n");
}

/* -- compression */
static double quality (struct text params)
{
    const char *q = memmem (params.p, params.n, "q=", 2);
    char b[8] = { 0 };
    size_t n;

    if (!q)
        return 1;
    n = params.n - (size_t)(q + 2 - params.p);
    memcpy (b, q + 2, n < sizeof (b) - 1 ? n : sizeof (b) - 1);
    return strtod (b, NULL);
}

/* Cut *rest at the next separator; the piece has no blanks around it. */
static struct text piece_take (struct text *rest, char separator)
{
    size_t n = 0;
    struct text piece;

    while (n < rest->n && rest->p[n] != separator)
        n++;
    piece = (struct text){ rest->p, n };
    n += n < rest->n;
    *rest = (struct text){ rest->p + n, rest->n - n };
    while (piece.n && (*piece.p == ' ' || *piece.p == '\t'))
        piece = (struct text){ piece.p + 1, piece.n - 1 };
    while (piece.n && (piece.p[piece.n - 1] == ' ' || piece.p[piece.n - 1] == '\t'))
        piece.n--;
    return piece;
}

/* The q given to a coding in an Accept-Encoding line; -1 when it is not named. */
static double accepts (struct text line, const char *coding)
{
    while (line.n) {
        struct text params = piece_take (&line, ',');
        struct text name = piece_take (&params, ';');

        if (name.n == strlen (coding) && !strncasecmp (name.p, coding, name.n))
            return quality (params);
    }
    return -1;
}

bool http_accepts_gzip (const struct http_request *r)
{
    struct text line = http_header (r, "accept-encoding");
    double q = accepts (line, "gzip");

    return line.p && (q >= 0 ? q : accepts (line, "*")) > 0;
}

static bool worth_it (const struct http_answer *a)
{
    return a->body.n >= GZIP_LEAST && a->body.n < UINT32_MAX / 2 && a->type &&
           (!strncmp (a->type, "text/", 5) || strstr (a->type, "json") || strstr (a->type, "javascript"));
}

void http_answer_gzip (struct http_request *r, struct http_answer *a)
{
    z_stream z = { 0 };
    size_t room;
    char *out;

    if (a->has_fd || !worth_it (a))
        return;
    http_answer_header (r, a, "Vary", "Accept-Encoding");
    if (!http_accepts_gzip (r) || deflateInit2 (&z, 1, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) != Z_OK)
        return;
    room = deflateBound (&z, a->body.n);
    if (!(out = malloc (room)))
        abort ();
    arena_defer (r->arena, free, out);
    z.next_in = (Bytef *)(uintptr_t)a->body.p;
    z.avail_in = (uInt)a->body.n;
    z.next_out = (Bytef *)out;
    z.avail_out = (uInt)room;
    if (deflate (&z, Z_FINISH) == Z_STREAM_END && z.total_out < a->body.n) {
        a->body = (struct text){ out, z.total_out };
        http_answer_header (r, a, "Content-Encoding", "gzip");
    }
    deflateEnd (&z);
}

/* -- the head */
static void add_date (struct str *s)
{
    time_t now = time (NULL);
    struct tm tm;
    char b[40];

    gmtime_r (&now, &tm);
    strftime (b, sizeof (b), "Date: %a, %d %b %Y %H:%M:%S GMT\r\n", &tm);
    str_puts (s, b);
}

void http_answer_build (struct http_request *r, const struct http_answer *a)
{
    struct http_out *out = r->out;
    struct str s = { .arena = r->arena };
    int64_t length = a->has_fd ? a->file_n : (int64_t)a->body.n;
    bool bodiless = a->status == 304 || a->status == 204;

    out->status = a->status;
    out->close = a->close || !r->keep_alive || r->conn->server->draining ||
                 (!r->whole && (r->chunked || r->content_length > 0));
    str_puts (&s, "HTTP/1.1 ");
    str_add_int (&s, a->status);
    str_putc (&s, ' ');
    str_puts (&s, http_reason (a->status));
    str_puts (&s, "\r\nServer: stoker\r\n");
    add_date (&s);
    if (a->type) {
        str_puts (&s, "Content-Type: ");
        str_puts (&s, a->type);
        str_puts (&s, "\r\n");
    }
    if (!bodiless) {
        str_puts (&s, "Content-Length: ");
        str_add_int (&s, length);
        str_puts (&s, "\r\n");
    }
    str_add (&s, a->headers.p, a->headers.n);
    str_puts (&s, out->close ? "Connection: close\r\n\r\n" : "Connection: keep-alive\r\n\r\n");
    out->head = str_text (&s);
    out->fd = a->has_fd ? a->fd : -1;
    if (bodiless || r->method == HTTP_M_HEAD)
        return;
    out->body = a->body;
    out->file_from = a->file_from;
    out->file_n = a->has_fd ? a->file_n : 0;
}

static void respond_posted (void *arg)
{
    conn_answer_here (arg);
}

void http_respond (struct http_request *r, const struct http_answer *a)
{
    struct http_server *s = r->conn->server;

    http_answer_build (r, a);
    if (pthread_equal (pthread_self (), s->thread))
        conn_answer_here (r);
    else
        loop_post (s->loop, respond_posted, r);
}
