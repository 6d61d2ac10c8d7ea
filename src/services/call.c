/* call.c - what handlers leave behind for after the commit: a list in the call's arena, in order. */
#include "services/call.h"

#include <stdarg.h>

void call_after_commit (struct call *c, enum call_effect what, const char *key, const char *value,
                        int64_t number)
{
    struct effect *e = arena_new (c->arena, struct effect);

    *e = (struct effect){ NULL, what, arena_strdup (c->arena, key), arena_strdup (c->arena, value), number };
    *(c->effects ? &c->last_effect->next : &c->effects) = e;
    c->last_effect = e;
}

struct effect *call_last_effect (const struct call *c)
{
    return c->effects ? c->last_effect : NULL;
}

void call_forget_effects (struct call *c, struct effect *last)
{
    *(last ? &last->next : &c->effects) = NULL;
    c->last_effect = last;
}

void call_ring (struct call *c, int64_t n, const char *topic_fmt, ...)
{
    va_list ap;
    const char *topic;

    va_start (ap, topic_fmt);
    topic = arena_vprintf (c->arena, topic_fmt, ap);
    va_end (ap);
    call_after_commit (c, EFFECT_RING, topic, NULL, n);
}

void call_wait (struct call *c, int64_t wait_ms, const char *topic_fmt, ...)
{
    va_list ap;

    va_start (ap, topic_fmt);
    c->wait_topic = arena_vprintf (c->arena, topic_fmt, ap);
    va_end (ap);
    if (!c->wait_until)
        c->wait_until = c->now + wait_ms;
}
