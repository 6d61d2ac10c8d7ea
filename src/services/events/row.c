/* row.c - see row.h. */
#include "services/events/row.h"

#include "base/digest.h"
#include "base/json.h"
#include "base/utf8.h"
#include "store/squeeze.h"

#include <time.h>

void event_received (struct str *s, int64_t ms)
{
    time_t sec = (time_t)(ms / 1000);
    struct tm tm;

    gmtime_r (&sec, &tm);
    str_addf (s, ",\"@timestamp\":\"%04d-%02d-%02dT%02d:%02d:%02d.%03dZ\"", tm.tm_year + 1900, tm.tm_mon + 1,
              tm.tm_mday, tm.tm_hour, tm.tm_min, tm.tm_sec, (int)(ms % 1000));
}

void event_head (struct str *s, enum event_type type, struct text task, int64_t iter, int64_t time,
                 struct text metric, struct text variant)
{
    str_puts (s, "\"timestamp\":");
    str_add_int (s, time);
    str_puts (s, ",\"type\":\"");
    str_puts (s, event_type_name (type));
    str_puts (s, "\",\"task\":");
    str_add_json (s, task.p, task.n);
    if (iter != SERIES_NO_ITER) {
        str_puts (s, ",\"iter\":");
        str_add_int (s, iter);
    }
    str_puts (s, ",\"metric\":");
    str_add_json (s, metric.n ? metric.p : "", metric.n);
    str_puts (s, ",\"variant\":");
    str_add_json (s, variant.n ? variant.p : "", variant.n);
}

static void identity (const struct event *e, char ret[33])
{
    cleanup_str struct str s = { 0 };

    if (e->iter != SERIES_NO_ITER)
        str_add_int (&s, e->iter);
    str_putc (&s, 0);
    str_add_text (&s, e->metric);
    str_putc (&s, 0);
    str_add_text (&s, e->variant);
    if (e->key.p) {
        str_putc (&s, 0);
        str_add_text (&s, e->key);
    }
    digest_md5_hex (str_text (&s), ret);
}

/* Behind `"source":` (either kind of quote) stands a quoted text with "://" in it: give it, and go on behind it. */
static bool next_source (struct text *left, struct text *ret)
{
    static const char word[] = "source";

    for (const char *p = left->p, *end = left->p + left->n; (p = memmem (p, (size_t)(end - p), word, 6));
         p++) {
        const char *q = p + 6, *from;
        char quote;

        if (p == left->p || q == end || *q != p[-1] || (*q != '"' && *q != '\''))
            continue;
        for (q++; q < end && (*q == ' ' || *q == '\t' || *q == '\n'); q++)
            ;
        if (q == end || *q++ != ':')
            continue;
        for (; q < end && (*q == ' ' || *q == '\t' || *q == '\n'); q++)
            ;
        if (q == end || (*q != '"' && *q != '\''))
            continue;
        quote = *q++;
        for (from = q; q < end && *q != quote && *q != '\n'; q++)
            ;
        if (q == end || *q != quote || !memmem (from, (size_t)(q - from), "://", 3))
            continue;
        *ret = (struct text){ from, (size_t)(q - from) };
        *left = (struct text){ q, (size_t)(end - q) };
        return true;
    }
    return false;
}

static void add_plot_members (struct str *s, struct text plot)
{
    struct text left = plot, url;
    size_t n = 0;

    str_puts (s, ",\"plot_len\":");
    str_add_int (s, (int64_t)utf8_letters (plot));
    while (plot.n && n < 1000 && next_source (&left, &url)) {
        str_puts (s, n++ ? "," : ",\"source_urls\":[");
        str_add_json (s, url.p, url.n);
    }
    if (n)
        str_putc (s, ']');
}

void event_row_make (struct arena *a, const struct event *e, int64_t now, struct event_row *ret)
{
    cleanup_str struct str doc = { 0 };
    struct str packed = { .arena = a };

    event_head (&doc, e->type, e->task, e->iter, e->time, e->metric, e->variant);
    str_putc (&doc, ',');
    str_add_text (&doc, e->extra);
    event_received (&doc, now);
    if (e->type == EVENT_PLOT)
        add_plot_members (&doc, e->plot);
    squeeze (&packed, str_text (&doc));
    *ret = (struct event_row){ .type = e->type,
                               .metric = e->metric,
                               .variant = e->variant,
                               .url = e->url,
                               .iter = e->iter,
                               .time = e->time,
                               .doc = str_text (&packed) };
    identity (e, ret->identity);
}
