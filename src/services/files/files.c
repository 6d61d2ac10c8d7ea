/* files.c - see files.h. */
#include "services/files/files.h"

#include "base/clock.h"
#include "base/url.h"
#include "base/utf8.h"
#include "services/call.h"
#include "sql/sql.h"
#include "store/job.h"
#include "store/store.h"
#include "wire/errors.h"

#include <stdio.h>
#include <string.h>

/* -- paths */
static bool part_ok (const char *p, size_t n)
{
    return n > 0 && !(n == 1 && p[0] == '.') && !(n == 2 && p[0] == '.' && p[1] == '.');
}

static bool letters_ok (struct text t)
{
    for (size_t i = 0, len; i < t.n; i += len) {
        len = utf8_take (t.p + i, t.n - i, NULL);
        if (!len || (unsigned char)t.p[i] < 0x20 || t.p[i] == 0x7f)
            return false;
    }
    return true;
}

int file_path_take (struct arena *a, struct text sent, const char **ret, struct error *err)
{
    while (sent.n && *sent.p == '/')
        sent = (struct text){ sent.p + 1, sent.n - 1 };
    if (!sent.n)
        return error_set (err, ERR_FIELDS_VALUE, "the path of the file is empty");
    if (sent.n > FILE_PATH_MAX)
        return error_set (err, ERR_FIELDS_VALUE, "the path of the file is longer than %d bytes",
                          FILE_PATH_MAX);
    if (!letters_ok (sent))
        return error_set (err, ERR_FIELDS_VALUE,
                          "the path of the file holds a control character or is not UTF-8");
    for (const char *p = sent.p, *end = sent.p + sent.n; p <= end;) {
        const char *slash = p < end ? memchr (p, '/', (size_t)(end - p)) : NULL;
        const char *stop = slash ? slash : end;

        if (!part_ok (p, (size_t)(stop - p)))
            return error_set (err, ERR_FIELDS_VALUE,
                              "the path of the file has an empty part, \".\" or \"..\"");
        p = stop + 1;
    }
    *ret = arena_text (a, sent);
    return 0;
}

static int hex (char c)
{
    return c >= '0' && c <= '9' ? c - '0' : (c | 32) >= 'a' && (c | 32) <= 'f' ? (c | 32) - 'a' + 10 : -1;
}

const char *file_path_of_url (struct arena *a, const char *files_url, const char *url)
{
    size_t n = files_url ? strlen (files_url) : 0, k = 0;
    const char *path = NULL;
    struct error err = { 0 };

    if (!n || !url || strncmp (url, files_url, n) != 0 || url[n] != '/')
        return NULL;
    char *out = arena_alloc (a, strlen (url + n) + 1);

    for (const char *p = url + n; *p && *p != '?' && *p != '#'; p++, k++) {
        bool code = *p == '%' && hex (p[1]) >= 0 && hex (p[2]) >= 0;

        out[k] = code ? (char)(hex (p[1]) << 4 | hex (p[2])) : *p;
        p += code ? 2 : 0;
    }
    return file_path_take (a, (struct text){ out, k }, &path, &err) < 0 ? NULL : path;
}

bool file_is_ours (struct arena *a, const struct server_facts *facts, const char *owner, const char *url)
{
    const char *pages[] = { facts ? facts->web_url : NULL, facts ? facts->api_url : NULL };

    if (!url || !url_path (a, url))
        return false;
    if (facts && file_path_of_url (a, facts->files_url, url))
        return true;
    for (int i = 0; i < 2; i++)
        if (pages[i] && file_path_of_url (a, arena_printf (a, "%s/files", pages[i]), url))
            return true;
    return owner && *owner && strstr (url, owner);
}

/* -- rows */
int file_find (struct db *db, struct arena *a, const char *company, const char *path, struct file_row *ret,
               struct error *err)
{
    cleanup_rows struct rows rows = { 0 };
    int rc;

    if (db_query (db, &sql_file_find, &rows, err, V_STR (company), V_STR (path)) < 0)
        return -1;
    if ((rc = db_next (&rows, err)) <= 0)
        return rc;
    *ret = (struct file_row){ .path = arena_strdup (a, path),
                              .blob = row_str (&rows, 0, a),
                              .size = row_int (&rows, 1),
                              .sha256 = row_str (&rows, 2, a),
                              .type = row_str (&rows, 3, a),
                              .created = row_int (&rows, 4),
                              .user = row_str (&rows, 5, a) };
    return 1;
}

int file_blobs_next (struct db *db, struct arena *a, struct file_cursor *at, const char **ret, size_t max,
                     size_t *ret_n, struct error *err)
{
    cleanup_rows struct rows rows = { 0 };
    size_t n = 0;
    int more;

    if (db_query (db, &sql_file_page, &rows, err, V_STR (at->company), V_STR (at->path),
                  V_INT ((int64_t)max)) < 0)
        return -1;
    while ((more = db_next (&rows, err)) > 0) {
        *at = (struct file_cursor){ row_str (&rows, 0, a), row_str (&rows, 1, a) };
        ret[n++] = row_str (&rows, 2, a);
    }
    if (more < 0)
        return -1;
    *ret_n = n;
    return 0;
}

static int retire_blob (struct db *db, const char *company, const char *blob, int64_t now, struct error *err)
{
    char body[64];

    snprintf (body, sizeof (body), "{\"blob\":\"%.32s\"}", blob);
    return job_add (db, company, FILE_JOB_BLOB, text_of (body), now, err);
}

int file_put (struct db *db, const char *company, const struct file_row *row, struct error *err)
{
    cleanup_arena struct arena *a = arena_create ();
    struct file_row old;
    int rc = file_find (db, a, company, row->path, &old, err);

    if (rc < 0 || (rc == 1 && retire_blob (db, company, old.blob, row->created, err) < 0))
        return -1;
    return db_exec (db, &sql_file_put, err, V_STR (company), V_STR (row->path), V_STR (row->blob),
                    V_INT (row->size), V_STR (row->sha256), V_STR (row->type), V_INT (row->created),
                    V_STR (row->user)) < 0
               ? -1
               : 0;
}

int file_remove_row (struct db *db, const char *company, const char *path, int64_t now, struct error *err)
{
    cleanup_arena struct arena *a = arena_create ();
    struct file_row old;
    int rc = file_find (db, a, company, path, &old, err);

    if (rc <= 0)
        return rc;
    if (retire_blob (db, company, old.blob, now, err) < 0 ||
        db_exec (db, &sql_file_remove, err, V_STR (company), V_STR (path)) < 0)
        return -1;
    return 1;
}

/* "folder/" up to, not including, "folder0": '0' is the character behind '/'. */
int64_t file_remove_folder (struct db *db, const char *company, const char *folder, int64_t now,
                            struct error *err)
{
    cleanup_arena struct arena *a = arena_create ();
    struct value from = V_STR (arena_printf (a, "%s/", folder)), to = V_STR (arena_printf (a, "%s0", folder));
    cleanup_rows struct rows rows = { 0 };
    int rc;

    if (db_query (db, &sql_file_blobs_between, &rows, err, V_STR (company), from, to) < 0)
        return -1;
    while ((rc = db_next (&rows, err)) > 0)
        if (retire_blob (db, company, row_str (&rows, 0, a), now, err) < 0)
            return -1;
    if (rc < 0)
        return -1;
    return db_exec (db, &sql_file_remove_between, err, V_STR (company), from, to);
}

/* -- who names them */
int file_used_by_model (struct db *db, int64_t n, const char *uri, struct error *err)
{
    return uri && db_exec (db, &sql_file_use_model, err, V_INT (n), V_STR (uri)) < 0 ? -1 : 0;
}

int file_user_gone (struct db *db, const char *kind, int64_t n, struct error *err)
{
    return db_exec (db, &sql_file_use_drop, err, V_STR (kind), V_INT (n)) < 0 ? -1 : 0;
}

int file_used_by_task (struct db *db, int64_t n, struct text execution, struct error *err)
{
    if (file_user_gone (db, "task", n, err) < 0)
        return -1;
    return db_exec (db, &sql_file_use_task, err, V_INT (n), V_TEXT (execution)) < 0 ? -1 : 0;
}

/* "a/b/c": is "a", "a/b" or all of it named? 1, 0, -1 */
static int is_used (struct db *db, const char *path, struct error *err)
{
    for (size_t n = 0; n == 0 || path[n - 1];) {
        cleanup_rows struct rows r = { 0 };
        struct text t = { path, n + strcspn (path + n, "/") };
        int rc;

        if (db_query (db, &sql_file_use_find, &r, err, V_TEXT (t)) < 0 || (rc = db_next (&r, err)) < 0)
            return -1;
        if (rc)
            return 1;
        n = t.n + 1;
    }
    return 0;
}

static int remove_unused (struct db *db, const char *company, const char *path, int64_t now,
                          struct error *err)
{
    int used = is_used (db, path, err);

    return used ? used > 0 ? 0 : -1 : file_remove_row (db, company, path, now, err);
}

int64_t file_remove_unused (struct db *db, const char *company, const char *path, const char *url,
                            struct error *err)
{
    cleanup_arena struct arena *a = arena_create ();
    const char *named = url_path (a, url); /* longer where the file server's address has a path itself */
    int used = named ? is_used (db, named, err) : 0;
    int64_t now = clock_now (), n;
    struct str below = { .arena = a }; /* paths, each with its NUL */
    cleanup_rows struct rows r = { 0 };
    struct value from = V_STR (arena_printf (a, "%s/", path)), to = V_STR (arena_printf (a, "%s0", path));
    int rc;

    if (used)
        return used > 0 ? 0 : -1;
    if ((n = remove_unused (db, company, path, now, err)) < 0 ||
        db_query (db, &sql_file_paths_between, &r, err, V_STR (company), from, to) < 0)
        return -1;
    while ((rc = db_next (&r, err)) > 0) {
        str_add_text (&below, row_text (&r, 0));
        str_putc (&below, '\0');
    }
    for (size_t i = 0; rc == 0 && i < below.n; i += strlen (below.p + i) + 1) {
        rc = remove_unused (db, company, below.p + i, now, err);
        n += rc > 0;
        rc = rc < 0 ? -1 : 0;
    }
    return rc < 0 ? -1 : n;
}
