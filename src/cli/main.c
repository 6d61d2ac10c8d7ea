/* main.c - `stoker VERB ...`: finds the verb in the table and calls it. A verb is one file of this folder with
 * `int <verb>_main (int argc, char **argv)` (argv[0] is the verb) and one row here. */
#include "base/opt.h"
#include "cli/agent.h"
#include "cli/nouns.h"
#include "cli/out.h"
#include "cli/run.h"
#include "cli/task.h"
#include "cli/up.h"
#include "cli/verbs.h"

#include <stdio.h>
#include <string.h>

static const struct opt_verb verbs[] = {
    { "up", "Start a server and an agent on this machine.", up_main },
    { "server", "Run the server: API, pages, files.", server_main },
    { "agent", "Take tasks from queues and run them; stop, drain, look.", agent_main },
    { "execute", "Run one task here and now.", execute_main },
    { "init", "Write ~/clearml.conf: which server, which key.", init_main },
    { "run", "Run a command of this folder as a task, through a queue.", run_main },
    { "task", "List, look at, clone, queue and steer tasks.", task_main },
    { "queue", "List and make queues.", queue_main },
    { "worker", "List workers.", worker_main },
    { "project", "List projects.", project_main },
    { 0 },
};

static const struct opt_verb *choose (int *argc, char ***argv)
{
    struct error err = { 0 };
    const struct opt_verb *v;

    opt_help_last (*argc, *argv);
    if (*argc < 2 || !strcmp ((*argv)[1], "--help") || !strcmp ((*argv)[1], "-h")) {
        printf ("Experiment server, agent and command line in one program.\n\nUsage: stoker VERB "
                "[options]\n\n");
        opt_verbs_help (verbs, stdout);
        printf ("\n`stoker VERB --help` says more.\n");
        return NULL;
    }
    if (!(v = opt_verb_find (verbs, (*argv)[1], &err)))
        fprintf (stderr, "stoker: %s\nTry 'stoker --help'.\n", err.text);
    --*argc;
    ++*argv;
    return v;
}

int main (int argc, char **argv)
{
    int words = argc;
    const struct opt_verb *v;

    if (agent_is_name (argv[0]))
        return out_end (agent_main (argc, argv));
    if (argc >= 2 && (!strcmp (argv[1], "--version") || !strcmp (argv[1], "version"))) {
        printf ("stoker %s\n", STOKER_VERSION);
        return out_end (0);
    }
    v = choose (&argc, &argv);
    return out_end (v ? v->main (argc, argv) : words == argc ? 0 : 2);
}
