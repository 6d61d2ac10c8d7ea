/* assets.h - the table of embedded files that tools/webgen.py makes (sorted by path). */
#pragma once
#include <stdbool.h>
#include <stddef.h>

struct asset {
    const char *path; /* "/index.html" */
    const char *type;
    const char *etag;               /* with quotes */
    bool immutable;                 /* its name holds a hash of its content */
    const unsigned char *data, *gz; /* gz: the same, compressed, or NULL */
    const unsigned char *data_end, *gz_end;
};
extern const struct asset assets[];
extern const size_t assets_n;
