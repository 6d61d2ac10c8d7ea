/* utf8.c - see utf8.h. */
#include "base/utf8.h"

size_t utf8_take (const char *p, size_t n, uint32_t *ret_cp)
{
    static const uint32_t least[] = { 0, 0, 0x80, 0x800, 0x10000 };
    const unsigned char *u = (const unsigned char *)p;
    size_t len = u[0] < 0x80 ? 1 : u[0] >= 0xf0 ? 4 : u[0] >= 0xe0 ? 3 : 2;
    uint32_t cp = u[0];

    if ((u[0] >= 0x80 && u[0] < 0xc2) || u[0] > 0xf4 || n < len)
        return 0;
    if (len > 1)
        cp &= 0xffu >> (len + 1);
    for (size_t i = 1; i < len; i++) {
        if ((u[i] & 0xc0) != 0x80)
            return 0;
        cp = cp << 6 | (u[i] & 0x3f);
    }
    if (cp < least[len] || cp > 0x10ffff || (cp >= 0xd800 && cp < 0xe000))
        return 0;
    if (ret_cp)
        *ret_cp = cp;
    return len;
}

size_t utf8_put (char *out, uint32_t cp)
{
    size_t len = cp < 0x80 ? 1 : cp < 0x800 ? 2 : cp < 0x10000 ? 3 : 4;

    for (size_t i = len; i-- > 1; cp >>= 6)
        out[i] = (char)(0x80 | (cp & 0x3f));
    out[0] = (char)(len == 1 ? cp : (0xf00u >> len & 0xff) | cp);
    return len;
}

size_t utf8_letters (struct text t)
{
    size_t n = 0;

    for (size_t i = 0; i < t.n; i++)
        n += ((unsigned char)t.p[i] & 0xc0) != 0x80;
    return n;
}
