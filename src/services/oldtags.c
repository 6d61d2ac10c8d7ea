/* oldtags.c - see oldtags.h. */
#include "services/oldtags.h"

#include <strings.h>

const struct old_tags old_tags_task = {
    .names = (const char *const[]){ "active", "archived", "development", NULL },
    .annotations = true,
};
const struct old_tags old_tags_model = { .names = (const char *const[]){ "active", "archived", NULL } };
const struct old_tags old_tags_project = {
    .names = (const char *const[]){ "archived", "public", "default", NULL },
};

static bool is_system (const struct old_tags *which, const char *tag)
{
    const char *name = tag + (*tag == '-'); /* filters: "-x" is not x */
    if (which->annotations && !strncasecmp (name, "annotat", 7))
        return true;
    for (size_t i = 0; which->names[i]; i++)
        if (!strcmp (which->names[i], name))
            return true;
    return false;
}

/* One list as two JSON lists, in its order. */
static void divide (struct arena *a, const struct old_tags *which, struct text all, struct text *ret_tags,
                    struct text *ret_system)
{
    struct str tags = { .arena = a }, system = { .arena = a };
    struct json_iter it = json_iter (all);
    str_putc (&tags, '[');
    str_putc (&system, '[');
    while (json_next (&it)) {
        const char *tag = json_string (a, it.value);
        struct str *to = tag && is_system (which, tag) ? &system : &tags;
        json_put_comma (to);
        str_add_text (to, it.value);
    }
    str_putc (&tags, ']');
    str_putc (&system, ']');
    *ret_tags = str_text (&tags);
    *ret_system = str_text (&system);
}

static bool is_old (const struct call *c, struct text tags, struct text system)
{
    return c->version < OLD_TAGS_BELOW && json_kind (tags) == JSON_ARRAY && !json_count (system);
}

void old_tags_divide (struct call *c, const struct old_tags *which, struct text *tags, struct text *system)
{
    if (is_old (c, *tags, *system))
        divide (c->arena, which, *tags, tags, system);
}

struct text old_tags_filter (struct call *c, const struct old_tags *which, struct text body)
{
    struct text all = json_get (body, "tags"), tags, system;
    struct str s = { .arena = c->arena };
    if (!is_old (c, all, json_get (body, "system_tags")))
        return body;
    divide (c->arena, which, all, &tags, &system);
    str_putc (&s, '{');
    struct json_iter it = json_iter (body);
    while (json_next (&it)) {
        const char *key = json_key (c->arena, it.key);
        if (strcmp (key, "tags") && strcmp (key, "system_tags"))
            fields_json (&s, key, it.value);
    }
    if (json_count (tags))
        fields_json (&s, "tags", tags);
    if (json_count (system))
        fields_json (&s, "system_tags", system);
    str_putc (&s, '}');
    return str_text (&s);
}

int old_tags_join (const struct query_source *src, struct text doc, struct str *out, struct error *err)
{
    struct tag_list tags = tags_read (src->arena, json_get (doc, "tags")),
                    system = tags_read (src->arena, json_get (doc, "system_tags"));
    struct json_iter it = json_iter (doc);
    bool written = false;
    (void)err;
    for (size_t i = 0; i < system.n; i++)
        tags_add (src->arena, &tags, system.v[i]);
    str_putc (out, '{');
    while (json_next (&it)) {
        const char *key = json_key (src->arena, it.key);
        bool is_tags = !strcmp (key, "tags");
        fields_json (out, key, is_tags ? tags_write (src->arena, &tags) : it.value);
        written |= is_tags;
    }
    if (!written && system.n)
        fields_json (out, "tags", tags_write (src->arena, &tags));
    str_putc (out, '}');
    return 0;
}
