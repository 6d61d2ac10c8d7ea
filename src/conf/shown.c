/* shown.c - see shown.h. Works on the JSON text as it stands: what is cut out begins and ends at plain characters. */
#include "conf/shown.h"
#include "conf/conf.h"

#include <ctype.h>
#include <string.h>

enum { NAME_MAX_ = 128 };

/* Is the name that ends at p[at] one of a secret? */
static bool names_secret (const char *p, size_t at)
{
    char name[NAME_MAX_];
    size_t n = 0;

    while (n < at && n + 1 < sizeof (name) &&
           (isalnum ((unsigned char)p[at - n - 1]) || p[at - n - 1] == '_'))
        n++;
    memcpy (name, p + at - n, n);
    name[n] = '\0';
    return n && conf_key_is_secret (name);
}

/* Behind "://": the length of user and password, 0 when there are none; *ret_keep of it may be shown. */
static size_t password_of (const char *p, size_t n, size_t *ret_keep)
{
    const char *at, *colon;
    size_t authority = 0;

    while (authority < n && !strchr ("/ ,?#\\", p[authority]))
        authority++;
    if (!(at = memrchr (p, '@', authority)))
        return 0;
    colon = memchr (p, ':', (size_t)(at - p));
    *ret_keep = colon ? (size_t)(colon - p) + 1 : 0;
    return (size_t)(at - p);
}

/* One text, without its quotes. True: it is an option whose value, a secret, comes next. */
static bool put_text (struct str *out, const char *p, size_t n)
{
    bool option = n && p[0] == '-';

    for (size_t i = 0; i < n; i++) {
        size_t keep = 0, user;

        if (i + 3 <= n && !memcmp (p + i, "://", 3) && (user = password_of (p + i + 3, n - i - 3, &keep))) {
            str_add (out, p + i, 3 + keep);
            str_puts (out, "****");
            i += 2 + user;
            continue;
        }
        if ((p[i] == '=' || (option && p[i] == ' ')) && names_secret (p, i)) {
            str_add (out, p + i, 1);
            str_puts (out, "****"); /* to the end: nobody knows where it ends */
            return false;
        }
        if (p[i] == ' ')
            option = i + 1 < n && p[i + 1] == '-';
        str_putc (out, p[i]);
    }
    return option && names_secret (p, n);
}

void shown_put (struct str *out, struct text json)
{
    bool hide = false;

    for (size_t i = 0; i < json.n; i++) {
        size_t end = i + 1;

        str_putc (out, json.p[i]);
        if (json.p[i] != '"')
            continue;
        while (end < json.n && json.p[end] != '"')
            end += json.p[end] == '\\' ? 2 : 1;
        if (end > json.n)
            end = json.n;
        if (hide) {
            str_puts (out, "****");
            hide = false;
        } else {
            hide = put_text (out, json.p + i + 1, end - i - 1);
        }
        if (end < json.n)
            str_putc (out, '"');
        i = end;
    }
}
