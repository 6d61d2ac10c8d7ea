/* calls.c - what this server is: server.info, debug. */
#include "api/debug.api.h"
#include "api/server.api.h"
#include "services/call.h"
#include "sql/sql.h"
#include "store/store.h"

/* Our own calls by the name behind x_<noun>., each with the version it has reached: clients look here before they use
 * one. Taken from the table of calls, so that it cannot say what is not so. */
static struct text features (struct arena *a)
{
    struct str s = { .arena = a };

    str_putc (&s, '{');
    for (size_t i = 0; i < wire_calls_n; i++) {
        if (strncmp (wire_calls[i].name, "x_", 2) != 0)
            continue;
        json_put_key (&s, strchr (wire_calls[i].name, '.') + 1);
        str_add_int (&s, wire_calls[i].version / 1000);
    }
    str_putc (&s, '}');
    return str_text (&s);
}

int server_info (struct call *c, const struct server_info_in *in, struct server_info_out *out,
                 struct error *err)
{
    (void)in;
    (void)err;
    out->version = c->facts->version;
    out->build = c->facts->build;
    out->commit = c->facts->commit;
    out->api_version = c->facts->api_version;
    out->x_features = features (c->arena);
    out->x_files_url = c->facts->files_url;
    return 0;
}

int debug_ping (struct call *c, const struct debug_ping_in *in, struct debug_ping_out *out, struct error *err)
{
    (void)c;
    (void)in;
    (void)err;
    out->msg = "Stoker";
    return 0;
}
