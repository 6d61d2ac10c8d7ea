/* scroll.c - see scroll.h: base64url (header) . base64url (state) . base64url (HMAC-SHA256 of both and the kind). */
#include "services/events/scroll.h"

#include "base/json.h"
#include "base/str.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>

static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

static void put_base64 (struct str *s, const void *p, size_t n)
{
    const unsigned char *b = p;

    for (size_t i = 0; i < n; i += 3) {
        unsigned v =
            (unsigned)b[i] << 16 | (i + 1 < n ? (unsigned)b[i + 1] << 8 : 0) | (i + 2 < n ? b[i + 2] : 0);

        for (size_t k = 0; k < 4 && k <= n - i; k++)
            str_putc (s, letters[v >> (18 - 6 * k) & 63]);
    }
}

static bool get_base64 (struct str *s, struct text t)
{
    unsigned v = 0, bits = 0;

    for (size_t i = 0; i < t.n; i++) {
        const char *at = t.p[i] ? strchr (letters, t.p[i]) : NULL;

        if (!at)
            return false;
        v = v << 6 | (unsigned)(at - letters);
        if ((bits += 6) >= 8)
            str_putc (s, (char)(v >> (bits -= 8) & 255));
    }
    return true;
}

/* Signature of what stands before the second dot. */
static void put_signature (struct call *c, struct str *s, const char *kind, struct text signed_part)
{
    struct str all = { .arena = c->arena };
    unsigned char mac[EVP_MAX_MD_SIZE];
    unsigned n = 0;

    str_puts (&all, "scroll/");
    str_puts (&all, kind);
    str_puts (&all, "/");
    str_puts (&all, c->who.company ? c->who.company : "");
    str_puts (&all, "/");
    str_add_text (&all, signed_part);
    HMAC (EVP_sha256 (), c->facts->token_secret, (int)c->facts->token_secret_n, (const unsigned char *)all.p,
          all.n, mac, &n);
    put_base64 (s, mac, n);
}

char *scroll_make (struct call *c, const char *kind, struct text state)
{
    static const char head[] = "{\"alg\":\"HS256\",\"typ\":\"JWT\"}";
    struct str s = { .arena = c->arena };

    put_base64 (&s, head, sizeof (head) - 1);
    str_putc (&s, '.');
    put_base64 (&s, state.p, state.n);
    {
        struct text signed_part = { arena_memdup (c->arena, s.p, s.n), s.n };

        str_putc (&s, '.');
        put_signature (c, &s, kind, signed_part);
    }
    return s.p;
}

int scroll_open (struct call *c, const char *kind, const char *scroll_id, struct text *ret, struct error *err)
{
    const char *first = strchr (scroll_id, '.'), *second = first ? strchr (first + 1, '.') : NULL;
    struct str want = { .arena = c->arena }, state = { .arena = c->arena };

    if (second) {
        put_signature (c, &want, kind, (struct text){ scroll_id, (size_t)(second - scroll_id) });
        if (want.n == strlen (second + 1) && !CRYPTO_memcmp (want.p, second + 1, want.n) &&
            get_base64 (&state, (struct text){ first + 1, (size_t)(second - first - 1) }) &&
            json_check (str_text (&state), ret, err) == 0)
            return 0;
    }
    return error_set (err, ERR_INVALID_SCROLL_ID,
                      "field scroll_id: not an id of this call; leave it out to start anew");
}
