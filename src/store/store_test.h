/* store_test.h - the bench of tests that want a real store: one in a folder of its own, closed and removed behind each
 * test. The state of such a test is a struct fixture. */
#pragma once
#include "base/unit.h"

#include "base/file.h"
#include "sql/sql.h"
#include "store/store.h"

#include <stdlib.h>
#include <string.h>

struct fixture {
    struct store *store;
    char folder[64];
};

static inline struct store *fixture_open (const char *folder)
{
    struct store *s = NULL;
    struct error err = { 0 };

    if (store_open (&(struct store_options){ .folder = folder, .readers = 3, .sync_off = true }, &s, &err) <
        0)
        fail_msg ("%s", err.text);
    return s;
}

static inline int fixture_set_up (void **state)
{
    struct fixture *f = calloc (1, sizeof (*f));

    strcpy (f->folder, "/tmp/store_test.XXXXXX");
    if (!mkdtemp (f->folder))
        return -1;
    f->store = fixture_open (f->folder);
    *state = f;
    return 0;
}

static inline int fixture_tear_down (void **state)
{
    struct fixture *f = *state;
    struct error err;
    int rc;

    store_close (f->store);
    rc = folder_remove (f->folder, &err);
    free (f);
    return rc;
}

static inline int put_key (struct db *db, void *arg, struct error *err)
{
    return db_exec (db, &sql_setting_put, err, V_STR (""), V_STR (arg), V_STR ("1")) < 0 ? -1 : 0;
}

/* A setting of this name. */
static inline void put (struct store *s, const char *key)
{
    struct error err = { 0 };

    if (store_write_wait (s, put_key, (void *)key, &err) < 0)
        fail_msg ("%s", err.text);
}

static inline int has_key (struct db *db, void *arg, struct error *err)
{
    cleanup_rows struct rows r = { 0 };

    if (db_query (db, &sql_setting_get, &r, err, V_STR (""), V_STR (arg)) < 0)
        return -1;
    return db_next (&r, err);
}

/* Is there a setting of this name? */
static inline bool there (struct store *s, const char *key)
{
    struct error err = { 0 };
    int rc = store_read (s, has_key, (void *)key, &err);

    if (rc < 0)
        fail_msg ("%s", err.text);
    return rc == 1;
}
