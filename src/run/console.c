/* console.c - see console.h. In: bytes as they come from the pipe. Out: lines.
 *
 * Most lines are plain: printable UTF-8 up to '\n'. They are taken whole. Only a line with a control byte in it is
 * drawn cell by cell: a cell is one character with the colours that were set when it was written.
 */
#include "run/console.h"

#include <stdlib.h>
#include <string.h>

enum { STYLE_MAX = 64, STYLES = 256, ESCAPE_MAX = 64 };

struct cell {
    char b[4];
    uint8_t n;     /* bytes */
    uint8_t style; /* index in styles; 0 = none */
};

enum mode { TEXT_MODE, ESCAPE, CSI, STRING, STRING_ESCAPE }; /* STRING: OSC and its kin, up to BEL or ESC \ */

struct console {
    void (*emit) (void *arg, struct text line, int64_t now);
    void *arg;
    int64_t refresh_ms, refreshed;
    struct cell *cells;
    size_t n, cap, at; /* cells in the line, cursor */
    enum mode mode;
    char escape[ESCAPE_MAX];
    size_t escape_n;
    char partial[4]; /* an unfinished UTF-8 sequence */
    size_t partial_n, partial_need;
    char styles[STYLES][STYLE_MAX];
    int style_n;
    uint8_t style;
    bool redrawn; /* a carriage return came since the last emit, with text before it */
    struct str out;
};

struct console *console_create (int64_t refresh_ms, void (*emit) (void *, struct text, int64_t), void *arg)
{
    struct console *c = calloc (1, sizeof *c);
    c->emit = emit, c->arg = arg, c->refresh_ms = refresh_ms, c->style_n = 1;
    return c;
}

void console_destroy (struct console *c)
{
    if (!c)
        return;
    free (c->cells);
    str_done (&c->out);
    free (c);
}

/* The line as text: cells, with a reset and the new colours wherever they change. */
static void draw (struct console *c)
{
    str_reset (&c->out);
    uint8_t style = 0;
    size_t n = c->n;
    while (n && c->cells[n - 1].n == 1 && c->cells[n - 1].b[0] == ' ' && c->redrawn)
        n--; /* bars pad with spaces to wipe what stood there */
    for (size_t i = 0; i < n; i++) {
        if (c->cells[i].style != style) {
            if (style)
                str_puts (&c->out, "\033[0m");
            style = c->cells[i].style;
            str_puts (&c->out, c->styles[style]);
        }
        str_add (&c->out, c->cells[i].b, c->cells[i].n);
    }
    if (style)
        str_puts (&c->out, "\033[0m");
}

static void emit (struct console *c, int64_t now)
{
    draw (c);
    c->emit (c->arg, str_text (&c->out), now);
    c->refreshed = now;
}

static void clear (struct console *c)
{
    c->n = c->at = 0;
    c->redrawn = false;
    if (!c->style) /* colours that are still on stay known to the next line */
        c->style_n = 1;
}

static void end_line (struct console *c, int64_t now)
{
    emit (c, now);
    clear (c);
}

static void put (struct console *c, const char *b, size_t n, int64_t now)
{
    if (c->at >= CONSOLE_LINE_MAX / 4)
        end_line (c, now);
    if (c->at >= c->cap) {
        c->cap = c->cap ? c->cap * 2 : 256;
        c->cells = realloc (c->cells, c->cap * sizeof *c->cells);
        if (!c->cells)
            abort ();
    }
    struct cell *cell = &c->cells[c->at++];
    memcpy (cell->b, b, n);
    cell->n = (uint8_t)n;
    cell->style = c->style;
    if (c->at > c->n)
        c->n = c->at;
}

static void put_bad (struct console *c, int64_t now)
{
    put (c, "\357\277\275", 3, now);
    c->partial_n = 0;
}

static size_t utf8_need (unsigned char b)
{
    return b < 0x80                 ? 1
           : b >= 0xC2 && b <= 0xDF ? 2
           : b >= 0xE0 && b <= 0xEF ? 3
           : b >= 0xF0 && b <= 0xF4 ? 4
                                    : 0;
}

/* Whether `b` may be byte number i of the sequence that began with `first` (no surrogates, no long forms). */
static bool utf8_continues (unsigned char first, size_t i, unsigned char b)
{
    unsigned char low = 0x80, high = 0xBF;
    if (i == 1) {
        low = first == 0xE0 ? 0xA0 : first == 0xF0 ? 0x90 : 0x80;
        high = first == 0xED ? 0x9F : first == 0xF4 ? 0x8F : 0xBF;
    }
    return b >= low && b <= high;
}

static void set_style (struct console *c, const char *params, size_t n)
{
    char full[STYLE_MAX] = "";
    if (!n || (n == 1 && params[0] == '0')) {
        c->style = 0;
        return;
    }
    size_t old = strlen (c->styles[c->style]);
    bool resets = params[0] == '0' && params[1] == ';';
    if (resets || old + n + 4 > STYLE_MAX)
        old = 0;
    if (n + 4 > STYLE_MAX)
        return;
    memcpy (full, c->styles[c->style], old);
    memcpy (full + old, "\033[", 2);
    memcpy (full + old + 2, params, n);
    strcpy (full + old + 2 + n, "m");
    for (int i = 1; i < c->style_n; i++)
        if (!strcmp (c->styles[i], full)) {
            c->style = (uint8_t)i;
            return;
        }
    if (c->style_n == STYLES)
        return;
    strcpy (c->styles[c->style_n], full);
    c->style = (uint8_t)c->style_n++;
}

static void move (struct console *c, long to)
{
    c->at = to < 0 ? 0 : (size_t)to > c->n ? c->n : (size_t)to;
}

static void erase (struct console *c, long how)
{
    if (how == 0 || how == 2)
        c->n = c->at;
    if (how == 1 || how == 2)
        for (size_t i = 0; i < c->at; i++)
            c->cells[i] = (struct cell){ .b = " ", .n = 1 };
}

/* A whole control sequence: parameters in escape, its last byte is `final`. */
static void control (struct console *c, char final)
{
    long n = strtol (c->escape, NULL, 10);
    long step = n > 0 ? n : 1;
    switch (final) {
        case 'm':
            if (strspn (c->escape, "0123456789;:") == c->escape_n)
                set_style (c, c->escape, c->escape_n);
            break;
        case 'K':
            erase (c, n);
            break;
        case 'G':
            move (c, step - 1);
            break;
        case 'C':
            move (c, (long)c->at + step);
            break;
        case 'D':
            move (c, (long)c->at - step);
            break;
        default: /* moves between lines, titles, modes: nothing a log can show */
            break;
    }
}

static void escape_byte (struct console *c, char b)
{
    switch (c->mode) {
        case ESCAPE:
            c->escape_n = 0;
            c->mode = b == '['                                              ? CSI
                      : strchr ("]PX^_", b) && b                            ? STRING
                      : (unsigned char)b >= 0x20 && (unsigned char)b < 0x30 ? ESCAPE
                                                                            : TEXT_MODE;
            break;
        case CSI:
            if (b >= 0x40 && b <= 0x7e) {
                c->escape[c->escape_n] = 0;
                control (c, b);
                c->mode = TEXT_MODE;
            } else if (c->escape_n < ESCAPE_MAX - 1)
                c->escape[c->escape_n++] = b;
            else
                c->mode = TEXT_MODE;
            break;
        case STRING:
            c->mode = b == '\a'              ? TEXT_MODE
                      : b == '\033'          ? STRING_ESCAPE
                      : ++c->escape_n > 4096 ? TEXT_MODE
                                             : STRING;
            break;
        case STRING_ESCAPE:
            c->mode = TEXT_MODE;
            break;
        case TEXT_MODE:
            break;
    }
}

static void carriage_return (struct console *c, int64_t now)
{
    if (c->n && c->refresh_ms) {
        if (!c->redrawn && !c->refreshed)
            c->refreshed = now;
        if (now - c->refreshed >= c->refresh_ms || now < c->refreshed) /* the clock was put back */
            emit (c, now);
    }
    c->redrawn = c->redrawn || c->n;
    c->at = 0;
}

static void text_byte (struct console *c, unsigned char b, int64_t now)
{
    if (c->partial_n) {
        if (utf8_continues ((unsigned char)c->partial[0], c->partial_n, b)) {
            c->partial[c->partial_n++] = (char)b;
            if (c->partial_n == c->partial_need) {
                size_t n = c->partial_n;
                c->partial_n = 0;
                if (!(n == 2 && (unsigned char)c->partial[0] == 0xC2 && (unsigned char)c->partial[1] < 0xA0))
                    put (c, c->partial, n, now); /* U+0080 to U+009F are control characters */
            }
            return;
        }
        put_bad (c, now);
    }
    if (b >= 0x80) {
        c->partial_need = utf8_need (b);
        if (!c->partial_need)
            put_bad (c, now);
        else
            c->partial[0] = (char)b, c->partial_n = 1;
    } else if (b == '\n')
        end_line (c, now);
    else if (b == '\r')
        carriage_return (c, now);
    else if (b == '\b')
        c->at -= c->at > 0;
    else if (b == '\033')
        c->mode = ESCAPE;
    else if (b == '\t' || (b >= 0x20 && b != 0x7f))
        put (c, (const char *)&b, 1, now);
}

/* Length of the plain line at p (printable ASCII and tabs) when it is whole and nothing stands in the cells. */
static const char *plain_line (const struct console *c, const char *p, const char *end)
{
    if (c->n || c->partial_n || c->mode != TEXT_MODE || c->style)
        return NULL;
    const char *newline = memchr (p, '\n', (size_t)(end - p));
    if (!newline || newline - p > CONSOLE_LINE_MAX / 4)
        return NULL;
    for (const char *q = p; q < newline; q++)
        if (((unsigned char)*q < 0x20 && *q != '\t') || (unsigned char)*q >= 0x7f)
            return NULL;
    return newline;
}

void console_feed (struct console *c, const char *p, size_t n, int64_t now)
{
    const char *end = p + n;
    while (p < end) {
        const char *newline = plain_line (c, p, end);
        if (newline) {
            c->emit (c->arg, (struct text){ p, (size_t)(newline - p) }, now);
            c->refreshed = now;
            p = newline + 1;
            continue;
        }
        do {
            if (c->mode != TEXT_MODE && *p != '\n')
                escape_byte (c, *p);
            else {
                c->mode = TEXT_MODE;
                text_byte (c, (unsigned char)*p, now);
            }
        } while (*p++ != '\n' && p < end);
    }
}

void console_finish (struct console *c, int64_t now)
{
    if (c->partial_n)
        put_bad (c, now);
    if (c->n)
        end_line (c, now);
    clear (c);
}
