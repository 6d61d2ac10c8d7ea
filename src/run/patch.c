/* patch.c - see patch.h. In: the text of a diff and a working tree. Out: the tree with the changes. */
#include "run/patch.h"
#include "base/file.h"
#include "base/path.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum ending { ENDING_KEEP, ENDING_ADD_CR, ENDING_DROP_CR };

bool patch_is (struct text diff)
{
    if (text_starts (diff, "diff "))
        return true;
    if (!text_starts (diff, "submodule ") && !text_starts (diff, "Submodule "))
        return false;
    return memmem (diff.p, diff.n, "\ndiff ", 6) != NULL;
}

/* -- reading -------------------------------------------------------------------------------------------------- */
struct reader {
    struct arena *arena;
    const char *p, *end;
    struct patch_part *parts;
    size_t n, cap;
};

/* The next line with its end; false at the end of the text. */
static bool next_line (struct reader *r, struct text *line)
{
    if (r->p >= r->end)
        return false;
    const char *newline = memchr (r->p, '\n', (size_t)(r->end - r->p));
    const char *stop = newline ? newline + 1 : r->end;
    *line = (struct text){ r->p, (size_t)(stop - r->p) };
    r->p = stop;
    return true;
}

static struct text without_end (struct text line)
{
    while (line.n && (line.p[line.n - 1] == '\n' || line.p[line.n - 1] == '\r'))
        line.n--;
    return line;
}

static struct patch_part *add_part (struct reader *r)
{
    if (r->n == r->cap) {
        size_t cap = r->cap ? 2 * r->cap : 16;
        struct patch_part *parts = arena_array (r->arena, struct patch_part, cap);
        if (r->n)
            memcpy (parts, r->parts, r->n * sizeof *parts);
        r->parts = parts, r->cap = cap;
    }
    r->parts[r->n] = (struct patch_part){ 0 };
    return &r->parts[r->n++];
}

/* A name in quotes as git writes it, "m\\303\\274ll": its bytes. Others as they are. */
static const char *unquoted (struct arena *a, const char *name)
{
    static const char letters[] = "abtnvfr", bytes[] = "\a\b\t\n\v\f\r";
    size_t n = strlen (name);
    if (n < 2 || name[0] != '"' || name[n - 1] != '"')
        return name;
    char *out = arena_alloc (a, n), *o = out;
    for (const char *p = name + 1, *end = name + n - 1; p < end; p++) {
        const char *letter;
        if (*p != '\\' || p + 1 == end)
            *o++ = *p;
        else if (p + 3 < end && p[1] >= '0' && p[1] <= '3') {
            *o++ = (char)strtol (arena_strndup (a, p + 1, 3), NULL, 8);
            p += 3;
        } else {
            p++;
            *o++ = (letter = strchr (letters, *p)) ? bytes[letter - letters] : *p;
        }
    }
    *o = 0;
    return out;
}

/* "a/path with space\t2026-01-01": up to a tab */
static const char *header_path (struct arena *a, struct text line, size_t skip)
{
    line.p += skip, line.n -= skip;
    const char *tab = memchr (line.p, '\t', line.n);
    return unquoted (a, arena_strndup (a, line.p, tab ? (size_t)(tab - line.p) : line.n));
}

/* "diff --git X Y" with X equal to Y: written without prefixes */
static void diff_line (struct arena *a, struct patch_part *part, struct text line)
{
    if (!text_starts (line, "diff --git "))
        return;
    const char *p = line.p + 11;
    size_t n = line.n - 11, half = n / 2;
    if (n % 2 == 0 || p[half] != ' ')
        return;
    const char *first = unquoted (a, arena_strndup (a, p, half)),
               *second = unquoted (a, arena_strndup (a, p + half + 1, half));
    part->no_prefix = !strcmp (first, second);
    if (part->no_prefix)
        part->name = second;
    else if (first[0] && first[1] == '/' && second[1] == '/' && !strcmp (first + 2, second + 2))
        part->name = second + 2;
}

/* "rename from X", "rename to Y": names that never have a prefix, so they tell whether the diff line's have one */
static void rename_line (struct arena *a, struct patch_part *part, struct text diff, struct text line)
{
    size_t skip = text_starts (line, "rename from ") ? 12 : text_starts (line, "rename to ") ? 10 : 0;
    if (!skip)
        return;
    const char *written = arena_strndup (a, line.p + skip, line.n - skip);
    if (skip == 12) {
        part->renamed = written;
        return;
    }
    part->name = unquoted (a, written);
    if (part->renamed)
        part->no_prefix = text_is (diff, arena_printf (a, "diff --git %s %s", part->renamed, written));
}

/* "@@ -a,b +c,d @@": how many old and new lines follow; false when it is no such line. */
static bool hunk_line (struct text line, unsigned long *old_at, unsigned long *old_n, unsigned long *new_n)
{
    char buf[128];
    size_t n = line.n < sizeof buf - 1 ? line.n : sizeof buf - 1;
    memcpy (buf, line.p, n);
    buf[n] = 0;
    if (strncmp (buf, "@@ -", 4))
        return false;
    char *p;
    *old_at = strtoul (buf + 4, &p, 10);
    *old_n = *new_n = 1;
    if (p == buf + 4)
        return false;
    if (*p == ',')
        *old_n = strtoul (p + 1, &p, 10);
    if (strncmp (p, " +", 2))
        return false;
    char *q = p + 2;
    strtoul (q, &p, 10);
    if (*p == ',')
        *new_n = strtoul (p + 1, &p, 10);
    return !strncmp (p, " @@", 3);
}

/* The lines of one hunk; stops early at a line that can be none. */
static void skip_hunk (struct reader *r, unsigned long old_n, unsigned long new_n)
{
    struct text line;
    for (;;) {
        const char *before = r->p;
        if (!next_line (r, &line))
            return;
        bool mark = line.p[0] == '\\';
        if (!old_n && !new_n && !mark) {
            r->p = before;
            return;
        }
        bool old_line = line.p[0] == '-', new_line = line.p[0] == '+';
        bool both = line.p[0] == ' ' || line.p[0] == '\n' || line.p[0] == '\r';
        if (!mark && !old_line && !new_line && !both) {
            r->p = before;
            return;
        }
        old_n -= (old_line || both) && old_n;
        new_n -= (new_line || both) && new_n;
    }
}

/* Everything up to the next "diff " line outside a hunk. */
static void read_part (struct reader *r, struct text first)
{
    struct patch_part *part = add_part (r);
    struct str header = { .arena = r->arena };
    struct text line = without_end (first);
    bool in_header = true, seen_hunk = false;
    const char *body = NULL;
    diff_line (r->arena, part, line);
    str_add_text (&header, line);
    str_putc (&header, '\n');
    for (;;) {
        const char *before = r->p;
        unsigned long at, old_n, new_n;
        if (!next_line (r, &line))
            break;
        if (text_starts (line, "diff ") || text_starts (line, "Submodule ") ||
            text_starts (line, "submodule ")) {
            r->p = before;
            break;
        }
        struct text bare = without_end (line);
        if (hunk_line (bare, &at, &old_n, &new_n)) {
            if (!body)
                body = before;
            part->from_nothing = part->from_nothing || (!seen_hunk && !at && !old_n);
            in_header = false, seen_hunk = true;
            skip_hunk (r, old_n, new_n);
            continue;
        }
        if (text_is (bare, "GIT binary patch")) {
            body = before;
            in_header = false;
        }
        if (!in_header)
            continue;
        rename_line (r->arena, part, without_end (first), bare);
        part->is_new = part->is_new || text_starts (bare, "new file mode ");
        part->is_gone = part->is_gone || text_starts (bare, "deleted file mode ");
        if (text_starts (bare, "Binary files ") && bare.n > 7 && !memcmp (bare.p + bare.n - 7, " differ", 7))
            part->binary_stub = true;
        if (text_starts (bare, "--- "))
            part->old_path = header_path (r->arena, bare, 4);
        if (text_starts (bare, "+++ "))
            part->new_path = header_path (r->arena, bare, 4);
        str_add_text (&header, bare);
        str_putc (&header, '\n');
    }
    part->header = str_text (&header);
    part->body = body ? (struct text){ body, (size_t)(r->p - body) } : (struct text){ "", 0 };
}

/* A header line with CRLF: something on the way gave every line one CR more than git wrote. */
static struct text as_git_wrote_it (struct arena *a, struct text diff)
{
    const char *newline = memchr (diff.p, '\n', diff.n);
    if (!newline || newline == diff.p || newline[-1] != '\r')
        return diff;
    char *out = arena_alloc (a, diff.n + 1), *o = out;
    for (size_t i = 0; i < diff.n; i++)
        if (diff.p[i] != '\r' || i + 1 == diff.n || diff.p[i + 1] != '\n')
            *o++ = diff.p[i];
    *o = 0;
    return (struct text){ out, (size_t)(o - out) };
}

int patch_read (struct arena *a, struct text diff, struct patch *ret, struct error *err)
{
    struct text line;
    if (diff.n > PATCH_MAX)
        return error_set (err, EFBIG, "script.diff: %zu bytes, at most %d", diff.n, PATCH_MAX);
    diff = as_git_wrote_it (a, diff);
    struct reader r = { .arena = a, .p = diff.p, .end = diff.p + diff.n };
    while (next_line (&r, &line)) {
        if (text_starts (line, "diff --cc ") || text_starts (line, "diff --combined "))
            return error_set (
                err, EINVAL,
                "script.diff: '%.*s' is a merge in progress (combined diff), which cannot be applied",
                (int)(without_end (line).n > 200 ? 200 : without_end (line).n), line.p);
        if (text_starts (line, "diff "))
            read_part (&r, line);
    }
    *ret = (struct patch){ diff, r.parts, r.n };
    return 0;
}

/* -- writing it again, as git shall have it -------------------------------------------------------------------- */
static const char *plain_path (struct arena *a, const char *path, bool prefixed)
{
    if (!path || !strcmp (path, "/dev/null"))
        return NULL;
    if (prefixed && path[0] && path[1] == '/')
        path += 2;
    const char *clean = path_clean (a, path);
    return path_absolute (clean) || !strncmp (clean, "..", 2) ? NULL : clean;
}

/* How lines of this part must change so that what they say of the old file can be true of it. */
static enum ending part_ending (struct arena *a, const struct patch_part *part, const char *folder,
                                bool prefixed)
{
    const char *path = plain_path (a, part->old_path, prefixed);
    struct str content = { .arena = a };
    struct error ignored;
    if (!path || file_read (path_join (a, folder, path), PATCH_MAX, &content, &ignored) < 0 || !content.n)
        return ENDING_KEEP;
    size_t lf = 0, crlf = 0, with = 0, lines = 0;
    for (size_t i = 0; i < content.n; i++)
        if (content.p[i] == '\n') {
            lf++;
            crlf += i && content.p[i - 1] == '\r';
        }
    struct reader r = { .p = part->body.p, .end = part->body.p + part->body.n };
    struct text line;
    while (next_line (&r, &line))
        if ((line.p[0] == ' ' || line.p[0] == '-') && line.n > 1) {
            lines++;
            with += line.n > 2 && line.p[line.n - 2] == '\r';
        }
    if (lf && crlf == lf && !with && lines)
        return ENDING_ADD_CR;
    return lines && with == lines && !crlf ? ENDING_DROP_CR : ENDING_KEEP;
}

static void write_body (struct str *s, const struct patch_part *part, enum ending ending)
{
    struct reader r = { .p = part->body.p, .end = part->body.p + part->body.n };
    struct text line;
    while (next_line (&r, &line)) {
        bool ours = line.p[0] == ' ' || line.p[0] == '+' || line.p[0] == '-';
        bool cr = line.n > 1 && line.p[line.n - 2] == '\r' && line.p[line.n - 1] == '\n';
        if (ending == ENDING_KEEP && ours) {
            str_add_text (s, line);
            continue;
        }
        struct text bare = without_end (line);
        if (ours && cr && ending == ENDING_ADD_CR) {
            str_add_text (s, line);
            continue;
        }
        str_add_text (s, bare);
        if (ours && ending == ENDING_ADD_CR)
            str_putc (s, '\r');
        str_putc (s, '\n');
    }
    if (s->n && s->p[s->n - 1] != '\n')
        str_putc (s, '\n');
}

/* A file that is not there but whose first hunk starts at nothing is a new file, whatever the header says. */
static void write_header (struct arena *a, struct str *s, const struct patch_part *part, const char *folder,
                          bool prefixed)
{
    const char *path = plain_path (a, part->old_path, prefixed);
    if (!part->from_nothing || !path || file_exists (path_join (a, folder, path))) {
        str_add_text (s, part->header);
        return;
    }
    struct reader r = { .p = part->header.p, .end = part->header.p + part->header.n };
    struct text line;
    bool first = true;
    while (next_line (&r, &line)) {
        if (text_starts (line, "--- "))
            str_puts (s, "--- /dev/null\n");
        else if (!text_starts (line, "index ") && !text_starts (line, "new file mode"))
            str_add_text (s, line);
        if (first && text_starts (line, "diff --git "))
            str_puts (s, "new file mode 100644\n");
        first = false;
    }
}

/* A renamed binary file without content: the rename alone. */
static void write_rename (struct str *s, const struct patch_part *part)
{
    struct reader r = { .p = part->header.p, .end = part->header.p + part->header.n };
    struct text line;
    while (next_line (&r, &line))
        if (text_starts (line, "similarity index "))
            str_puts (s, "similarity index 100%\n");
        else if (!text_starts (line, "index ") && !text_starts (line, "Binary files "))
            str_add_text (s, line);
}

static bool has_no_content (const struct patch_part *part)
{
    return part->binary_stub && !part->body.n;
}

struct text patch_write (struct arena *a, const struct patch *patch, const char *folder, bool prefixed,
                         bool adapt)
{
    struct str s = { .arena = a };
    for (size_t i = 0; i < patch->n; i++) {
        const struct patch_part *part = &patch->parts[i];
        if (has_no_content (part)) {
            if (part->renamed)
                write_rename (&s, part);
            continue;
        }
        write_header (a, &s, part, folder, prefixed);
        write_body (&s, part, adapt ? part_ending (a, part, folder, prefixed) : ENDING_KEEP);
    }
    return str_text (&s);
}

/* -- applying -------------------------------------------------------------------------------------------------- */
static int try_apply (struct git *g, const char *folder, struct text text, bool prefixed, struct error *err)
{
    const char *const args[] = {
        "apply", "--unidiff-zero", "--whitespace=nowarn", prefixed ? "-p1" : "-p0", "-", NULL
    };
    return git_feed (g, folder, text, err, args);
}

/* As it stands, else with the line ends of the files that it changes. */
static int apply_with (struct arena *a, struct git *g, const char *folder, const struct patch *patch,
                       bool prefixed, const struct say *s, struct error *err)
{
    struct text text = patch_write (a, patch, folder, prefixed, false);
    struct error second;
    if (!text.n || try_apply (g, folder, text, prefixed, err) == 0)
        return 0;
    struct text adapted = patch_write (a, patch, folder, prefixed, true);
    if (err->code == ECANCELED || text_equal (text, adapted) ||
        try_apply (g, folder, adapted, prefixed, &second) < 0)
        return -1;
    say (s, "WARNING", "the task's changes were applied with the line endings of the files they change");
    return 0;
}

/* Binary files of which the patch says that they differ, but not how: each is named; one that is gone can be removed. */
static void tell_binaries (struct arena *a, struct git *g, const char *folder, const struct patch *patch,
                           const struct say *s)
{
    struct error err;
    for (size_t i = 0; i < patch->n; i++) {
        const struct patch_part *part = &patch->parts[i];
        const char *name = part->name ? part->name : "a binary file";
        if (!has_no_content (part))
            continue;
        if (!part->is_gone || !part->name)
            say (s, "WARNING",
                 "%s: the task's changes say that this binary file %s, but do not hold its content: %s", name,
                 part->is_new ? "is new" : "differs",
                 part->is_new ? "it is missing" : "it stays as committed");
        else if (git (g, folder, NULL, &err, "rm", "--quiet", "--force", "--",
                      arena_printf (a, ":(literal)%s", name)) < 0)
            say (s, "WARNING", "%s: the task's changes remove this binary file, which failed: %s", name,
                 err.text);
    }
}

/* Whether the parts leave open if their paths have prefixes: of a file that was there before, a wrong guess fails. */
static bool may_guess_wrong (const struct patch *patch)
{
    for (size_t i = 0; i < patch->n; i++) {
        const char *old = patch->parts[i].old_path;
        if (!patch->parts[i].name && old && strcmp (old, "/dev/null"))
            return true;
    }
    return false;
}

int patch_apply (struct arena *a, struct git *g, const char *folder, struct text diff, const struct say *s,
                 struct error *err)
{
    struct patch patch;
    bool prefixed = true;
    struct error second;
    if (patch_read (a, diff, &patch, err) < 0)
        return -1;
    for (size_t i = 0; i < patch.n; i++)
        prefixed = prefixed && !patch.parts[i].no_prefix;
    if (apply_with (a, g, folder, &patch, prefixed, s, err) < 0 &&
        (err->code == ECANCELED || !may_guess_wrong (&patch) ||
         apply_with (a, g, folder, &patch, !prefixed, s, &second) < 0))
        return error_wrap (err, "the task's uncommitted changes do not fit the commit");
    tell_binaries (a, g, folder, &patch, s);
    return 0;
}
