/* encode.c - a struct -> JSON object text, by its table. A field that says nothing is left out. */
#include "wire/wire.h"

struct list {
    const void *v;
    size_t n;
};

static void encode_object (struct str *s, const struct wire_type *type, const char *obj, int version);

static void put_json (struct str *s, struct text t)
{
    if (t.p && t.n)
        str_add_text (s, t);
    else
        str_add (s, "null", 4);
}

/* `at` is where the value lies: the field, an item of a list, or the object itself. */
static void encode_one (struct str *s, const struct wire_field *f, const void *at, int version)
{
    switch (f->kind) {
        case WIRE_STRING:
        case WIRE_ENUM:
            json_put_string (s, *(const char *const *)at);
            return;
        case WIRE_INT:
            str_add_int (s, *(const int64_t *)at);
            return;
        case WIRE_FLOAT:
            str_add_double (s, *(const double *)at);
            return;
        case WIRE_BOOL:
            str_puts (s, *(const bool *)at ? "true" : "false");
            return;
        case WIRE_JSON:
            put_json (s, *(const struct text *)at);
            return;
        case WIRE_OBJECT:
            encode_object (s, f->type, at, version);
            return;
    }
}

static size_t item_size (const struct wire_field *f)
{
    switch (f->kind) {
        case WIRE_OBJECT:
            return f->type->size;
        case WIRE_INT:
            return sizeof (int64_t);
        case WIRE_FLOAT:
            return sizeof (double);
        case WIRE_BOOL:
            return sizeof (bool);
        case WIRE_JSON:
            return sizeof (struct text);
        default:
            return sizeof (char *);
    }
}

static void encode_list (struct str *s, const struct wire_field *f, const struct list *list, int version)
{
    const char *at = list->v;

    str_putc (s, '[');
    for (size_t i = 0; i < list->n; i++, at += item_size (f)) {
        if (i)
            str_putc (s, ',');
        encode_one (s, f, at, version);
    }
    str_putc (s, ']');
}

/* Is there a value, beside the has bit? Numbers and bools cannot tell. */
static bool is_set (const struct wire_field *f, const char *at)
{
    if (f->flags & WIRE_LIST)
        return ((const struct list *)at)->v || ((const struct list *)at)->n;
    switch (f->kind) {
        case WIRE_STRING:
        case WIRE_ENUM:
        case WIRE_OBJECT:
            return *(const void *const *)at;
        case WIRE_JSON:
            return ((const struct text *)at)->p;
        default:
            return false;
    }
}

static void encode_field (struct str *s, const struct wire_field *f, const char *obj, int version)
{
    const char *at = obj + f->offset;
    bool null = *(const bool *)(obj + f->null);

    if ((f->since && version < f->since) || (f->until && version > f->until))
        return;
    if (!null && !*(const bool *)(obj + f->has) && !(f->flags & WIRE_ALWAYS) && !is_set (f, at))
        return;
    json_put_key (s, f->name);
    if (null)
        str_add (s, "null", 4);
    else if (f->flags & WIRE_LIST)
        encode_list (s, f, (const struct list *)at, version);
    else if (f->kind != WIRE_OBJECT)
        encode_one (s, f, at, version);
    else if (is_set (f, at))
        encode_one (s, f, *(const void *const *)at, version);
    else
        str_add (s, "null", 4);
}

static void encode_rest (struct str *s, struct text rest)
{
    struct json_iter it = json_iter (rest);

    if (!it.object || !json_next (&it))
        return;
    json_put_comma (s);
    str_add (s, rest.p + 1, rest.n - 2); /* all between the braces, as it is */
}

static void encode_object (struct str *s, const struct wire_type *type, const char *obj, int version)
{
    str_putc (s, '{');
    for (const struct wire_field *f = type->fields; f->name; f++)
        encode_field (s, f, obj, version);
    if (type->rest)
        encode_rest (s, *(const struct text *)(obj + type->rest));
    str_putc (s, '}');
}

void wire_encode (struct str *s, const struct wire_type *type, const void *obj, int version)
{
    encode_object (s, type, obj, version);
}
