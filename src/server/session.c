/* session.c - who sends a request: Authorization header first, else the cookie. A cookie comes along with whatever page
 * a browser shows, so alone it counts for an API call only when a page of ours made it: a POST with X-Stoker-Request,
 * our own Origin, and Sec-Fetch-Site same-origin where the browser says it. For files (images of a page) a GET counts
 * unless the browser says that another site asked.
 */
#include "server/room.h"
#include "services/auth/auth.h"

#include <string.h>
#include <strings.h>

static const char cookie_name[] = "clearml_token_basic";

const char *session_header (struct http_request *r, const char *name)
{
    static const char *const before[] = { "x-clearml-", "x-trains-" };
    struct text v = { 0 };
    char whole[64];

    for (size_t i = 0; i < sizeof (before) / sizeof (*before) && !v.p; i++) {
        stpcpy (stpcpy (whole, before[i]), name);
        v = http_header (r, whole);
    }
    return arena_text (r->arena, v);
}

const char *session_address (const struct http_request *r)
{
    struct text forwarded = http_header (r, "x-forwarded-for"), real = http_header (r, "x-real-ip");
    const char *comma = forwarded.p ? memchr (forwarded.p, ',', forwarded.n) : NULL;

    if (comma)
        forwarded.n = (size_t)(comma - forwarded.p);
    if (!forwarded.n)
        forwarded = real;
    return forwarded.n && forwarded.n < 100 ? arena_text (r->arena, forwarded) : r->address;
}

bool session_has_credentials (const struct http_request *r)
{
    return http_header (r, "authorization").n || http_cookie (r, cookie_name).n;
}

static bool cookie_counts (const struct http_request *r, bool for_files)
{
    struct text site = http_header (r, "sec-fetch-site");

    if (site.p && !text_is (site, "same-origin") && !(for_files && text_is (site, "none")))
        return false;
    if (!front_own_origin (r))
        return false;
    if (for_files && (r->method == HTTP_M_GET || r->method == HTTP_M_HEAD))
        return true;
    return r->method == HTTP_M_POST && http_header (r, "x-stoker-request").p;
}

int session_check (struct server *s, struct http_request *r, struct arena *a, bool for_files,
                   struct identity *ret, struct error *err)
{
    struct text cookie = http_cookie (r, cookie_name);
    struct auth_request q = { .authorization = arena_text (a, http_header (r, "authorization")),
                              .worker = session_header (r, "worker"),
                              .address = session_address (r) };

    if (!q.authorization && cookie.n) {
        if (!cookie_counts (r, for_files))
            return error_set (err, ERR_NO_CREDENTIALS,
                              "the session cookie alone does not count here: send POST with the header "
                              "X-Stoker-Request from our own page, or an Authorization header");
        q.cookie = arena_text (a, cookie);
    }
    return auth_check (s->auth, a, &s->facts, &q, ret, err);
}
