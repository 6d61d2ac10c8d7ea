/* row.h - plots, images and vectors: one row an event, its JSON made once, on the pool. */
#pragma once
#include "services/events/batch.h"

/* Fill *ret from a checked event: identity, document (with plot_len and source_urls for plots), squeezed. */
void event_row_make (struct arena *a, const struct event *e, int64_t now, struct event_row *ret);
/* Members common to all events as they are answered, without braces and without `extra`:
 * "timestamp":..,"type":..,"task":..,"iter":..,"metric":..,"variant":.. */
void event_head (struct str *s, enum event_type type, struct text task, int64_t iter, int64_t time,
                 struct text metric, struct text variant);
/* ,"@timestamp":"2026-11-29T17:40:05.380Z" */
void event_received (struct str *s, int64_t ms);
/* A console event as it is answered; `whole`: with type and task. */
void event_log_put (struct str *s, const struct log_event *e, const char *task, bool whole);
