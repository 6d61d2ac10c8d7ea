/* start.c - what must be there before anybody can come in: company, server id, token secret, an administrator with a
 * key. Run at every start inside one write; it only adds what is missing. See auth.h.
 */
#include "base/digest.h"
#include "base/id.h"
#include "services/auth/auth.h"
#include "services/auth/key.h"
#include "sql/sql.h"
#include "store/store.h"

/* A setting; where it is missing it becomes what `make` says. */
static int setting (struct db *db, struct arena *a, const char *key, const char *make, const char **ret,
                    struct error *err)
{
    cleanup_rows struct rows rows = { 0 };
    int rc;

    if (db_query (db, &sql_setting_get, &rows, err, V_STR (""), V_STR (key)) < 0 ||
        (rc = db_next (&rows, err)) < 0)
        return -1;
    if (rc) {
        *ret = row_str (&rows, 0, a);
        return 0;
    }
    rows_done (&rows);
    if (db_exec (db, &sql_setting_put, err, V_STR (""), V_STR (key), V_STR (make)) < 0)
        return -1;
    *ret = make;
    return 0;
}

static int token_secret (struct db *db, struct arena *a, unsigned char ret[32], struct error *err)
{
    unsigned char raw[32];
    struct str made = { .arena = a };
    const char *kept;
    struct text secret;

    digest_random (raw, sizeof (raw));
    digest_base64 (&made, raw, sizeof (raw));
    if (setting (db, a, "token_secret", made.p, &kept, err) < 0)
        return -1;
    if (digest_base64_decode (a, text_of (kept), &secret, err) < 0 || secret.n != sizeof (raw))
        return error_set (err, ERR_INCONSISTENT, "setting token_secret: not 32 bytes of base64");
    memcpy (ret, secret.p, sizeof (raw));
    return 0;
}

static int user_add (struct db *db, const char *id, const char *name, const char *role, int64_t now,
                     struct error *err)
{
    return db_exec (db, &sql_auth_user_add, err, V_STR (AUTH_COMPANY), V_STR (id), V_STR (name), V_STR (role),
                    V_INT (now), V_NULL ()) < 0
               ? -1
               : 0;
}

/* The user behind STOKER_BOOTSTRAP_KEY: one and the same at every start, whatever the key is by now, unless
 * somebody deleted it. */
static int bootstrap_user (struct db *db, struct arena *a, const char *role, int64_t now, const char **ret,
                           struct error *err)
{
    const char *made = arena_strdup (a, id_random ().hex), *kept;

    if (setting (db, a, "bootstrap_user", made, &kept, err) < 0)
        return -1;
    *ret = kept;
    if (kept != made) {
        int64_t n =
            db_exec (db, &sql_auth_user_set_role, err, V_STR (AUTH_COMPANY), V_STR (kept), V_STR (role));
        if (n)
            return n < 0 ? -1 : 0;
        /* deleted: another one, since the sessions of that one are closed for good */
        *ret = made;
        if (db_exec (db, &sql_setting_put, err, V_STR (""), V_STR ("bootstrap_user"), V_STR (made)) < 0)
            return -1;
    }
    return user_add (db, *ret, "bootstrap", role, now, err);
}

static int bootstrap_key (struct db *db, struct arena *a, const struct auth_start_options *o,
                          struct error *err)
{
    const char *colon = strchr (o->bootstrap_key, ':');
    const char *role = o->bootstrap_role && *o->bootstrap_role ? o->bootstrap_role : "admin";
    unsigned char hash[DIGEST_SHA256];
    const char *user, *access;

    if (!colon || colon - o->bootstrap_key < 3 || strlen (colon + 1) < 8)
        return error_set (err, ERR_INVALID_ACCESS_KEY,
                          "STOKER_BOOTSTRAP_KEY: wants ACCESS:SECRET, at least 3 and 8 characters long");
    if (!auth_role_valid (role))
        return error_set (
            err, ERR_INVALID_FIELDS,
            "STOKER_BOOTSTRAP_ROLE: %s is none of system root admin superuser user annotator guest", role);
    access = arena_strndup (a, o->bootstrap_key, (size_t)(colon - o->bootstrap_key));
    digest_sha256 (text_of (colon + 1), hash);
    if (bootstrap_user (db, a, role, o->now, &user, err) < 0)
        return -1;
    return db_exec (db, &sql_auth_key_put, err, V_STR (AUTH_COMPANY), V_STR (user), V_STR (access),
                    V_BLOB (((struct text){ (const char *)hash, sizeof (hash) })),
                    V_STR ("STOKER_BOOTSTRAP_KEY"), V_INT (o->now)) < 0
               ? -1
               : 0;
}

static int first_admin (struct db *db, struct arena *a, int64_t now, struct auth_start *ret,
                        struct error *err)
{
    struct auth_key key = auth_key_make (a);

    ret->admin = arena_strdup (a, id_random ().hex);
    if (user_add (db, ret->admin, "admin", "admin", now, err) < 0 ||
        auth_key_store (db, AUTH_COMPANY, ret->admin, &key, "first login", now, err) < 0)
        return -1;
    ret->first_access = key.access;
    ret->first_secret = key.secret;
    return 0;
}

static int admin (struct db *db, struct arena *a, int64_t now, struct auth_start *ret, struct error *err)
{
    cleanup_rows struct rows rows = { 0 };
    int rc;

    if (db_query (db, &sql_auth_first_admin, &rows, err, V_STR (AUTH_COMPANY)) < 0 ||
        (rc = db_next (&rows, err)) < 0)
        return -1;
    if (rc) {
        ret->admin = row_str (&rows, 0, a);
        return 0;
    }
    rows_done (&rows);
    return first_admin (db, a, now, ret, err);
}

int auth_start (struct db *db, struct arena *a, const struct auth_start_options *o, struct auth_start *ret,
                struct error *err)
{
    struct auth_start s = { .company = AUTH_COMPANY, .company_name = AUTH_COMPANY_NAME };

    if (db_exec (db, &sql_auth_company_add, err, V_STR (AUTH_COMPANY), V_STR (AUTH_COMPANY_NAME),
                 V_INT (o->now)) < 0 ||
        setting (db, a, "server_uuid", arena_strdup (a, id_random ().hex), &s.server_uuid, err) < 0 ||
        token_secret (db, a, s.token_secret, err) < 0 ||
        (o->bootstrap_key && bootstrap_key (db, a, o, err) < 0) || admin (db, a, o->now, &s, err) < 0)
        return error_wrap (err, "first start");
    *ret = s;
    return 0;
}
