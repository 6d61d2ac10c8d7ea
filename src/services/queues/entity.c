/* entity.c - queues as the query language sees them. Two tables: with ids for references (get_all, get_by_id, joins from
 * tasks), and with objects for them (get_all_ex). */
#include "services/queues/rules.h"

#include "base/clock.h"
#include "base/json.h"
#include "services/tasks/tasks.h"
#include "sql/sql.h"
#include "store/store.h"

static void put_added (struct str *out, int64_t added)
{
    str_puts (out, ",\"added\":\"");
    clock_format (out, added);
    str_puts (out, "\"}");
}

/* [{task, added}] in order; the column is the queue's seq. */
static int write_entries (const struct query_source *src, struct rows *r, int col, struct str *out,
                          struct error *err)
{
    cleanup_rows struct rows e = { 0 };
    int more;

    if (db_query (src->db, &sql_queue_entry_list, &e, err, V_INT (row_int (r, col)), V_INT (-1)) < 0)
        return -1;
    str_putc (out, '[');
    while ((more = db_next (&e, err)) > 0) {
        struct text task = row_text (&e, 0);

        json_put_comma (out);
        str_puts (out, "{\"task\":");
        str_add_json (out, task.p, task.n);
        put_added (out, row_int (&e, 1));
    }
    str_putc (out, ']');
    return more;
}

/* [{task: {id, name}, added}]; a task that is gone has no name. */
static int write_entries_ex (const struct query_source *src, struct rows *r, int col, struct str *out,
                             struct error *err)
{
    cleanup_rows struct rows e = { 0 };
    struct call c = {
        .arena = src->arena, .db = src->db, .who = { .company = src->company }, .now = src->now
    };
    int more;

    if (db_query (src->db, &sql_queue_entry_list, &e, err, V_INT (row_int (r, col)), V_INT (-1)) < 0)
        return -1;
    str_putc (out, '[');
    while ((more = db_next (&e, err)) > 0) {
        const char *task = row_str (&e, 0, src->arena), *name = task_name (&c, task);

        json_put_comma (out);
        str_puts (out, "{\"task\":{\"id\":");
        json_put_string (out, task);
        if (name) {
            str_puts (out, ",\"name\":");
            json_put_string (out, name);
        }
        str_putc (out, '}');
        put_added (out, row_int (&e, 1));
    }
    str_putc (out, ']');
    return more;
}

/* A map; clients from before there was metadata get an empty list. */
static int write_metadata (const struct query_source *src, struct rows *r, int col, struct str *out,
                           struct error *err)
{
    (void)err;
    str_add_text (out, src->version < 2017 ? TEXT ("[]") : row_text (r, col));
    return 0;
}

static int write_company (const struct query_source *src, struct rows *r, int col, struct str *out,
                          struct error *err)
{
    struct text id = row_text (r, col);

    (void)src, (void)err;
    str_puts (out, "{\"id\":");
    str_add_json (out, id.p, id.n);
    str_putc (out, '}');
    return 0;
}

#define METADATA "(SELECT json_extract (m.value, '$.' || $2) FROM json_each (e.metadata) m WHERE m.key = $1)"

#define QUEUE_FIELDS(entries_writer, company_writer)                                                         \
    { .name = "id", .expr = "e.id", .show = QUERY_TEXT, .ops = QUERY_LIST | QUERY_ORDER | QUERY_FILLED },    \
        { .name = "name",                                                                                    \
          .expr = "e.name",                                                                                  \
          .show = QUERY_TEXT,                                                                                \
          .ops = QUERY_PATTERN | QUERY_ORDER | QUERY_FILLED | QUERY_SEARCH },                                \
        { .name = "display_name", .expr = "e.display_name", .show = QUERY_TEXT, .ops = QUERY_ORDER },        \
        { .name = "company",                                                                                 \
          .expr = "e.company",                                                                               \
          .show = QUERY_TEXT,                                                                                \
          .ops = QUERY_ORDER | QUERY_FILLED,                                                                 \
          .write = company_writer },                                                                         \
        { .name = "created", .expr = "e.created", .show = QUERY_TIME, .ops = QUERY_ORDER | QUERY_FILLED },   \
        { .name = "tags", QUERY_JSON_LIST ("tags") },                                                        \
        { .name = "system_tags", QUERY_JSON_LIST ("system_tags") },                                          \
        { .name = "entries", .column = "e.seq", .show = QUERY_JSON, .write = entries_writer },               \
        { .name = "last_update",                                                                             \
          .expr = "e.last_update",                                                                           \
          .show = QUERY_TIME,                                                                                \
          .ops = QUERY_ORDER | QUERY_FILLED },                                                               \
        { .name = "metadata", .column = "e.metadata", .show = QUERY_JSON, .write = write_metadata },         \
        { .name = "resources", .column = "e.resources", .show = QUERY_JSON },                                \
        { .name = "metadata.*",                                                                              \
          .expr = METADATA,                                                                                  \
          .sort = "sortkey(" METADATA ")",                                                                   \
          .show = QUERY_TEXT,                                                                                \
          .ops = QUERY_LIST | QUERY_ORDER },                                                                 \
    {                                                                                                        \
        .name = NULL                                                                                         \
    }

#define HIDDEN "NOT EXISTS (SELECT 1 FROM json_each(e.system_tags) WHERE value = 'k8s-glue')"

static const struct query_field fields[] = { QUEUE_FIELDS (write_entries, NULL) };
static const struct query_field fields_ex[] = { QUEUE_FIELDS (write_entries_ex, write_company) };

const struct query_entity queues_entity = {
    .name = "Queue",
    .from = "queue e",
    .key = "e.seq",
    .company = "e.company",
    .hidden = HIDDEN,
    .name_reveals = true,
    .fields = fields,
};

const struct query_entity queues_ex_entity = {
    .name = "Queue",
    .from = "queue e",
    .key = "e.seq",
    .company = "e.company",
    .hidden = HIDDEN,
    .name_reveals = true,
    .fields = fields_ex,
};
