/* home.c - see home.h. */
#include "base/home.h"
#include "base/path.h"
#include "base/str.h"

#include <ctype.h>
#include <pwd.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *variable (const char *name)
{
    const char *v = getenv (name);

    return v && *v ? v : NULL;
}

const char *home_folder (struct arena *a)
{
    const char *home = variable ("HOME");
    struct passwd pw, *found = NULL;
    char *room;

    if (home)
        return home;
    room = arena_alloc (a, 16384);
    if (!getpwuid_r (getuid (), &pw, room, 16384, &found) && found && found->pw_dir && *found->pw_dir)
        return found->pw_dir;
    return "/";
}

/* $NAME or ${NAME} at p: append its value; return the bytes read, 0 when it is none or unset. */
static size_t add_variable (struct arena *a, struct str *s, const char *p)
{
    bool braces = p[1] == '{';
    const char *name = p + 1 + braces, *end = name;
    const char *v;

    while (isalnum ((unsigned char)*end) || *end == '_')
        end++;
    if (end == name || (braces && *end != '}'))
        return 0;
    v = getenv (arena_strndup (a, name, (size_t)(end - name)));
    if (!v)
        return 0;
    str_puts (s, v);
    return (size_t)(end + braces - p);
}

char *home_expand (struct arena *a, const char *path)
{
    struct str s = { .arena = a };

    if (path[0] == '~' && (!path[1] || path[1] == '/'))
        str_puts (&s, home_folder (a)), path++;
    while (*path) {
        size_t n = *path == '$' ? add_variable (a, &s, path) : 0;

        if (!n)
            str_putc (&s, *path), n = 1;
        path += n;
    }
    return s.p ? s.p : arena_strdup (a, "");
}

char *home_state (struct arena *a)
{
    if (variable ("STOKER_STATE"))
        return arena_strdup (a, getenv ("STOKER_STATE"));
    if (variable ("XDG_STATE_HOME"))
        return path_join (a, getenv ("XDG_STATE_HOME"), "stoker");
    if (!geteuid ())
        return arena_strdup (a, "/var/lib/stoker-agent");
    return path_join (a, home_folder (a), ".local/state/stoker");
}

char *home_cache (struct arena *a)
{
    if (variable ("STOKER_CACHE"))
        return arena_strdup (a, getenv ("STOKER_CACHE"));
    if (variable ("XDG_CACHE_HOME"))
        return path_join (a, getenv ("XDG_CACHE_HOME"), "stoker");
    return path_join (a, home_folder (a), ".cache/stoker");
}

char *home_data (struct arena *a)
{
    const char *xdg = getenv ("XDG_DATA_HOME");

    if (xdg && *xdg == '/')
        return path_join (a, xdg, "stoker");
    return geteuid () == 0 ? arena_strdup (a, "/var/lib/stoker")
                           : path_join (a, home_folder (a), ".local/share/stoker");
}
