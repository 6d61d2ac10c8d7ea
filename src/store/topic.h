/* topic.h - bells: a handler that waits gives a topic and a time; a write rings it after its commit. Thread
 * safe. */
#pragma once
#include <stdint.h>

struct topics;
struct topic_wait; /* one waiter */
struct topics *topics_create (void);
void topics_destroy (struct topics *t);

/* Call wake (arg) once when the topic rings: from the ringing thread and under this module's lock, so it must only
 * post elsewhere. The waiter stays the caller's until topic_leave, woken or not. */
struct topic_wait *topic_wait (struct topics *t, const char *topic, void (*wake) (void *arg), void *arg);
/* The waiter is gone (answered, timed out, connection closed). After this wake is never called. NULL is fine.
 */
void topic_leave (struct topics *t, struct topic_wait *w);
/* Wake up to n waiters, oldest first (n < 0: all). Returns how many. The sequence number of a topic rises
 * with each ring, so a handler that looked before the ring and waits after it is woken at once: pass what
 * topic_seq gave. */
int topic_ring (struct topics *t, const char *topic, int64_t n);
uint64_t topic_seq (struct topics *t, const char *topic);
struct topic_wait *topic_wait_since (struct topics *t, const char *topic, uint64_t seq,
                                     void (*wake) (void *arg), void *arg);
