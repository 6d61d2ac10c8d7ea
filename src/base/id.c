/* id.c - random ids from the kernel's generator. */
#include "base/id.h"

#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

struct id id_random (void)
{
    static const char digit[] = "0123456789abcdef";
    unsigned char b[16];
    struct id id;

    if (getrandom (b, sizeof (b), 0) != sizeof (b))
        abort ();
    b[6] = (unsigned char)((b[6] & 0x0f) | 0x40);
    b[8] = (unsigned char)((b[8] & 0x3f) | 0x80);
    for (int i = 0; i < 16; i++) {
        id.hex[2 * i] = digit[b[i] >> 4];
        id.hex[2 * i + 1] = digit[b[i] & 15];
    }
    id.hex[32] = 0;
    return id;
}

bool id_valid (const char *s)
{
    return s && strlen (s) == 32 && strspn (s, "0123456789abcdef") == 32;
}
