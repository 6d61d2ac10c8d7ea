/* hocon_parse.c - text to tree (hocon_tree.h); the grammar is described in hocon.h.
 *
 * In: bytes with a name; out: fields merged into the root. A recursive descent over the bytes; a value is read as a
 * list of parts (strings, substitutions, lists, objects) up to a newline, comma or closing bracket. */
#include "base/file.h"
#include "base/hocon.h"
#include "base/hocon_tree.h"
#include "base/path.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct parse {
    struct hocon *h;
    const char *p, *end;
    const char *name;   /* of the file */
    const char *folder; /* for includes; NULL = refused */
    int line, depth, includes;
    struct path *prefix; /* place of this file's root, NULL = the root */
    struct error *err;
};

static int parse_object (struct parse *s, struct node *object, bool braces, struct path *where);
static int parse_value (struct parse *s, struct node **ret, struct path *where);
static int add_file (struct hocon *h, const char *path, struct node *into, struct path *where, int includes,
                     struct error *err);

/* -- bytes ------------------------------------------------------------------------------------------------------ */

static int fail (struct parse *s, const char *text)
{
    return error_set (s->err, EINVAL, "%s:%d: %s", s->name, s->line, text);
}

static bool at (const struct parse *s, const char *word)
{
    size_t n = strlen (word);

    return (size_t)(s->end - s->p) >= n && !memcmp (s->p, word, n);
}

static int peek (const struct parse *s)
{
    return s->p < s->end ? (unsigned char)*s->p : -1;
}

static bool is_blank (int c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\f' || c == '\v';
}

static void skip_comment (struct parse *s)
{
    if (peek (s) == '#' || at (s, "//"))
        while (s->p < s->end && *s->p != '\n')
            s->p++;
}

/* Blanks and a comment; not the newline. A no-break space and a byte order mark count as blanks. */
static void skip_blanks (struct parse *s)
{
    for (;;) {
        if (is_blank (peek (s)))
            s->p++;
        else if (at (s, "\xc2\xa0"))
            s->p += 2;
        else if (at (s, "\xef\xbb\xbf"))
            s->p += 3;
        else
            break;
    }
    skip_comment (s);
}

static void skip_lines (struct parse *s)
{
    for (skip_blanks (s); peek (s) == '\n'; skip_blanks (s)) {
        s->line++;
        s->p++;
    }
}

/* -- strings ---------------------------------------------------------------------------------------------------- */

static void put_code_point (struct str *s, unsigned cp)
{
    if (cp < 0x80) {
        str_putc (s, (char)cp);
    } else if (cp < 0x800) {
        str_putc (s, (char)(0xc0 | cp >> 6));
        str_putc (s, (char)(0x80 | (cp & 0x3f)));
    } else if (cp < 0x10000) {
        str_putc (s, (char)(0xe0 | cp >> 12));
        str_putc (s, (char)(0x80 | (cp >> 6 & 0x3f)));
        str_putc (s, (char)(0x80 | (cp & 0x3f)));
    } else {
        str_putc (s, (char)(0xf0 | cp >> 18));
        str_putc (s, (char)(0x80 | (cp >> 12 & 0x3f)));
        str_putc (s, (char)(0x80 | (cp >> 6 & 0x3f)));
        str_putc (s, (char)(0x80 | (cp & 0x3f)));
    }
}

static int read_hex (struct parse *s, unsigned *ret)
{
    unsigned v = 0;

    if (s->end - s->p < 4)
        return fail (s, "\\u needs four hex digits");
    for (int i = 0; i < 4; i++, s->p++) {
        int c = tolower ((unsigned char)*s->p);

        if (!isxdigit (c))
            return fail (s, "\\u needs four hex digits");
        v = v << 4 | (unsigned)(c <= '9' ? c - '0' : c - 'a' + 10);
    }
    *ret = v;
    return 0;
}

static int read_escape (struct parse *s, struct str *out)
{
    static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
    int c = peek (s);
    const char *found = c > 0 ? strchr (from, c) : NULL;
    unsigned cp, low;

    if (c < 0)
        return fail (s, "the string never ends");
    s->p++;
    if (found) {
        str_putc (out, to[found - from]);
        return 0;
    }
    if (c != 'u') { /* "C:\Users" as people write it: kept as it stands */
        str_putc (out, '\\');
        str_putc (out, (char)c);
        return 0;
    }
    if (read_hex (s, &cp) < 0)
        return -1;
    if (cp >= 0xd800 && cp < 0xdc00 && at (s, "\\u")) {
        s->p += 2;
        if (read_hex (s, &low) < 0)
            return -1;
        if (low >= 0xdc00 && low < 0xe000)
            cp = 0x10000 + ((cp - 0xd800) << 10) + (low - 0xdc00);
        else
            cp = 0xfffd;
    } else if (cp >= 0xd800 && cp < 0xe000) {
        cp = 0xfffd;
    }
    put_code_point (out, cp);
    return 0;
}

static int read_triple (struct parse *s, struct text *ret)
{
    const char *from = s->p += 3, *close;

    close = memmem (s->p, (size_t)(s->end - s->p), "\"\"\"", 3);
    if (!close)
        return fail (s, "the \"\"\" string never ends");
    while (close + 3 < s->end && close[3] == '"') /* quotes before the closing three belong to the string */
        close++;
    for (const char *q = from; q < close; q++)
        s->line += *q == '\n';
    s->p = close + 3;
    *ret = (struct text){ from, (size_t)(close - from) };
    return 0;
}

static int read_quoted (struct parse *s, struct text *ret)
{
    struct str out = { .arena = s->h->a };

    if (at (s, "\"\"\""))
        return read_triple (s, ret);
    for (s->p++; peek (s) != '"';) {
        int c = peek (s);

        if (c < 0 || c == '\n')
            return fail (s, "the string never ends (a string over several lines needs \"\"\")");
        s->p++;
        if (c != '\\')
            str_putc (&out, (char)c);
        else if (read_escape (s, &out) < 0)
            return -1;
    }
    s->p++;
    *ret = str_text (&out);
    return 0;
}

/* -- keys ------------------------------------------------------------------------------------------------------- */

static struct path *path_add (struct parse *s, struct path **head, struct path *tail, struct str *key)
{
    struct path *p = arena_new (s->h->a, struct path);

    p->key = key->p ? key->p : arena_strdup (s->h->a, "");
    *key = (struct str){ .arena = s->h->a };
    if (tail)
        tail->next = p;
    else
        *head = p;
    return p;
}

/* a.b."c.d" up to a byte of `stop` (not consumed), a newline or a comment. */
static int read_path (struct parse *s, const char *stop, struct path **ret)
{
    struct path *head = NULL, *tail = NULL;
    struct str key = { .arena = s->h->a };
    bool quoted = false;
    size_t spaces = 0;
    int c, parts = 0;

    for (;; s->p++) {
        c = peek (s);
        if (c < 0 || c == '\n' || strchr (stop, c) || c == '#' || (c == '+' && at (s, "+=")))
            break;
        if (is_blank (c)) {
            spaces += key.n || quoted;
            continue;
        }
        if (c == '.') {
            if (!key.n && !quoted)
                return fail (s, "a part of the key is empty");
            if (++parts > HOCON_DEPTH_MAX)
                return fail (s, "the key has too many parts");
            tail = path_add (s, &head, tail, &key);
            quoted = false, spaces = 0;
            continue;
        }
        if (c == '[' || c == ']' || c == '}' || c == ',' || c == '$')
            return error_set (s->err, EINVAL, "%s:%d: '%c' cannot stand in a key; quote it", s->name, s->line,
                              c);
        for (; spaces; spaces--)
            str_putc (&key, ' ');
        if (c == '"') {
            struct text t = { 0 };

            if (read_quoted (s, &t) < 0)
                return -1;
            str_add_text (&key, t);
            quoted = true;
            s->p--;
        } else {
            str_putc (&key, (char)c);
        }
    }
    if (!key.n && !quoted)
        return fail (s, head ? "a part of the key is empty" : "a key is missing");
    path_add (s, &head, tail, &key);
    *ret = head;
    return 0;
}

/* -- values ----------------------------------------------------------------------------------------------------- */

static bool is_number (struct text t)
{
    const char *p = t.p, *end = t.p + t.n;

    p += p < end && *p == '-';
    if (p == end || !isdigit ((unsigned char)*p))
        return false;
    if (*p == '0' && p + 1 < end && isdigit ((unsigned char)p[1]))
        return false; /* 007 is a text: nobody writes a number so */
    while (p < end && isdigit ((unsigned char)*p))
        p++;
    if (p < end && *p == '.') {
        if (++p == end || !isdigit ((unsigned char)*p))
            return false;
        while (p < end && isdigit ((unsigned char)*p))
            p++;
    }
    if (p < end && (*p == 'e' || *p == 'E')) {
        p++;
        p += p < end && (*p == '+' || *p == '-');
        if (p == end)
            return false;
        while (p < end && isdigit ((unsigned char)*p))
            p++;
    }
    return p == end;
}

/* A word without quotes, up to a blank or a byte with a meaning. */
static int read_word (struct parse *s, struct text *ret)
{
    const char *from = s->p;

    while (s->p < s->end && !is_blank (*s->p) && !strchr ("\n,{}[]\"#=", *s->p) && !at (s, "${"))
        s->p++;
    if (s->p == from)
        return error_set (s->err, EINVAL, "%s:%d: '%c' cannot stand here; quote the value", s->name, s->line,
                          *from);
    *ret = (struct text){ from, (size_t)(s->p - from) };
    return 0;
}

static struct node *word_node (struct parse *s, struct text t)
{
    struct node *n = node_create (s->h, NODE_STRING, s->name, s->line);

    n->text = t;
    if (text_is (t, "null"))
        n->kind = NODE_NULL;
    else if (text_is (t, "true") || text_is (t, "True") || text_is (t, "false") || text_is (t, "False"))
        n->kind = NODE_BOOL, n->truth = t.n == 4;
    else if (is_number (t))
        n->kind = NODE_NUMBER;
    return n;
}

static int read_subst (struct parse *s, struct node **ret)
{
    struct node *n = node_create (s->h, NODE_SUBST, s->name, s->line);
    const char *from = s->p;

    s->p += 2;
    if (peek (s) == '?')
        n->optional = true, s->p++;
    if (read_path (s, "}{:=", &n->path) < 0)
        return -1;
    if (peek (s) != '}')
        return fail (s, "${...} needs its closing brace");
    s->p++;
    n->text = (struct text){ from, (size_t)(s->p - from) };
    n->prefix = s->prefix;
    *ret = n;
    return 0;
}

static int read_list (struct parse *s, struct node **ret)
{
    struct node *list = node_create (s->h, NODE_ARRAY, s->name, s->line), *item;

    if (++s->depth > HOCON_DEPTH_MAX)
        return fail (s, "nested too deep");
    for (s->p++;;) {
        skip_lines (s);
        if (peek (s) == ']')
            break;
        if (peek (s) < 0)
            return fail (s, "the list never ends: ']' is missing");
        if (parse_value (s, &item, NULL) < 0)
            return -1;
        node_add (s->h, list, item);
        skip_lines (s);
        if (peek (s) == ',')
            s->p++;
    }
    s->p++;
    s->depth--;
    *ret = list;
    return 0;
}

/* One part of a value: everything but white space. */
static int read_part (struct parse *s, struct node **ret, struct path *where)
{
    struct text t = { 0 };

    if (peek (s) == '{') {
        *ret = node_create (s->h, NODE_OBJECT, s->name, s->line);
        return parse_object (s, *ret, true, where);
    }
    if (peek (s) == '[')
        return read_list (s, ret);
    if (at (s, "${"))
        return read_subst (s, ret);
    if (peek (s) == '"') {
        *ret = node_create (s->h, NODE_STRING, s->name, s->line);
        return read_quoted (s, &(*ret)->text);
    }
    if (read_word (s, &t) < 0)
        return -1;
    *ret = word_node (s, t);
    return 0;
}

static int parse_value (struct parse *s, struct node **ret, struct path *where)
{
    struct node *all = NULL, *one = NULL, *part = NULL;

    for (;;) {
        const char *from = s->p;
        int c;

        skip_blanks (s);
        c = peek (s);
        if (c < 0 || c == '\n' || c == ',' || c == '}' || c == ']')
            break;
        if (read_part (s, &part, where) < 0)
            return -1;
        if (one) {
            size_t blanks = 0;

            while (is_blank (from[blanks]))
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
        return fail (s, "a value is missing");
    *ret = all ? all : one;
    return 0;
}

/* -- objects ---------------------------------------------------------------------------------------------------- */

/* include "x" | include file("x") | include required(...): `s->p` is behind the word. */
static int parse_include (struct parse *s, struct node *object, struct path *where)
{
    struct text name;
    bool required = false;
    struct error err;
    char *path;
    int closing = 0;

    for (;;) {
        skip_blanks (s);
        if (at (s, "required("))
            s->p += 9, closing++, required = true;
        else if (at (s, "file("))
            s->p += 5, closing++;
        else
            break;
    }
    if (peek (s) != '"')
        return fail (s, "include needs a file name in quotes (url() and classpath() are not supported)");
    if (read_quoted (s, &name) < 0)
        return -1;
    for (; closing; closing--) {
        skip_blanks (s);
        if (peek (s) != ')')
            return fail (s, "include: ')' is missing");
        s->p++;
    }
    if (memmem (name.p, name.n, "${", 2))
        return fail (s, "include does not replace ${...} in its file name: write the path out");
    if (!s->folder)
        return fail (s, "include is not possible here");
    if (s->includes >= HOCON_INCLUDE_MAX)
        return fail (s, "too many nested includes (does a file include itself?)");
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

static bool at_include (const struct parse *s)
{
    const char *p = s->p + 7;

    if (!at (s, "include") || p >= s->end || (!is_blank (*p) && *p != '"'))
        return false;
    while (p < s->end && is_blank (*p))
        p++;
    return p < s->end && (*p == '"' || !strncmp (p, "file(", 5) || !strncmp (p, "required(", 9) ||
                          !strncmp (p, "url(", 4) || !strncmp (p, "classpath(", 10));
}

/* `a += x` is `a = ${?a} [x]`. */
static struct node *append_node (struct parse *s, struct path *full, struct node *value)
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

static int parse_field (struct parse *s, struct node *object, struct path *where)
{
    struct path *key, *full;
    struct node *value;
    bool append;

    if (at_include (s)) {
        s->p += 7;
        return parse_include (s, object, where);
    }
    if (read_path (s, ":={", &key) < 0)
        return -1;
    full = path_plus (s->h, where, key);
    append = at (s, "+=");
    if (append)
        s->p += 2;
    else if (peek (s) == ':' || peek (s) == '=')
        s->p++;
    else if (peek (s) != '{')
        return error_set (s->err, EINVAL, "%s:%d: the key '%s' has no value ('=' or ':' is missing)", s->name,
                          s->line, key->key);
    skip_lines (s); /* a value may begin on the next line */
    if (parse_value (s, &value, full) < 0)
        return -1;
    node_assign (s->h, object, key, append ? append_node (s, full, value) : value);
    return 0;
}

static int parse_object (struct parse *s, struct node *object, bool braces, struct path *where)
{
    int opened = s->line;

    if (++s->depth > HOCON_DEPTH_MAX)
        return fail (s, "nested too deep");
    if (braces)
        s->p++;
    for (;;) {
        skip_lines (s);
        if (peek (s) < 0 && braces)
            return error_set (s->err, EINVAL, "%s:%d: '{' is never closed", s->name, opened);
        if (peek (s) < 0)
            break;
        if (peek (s) == '}') {
            if (!braces)
                return fail (s, "'}' closes nothing");
            s->p++;
            break;
        }
        if (peek (s) == ',') {
            s->p++;
            continue;
        }
        if (parse_field (s, object, where) < 0)
            return -1;
        skip_blanks (s);
        if (peek (s) >= 0 && !strchr ("\n,}", peek (s)))
            return error_set (s->err, EINVAL, "%s:%d: '%c' cannot stand here", s->name, s->line, peek (s));
    }
    s->depth--;
    return 0;
}

static int parse_root (struct parse *s, struct node *into, struct path *where)
{
    skip_lines (s);
    if (peek (s) != '{')
        return parse_object (s, into, false, where);
    if (parse_object (s, into, true, where) < 0)
        return -1;
    skip_lines (s);
    if (peek (s) >= 0)
        return fail (s, "something stands behind the closing brace");
    return 0;
}

static int check_text (struct hocon *h, const char *name, struct text in, struct error *err)
{
    (void)h;
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
    struct parse s = { .h = h, .line = 1, .prefix = where, .includes = includes, .err = err };

    if (file_read (path, HOCON_FILE_MAX, &body, err) < 0)
        return -1;
    if (check_text (h, path, str_text (&body), err) < 0)
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
    struct parse s = { .h = h, .line = 1, .err = err };

    if (check_text (h, name, in, err) < 0)
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
    struct parse s = { .h = h, .line = 1, .err = err };
    struct node *n;

    if (check_text (h, name, value, err) < 0)
        return -1;
    s.p = arena_strndup (h->a, value.p ? value.p : "", value.n);
    s.end = s.p + value.n;
    s.name = arena_strdup (h->a, name);
    skip_lines (&s);
    if (parse_value (&s, &n, split_path (h, path)) < 0)
        return -1;
    skip_lines (&s);
    if (peek (&s) >= 0)
        return error_set (err, EINVAL, "%s: '%c' behind the value", name, peek (&s));
    node_assign (h, h->root, split_path (h, path), n);
    return 0;
}
