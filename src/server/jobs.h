/* jobs.h - work that must not be forgotten (store/job.h), taken up by the pool every few seconds. */
#pragma once
struct server;
struct jobs;
struct jobs *jobs_create (struct server *s); /* on the loop thread, before the loop runs */
void jobs_destroy (struct jobs *j);          /* after the pool */
