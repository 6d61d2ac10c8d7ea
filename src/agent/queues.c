/* queues.c - from the words of --queue to queue ids: a word is an id, or a name (spaces and all). */
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
static int find (struct agent *g, struct client *c, const char *word, struct queue *ret, struct error *err)
{
    struct str body = { .arena = g->arena };
    struct text data;

    str_puts (&body, looks_like_id (word) ? "{\"id\":[" : "{\"name\":");
    if (looks_like_id (word)) {
        json_put_string (&body, word);
        str_putc (&body, ']');
    } else {
        add_pattern (&body, word);
    }
    str_puts (&body, ",\"only_fields\":[\"id\",\"name\"],\"search_hidden\":true}");
    if (client_call (c, g->arena, "queues.get_all", VERSION, str_text (&body), &data, err) < 0)
        return -1;
    for (struct json_iter it = json_iter (json_get (data, "queues")); json_next (&it);) {
        ret->id = json_string (g->arena, json_get (it.value, "id"));
        ret->name = json_string (g->arena, json_get (it.value, "name"));
        if (ret->id && ret->name && (looks_like_id (word) || !strcasecmp (ret->name, word)))
            return 1;
    }
    return 0;
}

static int create (struct agent *g, struct client *c, const char *name, struct queue *ret, struct error *err)
{
    struct str body = { .arena = g->arena };
    struct text data;
    int r;

    str_putc (&body, '{');
    json_put_key (&body, "name");
    json_put_string (&body, name);
    str_putc (&body, '}');
    if (client_call (c, g->arena, "queues.create", VERSION, str_text (&body), &data, err) < 0) {
        struct error again;

        r = find (g, c, name, ret, &again); /* another agent was faster */
        return r > 0 ? 0 : -1;
    }
    ret->id = json_string (g->arena, json_get (data, "id"));
    ret->name = name;
    return ret->id ? 0 : error_set (err, EPROTO, "queues.create answered without an id");
}

static int resolve (struct agent *g, struct client *c, const char *word, struct queue *ret, struct error *err)
{
    int r = find (g, c, word, ret, err);

    if (r < 0)
        return -1;
    if (r)
        return 0;
    if (g->o->create_queue && !looks_like_id (word))
        return create (g, c, word, ret, err);
    return error_set (err, ENOENT, "there is no queue '%s' (--create-queue makes it)", word);
}

/* No queue was named: the server's default, else the one called "default". */
static int resolve_default (struct agent *g, struct client *c, struct queue *ret, struct error *err)
{
    struct text data;

    if (!client_call (c, g->arena, "queues.get_default", VERSION, TEXT ("{}"), &data, err)) {
        ret->id = json_string (g->arena, json_get (data, "id"));
        ret->name = json_string (g->arena, json_get (data, "name"));
        if (ret->id && ret->name)
            return 0;
    } else if (err->code < 10000) {
        return -1;
    }
    return resolve (g, c, "default", ret, err);
}

int queues_resolve (struct agent *g, struct client *c, struct error *err)
{
    size_t words = g->o->queues.n ? g->o->queues.n : 1, n = 0;
    struct queue *list = arena_array (g->arena, struct queue, words);

    for (size_t i = 0; i < words; i++) {
        struct queue q;
        bool twice = false;
        int r = g->o->queues.n ? resolve (g, c, g->o->queues.v[i], &q, err) : resolve_default (g, c, &q, err);

        if (r < 0)
            return -1;
        for (size_t j = 0; j < n; j++)
            twice |= !strcmp (list[j].id, q.id);
        if (!twice)
            list[n++] = q;
    }
    g->queues = list;
    g->n_queues = n;
    return 0;
}
