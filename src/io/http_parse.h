/* http_parse.h - the reading side of one connection, without a socket: bytes in, requests out. llhttp does the
 * grammar; a scan of our own before it insists on CRLF, refuses folded lines and lone CR, LF and NUL in the head;
 * after the headers the rest is checked (one Host, Transfer-Encoding only "chunked", a plain target).
 */
#pragma once
#include "io/http_server.h"

#include <llhttp.h>

enum http_parse_result {
    HTTP_PARSE_MORE,    /* all bytes used, the message goes on */
    HTTP_PARSE_HEADERS, /* ->request is complete but for its body: feed again, perhaps with no bytes */
    HTTP_PARSE_DONE,    /* the message is over: http_parse_next before the bytes behind it */
    HTTP_PARSE_REFUSED  /* ->status and ->words say why */
};

struct http_parse {
    llhttp_t llhttp;
    const struct http_limits *limits;
    struct http_request *request; /* from the first byte on; whoever takes it sets NULL */
    int status;
    const char *words;
    uint8_t scan; /* where the scan of the head stands */
    bool blank;   /* the last byte of the request line was one */
    uint32_t head_n;
    /* a piece of the body; -1 refuses (it has set status and words) */
    int (*on_body) (struct http_parse *p, struct text part, void *arg);
    void *arg;
};

void http_parse_init (struct http_parse *p, const struct http_limits *limits);
void http_parse_next (struct http_parse *p);       /* ready for the next message */
void http_parse_done (struct http_parse *p);       /* destroys a request that is still here */
bool http_parse_idle (const struct http_parse *p); /* between messages: no byte of the next one seen */
enum http_parse_result http_parse_feed (struct http_parse *p, struct text in, size_t *ret_used);
int http_parse_refuse (struct http_parse *p, int status, const char *words); /* -1 */

struct http_request *http_request_create (void);
void http_request_destroy (struct http_request *r); /* NULL is fine */
