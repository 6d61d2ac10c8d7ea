/* pack_diff.c - what differs from the commit that an agent clones. Untracked files named by --include enter through an index
 * of their own, so that the user's index is not touched; bytes that are no text travel as a binary patch. */
#include "base/file.h"
#include "base/path.h"
#include "base/str.h"
#include "cli/pack_room.h"
#include "run/patch.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { DIFF_MAX = 1 << 20, DIFF_READ_MAX = 64 << 20 };

static const char *const *index_env (struct arena *a, const char *index)
{
    size_t n = 0;
    const char **env;

    while (environ[n])
        n++;
    env = arena_array (a, const char *, n + 2);
    memcpy (env, environ, n * sizeof (*env));
    env[n] = arena_printf (a, "GIT_INDEX_FILE=%s", index);
    return env;
}

static int add_included (struct packer *p, const char *index, struct error *err)
{
    struct error lost;
    char *real = GIT (p, err, "rev-parse", "--path-format=absolute", "--git-path", "index");
    cleanup_str struct str content = { 0 };

    if (!real || file_read (real, 512 << 20, &content, err) < 0 ||
        file_write (index, str_text (&content), 0600, err) < 0)
        return -1;
    p->env = index_env (p->arena, index);
    for (size_t i = 0; i < p->wish->include.n; i++) {
        const char *path = path_join (p->arena, p->cwd, p->wish->include.v[i]);

        if (!file_exists (path))
            return error_set (err, ENOENT, "--include %s: no such file", p->wish->include.v[i]);
        if (!GIT (p, &lost, "add", "-N", "-f", "--", path))
            return error_set (err, EINVAL, "--include %s: %s", p->wish->include.v[i], lost.text);
    }
    return 0;
}

/* A script that git does not track stays here, and the agent would find none. */
static int check_script (struct packer *p, struct error *err)
{
    char real[PATH_MAX], top[PATH_MAX], *listed;
    const char *path;
    struct error lost;

    if (!p->script)
        return 0;
    path = path_clean (p->arena, path_join (p->arena, p->cwd, p->script));
    if (realpath (path, real) && realpath (p->top, top) && !path_inside (real, top))
        return error_set (err, EINVAL, "%s lies outside of the repository %s: only what is inside travels",
                          p->script, p->top);
    listed = GIT (p, &lost, "ls-files", "--recurse-submodules", "--", path);
    if (listed && !*listed)
        return error_set (err, EINVAL,
                          "git does not track %s, so it would not travel: 'git add' it, or give --include %s",
                          p->script, p->script);
    return 0;
}

/* -- bytes that are no text ------------------------------------------------------------------------------------------------ */

/* A line of gitattributes: the file is binary, so that its change is written in letters. */
static void add_attribute (struct str *s, const char *name)
{
    if (!name)
        return;
    str_puts (s, "\"/");
    for (; *name; name++) {
        if (strchr ("*?[", *name))
            str_puts (s, "\\\\"); /* of the pattern, within quotes */
        else if (*name == '\\')
            str_puts (s, "\\\\\\");
        if (*name == '"')
            str_putc (s, '\\');
        str_putc (s, *name);
    }
    str_puts (s, "\" -diff\n");
}

static const char *of_header (const char *path)
{
    return path && path[0] && path[1] == '/' ? path + 2 : NULL;
}

static int find_bytes (struct packer *p, struct text diff, struct str *attributes, struct error *err)
{
    struct patch patch;

    if (patch_read (p->arena, diff, &patch, err) < 0)
        return -1;
    for (size_t i = 0; i < patch.n; i++) {
        const struct patch_part *part = &patch.parts[i];

        if (!pack_is_text (part->header))
            return error_set (err, EILSEQ,
                              "the name of a changed file is not UTF-8: rename it, or commit and push");
        if (pack_is_text (part->body))
            continue;
        add_attribute (attributes, of_header (part->old_path));
        add_attribute (attributes, of_header (part->new_path));
    }
    return 0;
}

/* The changes, whatever the user's settings make of `git diff`. */
static int git_diff (struct packer *p, struct text *ret, struct error *err)
{
    struct str diff = { .arena = p->arena };
    const char *words[] = { "diff",
                            "--binary",
                            "--no-color",
                            "--no-ext-diff",
                            "--no-textconv",
                            "--no-relative",
                            "--full-index",
                            "--submodule=diff",
                            "--ignore-submodules=none",
                            "--src-prefix=a/",
                            "--dst-prefix=b/",
                            p->out->commit,
                            "--",
                            NULL };

    if (pack_git_into (p, err, DIFF_READ_MAX, &diff, words) < 0)
        return -1;
    *ret = str_text (&diff);
    return 0;
}

static int check_size (struct packer *p, struct error *err)
{
    if (p->out->diff.n <= DIFF_MAX || pack_allowed (p->wish, "size"))
        return 0;
    return error_set (
        err, EFBIG,
        "the diff against %.12s has %zu kB; over 1 MB is refused: commit and push, or --allow size",
        p->out->commit, p->out->diff.n / 1024);
}

/* Files whose changes JSON cannot carry (Latin-1 text and the like) travel as binary ones. They were looked through
 * before that. */
static int write_in_letters (struct packer *p, const char *temporary, struct error *err)
{
    struct str attributes = { .arena = p->arena };
    struct error lost;
    int r;

    if (pack_is_text (p->out->diff))
        return 0;
    str_puts (&attributes, "");
    if (find_bytes (p, p->out->diff, &attributes, err) < 0 ||
        file_write (temporary, str_text (&attributes), 0600, err) < 0)
        return -1;
    p->attributes = temporary;
    r = git_diff (p, &p->out->diff, err);
    p->attributes = NULL;
    if (file_remove (temporary, &lost) < 0)
        return *err = lost, -1;
    if (r == 0 && !pack_is_text (p->out->diff))
        return error_set (
            err, EILSEQ,
            "the changes hold bytes that are no UTF-8, in a file that .gitattributes says is text: commit "
            "and push it");
    return r < 0 ? -1 : check_size (p, err);
}

int pack_make_diff (struct packer *p, struct error *err)
{
    const char *folder = getenv ("TMPDIR") ? getenv ("TMPDIR") : "/tmp";
    char *index = arena_printf (p->arena, "%s/stoker-index-%d", folder, (int)getpid ()),
         *attributes = arena_printf (p->arena, "%s/stoker-attributes-%d", folder, (int)getpid ());
    struct error lost;
    int r = p->wish->include.n ? add_included (p, index, err) : 0;

    if (r == 0)
        r = check_script (p, err);
    if (r == 0)
        r = git_diff (p, &p->out->diff, err);
    if (r == 0)
        r = check_size (p, err);
    if (r == 0)
        r = pack_check_diff (p, err);
    if (r == 0)
        r = write_in_letters (p, attributes, err);
    p->env = NULL;
    if (p->wish->include.n && file_remove (index, &lost) < 0)
        return *err = lost, -1;
    return r;
}
