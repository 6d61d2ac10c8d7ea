/* calls.c - the calls of users: people as other people see them. */
#include "api/users.api.h"
#include "base/clock.h"
#include "services/answer.h"
#include "services/auth/auth.h"
#include "services/users/users.h"
#include "sql/sql.h"
#include "store/store.h"

static const struct query_field fields[] = {
    { "id", .expr = "e.id", .show = QUERY_TEXT, .ops = QUERY_LIST | QUERY_ORDER | QUERY_FILLED },
    { "company", .expr = "e.company", .show = QUERY_TEXT, .ops = QUERY_ORDER },
    { "name", .expr = "e.name", .show = QUERY_TEXT, .ops = QUERY_PATTERN | QUERY_ORDER | QUERY_SEARCH },
    { "family_name", .expr = "e.family_name", .show = QUERY_TEXT, .ops = QUERY_ORDER },
    { "given_name", .expr = "e.given_name", .show = QUERY_TEXT, .ops = QUERY_ORDER },
    { "avatar", .expr = "e.avatar", .show = QUERY_TEXT, .ops = 0 },
    { "created_in_version", .expr = "e.created_in_version", .show = QUERY_TEXT, .ops = QUERY_ORDER },
    { "created", .expr = "e.created", .show = QUERY_TIME, .ops = QUERY_ORDER | QUERY_RANGE },
    { "preferences", .expr = "e.preferences", .show = QUERY_JSON, .ops = QUERY_ASKED },
    { .name = NULL },
};
const struct query_entity users_entity = {
    .name = "User",
    .from = "user e",
    .key = "e.n",
    .company = "e.company",
    .fields = fields,
};

static const struct query_field company_fields[] = {
    { "id", .expr = "e.id", .show = QUERY_TEXT, .ops = QUERY_FILLED },
    { "name", .expr = "e.name", .show = QUERY_TEXT, .ops = QUERY_FILLED },
    { .name = NULL },
};
const struct query_entity companies_entity = {
    .name = "Company",
    .from = "company e",
    .key = "e.id",
    .fields = company_fields,
};

/* Users who made something in some projects (a JSON list, ?1) or below them; in an empty list's case anywhere. */
#define MADE(table, project)                                                                                 \
    "EXISTS (SELECT 1 FROM " table " k WHERE k.company = e.company AND k.user = e.id AND (?1 = '[]' OR "     \
    "k." project " IN (SELECT t.project FROM project_tree t, json_each(?1) j WHERE t.ancestor = j.value)))"
static const char active_where[] =
    "(" MADE ("project", "id") " OR " MADE ("task", "project") " OR " MADE ("model", "project") ")";

static int find (struct call *c, unsigned flags, struct text *ret, struct error *err)
{
    struct query_source src = { .db = c->db,
                                .arena = c->arena,
                                .company = c->who.company,
                                .version = c->version,
                                .now = c->now,
                                .volatiles = c->facts->volatiles };
    struct query_options o = { .flags = flags | QUERY_OWN };
    struct query_result found;
    struct text projects = json_get (c->body, "active_in_projects");
    struct value active;

    if (flags & QUERY_EX && c->version >= 2008 && json_kind (projects) > JSON_NULL) {
        struct tag_list ids = tags_read (c->arena, projects);

        if (json_kind (projects) != JSON_ARRAY)
            return error_set (err, ERR_VALIDATION, "active_in_projects: must be a list of project ids");
        active = V_TEXT (tags_write (c->arena, &ids));
        o.where = active_where;
        o.values = &active;
        o.values_n = 1;
    }
    if (query_run (&src, &users_entity, c->body, &o, &found, err) < 0)
        return -1;
    *ret = found.items;
    return 0;
}

int users_get_all (struct call *c, const struct users_get_all_in *in, struct users_get_all_out *out,
                   struct error *err)
{
    (void)in;
    return find (c, 0, &out->users, err);
}

int users_get_all_ex (struct call *c, const struct users_get_all_ex_in *in, struct users_get_all_ex_out *out,
                      struct error *err)
{
    (void)in;
    return find (c, QUERY_EX, &out->users, err);
}

/* -- one user -------------------------------------------------------------------------------------- */
struct user {
    const char *id, *name, *given_name, *family_name, *avatar, *role, *created_in_version, *company_name;
    struct text preferences;
    int64_t created;
};

static int user_get (struct call *c, const char *id, struct user *ret, struct error *err)
{
    cleanup_rows struct rows rows = { 0 };
    int rc;

    if (db_query (c->db, &sql_auth_user_get, &rows, err, V_STR (c->who.company), V_STR (id)) < 0 ||
        (rc = db_next (&rows, err)) < 0)
        return -1;
    if (!rc)
        return error_set (err, ERR_INVALID_USER_ID, "user %s: no such user", id);
    *ret = (struct user){
        .id = row_str (&rows, 0, c->arena),
        .name = row_str (&rows, 1, c->arena),
        .given_name = row_str (&rows, 2, c->arena),
        .family_name = row_str (&rows, 3, c->arena),
        .avatar = row_str (&rows, 4, c->arena),
        .role = row_str (&rows, 5, c->arena),
        .created = row_int (&rows, 6),
        .created_in_version = row_str (&rows, 7, c->arena),
        .company_name = row_str (&rows, 8, c->arena),
        .preferences = row_copy (&rows, 9, c->arena),
    };
    return 0;
}

static struct text user_json (struct call *c, const struct user *u, bool self)
{
    struct str s = { .arena = c->arena };

    str_putc (&s, '{');
    json_put_some (&s, "id", u->id);
    json_put_key (&s, "company");
    if (self) {
        str_putc (&s, '{');
        json_put_some (&s, "id", c->who.company);
        json_put_some (&s, "name", u->company_name);
        str_putc (&s, '}');
    } else {
        json_put_string (&s, c->who.company);
    }
    json_put_some (&s, "name", u->name);
    json_put_some (&s, "family_name", u->family_name);
    json_put_some (&s, "given_name", u->given_name);
    json_put_some (&s, "avatar", u->avatar);
    json_put_some (&s, "created_in_version", u->created_in_version);
    json_put_key (&s, "created");
    str_putc (&s, '"');
    clock_format (&s, u->created);
    str_putc (&s, '"');
    if (self)
        json_put_some (&s, "role", c->who.role);
    str_putc (&s, '}');
    return str_text (&s);
}

int users_get_by_id (struct call *c, const struct users_get_by_id_in *in, struct users_get_by_id_out *out,
                     struct error *err)
{
    struct user u;

    if (user_get (c, in->user, &u, err) < 0)
        return -1;
    out->user = user_json (c, &u, false);
    return 0;
}

int users_get_current_user (struct call *c, const struct users_get_current_user_in *in,
                            struct users_get_current_user_out *out, struct error *err)
{
    struct user u;

    (void)in;
    if (user_get (c, c->who.user, &u, err) < 0)
        return -1;
    out->user = user_json (c, &u, true);
    out->getting_started = TEXT ("{\"agentName\":\"clearml\",\"configure\":\"clearml-init\","
                                 "\"install\":\"pip install clearml\",\"packageName\":\"clearml\"}");
    out->settings = TEXT ("{\"max_download_items\":50000}");
    return 0;
}

int users_update (struct call *c, const struct users_update_in *in, struct users_update_out *out,
                  struct error *err)
{
    struct str fields_json = { .arena = c->arena };
    int64_t n;

    if (strcmp (in->user, c->who.user) != 0 && !auth_role_admin (c->who.role))
        return error_set (err, ERR_NO_WRITE_PERMISSION, "user %s: only you or an administrator may change it",
                          in->user);
    if (in->has.name && !*in->name)
        return error_set (err, ERR_VALIDATION, "field name: must not be empty");
    n = db_exec (c->db, &sql_auth_user_update, err, V_STR (c->who.company), V_STR (in->user),
                 V_STR (in->name), V_STR (in->given_name), V_STR (in->family_name), V_STR (in->avatar));
    if (n < 0)
        return -1;
    if (!n)
        return error_set (err, ERR_INVALID_USER_ID, "user %s: no such user", in->user);
    str_putc (&fields_json, '{');
    json_put_some (&fields_json, "name", in->name);
    json_put_some (&fields_json, "given_name", in->given_name);
    json_put_some (&fields_json, "family_name", in->family_name);
    json_put_some (&fields_json, "avatar", in->avatar);
    str_putc (&fields_json, '}');
    out->fields = str_text (&fields_json);
    out->updated = n;
    out->has.updated = true;
    return 0;
}

int users_delete (struct call *c, const struct users_delete_in *in, struct users_delete_out *out,
                  struct error *err)
{
    struct user u;

    (void)out;
    if (!strcmp (in->user, c->who.user))
        return error_set (err, ERR_INVALID_USER_ID, "user %s: nobody can delete themselves", in->user);
    if (user_get (c, in->user, &u, err) < 0)
        return -1;
    if (!auth_role_may_give (c->who.role, u.role))
        return error_set (err, ERR_ROLE_NOT_ALLOWED, "user %s has role %s: %s may not delete them", in->user,
                          u.role, c->who.role);
    return db_exec (c->db, &sql_auth_user_remove, err, V_STR (c->who.company), V_STR (in->user)) < 0
               ? -1
               : auth_user_end (c, in->user, err);
}

/* -- preferences ----------------------------------------------------------------------------------- */
enum { PREFERENCES_MAX = 1 << 20 };

int users_get_preferences (struct call *c, const struct users_get_preferences_in *in,
                           struct users_get_preferences_out *out, struct error *err)
{
    struct user u;

    (void)in;
    if (user_get (c, c->who.user, &u, err) < 0)
        return -1;
    out->preferences = u.preferences;
    return 0;
}

/* "$..." is no name; "a.b" is a path, but only at the top. Depth is bounded by the scanner. */
static int names_check (struct json_object *o, bool top, struct error *err)
{
    if (json_object_is_type (o, json_type_array)) {
        for (size_t i = 0; i < json_object_array_length (o); i++)
            if (names_check (json_object_array_get_idx (o, i), false, err) < 0)
                return -1;
        return 0;
    }
    if (!json_object_is_type (o, json_type_object))
        return 0;
    json_object_object_foreach (o, key, value)
    {
        if (key[0] == '$' || (!top && strchr (key, '.')))
            return error_set (err, ERR_FIELDS_VALUE,
                              "field preferences: name '%s' begins with $ or has a dot below the top", key);
        if (names_check (value, false, err) < 0)
            return -1;
    }
    return 0;
}

/* What stands at the path becomes the value, whole; objects on the way are made. */
static int put_at (struct arena *a, struct json_object *into, const char *path, struct json_object *value,
                   struct error *err)
{
    const char *p = path, *dot;

    for (; (dot = strchr (p, '.')); p = dot + 1) {
        const char *name = arena_strndup (a, p, (size_t)(dot - p));
        struct json_object *next = NULL;
        bool found = json_object_object_get_ex (into, name, &next);

        if (!*name || (found && !json_object_is_type (next, json_type_object)))
            return error_set (err, ERR_INVALID_PREFERENCES,
                              "field preferences: '%s' cannot be set: '%s' is no object", path, name);
        if (!found)
            json_object_object_add (into, name, next = json_object_new_object ());
        into = next;
    }
    if (!*p)
        return error_set (err, ERR_INVALID_PREFERENCES, "field preferences: '%s' ends in no name", path);
    json_object_object_add (into, p, json_object_get (value));
    return 0;
}

int users_set_preferences (struct call *c, const struct users_set_preferences_in *in,
                           struct users_set_preferences_out *out, struct error *err)
{
    struct json_object *kept, *before, *given;
    struct text merged;
    struct str s = { .arena = c->arena };
    struct user u;

    if (user_get (c, c->who.user, &u, err) < 0 || json_tree (c->arena, u.preferences, &kept, err) < 0 ||
        json_tree (c->arena, u.preferences, &before, err) < 0 ||
        json_tree (c->arena, in->preferences, &given, err) < 0 || names_check (given, true, err) < 0)
        return -1;
    json_object_object_foreach (given, path, value)
    {
        if (put_at (c->arena, kept, path, value, err) < 0)
            return -1;
    }
    out->has.updated = true;
    out->fields = TEXT ("{}");
    if (json_object_equal (kept, before))
        return 0;
    merged = json_text (c->arena, kept);
    if (merged.n > PREFERENCES_MAX)
        return error_set (err, ERR_VALIDATION, "field preferences: more than %d bytes", PREFERENCES_MAX);
    out->updated = db_exec (c->db, &sql_auth_user_set_preferences, err, V_STR (c->who.company),
                            V_STR (c->who.user), V_TEXT (merged));
    if (out->updated < 0)
        return -1;
    if (in->return_updated) {
        str_puts (&s, "{\"preferences\":");
        str_add_text (&s, merged);
        str_putc (&s, '}');
        out->fields = str_text (&s);
    }
    return 0;
}
