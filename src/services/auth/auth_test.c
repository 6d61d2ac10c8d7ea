/* auth_test.c - who comes in and who does not: the first start, keys, tokens, revocation, codes; against a real store. */
#include "base/unit.h"

#include "api/auth.api.h"
#include "api/login.api.h"
#include "api/x_login.api.h"
#include "base/clock.h"
#include "base/digest.h"
#include "services/auth/auth.h"
#include "sql/sql.h"
#include "store/store.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static char folder[] = "/tmp/stoker-auth-XXXXXX";
static struct store *store;
static struct volatile_store *volatiles;
static struct auth *auth;
static struct arena *arena;
static struct auth_start started;
static struct server_facts facts;
static struct error err;

/* -- a call as the server makes it: handler, commit, effects ------------------------------------------ */
struct run {
    int (*fn) (struct call *c, const void *in, void *out, struct error *err);
    struct call call;
    const void *in;
    void *out;
};
static int run_one (struct db *db, void *arg, struct error *e)
{
    struct run *r = arg;

    r->call.db = db;
    return r->fn (&r->call, r->in, r->out, e);
}
static int run (struct run *r, const struct identity *who)
{
    int rc;

    r->call.arena = arena;
    r->call.facts = &facts;
    r->call.who = *who;
    r->call.now = clock_now ();
    rc = store_write_wait (store, run_one, r, &err);
    for (struct effect *e = r->call.effects; rc == 0 && e; e = e->next)
        auth_effect (auth, e);
    return rc;
}
#define CALL(name, in_, out_)                                                                                \
    (struct run)                                                                                             \
    {                                                                                                        \
        .fn = (int (*) (struct call *, const void *, void *, struct error *))name, .in = (in_),              \
        .out = (out_)                                                                                        \
    }

static int start (struct db *db, void *arg, struct error *e)
{
    return auth_start (db, arena, arg, &started, e);
}
static int load (struct db *db, void *arg, struct error *e)
{
    (void)arg;
    return auth_load (auth, db, e);
}
static int flush (struct db *db, void *arg, struct error *e)
{
    (void)arg;
    return auth_flush (auth, db, e);
}

static int flush_in_vain (struct db *db, void *arg, struct error *e)
{
    return flush (db, arg, e) < 0 ? -1 : error_set (e, EIO, "as asked");
}

static int check (const char *authorization, const char *cookie, struct identity *who)
{
    struct auth_request r = { .authorization = authorization, .cookie = cookie, .address = "10.0.0.1" };

    return auth_check (auth, arena, &facts, &r, who, &err);
}
static const char *basic (const char *access, const char *secret)
{
    struct str s = { .arena = arena };
    const char *pair = arena_printf (arena, "%s:%s", access, secret);

    str_puts (&s, "Basic ");
    digest_base64 (&s, pair, strlen (pair));
    return s.p;
}
static const char *bearer (const char *token)
{
    return arena_printf (arena, "Bearer %s", token);
}

static int set_up (void **state)
{
    struct auth_start_options o = { .bootstrap_key = "BOOTKEY:bootsecret",
                                    .bootstrap_role = "user",
                                    .now = clock_now () };
    struct store_options so = { .folder = folder, .readers = 1, .sync_off = true };

    (void)state;
    arena = arena_create ();
    if (!mkdtemp (folder) || store_open (&so, &store, &err) < 0 ||
        store_write_wait (store, start, &o, &err) < 0) {
        fprintf (stderr, "%s\n", err.text);
        return -1;
    }
    volatiles = volatile_create ();
    auth = auth_create (volatiles);
    facts = (struct server_facts){ .version = "2.3.0",
                                   .build = "",
                                   .api_version = "2.34",
                                   .company = started.company,
                                   .company_name = started.company_name,
                                   .token_secret = started.token_secret,
                                   .token_secret_n = sizeof (started.token_secret),
                                   .volatiles = volatiles };
    return store_write_wait (store, load, NULL, &err);
}

static int tear_down (void **state)
{
    (void)state;
    auth_destroy (auth);
    store_close (store);
    volatile_destroy (volatiles);
    arena_destroy (arena);
    return system (arena_printf (arena = arena_create (), "rm -rf %s", folder));
}

/* -- the tests ------------------------------------------------------------------------------------- */
static void first_start (void **state)
{
    struct auth_start before = started;
    struct auth_start_options again = { .now = clock_now () };
    struct identity who;

    (void)state;
    assert_string_equal (started.company, "d1bd92a3b039400cbafc60a7a5b1e52b");
    assert_int_equal (strlen (before.first_access), 30);
    assert_int_equal (strspn (before.first_access, "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"), 30);
    assert_int_equal (strlen (before.first_secret), 43);
    assert_int_equal (check (basic (before.first_access, before.first_secret), NULL, &who), 0);
    assert_string_equal (who.role, "admin");
    assert_string_equal (who.user, before.admin);
    assert_string_equal (who.company_name, "clearml");
    assert_int_equal (check (basic ("BOOTKEY", "bootsecret"), NULL, &who), 0);
    assert_string_equal (who.role, "user");
    /* a second start changes nothing and makes no key */
    assert_int_equal (store_write_wait (store, start, &again, &err), 0);
    assert_string_equal (started.server_uuid, before.server_uuid);
    assert_memory_equal (started.token_secret, before.token_secret, 32);
    assert_string_equal (started.admin, before.admin);
    assert_null (started.first_access);
    /* another bootstrap role and secret take the place of the old */
    struct auth_start_options other = { "BOOTKEY:othersecret", "root", clock_now () };
    assert_int_equal (store_write_wait (store, start, &other, &err), 0);
    assert_int_equal (store_write_wait (store, load, NULL, &err), 0);
    assert_int_equal (check (basic ("BOOTKEY", "bootsecret"), NULL, &who), -1);
    assert_int_equal (check (basic ("BOOTKEY", "othersecret"), NULL, &who), 0);
    assert_string_equal (who.role, "root");
    static const char *const bad[][2] = {
        { "nocolon", NULL }, { "A:longenough", NULL }, { "ABC:short", NULL }, { "ABC:longenough", "king" }
    };
    for (size_t i = 0; i < 4; i++) {
        struct auth_start_options o = { bad[i][0], bad[i][1], clock_now () };
        assert_int_equal (store_write_wait (store, start, &o, &err), -1);
        assert_non_null (strstr (err.text, "STOKER_BOOTSTRAP_"));
        assert_null (strstr (err.text, "longenough"));
    }
    started = before;
}

static void headers (void **state)
{
    static const struct {
        const char *header;
        int code;
    } rows[] = { { NULL, ERR_NO_CREDENTIALS },
                 { "basic Qk9PVA==", ERR_BAD_AUTH_TYPE },
                 { "Digest x", ERR_BAD_AUTH_TYPE },
                 { "", ERR_BAD_AUTH_TYPE },
                 { "Basic !!!", ERR_BAD_CREDENTIALS },
                 { "Basic ", ERR_BAD_CREDENTIALS },
                 { "Basic YWJj", ERR_BAD_CREDENTIALS }, /* no colon */
                 { "Basic YWJjOmRlZg==", ERR_INVALID_CREDENTIALS },
                 { "Bearer x", ERR_INVALID_TOKEN },
                 { "Bearer ", ERR_INVALID_TOKEN } };
    struct identity who;

    (void)state;
    for (size_t i = 0; i < sizeof (rows) / sizeof (*rows); i++) {
        assert_int_equal (check (rows[i].header, NULL, &who), -1);
        assert_int_equal (err.code, rows[i].code);
    }
    assert_int_equal (check (basic (started.first_access, "wrong"), NULL, &who), -1);
    assert_int_equal (err.code, ERR_INVALID_CREDENTIALS);
}

static struct identity admin (void)
{
    struct identity who;

    assert_int_equal (check (basic (started.first_access, started.first_secret), NULL, &who), 0);
    return who;
}

static const char *login (const struct identity *who, int64_t ttl)
{
    struct auth_login_in in = { .expiration_sec = ttl };
    struct auth_login_out out = { 0 };
    struct run r = CALL (auth_login, &in, &out);

    assert_int_equal (run (&r, who), 0);
    assert_ptr_equal (r.call.set_cookie, out.token);
    return out.token;
}

static void tokens (void **state)
{
    struct identity who, me = admin ();
    const char *token = login (&me, 0);
    struct text claims;
    struct auth_login_in in = { .expiration_sec = 31536001 };
    struct auth_login_out out = { 0 };
    struct run r = CALL (auth_login, &in, &out);

    (void)state;
    assert_int_equal (check (bearer (token), NULL, &who), 0);
    assert_string_equal (who.user, me.user);
    assert_string_equal (who.role, "admin");
    assert_string_equal (who.user_name, "admin");
    assert_string_equal (who.key, started.first_access);
    assert_int_equal (strlen (who.session), 32);
    assert_true (llabs (who.expires - clock_now () / 1000 - 2592000) < 60);
    assert_false (who.cookie);
    assert_int_equal (check (NULL, token, &who), 0);
    assert_true (who.cookie && !who.page);
    assert_int_equal (check ("Basic YWJjOmRlZg==", token, &who), -1); /* the header wins */
    assert_int_equal (run (&r, &me), -1);
    assert_int_equal (err.code, ERR_VALIDATION);
    /* the claims that clients read */
    const char *dot = strchr (token, '.');
    assert_int_equal (
        digest_base64_decode (arena, (struct text){ dot + 1, (size_t)(strrchr (token, '.') - dot) - 1 },
                              &claims, &err),
        0);
    assert_int_equal (json_check (claims, &claims, &err), 0);
    assert_true (json_string_is (json_get (claims, "auth_type"), "Bearer"));
    assert_true (json_string_is (json_get (claims, "feature_set"), "basic"));
    assert_true (json_string_is (json_get (claims, "api_version"), "2.34"));
    assert_true (json_string_is (json_get (claims, "server_version"), "2.3.0"));
    assert_true (json_int (json_get (claims, "exp"), 0) - json_int (json_get (claims, "iat"), 0) == 2592000);
    /* system has no end */
    struct identity sys = me;
    sys.role = "system";
    assert_int_equal (check (bearer (login (&sys, 0)), NULL, &who), 0);
    assert_int_equal (who.expires, 0);
}

static void forged (void **state)
{
    struct identity who, me = admin ();
    char *token = arena_strdup (arena, login (&me, 60));
    struct str none = { .arena = arena };
    unsigned char other[32] = { 1 };
    struct server_facts not_us = facts;

    (void)state;
    for (size_t i = 0; i < strlen (token) - 1; i += 7) { /* the last digit of base64 has spare bits */
        char kept = token[i];
        token[i] = kept == 'A' ? 'B' : 'A';
        assert_int_equal (check (bearer (token), NULL, &who), -1);
        assert_int_equal (err.code, ERR_INVALID_TOKEN);
        token[i] = kept;
    }
    assert_int_equal (check (bearer (token), NULL, &who), 0);
    digest_base64url (&none, "{\"alg\":\"none\"}", 14);
    str_puts (&none, strchr (token, '.'));
    assert_int_equal (check (bearer (none.p), NULL, &who), -1);
    strrchr (none.p, '.')[1] = 0;
    assert_int_equal (check (bearer (none.p), NULL, &who), -1);
    not_us.token_secret = other;
    assert_int_equal (check (bearer (auth_token (arena, &not_us, &me, clock_now (), 60)), NULL, &who), -1);
    assert_int_equal (check (bearer (auth_token (arena, &facts, &me, clock_now () - 61000, 60)), NULL, &who),
                      -1);
    assert_int_equal (err.code, ERR_INVALID_TOKEN);
    assert_non_null (strstr (err.text, "expired"));
}

/* A token that was seen before: the same answer, no other token in its name, and none after its end. */
static void remembered (void **state)
{
    struct identity first, who, me = admin ();
    char *token;

    (void)state;
    me.page = true;
    me.key = NULL;
    me.session = "0123456789abcdef0123456789abcdef";
    token = auth_token (arena, &facts, &me, clock_now (), 60);
    assert_int_equal (check (bearer (token), NULL, &first), 0);
    assert_int_equal (check (bearer (token), NULL, &who), 0);
    assert_string_equal (who.company, first.company);
    assert_string_equal (who.company_name, first.company_name);
    assert_string_equal (who.user, first.user);
    assert_string_equal (who.user_name, first.user_name);
    assert_string_equal (who.role, first.role);
    assert_string_equal (who.session, me.session);
    assert_null (who.key);
    assert_true (who.page && !who.cookie);
    assert_int_equal (who.expires, first.expires);
    assert_int_equal (check (NULL, token, &who), 0);
    assert_true (who.cookie);
    for (size_t i = 0; i < strlen (token) - 1; i += 5) {
        char kept = token[i];
        token[i] = kept == 'A' ? 'B' : 'A';
        assert_int_equal (check (bearer (token), NULL, &who), -1);
        token[i] = kept;
    }
    assert_int_equal (check (bearer (token), NULL, &who), 0);
    clock_turn (61000);
    assert_int_equal (check (bearer (token), NULL, &who), -1);
    assert_non_null (strstr (err.text, "expired"));
    clock_turn (-61000);
}

static void log_out (void **state)
{
    struct identity who, other, me = admin ();
    const char *token = login (&me, 0), *second = login (&me, 0);
    struct auth_logout_in in = { 0 };
    struct auth_logout_out out = { 0 };
    struct run r = CALL (auth_logout, &in, &out);

    (void)state;
    assert_int_equal (check (bearer (token), NULL, &who), 0);
    assert_int_equal (run (&r, &who), 0);
    assert_string_equal (r.call.set_cookie, "");
    assert_int_equal (check (bearer (token), NULL, &who), -1);
    assert_int_equal (err.code, ERR_INVALID_TOKEN);
    assert_int_equal (check (bearer (second), NULL, &other), 0);
    /* also after a restart */
    auth_destroy (auth);
    auth = auth_create (volatiles);
    assert_int_equal (store_write_wait (store, load, NULL, &err), 0);
    assert_int_equal (check (bearer (token), NULL, &who), -1);
    assert_int_equal (check (bearer (second), NULL, &other), 0);
}

static void keys (void **state)
{
    struct identity who, me = admin ();
    struct auth_create_credentials_in in = { .label = "laptop" };
    struct auth_create_credentials_out out = { 0 };
    struct run r = CALL (auth_create_credentials, &in, &out);
    struct auth_get_credentials_in list_in = { 0 };
    struct auth_get_credentials_out list = { 0 };
    struct run l = CALL (auth_get_credentials, &list_in, &list);
    const char *token;

    (void)state;
    assert_int_equal (run (&r, &me), 0);
    assert_int_equal (check (basic (out.credentials->access_key, out.credentials->secret_key), NULL, &who),
                      0);
    assert_string_equal (who.user, me.user);
    assert_string_equal (who.role, "admin");
    token = login (&who, 0);
    assert_int_equal (run (&l, &me), 0);
    assert_int_equal (list.credentials.n, 2);
    assert_string_equal (list.credentials.v[1].label, "laptop");
    assert_string_equal (list.credentials.v[1].last_used_from, "10.0.0.1");
    assert_null (strchr (list.credentials.v[1].last_used, '+'));
    /* written down, and still there when memory is lost */
    assert_int_equal (store_write_wait (store, flush_in_vain, NULL, &err), -1);
    assert_int_equal (err.code, EIO);
    assert_int_equal (store_write_wait (store, flush, NULL, &err), 0);
    auth_flushed (auth);
    volatile_drop (volatiles, arena_printf (arena, "key_used/%s", out.credentials->access_key));
    list.credentials.n = 0;
    assert_int_equal (run (&l, &me), 0);
    assert_string_equal (list.credentials.v[1].last_used_from, "10.0.0.1");
    /* label */
    struct auth_edit_credentials_in edit_in = { .access_key = out.credentials->access_key, .label = "desk" };
    struct auth_edit_credentials_out edited = { 0 };
    struct run e = CALL (auth_edit_credentials, &edit_in, &edited);
    assert_int_equal (run (&e, &me), 0);
    edit_in.access_key = "x";
    assert_int_equal (run (&e, &me), -1);
    assert_int_equal (err.code, ERR_INVALID_ACCESS_KEY);
    /* revoked: the key and the tokens it made are closed */
    struct auth_revoke_credentials_in revoke_in = { .access_key = out.credentials->access_key };
    struct auth_revoke_credentials_out revoked = { 0 };
    struct run v = CALL (auth_revoke_credentials, &revoke_in, &revoked);
    assert_int_equal (check (bearer (token), NULL, &who), 0);
    assert_int_equal (run (&v, &me), 0);
    assert_int_equal (revoked.revoked, 1);
    assert_int_equal (check (bearer (token), NULL, &who), -1);
    assert_int_equal (check (basic (out.credentials->access_key, out.credentials->secret_key), NULL, &who),
                      -1);
    assert_int_equal (run (&v, &me), -1);
    assert_int_equal (err.code, ERR_INVALID_USER);
    revoke_in.access_key = "BOOTKEY"; /* somebody else's */
    assert_int_equal (run (&v, &me), -1);
}

static void codes (void **state)
{
    struct identity nobody = { 0 }, who;
    struct x_login_redeem_in in = { .code =
                                        auth_code_create (arena, volatiles, facts.company, started.admin) };
    struct x_login_redeem_out out = { 0 };
    struct run r = CALL (x_login_redeem, &in, &out);

    (void)state;
    assert_int_equal (run (&r, &nobody), 0);
    assert_string_equal (out.role, "admin");
    assert_int_equal (check (NULL, r.call.set_cookie, &who), 0);
    assert_true (who.cookie && who.page && !who.key);
    assert_string_equal (who.user, started.admin);
    /* renewed when used, not at once */
    assert_null (auth_cookie_renew (arena, &facts, &who, clock_now ()));
    struct identity later;
    const char *renewed = auth_cookie_renew (arena, &facts, &who, clock_now () + 2 * 3600 * 1000);
    assert_int_equal (check (NULL, renewed, &later), 0);
    assert_string_equal (later.session, who.session);
    assert_true (later.expires > who.expires);
    /* once */
    assert_int_equal (run (&r, &nobody), -1);
    assert_int_equal (err.code, ERR_INVALID_CREDENTIALS);
    in.code = "guessed";
    assert_int_equal (run (&r, &nobody), -1);
    in.code = auth_code_create (arena, volatiles, facts.company, "gone");
    assert_int_equal (run (&r, &nobody), -1);
}

static void roles (void **state)
{
    struct wire_call admin_only = { .name = "x.y", .access = WIRE_ADMIN }, any = { .name = "x.z" };
    struct identity user = { .role = "user" }, root = { .role = "root" }, nobody = { 0 };

    (void)state;
    assert_int_equal (auth_allow (&admin_only, &root, &err), 0);
    assert_int_equal (auth_allow (&admin_only, &user, &err), -1);
    assert_int_equal (err.code, ERR_ROLE_NOT_ALLOWED);
    assert_int_equal (auth_allow (&admin_only, &nobody, &err), -1);
    assert_int_equal (auth_allow (&any, &user, &err), 0);
}

int main (void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test (first_start), cmocka_unit_test (headers),
                                        cmocka_unit_test (tokens),      cmocka_unit_test (forged),
                                        cmocka_unit_test (remembered),  cmocka_unit_test (log_out),
                                        cmocka_unit_test (keys),        cmocka_unit_test (codes),
                                        cmocka_unit_test (roles) };

    return cmocka_run_group_tests (tests, set_up, tear_down);
}
