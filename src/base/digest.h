/* digest.h - hashes, random bytes, base64: what OpenSSL does for us, in our terms. Nothing here fails but by a broken
 * machine, which ends the process with words. */
#pragma once
#include "base/arena.h"
#include "base/error.h"
#include "base/str.h"
#include "base/text.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { DIGEST_SHA256 = 32, DIGEST_MD5 = 16 };

void digest_sha256 (struct text in, unsigned char out[DIGEST_SHA256]);
void digest_md5 (struct text in, unsigned char out[DIGEST_MD5]);
void digest_hmac_sha256 (struct text key, struct text in, unsigned char out[DIGEST_SHA256]);
/* Lower-case hex with its NUL: 2n+1 bytes of room. */
void digest_hex (const unsigned char *p, size_t n, char *out);
void digest_md5_hex (struct text in, char out[2 * DIGEST_MD5 + 1]);
void digest_sha256_hex (struct text in, char out[2 * DIGEST_SHA256 + 1]);
/* 16 hex digits by which a secret is known without being told; NULL for none. */
char *digest_mark (struct arena *a, const char *secret);

void digest_random (void *p, size_t n);                     /* for secrets */
bool digest_equal (const void *a, const void *b, size_t n); /* takes as long wherever they differ */

/* For people's passwords: scrypt (N 2^15, r 8, p 1; 32 MB, some 100 ms: never on the writer or a loop). */
int digest_scrypt (struct text password, struct text salt, unsigned char out[32],
                   struct error *err) warn_unused;

/* base64 with padding, base64url without. Decoding takes both alphabets, padding or not, and refuses anything
 * else; the result lives in the arena. */
void digest_base64 (struct str *s, const void *p, size_t n);
void digest_base64url (struct str *s, const void *p, size_t n);
int digest_base64_decode (struct arena *a, struct text in, struct text *ret, struct error *err) warn_unused;

/* A hash of a stream: digest_stream_create, _add as often as needed, _done once (frees it; NULL is fine). */
struct digest_stream;
struct digest_stream *digest_stream_create (void); /* SHA-256 */
void digest_stream_add (struct digest_stream *d, const void *p, size_t n);
void digest_stream_done (struct digest_stream *d, unsigned char out[DIGEST_SHA256]);
