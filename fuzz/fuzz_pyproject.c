/* fuzz_pyproject.c - any bytes as the files with which a repository describes itself: a name that is found in them is one,
 * normalised.
 */
#include "base/file.h"
#include "base/path.h"
#include "run/pyproject.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput (const uint8_t *data, size_t n);

int LLVMFuzzerTestOneInput (const uint8_t *data, size_t n)
{
    static const char *const files[] = { "pyproject.toml", "setup.cfg", "setup.py" };
    cleanup_arena struct arena *a = arena_create ();
    char folder[] = "/tmp/fuzz-pyproject-XXXXXX";
    struct pyproject p;
    struct error err;

    if (!mkdtemp (folder))
        abort ();
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
        const char *path = path_join (a, folder, files[i]), *name;

        if (file_write (path, (struct text){ (const char *)data, n }, 0600, &err) < 0)
            abort ();
        (void)pyproject_find (a, folder, &p);
        name = pyproject_name (a, folder);
        if (name && (!*name || name[strspn (name, "abcdefghijklmnopqrstuvwxyz0123456789-")]))
            abort ();
        if (file_remove (path, &err) < 0)
            abort ();
    }
    if (folder_remove (folder, &err) < 0)
        abort ();
    return 0;
}
