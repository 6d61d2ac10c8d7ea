/* file.c - see file.h. */
#include "base/file.h"

#include "base/id.h"
#include "base/path.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

int fd_write (int fd, const void *p, size_t n, const char *what, struct error *err)
{
    const char *at = p;

    while (n) {
        ssize_t w = write (fd, at, n);

        if (w < 0 && errno == EINTR)
            continue;
        if (w < 0)
            return error_errno (err, "write %s", what);
        at += w;
        n -= (size_t)w;
    }
    return 0;
}

int fd_read (int fd, size_t max, struct str *ret, const char *what, struct error *err)
{
    size_t start = ret->n;

    for (;;) {
        ssize_t r = read (fd, str_room (ret, 65536), 65536);

        if (r < 0 && errno == EINTR)
            continue;
        if (r < 0) {
            ret->n = start;
            return error_errno (err, "read %s", what);
        }
        if (!r)
            break;
        ret->n += (size_t)r;
        if (ret->n - start > max) {
            ret->n = start;
            return error_set (err, EFBIG, "read %s: longer than %zu bytes", what, max);
        }
    }
    *str_room (ret, 1) = '\0';
    return 0;
}

int file_read (const char *path, size_t max, struct str *ret, struct error *err)
{
    cleanup_close int fd = open (path, O_RDONLY | O_CLOEXEC);
    struct stat st;

    if (fd < 0)
        return error_errno (err, "open %s", path);
    if (fstat (fd, &st) < 0)
        return error_errno (err, "look at %s", path);
    if (S_ISDIR (st.st_mode))
        return error_set (err, EISDIR, "read %s: it is a folder", path);
    if (S_ISREG (st.st_mode) && (uint64_t)st.st_size > max)
        return error_set (err, EFBIG, "read %s: %lld bytes, at most %zu are read", path,
                          (long long)st.st_size, max);
    return fd_read (fd, max, ret, path, err);
}

static int write_synced (const char *path, struct text content, mode_t mode, struct error *err)
{
    cleanup_close int fd = open (path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

    if (fd < 0)
        return error_errno (err, "create %s", path);
    if (fd_write (fd, content.p, content.n, path, err) < 0)
        return -1;
    if (fchmod (fd, mode) < 0)
        return error_errno (err, "set mode of %s", path);
    if (fsync (fd) < 0)
        return error_errno (err, "sync %s", path);
    return 0;
}

int file_write (const char *path, struct text content, mode_t mode, struct error *err)
{
    cleanup_arena struct arena *a = arena_create ();
    struct id id = id_random ();
    char *temporary = arena_printf (a, "%s.%.8s.tmp", path, id.hex);

    if (write_synced (temporary, content, mode, err) < 0) {
        unlink (temporary);
        return -1;
    }
    if (rename (temporary, path) < 0) {
        error_errno (err, "rename %s to %s", temporary, path);
        unlink (temporary);
        return -1;
    }
    return folder_sync (path_folder (a, path), err);
}

int file_append (const char *path, struct text content, mode_t mode, struct error *err)
{
    cleanup_close int fd = open (path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, mode);

    if (fd < 0)
        return error_errno (err, "open %s", path);
    return fd_write (fd, content.p, content.n, path, err);
}

int file_remove (const char *path, struct error *err)
{
    if (unlink (path) < 0 && errno != ENOENT)
        return error_errno (err, "remove %s", path);
    return 0;
}

bool file_exists (const char *path)
{
    struct stat st;

    return stat (path, &st) == 0;
}

bool folder_exists (const char *path)
{
    struct stat st;

    return stat (path, &st) == 0 && S_ISDIR (st.st_mode);
}

int64_t file_size (const char *path)
{
    struct stat st;

    return stat (path, &st) == 0 ? (int64_t)st.st_size : -1;
}

int folder_make (const char *path, mode_t mode, struct error *err)
{
    char part[PATH_MAX];
    size_t n = strlen (path);

    if (!n || n >= sizeof (part))
        return error_set (err, n ? ENAMETOOLONG : EINVAL, "make folder '%.80s': bad path", path);
    memcpy (part, path, n + 1);
    for (char *slash = strchr (part + 1, '/'); slash; slash = strchr (slash + 1, '/')) {
        *slash = '\0';
        if (mkdir (part, mode) < 0 && errno != EEXIST)
            return error_errno (err, "make folder %s", part);
        *slash = '/';
    }
    if (mkdir (part, mode) < 0 && errno != EEXIST)
        return error_errno (err, "make folder %s", part);
    if (!folder_exists (path))
        return error_set (err, ENOTDIR, "make folder %s: something else has that name", path);
    return 0;
}

int folder_sync (const char *path, struct error *err)
{
    cleanup_close int fd = open (path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    if (fd < 0 || fsync (fd) < 0)
        return error_errno (err, "sync folder %s", path);
    return 0;
}

/* Remove what is in the folder open as fd (taken over). A folder whose mode locks us out is opened up first, as pip
 * and Go caches make them read-only. */
static int remove_inside (int fd, const char *path, struct error *err)
{
    DIR *dir = fdopendir (fd);
    struct dirent *e;
    int rc = 0;

    if (!dir) {
        error_errno (err, "read folder %s", path);
        close (fd);
        return -1;
    }
    while (!rc && (e = readdir (dir))) {
        if (!strcmp (e->d_name, ".") || !strcmp (e->d_name, ".."))
            continue;
        if (unlinkat (fd, e->d_name, 0) == 0 || errno == ENOENT)
            continue;
        if (errno == EACCES && fchmod (fd, 0700) == 0 && unlinkat (fd, e->d_name, 0) == 0)
            continue;
        if (errno != EISDIR && errno != EPERM) {
            rc = error_errno (err, "remove %s/%s", path, e->d_name);
            break;
        }
        int sub = openat (fd, e->d_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        if (sub < 0 && errno == EACCES && fchmodat (fd, e->d_name, 0700, 0) == 0)
            sub = openat (fd, e->d_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        if (sub < 0)
            rc = error_errno (err, "open folder %s/%s", path, e->d_name);
        else if (remove_inside (sub, e->d_name, err) < 0)
            rc = -1;
        else if (unlinkat (fd, e->d_name, AT_REMOVEDIR) < 0 && errno != ENOENT)
            rc = error_errno (err, "remove folder %s/%s", path, e->d_name);
    }
    closedir (dir);
    return rc;
}

int folder_remove (const char *path, struct error *err)
{
    int fd = open (path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

    if (fd < 0 && errno == ENOENT)
        return 0;
    if (fd < 0 && (errno == ENOTDIR || errno == ELOOP))
        return file_remove (path, err);
    if (fd < 0)
        return error_errno (err, "open folder %s", path);
    if (remove_inside (fd, path, err) < 0)
        return -1;
    if (rmdir (path) < 0 && errno != ENOENT)
        return error_errno (err, "remove folder %s", path);
    return 0;
}
