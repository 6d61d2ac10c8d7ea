/* multipart.c - see multipart.h. The mark "\r\n--boundary" holds its only CR at its start (a boundary cannot hold one),
 * so a partial match that breaks can begin again only at the byte that broke it: nothing has to be kept but how far it
 * got. */
#include "server/multipart.h"

#include <string.h>
#include <strings.h>
#include <sys/types.h>

enum { BEFORE, AFTER_MARK, AFTER_MARK_CR, AFTER_MARK_DASH, HEAD, DATA, OVER };

/* -- the header's parameters */
/* Value of `name` in `; name=value` or `; name="value"`, unescaped into the arena; absent when there is none. */
static struct text parameter (struct arena *a, struct text line, const char *name)
{
    size_t name_n = strlen (name);
    const char *p = memchr (line.p, ';', line.n), *end = line.p + line.n;

    while (p && p < end) {
        bool this_one;
        struct str value = { .arena = a };

        while (p < end && (*p == ';' || *p == ' ' || *p == '\t'))
            p++;
        this_one = (size_t)(end - p) > name_n && !strncasecmp (p, name, name_n) && p[name_n] == '=';
        while (p < end && *p != '=' && *p != ';')
            p++;
        if (p == end || *p == ';')
            continue;
        str_add (&value, "", 0);
        if (++p < end && *p == '"') {
            for (p++; p < end && *p != '"'; p++)
                str_putc (&value, *p == '\\' && p + 1 < end && (p[1] == '"' || p[1] == '\\') ? *++p : *p);
            p = p < end ? p + 1 : end;
        } else {
            while (p < end && *p != ';')
                str_putc (&value, *p++);
        }
        if (this_one)
            return str_text (&value);
        p = p < end ? memchr (p, ';', (size_t)(end - p)) : NULL;
    }
    return (struct text){ 0 };
}

int multipart_init (struct multipart *m, struct arena *a, struct text type,
                    const struct multipart_events *events, void *arg, struct error *err)
{
    static const char kind[] = "multipart/form-data";
    struct text boundary;

    *m = (struct multipart){ .events = events, .arg = arg, .mark.arena = a, .head.arena = a };
    if (type.n < sizeof (kind) - 1 || strncasecmp (type.p, kind, sizeof (kind) - 1))
        return error_set (err, 400, "an upload is multipart/form-data; Content-Type is %.*s",
                          (int)(type.n < 80 ? type.n : 80), type.p ? type.p : "missing");
    boundary = parameter (a, type, "boundary");
    if (!boundary.n || boundary.n > MULTIPART_BOUNDARY_MAX || memchr (boundary.p, '\r', boundary.n) ||
        memchr (boundary.p, '\n', boundary.n))
        return error_set (err, 400, "multipart/form-data without a usable boundary");
    str_puts (&m->mark, "\r\n--");
    str_add_text (&m->mark, boundary);
    m->matched = 2; /* the first mark stands at the start of the body, without its CRLF */
    return 0;
}

/* -- heads of parts */
static struct text head_line (struct text head, const char *name)
{
    size_t name_n = strlen (name);

    while (head.n) {
        const char *end = memmem (head.p, head.n, "\r\n", 2);
        size_t n = end ? (size_t)(end - head.p) : head.n;

        if (n > name_n && !strncasecmp (head.p, name, name_n) && head.p[name_n] == ':') {
            struct text v = { head.p + name_n + 1, n - name_n - 1 };

            while (v.n && *v.p == ' ')
                v = (struct text){ v.p + 1, v.n - 1 };
            return v;
        }
        n += end ? 2 : 0;
        head = (struct text){ head.p + n, head.n - n };
    }
    return (struct text){ 0 };
}

static int hex (char c)
{
    return c >= '0' && c <= '9'                     ? c - '0'
           : (c | 0x20) >= 'a' && (c | 0x20) <= 'f' ? (c | 0x20) - 'a' + 10
                                                    : -1;
}

/* utf-8''%C3%A4 (RFC 2231, as older urllib3 sends names that are not ASCII) */
static struct text extended (struct arena *a, struct text t)
{
    struct str s = { .arena = a };
    const char *p = t.n > 7 && !strncasecmp (t.p, "utf-8'", 6) ? memchr (t.p + 6, '\'', t.n - 6) : NULL;

    if (!p)
        return (struct text){ 0 };
    for (p++; p < t.p + t.n; p++) {
        if (*p == '%' && t.p + t.n - p >= 3 && hex (p[1]) >= 0 && hex (p[2]) >= 0) {
            str_putc (&s, (char)(hex (p[1]) << 4 | hex (p[2])));
            p += 2;
        } else {
            str_putc (&s, *p);
        }
    }
    return str_text (&s);
}

static int part_begin (struct multipart *m, struct error *err)
{
    cleanup_arena struct arena *a = arena_create ();
    struct text head = str_text (&m->head), disposition = head_line (head, "content-disposition");
    struct text name, star, type = head_line (head, "content-type");

    if (!disposition.p || disposition.n < 9 || strncasecmp (disposition.p, "form-data", 9))
        return error_set (err, 400, "a part of the upload has no Content-Disposition: form-data");
    star = parameter (a, disposition, "name*");
    name = star.p ? extended (a, star) : parameter (a, disposition, "name");
    if (!name.p)
        return error_set (err, 400, "a part of the upload has no name");
    m->taking = parameter (a, disposition, "filename").p || parameter (a, disposition, "filename*").p;
    return m->taking ? m->events->begin (name, type, m->arg, err) : 0;
}

static int feed_head (struct multipart *m, char c, struct error *err)
{
    if (m->head.n >= MULTIPART_HEAD_MAX)
        return error_set (err, 400, "the head of a part of the upload is too large");
    str_putc (&m->head, c);
    if (m->head.n >= 4 && !memcmp (m->head.p + m->head.n - 4, "\r\n\r\n", 4)) {
        m->state = DATA;
        m->matched = 0;
        return part_begin (m, err);
    }
    if (m->head.n == 2 && !memcmp (m->head.p, "\r\n", 2))
        return error_set (err, 400, "a part of the upload has no head");
    return 0;
}

/* -- data */
static int emit (struct multipart *m, const char *p, size_t n, struct error *err)
{
    return n && m->state == DATA && m->taking ? m->events->data ((struct text){ p, n }, m->arg, err) : 0;
}

/* How many bytes at the end of `in` may be the start of the mark. */
static size_t tail_match (const struct multipart *m, struct text in)
{
    size_t most = in.n < m->mark.n - 1 ? in.n : m->mark.n - 1;

    for (size_t n = most; n; n--)
        if (in.p[in.n - n] == '\r' && !memcmp (in.p + in.n - n, m->mark.p, n))
            return n;
    return 0;
}

static int mark_seen (struct multipart *m, struct error *err)
{
    bool ends = m->state == DATA && m->taking;

    m->state = AFTER_MARK;
    m->matched = 0;
    m->taking = false;
    return ends ? m->events->end (m->arg, err) : 0;
}

/* Bytes of a part (or before the first). Returns how many were used, -1. */
static ssize_t feed_data (struct multipart *m, struct text in, struct error *err)
{
    const char *at;
    size_t i = 0;

    while (m->matched && i < in.n) { /* goes on with a match from before */
        if (in.p[i] == m->mark.p[m->matched]) {
            i++;
            if (++m->matched == m->mark.n)
                return mark_seen (m, err) < 0 ? -1 : (ssize_t)i;
        } else {
            size_t n = m->matched;

            m->matched = 0;
            if (emit (m, m->mark.p, n, err) < 0)
                return -1;
        }
    }
    if (i)
        return (ssize_t)i;
    if ((at = memmem (in.p, in.n, m->mark.p, m->mark.n))) {
        size_t n = (size_t)(at - in.p);

        if (emit (m, in.p, n, err) < 0 || mark_seen (m, err) < 0)
            return -1;
        return (ssize_t)(n + m->mark.n);
    }
    m->matched = tail_match (m, in);
    return emit (m, in.p, in.n - m->matched, err) < 0 ? -1 : (ssize_t)in.n;
}

static int feed_byte (struct multipart *m, char c, struct error *err)
{
    switch (m->state) {
        case AFTER_MARK:
            if (c == ' ' || c == '\t')
                return 0;
            m->state = c == '\r' ? AFTER_MARK_CR : AFTER_MARK_DASH;
            return c == '\r' || c == '-' ? 0
                                         : error_set (err, 400, "the boundary of the upload is malformed");
        case AFTER_MARK_CR:
            str_reset (&m->head);
            m->state = HEAD;
            return c == '\n' ? 0 : error_set (err, 400, "the boundary of the upload is malformed");
        case AFTER_MARK_DASH:
            m->state = OVER;
            return c == '-' ? 0 : error_set (err, 400, "the boundary of the upload is malformed");
        default:
            return feed_head (m, c, err);
    }
}

int multipart_feed (struct multipart *m, struct text in, struct error *err)
{
    while (in.n && m->state != OVER) {
        ssize_t n = 1;

        if (m->state == BEFORE || m->state == DATA) {
            if ((n = feed_data (m, in, err)) < 0)
                return -1;
        } else if (feed_byte (m, *in.p, err) < 0) {
            return -1;
        }
        in = (struct text){ in.p + n, in.n - (size_t)n };
    }
    return 0;
}

bool multipart_complete (const struct multipart *m)
{
    return m->state == OVER;
}
