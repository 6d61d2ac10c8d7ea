/* execute.c - `stoker execute --id T`: run one task here and now. Also `agent execute`, and what an agent starts. */
#include "base/log.h"
#include "base/opt.h"
#include "cli/out.h"
#include "cli/verbs.h"
#include "conf/conf.h"
#include "io/gpu_list.h"
#include "run/run.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct execute_opts {
    const char *id, *config_file, *log_file, *log_level, *docker, *worker, *gpus, *git_user, *git_pass,
        *settle;
    bool clone, full_monitoring, disable_monitoring, standalone, require_queue, debug, cpu_only, upgrade;
    int64_t optimise;
};

static const char *const levels[] = { "DEBUG", "INFO", "WARN", "WARNING", "ERROR", "CRITICAL", NULL };

#define AT(member) offsetof (struct execute_opts, member)
static const struct opt_row rows[] = {
    { OPT_TEXT, "id", 0, AT (id), .arg = "TASK", .help = "id of the task, or the name of exactly one",
      .required = true },
    { OPT_FLAG, "clone", 0, AT (clone), .help = "run a copy named 'Clone of ...'" },
    { OPT_FLAG, "require-queue", 0, AT (require_queue), .help = "fail unless the task stands in a queue" },
    { OPT_FLAG, "disable-monitoring", 0, AT (disable_monitoring),
      .help = "tell the server nothing: no console, no status" },
    { OPT_FLAG, "full-monitoring", 0, AT (full_monitoring), .help = "is always so; taken for old scripts" },
    { OPT_FLAG, "standalone-mode", 0, AT (standalone),
      .help = "install nothing: use the interpreter that is there" },
    { OPT_TEXT, "log-file", 0, AT (log_file), .arg = "FILE", .help = "also write the task's output here" },
    { OPT_TEXT, "log-level", 0, AT (log_level), .arg = "LEVEL", .choices = levels,
      .help = "CLEARML_LOG_LEVEL of the task (INFO)" },
    { OPT_COUNT, "optimise", 'O', AT (optimise), .help = "-O or -OO for Python" },
    { OPT_TEXT, "gpus", 0, AT (gpus), .arg = "LIST", .help = "devices the task sees: all, none, 0,1" },
    { OPT_FLAG, "cpu-only", 0, AT (cpu_only), .help = "the task sees no GPU" },
    { OPT_TEXT, "worker", 0, AT (worker), .arg = "ID", .help = "id of the worker that runs it (HOST:PID)" },
    { OPT_FLAG, "upgrade", 0, AT (upgrade), .help = "choose versions of packages anew" },
    { OPT_TEXT, "config-file", 0, AT (config_file), .arg = "FILE",
      .help = "configuration, instead of ~/clearml.conf" },
    { OPT_TEXT, "git-user", 0, AT (git_user), .arg = "USER",
      .help = "user for repositories (the password: CLEARML_AGENT_GIT_PASS)" },
    { OPT_TEXT, "git-pass", 0, AT (git_pass) },
    { OPT_TEXT, "settle", 0, AT (settle) }, /* of agents: tell the end of a run whose supervisor is lost */
    { OPT_MAYBE, "docker", 0, AT (docker) },
    { OPT_FLAG, "debug", 'd', AT (debug), .help = "say more on standard error" },
    { 0 },
};
static const struct opt_command command = {
    .name = "execute",
    .about = "Run one task here and now: its code, its packages, its process; its output and its end go to "
             "the server.",
    .rows = rows,
    .more = "Exit code: the task's own; 128 + n when signal n ended it; 254 when it was stopped; 1 when it "
            "could not be\n"
            "started; 2 for wrong words. TERM stops the task (a second one without grace).\n",
};

/* Devices reach the task, and all that is asked on the way, by the usual variables. */
static int choose_gpus (const struct execute_opts *o, struct error *err)
{
    const char *list = o->cpu_only ? "none" : o->gpus;
    if (!list || getenv ("KUBERNETES_SERVICE_HOST") || getenv ("KUBERNETES_SERVICE_PORT"))
        return 0;
    int r = gpu_list_check_here ("--gpus", list, err);
    if (r < 0)
        return -1;
    if (r > 0)
        log_warn ("execute", GPU_LIST_UNKNOWN, "--gpus", list);
    setenv ("NVIDIA_VISIBLE_DEVICES", list, 1);
    if (strcmp (list, "all"))
        setenv ("CUDA_VISIBLE_DEVICES", list, 1);
    else
        unsetenv ("CUDA_VISIBLE_DEVICES");
    return 0;
}

int execute_main (int argc, char **argv)
{
    cleanup_arena struct arena *a = arena_create ();
    struct execute_opts o = { 0 };
    struct error err = { 0 };
    const struct conf *conf;
    int begun = out_parse (&command, argc, argv, &o, a);

    if (begun != VERB_GO)
        return begun;
    if (gpu_list_read (a, "--gpus", o.gpus, &o.gpus, &err) < 0)
        return out_misused (command.name, &err);
    if (o.debug)
        log_set_level (LOG_DEBUG);
    if (o.docker) {
        fprintf (stderr, "stoker execute: --docker: this agent does not run tasks in containers yet\n");
        return 1;
    }
    if (o.git_user)
        setenv ("CLEARML_AGENT_GIT_USER", o.git_user, 1);
    if (o.git_pass)
        setenv ("CLEARML_AGENT_GIT_PASS", o.git_pass, 1);
    if (choose_gpus (&o, &err) < 0 || conf_load (a, o.config_file, &conf, &err) < 0)
        return out_failed (command.name, &err);
    struct run_options ro = { .conf = conf,
                              .task = o.id,
                              .clone = o.clone,
                              .quiet = o.disable_monitoring,
                              .standalone = o.standalone,
                              .require_queue = o.require_queue,
                              .echo = !getenv ("STOKER_RUN_DIR"),
                              .log_file = o.log_file,
                              .log_level = o.log_level,
                              .optimise = o.optimise,
                              .worker = o.worker,
                              .upgrade = o.upgrade };
    return o.settle ? run_tell_end (&ro, o.settle) : run_execute (&ro);
}
