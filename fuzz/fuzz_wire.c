/* fuzz_wire.c - any bytes as a request. The first line is the path, the second the query string, the rest the body: as
 * the server takes them apart, and decoded by real tables. What was decoded must encode to JSON that decodes again.
 */
#include "api/auth.api.h"
#include "api/tasks.api.h"
#include "wire/wire.h"

#include <stdint.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput (const uint8_t *data, size_t n);

static struct text line_take (struct text *rest)
{
    const char *end = rest->n ? memchr (rest->p, '\n', rest->n) : NULL;
    struct text line = { rest->p, end ? (size_t)(end - rest->p) : rest->n };

    rest->p += line.n + (end != NULL);
    rest->n -= line.n + (end != NULL);
    return line;
}

static void decode (struct arena *a, const struct wire_type *type, struct text body, int version)
{
    void *obj = arena_alloc (a, type->size), *again = arena_alloc (a, type->size);
    struct str once = { .arena = a }, twice = { .arena = a };
    struct error err = { 0 };
    struct text checked;

    if (wire_decode (a, type, body, version, false, obj, &err) < 0) {
        if (err.code < 4000000 || !err.text[0])
            abort ();
        return;
    }
    wire_encode (&once, type, obj, version);
    if (json_check (str_text (&once), &checked, &err) < 0 ||
        wire_decode (a, type, checked, version, false, again, &err) < 0)
        abort ();
    wire_encode (&twice, type, again, version);
    if (!text_equal (str_text (&once), str_text (&twice)))
        abort ();
}

int LLVMFuzzerTestOneInput (const uint8_t *data, size_t n)
{
    cleanup_arena struct arena *a = arena_create ();
    struct text rest = { arena_memdup (a, data, n), n };
    struct text path_text = line_take (&rest), query = line_take (&rest), body = rest, merged, checked;
    struct wire_path path;
    struct error err = { 0 };
    const struct wire_type *const types[] = { &tasks_edit_in_type, &tasks_clone_in_type,
                                              &tasks_edit_hyper_params_in_type, &tasks_get_all_in_type,
                                              &auth_get_credentials_out_type };

    if (n > 1 << 16)
        return 0;
    if (wire_path_parse (path_text, &path, &err) == 0 && (!path.name.n || path.version < 0))
        abort ();
    if (json_check (body, &body, &err) < 0)
        body = (struct text){ NULL, 0 };
    if (wire_merge_query (a, body, query, &merged, &err) < 0)
        return 0;
    if (json_check (merged, &checked, &err) < 0 || json_kind (checked) != JSON_OBJECT)
        abort ();
    for (size_t i = 0; i < sizeof (types) / sizeof (*types); i++)
        decode (a, types[i], checked, path.version);
    return 0;
}
