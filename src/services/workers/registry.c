/* registry.c - who is there: entries of store/volatile under "worker/<company>/<user>/<id>", as JSON. Handlers read it
 * at any time; changes are effects, so a call that fails changes nothing. */
#include "services/workers/rules.h"

#include "base/json.h"
#include "store/volatile.h"

#include <fnmatch.h>

/* -- as JSON ----------------------------------------------------------------------------------------------------- */
static void put_int (struct str *s, const char *key, int64_t v)
{
    json_put_key (s, key);
    str_add_int (s, v);
}

static struct worker_list read_list (struct arena *a, struct text v)
{
    struct worker_list l = { .v = arena_array (a, const char *, json_count (v) + 1) };
    struct json_iter it = json_iter (v);

    while (json_next (&it))
        l.v[l.n++] = json_string (a, it.value);
    return l;
}

static void read_worker (struct arena *a, const char *company, struct text v, struct worker *ret)
{
    *ret = (struct worker){
        .id = json_string (a, json_get (v, "id")),
        .user = json_string (a, json_get (v, "user")),
        .user_name = json_string (a, json_get (v, "user_name")),
        .ip = json_string (a, json_get (v, "ip")),
        .task = json_string (a, json_get (v, "task")),
        .queue = json_string (a, json_get (v, "queue")),
        .queues = read_list (a, json_get (v, "queues")),
        .tags = read_list (a, json_get (v, "tags")),
        .system_tags = read_list (a, json_get (v, "system_tags")),
        .registered = json_int (json_get (v, "registered"), 0),
        .last_activity = json_int (json_get (v, "last_activity"), 0),
        .last_report = json_int (json_get (v, "last_report"), 0),
        .timeout = json_int (json_get (v, "timeout"), WORKER_TIMEOUT_S),
    };
    ret->key = arena_printf (a, "worker_%s_%s_%s", company, ret->user, ret->id);
}

static const char *entry_key (struct call *c, const char *id)
{
    return arena_printf (c->arena, "worker/%s/%s/%s", c->who.company, c->who.user, id);
}

/* -- one --------------------------------------------------------------------------------------------------------- */
bool worker_get (struct call *c, const char *id, struct worker *ret)
{
    struct text v;

    if (!volatile_get (c->facts->volatiles, c->arena, entry_key (c, id), &v))
        return false;
    read_worker (c->arena, c->who.company, v, ret);
    return true;
}

void worker_put (struct call *c, const struct worker *w)
{
    struct str s = { .arena = c->arena };

    str_putc (&s, '{');
    json_put_some (&s, "id", w->id);
    json_put_some (&s, "user", w->user);
    json_put_some (&s, "user_name", w->user_name);
    json_put_some (&s, "ip", w->ip);
    json_put_some (&s, "task", w->task);
    json_put_some (&s, "queue", w->queue);
    json_put_strings (&s, "queues", w->queues.v, w->queues.n);
    json_put_strings (&s, "tags", w->tags.v, w->tags.n);
    json_put_strings (&s, "system_tags", w->system_tags.v, w->system_tags.n);
    put_int (&s, "registered", w->registered);
    put_int (&s, "last_activity", w->last_activity);
    put_int (&s, "last_report", w->last_report);
    put_int (&s, "timeout", w->timeout);
    str_putc (&s, '}');
    call_after_commit (c, EFFECT_VOLATILE_PUT, entry_key (c, w->id), s.p, w->timeout * 1000);
}

void worker_drop (struct call *c, const char *id)
{
    call_after_commit (c, EFFECT_VOLATILE_DROP, entry_key (c, id), NULL, 0);
}

/* -- all --------------------------------------------------------------------------------------------------------- */
struct collected {
    struct arena *arena;
    struct text *v;
    size_t n, cap;
};

static bool collect (const char *key, struct text value, void *arg)
{
    struct collected *l = arg;

    (void)key;
    if (l->n == l->cap) {
        struct text *more = arena_array (l->arena, struct text, l->cap = l->cap ? l->cap * 2 : 64);

        if (l->n)
            memcpy (more, l->v, l->n * sizeof (*more));
        l->v = more;
    }
    l->v[l->n++] = (struct text){ arena_text (l->arena, value), value.n };
    return true;
}

void workers_list (struct call *c, struct worker **ret, size_t *ret_n)
{
    struct collected l = { .arena = c->arena };

    volatile_each (c->facts->volatiles, arena_printf (c->arena, "worker/%s/", c->who.company), collect, &l);
    *ret = arena_array (c->arena, struct worker, l.n + 1);
    *ret_n = l.n;
    for (size_t i = 0; i < l.n; i++)
        read_worker (c->arena, c->who.company, l.v[i], *ret + i);
}

bool worker_lists (const struct worker_list *l, const char *item)
{
    for (size_t i = 0; i < l->n; i++)
        if (!strcmp (l->v[i], item))
            return true;
    return false;
}

bool workers_watch (struct call *c, const char *queue)
{
    struct worker *list;
    size_t n;

    workers_list (c, &list, &n);
    for (size_t i = 0; i < n; i++)
        if (worker_lists (&list[i].queues, queue))
            return true;
    return false;
}

/* -- filters ----------------------------------------------------------------------------------------------------- */
/* Plain items: at least one is there; "-x": x is not. */
static bool tags_match (const struct worker_list *has, const struct worker_list *wanted)
{
    bool asked = false, found = false;

    for (size_t i = 0; i < wanted->n; i++) {
        const char *tag = wanted->v[i];

        if (tag[0] == '-') {
            if (worker_lists (has, tag + 1))
                return false;
        } else {
            asked = true;
            found |= worker_lists (has, tag);
        }
    }
    return found || !asked;
}

bool worker_matches (const struct worker *w, const struct worker_filter *f, int64_t now_us)
{
    if (f->last_seen && w->last_activity <= now_us - f->last_seen * 1000000)
        return false;
    if (f->pattern && *f->pattern && fnmatch (f->pattern, w->id, 0) != 0)
        return false;
    return tags_match (&w->tags, &f->tags) && tags_match (&w->system_tags, &f->system_tags);
}
