/* http_client.h - ask an HTTP server and wait for the answer (libcurl underneath, named nowhere else): TLS, proxies
 * of the environment (http_proxy, https_proxy, no_proxy), kept-alive connections, streaming from and to descriptors,
 * and a descriptor that cuts a waiting request short.
 *
 * A client is used by one thread at a time. It costs nothing until its first request. Only http and https; redirects
 * are followed only when asked for. Credentials in a URL are never shown in errors. */
#pragma once
#include "base/error.h"
#include "base/str.h"
#include "base/text.h"

#include <stdbool.h>
#include <stdint.h>

struct http_client;

struct http_client_options {
    const char *user_agent; /* NULL = "stoker" */
    const char *ca;         /* file of accepted certificate authorities, NULL = the system's */
    bool no_verify;         /* take any certificate */
    const char *proxy;      /* NULL = from the environment, "" = none */
    int64_t connect_ms;     /* 0 = 10 s */
};

/* Copies the options. */
struct http_client *
http_client_create (const struct http_client_options *o); /* NULL options = all defaults */
void http_client_destroy (struct http_client *c);         /* NULL is fine */
/* Drop connections and buffers until the next request: for who is going to be idle for long. */
void http_client_rest (struct http_client *c);

struct http_request {
    const char *method; /* NULL = GET */
    const char *url;
    const char *const *headers;  /* "Name: value", NULL-terminated; may be NULL */
    const char *user, *password; /* Basic authorisation when user is not NULL */
    struct text body;            /* sent first */
    int body_fd;                 /* then body_fd_size bytes from here (from its offset); 0 = none */
    int64_t body_fd_size;
    struct text body_tail; /* and these last: for multipart */

    int64_t timeout_ms; /* whole request, 0 = none */
    int64_t stall_ms;   /* give up when not one byte moved for so long, 0 = never; rounded up to seconds */
    int abort_fd;       /* becomes readable: give up at once (ECANCELED); 0 = none */
    int redirects;      /* how many to follow, 0 = none */
    size_t max;         /* longest body kept in memory, 0 = 64 MiB; more: EFBIG */

    /* Where a 2xx body goes instead of into the response: */
    int out_fd;                                                          /* written here; 0 = none */
    int (*sink) (const void *p, size_t n, void *arg, struct error *err); /* or handed here, piece by piece */
    void *sink_arg;
    void (*progress) (int64_t sent, int64_t received, void *arg); /* now and then; may be NULL */
    void *progress_arg;
};

struct http_response {
    int status;
    int64_t retry_after_ms; /* of the header, 0 = none */
    int64_t content_length; /* of the header, -1 = unknown */
    char content_type[128]; /* "" = none */
    char location[1024];
    struct str body; /* the caller's: start with { 0 } (then str_done) or { .body.arena = a } */
};

/* 0: there is an answer, whatever its status. -1: there is none; err->code says how far it came:
 *   ECONNREFUSED  never reached the server (refused, no such host, no route): safe to repeat
 *   ETIMEDOUT     connecting: as above is not sure; the server may have worked on it
 *   EPIPE         the connection was lost on the way, or what answers does not speak HTTP or TLS: as ETIMEDOUT
 *   EPROTO        TLS or HTTP broken: repeating does not help
 *   ECANCELED     abort_fd;  EFBIG  body too long;  others come from sink and descriptors. */
int http_client_send (struct http_client *c, const struct http_request *q, struct http_response *ret,
                      struct error *err) warn_unused;

/* The URL without user information, query and fragment, for messages. */
void http_url_show (struct str *s, const char *url);
