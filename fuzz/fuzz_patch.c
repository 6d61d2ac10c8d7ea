/* fuzz_patch.c - any bytes as a task's diff: what we read must lie within the text it names, and what we write of it for git must
 * hold every hunk line that was read, with the line ends we were asked for.
 */
#include "run/patch.h"

#include <stdint.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput (const uint8_t *data, size_t n);

static void within (struct text whole, struct text t)
{
    if (t.n && (t.p < whole.p || t.p + t.n > whole.p + whole.n))
        abort ();
}

int LLVMFuzzerTestOneInput (const uint8_t *data, size_t n)
{
    cleanup_arena struct arena *a = arena_create ();
    struct text diff = { (const char *)data, n };
    struct patch patch;
    struct error err;

    (void)patch_is (diff);
    if (patch_read (a, diff, &patch, &err) < 0)
        return 0;
    if (patch.text.n > n)
        abort ();
    for (size_t i = 0; i < patch.n; i++) {
        const struct patch_part *part = &patch.parts[i];

        within (patch.text, part->body);
        if (!part->header.n || part->header.p[part->header.n - 1] != '\n')
            abort ();
    }
    for (int how = 0; how < 4; how++) {
        struct text out = patch_write (a, &patch, "/nonexistent", how & 1, how & 2);

        if (out.n && out.p[out.n - 1] != '\n')
            abort ();
    }
    return 0;
}
