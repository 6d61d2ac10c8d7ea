/* patch.h - the uncommitted changes of a task (script.diff), read and applied.
 *
 * git does the applying, all or nothing; we read the patch only to make what was recorded by other hands fit:
 * lines with CRLF, paths without a/ and b/ (diff.noprefix), "Binary files ... differ" (there is no content to
 * apply: named; a removal or a rename is done all the same), new files that the patch treats as empty ones, and line endings that a text layer
 * changed on the way. Everything read lives in the arena; no path of the patch is opened outside the folder.
 */
#pragma once
#include "base/arena.h"
#include "base/error.h"
#include "base/text.h"
#include "run/git.h"

#include <stdbool.h>

enum { PATCH_MAX = 64 << 20 };

struct patch_part {
    struct text header;              /* lines before the first hunk, line ends normalised */
    struct text body;                /* hunks, or a binary patch, as they came; empty = none */
    const char *old_path, *new_path; /* of the ---/+++ lines, with their prefixes; NULL = none */
    const char *name;                /* of the file after the change, without prefix; NULL = not known */
    const char *renamed;             /* the name before, as "rename from" has it; NULL = not renamed */
    bool is_new, is_gone;            /* "new file mode", "deleted file mode" */
    bool binary_stub;                /* "Binary files ... differ": no content in the patch */
    bool no_prefix;                  /* the diff line's paths have no a/ and b/ */
    bool from_nothing;               /* the first hunk begins at -0,0, yet the header names an old file */
};

struct patch {
    struct text text; /* what was read: the diff, or a copy with the line ends that git wrote */
    struct patch_part *parts;
    size_t n;
};

/* Whether script.diff is a patch (else it is the text of a script). */
bool patch_is (struct text diff);
int patch_read (struct arena *a, struct text diff, struct patch *ret, struct error *err) warn_unused;

/* The patch as git shall have it: without parts that have no content; prefixed: paths have a/ and b/; adapt: hunks get
 * the line ends of the files (below `folder`) that they change. */
struct text patch_write (struct arena *a, const struct patch *patch, const char *folder, bool prefixed,
                         bool adapt);

/* Apply to the working tree `folder`. -1: nothing was changed, and the words say which file does not fit. */
int patch_apply (struct arena *a, struct git *g, const char *folder, struct text diff, const struct say *say,
                 struct error *err) warn_unused;
