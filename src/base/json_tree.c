/* json_tree.c - json-c trees from checked text, and back; numbers keep the text they were read from. See json.h. */
#include "base/json_scan.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>

static struct json_object *must (struct json_object *o)
{
    if (!o)
        abort (); /* out of memory; base/arena says so in words for the usual case */
    return o;
}

static struct json_object *tree_number (struct text v)
{
    char small[64];
    char *z;
    struct json_object *o;
    bool whole = true;

    for (size_t i = 0; i < v.n; i++)
        whole = whole && (is_digit (v.p[i]) || (i == 0 && v.p[i] == '-'));
    if (whole && v.n < sizeof (small)) {
        memcpy (small, v.p, v.n);
        small[v.n] = 0;
        errno = 0;
        if (v.p[0] == '-') {
            long long n = strtoll (small, NULL, 10);

            if (!errno)
                return json_object_new_int64 (n);
        } else {
            unsigned long long n = strtoull (small, NULL, 10);

            if (!errno)
                return n <= INT64_MAX ? json_object_new_int64 ((int64_t)n) : json_object_new_uint64 (n);
        }
    }
    z = strndup (v.p, v.n);
    if (!z)
        abort ();
    o = json_object_new_double_s (json_double (v, NAN), z); /* keeps the text as it was given */
    free (z);
    return o;
}

static struct json_object *tree_value (struct text v);

static struct json_object *tree_object (struct text v)
{
    struct json_object *o = must (json_object_new_object ());
    struct json_iter it = json_iter (v);

    while (json_next (&it)) {
        char small[256];
        char *key = it.key.n < sizeof (small) ? small : malloc (it.key.n + 1);

        if (!key)
            abort ();
        json_unescape_string (it.key, key);
        if (json_object_object_add (o, key, tree_value (it.value)) < 0)
            abort ();
        if (key != small)
            free (key);
    }
    return o;
}

static struct json_object *tree_array (struct text v)
{
    struct json_object *o = must (json_object_new_array ());
    struct json_iter it = json_iter (v);

    while (json_next (&it))
        if (json_object_array_add (o, tree_value (it.value)) < 0)
            abort ();
    return o;
}

static struct json_object *tree_string (struct text v)
{
    struct text raw = json_inside (v);
    struct json_object *o;
    char *p;

    if (raw.n > INT_MAX)
        abort ();
    if (!memchr (raw.p, '\\', raw.n))
        return must (json_object_new_string_len (raw.p, (int)raw.n));
    p = malloc (raw.n);
    if (!p)
        abort ();
    o = must (json_object_new_string_len (p, (int)json_unescape (raw, p)));
    free (p);
    return o;
}

/* NULL is JSON's null, as in json-c. Depth is bounded by json_check. */
static struct json_object *tree_value (struct text v)
{
    switch (json_kind (v)) {
        case JSON_OBJECT:
            return tree_object (v);
        case JSON_ARRAY:
            return tree_array (v);
        case JSON_STRING:
            return tree_string (v);
        case JSON_NUMBER:
            return must (tree_number (v));
        case JSON_TRUE:
        case JSON_FALSE:
            return must (json_object_new_boolean (json_kind (v) == JSON_TRUE));
        default:
            return NULL;
    }
}

static void put_tree (void *o)
{
    json_object_put (o);
}

struct json_object *json_own (struct arena *a, struct json_object *o)
{
    if (o)
        arena_defer (a, put_tree, o);
    return o;
}

int json_tree (struct arena *a, struct text v, struct json_object **ret, struct error *err)
{
    struct text checked;

    if (!v.p) {
        *ret = NULL;
        return 0;
    }
    if (json_check (v, &checked, err) < 0)
        return -1;
    *ret = json_own (a, tree_value (checked));
    return 0;
}

static void write_double (struct str *s, struct json_object *o)
{
    const char *given = json_object_get_userdata (o); /* the text it was read from */

    if (given)
        str_puts (s, given);
    else
        str_add_double (s, json_object_get_double (o));
}

static void write_int (struct str *s, struct json_object *o)
{
    int64_t n = json_object_get_int64 (o);

    if (n == INT64_MAX) /* perhaps more than an int64 holds */
        str_addf (s, "%llu", (unsigned long long)json_object_get_uint64 (o));
    else
        str_add_int (s, n);
}

void json_write (struct str *s, struct json_object *o)
{
    switch (json_object_get_type (o)) {
        case json_type_null:
            str_add (s, "null", 4);
            return;
        case json_type_boolean:
            str_puts (s, json_object_get_boolean (o) ? "true" : "false");
            return;
        case json_type_double:
            write_double (s, o);
            return;
        case json_type_int:
            write_int (s, o);
            return;
        case json_type_string:
            str_add_json (s, json_object_get_string (o), (size_t)json_object_get_string_len (o));
            return;
        case json_type_array:
            str_putc (s, '[');
            for (size_t i = 0; i < json_object_array_length (o); i++) {
                if (i)
                    str_putc (s, ',');
                json_write (s, json_object_array_get_idx (o, i));
            }
            str_putc (s, ']');
            return;
        case json_type_object: {
            bool first = true;

            str_putc (s, '{');
            json_object_object_foreach (o, key, value)
            {
                if (!first)
                    str_putc (s, ',');
                first = false;
                str_add_json (s, key, strlen (key));
                str_putc (s, ':');
                json_write (s, value);
            }
            str_putc (s, '}');
            return;
        }
    }
}

struct text json_text (struct arena *a, struct json_object *o)
{
    struct str s = { .arena = a };

    json_write (&s, o);
    return str_text (&s);
}
