/* script.h - what a task runs: a file, a module, code, a shell script, a notebook; from a repository or from the text
 * that the task carries itself. */
#pragma once
#include "base/arena.h"
#include "base/error.h"
#include "base/text.h"
#include "run/say.h"

#include <stdbool.h>

struct script_wish {
    const char *binary, *entry_point, *working_dir; /* of the task; NULL = "" */
    struct text literal; /* text of the script itself; absent = it is in the folder */
    const char *folder;  /* root of the checkout, or an empty folder for a script without repository */
};

enum script_kind { SCRIPT_FILE, SCRIPT_MODULE, SCRIPT_CODE, SCRIPT_SHELL };

struct script {
    enum script_kind kind;
    const char *cwd;   /* absolute */
    const char *file;  /* absolute; NULL for module and code */
    const char *shell; /* program of SCRIPT_SHELL: "bash", "sh", "zsh" */
    const char *const
        *words; /* what follows the interpreter (after -u): file or -m ... or -c ...; ends with NULL */
    size_t n;
};

/* Whether this binary means a shell and not Python. */
bool script_is_shell (const char *binary);

/* Writes the literal script (never over a file that is there), turns a notebook into a script, finds everything.
 * Errors name the task's field. `variable`: value of a name for $NAME in -m and -c entries. */
int script_prepare (struct arena *a, const struct script_wish *wish,
                    const char *(*variable) (void *arg, const char *name), void *arg, const struct say *say,
                    struct script *ret, struct error *err) warn_unused;
