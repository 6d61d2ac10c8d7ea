/* script.c - see script.h. In: the fields script.* of a task and its folder. Out: the words to start. */
#include "run/script.h"
#include "base/file.h"
#include "base/json.h"
#include "base/path.h"
#include "run/words.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static const char *text_or_empty (const char *s)
{
    return s ? s : "";
}

bool script_is_shell (const char *binary)
{
    const char *base = path_base (text_or_empty (binary));
    return !strcmp (base, "bash") || !strcmp (base, "sh") || !strcmp (base, "zsh");
}

static bool ends (const char *s, const char *with)
{
    size_t n = strlen (s), m = strlen (with);
    return n >= m && !strcmp (s + n - m, with);
}

/* "-m", "-c" as the first word */
static bool is_flag (const char *entry, char flag)
{
    return entry[0] == '-' && entry[1] == flag && (!entry[2] || entry[2] == ' ' || entry[2] == '\t');
}

/* The name a literal script is written to. */
static const char *literal_name (struct arena *a, const char *entry, const char *working_dir, bool shell,
                                 const char **ret_dir)
{
    const char *untitled = shell ? "untitled.sh" : "untitled.py", *colon = strrchr (working_dir, ':');
    const char *first = arena_strndup (a, entry, strcspn (entry, " \t"));
    if (colon && (is_flag (entry, 'm') || is_flag (entry, 'c'))) {
        *ret_dir = arena_strndup (a, working_dir, (size_t)(colon - working_dir));
        return colon[1] ? colon + 1 : untitled;
    }
    if (shell ? ends (first, ".sh") || ends (first, ".bash") : ends (first, ".py"))
        return first;
    return untitled;
}

static int write_literal (struct arena *a, const struct script_wish *w, const char *cwd, const char *name,
                          struct error *err)
{
    const char *path = path_clean (a, path_join (a, cwd, name));
    struct str text = { .arena = a };
    if (!path_inside (path, path_clean (a, w->folder)))
        return error_set (err, EINVAL, "script.entry_point: '%s' leads out of the task's folder", name);
    if (file_exists (path))
        return 0;
    str_add_text (&text, w->literal);
    if (text.n && text.p[text.n - 1] != '\n')
        str_putc (&text, '\n');
    if (folder_make (path_folder (a, path), 0755, err) < 0)
        return -1;
    return file_append (path, str_text (&text), 0644, err);
}

/* Code cells of a notebook as a script; lines that only a notebook understands (%magic, !command) become comments. */
static int convert_notebook (struct arena *a, const char *file, const char *script, struct error *err)
{
    struct str in = { .arena = a }, out = { .arena = a };
    struct text doc;
    if (file_read (file, 256 << 20, &in, err) < 0 || json_check (str_text (&in), &doc, err) < 0)
        return error_wrap (err, "notebook %s", file);
    struct json_iter cells = json_iter (json_get (doc, "cells"));
    while (json_next (&cells)) {
        if (!json_string_is (json_get (cells.value, "cell_type"), "code"))
            continue;
        struct text source = json_get (cells.value, "source");
        struct str cell = { .arena = a };
        str_puts (&cell, "");
        if (json_kind (source) == JSON_STRING)
            str_puts (&cell, json_string (a, source));
        struct json_iter lines = json_iter (source);
        while (json_next (&lines))
            str_puts (&cell, text_or_empty (json_string (a, lines.value)));
        for (const char *p = cell.p; *p;) {
            size_t n = strcspn (p, "\n"), skip = strspn (p, " \t");
            bool magic = p[skip] == '%' || p[skip] == '!';
            if (magic)
                str_addf (&out, "%.*spass  # %.*s\n", (int)skip, p, (int)(n - skip), p + skip);
            else
                str_addf (&out, "%.*s\n", (int)n, p);
            p += n + (p[n] == '\n');
        }
        str_puts (&out, "\n");
    }
    if (!out.n)
        return error_set (err, EINVAL, "notebook %s: no code cell in it", file);
    return file_write (script, str_text (&out), 0644, err);
}

static int set_words (struct script *s, const char *const *words, size_t n)
{
    s->words = words;
    s->n = n;
    return 0;
}

/* A file, perhaps with arguments behind its name. */
static int prepare_file (struct arena *a, struct script *s, const char *entry, struct error *err)
{
    const char *const *words;
    size_t n;
    const char *whole = path_join (a, s->cwd, entry);
    if (entry[0] && file_exists (whole) && !folder_exists (whole)) {
        const char **one = arena_array (a, const char *, 2);
        one[0] = whole;
        words = one, n = 1;
    } else if (words_split (a, entry, NULL, NULL, &words, &n, err) < 0)
        return error_wrap (err, "script.entry_point");
    if (!n)
        return error_set (err, EINVAL, "script.entry_point: the task names no file to run");
    s->file = path_join (a, s->cwd, words[0]);
    if (!file_exists (s->file) || folder_exists (s->file))
        return error_set (err, ENOENT, "script.entry_point: there is no file '%s' in %s", words[0], s->cwd);
    if (ends (s->file, ".ipynb")) {
        const char *script = arena_printf (a, "%.*s.py", (int)(strlen (s->file) - 6), s->file);
        if (convert_notebook (a, s->file, script, err) < 0)
            return -1;
        s->file = script;
    }
    ((const char **)words)[0] = s->file;
    return set_words (s, words, n);
}

int script_prepare (struct arena *a, const struct script_wish *w,
                    const char *(*variable) (void *, const char *), void *arg, const struct say *tell,
                    struct script *ret, struct error *err)
{
    const char *entry = text_or_empty (w->entry_point), *dir = text_or_empty (w->working_dir);
    bool shell = script_is_shell (w->binary), literal = w->literal.p && w->literal.n;
    struct script s = { .kind = shell ? SCRIPT_SHELL : SCRIPT_FILE,
                        .shell = shell ? path_base (w->binary) : NULL };
    const char *colon = strrchr (entry, ':');
    entry += strspn (entry, " \t");
    if (!dir[0] && colon && entry[0] != '-') { /* file:folder */
        dir = colon + 1;
        entry = arena_strndup (a, entry, (size_t)(colon - entry));
    }
    if (literal) {
        const char *name = literal_name (a, entry, dir, shell, &dir);
        if (write_literal (a, w, path_join (a, w->folder, dir[0] ? dir : "."), name, err) < 0)
            return -1;
        if (!entry[0])
            entry = name;
        else if (entry[0] != '-' && !file_exists (path_join (a, path_join (a, w->folder, dir), entry)))
            entry = arena_printf (a, "%s%s", name, entry + strcspn (entry, " \t"));
    }
    s.cwd = path_clean (a, path_join (a, w->folder, dir[0] ? dir : "."));
    if (!folder_exists (s.cwd))
        return error_set (err, ENOENT, "script.working_dir: there is no folder '%s' in %s", dir, w->folder);
    if (!is_flag (entry, 'm') && !is_flag (entry, 'c')) {
        *ret = s;
        if (!entry[0] && !literal)
            say (tell, "WARNING", "the task has neither a script nor a repository");
        return prepare_file (a, ret, entry, err);
    }
    const char *const *words;
    size_t n;
    if (words_split (a, entry, variable, arg, &words, &n, err) < 0)
        return error_wrap (err, "script.entry_point");
    if (n < 2)
        return error_set (err, EINVAL, "script.entry_point: nothing follows %s", words[0]);
    if (!shell)
        s.kind = entry[1] == 'm' ? SCRIPT_MODULE : SCRIPT_CODE;
    set_words (&s, words, n);
    *ret = s;
    return 0;
}
