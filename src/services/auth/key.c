/* key.c - see key.h. */
#include "services/auth/key.h"
#include "base/digest.h"
#include "sql/sql.h"
#include "store/store.h"

/* Random letters without bias: bytes from 252 on are thrown away (36 * 7 = 252). */
static void letters (char *out, size_t n)
{
    static const char from[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
    unsigned char b;

    for (size_t i = 0; i < n;) {
        digest_random (&b, 1);
        if (b < 252)
            out[i++] = from[b % 36];
    }
}

struct auth_key auth_key_make (struct arena *a)
{
    char access[31] = { 0 };
    unsigned char raw[32];
    struct auth_key key;
    struct str secret = { .arena = a };

    letters (access, sizeof (access) - 1);
    do { /* a secret that begins with a dash would read as an option */
        str_reset (&secret);
        digest_random (raw, sizeof (raw));
        digest_base64url (&secret, raw, sizeof (raw));
    } while (secret.p[0] == '-' || secret.p[0] == '_');
    key.access = arena_strdup (a, access);
    key.secret = secret.p;
    digest_sha256 (str_text (&secret), key.hash);
    return key;
}

int auth_key_store (struct db *db, const char *company, const char *user, const struct auth_key *key,
                    const char *label, int64_t now, struct error *err)
{
    struct text hash = { (const char *)key->hash, sizeof (key->hash) };

    return db_exec (db, &sql_auth_key_add, err, V_STR (company), V_STR (user), V_STR (key->access),
                    V_BLOB (hash), V_STR (label), V_INT (now)) < 0
               ? -1
               : 0;
}
