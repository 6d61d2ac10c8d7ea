/* query.c - what stands behind the ? of a request, merged over its body. Rare, so it builds a tree. */
#include "wire/errors.h"
#include "wire/wire.h"

#include <ctype.h>
#include <stdlib.h>

enum { MEMBERS_MAX = 1000, PARTS_MAX = 32 };

struct pair {
    char *name, *value;
    bool list, done;
};

static int hex (char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    c |= 0x20;
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* %41 -> A, + -> space; a % that is none stays. */
static char *unquote (struct arena *a, const char *p, size_t n)
{
    char *out = arena_alloc (a, n + 1);
    size_t k = 0;

    for (size_t i = 0; i < n; i++) {
        if (p[i] == '%' && i + 2 < n && hex (p[i + 1]) >= 0 && hex (p[i + 2]) >= 0) {
            out[k++] = (char)(hex (p[i + 1]) << 4 | hex (p[i + 2]));
            i += 2;
        } else {
            out[k++] = p[i] == '+' ? ' ' : p[i];
        }
    }
    out[k] = 0;
    return out;
}

static struct json_object *number_tree (const char *v)
{
    struct text t;

    while (v[0] == '0' && isdigit ((unsigned char)v[1]))
        v++; /* 007 is 7 here, but no JSON */
    t = text_of (v);
    if (strchr (v, '.'))
        return json_object_new_double (strtod (v, NULL));
    if (t.n > 18)
        return json_object_new_double_s (json_double (t, 0), v);
    return json_object_new_int64 (json_int (t, 0));
}

static struct json_object *scalar_tree (const char *v)
{
    size_t points = 0, digits = 0, n = strlen (v);

    for (size_t i = 0; i < n; i++) {
        digits += isdigit ((unsigned char)v[i]) != 0;
        points += v[i] == '.';
    }
    if (digits && points <= 1 && digits + points == n)
        return number_tree (v);
    if (!strcmp (v, "true") || !strcmp (v, "True") || !strcmp (v, "TRUE"))
        return json_object_new_boolean (true);
    if (!strcmp (v, "false") || !strcmp (v, "False") || !strcmp (v, "FALSE"))
        return json_object_new_boolean (false);
    return json_object_new_string (v);
}

static int pairs_parse (struct arena *a, struct text query, struct pair *pairs, size_t *ret_n,
                        struct error *err)
{
    const char *p = query.p, *end = query.p + query.n;
    size_t n = 0;

    while (p < end) {
        const char *amp = memchr (p, '&', (size_t)(end - p));
        const char *stop = amp ? amp : end;
        const char *eq = memchr (p, '=', (size_t)(stop - p));
        size_t name_n = (size_t)((eq ? eq : stop) - p);

        if (stop > p) {
            if (n == MEMBERS_MAX)
                return error_set (err, ERR_VALIDATION, "query string: more than %d members", MEMBERS_MAX);
            pairs[n] = (struct pair){ .name = unquote (a, p, name_n),
                                      .value = eq ? unquote (a, eq + 1, (size_t)(stop - eq) - 1) : "" };
            name_n = strlen (pairs[n].name);
            while (name_n >= 2 && !strcmp (pairs[n].name + name_n - 2, "[]")) {
                pairs[n].list = true;
                pairs[n].name[name_n -= 2] = 0;
            }
            n++;
        }
        p = stop + 1;
    }
    *ret_n = n;
    return 0;
}

/* All values of one name: a list when there are several or the name said so. */
static struct json_object *value_tree (struct pair *pairs, size_t n, size_t i)
{
    struct json_object *list = json_object_new_array ();
    bool many = false;

    for (size_t k = i; k < n; k++) {
        if (pairs[k].done || strcmp (pairs[k].name, pairs[i].name) != 0)
            continue;
        many = many || k > i || pairs[k].list;
        pairs[k].done = true;
        json_object_array_add (list, scalar_tree (pairs[k].value));
    }
    if (!many) {
        struct json_object *one = json_object_get (json_object_array_get_idx (list, 0));

        json_object_put (list);
        return one;
    }
    return list;
}

/* root.a.b.c = value; what is no object on the way is replaced. Takes over value. */
static int tree_set (struct json_object *root, char *name, struct json_object *value, struct error *err)
{
    char *save = NULL, *part = strtok_r (name, ".", &save), *next;

    if (!part) {
        json_object_put (value);
        return 0;
    }
    for (size_t parts = 1; (next = strtok_r (NULL, ".", &save)); parts++, part = next) {
        struct json_object *inner = NULL;

        if (parts >= PARTS_MAX) {
            json_object_put (value);
            return error_set (err, ERR_VALIDATION, "query string: a name of more than %d parts", PARTS_MAX);
        }
        json_object_object_get_ex (root, part, &inner);
        if (!json_object_is_type (inner, json_type_object)) {
            inner = json_object_new_object ();
            json_object_object_add (root, part, inner);
        }
        root = inner;
    }
    json_object_object_add (root, part, value);
    return 0;
}

int wire_merge_query (struct arena *a, struct text body, struct text query, struct text *ret,
                      struct error *err)
{
    struct pair *pairs;
    struct json_object *root;
    size_t n = 0;

    if (json_kind (body) == JSON_ABSENT || json_kind (body) == JSON_NULL)
        body = TEXT ("{}");
    if (json_kind (body) != JSON_OBJECT)
        return error_set (err, ERR_MALFORMED, "the request body must be a JSON object");
    if (!query.n) {
        *ret = body;
        return 0;
    }
    pairs = arena_array (a, struct pair, MEMBERS_MAX);
    if (pairs_parse (a, query, pairs, &n, err) < 0 || json_tree (a, body, &root, err) < 0)
        return -1;
    for (size_t i = 0; i < n; i++)
        if (!pairs[i].done &&
            tree_set (root, arena_strdup (a, pairs[i].name), value_tree (pairs, n, i), err) < 0)
            return -1;
    *ret = n ? json_text (a, root) : body;
    return 0;
}
