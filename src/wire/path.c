/* path.c - the path of a request: [/][v<digits>[.]<digits>/]<service>.<action>[/] */
#include "wire/errors.h"
#include "wire/wire.h"

#include <ctype.h>

static size_t digits (struct text t, size_t from)
{
    size_t n = 0;

    while (from + n < t.n && isdigit ((unsigned char)t.p[from + n]))
        n++;
    return n;
}

static int number (struct text t, size_t from, size_t n, int max)
{
    int v = 0;

    for (size_t i = from; i < from + n; i++)
        if ((v = v * 10 + (t.p[i] - '0')) > max)
            return max;
    return v;
}

/* A version at the front of *rest, with its slash: taken off. */
static void take_version (struct text *rest, struct wire_path *path)
{
    size_t major, minor = 0, end;
    bool point;

    if (!rest->n || rest->p[0] != 'v')
        return;
    major = digits (*rest, 1);
    point = 1 + major < rest->n && rest->p[1 + major] == '.';
    if (point)
        minor = digits (*rest, 2 + major);
    end = 1 + major + point + minor;
    if (!major || (point ? !minor && major < 2 : major < 2) || end >= rest->n || rest->p[end] != '/')
        return;
    path->version = number (*rest, 1, major, 999999) * 1000 + number (*rest, 2 + major, minor, 999);
    path->version_text = (struct text){ rest->p + 1, end - 1 };
    *rest = (struct text){ rest->p + end + 1, rest->n - end - 1 };
}

static bool is_word (unsigned char c)
{
    return c < 0x80 && (isalnum (c) || c == '_');
}

/* Length of a name at `from`: a letter or _, then at least one more word character; 0 = none. */
static size_t name_length (struct text t, size_t from)
{
    size_t n = 0;

    while (from + n < t.n && is_word ((unsigned char)t.p[from + n]))
        n++;
    return n < 2 || isdigit ((unsigned char)t.p[from]) ? 0 : n;
}

int wire_path_parse (struct text path, struct wire_path *ret, struct error *err)
{
    struct wire_path p = { .version_text = TEXT (WIRE_VERSION_TEXT), .version = WIRE_VERSION };
    struct text rest = path;
    size_t service, action;

    if (rest.n && rest.p[0] == '/')
        rest = (struct text){ rest.p + 1, rest.n - 1 };
    take_version (&rest, &p);
    if (rest.n && rest.p[rest.n - 1] == '/')
        rest.n--;
    service = name_length (rest, 0);
    action = service && service < rest.n && rest.p[service] == '.' ? name_length (rest, service + 1) : 0;
    if (!action || service + 1 + action != rest.n) {
        *ret = (struct wire_path){ .name = TEXT (""), .version_text = TEXT ("1.0"), .version = 1000 };
        return error_set (err, ERR_MALFORMED, "path %.*s: expected /[v2.13/]service.action",
                          path.n > 200 ? 200 : (int)path.n, path.p ? path.p : "");
    }
    p.name = rest;
    *ret = p;
    return 0;
}
