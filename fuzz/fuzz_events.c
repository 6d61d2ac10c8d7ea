/* fuzz_events.c - any bytes as what arrives at events.add_batch, and as what lies in the store. The fast scanner must
 * agree with the general way on every line it takes; a request that is read must pack into a body that reads back with
 * as many points; stored bytes that are damaged must be refused without looking past their end.
 */
#include "services/events/batch.h"

#include <stdint.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput (const uint8_t *data, size_t n);

static const struct event_defaults defaults = { .worker = "w", .now = 1700000000000 };

static void must (bool good)
{
    if (!good)
        abort ();
}

static void compare_ways (struct arena *a, struct text line)
{
    struct str extra = { .arena = a };
    struct event fast, slow;
    struct error err;

    if (!event_scan (line.p, line.p + line.n, &defaults, &extra, &fast))
        return;
    must (event_read (a, line, &defaults, &slow, &err) == 0);
    must (!slow.problem && slow.type == EVENT_SCALAR && fast.iter == slow.iter && fast.time == slow.time);
    must (text_equal (fast.task, slow.task) && text_equal (fast.metric, slow.metric));
    must (text_equal (fast.variant, slow.variant) && text_equal (fast.extra, slow.extra));
    must (!memcmp (&fast.value, &slow.value, sizeof (double)) && fast.allow_locked == slow.allow_locked);
}

static void count_points (struct arena *a, const struct event_group *g)
{
    struct batch_run run;
    struct batch b;
    struct error err;
    size_t points = 0;

    must (batch_open (a, g->body, &b, &err) == 0);
    while (batch_next (&b, a, &run, &err) == 1)
        points += run.n;
    must (points == g->points);
}

static void count_lines (struct arena *a, const struct event_group *g)
{
    size_t events = 0, n;
    struct log_event *v;
    struct error err;

    for (size_t i = 0; i < g->parts_n; i++) {
        must (log_unpack (a, g->parts[i].body, 1, &v, &n, &err) == 0);
        events += n;
    }
    must (events == g->logs_n);
}

static void read_request (struct arena *a, struct text body)
{
    struct event_batch *b;
    struct error err;

    if (event_batch_read (a, body, true, &defaults, &b, &err) < 0)
        return;
    for (size_t i = 0; i < b->n; i++) {
        if (b->groups[i].points)
            count_points (a, &b->groups[i]);
        count_lines (a, &b->groups[i]);
    }
}

/* The bytes as stored forms. */
static void read_stored (struct arena *a, struct text in)
{
    struct intern extras = { .arena = a, .copy = true };
    struct point *v = arena_array (a, struct point, SERIES_CHUNK);
    struct log_event *events;
    struct batch_run run;
    struct batch b;
    struct error err = { 0 };
    size_t n;

    if (batch_open (a, in, &b, &err) == 0)
        while (batch_next (&b, a, &run, &err) == 1)
            ;
    n = in.n ? (unsigned char)in.p[0] : 0;
    if (chunk_unpack (a, in, &extras, v, n, &err) < 0)
        must (err.text[0] != 0);
    if (log_unpack (a, in, 1, &events, &n, &err) < 0)
        must (err.text[0] != 0);
}

int LLVMFuzzerTestOneInput (const uint8_t *data, size_t n)
{
    cleanup_arena struct arena *a = arena_create ();
    char *exact = malloc (n + 1); /* so that a byte too far is seen */
    struct text in = { exact, n }, line;

    if (n > 1 << 16) {
        free (exact);
        return 0;
    }
    memcpy (exact, data, n);
    for (size_t from = 0, to; from < n; from = to + 1) {
        const char *nl = memchr (exact + from, '\n', n - from);

        to = nl ? (size_t)(nl - exact) : n;
        line = (struct text){ exact + from, to - from };
        compare_ways (a, line);
    }
    read_request (a, in);
    read_stored (a, in);
    free (exact);
    return 0;
}
