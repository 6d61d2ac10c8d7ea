/* home.h - whose machine this is: the home folder, and where we keep things there. Reads the environment. */
#pragma once
#include "base/arena.h"

/* The user's home: $HOME, else from the passwd table; "/" when there is none. */
const char *home_folder (struct arena *a);
/* "~" and "~/x" become the home folder; $NAME and ${NAME} become the variable (unset: left as written). */
char *home_expand (struct arena *a, const char *path);

/* What must outlive a restart (journals, spools): $STOKER_STATE, else $XDG_STATE_HOME/stoker, else
 * ~/.local/state/stoker; of root: /var/lib/stoker-agent. Never a temporary folder. */
char *home_state (struct arena *a);
/* What may be deleted at any time: $STOKER_CACHE, else $XDG_CACHE_HOME/stoker, else ~/.cache/stoker. */
char *home_cache (struct arena *a);
/* The server's data when no folder is named: $XDG_DATA_HOME/stoker; of root: /var/lib/stoker; else
 * ~/.local/share/stoker. */
char *home_data (struct arena *a);
