/* background.c - what queues do without being asked, on the writer thread in short slices: entries whose flight is over
 * come back, sleepers are woken again where entries wait (should a bell have gone to a connection that died), lengths
 * are sampled, old samples go. */
#include "services/queues/rules.h"

#include "base/clock.h"
#include "sql/sql.h"
#include "store/store.h"
#include "store/topic.h"

#include <stdlib.h>

enum {
    PERIOD_MS = 2000,
    SAMPLE_EVERY_MS = 60000,
    SAMPLE_OLD_S = 300, /* a queue whose last sample is older gets one */
    KEEP_S = 30 * 24 * 3600,
    SLICE_ROWS = 1000,
};

struct queues_background {
    struct topics *topics;
    struct arena *arena; /* of one slice */
    struct effect *effects;
    int64_t sampled; /* ms */
};

static int ring_waiting (struct call *c, struct error *err)
{
    cleanup_rows struct rows r = { 0 };
    int more;

    if (db_query (c->db, &sql_queue_waiting, &r, err) < 0)
        return -1;
    while ((more = db_next (&r, err)) > 0) {
        struct text id = row_text (&r, 1);

        call_ring (c, 1, "queue/%.*s", (int)id.n, id.p);
    }
    return more;
}

static int sample_quiet (struct call *c, struct error *err)
{
    cleanup_rows struct rows r = { 0 };
    int more;

    if (db_query (c->db, &sql_queue_sample_last, &r, err, V_INT (c->now / 1000 - SAMPLE_OLD_S)) < 0)
        return -1;
    while ((more = db_next (&r, err)) > 0) {
        struct queue q = { .seq = row_int (&r, 0), .length = row_int (&r, 1), .added_sum = row_int (&r, 2) };

        if (queue_sample (c, &q, err) < 0)
            return -1;
    }
    return more;
}

static int slice (struct db *db, int64_t budget_ms, void *arg, struct error *err)
{
    struct queues_background *b = arg;
    struct call c = { .db = db, .now = clock_now () };
    int64_t removed = 0;

    (void)budget_ms; /* each part is bounded by SLICE_ROWS */
    arena_destroy (b->arena);
    c.arena = b->arena = arena_create ();
    b->effects = NULL;
    if (queue_land (&c, SLICE_ROWS, err) < 0 || ring_waiting (&c, err) < 0)
        return -1;
    if (c.now - b->sampled >= SAMPLE_EVERY_MS) {
        if (sample_quiet (&c, err) < 0 ||
            (removed = db_exec (db, &sql_queue_sample_old, err, V_INT (c.now / 1000 - KEEP_S),
                                V_INT (SLICE_ROWS))) < 0)
            return -1;
        if (removed < SLICE_ROWS)
            b->sampled = c.now;
    }
    b->effects = c.effects;
    return removed == SLICE_ROWS;
}

static void ring (void *arg)
{
    struct queues_background *b = arg;

    for (struct effect *e = b->effects; e; e = e->next)
        if (e->what == EFFECT_RING)
            topic_ring (b->topics, e->key, e->number);
    b->effects = NULL;
}

static const struct sweeper sweeper = { "queues", PERIOD_MS, slice, ring };

struct queues_background *queues_background_start (struct store *store, struct topics *topics)
{
    struct queues_background *b = calloc (1, sizeof (*b));

    if (!b)
        abort ();
    b->topics = topics;
    store_add_sweeper (store, &sweeper, b);
    return b;
}

void queues_background_destroy (struct queues_background *b)
{
    if (!b)
        return;
    arena_destroy (b->arena);
    free (b);
}
