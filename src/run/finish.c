/* finish.c - the last station: say how it ended, send what is left, set the status, check and give back what was used. */
#include "base/clock.h"
#include "base/file.h"
#include "base/log.h"
#include "base/path.h"
#include "run/room.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { EXIT_STOPPED = 254, BOUND_MS = 10000 };

/* What became of the run, as a row decides it. */
struct verdict {
    const char *call;   /* tasks.completed, ..., NULL = the status is not ours to set */
    const char *status; /* as the journal has it */
    const char *reason; /* status_reason */
    const char *line;   /* last line of the log */
    const char *level;
    int code; /* our exit code */
};

static struct verdict stopped (struct run *r, enum stop_reason why)
{
    bool signal = why == STOP_SIGNAL;
    if (!stop_words[why].report)
        return (struct verdict){ NULL,   "none",      stop_words[why].text, stop_words[why].text,
                                 "INFO", EXIT_STOPPED };
    (void)r;
    return (struct verdict){ "tasks.stopped",
                             "stopped",
                             signal ? "user abort: agent stopped" : "task was stopped by tasks.stop",
                             signal ? "Process terminated by user" : "Process aborted by user",
                             "INFO",
                             EXIT_STOPPED };
}

static struct verdict ended (struct run *r)
{
    struct arena *a = r->arena;
    int code = r->end.signaled ? -r->end.code : r->end.code;
    if (!r->end.signaled && code == 0)
        return (struct verdict){ "tasks.completed",
                                 "completed",
                                 "worker execution done",
                                 "Process completed successfully",
                                 "INFO",
                                 0 };
    if (code == EXIT_STOPPED)
        return (struct verdict){ "tasks.stopped", "stopped",   "user abort", "Process terminated by user",
                                 "INFO",          EXIT_STOPPED };
    const char *more = "";
    if (r->end.signaled)
        more = arena_printf (a, ": killed by signal %d (%s)%s%s", r->end.code, strsignal (r->end.code),
                             r->end.core ? ", core dumped" : "", r->out_of_memory ? ", out of memory" : "");
    return (struct verdict){ "tasks.failed",
                             "failed",
                             arena_printf (a, "worker execution exit code %d%s", code, more),
                             arena_printf (a, "Process failed, exit code %d%s", code, more),
                             "ERROR",
                             r->end.signaled ? 128 + r->end.code : code };
}

static struct verdict judge (struct run *r)
{
    enum stop_reason why = stop_get (&r->stop);
    if (why != STOP_NONE && !r->by_itself)
        return stopped (r, why);
    if (r->failed_at)
        return (struct verdict){ "tasks.failed",
                                 "failed",
                                 arena_printf (r->arena, "%s: %s", r->failed_at, r->failure.text),
                                 arena_printf (r->arena, "%s: %s", r->failed_at, r->failure.text),
                                 "ERROR",
                                 1 };
    return ended (r);
}

static const char *status_body (struct run *r, const struct verdict *v)
{
    struct str s = { .arena = r->arena };
    str_puts (&s, "{\"task\":");
    json_put_string (&s, r->task);
    str_puts (&s, ",\"force\":false,\"status_reason\":");
    json_put_string (&s, v->reason);
    str_puts (&s, ",\"status_message\":");
    json_put_string (&s, arena_printf (r->arena, "Changed by stoker agent %s", r->worker));
    str_puts (&s, "}");
    return s.p;
}

/* An agent that ends does not wait for a server that is away: what is not sent stays on disk, for the next one. */
static bool told_to_stop (struct run *r)
{
    return stop_get (&r->stop) == STOP_SIGNAL;
}

/* Set the final status, however long the server is away; a second signal gives up. What was set, NULL = it is not known. */
static const char *report (struct run *r, const struct verdict *v)
{
    struct text ignored;
    struct error err = { 0 };
    if (!v->call || !r->rank0 || r->options->quiet)
        return "none";
    client_set_patience (r->client, told_to_stop (r) ? CLIENT_BRIEF : CLIENT_FOREVER);
    int taken = guard_task_taken (r->guard, r->client, &err);
    if (taken > 0) { /* while nothing could be heard of us: it is no longer ours to end */
        log_info ("run", "%s: not said, another agent has taken the task", v->call);
        return "none";
    }
    if (taken == 0 && run_call (r, v->call, status_body (r, v), &ignored, &err) == 0)
        return v->status;
    if (client_undecided (&err)) {
        log_error ("run", "%s: %s", v->call, err.text);
        return NULL;
    }
    log_info ("run", "%s: %s", v->call,
              err.text); /* the task ended itself, or somebody was faster: theirs stands */
    return "none";
}

static void flush (struct run *r)
{
    struct error err = { 0 };
    if (!r->ship)
        return;
    if (stop_get (&r->stop) != STOP_GONE &&
        ship_flush (r->ship, r->stop.now_fd, told_to_stop (r) ? BOUND_MS : 0, &err) < 0)
        log_warn ("run", "%s", err.text);
}

/* A run without a daemon cleans up behind itself; with one, the daemon removes the folder when it has read the end. */
static void clean_up (struct run *r, bool all_told)
{
    struct error err;
    const char *left[] = { "env", "code", "env.txt", "env-local.txt", NULL };
    for (size_t i = 0; left[i]; i++)
        if (folder_remove (path_join (r->arena, r->folder, left[i]), &err) < 0 &&
            file_remove (path_join (r->arena, r->folder, left[i]), &err) < 0)
            log_debug ("run", "%s", err.text);
    if (all_told && r->spool)
        spool_discard (r->spool);
    else
        spool_close (r->spool);
    r->spool = NULL;
    if (all_told && !r->claimed && folder_remove (r->folder, &err) < 0)
        log_warn ("run", "%s", err.text);
}

int run_finish (struct run *r)
{
    if (r->helper)
        console_finish (r->helper, clock_now ());
    if (r->child.pid < 0 && !descendants_end (0, BOUND_MS)) /* of helpers that were cut short */
        log_warn ("run", "a helper's process could not be killed");
    struct verdict v = judge (r);
    if (r->task)
        run_notice (r, v.level, "%s%s", v.line, r->rank0 ? "" : " - of another rank");
    else
        run_complain (r, v.line);
    if (r->child.pid < 0) /* nothing was started: the journal says why all the same */
        run_journal (r, (struct journal_entry){
                            .stage = "exited", .has_exit = true, .exit_code = v.code, .message = v.reason });
    clerk_flush (r->clerk);
    flush (r);
    const char *reported = r->task ? report (r, &v) : "none";
    guard_stop (r->guard);
    if (r->has_env)
        env_finish (&r->install, &r->env_wish, &r->env);
    flush (r);
    ship_stop (r->ship);
    repo_release (&r->checkout);
    git_destroy (r->git);
    if (reported)
        run_journal (
            r, (struct journal_entry){ .stage = "reported", .reported = reported, .message = v.reason });
    clerk_flush (r->clerk);
    clean_up (r, reported && (!r->spool || spool_waiting (r->spool) <= 0));
    console_destroy (r->helper);
    console_destroy (r->console);
    if (r->log_fd >= 0)
        close (r->log_fd);
    return v.code;
}
