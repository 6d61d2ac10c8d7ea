/* words.c - see words.h. */
#include "run/words.h"
#include "base/str.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>

enum { WORDS_MAX = 4096 };

struct splitter {
    struct arena *arena;
    const char *p;
    const char *(*variable) (void *, const char *);
    void *arg;
    struct str word;
};

static void replace (struct splitter *s)
{
    bool braces = s->p[1] == '{';
    const char *name = s->p + 1 + braces;
    size_t n = 0;
    while (isalnum ((unsigned char)name[n]) || name[n] == '_')
        n++;
    if (!n || !s->variable || isdigit ((unsigned char)name[0]) || (braces && name[n] != '}')) {
        str_putc (&s->word, *s->p++);
        return;
    }
    const char *value = s->variable (s->arg, arena_strndup (s->arena, name, n));
    str_puts (&s->word, value ? value : "");
    s->p = name + n + braces;
}

static int quoted (struct splitter *s, struct error *err)
{
    char quote = *s->p++;
    while (*s->p && *s->p != quote) {
        if (quote == '"' && *s->p == '\\' && s->p[1] && strchr ("\"\\$`", s->p[1])) {
            str_putc (&s->word, s->p[1]);
            s->p += 2;
        } else if (quote == '"' && *s->p == '$')
            replace (s);
        else
            str_putc (&s->word, *s->p++);
    }
    if (!*s->p)
        return error_set (err, EINVAL, "a %c that does not end", quote);
    s->p++;
    return 0;
}

int words_split (struct arena *a, const char *line, const char *(*variable) (void *, const char *), void *arg,
                 const char *const **ret, size_t *ret_n, struct error *err)
{
    const char **list = arena_array (a, const char *, WORDS_MAX + 1);
    struct splitter s = { a, line, variable, arg, { .arena = a } };
    size_t n = 0;
    for (;;) {
        while (isspace ((unsigned char)*s.p))
            s.p++;
        if (!*s.p)
            break;
        if (n == WORDS_MAX)
            return error_set (err, E2BIG, "more than %d words", WORDS_MAX);
        s.word = (struct str){ .arena = a };
        str_puts (&s.word, "");
        while (*s.p && !isspace ((unsigned char)*s.p)) {
            if (*s.p == '\'' || *s.p == '"') {
                if (quoted (&s, err) < 0)
                    return -1;
            } else if (*s.p == '\\' && s.p[1]) {
                str_putc (&s.word, s.p[1]);
                s.p += 2;
            } else if (*s.p == '$')
                replace (&s);
            else
                str_putc (&s.word, *s.p++);
        }
        list[n++] = s.word.p;
    }
    *ret = list;
    if (ret_n)
        *ret_n = n;
    return 0;
}
