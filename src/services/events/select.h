/* select.h - which series of which tasks a call is about. */
#pragma once
#include "services/call.h"
#include "store/series.h"
#include "store/stream.h"

struct metric_choice { /* a metric and some of its variants; none: all */
    const char *metric;
    const char *const *variants;
    size_t n;
};
/* Turn a list of a generated <service>_metric_variants type into choices. */
#define METRIC_CHOICES(arena, list, ret)                                                                     \
    do {                                                                                                     \
        (ret) = arena_array ((arena), struct metric_choice, (list).n);                                       \
        for (size_t choice_i = 0; choice_i < (list).n; choice_i++)                                           \
            (ret)[choice_i] = (struct metric_choice){ (list).v[choice_i].metric,                             \
                                                      (const char *const *)(list).v[choice_i].variants.v,    \
                                                      (list).v[choice_i].variants.n };                       \
    } while (0)
/* No choices: everything. */
bool metric_chosen (const struct metric_choice *v, size_t n, const char *metric, const char *variant);

/* Is it a task (or, with `model`, a model) this caller may read? 400/101, 400/201. *ret: its stream (id 0: none). */
int select_stream (struct call *c, const char *id, bool model, struct stream *ret,
                   struct error *err) warn_unused;

/* The chosen series of a stream, by metric and variant, and a reader of their points. */
struct selection {
    const struct series **v;
    size_t n;
    struct series_reader *reader;
};
int select_series (struct call *c, const struct stream *s, const struct metric_choice *choices,
                   size_t choices_n, struct selection *ret, struct error *err) warn_unused;
