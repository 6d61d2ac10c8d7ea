/* find.c - name and version -> the implementation, by bisection of the sorted table. A file of its own: programs
 * that only decode and encode (clients) need no table of handlers. */
#include "wire/wire.h"

static int name_compare (const char *have, struct text want)
{
    size_t n = strlen (have);
    int c = memcmp (have, want.p, n < want.n ? n : want.n);

    return c ? c : (n > want.n) - (n < want.n);
}

const struct wire_call *wire_find (struct text name, int version)
{
    size_t low = 0, high = wire_calls_n; /* rows before low are <= (name, version), rows from high on are > */

    if (!name.p)
        return NULL;
    while (low < high) {
        size_t mid = low + (high - low) / 2;
        int c = name_compare (wire_calls[mid].name, name);

        if (c < 0 || (c == 0 && wire_calls[mid].version <= version))
            low = mid + 1;
        else
            high = mid;
    }
    return low && name_compare (wire_calls[low - 1].name, name) == 0 ? &wire_calls[low - 1] : NULL;
}
