/* calls.c - what this server is: server.info, organization, debug. */
#include "api/debug.api.h"
#include "api/organization.api.h"
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

int organization_get_user_companies (struct call *c, const struct organization_get_user_companies_in *in,
                                     struct organization_get_user_companies_out *out, struct error *err)
{
    cleanup_rows struct rows rows = { 0 };
    struct str owners = { .arena = c->arena }, s = { .arena = c->arena };
    int64_t n = 0;
    int rc;

    (void)in;
    if (db_query (c->db, &sql_auth_users, &rows, err, V_STR (c->who.company)) < 0)
        return -1;
    while ((rc = db_next (&rows, err)) > 0) {
        str_puts (&owners, n++ ? ",{\"id\":" : "{\"id\":");
        json_put_string (&owners, row_str (&rows, 0, c->arena));
        str_puts (&owners, ",\"name\":");
        json_put_string (&owners, row_str (&rows, 1, c->arena));
        str_puts (&owners, ",\"avatar\":");
        json_put_string (&owners, row_str (&rows, 2, c->arena));
        str_putc (&owners, '}');
    }
    if (rc < 0)
        return -1;
    str_puts (&s, "[{\"id\":");
    json_put_string (&s, c->who.company);
    str_puts (&s, ",\"name\":");
    json_put_string (&s, c->who.company_name);
    str_addf (&s, ",\"allocated\":%lld,\"owners\":[", (long long)n);
    str_add_text (&s, str_text (&owners));
    str_puts (&s, "]}]");
    out->companies = str_text (&s);
    return 0;
}
