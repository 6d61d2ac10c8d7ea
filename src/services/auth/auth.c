/* auth.c - all keys and revoked sessions in memory, and the check of a request's credentials against them. See auth.h.
 *
 * Keys hang in a hash table by access key. The lock is held for look-ups only; texts of an identity are copied into
 * the request's arena, so that a key may be removed while its request runs on.
 */
#include "services/auth/auth.h"

#include "base/clock.h"
#include "base/digest.h"
#include "base/json.h"
#include "services/auth/known.h"
#include "sql/sql.h"
#include "store/store.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum { BUCKETS = 1024 };

struct key {
    struct key *next;
    char *access, *company, *company_name, *user, *user_name, *role;
    unsigned char secret[DIGEST_SHA256]; /* hash of it */
    int64_t used;                        /* ms, 0 = not since the start */
    char used_from[64];
    int64_t flushed; /* `used` as auth_flush wrote it last */
    bool unwritten;  /* `used` is newer than what the database says */
};
struct session {
    struct session *next;
    int64_t until; /* s */
    char id[];
};
struct auth {
    pthread_rwlock_t lock;
    struct volatile_store *volatiles;
    struct known *tokens;
    struct key *keys[BUCKETS];
    struct session *sessions[BUCKETS]; /* revoked */
};

static size_t bucket (const char *s)
{
    uint32_t h = 2166136261u;

    for (; *s; s++)
        h = (h ^ (unsigned char)*s) * 16777619u;
    return h % BUCKETS;
}

static void key_free (struct key *k)
{
    if (!k)
        return;
    free (k->access);
    free (k->company);
    free (k->company_name);
    free (k->user);
    free (k->user_name);
    free (k->role);
    free (k);
}

struct auth *auth_create (struct volatile_store *volatiles)
{
    struct auth *a = calloc (1, sizeof (*a));

    if (!a)
        abort ();
    pthread_rwlock_init (&a->lock, NULL);
    a->volatiles = volatiles;
    a->tokens = known_create ();
    return a;
}

void auth_destroy (struct auth *a)
{
    if (!a)
        return;
    for (size_t i = 0; i < BUCKETS; i++) {
        for (struct key *k = a->keys[i], *next; k; k = next) {
            next = k->next;
            key_free (k);
        }
        for (struct session *s = a->sessions[i], *next; s; s = next) {
            next = s->next;
            free (s);
        }
    }
    known_destroy (a->tokens);
    pthread_rwlock_destroy (&a->lock);
    free (a);
}

static struct key **key_place (struct auth *a, const char *access)
{
    struct key **p = &a->keys[bucket (access)];

    while (*p && strcmp ((*p)->access, access) != 0)
        p = &(*p)->next;
    return p;
}

static char *copy (struct text t)
{
    char *p = strndup (t.p ? t.p : "", t.n);

    if (!p)
        abort ();
    return p;
}

/* The key replaces one of the same name. */
static void key_add (struct auth *a, struct key *k)
{
    struct key **p, *old;

    pthread_rwlock_wrlock (&a->lock);
    p = key_place (a, k->access);
    old = *p;
    k->next = old ? old->next : NULL;
    *p = k;
    pthread_rwlock_unlock (&a->lock);
    key_free (old);
}

static void key_remove (struct auth *a, const char *access)
{
    struct key **p, *old;

    pthread_rwlock_wrlock (&a->lock);
    p = key_place (a, access);
    old = *p;
    if (old)
        *p = old->next;
    pthread_rwlock_unlock (&a->lock);
    key_free (old);
}

static void session_revoke (struct auth *a, const char *id, int64_t until)
{
    struct session **p = &a->sessions[bucket (id)], *s = calloc (1, sizeof (*s) + strlen (id) + 1);
    int64_t now = clock_now () / 1000;

    if (!s)
        abort ();
    strcpy (s->id, id);
    s->until = until;
    pthread_rwlock_wrlock (&a->lock);
    while (*p) { /* those of this bucket whose tokens are over go now */
        struct session *old = *p;

        if (old->until >= now) {
            p = &old->next;
            continue;
        }
        *p = old->next;
        free (old);
    }
    *p = s;
    pthread_rwlock_unlock (&a->lock);
}

static bool session_revoked (const struct auth *a, const char *id)
{
    for (const struct session *s = a->sessions[bucket (id)]; s; s = s->next)
        if (!strcmp (s->id, id))
            return true;
    return false;
}

static int load_keys (struct auth *a, struct db *db, struct error *err)
{
    cleanup_rows struct rows rows = { 0 };
    int rc;

    if (db_query (db, &sql_auth_keys, &rows, err) < 0)
        return -1;
    while ((rc = db_next (&rows, err)) > 0) {
        struct text secret = row_text (&rows, 1);
        struct key *k = calloc (1, sizeof (*k));

        if (!k)
            abort ();
        if (secret.n == sizeof (k->secret))
            memcpy (k->secret, secret.p, secret.n);
        k->access = copy (row_text (&rows, 0));
        k->company = copy (row_text (&rows, 2));
        k->company_name = copy (row_text (&rows, 3));
        k->user = copy (row_text (&rows, 4));
        k->user_name = copy (row_text (&rows, 5));
        k->role = copy (row_text (&rows, 6));
        key_add (a, k);
    }
    return rc;
}

int auth_load (struct auth *a, struct db *db, struct error *err)
{
    cleanup_rows struct rows rows = { 0 };
    int rc;

    if (load_keys (a, db, err) < 0 || db_query (db, &sql_auth_sessions_revoked, &rows, err) < 0)
        return error_wrap (err, "load keys");
    while ((rc = db_next (&rows, err)) > 0) {
        char *id = copy (row_text (&rows, 0));

        session_revoke (a, id, row_int (&rows, 1));
        free (id);
    }
    return rc;
}

/* -- the check ------------------------------------------------------------------------------------- */
/* Remembered at most once a second, so that a busy key costs nothing. */
static bool key_note_use (struct key *k, const char *from)
{
    int64_t now = clock_now ();

    if (now - k->used < 1000 && !strncmp (k->used_from, from, sizeof (k->used_from) - 1))
        return false;
    k->used = now;
    snprintf (k->used_from, sizeof (k->used_from), "%s", from);
    return k->unwritten = true;
}

static void key_used (struct auth *a, struct arena *arena, const char *access, const struct auth_request *r)
{
    const char *from = r->worker ? r->worker : r->address ? r->address : "untrackable";
    struct str s = { .arena = arena };
    struct key *k;
    bool noted;

    pthread_rwlock_wrlock (&a->lock);
    k = *key_place (a, access);
    noted = k && key_note_use (k, from);
    pthread_rwlock_unlock (&a->lock);
    if (!noted || !a->volatiles)
        return;
    str_addf (&s, "%lld ", (long long)clock_now ());
    str_puts (&s, from);
    volatile_put (a->volatiles, arena_printf (arena, "key_used/%s", access), str_text (&s), 600 * 1000);
}

static struct identity key_identity (const struct key *k, struct arena *arena)
{
    return (struct identity){
        .company = arena_strdup (arena, k->company),
        .company_name = arena_strdup (arena, k->company_name),
        .user = arena_strdup (arena, k->user),
        .user_name = arena_strdup (arena, k->user_name),
        .role = arena_strdup (arena, k->role),
        .key = arena_strdup (arena, k->access),
    };
}

static int check_basic (struct auth *a, struct arena *arena, const struct auth_request *r, const char *value,
                        struct identity *ret, struct error *err)
{
    static const unsigned char nothing[DIGEST_SHA256];
    unsigned char given[DIGEST_SHA256];
    struct text pair;
    const char *colon;
    const struct key *k;
    bool right;

    if (digest_base64_decode (arena, text_of (value), &pair, err) < 0 || !pair.n ||
        !(colon = memchr (pair.p, ':', pair.n)))
        return error_set (err, ERR_BAD_CREDENTIALS,
                          "Authorization: Basic wants base64 of access_key:secret_key");
    const char *access = arena_strndup (arena, pair.p, (size_t)(colon - pair.p));

    digest_sha256 ((struct text){ colon + 1, (size_t)(pair.p + pair.n - colon) - 1 }, given);
    pthread_rwlock_rdlock (&a->lock);
    k = *key_place (a, access);
    right = digest_equal (k ? k->secret : nothing, given, sizeof (given)) && k;
    if (right)
        *ret = key_identity (k, arena);
    pthread_rwlock_unlock (&a->lock);
    if (!right)
        return error_set (err, ERR_INVALID_CREDENTIALS, "no such access key and secret");
    key_used (a, arena, access, r);
    return 0;
}

/* Whom a token names that is ours and not over. */
static int read_token (struct auth *a, struct arena *arena, const struct server_facts *facts,
                       struct text token, struct identity *ret, struct error *err)
{
    int64_t now = clock_now ();

    if (known_find (a->tokens, arena, token, ret) && (!ret->expires || ret->expires > now / 1000))
        return 0;
    if (auth_token_read (arena, facts, token, now, ret, err) < 0)
        return -1;
    known_add (a->tokens, token, ret);
    return 0;
}

const char *auth_user_session (struct arena *a, const char *user)
{
    return arena_printf (a, "user/%s", user);
}

static int check_token (struct auth *a, struct arena *arena, const struct server_facts *facts,
                        const char *token, struct identity *ret, struct error *err)
{
    struct identity who;
    const char *user;
    bool revoked;

    if (read_token (a, arena, facts, text_of (token), &who, err) < 0)
        return -1;
    user = auth_user_session (arena, who.user);
    pthread_rwlock_rdlock (&a->lock);
    revoked = session_revoked (a, who.session) || session_revoked (a, user) ||
              (who.key && !*key_place (a, who.key));
    pthread_rwlock_unlock (&a->lock);
    if (revoked)
        return error_set (err, ERR_INVALID_TOKEN, "token: revoked, log in again");
    *ret = who;
    return 0;
}

int auth_check (struct auth *a, struct arena *arena, const struct server_facts *facts,
                const struct auth_request *r, struct identity *ret, struct error *err)
{
    const char *given = r->authorization;

    if (given && !strncmp (given, "Basic ", 6))
        return check_basic (a, arena, r, given + 6, ret, err);
    if (given && !strncmp (given, "Bearer ", 7))
        return check_token (a, arena, facts, given + 7, ret, err);
    if (given)
        return error_set (err, ERR_BAD_AUTH_TYPE, "Authorization: only Basic and Bearer are known");
    if (!r->cookie || !*r->cookie)
        return error_set (err, ERR_NO_CREDENTIALS, "no credentials: send an Authorization header");
    if (check_token (a, arena, facts, r->cookie, ret, err) < 0)
        return -1;
    ret->cookie = true;
    return 0;
}

static const char *const roles[] = { "system", "root",      "admin", "superuser",
                                     "user",   "annotator", "guest", NULL };
enum { ROLES_SERVER = 2, ROLES_ADMIN = 3 };

bool auth_role_valid (const char *role)
{
    for (size_t i = 0; roles[i]; i++)
        if (!strcmp (role, roles[i]))
            return true;
    return false;
}

static bool is_of_first (const char *role, size_t n)
{
    for (size_t i = 0; role && i < n; i++)
        if (!strcmp (role, roles[i]))
            return true;
    return false;
}

bool auth_role_admin (const char *role)
{
    return is_of_first (role, ROLES_ADMIN);
}

bool auth_role_may_give (const char *role, const char *given)
{
    return is_of_first (role, ROLES_SERVER) || (auth_role_admin (role) && !is_of_first (given, ROLES_SERVER));
}

int auth_allow (const struct wire_call *call, const struct identity *who, struct error *err)
{
    if (call->access != WIRE_ADMIN || auth_role_admin (who->role))
        return 0;
    return error_set (err, ERR_ROLE_NOT_ALLOWED, "%s: role %s may not; allowed are system, root, admin",
                      call->name, who->role ? who->role : "(none)");
}

/* -- after commits --------------------------------------------------------------------------------- */
/* value: {"secret": hex of the hash, "company", "company_name", "user", "user_name", "role"} */
static void effect_key_add (struct auth *a, const struct effect *e)
{
    cleanup_arena struct arena *arena = arena_create ();
    struct text v = text_of (e->value), secret = json_get (v, "secret");
    struct key *k = calloc (1, sizeof (*k));

    if (!k)
        abort ();
    for (size_t i = 0; i < sizeof (k->secret) && secret.n == 2 * sizeof (k->secret) + 2; i++) {
        char two[3] = { secret.p[1 + 2 * i], secret.p[2 + 2 * i], 0 };

        k->secret[i] = (unsigned char)strtoul (two, NULL, 16);
    }
    k->access = copy (text_of (e->key));
    k->company = copy (text_of (json_string (arena, json_get (v, "company"))));
    k->company_name = copy (text_of (json_string (arena, json_get (v, "company_name"))));
    k->user = copy (text_of (json_string (arena, json_get (v, "user"))));
    k->user_name = copy (text_of (json_string (arena, json_get (v, "user_name"))));
    k->role = copy (text_of (json_string (arena, json_get (v, "role"))));
    key_add (a, k);
}

void auth_effect (struct auth *a, const struct effect *e)
{
    switch (e->what) {
        case EFFECT_REVOKE_SESSION:
            session_revoke (a, e->key, e->number);
            return;
        case EFFECT_REVOKE_KEY:
            key_remove (a, e->key);
            return;
        case EFFECT_KEY_ADD:
            effect_key_add (a, e);
            return;
        default:
            return;
    }
}

/* The keys that were used, as they are now: the lock is not held while the database works. */
static struct key *keys_used (struct auth *a, struct arena *arena)
{
    struct key *first = NULL;

    pthread_rwlock_wrlock (&a->lock);
    for (size_t i = 0; i < BUCKETS; i++)
        for (struct key *k = a->keys[i]; k; k = k->next) {
            struct key *used;

            if (!k->unwritten)
                continue;
            k->flushed = k->used;
            used = arena_new (arena, struct key);
            used->access = arena_strdup (arena, k->access);
            used->used = k->used;
            strcpy (used->used_from, k->used_from);
            used->next = first;
            first = used;
        }
    pthread_rwlock_unlock (&a->lock);
    return first;
}

int auth_flush (struct auth *a, struct db *db, struct error *err)
{
    cleanup_arena struct arena *arena = arena_create ();

    for (const struct key *k = keys_used (a, arena); k; k = k->next)
        if (db_exec (db, &sql_auth_key_used, err, V_STR (k->access), V_INT (k->used), V_STR (k->used_from)) <
            0)
            return error_wrap (err, "note the use of keys");
    if (db_exec (db, &sql_auth_sessions_forget, err, V_INT (clock_now () / 1000)) < 0)
        return error_wrap (err, "forget sessions that are over");
    return 0;
}

void auth_flushed (struct auth *a)
{
    pthread_rwlock_wrlock (&a->lock);
    for (size_t i = 0; i < BUCKETS; i++)
        for (struct key *k = a->keys[i]; k; k = k->next)
            k->unwritten = k->unwritten && k->used != k->flushed;
    pthread_rwlock_unlock (&a->lock);
}

/* -- in another's name ----------------------------------------------------------------------------- */
int auth_impersonate (struct db *db, struct arena *arena, const char *user, bool keep_role,
                      struct identity *who, struct error *err)
{
    cleanup_rows struct rows rows = { 0 };
    int rc;

    if (!auth_role_admin (who->role))
        return error_set (err, ERR_IMPERSONATION,
                          "only administrators may call in another user's name; role=%s", who->role);
    if (db_query (db, &sql_auth_user_get, &rows, err, V_STR (who->company), V_STR (user)) < 0 ||
        (rc = db_next (&rows, err)) < 0)
        return -1;
    if (!rc)
        return error_set (err, ERR_IMPERSONATION, "user %s: no such user in this company", user);
    if (!auth_role_may_give (who->role, row_str (&rows, 5, arena)))
        return error_set (err, ERR_IMPERSONATION, "user %s has role %s, which is above yours; role=%s", user,
                          row_str (&rows, 5, arena), who->role);
    who->user = row_str (&rows, 0, arena);
    who->user_name = row_str (&rows, 1, arena);
    if (!keep_role)
        who->role = row_str (&rows, 5, arena);
    who->company_name = row_str (&rows, 8, arena);
    return 0;
}
