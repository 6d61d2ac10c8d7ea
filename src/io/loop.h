/* loop.h - the event loop (libuv underneath, named nowhere else): timers, descriptors, signals, posts from
 * threads. One loop belongs to one thread; only loop_post and loop_stop may be called from others. */
#pragma once
#include "base/error.h"

#include <stdbool.h>
#include <stdint.h>

struct loop;
int loop_create (struct loop **ret, struct error *err) warn_unused;
void loop_destroy (struct loop *l);
int loop_run (struct loop *l, struct error *err); /* until loop_stop */
void loop_stop (struct loop *l);                  /* from any thread, safe in a callback */
void loop_post (struct loop *l, void (*fn) (void *arg),
                void *arg); /* run fn on the loop thread; from any thread */

struct loop_timer;
struct loop_timer *loop_timer_add (struct loop *l, int64_t ms, bool repeat, void (*fn) (void *arg),
                                   void *arg);
void loop_timer_reset (struct loop_timer *t,
                       int64_t ms);            /* again from now; also re-arms one that has fired */
void loop_timer_remove (struct loop_timer *t); /* NULL is fine; safe inside its own callback */

enum loop_events { LOOP_READ = 1, LOOP_WRITE = 2 };
struct loop_watch; /* the descriptor stays the caller's; a pidfd is a descriptor like any other */
struct loop_watch *loop_watch_add (struct loop *l, int fd, int events,
                                   void (*fn) (int fd, int events, void *arg), void *arg);
void loop_watch_set (struct loop_watch *w, int events);
void loop_watch_remove (struct loop_watch *w);

struct loop_signal;
struct loop_signal *loop_signal_add (struct loop *l, int signum, void (*fn) (int signum, void *arg),
                                     void *arg);
void loop_signal_remove (struct loop_signal *s);
