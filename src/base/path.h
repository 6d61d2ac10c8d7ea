/* path.h - names of files as text; nothing here looks at the disk. Results live in the arena. */
#pragma once
#include "base/arena.h"

#include <stdbool.h>

/* "a" + "b" -> "a/b"; one slash between; an absolute b stays as it is; an empty side gives the other. */
char *path_join (struct arena *a, const char *left, const char *right);

/* "a//b/./c/../d" -> "a/b/d"; "" -> "."; ".." above an absolute root vanishes, above a relative one stays. */
char *path_clean (struct arena *a, const char *path);

const char *path_base (const char *path);              /* behind the last slash (points into path) */
char *path_folder (struct arena *a, const char *path); /* before it; "." or "/" when there is nothing */
const char *path_extension (const char *path); /* ".py" (points into path), "" when none; "" for ".x" */
bool path_absolute (const char *path);
bool path_inside (const char *clean_path, const char *clean_root); /* equal counts; both must be clean */
char *path_home (struct arena *a, const char *path,
                 const char *home); /* a leading "~" or "~/" becomes home */
