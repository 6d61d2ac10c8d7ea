/* blob.c - see blob.h. */
#include "server/blob.h"

#include "base/file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static void path_tmp (char *to, const char *folder, const char *id)
{
    snprintf (to, PATH_MAX, "%s/tmp/%s", folder, id);
}

static void path_place (char *to, const char *folder, const char *id)
{
    snprintf (to, PATH_MAX, "%s/%.2s/%s", folder, id, id);
}

int blobs_open (const char *folder, struct error *err)
{
    char tmp[PATH_MAX], one[PATH_MAX];
    struct dirent *e;
    DIR *d;

    snprintf (tmp, sizeof (tmp), "%s/tmp", folder);
    if (folder_make (tmp, 0700, err) < 0)
        return -1;
    if (!(d = opendir (tmp)))
        return error_errno (err, "open %s", tmp);
    while ((e = readdir (d)))
        if (id_valid (e->d_name)) {
            path_tmp (one, folder, e->d_name);
            unlink (one);
        }
    closedir (d);
    return 0;
}

int blob_create (struct blob *b, const char *folder, struct error *err)
{
    char path[PATH_MAX];

    *b = (struct blob){ .folder = folder, .id = id_random (), .fd = -1 };
    path_tmp (path, folder, b->id.hex);
    if ((b->fd = open (path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600)) < 0)
        return error_errno (err, "make %s", path);
    b->digest = digest_stream_create ();
    return 0;
}

int blob_add (struct blob *b, struct text bytes, struct error *err)
{
    if (fd_write (b->fd, bytes.p, bytes.n, "the uploaded file", err) < 0)
        return -1;
    digest_stream_add (b->digest, bytes.p, bytes.n);
    b->size += (int64_t)bytes.n;
    return 0;
}

static int rename_into_place (struct blob *b, struct error *err)
{
    char from[PATH_MAX], to[PATH_MAX], folder[PATH_MAX];

    path_tmp (from, b->folder, b->id.hex);
    path_place (to, b->folder, b->id.hex);
    snprintf (folder, sizeof (folder), "%s/%.2s", b->folder, b->id.hex);
    if (mkdir (folder, 0700) == 0) {
        if (folder_sync (b->folder, err) < 0)
            return -1;
    } else if (errno != EEXIST) {
        return error_errno (err, "make %s", folder);
    }
    if (rename (from, to) < 0)
        return error_errno (err, "rename %s to %s", from, to);
    b->placed = true;
    return folder_sync (folder, err);
}

int blob_place (struct blob *b, struct error *err)
{
    unsigned char sum[DIGEST_SHA256];
    int fd = b->fd;

    if (fsync (fd) < 0)
        return error_errno (err, "write the uploaded file");
    b->fd = -1;
    if (close (fd) < 0)
        return error_errno (err, "write the uploaded file");
    digest_stream_done (b->digest, sum);
    b->digest = NULL;
    digest_hex (sum, sizeof (sum), b->sha256);
    return rename_into_place (b, err);
}

void blob_drop (struct blob *b)
{
    unsigned char sum[DIGEST_SHA256];
    char path[PATH_MAX];

    if (!b->folder)
        return;
    if (b->fd >= 0)
        close (b->fd);
    if (b->digest)
        digest_stream_done (b->digest, sum);
    if (b->placed)
        path_place (path, b->folder, b->id.hex);
    else
        path_tmp (path, b->folder, b->id.hex);
    unlink (path);
    *b = (struct blob){ .fd = -1 };
}

int blob_open (const char *folder, const char *id, int *ret_fd, int64_t *ret_size, struct error *err)
{
    char path[PATH_MAX];
    struct stat st;
    int fd;

    path_place (path, folder, id);
    if ((fd = open (path, O_RDONLY | O_CLOEXEC)) < 0)
        return error_errno (err, "open %s", path);
    if (fstat (fd, &st) < 0) {
        close (fd);
        return error_errno (err, "look at %s", path);
    }
    *ret_fd = fd;
    *ret_size = st.st_size;
    return 0;
}

int blob_remove (const char *folder, const char *id, struct error *err)
{
    char path[PATH_MAX];

    path_place (path, folder, id);
    return file_remove (path, err);
}
