/* text_read.c - reading console text back: pages by time, ranges by line number; see text.h.
 *
 * Chunks overlap in time where several programs write. A page is complete when no chunk that was not looked at can
 * hold an event as near as the last of the page.
 */
#include "store/text.h"

#include "sql/sql.h"
#include "store/store.h"

#include <stdlib.h>

#define LINES_BYTES ((size_t)4 << 20)

struct page {
    struct arena *arena;
    bool earlier;
    int64_t time;
    log_filter *keep;
    void *arg;
    struct log_event *v;
    size_t n, cap;
};

static int nearest_newest (const void *va, const void *vb)
{
    const struct log_event *a = va, *b = vb;

    if (a->time != b->time)
        return a->time > b->time ? -1 : 1;
    return a->line > b->line ? -1 : a->line < b->line;
}

static int nearest_oldest (const void *va, const void *vb)
{
    return nearest_newest (vb, va);
}

static void page_add (struct page *p, const struct log_event *v, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (p->earlier ? v[i].time >= p->time : v[i].time <= p->time)
            continue;
        if (p->keep && !p->keep (&v[i], p->arg))
            continue;
        if (p->n == p->cap) {
            size_t cap = p->cap ? p->cap * 2 : 256;
            struct log_event *more = arena_array (p->arena, struct log_event, cap);

            if (p->n)
                memcpy (more, p->v, p->n * sizeof (*v));
            p->v = more;
            p->cap = cap;
        }
        p->v[p->n++] = v[i];
    }
}

/* Are the `most` nearest, and all that share the last one's time, among what was gathered, when the next chunk's
 * nearest event is at `edge`? Sorts. */
static bool page_full (struct page *p, size_t most, int64_t edge)
{
    int64_t last;

    if (p->n < most)
        return false;
    qsort (p->v, p->n, sizeof (*p->v), p->earlier ? nearest_newest : nearest_oldest);
    last = p->v[most - 1].time;
    return p->earlier ? last > edge : last < edge;
}

int log_page (struct db *db, struct arena *a, int64_t stream, bool earlier, int64_t time, size_t most,
              log_filter *keep, void *arg, struct log_event **ret, size_t *ret_n, struct error *err)
{
    struct page p = { .arena = a, .earlier = earlier, .time = time, .keep = keep, .arg = arg };
    cleanup_rows struct rows r = { 0 };
    size_t n;
    int rc;

    most = most ? most : 1;
    if (db_query (db, earlier ? &sql_log_earlier : &sql_log_later, &r, err, V_INT (stream), V_INT (time)) < 0)
        return -1;
    while ((rc = db_next (&r, err)) > 0) {
        struct log_event *v;

        if (page_full (&p, most, row_int (&r, earlier ? 4 : 3)))
            break;
        if (log_unpack (a, row_text (&r, 5), row_int (&r, 1), &v, &n, err) < 0)
            return -1;
        page_add (&p, v, n);
    }
    if (rc < 0)
        return -1;
    if (p.n)
        qsort (p.v, p.n, sizeof (*p.v), earlier ? nearest_newest : nearest_oldest);
    for (n = p.n < most ? p.n : most; n && n < p.n && p.v[n].time == p.v[n - 1].time;)
        n++;
    *ret = p.v;
    *ret_n = n;
    return 0;
}

int log_count (struct db *db, int64_t stream, log_filter *keep, void *arg, int64_t *ret, struct error *err)
{
    cleanup_rows struct rows r = { 0 };
    int64_t count = 0;
    int rc;

    if (db_query (db, &sql_log_from_line, &r, err, V_INT (stream), V_INT (0)) < 0)
        return -1;
    while ((rc = db_next (&r, err)) > 0) {
        cleanup_arena struct arena *scratch = arena_create ();
        struct log_event *v;
        size_t n;

        if (!keep) {
            count += row_int (&r, 2);
            continue;
        }
        if (log_unpack (scratch, row_text (&r, 5), 1, &v, &n, err) < 0)
            return -1;
        for (size_t i = 0; i < n; i++)
            count += keep (&v[i], arg);
    }
    *ret = count;
    return rc;
}

/* -- lines -------------------------------------------------------------------------------------------------- */

struct line_list {
    struct arena *arena;
    bool before;
    int64_t line;
    size_t most, bytes, n, cap;
    struct log_line *v;
};

static bool lines_full (const struct line_list *l)
{
    return l->n >= l->most || l->bytes >= LINES_BYTES;
}

static void lines_add (struct line_list *l, const struct log_event *e, int64_t n, struct text text)
{
    if (l->n == l->cap) {
        size_t cap = l->cap ? l->cap * 2 : 256;
        struct log_line *more = arena_array (l->arena, struct log_line, cap);

        if (l->n)
            memcpy (more, l->v, l->n * sizeof (*more));
        l->v = more;
        l->cap = cap;
    }
    l->v[l->n++] = (struct log_line){ n, e->time, e->level, text };
    l->bytes += text.n + 64;
}

/* The lines of one event that are wanted, ascending. */
static void lines_of (struct line_list *l, const struct log_event *e)
{
    struct text left = e->msg.p ? e->msg : TEXT ("");
    int64_t n = e->line, count = log_lines (e->msg);

    for (int64_t i = 0; i < count; i++, n++) {
        const char *nl = left.n ? memchr (left.p, '\n', left.n) : NULL;
        struct text line = { left.p, nl ? (size_t)(nl - left.p) : left.n };

        if (l->before ? n < l->line : n >= l->line && !lines_full (l))
            lines_add (l, e, n, line);
        left.p += nl ? line.n + 1 : line.n;
        left.n -= nl ? line.n + 1 : line.n;
    }
}

static void lines_turn (struct line_list *l)
{
    for (size_t i = 0; i < l->n / 2; i++) {
        struct log_line x = l->v[i];

        l->v[i] = l->v[l->n - 1 - i];
        l->v[l->n - 1 - i] = x;
    }
}

/* Lines of a chunk, nearest first: going back, each event's lines are turned round. */
static void lines_of_chunk (struct line_list *l, const struct log_event *v, size_t n)
{
    struct line_list one;

    if (!l->before) {
        for (size_t i = 0; i < n && !lines_full (l); i++)
            lines_of (l, &v[i]);
        return;
    }
    for (size_t i = n; i-- > 0 && !lines_full (l);) {
        one = (struct line_list){ .arena = l->arena, .before = true, .line = l->line };
        lines_of (&one, &v[i]);
        for (size_t k = one.n; k-- > 0 && !lines_full (l);)
            lines_add (l, &v[i], one.v[k].n, one.v[k].text);
    }
}

int log_read_lines (struct db *db, struct arena *a, int64_t stream, bool before, int64_t line, size_t most,
                    struct log_line **ret, size_t *ret_n, struct error *err)
{
    struct line_list l = { .arena = a, .before = before, .line = line, .most = most };
    cleanup_rows struct rows r = { 0 };
    int rc = 0;

    if (db_query (db, before ? &sql_log_before_line : &sql_log_from_line, &r, err, V_INT (stream),
                  V_INT (line)) < 0)
        return -1;
    while (!lines_full (&l) && (rc = db_next (&r, err)) > 0) {
        struct log_event *v;
        size_t n;

        if (log_unpack (a, row_text (&r, 5), row_int (&r, 1), &v, &n, err) < 0)
            return -1;
        lines_of_chunk (&l, v, n);
    }
    if (rc < 0)
        return -1;
    if (before)
        lines_turn (&l);
    *ret = l.v;
    *ret_n = l.n;
    return 0;
}
