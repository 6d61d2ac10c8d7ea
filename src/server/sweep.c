/* sweep.c - see sweep.h.
 *
 * The order makes it safe beside uploads: (1) the rows as they are, (2) the folders: what no row of (1) names is
 * suspected, (3) suspects that are live are let go, (4) the rows again: suspects that one names are let go. An upload
 * is live before its blob is in place and until its row is committed, so that what it made is let go in (3) or in (4).
 * Nothing names a blob later that nothing names then.
 */
#include "server/sweep.h"

#include "base/arena.h"
#include "base/id.h"
#include "server/blob.h"
#include "services/files/files.h"
#include "store/store.h"

#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PAGE = 1000, KEY = 16 };

/* -- uploads in progress */
void live_init (struct live *l)
{
    pthread_mutex_init (&l->lock, NULL);
    l->first = NULL;
}

void live_done (struct live *l)
{
    pthread_mutex_destroy (&l->lock);
}

void live_add (struct live *l, struct live_blob *b, const char *id)
{
    pthread_mutex_lock (&l->lock);
    *b = (struct live_blob){ .next = l->first, .at = &l->first, .id = id };
    if (b->next)
        b->next->at = &b->next;
    l->first = b;
    pthread_mutex_unlock (&l->lock);
}

void live_remove (struct live *l, struct live_blob *b)
{
    pthread_mutex_lock (&l->lock);
    if (b->at) {
        *b->at = b->next;
        if (b->next)
            b->next->at = b->at;
        *b = (struct live_blob){ 0 };
    }
    pthread_mutex_unlock (&l->lock);
}

/* -- sets of ids, 16 bytes each */
struct ids {
    unsigned char (*v)[KEY];
    size_t n, cap;
};

static int digit (char c)
{
    return c <= '9' ? c - '0' : (c | 32) - 'a' + 10;
}

static void key_of (const char *id, unsigned char *ret)
{
    for (size_t i = 0; i < KEY; i++)
        ret[i] = (unsigned char)(digit (id[2 * i]) << 4 | digit (id[2 * i + 1]));
}

static void ids_add (struct ids *s, const char *id)
{
    if (s->n == s->cap) {
        s->cap = s->cap ? 2 * s->cap : 1024;
        s->v = realloc (s->v, s->cap * sizeof (*s->v));
        if (!s->v)
            abort ();
    }
    key_of (id, s->v[s->n++]);
}

static int compare (const void *a, const void *b)
{
    return memcmp (a, b, KEY);
}

static void *ids_find (const struct ids *s, const char *id) /* of a sorted set */
{
    unsigned char key[KEY];

    key_of (id, key);
    return s->n ? bsearch (key, s->v, s->n, KEY, compare) : NULL;
}

/* -- the steps */
struct sweep {
    struct store *store;
    const char *folder;
    const atomic_bool *stopping;
    struct ids known;
    char (*suspects)[33]; /* ids as they are spelled; "" = let go */
    size_t suspects_n;
    int64_t with_row; /* blobs in place that a row names */
};

struct page {
    struct arena *arena;
    struct file_cursor at;
    const char *blobs[PAGE];
    size_t n;
};

static int read_page (struct db *db, void *arg, struct error *err)
{
    struct page *p = arg;

    return file_blobs_next (db, p->arena, &p->at, p->blobs, PAGE, &p->n, err);
}

/* Every blob that a row names, a page of rows at a time, each in a new snapshot. */
static int each_row (struct sweep *s, void (*fn) (struct sweep *s, const char *blob), struct error *err)
{
    struct arena *before = NULL; /* where the cursor's texts live */
    struct page p = { .at = { "", "" }, .n = PAGE };
    int rc = 0;

    while (rc == 0 && p.n == PAGE) {
        if (*s->stopping) {
            rc = 1;
            break;
        }
        p.arena = arena_create ();
        p.n = 0;
        rc = store_read (s->store, read_page, &p, err);
        arena_destroy (before);
        before = p.arena;
        for (size_t i = 0; rc == 0 && i < p.n; i++)
            if (id_valid (p.blobs[i]))
                fn (s, p.blobs[i]);
    }
    arena_destroy (before);
    return rc;
}

static void remember (struct sweep *s, const char *blob)
{
    ids_add (&s->known, blob);
}

static int look_at (struct sweep *s, const char *name, struct error *err)
{
    if (ids_find (&s->known, name)) {
        s->with_row++;
        return 0;
    }
    if (s->suspects_n == SWEEP_MAX)
        return error_set (
            err, 0,
            "more than %d blobs in %s belong to no file: none is removed; does the database belong to "
            "these files?",
            SWEEP_MAX, s->folder);
    memcpy (s->suspects[s->suspects_n++], name, 33);
    return 0;
}

static int list_folder (struct sweep *s, int number, struct error *err)
{
    char path[PATH_MAX], prefix[3];
    struct dirent *e;
    int rc = 0;
    DIR *d;

    snprintf (prefix, sizeof (prefix), "%02x", number);
    snprintf (path, sizeof (path), "%s/%s", s->folder, prefix);
    if (!(d = opendir (path)))
        return 0; /* nothing was put there yet */
    while (rc == 0 && (e = readdir (d)))
        if (id_valid (e->d_name) && !memcmp (e->d_name, prefix, 2))
            rc = look_at (s, e->d_name, err);
    closedir (d);
    return rc;
}

static void let_live_go (struct sweep *s, struct live *live)
{
    pthread_mutex_lock (&live->lock);
    for (struct live_blob *b = live->first; b; b = b->next)
        for (size_t i = 0; i < s->suspects_n; i++)
            if (!strcmp (s->suspects[i], b->id))
                s->suspects[i][0] = '\0';
    pthread_mutex_unlock (&live->lock);
}

static void let_named_go (struct sweep *s, const char *blob)
{
    for (size_t i = 0; i < s->suspects_n; i++)
        if (!strcmp (s->suspects[i], blob))
            s->suspects[i][0] = '\0';
}

static int remove_suspects (struct sweep *s, int64_t *ret, struct error *err)
{
    int64_t n = 0;

    for (size_t i = 0; i < s->suspects_n; i++)
        n += s->suspects[i][0] != '\0';
    if (n > s->with_row)
        return error_set (
            err, 0,
            "%lld blobs in %s belong to no file and only %lld to one: none is removed; does the database "
            "belong to these files?",
            (long long)n, s->folder, (long long)s->with_row);
    for (size_t i = 0; i < s->suspects_n; i++) {
        if (!s->suspects[i][0])
            continue;
        if (*s->stopping)
            return 1;
        if (blob_remove (s->folder, s->suspects[i], err) < 0)
            return -1;
        ++*ret;
    }
    return 0;
}

int sweep_blobs (struct store *store, const char *folder, struct live *live, const atomic_bool *stopping,
                 int64_t *ret_removed, struct error *err)
{
    struct sweep s = { .store = store, .folder = folder, .stopping = stopping };
    int rc;

    *ret_removed = 0;
    s.suspects = calloc (SWEEP_MAX, sizeof (*s.suspects));
    if (!s.suspects)
        abort ();
    rc = each_row (&s, remember, err);
    if (s.known.n)
        qsort (s.known.v, s.known.n, KEY, compare);
    for (int i = 0; rc == 0 && i < 256; i++)
        rc = *stopping ? 1 : list_folder (&s, i, err);
    free (s.known.v);
    if (rc == 0 && s.suspects_n) {
        let_live_go (&s, live);
        rc = each_row (&s, let_named_go, err);
    }
    if (rc == 0)
        rc = remove_suspects (&s, ret_removed, err);
    free (s.suspects);
    return rc;
}
