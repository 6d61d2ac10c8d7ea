/* auth.h - who may come in: keys, tokens, sessions, one-time codes. The door that server/ uses.
 *
 * All keys and the revoked sessions stand in memory (struct auth), loaded at the start and kept by the effects of the
 * handlers, so that no request asks the database who it is from, and no read writes: when a key was last used is kept
 * in memory and written now and then by auth_flush.
 *
 * A secret is known only as its SHA-256. A token is a JWT, HS256 and nothing else, and names the key that made it:
 * revoking the key closes its tokens at once.
 */
#pragma once
#include "services/call.h"
#include "store/volatile.h"

/* -- who is it ------------------------------------------------------------------------------------- */
struct auth;
struct auth *auth_create (struct volatile_store *volatiles); /* borrowed */
void auth_destroy (struct auth *a);
int auth_load (struct auth *a, struct db *db,
               struct error *err) warn_unused; /* all keys, all revoked sessions */

struct auth_request {          /* members NULL where the request has none */
    const char *authorization; /* the header; wins over the cookie */
    const char *cookie;        /* value of the cookie AUTH_COOKIE */
    const char *worker;        /* X-ClearML-Worker, for "last used from"; else */
    const char *address;       /* the client's address */
};
#define AUTH_COOKIE "clearml_token_basic"

/* Who asks. Texts live in the arena. Thread safe. Errors: 401/20 nothing given, /10 another scheme, /21 not
 * decodable, /22 no such key and secret, /30 bad, expired or revoked token. */
int auth_check (struct auth *a, struct arena *arena, const struct server_facts *facts,
                const struct auth_request *r, struct identity *ret, struct error *err) warn_unused;
/* May that one make this call? 403/20. (WIRE_PUBLIC and WIRE_MAYBE: everybody.) */
int auth_allow (const struct wire_call *call, const struct identity *who, struct error *err) warn_unused;

/* X-ClearML-Impersonate-As (the user with its role) and -Act-As (keep_role): `who` becomes that user of its company.
 * Only for administrators, and not in the name of one whose role is above theirs. 400/6. */
int auth_impersonate (struct db *db, struct arena *arena, const char *user, bool keep_role,
                      struct identity *who, struct error *err) warn_unused;

/* Effects EFFECT_REVOKE_SESSION, EFFECT_REVOKE_KEY, EFFECT_KEY_ADD: run after the commit. Thread safe. */
void auth_effect (struct auth *a, const struct effect *e);
/* Write when and from where keys were used since the last time. On the writer, every 30 s and at the end. */
int auth_flush (struct auth *a, struct db *db, struct error *err) warn_unused;
void auth_flushed (struct auth *a); /* what auth_flush wrote is committed */

/* A user of the caller's company is gone: keys and sessions close after the commit. */
int auth_user_end (struct call *c, const char *user, struct error *err) warn_unused;
/* The name under which all sessions of a user are revoked; no session's id is like it. */
const char *auth_user_session (struct arena *a, const char *user);

/* -- tokens ---------------------------------------------------------------------------------------- */
enum {
    AUTH_TOKEN_TTL_S = 30 * 24 * 3600,
    AUTH_TOKEN_TTL_MAX_S = 365 * 24 * 3600,
    AUTH_PAGE_TTL_S = 12 * 3600
};
#define AUTH_FOR_EVER_S INT64_C (253402300800) /* the year 10000 */

/* A signed token for `who` (company, company_name, user, user_name, role, key, session, page). ttl_s 0: without end. */
char *auth_token (struct arena *a, const struct server_facts *facts, const struct identity *who,
                  int64_t now_ms, int64_t ttl_s);
/* Signature and end are checked, revocation is not. 401/30. */
int auth_token_read (struct arena *a, const struct server_facts *facts, struct text token, int64_t now_ms,
                     struct identity *ret, struct error *err) warn_unused;
/* A page's session lives as long as it is used: a new token when an hour or more of its 12 are gone, else NULL. Call it
 * after any call that came by cookie, and set the cookie to it. */
char *auth_cookie_renew (struct arena *a, const struct server_facts *facts, const struct identity *who,
                         int64_t now_ms);

/* -- one-time codes (x_login.redeem) ---------------------------------------------------------------- */
/* A code that logs a page in as `user`, once, within ten minutes. */
char *auth_code_create (struct arena *a, struct volatile_store *volatiles, const char *company,
                        const char *user);

/* -- the first start ------------------------------------------------------------------------------- */
struct auth_start_options {
    const char *bootstrap_key;  /* STOKER_BOOTSTRAP_KEY "ACCESS:SECRET", or NULL */
    const char *bootstrap_role; /* STOKER_BOOTSTRAP_ROLE, NULL = admin */
    int64_t now;
};
struct auth_start {
    const char *company, *company_name; /* the default company */
    const char *server_uuid;
    unsigned char token_secret[32];
    const char *admin; /* user id of the first administrator, for one-time codes */
    const char *first_access,
        *first_secret; /* made by this very start, to be written to DATA/first-login; or NULL */
};
#define AUTH_COMPANY      "d1bd92a3b039400cbafc60a7a5b1e52b"
#define AUTH_COMPANY_NAME "clearml"

/* Make sure that company, server id, token secret and an administrator are there; put the bootstrap key in place
 * (its secret and role become what the options say). Inside one write. Texts live in the arena. */
int auth_start (struct db *db, struct arena *a, const struct auth_start_options *o, struct auth_start *ret,
                struct error *err) warn_unused;

/* Name of a role that exists: system root admin superuser user annotator guest. */
bool auth_role_valid (const char *role);
bool auth_role_admin (const char *role); /* system, root, admin */
/* May who has `role` make, be or delete users of role `given`? Administrators may, of system and root only those. */
bool auth_role_may_give (const char *role, const char *given);
