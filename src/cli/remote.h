/* remote.h - the server as the verbs of the command line see it: one client, answers as JSON text in one arena, and
 * things found by what a person types (an id, the unique beginning of one, or a name). */
#pragma once
#include "base/arena.h"
#include "base/error.h"
#include "base/json.h"
#include "base/text.h"
#include "cli/out.h"

#include <stdbool.h>
#include <stdint.h>

struct remote {
    struct arena *arena; /* the verb's */
    struct client *client;
    const char *web; /* address of the pages */
    bool has_log;    /* the server has x_events.log */
};

/* Read the configuration and log in. */
int remote_open (struct arena *a, struct remote *ret, struct error *err) warn_unused;
void remote_close (struct remote *r); /* half-open is fine */
#define cleanup_remote __attribute__ ((cleanup (remote_close)))

/* One call; body is a JSON object text. *ret is the answer's `data`, owned by the arena. */
int remote_call (struct remote *r, const char *call, const char *body, struct text *ret,
                 struct error *err) warn_unused;

/* The same for a call that the server may hold for wait_ms (a long poll). */
int remote_wait (struct remote *r, const char *call, const char *body, int64_t wait_ms, struct text *ret,
                 struct error *err) warn_unused;

/* The one task, queue or project that `word` means: its id. Several or none: an error that lists what there is. */
int remote_find_task (struct remote *r, const char *word, char **ret_id, struct error *err) warn_unused;
int remote_find_queue (struct remote *r, const char *word, char **ret_id, struct error *err) warn_unused;
int remote_find_project (struct remote *r, const char *word, char **ret_id, struct error *err) warn_unused;

enum { PROJECT_LEAST = 3 }; /* letters of a project's name, on every server */
int remote_check_project_name (const char *name,
                               struct error *err) warn_unused; /* of a project that will be made */

/* A member of an answer as text for people, by a path like "project.name"; NULL when absent or null. */
char *remote_get (struct remote *r, struct text doc, const char *path);
int64_t remote_get_time (struct remote *r, struct text doc, const char *path); /* ms, 0 when absent */

/* How every verb that speaks to a server begins: parse the words, open the remote. VERB_GO: go on; else exit with it. */
struct opt_command;
int remote_begin (const struct opt_command *command, int argc, char **argv, void *into, struct arena *a,
                  struct remote *ret);
/* Choose a sub-verb: `stoker task` + `ls`. Prints the list for no word, --help or an unknown one. */
struct opt_verb;
int remote_subverb (const char *noun, const struct opt_verb *verbs, int argc, char **argv);
