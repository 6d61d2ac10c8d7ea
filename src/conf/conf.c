/* conf.c - see conf.h. The table of settings is made from config.def; reading a setting is: its variable, else the
 * files' value, else its default, converted by its kind. */
#include "conf/conf.h"
#include "base/file.h"
#include "base/hocon.h"
#include "base/home.h"
#include "base/json.h"
#include "base/path.h"
#include "conf/shown.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

enum kind { TEXT, PATH, SECRET, BOOL, INT, FLOAT, LIST, JSON };

struct setting {
    enum kind kind;
    const char *key, *variable, *otherwise, *help;
    size_t offset;
};

static const struct setting settings[] = {
#define API(kind, field, key, variable, otherwise, help)                                                     \
    { kind, key, variable, otherwise, help, offsetof (struct conf, api.field) },
#define AGENT(kind, field, key, variable, otherwise, help)                                                   \
    { kind, key, variable, otherwise, help, offsetof (struct conf, agent.field) },
#define SERVER(kind, field, key, variable, otherwise, help)                                                  \
    { kind, key, variable, otherwise, help, offsetof (struct conf, server.field) },
#include "conf/config.def"
};
enum { SETTINGS = sizeof (settings) / sizeof (*settings) };

struct reading {
    struct arena *a;
    struct conf *c;
    struct hocon *h;
    const char **files;
    size_t n_files;
    struct error *err;
};

/* -- variables -------------------------------------------------------------------------------------------------- */

/* The value of a variable, or of its TRAINS_ twin; empty counts as not set. *ret_name tells which it was. */
static const char *variable_get (const char *name, char *ret_name, size_t room)
{
    const char *v = getenv (name);

    snprintf (ret_name, room, "%s", name);
    if (v && *v)
        return v;
    if (strncmp (name, "CLEARML_", 8))
        return NULL;
    snprintf (ret_name, room, "TRAINS_%s", name + 8);
    v = getenv (ret_name);
    return v && *v ? v : NULL;
}

/* CLEARML_AGENT__A__B -> a.b (lower case); CLEARML__a__b -> a.b. NULL when it is no such variable. */
static char *override_key (struct arena *a, const char *name, size_t n)
{
    static const char *const starts[] = { "CLEARML_AGENT__", "TRAINS_AGENT__", "CLEARML__", "TRAINS__" };
    struct str s = { .arena = a };

    for (size_t i = 0; i < sizeof (starts) / sizeof (*starts); i++) {
        size_t skip = strlen (starts[i]);

        if (n <= skip || strncmp (name, starts[i], skip))
            continue;
        for (size_t at = skip; at < n; at++) {
            if (at + 1 < n && name[at] == '_' && name[at + 1] == '_')
                str_putc (&s, '.'), at++;
            else
                str_putc (&s, (char)tolower ((unsigned char)name[at]));
        }
        return s.p;
    }
    return NULL;
}

/* A value that the language does not understand (`a b: c=d`) is taken as the text it is. */
static void add_overrides (struct reading *r)
{
    for (char **e = environ; *e; e++) {
        const char *eq = strchr (*e, '=');
        char *key = eq ? override_key (r->a, *e, (size_t)(eq - *e)) : NULL;
        struct error err;

        if (!key || strstr (key, "..") || key[0] == '.' || key[strlen (key) - 1] == '.')
            continue;
        if (hocon_set_value (r->h, key, arena_strndup (r->a, *e, (size_t)(eq - *e)), text_of (eq + 1), &err) <
            0)
            hocon_set (r->h, key, eq + 1);
    }
}

/* -- files ------------------------------------------------------------------------------------------------------ */

static int add_file (struct reading *r, const char *path, bool must)
{
    if (hocon_add_file (r->h, path, r->err) < 0) {
        if (r->err->code == ENOENT && !must)
            return 0;
        return error_wrap (r->err, "configuration");
    }
    r->files[r->n_files++] = path;
    return 0;
}

static int add_files (struct reading *r, const char *file)
{
    const char *home = home_folder (r->a);
    char name[64];

    if (!file)
        file = variable_get ("CLEARML_CONFIG_FILE", name, sizeof (name));
    else
        *name = 0;
    if (file && add_file (r, home_expand (r->a, file), true) < 0)
        return *name && r->err->code == ENOENT
                   ? error_wrap (r->err, "%s names a file that is not there", name)
                   : -1;
    if (file)
        return 0;
    if (add_file (r, path_join (r->a, home, "trains.conf"), false) < 0)
        return -1;
    return add_file (r, path_join (r->a, home, "clearml.conf"), false);
}

char *conf_path (struct arena *a)
{
    char name[64];
    const char *file = variable_get ("CLEARML_CONFIG_FILE", name, sizeof (name));

    return file ? home_expand (a, file) : path_join (a, home_folder (a), "clearml.conf");
}

struct text conf_get (const struct conf *c, const char *dotted)
{
    struct text v = c->all;
    char key[256];

    for (;;) {
        size_t n = strcspn (dotted, ".");

        if (n >= sizeof (key) || json_kind (v) != JSON_OBJECT)
            return (struct text){ 0 };
        memcpy (key, dotted, n);
        key[n] = 0;
        v = json_get (v, key);
        if (!dotted[n])
            return json_kind (v) == JSON_NULL ? (struct text){ 0 } : v;
        dotted += n + 1;
    }
}

/* -- one setting ------------------------------------------------------------------------------------------------ */

static int bad_value (struct reading *r, const struct setting *s, const char *from, const char *text,
                      const char *what)
{
    if (s->kind == SECRET)
        text = "***";
    return error_set (r->err, EINVAL, "%s: %s = '%s' is not %s", from, s->key, text, what);
}

static int set_bool (struct reading *r, const struct setting *s, const char *text, const char *from)
{
    static const char *const yes[] = { "true", "yes", "on", "1", "y" }, *const no[] = { "false", "no", "off",
                                                                                        "0", "n" };

    for (size_t i = 0; i < 5; i++) {
        if (strcasecmp (text, yes[i]) && strcasecmp (text, no[i]))
            continue;
        *(bool *)((unsigned char *)r->c + s->offset) = !strcasecmp (text, yes[i]);
        return 0;
    }
    return bad_value (r, s, from, text, "true or false");
}

static int set_number (struct reading *r, const struct setting *s, const char *text, const char *from)
{
    void *at = (unsigned char *)r->c + s->offset;
    char *end;

    errno = 0;
    if (s->kind == INT)
        *(int64_t *)at = strtoll (text, &end, 10);
    else
        *(double *)at = strtod (text, &end);
    if (end == text || *end || errno)
        return bad_value (r, s, from, text, s->kind == INT ? "a whole number" : "a number");
    return 0;
}

/* Words of a variable, split at white space; quotes hold words together. */
static void set_words (struct reading *r, const struct setting *s, const char *text)
{
    struct conf_list *list = (void *)((unsigned char *)r->c + s->offset);
    const char **v = arena_array (r->a, const char *, strlen (text) / 2 + 2);
    size_t n = 0;

    while (*text) {
        struct str word = { .arena = r->a };
        char quote = 0;

        for (; isspace ((unsigned char)*text); text++)
            ;
        if (!*text)
            break;
        for (; *text && (quote || !isspace ((unsigned char)*text)); text++) {
            if (quote ? *text == quote : *text == '"' || *text == '\'')
                quote = quote ? 0 : *text;
            else
                str_putc (&word, *text);
        }
        v[n++] = word.p ? word.p : "";
    }
    *list = (struct conf_list){ v, n };
}

static int set_text (struct reading *r, const struct setting *s, const char *text, const char *from)
{
    void *at = (unsigned char *)r->c + s->offset;

    switch (s->kind) {
        case TEXT:
        case SECRET:
            *(const char **)at = arena_strdup (r->a, text);
            return 0;
        case PATH:
            *(const char **)at = home_expand (r->a, text);
            return 0;
        case BOOL:
            return set_bool (r, s, text, from);
        case INT:
        case FLOAT:
            return set_number (r, s, text, from);
        case LIST:
            set_words (r, s, text);
            return 0;
        case JSON:
            break;
    }
    struct str quoted = { .arena = r->a };
    str_add_json (&quoted, text, strlen (text));
    *(struct text *)at = str_text (&quoted);
    return 0;
}

/* A value of the files as text: strings unescaped, anything else as it is written. */
static char *value_text (struct arena *a, struct text v)
{
    return json_kind (v) == JSON_STRING ? json_string (a, v) : arena_text (a, v);
}

static int set_from_file (struct reading *r, const struct setting *s, struct text v)
{
    void *at = (unsigned char *)r->c + s->offset;
    enum json_kind k = json_kind (v);

    if (s->kind == JSON) {
        *(struct text *)at = v;
        return 0;
    }
    if (s->kind == LIST && k == JSON_ARRAY) {
        const char **list = arena_array (r->a, const char *, json_count (v) + 1);
        size_t n = 0;

        for (struct json_iter it = json_iter (v); json_next (&it);)
            list[n++] = value_text (r->a, it.value);
        *(struct conf_list *)at = (struct conf_list){ list, n };
        return 0;
    }
    if (k == JSON_ARRAY || k == JSON_OBJECT)
        return bad_value (r, s, "configuration", arena_text (r->a, v), "a single value");
    if (s->kind == LIST) { /* one text is a list of one */
        const char **list = arena_array (r->a, const char *, 2);

        list[0] = value_text (r->a, v);
        *(struct conf_list *)at = (struct conf_list){ list, *list[0] ? 1 : 0 };
        return 0;
    }
    return set_text (r, s, value_text (r->a, v), "configuration");
}

static int read_setting (struct reading *r, const struct setting *s)
{
    char name[128];
    const char *v = s->variable ? variable_get (s->variable, name, sizeof (name)) : NULL;
    struct text file;

    if (v)
        return set_text (r, s, v, name);
    file = conf_get (r->c, s->key);
    if (file.p && !(s->kind != JSON && json_string_is (file, "") && s->otherwise)) /* "" means: the default */
        return set_from_file (r, s, file);
    return s->otherwise ? set_text (r, s, s->otherwise, "default") : 0;
}

int conf_load (struct arena *a, const char *file, const struct conf **ret, struct error *err)
{
    struct conf *c = arena_new (a, struct conf);
    struct reading r = {
        .a = a, .c = c, .h = hocon_create (a), .files = arena_array (a, const char *, 4), .err = err
    };

    if (add_files (&r, file) < 0)
        return -1;
    add_overrides (&r);
    if (hocon_resolve (r.h, &c->all, err) < 0)
        return error_wrap (err, "configuration");
    for (size_t i = 0; i < SETTINGS; i++)
        if (read_setting (&r, &settings[i]) < 0)
            return -1;
    if (!c->api.api_server) /* older name */
        c->api.api_server = value_text (a, conf_get (c, "api.host"));
    c->files = r.files;
    *ret = c;
    return 0;
}

/* -- showing ---------------------------------------------------------------------------------------------------- */

bool conf_key_is_secret (const char *dotted)
{
    static const char *const words[] = { "secret",      "pass", "token",   "credential", "private_key",
                                         "account_key", "sas",  "api_key", "apikey" };
    const char *key = strrchr (dotted, '.');

    key = key ? key + 1 : dotted;
    if (strstr (key, "passive") || strstr (key, "expiration"))
        return false;
    for (size_t i = 0; i < sizeof (words) / sizeof (*words); i++)
        if (strcasestr (key, words[i]))
            return true;
    return !strcmp (key, "key");
}

static bool is_setting (const char *key)
{
    for (size_t i = 0; i < SETTINGS; i++)
        if (!strcmp (settings[i].key, key))
            return true;
    return false;
}

static void show_setting (const struct conf *c, const struct setting *s, struct str *out)
{
    const void *at = (const unsigned char *)c + s->offset;
    const char *text;

    str_addf (out, "%s = ", s->key);
    switch (s->kind) {
        case TEXT:
        case PATH:
        case SECRET:
            text = *(const char *const *)at;
            json_put_string (out, text && s->kind == SECRET ? "****" : text);
            break;
        case BOOL:
            str_puts (out, *(const bool *)at ? "true" : "false");
            break;
        case INT:
            str_add_int (out, *(const int64_t *)at);
            break;
        case FLOAT:
            str_add_double (out, *(const double *)at);
            break;
        case LIST:
            str_putc (out, '[');
            for (size_t i = 0; i < ((const struct conf_list *)at)->n; i++) {
                json_put_comma (out);
                json_put_string (out, ((const struct conf_list *)at)->v[i]);
            }
            str_putc (out, ']');
            break;
        case JSON:
            str_add_text (out, ((const struct text *)at)->p ? *(const struct text *)at : TEXT ("null"));
            break;
    }
    str_putc (out, '\n');
}

static bool holds_secret (struct text v)
{
    for (struct json_iter it = json_iter (v); json_next (&it);) {
        cleanup_str struct str key = { 0 };

        if (it.key.p) {
            str_add_text (&key, it.key);
            if (conf_key_is_secret (key.p ? key.p : ""))
                return true;
        }
        if (holds_secret (it.value))
            return true;
    }
    return false;
}

/* Keys of the files that no line of config.def knows: the sdk section and sections of one's own. */
static void show_rest (struct arena *a, struct text object, const char *prefix, struct str *out)
{
    for (struct json_iter it = json_iter (object); json_next (&it);) {
        char *key = arena_printf (a, "%s%s%s", prefix, *prefix ? "." : "", json_key (a, it.key));

        if (is_setting (key))
            continue;
        if (json_kind (it.value) == JSON_OBJECT) {
            show_rest (a, it.value, key, out);
            continue;
        }
        str_addf (out, "%s = ", key);
        if (conf_key_is_secret (key) || (json_kind (it.value) == JSON_ARRAY && holds_secret (it.value)))
            str_puts (out, "\"****\"");
        else
            shown_put (out, it.value);
        str_putc (out, '\n');
    }
}

void conf_show (const struct conf *c, struct str *out)
{
    cleanup_arena struct arena *a = arena_create ();

    for (size_t i = 0; i < SETTINGS; i++) {
        struct str line = { .arena = a };

        show_setting (c, &settings[i], &line);
        if (settings[i].kind == JSON &&
            holds_secret (
                *(const struct text *)(const void *)((const unsigned char *)c + settings[i].offset))) {
            str_addf (out, "%s = \"****\"\n", settings[i].key);
            continue;
        }
        shown_put (out, str_text (&line));
    }
    show_rest (a, c->all, "", out);
}
