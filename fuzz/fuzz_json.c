/* fuzz_json.c - any bytes as JSON. Text that checks must walk whole, and survive the way text -> tree -> text without
 * changing any more; text that does not check must not lead a walker out of its bytes.
 */
#include "base/json.h"

#include <stdint.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput (const uint8_t *data, size_t n);

static void look (struct arena *a, struct text v, int depth)
{
    struct json_iter it = json_iter (v);

    (void)json_int (v, 0);
    (void)json_double (v, 0);
    (void)json_true (v);
    (void)json_string (a, v);
    while (depth < 600 && json_next (&it)) {
        char *key = it.object ? json_key (a, it.key) : NULL;

        if (key && !memchr (key, 0, it.key.n) && !json_get (v, key).p)
            abort ();
        look (a, it.value, depth + 1);
    }
}

static void round_trip (struct arena *a, struct text v)
{
    struct json_object *tree;
    struct text once, twice, checked;
    struct error err;

    if (json_tree (a, v, &tree, &err) < 0)
        abort ();
    once = json_text (a, tree);
    if (json_check (once, &checked, &err) < 0 || json_tree (a, once, &tree, &err) < 0)
        abort ();
    twice = json_text (a, tree);
    if (!text_equal (once, twice))
        abort ();
}

int LLVMFuzzerTestOneInput (const uint8_t *data, size_t n)
{
    cleanup_arena struct arena *a = arena_create ();
    struct text in = { arena_memdup (a, data, n), n }, v;
    struct error err = { 0 };

    if (n > 1 << 16)
        return 0;
    if (json_check (in, &v, &err) < 0) {
        if (!err.text[0])
            abort ();
        look (a, in, 550); /* unchecked: shallow, for its bounds only */
        return 0;
    }
    look (a, v, 0);
    round_trip (a, v);
    return 0;
}
