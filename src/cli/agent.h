/* agent.h - `stoker agent ...`, which is also what the program is when it is called clearml-agent or trains-agent:
 * the same verbs, flags and exit codes. */
#pragma once
#include <stdbool.h>

int agent_main (int argc, char **argv);        /* argv[0] is "agent" or that other name */
bool agent_is_name (const char *argv0);        /* called as clearml-agent or trains-agent? */
int agent_daemon_main (int argc, char **argv); /* `agent daemon` */
int init_main (int argc, char **argv);         /* `stoker init`, `agent init` */

/* Stop, drain or start anew the daemons of this machine. `words`: exactly these worker ids. */
struct agent_daemon;
int agent_stop_daemon (const struct agent_daemon *d, bool quiet); /* 0 gone, 1 not */
