/* topic.h - bells: a handler that waits gives a topic and a time; a write rings it after its commit. Thread safe.
 *
 * A waiter may name several topics, with '\n' between: the first that rings wakes it. Rings carry a rising number, so
 * that none is missed: take topic_seq before looking, wait "since" it, and a ring in between wakes at once. (Who
 * registers in store_write.done, on the writer thread, cannot miss one either: rings come from there.) */
#pragma once
#include <stdint.h>

struct topics;
struct topic_wait; /* one waiter */
struct topics *topics_create (void);
void topics_destroy (struct topics *t);

/* Call wake (arg) once when a topic rings: from the ringing thread and under this module's lock, so it must only post
 * elsewhere. The waiter stays the caller's until topic_leave, woken or not. */
struct topic_wait *topic_wait (struct topics *t, const char *topic, void (*wake) (void *arg), void *arg);
/* The waiter is gone (answered, timed out, connection closed). After this wake is never called. NULL is fine. */
void topic_leave (struct topics *t, struct topic_wait *w);
/* Wake up to n waiters, oldest first (n < 0: all). Returns how many. */
int topic_ring (struct topics *t, const char *topic, int64_t n);
/* The number of the last ring of any topic: take it before the handler looks, when its topic is not known yet. */
uint64_t topic_seq (struct topics *t);
struct topic_wait *topic_wait_since (struct topics *t, const char *topic, uint64_t seq,
                                     void (*wake) (void *arg), void *arg);
