/* path.c - see path.h. */
#include "base/path.h"

#include "base/str.h"

#include <string.h>

bool path_absolute (const char *path)
{
    return path[0] == '/';
}

char *path_join (struct arena *a, const char *left, const char *right)
{
    size_t n = strlen (left);

    if (!n || path_absolute (right))
        return arena_strdup (a, right);
    if (!*right)
        return arena_strdup (a, left);
    return arena_printf (a, left[n - 1] == '/' ? "%s%s" : "%s/%s", left, right);
}

char *path_clean (struct arena *a, const char *path)
{
    bool root = path_absolute (path);
    char *out = arena_alloc (a, strlen (path) + 2);
    size_t n = 0, floor = 0; /* floor: what ".." may not take away */

    if (root)
        out[n++] = '/', floor = 1;
    for (const char *p = path; *p;) {
        size_t len = strcspn (p, "/");

        if (len == 2 && p[0] == '.' && p[1] == '.') {
            if (n > floor) {
                while (n > floor && out[n - 1] != '/')
                    n--;
                if (n > floor)
                    n--;
            } else if (!root) {
                if (n)
                    out[n++] = '/';
                memcpy (out + n, "..", 2);
                floor = n += 2;
            }
        } else if (len && !(len == 1 && p[0] == '.')) {
            if (n && out[n - 1] != '/')
                out[n++] = '/';
            memcpy (out + n, p, len);
            n += len;
        }
        p += len + (p[len] == '/');
    }
    if (!n)
        out[n++] = '.';
    out[n] = '\0';
    return out;
}

const char *path_base (const char *path)
{
    const char *slash = strrchr (path, '/');

    return slash ? slash + 1 : path;
}

char *path_folder (struct arena *a, const char *path)
{
    const char *slash = strrchr (path, '/');

    if (!slash)
        return arena_strdup (a, ".");
    while (slash > path && slash[-1] == '/')
        slash--;
    return slash == path ? arena_strdup (a, "/") : arena_strndup (a, path, (size_t)(slash - path));
}

const char *path_extension (const char *path)
{
    const char *base = path_base (path), *dot = strrchr (base, '.');

    return dot && dot != base ? dot : base + strlen (base);
}

bool path_inside (const char *clean_path, const char *clean_root)
{
    size_t n = strlen (clean_root);

    if (!strcmp (clean_root, "/"))
        return path_absolute (clean_path);
    return !strncmp (clean_path, clean_root, n) && (clean_path[n] == '/' || !clean_path[n]);
}

char *path_home (struct arena *a, const char *path, const char *home)
{
    if (path[0] == '~' && (path[1] == '/' || !path[1]) && home)
        return path_join (a, home, path[1] ? path + 2 : "");
    return arena_strdup (a, path);
}
