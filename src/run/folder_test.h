/* folder_test.h - for the unit tests of this room: a temporary folder, files in it, and shell lines that must work. */
#pragma once
#include "base/unit.h"
// unit.h first
#include "base/file.h"
#include "base/path.h"
#include "io/spawn.h"

#include <stdlib.h>

struct folder {
    struct arena *arena;
    const char *path;
};

static inline struct folder folder_new (void)
{
    struct folder f = { .arena = arena_create () };
    const char *tmp = getenv ("TMPDIR");
    char *path = arena_printf (f.arena, "%s/stoker-test-XXXXXX", tmp ? tmp : "/tmp");
    assert_non_null (mkdtemp (path));
    f.path = path;
    return f;
}

static inline void folder_done (struct folder *f)
{
    struct error err;
    assert_int_equal (folder_remove (f->path, &err), 0);
    arena_destroy (f->arena);
}

/* Run a shell script in the folder; its output without the last newline. */
static inline const char *folder_sh (struct folder *f, const char *script)
{
    const char *argv[] = { "sh", "-ec", script, NULL };
    const char *env[] = { "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
                          "HOME=/nonexistent",
                          "GIT_AUTHOR_NAME=T",
                          "GIT_AUTHOR_EMAIL=t@example.com",
                          "GIT_COMMITTER_NAME=T",
                          "GIT_COMMITTER_EMAIL=t@example.com",
                          "GIT_CONFIG_COUNT=2",
                          "GIT_CONFIG_KEY_0=protocol.file.allow",
                          "GIT_CONFIG_VALUE_0=always",
                          "GIT_CONFIG_KEY_1=init.defaultBranch",
                          "GIT_CONFIG_VALUE_1=main",
                          NULL };
    struct spawn s = { .argv = argv, .cwd = f->path, .env = env };
    struct str out = { .arena = f->arena };
    struct spawn_end end;
    struct error err;
    str_puts (&out, "");
    assert_int_equal (spawn_run (&s, (struct text){ 0 }, &out, &out, 1 << 20, 0, &end, &err), 0);
    if (end.signaled || end.code)
        fail_msg ("%s\n-> %s", script, out.p);
    while (out.n && out.p[out.n - 1] == '\n')
        out.p[--out.n] = 0;
    return out.p;
}

static inline void folder_write (struct folder *f, const char *name, const char *content)
{
    struct error err;
    const char *path = path_join (f->arena, f->path, name);
    assert_int_equal (folder_make (path_folder (f->arena, path), 0755, &err), 0);
    assert_int_equal (file_write (path, text_of (content), 0644, &err), 0);
}

static inline const char *folder_read (struct folder *f, const char *name)
{
    struct error err;
    struct str s = { .arena = f->arena };
    str_puts (&s, "");
    if (file_read (path_join (f->arena, f->path, name), 1 << 20, &s, &err) < 0)
        return NULL;
    return s.p;
}
