/* http_client.c - see http_client.h. One easy handle in one multi handle: the multi keeps the connections and can
 * wait for a descriptor of ours beside its own. Threads may each have a client; nothing is shared between them. */
#include "io/http_client.h"

#include <curl/curl.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

enum { BODY_MAX = 64 << 20, CONNECT_MS = 10000, POLL_MS = 1000 };

struct http_client {
    CURLM *multi;
    CURL *easy;
    char *user_agent, *ca, *proxy;
    bool no_verify;
    int64_t connect_ms;
    char words[CURL_ERROR_SIZE];
};

/* One request on its way. */
struct sending {
    struct http_client *c;
    const struct http_request *q;
    struct http_response *r;
    struct error *err;
    bool failed;  /* err was set by us inside a callback */
    int64_t sent; /* bytes of body, body_fd and tail handed to curl */
};

static pthread_once_t once = PTHREAD_ONCE_INIT;

static void init_curl (void)
{
    if (curl_global_init (CURL_GLOBAL_DEFAULT))
        abort ();
}

static char *copy (const char *s)
{
    char *p = s ? strdup (s) : NULL;

    if (s && !p)
        abort ();
    return p;
}

struct http_client *http_client_create (const struct http_client_options *o)
{
    static const struct http_client_options none;
    struct http_client *c = calloc (1, sizeof (*c));

    if (!c)
        abort ();
    if (!o)
        o = &none;
    c->user_agent = copy (o->user_agent ? o->user_agent : "stoker");
    c->ca = copy (o->ca);
    c->proxy = copy (o->proxy);
    c->no_verify = o->no_verify;
    c->connect_ms = o->connect_ms ? o->connect_ms : CONNECT_MS;
    return c;
}

void http_client_rest (struct http_client *c)
{
    if (c->easy)
        curl_easy_cleanup (c->easy);
    if (c->multi)
        curl_multi_cleanup (c->multi);
    c->easy = NULL;
    c->multi = NULL;
}

void http_client_destroy (struct http_client *c)
{
    if (!c)
        return;
    http_client_rest (c);
    free (c->user_agent);
    free (c->ca);
    free (c->proxy);
    free (c);
}

void http_url_show (struct str *s, const char *url)
{
    const char *host = strstr (url, "://");
    const char *end = url + strcspn (url, "?#");
    const char *at;

    host = host && host < end ? host + 3 : url;
    at = memrchr (host, '@', strcspn (host, "/?#"));
    str_add (s, url, (size_t)(host - url));
    if (at)
        host = at + 1;
    str_add (s, host, (size_t)(end - host));
}

/* -- callbacks of curl ------------------------------------------------------------------------------------------ */

/* Copy up to n bytes of t from `at` on. */
static size_t take (char *to, size_t n, struct text t, int64_t at)
{
    size_t left = t.n - (size_t)at;

    if (n > left)
        n = left;
    if (n)
        memcpy (to, t.p + at, n);
    return n;
}

static size_t on_send (char *to, size_t one, size_t n, void *arg)
{
    struct sending *s = arg;
    const struct http_request *q = s->q;
    int64_t at = s->sent, head = (int64_t)q->body.n, mid = head + q->body_fd_size;
    ssize_t r;

    n *= one;
    if (at < head) {
        n = take (to, n, q->body, at);
    } else if (at < mid) {
        if ((int64_t)n > mid - at)
            n = (size_t)(mid - at);
        r = read (q->body_fd, to, n);
        if (r <= 0) {
            s->failed = true;
            if (r < 0)
                error_errno (s->err, "read what is to be sent");
            else
                error_set (s->err, EIO, "the file became shorter while it was sent");
            return CURL_READFUNC_ABORT;
        }
        n = (size_t)r;
    } else {
        n = take (to, n, q->body_tail, at - mid);
    }
    s->sent += (int64_t)n;
    return n;
}

/* curl asks for this when it must send again (a kept connection was closed under it, a redirect). */
static int on_seek (void *arg, curl_off_t to, int whence)
{
    struct sending *s = arg;
    int64_t in_file = s->sent - (int64_t)s->q->body.n;

    if (whence != SEEK_SET || to != 0)
        return CURL_SEEKFUNC_CANTSEEK;
    if (in_file > s->q->body_fd_size)
        in_file = s->q->body_fd_size;
    if (s->q->body_fd && in_file > 0 && lseek (s->q->body_fd, -in_file, SEEK_CUR) < 0)
        return CURL_SEEKFUNC_FAIL;
    s->sent = 0;
    return CURL_SEEKFUNC_OK;
}

static int write_out (int fd, const char *p, size_t n, struct error *err)
{
    while (n) {
        ssize_t r = write (fd, p, n);

        if (r < 0 && errno == EINTR)
            continue;
        if (r < 0)
            return error_errno (err, "write what was received");
        p += r;
        n -= (size_t)r;
    }
    return 0;
}

static size_t on_receive (char *p, size_t one, size_t n, void *arg)
{
    struct sending *s = arg;
    const struct http_request *q = s->q;
    size_t max = q->max ? q->max : BODY_MAX;
    long status = 0;
    int r = 0;

    n *= one;
    curl_easy_getinfo (s->c->easy, CURLINFO_RESPONSE_CODE, &status);
    if (status >= 200 && status < 300 && q->sink)
        r = q->sink (p, n, q->sink_arg, s->err);
    else if (status >= 200 && status < 300 && q->out_fd)
        r = write_out (q->out_fd, p, n, s->err);
    else if (s->r->body.n + n > max)
        r = error_set (s->err, EFBIG, "the answer is longer than %zu bytes", max);
    else
        str_add (&s->r->body, p, n);
    if (r < 0)
        s->failed = true;
    return r < 0 ? 0 : n;
}

/* Copy the value of a header line "name: value\r\n". */
static void copy_value (char *to, size_t room, const char *p, size_t n)
{
    while (n && (*p == ' ' || *p == '\t'))
        p++, n--;
    while (n && (p[n - 1] == '\r' || p[n - 1] == '\n' || p[n - 1] == ' '))
        n--;
    if (n >= room)
        n = room - 1;
    memcpy (to, p, n);
    to[n] = 0;
}

static size_t on_header (char *p, size_t one, size_t n, void *arg)
{
    struct sending *s = arg;
    char number[32];

    n *= one;
    if (n >= 5 && !strncmp (p, "HTTP/", 5)) { /* of a new answer: behind a redirect or a 100 */
        s->r->content_type[0] = s->r->location[0] = 0;
        s->r->retry_after_ms = 0;
        str_reset (&s->r->body);
    } else if (n > 13 && !strncasecmp (p, "content-type:", 13)) {
        copy_value (s->r->content_type, sizeof (s->r->content_type), p + 13, n - 13);
    } else if (n > 9 && !strncasecmp (p, "location:", 9)) {
        copy_value (s->r->location, sizeof (s->r->location), p + 9, n - 9);
    } else if (n > 12 && !strncasecmp (p, "retry-after:", 12)) {
        copy_value (number, sizeof (number), p + 12, n - 12);
        s->r->retry_after_ms = strtol (number, NULL, 10) * 1000;
    }
    return n;
}

static int on_progress (void *arg, curl_off_t down_all, curl_off_t down, curl_off_t up_all, curl_off_t up)
{
    struct sending *s = arg;

    (void)down_all;
    (void)up_all;
    s->q->progress (up, down, s->q->progress_arg);
    return 0;
}

/* -- one request ------------------------------------------------------------------------------------------------ */

static int prepare (struct http_client *c, struct error *err)
{
    pthread_once (&once, init_curl);
    if (!c->multi)
        c->multi = curl_multi_init ();
    if (!c->easy)
        c->easy = curl_easy_init ();
    else
        curl_easy_reset (c->easy);
    if (!c->multi || !c->easy)
        return error_set (err, ENOMEM, "no memory for a connection");
    return 0;
}

static void set_server (struct http_client *c, CURL *e)
{
    curl_easy_setopt (e, CURLOPT_ERRORBUFFER, c->words);
    curl_easy_setopt (e, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt (e, CURLOPT_PROTOCOLS_STR, "http,https");
    curl_easy_setopt (e, CURLOPT_REDIR_PROTOCOLS_STR, "http,https");
    curl_easy_setopt (e, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
    curl_easy_setopt (e, CURLOPT_SSLVERSION, (long)CURL_SSLVERSION_TLSv1_2);
    curl_easy_setopt (e, CURLOPT_USERAGENT, c->user_agent);
    curl_easy_setopt (e, CURLOPT_CONNECTTIMEOUT_MS, (long)c->connect_ms);
    curl_easy_setopt (e, CURLOPT_BUFFERSIZE, 16384L);
    curl_easy_setopt (e, CURLOPT_TCP_KEEPALIVE, 1L);
    if (c->ca)
        curl_easy_setopt (e, CURLOPT_CAINFO, c->ca);
    if (c->no_verify) {
        curl_easy_setopt (e, CURLOPT_SSL_VERIFYPEER, 0L);
        curl_easy_setopt (e, CURLOPT_SSL_VERIFYHOST, 0L);
    }
    if (c->proxy)
        curl_easy_setopt (e, CURLOPT_PROXY, c->proxy);
}

static void set_body (struct sending *s, CURL *e)
{
    const struct http_request *q = s->q;
    int64_t size = (int64_t)q->body.n + q->body_fd_size + (int64_t)q->body_tail.n;

    if (q->method && !strcmp (q->method, "HEAD"))
        curl_easy_setopt (e, CURLOPT_NOBODY, 1L);
    else if (q->body.p || q->body_fd)
        curl_easy_setopt (e, CURLOPT_POST, 1L);
    if (q->method && strcmp (q->method, "HEAD"))
        curl_easy_setopt (e, CURLOPT_CUSTOMREQUEST, q->method);
    if (!q->body.p && !q->body_fd)
        return;
    curl_easy_setopt (e, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)size);
    curl_easy_setopt (e, CURLOPT_READFUNCTION, on_send);
    curl_easy_setopt (e, CURLOPT_READDATA, s);
    curl_easy_setopt (e, CURLOPT_SEEKFUNCTION, on_seek);
    curl_easy_setopt (e, CURLOPT_SEEKDATA, s);
}

static struct curl_slist *set_request (struct sending *s, CURL *e)
{
    const struct http_request *q = s->q;
    struct curl_slist *headers = curl_slist_append (NULL, "Expect:"); /* no 100-continue round trip */

    curl_easy_setopt (e, CURLOPT_URL, q->url);
    for (size_t i = 0; q->headers && q->headers[i]; i++)
        headers = curl_slist_append (headers, q->headers[i]);
    curl_easy_setopt (e, CURLOPT_HTTPHEADER, headers);
    if (q->user) {
        curl_easy_setopt (e, CURLOPT_HTTPAUTH, (long)CURLAUTH_BASIC);
        curl_easy_setopt (e, CURLOPT_USERNAME, q->user);
        curl_easy_setopt (e, CURLOPT_PASSWORD, q->password ? q->password : "");
    }
    set_body (s, e);
    curl_easy_setopt (e, CURLOPT_TIMEOUT_MS, (long)q->timeout_ms);
    if (q->stall_ms) {
        curl_easy_setopt (e, CURLOPT_LOW_SPEED_LIMIT, 1L);
        curl_easy_setopt (e, CURLOPT_LOW_SPEED_TIME, (long)((q->stall_ms + 999) / 1000));
    }
    if (q->redirects) {
        curl_easy_setopt (e, CURLOPT_FOLLOWLOCATION, 1L);
        curl_easy_setopt (e, CURLOPT_MAXREDIRS, (long)q->redirects);
        curl_easy_setopt (e, CURLOPT_POSTREDIR, (long)CURL_REDIR_POST_ALL);
    }
    curl_easy_setopt (e, CURLOPT_WRITEFUNCTION, on_receive);
    curl_easy_setopt (e, CURLOPT_WRITEDATA, s);
    curl_easy_setopt (e, CURLOPT_HEADERFUNCTION, on_header);
    curl_easy_setopt (e, CURLOPT_HEADERDATA, s);
    if (q->progress) {
        curl_easy_setopt (e, CURLOPT_NOPROGRESS, 0L);
        curl_easy_setopt (e, CURLOPT_XFERINFOFUNCTION, on_progress);
        curl_easy_setopt (e, CURLOPT_XFERINFODATA, s);
    }
    return headers;
}

static int code_of (CURLcode c, const char *url)
{
    switch (c) {
        case CURLE_COULDNT_RESOLVE_HOST:
        case CURLE_COULDNT_RESOLVE_PROXY:
        case CURLE_COULDNT_CONNECT:
            return ECONNREFUSED;
        case CURLE_OPERATION_TIMEDOUT:
            return ETIMEDOUT;
        case CURLE_SEND_ERROR:
        case CURLE_RECV_ERROR:
        case CURLE_GOT_NOTHING:
        case CURLE_PARTIAL_FILE:
        case CURLE_SSL_CONNECT_ERROR: /* also when it is cut off in the middle of the handshake */
        case CURLE_WEIRD_SERVER_REPLY:
            return EPIPE;
        case CURLE_OUT_OF_MEMORY:
            return ENOMEM;
        case CURLE_UNSUPPORTED_PROTOCOL: /* of the URL, or what answers does not speak HTTP */
            return strncasecmp (url, "http", 4) ? EINVAL : EPIPE;
        case CURLE_URL_MALFORMAT:
            return EINVAL;
        default:
            return EPROTO;
    }
}

/* Let it run until it is done or abort_fd is readable. */
static int drive (struct sending *s, CURLcode *ret)
{
    struct curl_waitfd extra = { .fd = s->q->abort_fd, .events = CURL_WAIT_POLLIN };
    unsigned extras = s->q->abort_fd ? 1 : 0;
    struct pollfd check = { .fd = s->q->abort_fd, .events = POLLIN };
    CURLMsg *m;
    int running = 1, left;

    for (;;) {
        if (curl_multi_perform (s->c->multi, &running))
            return error_set (s->err, EIO, "the connection cannot be driven");
        while ((m = curl_multi_info_read (s->c->multi, &left)))
            if (m->msg == CURLMSG_DONE) {
                *ret = m->data.result;
                return 0;
            }
        if (!running)
            return error_set (s->err, EIO, "the connection ended without an answer");
        if (extras && poll (&check, 1, 0) > 0)
            return error_set (s->err, ECANCELED, "given up");
        if (curl_multi_poll (s->c->multi, &extra, extras, POLL_MS, NULL))
            return error_set (s->err, EIO, "the connection cannot be waited for");
    }
}

static int finish (struct sending *s, CURLcode code)
{
    curl_off_t length = -1;
    long status = 0;

    if (code && !s->failed)
        return error_set (s->err, code_of (code, s->q->url), "%s",
                          s->c->words[0] ? s->c->words : curl_easy_strerror (code));
    if (code)
        return -1;
    curl_easy_getinfo (s->c->easy, CURLINFO_RESPONSE_CODE, &status);
    curl_easy_getinfo (s->c->easy, CURLINFO_CONTENT_LENGTH_DOWNLOAD_T, &length);
    s->r->status = (int)status;
    s->r->content_length = length;
    return 0;
}

int http_client_send (struct http_client *c, const struct http_request *q, struct http_response *ret,
                      struct error *err)
{
    struct sending s = { .c = c, .q = q, .r = ret, .err = err };
    cleanup_str struct str shown = { 0 };
    struct curl_slist *headers;
    CURLcode code = CURLE_OK;
    int r;

    ret->status = 0;
    ret->content_length = -1;
    ret->retry_after_ms = 0;
    ret->content_type[0] = ret->location[0] = 0;
    if (prepare (c, err) < 0)
        return -1;
    c->words[0] = 0;
    set_server (c, c->easy);
    headers = set_request (&s, c->easy);
    if (curl_multi_add_handle (c->multi, c->easy))
        r = error_set (err, EIO, "the request cannot be started");
    else
        r = drive (&s, &code);
    if (!r)
        r = finish (&s, code);
    curl_multi_remove_handle (c->multi, c->easy);
    curl_slist_free_all (headers);
    if (r < 0) {
        http_url_show (&shown, q->url);
        return error_wrap (err, "%s %s",
                           q->method                 ? q->method
                           : q->body.p || q->body_fd ? "POST"
                                                     : "GET",
                           shown.p);
    }
    return 0;
}
