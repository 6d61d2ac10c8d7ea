/* fuzz_hocon.c - any bytes as a configuration: refused with words, or resolved to JSON that checks. */
#include "base/hocon.h"
#include "base/json.h"

#include <stdint.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput (const uint8_t *data, size_t n);

static const char *environment (const char *name, void *arg)
{
    (void)arg;
    return name[0] == 'E' ? "value" : NULL;
}

int LLVMFuzzerTestOneInput (const uint8_t *data, size_t n)
{
    cleanup_arena struct arena *a = arena_create ();
    struct hocon *h = hocon_create (a);
    struct error err = { 0 };
    struct text json, checked;

    hocon_set_environment (h, environment, NULL);
    if (hocon_add_text (h, "fuzz", (struct text){ (const char *)data, n }, &err) < 0) {
        if (!err.text[0])
            abort ();
        return 0;
    }
    if (hocon_resolve (h, &json, &err) < 0)
        return 0;
    if (json_check (json, &checked, &err) < 0)
        abort ();
    return 0;
}
