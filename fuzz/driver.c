/* driver.c - replay files through a fuzzer's entry, without libFuzzer: so the corpora run as unit tests under any
 * compiler. Arguments: files, or folders whose files are taken.
 */
#include <dirent.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

int LLVMFuzzerTestOneInput (const uint8_t *data, size_t n);

static int replay_file (const char *path)
{
    FILE *f = fopen (path, "rb");
    struct stat st;
    uint8_t *p;
    size_t n;

    if (!f || fstat (fileno (f), &st) < 0) {
        fprintf (stderr, "%s: %s\n", path, strerror (errno));
        return -1;
    }
    p = malloc ((size_t)st.st_size + 1); /* of its exact size, so that a sanitizer sees every byte too far */
    n = p ? fread (p, 1, (size_t)st.st_size, f) : 0;
    fclose (f);
    p = realloc (p, n ? n : 1);
    LLVMFuzzerTestOneInput (p, n);
    free (p);
    return 1;
}

static int replay (const char *path)
{
    DIR *d = opendir (path);
    struct dirent *e;
    int count = 0;

    if (!d)
        return replay_file (path);
    while ((e = readdir (d))) {
        char name[4096];
        int one;

        if (e->d_name[0] == '.')
            continue;
        snprintf (name, sizeof (name), "%s/%s", path, e->d_name);
        one = replay_file (name);
        if (one < 0)
            return -1;
        count += one;
    }
    closedir (d);
    return count;
}

int main (int argc, char **argv)
{
    int count = 0;

    for (int i = 1; i < argc; i++) {
        int n = replay (argv[i]);

        if (n < 0)
            return 1;
        count += n;
    }
    printf ("%d inputs\n", count);
    return count ? 0 : 1; /* an empty corpus tests nothing */
}
