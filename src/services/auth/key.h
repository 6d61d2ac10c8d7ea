/* key.h - making keys (inside the auth service). */
#pragma once
#include "base/arena.h"
#include "base/error.h"

#include <stdint.h>

struct db;
struct auth_key {
    const char *access;     /* 30 of A-Z 0-9 */
    const char *secret;     /* 256 random bits as base64url; never begins with - or _ */
    unsigned char hash[32]; /* SHA-256 of the secret: all that is stored */
};
struct auth_key auth_key_make (struct arena *a);
int auth_key_store (struct db *db, const char *company, const char *user, const struct auth_key *key,
                    const char *label, int64_t now, struct error *err) warn_unused; /* label may be NULL */
