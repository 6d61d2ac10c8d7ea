/* token.c - tokens: JWT, HS256 and nothing else. In: who; out: the text that clients carry, and back. Clients read
 * the claims without checking them (exp, api_version, server_version, feature_set decide what they do), so their names
 * are the reference's; ours begin with x_.
 */
#include "base/digest.h"
#include "base/id.h"
#include "base/json.h"
#include "services/auth/auth.h"

static void put_identity (struct str *s, const struct identity *who)
{
    json_put_key (s, "identity");
    str_putc (s, '{');
    json_put_some (s, "user", who->user);
    json_put_some (s, "company", who->company);
    json_put_some (s, "role", who->role);
    json_put_some (s, "user_name", who->user_name);
    json_put_some (s, "company_name", who->company_name);
    str_putc (s, '}');
}

static void put_claims (struct str *s, const struct server_facts *facts, const struct identity *who,
                        int64_t now_ms, int64_t ttl_s)
{
    str_putc (s, '{');
    json_put_some (s, "env", "<unknown>");
    put_identity (s, who);
    json_put_some (s, "auth_type", "Bearer");
    json_put_key (s, "iat");
    str_add_int (s, now_ms / 1000);
    if (ttl_s) {
        json_put_key (s, "exp");
        str_add_int (s, now_ms / 1000 + ttl_s);
    }
    json_put_some (s, "session_id", who->session ? who->session : id_random ().hex);
    json_put_some (s, "api_version", facts->api_version);
    json_put_some (s, "server_version", facts->version);
    json_put_some (s, "server_build", facts->build);
    json_put_some (s, "feature_set", "basic");
    json_put_some (s, "x_key", who->key);
    if (who->page)
        str_puts (s, ",\"x_page\":true");
    str_putc (s, '}');
}

static void sign (const struct server_facts *facts, struct text what, unsigned char out[DIGEST_SHA256])
{
    digest_hmac_sha256 ((struct text){ (const char *)facts->token_secret, facts->token_secret_n }, what, out);
}

char *auth_token (struct arena *a, const struct server_facts *facts, const struct identity *who,
                  int64_t now_ms, int64_t ttl_s)
{
    static const char head[] = "{\"alg\":\"HS256\",\"typ\":\"JWT\"}";
    struct str claims = { .arena = a }, token = { .arena = a };
    unsigned char mac[DIGEST_SHA256];

    put_claims (&claims, facts, who, now_ms, ttl_s);
    digest_base64url (&token, head, sizeof (head) - 1);
    str_putc (&token, '.');
    digest_base64url (&token, claims.p, claims.n);
    sign (facts, str_text (&token), mac);
    str_putc (&token, '.');
    digest_base64url (&token, mac, sizeof (mac));
    return token.p;
}

static int bad (struct error *err, const char *why)
{
    return error_set (err, ERR_INVALID_TOKEN, "token: %s", why);
}

/* head.claims.mac: the signature is checked before anything inside is looked at. */
static int open_token (struct arena *a, const struct server_facts *facts, struct text token,
                       struct text *ret_claims, struct error *err)
{
    const char *end = token.p + token.n;
    const char *one = memchr (token.p, '.', token.n);
    const char *two = one ? memchr (one + 1, '.', (size_t)(end - one) - 1) : NULL;
    unsigned char mac[DIGEST_SHA256];
    struct text head, claims, given;
    struct error ignored;

    if (!two || token.n > 8192)
        return bad (err, "not of the form a.b.c");
    if (digest_base64_decode (a, (struct text){ token.p, (size_t)(one - token.p) }, &head, &ignored) < 0 ||
        digest_base64_decode (a, (struct text){ one + 1, (size_t)(two - one) - 1 }, &claims, &ignored) < 0 ||
        digest_base64_decode (a, (struct text){ two + 1, (size_t)(end - two) - 1 }, &given, &ignored) < 0)
        return bad (err, "not base64url");
    sign (facts, (struct text){ token.p, (size_t)(two - token.p) }, mac);
    if (given.n != sizeof (mac) || !digest_equal (given.p, mac, sizeof (mac)))
        return bad (err, "the signature is not ours");
    if (json_check (head, &head, &ignored) < 0 || !json_string_is (json_get (head, "alg"), "HS256"))
        return bad (err, "signed by another algorithm than HS256");
    if (json_check (claims, ret_claims, &ignored) < 0 || json_kind (*ret_claims) != JSON_OBJECT)
        return bad (err, "the claims are no JSON object");
    return 0;
}

int auth_token_read (struct arena *a, const struct server_facts *facts, struct text token, int64_t now_ms,
                     struct identity *ret, struct error *err)
{
    struct text claims, who, exp;
    struct identity id = { 0 };

    if (open_token (a, facts, token, &claims, err) < 0)
        return -1;
    exp = json_get (claims, "exp");
    id.expires = json_int (exp, 0);
    if (exp.p && id.expires <= now_ms / 1000)
        return bad (err, "expired, log in again");
    who = json_get (claims, "identity");
    id.user = json_string (a, json_get (who, "user"));
    id.company = json_string (a, json_get (who, "company"));
    id.role = json_string (a, json_get (who, "role"));
    id.user_name = json_string (a, json_get (who, "user_name"));
    id.company_name = json_string (a, json_get (who, "company_name"));
    id.session = json_string (a, json_get (claims, "session_id"));
    id.key = json_string (a, json_get (claims, "x_key"));
    id.page = json_true (json_get (claims, "x_page"));
    if (!id.user || !id.company || !id.role || !id.session)
        return bad (err, "it does not say who");
    *ret = id;
    return 0;
}

char *auth_cookie_renew (struct arena *a, const struct server_facts *facts, const struct identity *who,
                         int64_t now_ms)
{
    if (!who->page || !who->cookie || who->expires - now_ms / 1000 > AUTH_PAGE_TTL_S - 3600)
        return NULL;
    return auth_token (a, facts, who, now_ms, AUTH_PAGE_TTL_S);
}

/* Only the hash of a code is kept: who can look into memory or a dump cannot log in by it. */
char *auth_code_create (struct arena *a, struct volatile_store *volatiles, const char *company,
                        const char *user)
{
    unsigned char raw[24];
    char hex[2 * DIGEST_SHA256 + 1];
    struct str code = { .arena = a };

    digest_random (raw, sizeof (raw));
    digest_base64url (&code, raw, sizeof (raw));
    digest_sha256_hex (str_text (&code), hex);
    volatile_put (volatiles, arena_printf (a, "code/%s/%s", company, hex), text_of (user), 10 * 60 * 1000);
    return code.p;
}
