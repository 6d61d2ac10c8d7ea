/* indexes.c - see indexes.h. In: pip.conf files, variables. Out: the same for both installers. */
#include "run/indexes.h"
#include "base/file.h"
#include "base/home.h"
#include "base/path.h"
#include "base/str.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

enum key { INDEX, EXTRA, LINKS, CERT, KEYS };
static const struct {
    const char *file, *variable;
    bool list;
} keys[KEYS] = {
    [INDEX] = { "index-url", "PIP_INDEX_URL", false },
    [EXTRA] = { "extra-index-url", "PIP_EXTRA_INDEX_URL", true },
    [LINKS] = { "find-links", "PIP_FIND_LINKS", true },
    [CERT] = { "cert", "PIP_CERT", false },
};

static char *words (struct arena *a, const char *old, const char *value, size_t n)
{
    struct str s = { .arena = a };
    if (old)
        str_puts (&s, old);
    for (size_t i = 0; i < n; i++) {
        char c = value[i];
        if (!isspace ((unsigned char)c))
            str_putc (&s, c);
        else if (s.n && s.p[s.n - 1] != ' ')
            str_putc (&s, ' ');
    }
    while (s.n && s.p[s.n - 1] == ' ')
        s.p[--s.n] = 0;
    return s.n ? s.p : NULL;
}

/* One `key = value` with the lines that continue it (they begin with white space). */
static void take (struct arena *a, const char *values[KEYS], struct text key, const char *value, size_t n)
{
    for (int k = 0; k < KEYS; k++)
        if (text_is (key, keys[k].file)) {
            const char *w = words (a, NULL, value, n);
            values[k] = w ? w : values[k];
        }
}

static void read_file (struct arena *a, const char *path, const char *values[KEYS])
{
    struct str s = { .arena = a };
    struct error ignored;
    bool wanted = false;
    if (file_read (path, 1 << 20, &s, &ignored) < 0 || !s.n)
        return;
    const char *p = s.p, *end = s.p + s.n;
    while (p < end) {
        size_t n = strcspn (p, "\n");
        if (*p == '[') {
            wanted = !strncmp (p, "[global]", 8) || !strncmp (p, "[install]", 9);
        } else if (wanted && *p != '#' && *p != ';' && !isspace ((unsigned char)*p)) {
            size_t key = 0;
            while (key < n && p[key] != '=' && p[key] != ':')
                key++;
            size_t whole = n; /* with continuation lines */
            while (p[whole] == '\n' && (p[whole + 1] == ' ' || p[whole + 1] == '\t'))
                whole += 1 + strcspn (p + whole + 1, "\n");
            size_t trimmed = key;
            while (trimmed && isspace ((unsigned char)p[trimmed - 1]))
                trimmed--;
            if (key < n)
                take (a, values, (struct text){ p, trimmed }, p + key + 1, whole - key - 1);
            n = whole;
        }
        p += n + 1;
    }
}

struct indexes indexes_read (struct arena *a, const char *const *extra, size_t extra_n)
{
    const char *values[KEYS] = { NULL }, *home = home_folder (a);
    const char *virtual = getenv ("VIRTUAL_ENV"), *given = getenv ("PIP_CONFIG_FILE"),
               *xdg = getenv ("XDG_CONFIG_HOME");
    read_file (a, "/etc/pip.conf", values);
    read_file (a, "/etc/xdg/pip/pip.conf", values);
    read_file (a, path_join (a, home, ".pip/pip.conf"), values);
    read_file (a, path_join (a, xdg ? xdg : path_join (a, home, ".config"), "pip/pip.conf"), values);
    if (virtual)
        read_file (a, path_join (a, virtual, "pip.conf"), values);
    if (given)
        read_file (a, given, values);
    for (int k = 0; k < KEYS; k++)
        if (getenv (keys[k].variable))
            values[k] = words (a, NULL, getenv (keys[k].variable), strlen (getenv (keys[k].variable)));
    for (size_t i = extra_n; i-- > 0;)
        values[EXTRA] =
            values[EXTRA] ? arena_printf (a, "%s %s", extra[i], values[EXTRA]) : arena_strdup (a, extra[i]);
    return (struct indexes){ values[INDEX], values[EXTRA], values[LINKS], values[CERT] };
}

/* uv wants its links separated by commas. */
static const char *commas (struct arena *a, const char *list)
{
    char *out = arena_strdup (a, list);
    for (char *c = out; *c; c++)
        if (*c == ' ')
            *c = ',';
    return out;
}

const char *const *indexes_variables (struct arena *a, const struct indexes *x)
{
    const char **v = arena_array (a, const char *, 12);
    size_t n = 0;
    if (x->index) {
        v[n++] = arena_printf (a, "PIP_INDEX_URL=%s", x->index);
        v[n++] = arena_printf (a, "UV_INDEX_URL=%s", x->index);
    }
    if (x->extra) {
        v[n++] = arena_printf (a, "PIP_EXTRA_INDEX_URL=%s", x->extra);
        v[n++] = arena_printf (a, "UV_EXTRA_INDEX_URL=%s", x->extra);
    }
    if (x->find_links) {
        v[n++] = arena_printf (a, "PIP_FIND_LINKS=%s", x->find_links);
        v[n++] = arena_printf (a, "UV_FIND_LINKS=%s", commas (a, x->find_links));
    }
    if (x->certificate) {
        v[n++] = arena_printf (a, "PIP_CERT=%s", x->certificate);
        if (!getenv ("SSL_CERT_FILE"))
            v[n++] = arena_printf (a, "SSL_CERT_FILE=%s", x->certificate);
    }
    return v;
}
