/* requirements.c - see requirements.h. In: text as a task or a repository has it. Out: lines with their kind. */
#include "run/requirements.h"
#include "base/file.h"
#include "base/path.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct reading {
    struct arena *arena;
    const char *root;
    const struct say *say;
    struct requirements *out;
    size_t cap;
    int files;
};

static int read_text (struct reading *r, struct text text, const char *folder, struct error *err);

const char *requirement_name (struct arena *a, const char *line)
{
    size_t n = 0;
    while (isalnum ((unsigned char)line[n]) || (line[n] && strchr ("-_.", line[n])))
        n++;
    if (!n || !isalnum ((unsigned char)line[0]))
        return NULL;
    const char *after = line + n + strspn (line + n, " \t");
    if (*after && !strchr ("[=<>!~;@(,#", *after) && !isspace ((unsigned char)*after))
        return NULL; /* a path such as dir/x */
    char *out = arena_alloc (a, n + 1), *o = out;
    for (size_t i = 0; i < n; i++) {
        if (!strchr ("-_.", line[i]))
            *o++ = (char)tolower ((unsigned char)line[i]);
        else if (o > out && o[-1] != '-')
            *o++ = '-';
    }
    *o = 0;
    return out;
}

static bool starts (const char *s, const char *with)
{
    return !strncasecmp (s, with, strlen (with));
}

static bool is_vcs (const char *s)
{
    return starts (s, "git+") || starts (s, "hg+") || starts (s, "svn+") || starts (s, "bzr+");
}

/* The reference behind " @ " of a named one, or the line itself when it has no name. */
static const char *reference (const char *line)
{
    const char *at = strstr (line, "@");
    size_t name = 0;
    while (isalnum ((unsigned char)line[name]) || (line[name] && strchr ("-_.", line[name])))
        name++;
    const char *p = line + name + strspn (line + name, " \t");
    if (*p == '[')
        p = strchr (p, ']') ? strchr (p, ']') + 1 : p;
    p += strspn (p, " \t");
    return name && at && p == at ? at + 1 + strspn (at + 1, " \t") : line;
}

/* "@<40 hex>" behind the path of a VCS URL */
static bool full_commit (const char *vcs)
{
    for (const char *at = strchr (vcs, '@'); at; at = strchr (at + 1, '@'))
        if (strspn (at + 1, "0123456789abcdefABCDEF") == 40 && (!at[41] || strchr ("#; \t", at[41])))
            return true;
    return false;
}

static bool path_like (const char *s)
{
    size_t n = strcspn (s, " \t;[");
    if (s[0] == '.' || s[0] == '/' || s[0] == '~')
        return true;
    if (memmem (s, n, "://", 3))
        return false;
    if (memchr (s, '/', n))
        return true;
    static const char *const archives[] = { ".whl", ".zip", ".tar.gz", ".tar.bz2", NULL };
    for (size_t i = 0; archives[i]; i++)
        if (n > strlen (archives[i]) &&
            !strncasecmp (s + n - strlen (archives[i]), archives[i], strlen (archives[i])))
            return true;
    return false;
}

/* "https://host/pkg-1.0-py3-none-any.whl" -> "pkg"; NULL for other endings */
static const char *name_of_file (struct arena *a, const char *url)
{
    size_t n = strcspn (url, "#?; \t");
    const char *base = url + n;
    while (base > url && base[-1] != '/')
        base--;
    n -= (size_t)(base - url);
    size_t name = strcspn (base, "-");
    return n > 4 && !strncasecmp (base + n - 4, ".whl", 4) && name < n
               ? requirement_name (a, arena_strndup (a, base, name))
               : NULL;
}

/* A path below the root as it is written there. */
static const char *below_root (struct reading *r, const char *path)
{
    const char *root = r->root ? path_clean (r->arena, r->root) : NULL, *clean = path_clean (r->arena, path);
    if (!root || !path_absolute (path) || !path_inside (clean, root))
        return path;
    size_t n = strlen (root);
    return clean[n] ? arena_printf (r->arena, "./%s", clean + n + 1) : ".";
}

static const char *as_asked (struct reading *r, enum requirement_kind kind, const char *text)
{
    bool path = (kind == REQUIREMENT_LOCAL || kind == REQUIREMENT_EDITABLE) && text[0] == '/';
    const char *t = path ? below_root (r, text) : text;
    return kind == REQUIREMENT_EDITABLE ? arena_printf (r->arena, "-e %s", t) : t;
}

static void add (struct reading *r, enum requirement_kind kind, const char *text)
{
    struct requirements *o = r->out;
    if (o->n == r->cap) {
        size_t cap = r->cap ? 2 * r->cap : 64;
        struct requirement *v = arena_array (r->arena, struct requirement, cap);
        if (o->n)
            memcpy (v, o->v, o->n * sizeof *v);
        o->v = v, r->cap = cap;
    }
    struct requirement q = { .kind = kind, .text = text, .asked = as_asked (r, kind, text) };
    if (kind != REQUIREMENT_OPTION && kind != REQUIREMENT_EDITABLE)
        q.name = requirement_name (r->arena, text);
    const char *egg = strstr (text, "#egg=");
    if (!q.name && kind != REQUIREMENT_OPTION && egg)
        q.name = requirement_name (r->arena, arena_strndup (r->arena, egg + 5, strcspn (egg + 5, "&[ \t;")));
    if (!q.name && kind == REQUIREMENT_NAME)
        q.name = name_of_file (r->arena, text);
    q.pinned_vcs = kind == REQUIREMENT_VCS && full_commit (text);
    o->v[o->n++] = q;
}

void requirements_add (struct arena *a, struct requirements *q, enum requirement_kind kind, const char *text)
{
    struct reading r = { .arena = a, .out = q, .cap = q->n };
    add (&r, kind, text);
}

/* name @ file:///x/y.whl: kept while the file is there, else only the name (the machine it was frozen on had it). */
static void add_file_reference (struct reading *r, const char *line, const char *ref)
{
    const char *path = ref + (starts (ref, "file://") ? 7 : 5);
    char *file = arena_strndup (r->arena, path, strcspn (path, " \t;#"));
    if (file_exists (file)) {
        add (r, REQUIREMENT_LOCAL, line);
        return;
    }
    const char *at = strchr (line, '@');
    size_t n = (size_t)(at - line);
    while (n && isspace ((unsigned char)line[n - 1]))
        n--;
    const char *name = arena_strndup (r->arena, line, n);
    if (path_like (name)) { /* here.whl @ file:... : alone it would be read as a file */
        add (r, REQUIREMENT_LOCAL, line);
        return;
    }
    const char *marker = strstr (ref, " ;") ? strstr (ref, " ;") : strstr (ref, "; ");
    say (r->say, "WARNING",
         "requirement '%s': the file is not on this machine, the package is taken from the index", line);
    add (r, REQUIREMENT_NAME, arena_printf (r->arena, "%s%s", name, marker ? marker : ""));
}

/* Value of "-r X", "-rX", "--requirement X", "--requirement=X"; NULL when the line is another option. */
static const char *option_value (const char *line, const char *brief, const char *name)
{
    size_t n = strlen (name), b = brief ? strlen (brief) : 0;
    const char *v = NULL;
    if (!strncmp (line, name, n) && (line[n] == '=' || isspace ((unsigned char)line[n])))
        v = line + n + 1;
    else if (b && !strncmp (line, brief, b) && line[b] && line[1] != '-')
        v = line + b;
    return v ? v + strspn (v, " \t=") : NULL;
}

static int follow (struct reading *r, const char *name, const char *folder, struct error *err)
{
    struct str content = { .arena = r->arena };
    struct error ignored;
    const char *path = folder ? path_join (r->arena, folder, name) : NULL;
    if (path && !file_exists (path) && r->root)
        path = path_join (r->arena, r->root, name);
    if (!path || !file_exists (path)) {
        say (r->say, "WARNING", "requirements: '-r %s': no such file here, left out", name);
        return 0;
    }
    if (++r->files > REQUIREMENT_FILES_MAX)
        return error_set (err, ELOOP, "requirements: more than %d files by -r (does one name itself?)",
                          REQUIREMENT_FILES_MAX);
    if (file_read (path, REQUIREMENTS_MAX, &content, &ignored) < 0)
        return error_set (err, ignored.code, "requirements: %s", ignored.text);
    return read_text (r, str_text (&content), path_folder (r->arena, path), err);
}

static int add_option (struct reading *r, const char *line, const char *folder, struct error *err)
{
    const char *v;
    if ((v = option_value (line, "-r", "--requirement")))
        return follow (r, v, folder, err);
    if ((v = option_value (line, "-e", "--editable")) && v[0] && v[0] != '#') {
        const char *ref = arena_strdup (r->arena, v);
        add (r, REQUIREMENT_EDITABLE,
             !is_vcs (ref) && folder && !path_absolute (ref) ? path_join (r->arena, folder, ref) : ref);
    } else if ((v = option_value (line, "-c", "--constraint")) && v[0] && v[0] != '#') {
        const char *path = folder ? path_join (r->arena, folder, v) : NULL;
        if (strstr (v, "://") || (path && file_exists (path)))
            add (r, REQUIREMENT_OPTION, arena_printf (r->arena, "-c %s", strstr (v, "://") ? v : path));
        else
            say (r->say, "WARNING", "requirements: '-c %s': no such file here, left out", v);
    } else if (!strncmp (line, "--no-index", 10) || !strncmp (line, "-Z", 2) ||
               !strncmp (line, "--trusted-host", 14) || !strncmp (line, "--use-feature", 13) ||
               !strncmp (line, "--prefer-binary", 15))
        say (r->say, "INFO", "requirements: '%s' is left out", requirement_shown (r->arena, line));
    else
        add (r, REQUIREMENT_OPTION, line);
    return 0;
}

static int add_line (struct reading *r, const char *line, const char *folder, struct error *err)
{
    if (line[0] == '-')
        return add_option (r, line, folder, err);
    const char *ref = reference (line);
    if (is_vcs (ref))
        add (r, REQUIREMENT_VCS, line);
    else if (starts (ref, "file:") && ref != line)
        add_file_reference (r, line, ref);
    else if (starts (ref, "file:"))
        add (r, REQUIREMENT_LOCAL, line);
    else if (ref == line && path_like (line))
        add (r, REQUIREMENT_LOCAL,
             folder && !path_absolute (line) && line[0] != '~' ? path_join (r->arena, folder, line) : line);
    else
        add (r, REQUIREMENT_NAME, line);
    return 0;
}

/* One logical line: continuations joined, comment and white space stripped. False at the end. */
static bool logical_line (struct text *left, struct str *line)
{
    str_reset (line);
    if (!left->n)
        return false;
    bool more = true;
    while (more && left->n) {
        const char *newline = memchr (left->p, '\n', left->n);
        size_t n = newline ? (size_t)(newline - left->p) : left->n, used = newline ? n + 1 : n;
        size_t keep = n;
        while (keep && (left->p[keep - 1] == '\r' || left->p[keep - 1] == ' ' || left->p[keep - 1] == '\t'))
            keep--;
        more = keep && left->p[keep - 1] == '\\';
        str_add (line, left->p, more ? keep - 1 : keep);
        left->p += used, left->n -= used;
    }
    for (size_t i = 0; i < line->n; i++)
        if (line->p[i] == '#' && (!i || isspace ((unsigned char)line->p[i - 1])))
            line->n = i;
    while (line->n && isspace ((unsigned char)line->p[line->n - 1]))
        line->n--;
    return true;
}

static int read_text (struct reading *r, struct text text, const char *folder, struct error *err)
{
    cleanup_str struct str line = { 0 };
    while (text.n >= 3 && !memcmp (text.p, "\357\273\277", 3))
        text.p += 3, text.n -= 3;
    while (logical_line (&text, &line)) {
        size_t skip = 0;
        while (skip < line.n && isspace ((unsigned char)line.p[skip]))
            skip++;
        if (skip == line.n)
            continue;
        for (size_t i = skip; i < line.n; i++)
            if (((unsigned char)line.p[i] < ' ' && line.p[i] != '\t') || line.p[i] == 127)
                return error_set (err, EINVAL, "requirements: a line holds the control character 0x%02x",
                                  line.p[i]);
        if (add_line (r, arena_strndup (r->arena, line.p + skip, line.n - skip), folder, err) < 0)
            return -1;
    }
    return 0;
}

int requirements_read (struct arena *a, struct text text, const char *folder, const char *root,
                       const struct say *s, struct requirements *ret, struct error *err)
{
    struct requirements out = { 0 };
    struct reading r = { .arena = a, .root = root, .say = s, .out = &out };
    if (text.n > REQUIREMENTS_MAX)
        return error_set (err, EFBIG, "requirements: %zu bytes, at most %d", text.n, REQUIREMENTS_MAX);
    if (read_text (&r, text, folder, err) < 0)
        return -1;
    *ret = out;
    return 0;
}

bool requirements_have (const struct requirements *r, const char *name)
{
    for (size_t i = 0; i < r->n; i++)
        if (r->v[i].name && !strcmp (r->v[i].name, name))
            return true;
    return false;
}

bool requirement_has_place (const struct requirement *r)
{
    return r->kind != REQUIREMENT_OPTION && (r->kind != REQUIREMENT_NAME || strstr (r->text, "://"));
}

bool requirements_fixed (const struct requirements *r)
{
    for (size_t i = 0; i < r->n; i++)
        if (r->v[i].kind == REQUIREMENT_LOCAL || r->v[i].kind == REQUIREMENT_EDITABLE ||
            (r->v[i].kind == REQUIREMENT_VCS && !r->v[i].pinned_vcs) ||
            (r->v[i].kind == REQUIREMENT_OPTION && !strncmp (r->v[i].text, "-c ", 3)))
            return false;
    return true;
}

void requirements_write (const struct requirements *r, struct str *s)
{
    for (size_t i = 0; i < r->n; i++)
        str_addf (s, "%s%s\n", r->v[i].kind == REQUIREMENT_EDITABLE ? "-e " : "", r->v[i].text);
}

const char *requirement_shown (struct arena *a, const char *line)
{
    const char *sep = strstr (line, "://");
    if (!sep)
        return line;
    const char *host = sep + 3;
    size_t authority = strcspn (host, "/ \t");
    const char *at = memrchr (host, '@', authority),
               *colon = at ? memchr (host, ':', (size_t)(at - host)) : NULL;
    if (!at)
        return line;
    return colon ? arena_printf (a, "%.*s:****%s", (int)(colon - line), line, at)
                 : arena_printf (a, "%.*s****%s", (int)(host - line), line, at);
}
