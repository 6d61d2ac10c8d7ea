/* queues.c - from the words of --queue to queue ids: a word is an id, or a name (spaces and all). Done at the start,
 * and again when the server refuses one of them: a queue may be deleted, and made anew under its name. */
#include "agent/room.h"
#include "base/log.h"

#include <errno.h>
#include <string.h>
#include <strings.h>

enum { VERSION = 2015 };

/* 30 or more of -a-f0-9: what the servers use as ids */
static bool looks_like_id (const char *word)
{
    return strlen (word) >= 30 && strspn (word, "-abcdef0123456789") == strlen (word);
}

/* As Python's re.escape: the filter is a pattern. */
static void add_pattern (struct str *s, const char *word)
{
    cleanup_str struct str p = { 0 };

    str_putc (&p, '^');
    for (; *word; word++) {
        bool plain =
            (*word >= '0' && *word <= '9') || ((*word | 32) >= 'a' && (*word | 32) <= 'z') || *word == '_';

        if (!plain && (unsigned char)*word < 0x80)
            str_putc (&p, '\\');
        str_putc (&p, *word);
    }
    str_putc (&p, '$');
    json_put_string (s, p.p);
}

/* 1 found, 0 there is none, -1 error. */
static int find (struct arena *a, struct client *c, const char *word, struct queue *ret, struct error *err)
{
    struct str body = { .arena = a };
    struct text data;

    str_puts (&body, looks_like_id (word) ? "{\"id\":[" : "{\"name\":");
    if (looks_like_id (word)) {
        json_put_string (&body, word);
        str_putc (&body, ']');
    } else {
        add_pattern (&body, word);
    }
    str_puts (&body, ",\"only_fields\":[\"id\",\"name\"],\"search_hidden\":true}");
    if (client_call (c, a, "queues.get_all", VERSION, str_text (&body), &data, err) < 0)
        return -1;
    for (struct json_iter it = json_iter (json_get (data, "queues")); json_next (&it);) {
        ret->id = json_string (a, json_get (it.value, "id"));
        ret->name = json_string (a, json_get (it.value, "name"));
        if (ret->id && ret->name && (looks_like_id (word) || !strcasecmp (ret->name, word)))
            return 1;
    }
    return 0;
}

static int create (struct arena *a, struct client *c, const char *name, struct queue *ret, struct error *err)
{
    struct str body = { .arena = a };
    struct text data;
    int r;

    str_putc (&body, '{');
    json_put_key (&body, "name");
    json_put_string (&body, name);
    str_putc (&body, '}');
    if (client_call (c, a, "queues.create", VERSION, str_text (&body), &data, err) < 0) {
        struct error again;

        r = find (a, c, name, ret, &again); /* another agent was faster */
        return r > 0 ? 0 : -1;
    }
    ret->id = json_string (a, json_get (data, "id"));
    ret->name = name;
    return ret->id ? 0 : error_set (err, EPROTO, "queues.create answered without an id");
}

/* 1 there it is, 0 there is none (and it is not to be made), -1 error. */
static int resolve (struct agent *g, struct arena *a, struct client *c, const char *word, struct queue *ret,
                    struct error *err)
{
    int r = find (a, c, word, ret, err);

    if (r || !g->o->create_queue || looks_like_id (word))
        return r;
    return create (a, c, word, ret, err) < 0 ? -1 : 1;
}

/* No queue was named: the server's default, else the one called "default". */
static int resolve_default (struct agent *g, struct arena *a, struct client *c, struct queue *ret,
                            struct error *err)
{
    struct text data;

    if (!client_call (c, a, "queues.get_default", VERSION, TEXT ("{}"), &data, err)) {
        ret->id = json_string (a, json_get (data, "id"));
        ret->name = json_string (a, json_get (data, "name"));
        if (ret->id && ret->name)
            return 1;
    } else if (client_undecided (err)) {
        return -1;
    }
    return resolve (g, a, c, "default", ret, err);
}

static bool are_same (const struct queues *x, const struct queues *y)
{
    bool same = x->n == y->n && x->missing == y->missing;

    for (size_t i = 0; same && i < x->n; i++)
        same = !strcmp (x->v[i].id, y->v[i].id) && !strcmp (x->v[i].name, y->v[i].name);
    return same;
}

void queues_set (struct agent *g, struct queues *list)
{
    pthread_mutex_lock (&g->queues_lock);
    if (g->queues && are_same (g->queues, list)) { /* a queue that is missing is looked for again and again */
        arena_destroy (list->arena);
    } else {
        list->older = g->queues; /* others may still be reading it: all go at the end */
        g->queues = list;
    }
    pthread_mutex_unlock (&g->queues_lock);
}

int queues_resolve (struct agent *g, struct client *c, bool all, struct error *err)
{
    size_t words = g->o->queues.n ? g->o->queues.n : 1;
    struct arena *a = arena_create ();
    struct queues *list = arena_new (a, struct queues);

    list->arena = a;
    list->v = arena_array (a, struct queue, words);
    for (size_t i = 0; i < words; i++) {
        const char *word = g->o->queues.n ? g->o->queues.v[i] : "default";
        struct queue q;
        bool twice = false;
        int r = g->o->queues.n ? resolve (g, a, c, word, &q, err) : resolve_default (g, a, c, &q, err);

        if (!r && all)
            r = error_set (err, ENOENT, "there is no queue '%s' (--create-queue makes it)", word);
        if (r < 0) {
            arena_destroy (a);
            return -1;
        }
        for (size_t k = 0; k < list->n; k++)
            twice |= r && !strcmp (list->v[k].id, q.id);
        if (r && !twice)
            list->v[list->n++] = q;
    }
    list->missing = list->n < words;
    queues_set (g, list);
    return 0;
}

const struct queues *queues_get (struct agent *g)
{
    const struct queues *list;

    pthread_mutex_lock (&g->queues_lock);
    list = g->queues;
    pthread_mutex_unlock (&g->queues_lock);
    return list;
}

void queues_free (struct agent *g)
{
    struct queues *older;

    for (struct queues *list = g->queues; list; list = older) {
        older = list->older;
        arena_destroy (list->arena);
    }
    g->queues = NULL;
}
