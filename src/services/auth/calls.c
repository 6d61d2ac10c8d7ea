/* calls.c - the calls of auth, login and x_login. Tokens need no database, so logging in is a read. */
#include "api/auth.api.h"
#include "api/login.api.h"
#include "api/x_login.api.h"
#include "base/clock.h"
#include "base/digest.h"
#include "base/id.h"
#include "services/auth/auth.h"
#include "services/auth/key.h"
#include "sql/sql.h"
#include "store/store.h"

#include <errno.h>

/* -- tokens ---------------------------------------------------------------------------------------- */
int auth_login (struct call *c, const struct auth_login_in *in, struct auth_login_out *out, struct error *err)
{
    struct identity who = c->who;
    int64_t ttl = in->expiration_sec;

    if (ttl > AUTH_TOKEN_TTL_MAX_S || ttl < 0)
        return error_set (err, ERR_VALIDATION, "field expiration_sec: 0 to %d expected, found %lld",
                          AUTH_TOKEN_TTL_MAX_S, (long long)ttl);
    if (!ttl && strcmp (who.role, "system") != 0)
        ttl = AUTH_TOKEN_TTL_S;
    who.session = NULL; /* a session of its own */
    who.page = false;
    out->token = auth_token (c->arena, c->facts, &who, c->now, ttl);
    c->set_cookie = out->token;
    return 0;
}

/* A page renews its token, so its session outlives the token that is shown: forbidden for as long as any may live. A
 * token of role system has no end. */
static int session_end (struct call *c, struct error *err)
{
    int64_t until = c->who.expires ? c->now / 1000 + AUTH_TOKEN_TTL_MAX_S : AUTH_FOR_EVER_S;

    c->set_cookie = "";
    if (!c->who.session)
        return 0;
    if (c->who.expires && !c->who.page)
        until = c->who.expires;
    if (db_exec (c->db, &sql_auth_session_revoke, err, V_STR (c->who.company), V_STR (c->who.session),
                 V_INT (until)) < 0)
        return -1;
    call_after_commit (c, EFFECT_REVOKE_SESSION, c->who.session, NULL, until);
    return 0;
}

int auth_logout (struct call *c, const struct auth_logout_in *in, struct auth_logout_out *out,
                 struct error *err)
{
    (void)in;
    (void)out;
    return session_end (c, err);
}

int login_logout (struct call *c, const struct login_logout_in *in, struct login_logout_out *out,
                  struct error *err)
{
    (void)in;
    (void)out;
    return session_end (c, err);
}

/* -- users ----------------------------------------------------------------------------------------- */
/* What a role may give: that of the server's own people only who has one. */
static int check_new_user (struct call *c, const struct auth_create_user_in *in, struct error *err)
{
    cleanup_rows struct rows rows = { 0 };
    bool server = !strcmp (c->who.role, "root") || !strcmp (c->who.role, "system");
    const char *at = strchr (in->email, '@');
    int rc;

    if (!*in->name)
        return error_set (err, ERR_VALIDATION, "field name: must not be empty");
    if (!at || at == in->email || !at[1] || strpbrk (in->email, " \t\r\n") || strchr (at + 1, '@'))
        return error_set (err, ERR_VALIDATION, "field email: '%s' is no mail address", in->email);
    if (!auth_role_may_give (c->who.role, in->role))
        return error_set (err, ERR_ROLE_NOT_ALLOWED, "field role: %s may not make a user of role %s",
                          c->who.role, in->role);
    if (db_query (c->db, &sql_auth_company_known, &rows, err, V_STR (in->company)) < 0 ||
        (rc = db_next (&rows, err)) < 0)
        return -1;
    if (!rc || (!server && strcmp (in->company, c->who.company) != 0))
        return error_set (err, ERR_INVALID_ID, "field company: %s is no company of yours", in->company);
    return 0;
}

int auth_create_user (struct call *c, const struct auth_create_user_in *in, struct auth_create_user_out *out,
                      struct error *err)
{
    const char *id = arena_strdup (c->arena, id_random ().hex);

    if (check_new_user (c, in, err) < 0)
        return -1;
    if (db_exec (c->db, &sql_auth_user_create, err, V_STR (in->company), V_STR (id), V_STR (in->name),
                 V_STR (in->role), V_STR (in->email), V_STR (in->given_name), V_STR (in->family_name),
                 V_STR (in->avatar), V_INT (c->now), V_STR (c->facts->version)) < 0)
        return err->code == EEXIST ? error_set (err, ERR_NOT_UNIQUE,
                                                "field email: there is already a user with %s", in->email)
                                   : -1;
    out->id = id;
    return 0;
}

int auth_user_end (struct call *c, const char *user, struct error *err)
{
    const char *session = auth_user_session (c->arena, user);
    cleanup_rows struct rows rows = { 0 };
    int rc;

    if (db_query (c->db, &sql_auth_keys_of_user, &rows, err, V_STR (c->who.company), V_STR (user)) < 0)
        return -1;
    while ((rc = db_next (&rows, err)) > 0)
        call_after_commit (c, EFFECT_REVOKE_KEY, row_str (&rows, 0, c->arena), NULL, 0);
    if (rc < 0)
        return -1;
    rows_done (&rows);
    call_after_commit (c, EFFECT_REVOKE_SESSION, session, NULL, AUTH_FOR_EVER_S);
    return db_exec (c->db, &sql_auth_keys_remove, err, V_STR (c->who.company), V_STR (user)) < 0 ||
                   db_exec (c->db, &sql_auth_session_revoke, err, V_STR (c->who.company), V_STR (session),
                            V_INT (AUTH_FOR_EVER_S)) < 0
               ? -1
               : 0;
}

/* -- keys ------------------------------------------------------------------------------------------ */
/* The caller's own role: of one who acts as another, the other's. */
static int user_role (struct call *c, const char **ret, struct error *err)
{
    cleanup_rows struct rows rows = { 0 };
    int rc;

    if (db_query (c->db, &sql_auth_user_get, &rows, err, V_STR (c->who.company), V_STR (c->who.user)) < 0 ||
        (rc = db_next (&rows, err)) < 0)
        return -1;
    if (!rc)
        return error_set (err, ERR_INVALID_USER_ID, "user %s: no such user", c->who.user);
    *ret = row_str (&rows, 5, c->arena);
    return 0;
}

static void effect_key_add (struct call *c, const struct auth_key *key, const char *role)
{
    const char *const members[][2] = { { "company", c->who.company },
                                       { "company_name", c->who.company_name },
                                       { "user", c->who.user },
                                       { "user_name", c->who.user_name },
                                       { "role", role } };
    char hex[2 * DIGEST_SHA256 + 1];
    struct str s = { .arena = c->arena };

    digest_hex (key->hash, sizeof (key->hash), hex);
    str_puts (&s, "{\"secret\":");
    json_put_string (&s, hex);
    for (size_t i = 0; i < sizeof (members) / sizeof (*members); i++) {
        json_put_key (&s, members[i][0]);
        json_put_string (&s, members[i][1] ? members[i][1] : "");
    }
    str_putc (&s, '}');
    call_after_commit (c, EFFECT_KEY_ADD, key->access, s.p, 0);
}

int auth_create_credentials (struct call *c, const struct auth_create_credentials_in *in,
                             struct auth_create_credentials_out *out, struct error *err)
{
    struct auth_key key = auth_key_make (c->arena);
    const char *role = NULL;

    if (user_role (c, &role, err) < 0 ||
        auth_key_store (c->db, c->who.company, c->who.user, &key, in->label, c->now, err) < 0)
        return -1;
    effect_key_add (c, &key, role);
    out->credentials = arena_new (c->arena, struct auth_credentials);
    out->credentials->access_key = key.access;
    out->credentials->secret_key = key.secret;
    out->credentials->label = in->label;
    return 0;
}

/* Memory knows the last use better than the database: "ms from". */
static void last_used (struct call *c, struct auth_credential_key *k, int64_t used, const char *from)
{
    struct str s = { .arena = c->arena };
    struct text kept;
    const char *space;

    if (c->facts->volatiles &&
        volatile_get (c->facts->volatiles, c->arena, arena_printf (c->arena, "key_used/%s", k->access_key),
                      &kept) &&
        (space = memchr (kept.p, ' ', kept.n))) {
        used = json_int ((struct text){ kept.p, (size_t)(space - kept.p) }, used);
        from = arena_strndup (c->arena, space + 1, (size_t)(kept.p + kept.n - space) - 1);
    }
    if (!used)
        return;
    clock_format (&s, used);
    if (s.n > 6 && !strcmp (s.p + s.n - 6, "+00:00")) /* this one date has no zone on the wire */
        s.p[s.n -= 6] = 0;
    k->last_used = s.p;
    k->last_used_from = from;
}

int auth_get_credentials (struct call *c, const struct auth_get_credentials_in *in,
                          struct auth_get_credentials_out *out, struct error *err)
{
    cleanup_rows struct rows rows = { 0 };
    struct str list = { .arena = c->arena };
    size_t n = 0;
    int rc;

    (void)in;
    if (db_query (c->db, &sql_auth_keys_of_user, &rows, err, V_STR (c->who.company), V_STR (c->who.user)) < 0)
        return -1;
    while ((rc = db_next (&rows, err)) > 0) {
        struct auth_credential_key k = { .access_key = row_str (&rows, 0, c->arena),
                                         .label = row_str (&rows, 1, c->arena) };

        last_used (c, &k, row_int (&rows, 2), row_str (&rows, 3, c->arena));
        str_add (&list, (const char *)&k, sizeof (k));
        n++;
    }
    if (rc < 0)
        return -1;
    out->credentials.v = (struct auth_credential_key *)(void *)list.p;
    out->credentials.n = n;
    return 0;
}

int auth_revoke_credentials (struct call *c, const struct auth_revoke_credentials_in *in,
                             struct auth_revoke_credentials_out *out, struct error *err)
{
    int64_t n = db_exec (c->db, &sql_auth_key_remove, err, V_STR (c->who.company), V_STR (c->who.user),
                         V_STR (in->access_key));

    if (n < 0)
        return -1;
    if (!n)
        return error_set (err, ERR_INVALID_USER, "access key %s: not one of yours", in->access_key);
    call_after_commit (c, EFFECT_REVOKE_KEY, in->access_key, NULL, 0);
    out->revoked = n;
    out->has.revoked = true;
    return 0;
}

int auth_edit_credentials (struct call *c, const struct auth_edit_credentials_in *in,
                           struct auth_edit_credentials_out *out, struct error *err)
{
    int64_t n = db_exec (c->db, &sql_auth_key_set_label, err, V_STR (c->who.company), V_STR (c->who.user),
                         V_STR (in->access_key), V_STR (in->label));

    if (n < 0)
        return -1;
    if (!n)
        return error_set (err, ERR_INVALID_ACCESS_KEY, "access key %s: not one of yours", in->access_key);
    out->updated = n;
    out->has.updated = true;
    return 0;
}

/* -- before anybody is known ----------------------------------------------------------------------- */
int auth_fixed_users_mode (struct call *c, const struct auth_fixed_users_mode_in *in,
                           struct auth_fixed_users_mode_out *out, struct error *err)
{
    (void)c;
    (void)in;
    (void)err;
    out->guest = TEXT ("{\"enabled\":false}");
    out->server_errors = TEXT ("{}");
    return 0;
}

int login_supported_modes (struct call *c, const struct login_supported_modes_in *in,
                           struct login_supported_modes_out *out, struct error *err)
{
    (void)in;
    (void)err;
    out->authenticated = c->who.user != NULL;
    out->basic = TEXT ("{\"enabled\":false,\"guest\":{\"enabled\":false}}");
    out->sso = TEXT ("{}");
    out->sso_providers = TEXT ("[]");
    out->server_errors = TEXT ("{\"missed_es_upgrade\":false,\"es_connection_error\":false}");
    return 0;
}

int x_login_create (struct call *c, const struct x_login_create_in *in, struct x_login_create_out *out,
                    struct error *err)
{
    (void)in;
    (void)err;
    out->code = auth_code_create (c->arena, c->facts->volatiles, c->who.company, c->who.user);
    return 0;
}

/* Of two that redeem the same code at once only one gets it: the entry can be dropped only once. */
int x_login_redeem (struct call *c, const struct x_login_redeem_in *in, struct x_login_redeem_out *out,
                    struct error *err)
{
    char hex[2 * DIGEST_SHA256 + 1];
    cleanup_rows struct rows rows = { 0 };
    const char *key, *user;
    struct text kept;
    struct identity who = { .company = c->facts->company, .page = true };
    int rc;

    digest_sha256_hex (text_of (in->code), hex);
    key = arena_printf (c->arena, "code/%s/%s", c->facts->company, hex);
    if (!volatile_get (c->facts->volatiles, c->arena, key, &kept) ||
        !volatile_drop (c->facts->volatiles, key))
        return error_set (err, ERR_INVALID_CREDENTIALS,
                          "this code was used before or is too old: ask the server for a new link");
    user = arena_text (c->arena, kept);
    if (db_query (c->db, &sql_auth_user_get, &rows, err, V_STR (who.company), V_STR (user)) < 0 ||
        (rc = db_next (&rows, err)) < 0)
        return -1;
    if (!rc)
        return error_set (err, ERR_INVALID_CREDENTIALS, "the user of this code is gone");
    who.user = user;
    who.user_name = row_str (&rows, 1, c->arena);
    who.role = row_str (&rows, 5, c->arena);
    who.company_name = row_str (&rows, 8, c->arena);
    out->user = who.user;
    out->name = who.user_name;
    out->role = who.role;
    c->set_cookie = auth_token (c->arena, c->facts, &who, c->now, AUTH_PAGE_TTL_S);
    return 0;
}
