/* store_test.h - the bench of tests that want a real store: one in a folder of its own, closed and removed behind each
 * test. The state of such a test is a struct fixture. */
#pragma once
#include "base/unit.h"

#include "base/file.h"
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
