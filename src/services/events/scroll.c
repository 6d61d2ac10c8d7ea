/* scroll.c - see scroll.h: base64url (header) . base64url (state) . base64url (HMAC-SHA256 of both, kind and company). */
#include "services/events/scroll.h"

#include "base/digest.h"
#include "base/json.h"
#include "base/str.h"

/* Append the signature of what stands before the second dot. */
static void put_signature (struct call *c, struct str *s, const char *kind, struct text signed_part)
{
    const struct text secret = { (const char *)c->facts->token_secret, c->facts->token_secret_n };
    struct str all = { .arena = c->arena };
    unsigned char mac[DIGEST_SHA256];

    str_addf (&all, "scroll/%s/%s/", kind, c->who.company ? c->who.company : "");
    str_add_text (&all, signed_part);
    digest_hmac_sha256 (secret, str_text (&all), mac);
    digest_base64url (s, mac, sizeof (mac));
}

char *scroll_make (struct call *c, const char *kind, struct text state)
{
    static const char head[] = "{\"alg\":\"HS256\",\"typ\":\"JWT\"}";
    struct str s = { .arena = c->arena }, mac = { .arena = c->arena };

    digest_base64url (&s, head, sizeof (head) - 1);
    str_putc (&s, '.');
    digest_base64url (&s, state.p, state.n);
    put_signature (c, &mac, kind, str_text (&s));
    str_putc (&s, '.');
    str_add_text (&s, str_text (&mac));
    return s.p;
}

int scroll_open (struct call *c, const char *kind, const char *scroll_id, struct text *ret, struct error *err)
{
    const char *first = strchr (scroll_id, '.'), *second = first ? strchr (first + 1, '.') : NULL;
    struct str want = { .arena = c->arena };
    struct text state;

    if (second) {
        put_signature (c, &want, kind, (struct text){ scroll_id, (size_t)(second - scroll_id) });
        state = (struct text){ first + 1, (size_t)(second - first - 1) };
        if (want.n == strlen (second + 1) && digest_equal (want.p, second + 1, want.n) &&
            digest_base64_decode (c->arena, state, &state, err) == 0 && json_check (state, ret, err) == 0)
            return 0;
    }
    return error_set (err, ERR_INVALID_SCROLL_ID,
                      "field scroll_id: not an id of this call; leave it out to start anew");
}
