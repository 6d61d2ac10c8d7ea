/* script_test.c - every form of an entry point, and the words a shell would make of a line. */
#include "run/folder_test.h"
#include "run/script.h"
#include "run/words.h"

#include <string.h>

static const char *variable (void *arg, const char *name)
{
    (void)arg;
    return !strcmp (name, "HOST") ? "node 1" : !strcmp (name, "N") ? "2" : NULL;
}

static const char *joined (struct arena *a, const char *const *words, size_t n)
{
    struct str s = { .arena = a };
    str_puts (&s, "");
    for (size_t i = 0; i < n; i++)
        str_addf (&s, "%s[%s]", i ? " " : "", words[i]);
    return s.p;
}

static void shell_words (void **state)
{
    (void)state;
    static const struct {
        const char *line, *want;
    } rows[] = {
        { "a  b\tc", "[a] [b] [c]" },
        { "", "" },
        { "'a b' \"c d\"e", "[a b] [c de]" },
        { "a\\ b \\$N", "[a b] [$N]" },
        { "$HOST ${N}x $none.", "[node 1] [2x] [.]" },
        { "'$N' \"$N\" \"\\$N\"", "[$N] [2] [$N]" },
        { "''", "[]" },
        { "$ $1 ${", "[$] [$1] [${]" },
    };
    cleanup_arena struct arena *a = arena_create ();
    const char *const *w;
    size_t n;
    struct error err;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        assert_int_equal (words_split (a, rows[i].line, variable, NULL, &w, &n, &err), 0);
        assert_string_equal (joined (a, w, n), rows[i].want);
        assert_null (w[n]);
    }
    assert_int_equal (words_split (a, "a 'b", variable, NULL, &w, &n, &err), -1);
}

static void forms (void **state)
{
    (void)state;
    static const struct {
        const char *binary, *entry, *dir, *literal;
        enum script_kind kind;
        const char *cwd, *words; /* FOLDER is written % */
    } rows[] = {
        { "python3.9", "train.py", ".", NULL, SCRIPT_FILE, "%", "[%/train.py]" },
        { "python", "train.py", "", NULL, SCRIPT_FILE, "%", "[%/train.py]" },
        { "", "run.py", "sub", NULL, SCRIPT_FILE, "%/sub", "[%/sub/run.py]" },
        { "", "../train.py --lr 'a b'", "sub", NULL, SCRIPT_FILE, "%/sub",
          "[%/sub/../train.py] [--lr] [a b]" },
        { "", "two words.py", ".", NULL, SCRIPT_FILE, "%", "[%/two words.py]" },
        { "", "run.py:sub", "", NULL, SCRIPT_FILE, "%/sub", "[%/sub/run.py]" },
        { "", "-m pkg.mod --n $N", ".", NULL, SCRIPT_MODULE, "%", "[-m] [pkg.mod] [--n] [2]" },
        { "", "-m torch.distributed.run --nproc_per_node 2 train.py", ".", NULL, SCRIPT_MODULE, "%",
          "[-m] [torch.distributed.run] [--nproc_per_node] [2] [train.py]" },
        { "", "-c 'print(1)'", ".", NULL, SCRIPT_CODE, "%", "[-c] [print(1)]" },
        { "/bin/bash", "go.sh 1", ".", NULL, SCRIPT_SHELL, "%", "[%/go.sh] [1]" },
        { "bash", "-c 'echo hi'", ".", NULL, SCRIPT_SHELL, "%", "[-c] [echo hi]" },
        { "", "lit.py", ".", "print(1)", SCRIPT_FILE, "%", "[%/lit.py]" },
        { "", "lit.py --x 1", "new/dir", "print(1)", SCRIPT_FILE, "%/new/dir",
          "[%/new/dir/lit.py] [--x] [1]" },
        { "", "", "", "print(1)", SCRIPT_FILE, "%", "[%/untitled.py]" },
        { "bash", "", "", "echo 1", SCRIPT_SHELL, "%", "[%/untitled.sh]" },
        { "", "-m lit2", "sub:lit2.py", "print(1)", SCRIPT_MODULE, "%/sub", "[-m] [lit2]" },
        { "", "nb.ipynb", ".", NULL, SCRIPT_FILE, "%", "[%/nb.py]" },
    };
    struct folder f = folder_new ();
    folder_sh (&f, "mkdir sub && touch train.py sub/run.py go.sh 'two words.py'");
    folder_write (
        &f, "nb.ipynb",
        "{\"cells\":[{\"cell_type\":\"markdown\",\"source\":[\"# x\"]},"
        "{\"cell_type\":\"code\",\"source\":[\"%matplotlib inline\\n\",\"a = 1\\n\",\"if a:\\n\",\"  !ls\"]},"
        "{\"cell_type\":\"code\",\"source\":\"print(a)\"}]}");
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct script s;
        struct error err = { 0 };
        struct script_wish w = { rows[i].binary, rows[i].entry, rows[i].dir, text_of (rows[i].literal),
                                 f.path };
        if (script_prepare (f.arena, &w, variable, NULL, NULL, &s, &err) < 0)
            fail_msg ("%s: %s", rows[i].entry, err.text);
        assert_int_equal (s.kind, rows[i].kind);
        const char *want[2] = { rows[i].cwd, rows[i].words },
                   *have[2] = { s.cwd, joined (f.arena, s.words, s.n) };
        for (int k = 0; k < 2; k++) {
            struct str full = { .arena = f.arena };
            for (const char *p = want[k]; *p; p++)
                if (*p == '%')
                    str_puts (&full, f.path);
                else
                    str_putc (&full, *p);
            assert_string_equal (have[k], full.p);
        }
    }
    assert_string_equal (folder_read (&f, "new/dir/lit.py"), "print(1)\n");
    assert_string_equal (folder_read (&f, "nb.py"),
                         "pass  # %matplotlib inline\na = 1\nif a:\n  pass  # !ls\n\nprint(a)\n\n");
    folder_done (&f);
}

static void faults (void **state)
{
    (void)state;
    static const struct {
        const char *entry, *dir, *literal, *words;
    } rows[] = {
        { "gone.py", ".", NULL, "script.entry_point: there is no file 'gone.py'" },
        { "train.py", "nowhere", NULL, "script.working_dir: there is no folder 'nowhere'" },
        { "", ".", NULL, "script.entry_point: the task names no file" },
        { "-m", ".", NULL, "nothing follows -m" },
        { "-m 'x", ".", NULL, "script.entry_point: a ' that does not end" },
        { "../../x.py", ".", "print(1)", "leads out of the task's folder" },
    };
    struct folder f = folder_new ();
    folder_sh (&f, "touch train.py");
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct script s;
        struct error err = { 0 };
        struct script_wish w = { "python", rows[i].entry, rows[i].dir, text_of (rows[i].literal), f.path };
        assert_int_equal (script_prepare (f.arena, &w, variable, NULL, NULL, &s, &err), -1);
        if (!strstr (err.text, rows[i].words))
            fail_msg ("'%s' does not say '%s'", err.text, rows[i].words);
    }
    folder_done (&f);
}

int main (void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test (shell_words), cmocka_unit_test (forms),
                                        cmocka_unit_test (faults) };
    return cmocka_run_group_tests (tests, NULL, NULL);
}
