/* hocon_scan.c - bytes to words of the language (hocon_scan.h). Nothing here knows of values or objects. */
#include "base/hocon_scan.h"

#include "base/hocon.h"
#include "base/utf8.h"

#include <ctype.h>
#include <errno.h>

/* -- bytes ------------------------------------------------------------------------------------------------------ */

int scan_fail (struct scan *s, const char *text)
{
    return error_set (s->err, EINVAL, "%s:%d: %s", s->name, s->line, text);
}

static void skip_comment (struct scan *s)
{
    if (scan_peek (s) == '#' || scan_at (s, "//"))
        while (s->p < s->end && *s->p != '\n')
            s->p++;
}

/* Blanks and a comment; not the newline. A no-break space and a byte order mark count as blanks. */
void scan_blanks (struct scan *s)
{
    for (;;) {
        if (scan_is_blank (scan_peek (s)))
            s->p++;
        else if (scan_at (s, "\xc2\xa0"))
            s->p += 2;
        else if (scan_at (s, "\xef\xbb\xbf"))
            s->p += 3;
        else
            break;
    }
    skip_comment (s);
}

void scan_lines (struct scan *s)
{
    for (scan_blanks (s); scan_peek (s) == '\n'; scan_blanks (s)) {
        s->line++;
        s->p++;
    }
}

/* -- strings ---------------------------------------------------------------------------------------------------- */

static int read_hex (struct scan *s, unsigned *ret)
{
    unsigned v = 0;

    if (s->end - s->p < 4)
        return scan_fail (s, "\\u needs four hex digits");
    for (int i = 0; i < 4; i++, s->p++) {
        int c = tolower ((unsigned char)*s->p);

        if (!isxdigit (c))
            return scan_fail (s, "\\u needs four hex digits");
        v = v << 4 | (unsigned)(c <= '9' ? c - '0' : c - 'a' + 10);
    }
    *ret = v;
    return 0;
}

static int read_escape (struct scan *s, struct str *out)
{
    static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
    int c = scan_peek (s);
    const char *found = c > 0 ? strchr (from, c) : NULL;
    unsigned cp, low;
    char letter[4];

    if (c < 0)
        return scan_fail (s, "the string never ends");
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
    if (cp >= 0xd800 && cp < 0xdc00 && scan_at (s, "\\u")) {
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
    str_add (out, letter, utf8_put (letter, cp));
    return 0;
}

static int read_triple (struct scan *s, struct text *ret)
{
    const char *from = s->p += 3, *close;

    close = memmem (s->p, (size_t)(s->end - s->p), "\"\"\"", 3);
    if (!close)
        return scan_fail (s, "the \"\"\" string never ends");
    while (close + 3 < s->end && close[3] == '"') /* quotes before the closing three belong to the string */
        close++;
    for (const char *q = from; q < close; q++)
        s->line += *q == '\n';
    s->p = close + 3;
    *ret = (struct text){ from, (size_t)(close - from) };
    return 0;
}

int scan_quoted (struct scan *s, struct text *ret)
{
    struct str out = { .arena = s->h->a };

    if (scan_at (s, "\"\"\""))
        return read_triple (s, ret);
    for (s->p++; scan_peek (s) != '"';) {
        int c = scan_peek (s);

        if (c < 0 || c == '\n')
            return scan_fail (s, "the string never ends (a string over several lines needs \"\"\")");
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

static struct path *path_add (struct scan *s, struct path **head, struct path *tail, struct str *key)
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
int scan_path (struct scan *s, const char *stop, struct path **ret)
{
    struct path *head = NULL, *tail = NULL;
    struct str key = { .arena = s->h->a };
    bool quoted = false;
    size_t spaces = 0;
    int c, parts = 0;

    for (;; s->p++) {
        c = scan_peek (s);
        if (c < 0 || c == '\n' || strchr (stop, c) || c == '#' || (c == '+' && scan_at (s, "+=")))
            break;
        if (scan_is_blank (c)) {
            spaces += key.n || quoted;
            continue;
        }
        if (c == '.') {
            if (!key.n && !quoted)
                return scan_fail (s, "a part of the key is empty");
            if (++parts > HOCON_DEPTH_MAX)
                return scan_fail (s, "the key has too many parts");
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

            if (scan_quoted (s, &t) < 0)
                return -1;
            str_add_text (&key, t);
            quoted = true;
            s->p--;
        } else {
            str_putc (&key, (char)c);
        }
    }
    if (!key.n && !quoted)
        return scan_fail (s, head ? "a part of the key is empty" : "a key is missing");
    path_add (s, &head, tail, &key);
    *ret = head;
    return 0;
}

/* -- words ------------------------------------------------------------------------------------------------------ */

bool scan_is_number (struct text t)
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
int scan_word (struct scan *s, struct text *ret)
{
    const char *from = s->p;

    while (s->p < s->end && !scan_is_blank (*s->p) && !strchr ("\n,{}[]\"#=", *s->p) && !scan_at (s, "${"))
        s->p++;
    if (s->p == from)
        return error_set (s->err, EINVAL, "%s:%d: '%c' cannot stand here; quote the value", s->name, s->line,
                          *from);
    *ret = (struct text){ from, (size_t)(s->p - from) };
    return 0;
}
