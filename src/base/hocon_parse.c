/* hocon_parse.c - text to tree (hocon_tree.h); the grammar is described in hocon.h.
 *
 * In: bytes with a name; out: fields merged into the root. A recursive descent over words (hocon_scan.h); a value is read
 * as a list of parts (strings, substitutions, lists, objects) up to a newline, comma or closing bracket. */
#include "base/file.h"
#include "base/hocon.h"
#include "base/hocon_scan.h"
#include "base/path.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static int parse_object (struct scan *s, struct node *object, bool braces, struct path *where);
static int parse_value (struct scan *s, struct node **ret, struct path *where);
static int add_file (struct hocon *h, const char *path, struct node *into, struct path *where, int includes,
                     struct error *err);

/* -- values ----------------------------------------------------------------------------------------------------- */

static struct node *word_node (struct scan *s, struct text t)
{
    struct node *n = node_create (s->h, NODE_STRING, s->name, s->line);

    n->text = t;
    if (text_is (t, "null"))
        n->kind = NODE_NULL;
    else if (text_is (t, "true") || text_is (t, "True") || text_is (t, "false") || text_is (t, "False"))
        n->kind = NODE_BOOL, n->truth = t.n == 4;
    else if (scan_is_number (t))
        n->kind = NODE_NUMBER;
    return n;
}

static int read_subst (struct scan *s, struct node **ret)
{
    struct node *n = node_create (s->h, NODE_SUBST, s->name, s->line);
    const char *from = s->p;

    s->p += 2;
    if (scan_peek (s) == '?')
        n->optional = true, s->p++;
    if (scan_path (s, "}{:=", &n->path) < 0)
        return -1;
    if (scan_peek (s) != '}')
        return scan_fail (s, "${...} needs its closing brace");
    s->p++;
    n->text = (struct text){ from, (size_t)(s->p - from) };
    n->prefix = s->prefix;
    *ret = n;
    return 0;
}

static int read_list (struct scan *s, struct node **ret)
{
    struct node *list = node_create (s->h, NODE_ARRAY, s->name, s->line), *item;

    if (++s->depth > HOCON_DEPTH_MAX)
        return scan_fail (s, "nested too deep");
    for (s->p++;;) {
        scan_lines (s);
        if (scan_peek (s) == ']')
            break;
        if (scan_peek (s) < 0)
            return scan_fail (s, "the list never ends: ']' is missing");
        if (parse_value (s, &item, NULL) < 0)
            return -1;
        node_add (s->h, list, item);
        scan_lines (s);
        if (scan_peek (s) == ',')
            s->p++;
    }
    s->p++;
    s->depth--;
    *ret = list;
    return 0;
}

/* One part of a value: everything but white space. */
static int read_part (struct scan *s, struct node **ret, struct path *where)
{
    struct text t = { 0 };

    if (scan_peek (s) == '{') {
        *ret = node_create (s->h, NODE_OBJECT, s->name, s->line);
        return parse_object (s, *ret, true, where);
    }
    if (scan_peek (s) == '[')
        return read_list (s, ret);
    if (scan_at (s, "${"))
        return read_subst (s, ret);
    if (scan_peek (s) == '"') {
        *ret = node_create (s->h, NODE_STRING, s->name, s->line);
        return scan_quoted (s, &(*ret)->text);
    }
    if (scan_word (s, &t) < 0)
        return -1;
    *ret = word_node (s, t);
    return 0;
}

static int parse_value (struct scan *s, struct node **ret, struct path *where)
{
    struct node *all = NULL, *one = NULL, *part = NULL;

    for (;;) {
        const char *from = s->p;
        int c;

        scan_blanks (s);
        c = scan_peek (s);
        if (c < 0 || c == '\n' || c == ',' || c == '}' || c == ']')
            break;
        if (read_part (s, &part, where) < 0)
            return -1;
        if (one) {
            size_t blanks = 0;

            while (scan_is_blank (from[blanks]))
                blanks++;
            part->space = arena_strndup (s->h->a, from, blanks);
            if (!all) {
                all = node_create (s->h, NODE_CONCAT, one->file, one->line);
                node_add (s->h, all, one);
            }
            node_add (s->h, all, part);
        }
        one = part;
    }
    if (!one)
        return scan_fail (s, "a value is missing");
    *ret = all ? all : one;
    return 0;
}

/* -- objects ---------------------------------------------------------------------------------------------------- */

/* include "x" | include file("x") | include required(...): `s->p` is behind the word. */
static int parse_include (struct scan *s, struct node *object, struct path *where)
{
    struct text name;
    bool required = false;
    struct error err;
    char *path;
    int closing = 0;

    for (;;) {
        scan_blanks (s);
        if (scan_at (s, "required("))
            s->p += 9, closing++, required = true;
        else if (scan_at (s, "file("))
            s->p += 5, closing++;
        else
            break;
    }
    if (scan_peek (s) != '"')
        return scan_fail (s, "include needs a file name in quotes (url() and classpath() are not supported)");
    if (scan_quoted (s, &name) < 0)
        return -1;
    for (; closing; closing--) {
        scan_blanks (s);
        if (scan_peek (s) != ')')
            return scan_fail (s, "include: ')' is missing");
        s->p++;
    }
    if (memmem (name.p, name.n, "${", 2))
        return scan_fail (s, "include does not replace ${...} in its file name: write the path out");
    if (!s->folder)
        return scan_fail (s, "include is not possible here");
    if (s->includes >= HOCON_INCLUDE_MAX)
        return scan_fail (s, "too many nested includes (does a file include itself?)");
    path = path_join (s->h->a, s->folder, arena_text (s->h->a, name));
    if (add_file (s->h, path, object, where, s->includes + 1, &err) < 0) {
        if (err.code == ENOENT && !required)
            return 0;
        if (err.code == EINVAL) /* inside the other file: it has named its own line */
            return error_set (s->err, err.code, "%s", err.text);
        return error_set (s->err, err.code, "%s:%d: include: %s", s->name, s->line, err.text);
    }
    return 0;
}

static bool at_include (const struct scan *s)
{
    const char *p = s->p + 7;

    if (!scan_at (s, "include") || p >= s->end || (!scan_is_blank (*p) && *p != '"'))
        return false;
    while (p < s->end && scan_is_blank (*p))
        p++;
    return p < s->end && (*p == '"' || !strncmp (p, "file(", 5) || !strncmp (p, "required(", 9) ||
                          !strncmp (p, "url(", 4) || !strncmp (p, "classpath(", 10));
}

/* `a += x` is `a = ${?a} [x]`. */
static struct node *append_node (struct scan *s, struct path *full, struct node *value)
{
    struct node *all = node_create (s->h, NODE_CONCAT, s->name, s->line);
    struct node *old = node_create (s->h, NODE_SUBST, s->name, s->line);
    struct node *list = node_create (s->h, NODE_ARRAY, s->name, s->line);

    old->optional = true;
    old->path = full;
    old->text = TEXT ("+=");
    node_add (s->h, list, value);
    node_add (s->h, all, old);
    node_add (s->h, all, list);
    return all;
}

static struct path *path_plus (struct hocon *h, const struct path *left, const struct path *right)
{
    struct path *head = NULL, **to = &head;

    for (const struct path *p = left; p; p = p->next, to = &(*to)->next)
        (*to = arena_new (h->a, struct path))->key = p->key;
    for (const struct path *p = right; p; p = p->next, to = &(*to)->next)
        (*to = arena_new (h->a, struct path))->key = p->key;
    return head;
}

static int parse_field (struct scan *s, struct node *object, struct path *where)
{
    struct path *key, *full;
    struct node *value;
    bool append;

    if (at_include (s)) {
        s->p += 7;
        return parse_include (s, object, where);
    }
    if (scan_path (s, ":={", &key) < 0)
        return -1;
    full = path_plus (s->h, where, key);
    append = scan_at (s, "+=");
    if (append)
        s->p += 2;
    else if (scan_peek (s) == ':' || scan_peek (s) == '=')
        s->p++;
    else if (scan_peek (s) != '{')
        return error_set (s->err, EINVAL, "%s:%d: the key '%s' has no value ('=' or ':' is missing)", s->name,
                          s->line, key->key);
    scan_lines (s); /* a value may begin on the next line */
    if (parse_value (s, &value, full) < 0)
        return -1;
    node_assign (s->h, object, key, append ? append_node (s, full, value) : value);
    return 0;
}

static int parse_object (struct scan *s, struct node *object, bool braces, struct path *where)
{
    int opened = s->line;

    if (++s->depth > HOCON_DEPTH_MAX)
        return scan_fail (s, "nested too deep");
    if (braces)
        s->p++;
    for (;;) {
        scan_lines (s);
        if (scan_peek (s) < 0 && braces)
            return error_set (s->err, EINVAL, "%s:%d: '{' is never closed", s->name, opened);
        if (scan_peek (s) < 0)
            break;
        if (scan_peek (s) == '}') {
            if (!braces)
                return scan_fail (s, "'}' closes nothing");
            s->p++;
            break;
        }
        if (scan_peek (s) == ',') {
            s->p++;
            continue;
        }
        if (parse_field (s, object, where) < 0)
            return -1;
        scan_blanks (s);
        if (scan_peek (s) >= 0 && !strchr ("\n,}", scan_peek (s)))
            return error_set (s->err, EINVAL, "%s:%d: '%c' cannot stand here", s->name, s->line,
                              scan_peek (s));
    }
    s->depth--;
    return 0;
}

static int parse_root (struct scan *s, struct node *into, struct path *where)
{
    scan_lines (s);
    if (scan_peek (s) != '{')
        return parse_object (s, into, false, where);
    if (parse_object (s, into, true, where) < 0)
        return -1;
    scan_lines (s);
    if (scan_peek (s) >= 0)
        return scan_fail (s, "something stands behind the closing brace");
    return 0;
}

static int check_text (const char *name, struct text in, struct error *err)
{
    if (in.n > HOCON_FILE_MAX)
        return error_set (err, EFBIG, "%s: larger than %d bytes", name, HOCON_FILE_MAX);
    if (in.n && memchr (in.p, 0, in.n))
        return error_set (err, EINVAL, "%s: holds a zero byte: not a configuration file", name);
    return 0;
}

static int add_file (struct hocon *h, const char *path, struct node *into, struct path *where, int includes,
                     struct error *err)
{
    struct str body = { .arena = h->a };
    struct scan s = { .h = h, .line = 1, .prefix = where, .includes = includes, .err = err };

    if (file_read (path, HOCON_FILE_MAX, &body, err) < 0)
        return -1;
    if (check_text (path, str_text (&body), err) < 0)
        return -1;
    s.p = str_text (&body).p;
    s.end = s.p + body.n;
    s.name = arena_strdup (h->a, path);
    s.folder = path_folder (h->a, path);
    return parse_root (&s, into, where);
}

/* -- the door --------------------------------------------------------------------------------------------------- */

static const char *from_environment (const char *name, void *arg)
{
    (void)arg;
    return getenv (name);
}

struct hocon *hocon_create (struct arena *a)
{
    struct hocon *h = arena_new (a, struct hocon);

    h->a = a;
    h->lookup = from_environment;
    h->root = node_create (h, NODE_OBJECT, "", 0);
    return h;
}

void hocon_set_environment (struct hocon *h, const char *(*lookup) (const char *name, void *arg), void *arg)
{
    h->lookup = lookup;
    h->lookup_arg = arg;
}

int hocon_add_file (struct hocon *h, const char *path, struct error *err)
{
    return add_file (h, path, h->root, NULL, 0, err);
}

int hocon_add_text (struct hocon *h, const char *name, struct text in, struct error *err)
{
    struct scan s = { .h = h, .line = 1, .err = err };

    if (check_text (name, in, err) < 0)
        return -1;
    in = (struct text){ arena_strndup (h->a, in.p ? in.p : "", in.n), in.n };
    s.p = in.p;
    s.end = in.p + in.n;
    s.name = arena_strdup (h->a, name);
    return parse_root (&s, h->root, NULL);
}

static struct path *split_path (struct hocon *h, const char *dotted)
{
    struct path *head = NULL, **to = &head;

    for (;; dotted++, to = &(*to)->next) {
        size_t n = strcspn (dotted, ".");

        *to = arena_new (h->a, struct path);
        (*to)->key = arena_strndup (h->a, dotted, n);
        dotted += n;
        if (!*dotted)
            return head;
    }
}

void hocon_set (struct hocon *h, const char *path, const char *value)
{
    struct node *n = node_create (h, NODE_STRING, path, 0);

    n->text = text_of (arena_strdup (h->a, value));
    node_assign (h, h->root, split_path (h, path), n);
}

int hocon_set_value (struct hocon *h, const char *path, const char *name, struct text value,
                     struct error *err)
{
    struct scan s = { .h = h, .line = 1, .err = err };
    struct node *n;

    if (check_text (name, value, err) < 0)
        return -1;
    s.p = arena_strndup (h->a, value.p ? value.p : "", value.n);
    s.end = s.p + value.n;
    s.name = arena_strdup (h->a, name);
    scan_lines (&s);
    if (parse_value (&s, &n, split_path (h, path)) < 0)
        return -1;
    scan_lines (&s);
    if (scan_peek (&s) >= 0)
        return error_set (err, EINVAL, "%s: '%c' behind the value", name, scan_peek (&s));
    node_assign (h, h->root, split_path (h, path), n);
    return 0;
}
