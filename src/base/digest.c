/* digest.c - see digest.h. */
#include "base/digest.h"

#include <errno.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/rand.h>
#include <stdio.h>
#include <stdlib.h>

static void must (int ok)
{
    if (ok != 1) {
        fputs ("stoker: the cryptography library failed\n", stderr);
        abort ();
    }
}

void digest_sha256 (struct text in, unsigned char out[DIGEST_SHA256])
{
    must (EVP_Digest (in.p ? in.p : "", in.n, out, NULL, EVP_sha256 (), NULL));
}

void digest_md5 (struct text in, unsigned char out[DIGEST_MD5])
{
    must (EVP_Digest (in.p ? in.p : "", in.n, out, NULL, EVP_md5 (), NULL));
}

void digest_hmac_sha256 (struct text key, struct text in, unsigned char out[DIGEST_SHA256])
{
    unsigned n = DIGEST_SHA256;

    must (HMAC (EVP_sha256 (), key.p ? key.p : "", (int)key.n, (const unsigned char *)(in.p ? in.p : ""),
                in.n, out, &n) != NULL);
}

void digest_hex (const unsigned char *p, size_t n, char *out)
{
    static const char digits[] = "0123456789abcdef";

    for (size_t i = 0; i < n; i++) {
        out[2 * i] = digits[p[i] >> 4];
        out[2 * i + 1] = digits[p[i] & 15];
    }
    out[2 * n] = 0;
}

void digest_md5_hex (struct text in, char out[2 * DIGEST_MD5 + 1])
{
    unsigned char raw[DIGEST_MD5];

    digest_md5 (in, raw);
    digest_hex (raw, sizeof (raw), out);
}

void digest_sha256_hex (struct text in, char out[2 * DIGEST_SHA256 + 1])
{
    unsigned char raw[DIGEST_SHA256];

    digest_sha256 (in, raw);
    digest_hex (raw, sizeof (raw), out);
}

char *digest_mark (struct arena *a, const char *secret)
{
    char hex[2 * DIGEST_SHA256 + 1];

    if (!secret || !*secret)
        return NULL;
    digest_sha256_hex (text_of (secret), hex);
    return arena_strndup (a, hex, 16);
}

void digest_random (void *p, size_t n)
{
    must (RAND_bytes (p, (int)n));
}

bool digest_equal (const void *a, const void *b, size_t n)
{
    return CRYPTO_memcmp (a, b, n) == 0;
}

int digest_scrypt (struct text password, struct text salt, unsigned char out[32], struct error *err)
{
    const uint64_t cost = 1u << 15, memory = 64u << 20;

    if (EVP_PBE_scrypt (password.p, password.n, (const unsigned char *)salt.p, salt.n, cost, 8, 1, memory,
                        out, 32) != 1)
        return error_set (err, ENOMEM, "scrypt: not enough memory");
    return 0;
}

static void encode (struct str *s, const unsigned char *p, size_t n, const char *alphabet, bool pad)
{
    for (size_t i = 0; i < n; i += 3) {
        unsigned v = (unsigned)p[i] << 16 | (i + 1 < n ? p[i + 1] : 0u) << 8 | (i + 2 < n ? p[i + 2] : 0u);
        char out[4] = { alphabet[v >> 18], alphabet[v >> 12 & 63], alphabet[v >> 6 & 63], alphabet[v & 63] };
        size_t k = n - i >= 3 ? 4 : n - i + 1;

        str_add (s, out, k);
        if (pad)
            str_add (s, "==", 4 - k);
    }
}

#define LETTERS "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"

void digest_base64 (struct str *s, const void *p, size_t n)
{
    encode (s, p, n, LETTERS "+/", true);
}

void digest_base64url (struct str *s, const void *p, size_t n)
{
    encode (s, p, n, LETTERS "-_", false);
}

static int digit (char c)
{
    if (c >= 'A' && c <= 'Z')
        return c - 'A';
    if (c >= 'a' && c <= 'z')
        return c - 'a' + 26;
    if (c >= '0' && c <= '9')
        return c - '0' + 52;
    if (c == '+' || c == '-')
        return 62;
    return c == '/' || c == '_' ? 63 : -1;
}

int digest_base64_decode (struct arena *a, struct text in, struct text *ret, struct error *err)
{
    char *out = arena_alloc (a, in.n / 4 * 3 + 4);
    size_t n = 0, pads = 0;
    uint32_t v = 0;

    while (pads < 2 && in.n && in.p[in.n - 1] == '=')
        in.n--, pads++;
    if (in.n % 4 == 1 || (pads && (in.n + pads) % 4))
        return error_set (err, EINVAL, "base64: cut short");
    for (size_t i = 0; i < in.n; i++) {
        int d = digit (in.p[i]);

        if (d < 0)
            return error_set (err, EINVAL, "base64: byte %zu is no digit of it", i);
        v = v << 6 | (uint32_t)d;
        if (i % 4)
            out[n++] = (char)(v >> (6 - i % 4 * 2));
    }
    *ret = (struct text){ out, n };
    return 0;
}

struct digest_stream {
    EVP_MD_CTX *md;
};

struct digest_stream *digest_stream_create (void)
{
    struct digest_stream *d = calloc (1, sizeof (*d));

    must (d != NULL);
    must ((d->md = EVP_MD_CTX_new ()) != NULL);
    must (EVP_DigestInit_ex (d->md, EVP_sha256 (), NULL));
    return d;
}

void digest_stream_add (struct digest_stream *d, const void *p, size_t n)
{
    must (EVP_DigestUpdate (d->md, p, n));
}

void digest_stream_done (struct digest_stream *d, unsigned char out[DIGEST_SHA256])
{
    if (!d)
        return;
    must (EVP_DigestFinal_ex (d->md, out, NULL));
    EVP_MD_CTX_free (d->md);
    free (d);
}
