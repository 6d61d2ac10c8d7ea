/* oldtags.h - clients below 2.3 know one list of tags, `tags`, in which those of the system stand too: what they send is
 * divided into tags and system_tags, what they get is joined again. (Queues have no calls that old.) */
#pragma once
#include "services/answer.h"

/* Which tags of one kind of object are the system's. */
struct old_tags {
    const char *const *names; /* ends with NULL */
    bool annotations;         /* and all that begin with "annotat" */
};
extern const struct old_tags old_tags_task, old_tags_model, old_tags_project;

/* Tags to be stored, as sorted lists (absent: not given): from an old client that names no system tags those of the
 * system move over, and what is not among them any more is taken away. */
void old_tags_divide (struct call *c, const struct old_tags *which, struct text *tags, struct text *system);

/* The same for the filters of a request: its body, with order and operators kept. */
struct text old_tags_filter (struct call *c, const struct old_tags *which, struct text body);

/* `shape` of a query_entity below version OLD_TAGS_BELOW: one list again. */
enum { OLD_TAGS_BELOW = 2003 };
int old_tags_join (const struct query_source *src, struct text doc, struct str *out, struct error *err);
