/* front.c - the first station of every request: may this Host and Origin be answered, and which part answers.
 *
 * Each listening port has its front (web: pages at /, api: calls at /, files: files at /); /api/ and /files/ lead to
 * their parts on every port, and a bare [vX.Y/]service.action is a call on web and api.
 */
#include "base/clock.h"
#include "base/log.h"
#include "server/room.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* -- Host and Origin */
static struct text without_port (struct text host)
{
    size_t n = host.n;

    while (n && host.p[n - 1] >= '0' && host.p[n - 1] <= '9')
        n--;
    if (n && host.p[n - 1] == ':' && (n == 1 || host.p[n - 2] == ']' || !memchr (host.p, ':', n - 1)))
        return (struct text){ host.p, n - 1 };
    return host;
}

static bool ends_with (struct text t, const char *end)
{
    size_t n = strlen (end);

    return t.n >= n && !strncasecmp (t.p + t.n - n, end, n);
}

static bool is_ipv4_loopback (struct text h)
{
    if (!text_starts (h, "127."))
        return false;
    for (size_t i = 0; i < h.n; i++)
        if (h.p[i] != '.' && (h.p[i] < '0' || h.p[i] > '9'))
            return false;
    return true;
}

static bool same_name (struct text h, const char *name)
{
    return strlen (name) == h.n && !strncasecmp (h.p, name, h.n);
}

static bool host_allowed (const struct server *s, const struct http_request *r)
{
    struct text h = without_port (http_header (r, "host"));

    if (!s->all_loopback || same_name (h, "localhost") || ends_with (h, ".localhost") ||
        same_name (h, "[::1]") || is_ipv4_loopback (h))
        return true;
    for (size_t i = 0; i < s->options->hosts_n; i++)
        if (same_name (h, s->options->hosts[i]))
            return true;
    return false;
}

bool front_own_origin (const struct http_request *r)
{
    struct text origin = http_header (r, "origin"), host = http_header (r, "host");

    if (!origin.p)
        return true;
    if (text_starts (origin, "http://"))
        origin = (struct text){ origin.p + 7, origin.n - 7 };
    else if (text_starts (origin, "https://"))
        origin = (struct text){ origin.p + 8, origin.n - 8 };
    else
        return false;
    return origin.n == host.n && !strncasecmp (origin.p, host.p, host.n);
}

static const char *listed_origin (const struct server *s, const struct http_request *r)
{
    struct text origin = http_header (r, "origin");

    for (size_t i = 0; origin.p && i < s->options->origins_n; i++)
        if (same_name (origin, s->options->origins[i]))
            return s->options->origins[i];
    return NULL;
}

void front_cors (struct server *s, struct http_request *r, struct http_answer *a)
{
    const char *origin = listed_origin (s, r);

    if (!origin)
        return;
    http_answer_header (r, a, "Access-Control-Allow-Origin", origin);
    http_answer_header (r, a, "Access-Control-Allow-Credentials", "true");
    http_answer_header (r, a, "Vary", "Origin");
}

/* -- small answers */
void answer_text (struct http_request *r, int status, const char *type, const char *text)
{
    struct http_answer a = { .status = status, .type = type, .body = text_of (text) };

    http_answer_header (r, &a, "X-Content-Type-Options", "nosniff");
    http_respond (r, &a);
}

static void options_answer (struct server *s, struct http_request *r)
{
    struct http_answer a = { .status = 200 };
    struct text wanted = http_header (r, "access-control-request-headers");

    front_cors (s, r, &a);
    http_answer_header (r, &a, "Allow", "DELETE, GET, HEAD, OPTIONS, PATCH, POST, PUT");
    if (listed_origin (s, r)) {
        http_answer_header (r, &a, "Access-Control-Allow-Methods",
                            "DELETE, GET, HEAD, OPTIONS, PATCH, POST, PUT");
        if (wanted.p)
            http_answer_header (r, &a, "Access-Control-Allow-Headers", arena_text (r->arena, wanted));
        http_answer_header (r, &a, "Access-Control-Max-Age", "600");
    }
    http_respond (r, &a);
}

static void health_answer (struct server *s, struct http_request *r)
{
    answer_text (r, s->stopping ? 500 : 200, "application/json",
                 s->stopping ? "{\"status\":\"stopping\"}\n" : "{\"status\":\"ok\"}\n");
}

/* -- routing */
static bool below (struct text path, const char *prefix, struct text *ret_rest)
{
    size_t n = strlen (prefix);

    if (!text_starts (path, prefix) || (path.n > n && path.p[n] != '/'))
        return false;
    *ret_rest = path.n > n ? (struct text){ path.p + n, path.n - n } : TEXT ("/");
    return true;
}

/* On the pages' front a call is told from a page by its name: "queues.get_all" exists, "favicon.ico" does not. */
static bool is_call (const struct http_request *r)
{
    struct wire_path p;
    struct error ignored;

    if (wire_path_parse (r->path, &p, &ignored) < 0)
        return false;
    return wire_find (p.name, 999000) || (r->method != HTTP_M_GET && r->method != HTTP_M_HEAD);
}

static void route (struct server *s, struct http_request *r)
{
    enum front front = s->listeners[r->listener].front;
    struct text rest;

    if (text_is (r->path, "/healthz"))
        health_answer (s, r);
    else if (below (r->path, "/api", &rest))
        api_start (s, r, rest);
    else if (below (r->path, "/files", &rest))
        files_start (s, r, rest);
    else if (front == FRONT_FILES)
        files_start (s, r, r->path);
    else if (front == FRONT_API || (!asset_exists (r->path) && is_call (r)))
        api_start (s, r, r->path);
    else
        asset_start (s, r);
}

/* The SDK and the reference agent fork while their pooled connections are open, and parent and child then use one socket
 * together: an answer reaches the wrong process, or nobody. The reference closes after each answer, so that they never
 * meet this; for them so do we. All others keep their connections. */
static bool client_forks (const struct http_request *r)
{
    return text_starts (http_header (r, "user-agent"), "python-requests/") ||
           http_header (r, "x-clearml-client").p || http_header (r, "x-trains-client").p;
}

void front_request (struct http_request *r, void *arg)
{
    struct server *s = arg;

    if (client_forks (r))
        r->keep_alive = false;
    if (!host_allowed (s, r))
        answer_text (r, 421, "text/plain; charset=utf-8",
                     "This server listens on this machine only and does not answer to that name.\n"
                     "Start it with --host NAME to allow a name.\n");
    else if (r->method == HTTP_M_OPTIONS)
        options_answer (s, r);
    else
        route (s, r);
}

/* What the HTTP room refuses by itself: calls get the envelope, so that clients can read it. */
void front_refused (struct http_request *r, int status, const char *words, struct str *ret_body,
                    const char **ret_type, void *arg)
{
    struct server *s = arg;
    struct id id = id_random ();
    struct wire_meta meta = { .id = id.hex,
                              .trx = id.hex,
                              .name = TEXT (""),
                              .requested = TEXT ("1.0"),
                              .requested_version = 1000,
                              .code = WIRE_ERROR (status, 0),
                              .message = words };

    log_debug ("http", "request=%s refused code=%d words=%s", id.hex, status, words);
    if (r->conn && s->listeners[r->listener].front == FRONT_FILES)
        return;
    wire_envelope (ret_body, &meta, TEXT ("{}"));
    *ret_type = "application/json";
}

/* The access log: no query (it may hold tokens), no header. */
void front_ended (struct http_request *r, int status, void *arg)
{
    int64_t us = clock_now_us () - r->started_us;

    (void)arg;
    if (log_get_level () == LOG_DEBUG)
        log_debug ("http", "method=%s path=%.*s code=%d ms=%lld.%03lld address=%s",
                   r->method_name ? r->method_name : "-", (int)(r->path.n < 200 ? r->path.n : 200),
                   r->path.p ? r->path.p : "", status, (long long)(us / 1000), (long long)(us % 1000),
                   r->address ? r->address : "-");
}
