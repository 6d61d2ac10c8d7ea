/* sweep_test.c - blobs that no row names go, those of uploads in progress stay; on a real data folder. */
#include "base/arena.h"
#include "base/file.h"
#include "base/path.h"
#include "base/unit.h"
#include "server/blob.h"
#include "server/sweep.h"
#include "services/files/files.h"
#include "store/store.h"

#include <stdio.h>
#include <stdlib.h>

static char folder[] = "/tmp/sweep_test.XXXXXX";
static const char *files;
static struct arena *arena;
static struct store *store;
static struct live live;
static atomic_bool stopping;

/* A blob in place; its id. */
static const char *blob (const char *bytes)
{
    struct blob b;
    struct error err = { 0 };

    assert_int_equal (blob_create (&b, files, &err), 0);
    assert_int_equal (blob_add (&b, text_of (bytes), &err), 0);
    assert_int_equal (blob_place (&b, &err), 0);
    return arena_strdup (arena, b.id.hex);
}

static bool there (const char *id)
{
    return file_exists (arena_printf (arena, "%s/%.2s/%s", files, id, id));
}

static int put (struct db *db, void *arg, struct error *err)
{
    for (const char *const *id = arg; *id; id++) {
        struct file_row row = { .path = arena_printf (arena, "files/%s", *id),
                                .blob = *id,
                                .sha256 = "00",
                                .type = "text/plain",
                                .user = "u",
                                .created = 1 };

        if (file_put (db, **id < '8' ? "c" : "d", &row, err) < 0) /* two companies */
            return -1;
    }
    return 0;
}

static void store_rows (const char **ids)
{
    struct error err = { 0 };

    assert_int_equal (store_write_wait (store, put, ids, &err), 0);
}

/* As blob, but nobody waits for the disk. */
static const char *quick_blob (void)
{
    struct id id = id_random ();
    struct error err = { 0 };
    const char *path = arena_printf (arena, "%s/%.2s", files, id.hex);
    FILE *f;

    assert_int_equal (folder_make (path, 0700, &err), 0);
    f = fopen (path_join (arena, path, id.hex), "w");
    assert_non_null (f);
    fclose (f);
    return arena_strdup (arena, id.hex);
}

static int64_t sweep (void)
{
    struct error err = { 0 };
    int64_t removed = -1;
    int rc = sweep_blobs (store, files, &live, &stopping, &removed, &err);

    if (rc < 0)
        fail_msg ("%s", err.text);
    assert_int_equal (rc, stopping);
    return removed;
}

static void write_file (const char *path)
{
    struct error err;

    assert_int_equal (file_write (path, TEXT ("mine"), 0600, &err), 0);
}

static void only_what_nothing_names (void **state)
{
    enum { MANY = 2500 }; /* more than a page of rows */
    const char *kept[MANY + 1], *uploading, *orphan, *other, *strange;
    struct live_blob one = { 0 };

    (void)state;
    for (int i = 0; i < MANY; i++)
        kept[i] = quick_blob ();
    kept[MANY] = NULL;
    store_rows (kept);
    assert_int_equal (sweep (), 0);
    orphan = blob ("its row was never written");
    other = blob ("neither was this one's");
    uploading = blob ("its row comes soon");
    live_add (&live, &one, uploading);
    strange = arena_printf (arena, "%s/%.2s/not-one-of-ours", files, orphan);
    write_file (strange);
    assert_int_equal (sweep (), 2);
    assert_false (there (orphan));
    assert_false (there (other));
    assert_true (there (uploading));
    assert_true (file_exists (strange));
    for (int i = 0; i < MANY; i++)
        assert_true (there (kept[i]));
    live_remove (&live, &one);
    live_remove (&live, &one); /* twice is fine */
    assert_int_equal (sweep (), 1);
    assert_false (there (uploading));
}

static void three_in_progress (void **state)
{
    struct live_blob b[3] = { 0 };
    const char *id[3];

    (void)state;
    for (int i = 0; i < 3; i++)
        live_add (&live, &b[i], id[i] = blob ("x"));
    live_remove (&live, &b[1]);
    assert_int_equal (sweep (), 1);
    assert_true (there (id[0]) && !there (id[1]) && there (id[2]));
    live_remove (&live, &b[2]);
    live_remove (&live, &b[0]);
    assert_null (live.first);
    assert_int_equal (sweep (), 2);
}

static void told_to_stop (void **state)
{
    const char *orphan = blob ("x");

    (void)state;
    stopping = true;
    assert_int_equal (sweep (), 0);
    assert_true (there (orphan));
    stopping = false;
    assert_int_equal (sweep (), 1);
}

/* Files beside a database that knows next to none of them: it is the database that is wrong. */
static void another_database (void **state)
{
    const char *orphans[3], *known[2] = { 0 };
    struct error err = { 0 };
    int64_t removed = -1;
    char new_folder[] = "/tmp/sweep_test.XXXXXX";
    struct store_options o = { .folder = mkdtemp (new_folder), .readers = 1, .sync_off = true };
    struct store *before = store;
    const char *files_before = files;

    (void)state;
    assert_int_equal (store_open (&o, &store, &err), 0);
    files = path_join (arena, new_folder, "files");
    assert_int_equal (blobs_open (files, &err), 0);
    for (int i = 0; i < 3; i++)
        orphans[i] = blob ("x");
    known[0] = blob ("y");
    store_rows (known);
    assert_int_equal (sweep_blobs (store, files, &live, &stopping, &removed, &err), -1);
    assert_non_null (strstr (err.text, "3 blobs"));
    assert_int_equal (removed, 0);
    for (int i = 0; i < 3; i++)
        assert_true (there (orphans[i]));
    assert_true (there (known[0]));
    store_close (store);
    store = before;
    files = files_before;
    assert_int_equal (folder_remove (new_folder, &err), 0);
}

/* -- beside uploads, some of which take the place of others, some of which are given up */
enum { UPLOADERS = 3, UPLOADS = 60, PATHS = 20 };
static atomic_int at_work;

struct upload {
    struct arena *arena;
    const char *path, *blob;
};

static int put_one (struct db *db, void *arg, struct error *err)
{
    const struct upload *u = arg;
    struct file_row row = {
        .path = u->path, .blob = u->blob, .sha256 = "00", .type = "text/plain", .user = "u", .created = 1
    };

    return file_put (db, "c", &row, err);
}

static void *upload_some (void *arg)
{
    cleanup_arena struct arena *a = arena_create ();
    struct error err = { 0 };

    for (int i = 0; i < UPLOADS; i++) {
        struct live_blob in_progress = { 0 };
        struct blob b;
        struct upload u = { .arena = a,
                            .path = arena_printf (a, "beside/%d/%d", *(const int *)arg, i % PATHS) };

        if (blob_create (&b, files, &err) < 0)
            abort ();
        live_add (&live, &in_progress, b.id.hex);
        if (blob_place (&b, &err) < 0)
            abort ();
        u.blob = b.id.hex;
        if (i % 5 == 4) { /* given up */
            live_remove (&live, &in_progress);
            blob_drop (&b);
            continue;
        }
        if (store_write_wait (store, put_one, &u, &err) < 0)
            abort ();
        live_remove (&live, &in_progress);
    }
    at_work--;
    return NULL;
}

static int look_at_rows (struct db *db, void *arg, struct error *err)
{
    for (int n = 0; n < UPLOADERS; n++)
        for (int i = 0; i < PATHS; i++) {
            struct file_row row;
            int rc = file_find (db, arena, "c", arena_printf (arena, "beside/%d/%d", n, i), &row, err);

            if (rc < 0)
                return -1;
            *(int *)arg += rc;
            assert_true (!rc || there (row.blob));
        }
    return 0;
}

static void beside_uploads (void **state)
{
    pthread_t threads[UPLOADERS];
    int numbers[UPLOADERS], found = 0;
    struct error err = { 0 };

    (void)state;
    at_work = UPLOADERS;
    for (int i = 0; i < UPLOADERS; i++) {
        numbers[i] = i;
        assert_int_equal (pthread_create (&threads[i], NULL, upload_some, &numbers[i]), 0);
    }
    while (at_work)
        sweep ();
    for (int i = 0; i < UPLOADERS; i++)
        pthread_join (threads[i], NULL);
    assert_int_equal (store_read (store, look_at_rows, &found, &err), 0);
    assert_int_equal (found, UPLOADERS * PATHS * 4 / 5); /* every fifth path was always given up */
    sweep ();
    found = 0;
    assert_int_equal (store_read (store, look_at_rows, &found, &err), 0);
    assert_int_equal (sweep (), 0);
}

static int set_up (void **state)
{
    struct store_options o = { .folder = mkdtemp (folder), .readers = 1, .sync_off = true };
    struct error err = { 0 };

    (void)state;
    arena = arena_create ();
    files = path_join (arena, folder, "files");
    live_init (&live);
    return store_open (&o, &store, &err) < 0 || blobs_open (files, &err) < 0 ? -1 : 0;
}

static int tear_down (void **state)
{
    struct error err;

    (void)state;
    store_close (store);
    live_done (&live);
    arena_destroy (arena);
    return folder_remove (folder, &err);
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (only_what_nothing_names),
        cmocka_unit_test (three_in_progress),
        cmocka_unit_test (told_to_stop),
        cmocka_unit_test (beside_uploads),
        cmocka_unit_test (another_database),
    };
    return cmocka_run_group_tests (tests, set_up, tear_down);
}
