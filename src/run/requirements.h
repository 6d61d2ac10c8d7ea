/* requirements.h - a requirements text, line by line: what each line is, so that the rest knows what may be shared
 * between tasks (names and pins), what belongs to one run (-e, local paths, VCS) and what are options for the index.
 * Lines keep their bytes; joined continuation lines and stripped comments are the only changes. */
#pragma once
#include "base/arena.h"
#include "base/error.h"
#include "base/str.h"
#include "base/text.h"
#include "run/say.h"

#include <stdbool.h>

enum { REQUIREMENTS_MAX = 4 << 20, REQUIREMENT_FILES_MAX = 64 };

enum requirement_kind {
    REQUIREMENT_NAME,     /* name, extras, version, marker; also name @ https://... and bare wheel URLs */
    REQUIREMENT_VCS,      /* git+..., hg+..., name @ git+... */
    REQUIREMENT_EDITABLE, /* -e X; `text` is X */
    REQUIREMENT_LOCAL,    /* a path, file:..., name @ file:... */
    REQUIREMENT_OPTION,   /* --extra-index-url U, --find-links, --pre, -c ...: `text` is the whole line */
};

struct requirement {
    enum requirement_kind kind;
    const char *text;
    const char *
        asked; /* as a requirements file at the root has it: paths below the root relative to it, -e in front */
    const char *name; /* normalised (lower case, runs of -_. are one -); NULL when the line does not tell */
    bool pinned_vcs;  /* names a full commit */
};

struct requirements {
    struct requirement *v;
    size_t n;
};

/* Read `text`. `-r FILE` is followed (relative to `folder`, then `root`; NULL folder: never) and replaced by what stands
 * in it; one that is missing is said and left out, as is a `name @ file:...` whose file is not there (the name stays). */
int requirements_read (struct arena *a, struct text text, const char *folder, const char *root,
                       const struct say *s, struct requirements *ret, struct error *err) warn_unused;

bool requirements_have (const struct requirements *r, const char *name); /* normalised name */
void requirements_add (struct arena *a, struct requirements *r, enum requirement_kind kind, const char *text);
/* Whether two readings of the same text must give the same packages: nothing local, no moving VCS reference. */
bool requirements_fixed (const struct requirements *r);
/* As a requirements file again. */
void requirements_write (const struct requirements *r, struct str *s);
/* A line as people may see it: the password of a URL in it masked. */
const char *requirement_shown (struct arena *a, const char *line);

/* Whether a list of names and versions cannot say where this one comes from: a URL, a path, a VCS reference. */
bool requirement_has_place (const struct requirement *r);

/* The normalised name at the beginning of a requirement line; NULL when it has none. */
const char *requirement_name (struct arena *a, const char *line);
