/* squeeze.c - see squeeze.h. */
#include "store/squeeze.h"

#include "store/varint.h"

#include <errno.h>
#include <zstd.h>

enum { AS_IS = 0, ZSTD = 1 };
#define LEAST 64 /* shorter texts are not worth it */

void squeeze (struct str *out, struct text raw)
{
    size_t at = out->n, head, n, room = ZSTD_compressBound (raw.n);

    if (raw.n >= LEAST) {
        str_putc (out, ZSTD);
        varint_add (out, raw.n);
        head = out->n;
        n = ZSTD_compress (str_room (out, room), room, raw.p, raw.n, 1);
        if (!ZSTD_isError (n) && n < raw.n) {
            out->n = head + n;
            return;
        }
        out->n = at;
    }
    str_putc (out, AS_IS);
    varint_add_text (out, raw);
}

int unsqueeze (struct arena *a, struct text in, size_t most, struct text *ret, struct error *err)
{
    struct reader r = reader_of (in);
    struct text how = reader_bytes (&r, 1);
    size_t n = reader_varint (&r);
    char *p;

    if (r.bad || n > most || (how.p[0] != AS_IS && how.p[0] != ZSTD))
        return error_set (err, EBADMSG, "stored bytes are damaged: bad head of %zu bytes", in.n);
    if (how.p[0] == AS_IS) {
        *ret = reader_bytes (&r, n);
        return r.bad ? error_set (err, EBADMSG, "stored bytes are damaged: %zu bytes missing", n) : 0;
    }
    p = arena_alloc (a, n + 1);
    if (ZSTD_decompress (p, n, r.p, (size_t)(r.end - r.p)) != n)
        return error_set (err, EBADMSG, "stored bytes are damaged: zstd cannot read them");
    *ret = (struct text){ p, n };
    return 0;
}
