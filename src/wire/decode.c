/* decode.c - JSON object text -> a struct, by its table. One pass over the text; nothing is built but what the
 * struct holds. Where a value does not fit, the error names the way to it ("hyperparams[2].name").
 */
#include "wire/errors.h"
#include "wire/wire.h"

#include <math.h>

/* Where we are, for errors: a chain on the stack from the innermost place to the root. */
struct place {
    const struct place *parent;
    const char *name; /* NULL: an item of a list */
    size_t index;
};
struct decode {
    struct arena *arena;
    int version;
    bool check_required;
    struct error *err;
};

static void place_write (struct str *s, const struct place *at)
{
    if (!at)
        return;
    place_write (s, at->parent);
    if (!at->name)
        str_addf (s, "[%zu]", at->index);
    else
        str_addf (s, "%s%s", s->n ? "." : "", at->name);
}

static int refuse (struct decode *d, const struct place *at, const char *wanted, struct text value)
{
    cleanup_str struct str path = { 0 };
    int shown = value.n > 80 ? 80 : (int)value.n;

    place_write (&path, at);
    return error_set (d->err, ERR_VALIDATION, "field %s: %s expected, found %.*s%s", path.p, wanted, shown,
                      value.p, value.n > 80 ? "..." : "");
}

static int decode_object (struct decode *d, const struct wire_type *type, struct text json,
                          const struct place *at, char *obj);

static int decode_string (struct decode *d, struct text v, const struct place *at, void *slot)
{
    if (json_kind (v) != JSON_STRING)
        return refuse (d, at, "a string", v);
    *(const char **)slot = json_string (d->arena, v);
    return 0;
}

static int decode_enum (struct decode *d, const struct wire_field *f, struct text v, const struct place *at,
                        void *slot)
{
    struct str words = { .arena = d->arena };

    for (const char *const *name = f->names; *name; name++)
        if (json_string_is (v, *name)) {
            *(const char **)slot = *name;
            return 0;
        }
    str_puts (&words, "one of");
    for (const char *const *name = f->names; *name; name++)
        str_addf (&words, " %s", *name);
    return refuse (d, at, words.p, v);
}

/* Digits with a sign and white space around, as Python's int () reads a string. */
static bool is_whole (struct text v)
{
    size_t i = 1, end = v.n - 1;

    while (i < end && v.p[i] == ' ')
        i++;
    while (end > i && v.p[end - 1] == ' ')
        end--;
    if (i < end && (v.p[i] == '-' || v.p[i] == '+'))
        i++;
    if (i == end)
        return false;
    for (; i < end; i++)
        if (v.p[i] < '0' || v.p[i] > '9')
            return false;
    return true;
}

static int decode_int (struct decode *d, struct text v, const struct place *at, void *slot)
{
    enum json_kind kind = json_kind (v);
    bool fits = kind == JSON_TRUE || kind == JSON_FALSE || (kind == JSON_STRING && is_whole (v)) ||
                (kind == JSON_NUMBER && isfinite (json_double (v, 0)));

    if (!fits)
        return refuse (d, at, "a whole number", v);
    *(int64_t *)slot = kind == JSON_TRUE ? 1 : json_int (v, 0);
    return 0;
}

static int decode_float (struct decode *d, struct text v, const struct place *at, void *slot)
{
    enum json_kind kind = json_kind (v);

    if (kind != JSON_NUMBER && kind != JSON_TRUE && kind != JSON_FALSE)
        return refuse (d, at, "a number", v);
    *(double *)slot = kind == JSON_TRUE ? 1 : json_double (v, 0);
    return 0;
}

/* One value that is not null (or a json, for which null is a value). `slot` is the field itself, or an item. */
static int decode_one (struct decode *d, const struct wire_field *f, struct text v, const struct place *at,
                       void *slot)
{
    switch (f->kind) {
        case WIRE_STRING:
            return decode_string (d, v, at, slot);
        case WIRE_ENUM:
            return decode_enum (d, f, v, at, slot);
        case WIRE_INT:
            return decode_int (d, v, at, slot);
        case WIRE_FLOAT:
            return decode_float (d, v, at, slot);
        case WIRE_BOOL:
            *(bool *)slot = json_true (v);
            return 0;
        case WIRE_JSON:
            if ((f->flags & WIRE_DICT) && json_kind (v) != JSON_OBJECT)
                return refuse (d, at, "an object", v);
            *(struct text *)slot = v;
            return 0;
        case WIRE_OBJECT:
            if (json_kind (v) != JSON_OBJECT)
                return refuse (d, at, "an object", v);
            return decode_object (d, f->type, v, at, slot);
    }
    return refuse (d, at, "something else", v);
}

static size_t item_size (const struct wire_field *f)
{
    static const size_t sizes[] = {
        [WIRE_STRING] = sizeof (char *), [WIRE_ENUM] = sizeof (char *),      [WIRE_INT] = sizeof (int64_t),
        [WIRE_FLOAT] = sizeof (double),  [WIRE_JSON] = sizeof (struct text), [WIRE_BOOL] = sizeof (bool),
    };

    return f->kind == WIRE_OBJECT ? f->type->size : sizes[f->kind];
}

struct list { /* every list of a generated struct looks like this */
    void *v;
    size_t n;
};

static int decode_list (struct decode *d, const struct wire_field *f, struct text v, const struct place *at,
                        void *slot)
{
    struct list list = { NULL, 0 };
    struct json_iter it = json_iter (v);
    size_t size = item_size (f);

    if (json_kind (v) != JSON_ARRAY) {
        if (json_true (v))
            return refuse (d, at, "a list", v);
        v = (struct text){ NULL, 0 };
    }
    list.v = arena_alloc (d->arena, arena_product (size, json_count (v)));
    while (v.p && json_next (&it)) {
        struct place item = { at, NULL, list.n };

        if (decode_one (d, f, it.value, &item, (char *)list.v + list.n * size) < 0)
            return -1;
        list.n++;
    }
    *(struct list *)slot = list;
    return 0;
}

static int decode_value (struct decode *d, const struct wire_field *f, struct text v, const struct place *at,
                         void *slot)
{
    if (f->flags & WIRE_LIST)
        return decode_list (d, f, v, at, slot);
    if (f->kind == WIRE_OBJECT) {
        void *obj = arena_alloc (d->arena, f->type->size);

        if (decode_one (d, f, v, at, obj) < 0)
            return -1;
        *(void **)slot = obj;
        return 0;
    }
    return decode_one (d, f, v, at, slot);
}

/* The field as it is when the key is absent. Also resets one that an earlier equal key set. */
static int set_default (struct decode *d, const struct wire_field *f, const struct place *at, char *obj)
{
    struct text json = text_of (f->otherwise);

    *(bool *)(obj + f->has) = false;
    *(bool *)(obj + f->null) = false;
    if (json.p)
        return decode_value (d, f, json, at, obj + f->offset);
    memset (obj + f->offset, 0,
            f->flags & WIRE_LIST     ? sizeof (struct list)
            : f->kind == WIRE_OBJECT ? sizeof (void *)
                                     : item_size (f));
    return 0;
}

static int decode_field (struct decode *d, const struct wire_field *f, struct text v, const struct place *at,
                         char *obj)
{
    static const char empty[] = "{}";

    if (json_kind (v) != JSON_NULL) {
        *(bool *)(obj + f->has) = true;
        *(bool *)(obj + f->null) = false;
        return decode_value (d, f, v, at, obj + f->offset);
    }
    if (set_default (d, f, at, obj) < 0)
        return -1;
    *(bool *)(obj + f->null) = true;
    if ((f->flags & WIRE_DICT) && !(f->flags & WIRE_LIST) && !f->otherwise)
        *(struct text *)(obj + f->offset) = text_of (empty);
    return 0;
}

static bool in_version (const struct wire_field *f, int version)
{
    return (!f->since || version >= f->since) && (!f->until || version <= f->until);
}

/* The field of that key, looking first behind the one found before: clients mostly keep the order. */
static const struct wire_field *field_find (struct decode *d, const struct wire_type *type,
                                            struct text raw_key, const struct wire_field *next)
{
    struct text key = raw_key;

    if (memchr (key.p, '\\', key.n))
        key = text_of (json_key (d->arena, raw_key));
    if (next && next->name && text_is (key, next->name) && in_version (next, d->version))
        return next;
    for (const struct wire_field *f = type->fields; f->name; f++)
        if (text_is (key, f->name) && in_version (f, d->version))
            return f;
    return NULL;
}

static void rest_add (struct str *rest, const struct json_iter *it)
{
    str_add (rest, rest->n ? "," : "{", 1);
    str_putc (rest, '"');
    str_add_text (rest, it->key);
    str_add (rest, "\":", 2);
    str_add_text (rest, it->value);
}

static int check_required (struct decode *d, const struct wire_type *type, const struct place *at,
                           const char *obj)
{
    for (const struct wire_field *f = type->fields; f->name; f++) {
        struct place here = { at, f->name, 0 };
        struct str path = { .arena = d->arena };

        if (!(f->flags & WIRE_REQUIRED) || *(const bool *)(obj + f->has) || !in_version (f, d->version))
            continue;
        place_write (&path, &here);
        return error_set (d->err, ERR_VALIDATION, "field %s is required", path.p);
    }
    return 0;
}

static int decode_object (struct decode *d, const struct wire_type *type, struct text json,
                          const struct place *at, char *obj)
{
    struct json_iter it = json_iter (json);
    struct str rest = { .arena = d->arena };
    const struct wire_field *next = type->fields;

    for (const struct wire_field *f = type->fields; f->name; f++) {
        struct place here = { at, f->name, 0 };

        if (f->otherwise && set_default (d, f, &here, obj) < 0)
            return -1;
    }
    if (type->rest && !type->fields->name) { /* no field is listed: all of it is rest */
        if (json_next (&it))
            *(struct text *)(obj + type->rest) = json;
        return 0;
    }
    while (json_next (&it)) {
        const struct wire_field *f = field_find (d, type, it.key, next);
        struct place here = { at, f ? f->name : NULL, 0 };

        if (f && decode_field (d, f, it.value, &here, obj) < 0)
            return -1;
        if (!f && type->rest)
            rest_add (&rest, &it);
        if (f)
            next = f + 1;
    }
    if (rest.n) {
        str_putc (&rest, '}');
        *(struct text *)(obj + type->rest) = str_text (&rest);
    }
    return d->check_required ? check_required (d, type, at, obj) : 0;
}

int wire_decode (struct arena *a, const struct wire_type *type, struct text json, int version, bool required,
                 void *obj, struct error *err)
{
    struct decode d = { a, version, required, err };
    enum json_kind kind = json_kind (json);

    if (kind != JSON_OBJECT && kind != JSON_NULL && kind != JSON_ABSENT)
        return error_set (err, ERR_MALFORMED, "the request body must be a JSON object");
    return decode_object (&d, type, json, NULL, obj);
}
