/* fuzz_multipart.c - any bytes as an upload with the boundary "B" (or one that the first line names): whole and in
 * pieces it must give the same parts. */
#include "server/multipart.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput (const uint8_t *data, size_t n);

static int begin (struct text name, struct text type, void *arg, struct error *err)
{
    (void)err;
    str_putc (arg, '<');
    str_add_text (arg, name);
    str_putc (arg, '|');
    str_add_text (arg, type);
    str_putc (arg, '>');
    return 0;
}
static int bytes (struct text t, void *arg, struct error *err)
{
    (void)err;
    str_add_text (arg, t);
    return 0;
}
static int end (void *arg, struct error *err)
{
    (void)err;
    str_putc (arg, ';');
    return 0;
}
static const struct multipart_events events = { begin, bytes, end };

static void run (struct str *out, struct text type, struct text in, size_t step)
{
    cleanup_arena struct arena *a = arena_create ();
    struct multipart m;
    struct error err;

    if (multipart_init (&m, a, type, &events, out, &err) < 0) {
        str_puts (out, "!");
        return;
    }
    for (size_t i = 0; i < in.n; i += step)
        if (multipart_feed (&m, (struct text){ in.p + i, in.n - i < step ? in.n - i : step }, &err) < 0) {
            str_puts (out, "!");
            return;
        }
    str_puts (out, multipart_complete (&m) ? "." : "~");
}

int LLVMFuzzerTestOneInput (const uint8_t *data, size_t n)
{
    struct str whole = { 0 }, pieces = { 0 };
    struct text in = { (const char *)data + 1, n - 1 }, type = TEXT ("multipart/form-data; boundary=B");
    const char *line;

    if (n < 2 || n > 1 << 14)
        return 0;
    if ((line = memchr (in.p, '\n', in.n)) && in.p[0] == 'm') {
        type = (struct text){ in.p, (size_t)(line - in.p) };
        in = (struct text){ line + 1, in.n - type.n - 1 };
    }
    run (&whole, type, in, in.n ? in.n : 1);
    run (&pieces, type, in, (size_t)data[0] % 32 + 1);
    if (!text_equal (str_text (&whole), str_text (&pieces)))
        abort ();
    str_done (&whole);
    str_done (&pieces);
    return 0;
}
