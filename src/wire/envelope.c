/* envelope.c - what every answer is wrapped in: {"meta":{...},"data":{...}}. */
#include "wire/errors.h"
#include "wire/wire.h"

#include <stdio.h>
#include <stdlib.h>

/* Old clients (asking below 2.1) read versions as numbers. */
static void put_version (struct str *s, struct text version, bool number)
{
    char z[32];

    if (!number) {
        str_add_json (s, version.p, version.n);
        return;
    }
    memcpy (z, version.p, version.n < sizeof (z) ? version.n : sizeof (z) - 1);
    z[version.n < sizeof (z) ? version.n : sizeof (z) - 1] = 0;
    str_add_double (s, strtod (z, NULL));
}

void wire_envelope (struct str *s, const struct wire_meta *m, struct text data)
{
    bool number = m->requested_version < 2001;
    char actual[32];

    str_puts (s, "{\"meta\":{\"id\":");
    json_put_string (s, m->id);
    str_puts (s, ",\"trx\":");
    json_put_string (s, m->trx ? m->trx : m->id);
    str_puts (s, ",\"endpoint\":{\"name\":");
    str_add_json (s, m->name.p ? m->name.p : "", m->name.n);
    str_puts (s, ",\"requested_version\":");
    put_version (s, m->requested, number);
    str_puts (s, ",\"actual_version\":");
    if (m->call) {
        snprintf (actual, sizeof (actual), "%d.%d", m->call->version / 1000, m->call->version % 1000);
        put_version (s, text_of (actual), number);
    } else {
        str_puts (s, "null");
    }
    str_puts (s, "},\"result_code\":");
    str_add_int (s, m->code ? WIRE_STATUS (m->code) : 200);
    str_puts (s, ",\"result_subcode\":");
    str_add_int (s, WIRE_SUBCODE (m->code));
    str_puts (s, ",\"result_msg\":");
    json_put_string (s, m->code ? (m->message ? m->message : "") : "OK");
    str_puts (s, ",\"error_stack\":null,\"error_data\":{}},\"data\":");
    str_add_text (s, data.p && data.n ? data : TEXT ("{}"));
    str_putc (s, '}');
}
