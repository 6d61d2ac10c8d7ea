/* pack.h - a folder as a task's script: remote, commit, what differs from it, requirements. Nothing is written. */
#pragma once
#include "base/arena.h"
#include "base/error.h"
#include "base/opt.h"
#include "base/text.h"

struct pack_wish {
    struct opt_words command; /* python train.py --lr 0.1 | python -m train | bash train.sh */
    struct opt_words include; /* untracked files to take along, as typed (from the current folder) */
    struct opt_words allow;   /* paths, "size" or "secrets": findings to let through */
    const char
        *requirements; /* file, NULL: requirements.txt beside the script or at the top, if there is one */
    const char *base;  /* commit to build on; NULL: HEAD, or its newest ancestor that the remote has */
};
struct pack {
    const char *repository, *branch, *commit; /* NULL without a git repository */
    const char *working_dir, *entry_point, *binary;
    const char *name, *project; /* good defaults: of the script, of the folder */
    struct text diff;           /* the patch; without a repository the script itself */
    struct text requirements;   /* text of the file; absent when there is none */
};

/* Look at the current folder and its git repository. Refuses, in words: nothing pushed, a diff over 1 MB, files that
 * look like secrets (.env, *.pem, id_*), tokens in added lines, commands that are neither Python nor a shell. */
int pack_folder (struct arena *a, const struct pack_wish *wish, struct pack *ret,
                 struct error *err) warn_unused;
