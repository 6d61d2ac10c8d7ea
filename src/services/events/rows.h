/* rows.h - reading rows of plots and images: what their calls share. */
#pragma once
#include "services/events/select.h"

struct row_name { /* a (metric, variant) that has rows */
    char *metric, *variant;
    int64_t received; /* ms of the newest */
    int64_t iters;    /* rows with an iteration */
};
/* The chosen names of a stream, by metric and variant. type: enum event_type. */
int rows_names (struct call *c, int64_t stream, int type, const struct metric_choice *choices,
                size_t choices_n, struct row_name **ret, size_t *ret_n, struct error *err) warn_unused;
/* Images whose file was overwritten since are hidden: the newest url of the variant was used before? Then that earlier
 * use, and all that is as old, are overwritten or may be; *ret is its iteration (INT64_MIN: all are good). */
int rows_valid_after (struct call *c, int64_t stream, int type, const struct row_name *name, int64_t *ret,
                      struct error *err) warn_unused;
/* Append the stored event as a JSON object. */
int rows_put_doc (struct str *s, struct text doc, struct error *err) warn_unused;
