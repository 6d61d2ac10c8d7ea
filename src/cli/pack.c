/* pack.c - see pack.h; pack_room.h says what stands where. */
#include "base/file.h"
#include "base/path.h"
#include "base/str.h"
#include "base/utf8.h"
#include "cli/pack_room.h"
#include "cli/remote.h"

#include <errno.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>

enum { SCRIPT_MAX = 1 << 20 };

/* What JSON can carry: UTF-8 without zero bytes. */
bool pack_is_text (struct text t)
{
    for (size_t i = 0, n; i < t.n; i += n)
        if (!t.p[i] || !(n = utf8_take (t.p + i, t.n - i, NULL)))
            return false;
    return true;
}

/* -- the command ---------------------------------------------------------------------------------------------------- */

static void add_quoted (struct str *s, const char *word)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_@%+=:,./-";

    if (s->n)
        str_putc (s, ' ');
    if (*word && strspn (word, plain) == strlen (word)) {
        str_puts (s, word);
        return;
    }
    str_putc (s, '\'');
    for (; *word; word++)
        if (*word == '\'')
            str_puts (s, "'\"'\"'");
        else
            str_putc (s, *word);
    str_putc (s, '\'');
}

/* The script by this name, then its arguments. */
static void put_entry_point (struct packer *p, const char *script)
{
    const struct opt_words *w = &p->wish->command;
    struct str entry = { .arena = p->arena };

    add_quoted (&entry, script);
    for (size_t i = p->script_at + 1; i < w->n; i++)
        add_quoted (&entry, w->v[i]);
    p->out->entry_point = entry.p;
}

static int read_command (struct packer *p, struct error *err)
{
    const struct opt_words *w = &p->wish->command;
    const char *program = path_base (w->v[0]), *script;
    size_t i = 1;

    if (!strncmp (program, "python", 6)) {
        p->out->binary = program;
        while (i < w->n && (!strcmp (w->v[i], "-u") || !strcmp (w->v[i], "-O")))
            i++;
    } else if (!strcmp (program, "bash") || !strcmp (program, "sh") || !strcmp (program, "zsh"))
        p->out->binary = w->v[0];
    else if (!strcmp (path_extension (w->v[0]), ".py")) {
        p->out->binary = "python3";
        i = 0;
    } else
        return error_set (err, EINVAL,
                          "%s: a task's command starts with python, bash, sh or zsh, or is a .py file",
                          w->v[0]);
    if (i >= w->n)
        return error_set (err, EINVAL, "%s: which script? As in: stoker run -- python train.py", w->v[0]);
    if (!strcmp (w->v[i], "-c"))
        return error_set (err, EINVAL, "%s -c: a task needs a script or a module (-m), not a command text",
                          w->v[0]);
    script = w->v[i];
    if (!strcmp (script, "-m")) {
        if (i + 1 >= w->n)
            return error_set (err, EINVAL, "-m: which module?");
        p->out->name = w->v[i + 1];
    } else {
        if (!file_exists (path_join (p->arena, p->cwd, script)))
            return error_set (err, ENOENT, "%s: no such script here", script);
        p->script = script;
        p->out->name = path_base (script);
    }
    p->script_at = i;
    put_entry_point (p, script);
    return 0;
}

/* -- all together ----------------------------------------------------------------------------------------------------------- */

static int literal_script (struct packer *p, struct error *err)
{
    struct str s = { .arena = p->arena };

    if (!p->script)
        return error_set (
            err, EINVAL, "%s is in no git repository: only a single script can run without one, not a module",
            p->cwd);
    if (file_read (path_join (p->arena, p->cwd, p->script), SCRIPT_MAX, &s, err) < 0)
        return error_wrap (err, "outside a git repository the script itself travels with the task");
    if (!pack_is_text (str_text (&s)))
        return error_set (err, EILSEQ, "%s: not UTF-8, which a script that travels alone must be", p->script);
    if (pack_check_text (p, p->script, str_text (&s), err) < 0)
        return -1;
    p->out->diff = str_text (&s);
    put_entry_point (p, path_base (p->script)); /* its folder stays here */
    p->out->working_dir = ".";
    p->out->project = path_base (p->cwd);
    return 0;
}

static int read_requirements (struct packer *p, struct error *err)
{
    const char *given = p->wish->requirements;
    const char *tries[] = { given ? path_join (p->arena, p->cwd, given)
                                  : path_join (p->arena, p->cwd, "requirements.txt"),
                            !given && p->top ? path_join (p->arena, p->top, "requirements.txt") : NULL };

    for (int i = 0; i < 2; i++) {
        struct str s = { .arena = p->arena };

        if (given && i == 0 && !file_exists (tries[i]))
            return error_set (err, ENOENT, "--requirements %s: no such file", given);
        if (!tries[i] || !file_exists (tries[i]))
            continue;
        if (file_read (tries[i], 1 << 20, &s, err) < 0)
            return -1;
        if (!pack_is_text (str_text (&s)))
            return error_set (err, EILSEQ, "%s: not UTF-8", tries[i]);
        if (pack_check_text (p, given ? given : "requirements.txt", str_text (&s), err) < 0)
            return -1;
        p->out->requirements = str_text (&s);
        return 0;
    }
    return 0;
}

int pack_folder (struct arena *a, const struct pack_wish *wish, struct pack *ret, struct error *err)
{
    struct packer p = { .arena = a, .wish = wish, .out = ret };
    char cwd[PATH_MAX];

    *ret = (struct pack){ 0 };
    if (!getcwd (cwd, sizeof (cwd)))
        return error_errno (err, "find the current folder");
    p.cwd = cwd;
    if (read_command (&p, err) < 0 || pack_find_repository (&p, err) < 0)
        return -1;
    if (p.top ? pack_make_diff (&p, err) < 0 : literal_script (&p, err) < 0)
        return -1;
    if (!p.top && wish->include.n)
        return error_set (err, EINVAL,
                          "--include: %s is in no git repository; only a single script can travel", cwd);
    ret->project = strlen (ret->project) < PROJECT_LEAST ? arena_printf (a, "%s project", ret->project)
                                                         : arena_strdup (a, ret->project);
    return read_requirements (&p, err);
}
