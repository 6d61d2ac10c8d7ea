/* loop_test.c - timers, descriptors, signals and posts from threads, on a real loop. */
#include "base/unit.h"
#include "io/loop.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <unistd.h>

struct world {
    struct loop *loop;
    struct loop_timer *timer;
    struct loop_watch *watch;
    struct loop_signal *sig;
    int ticks, posts, bytes, signals;
    int fds[2];
};

static int setup (void **state)
{
    static struct world w;
    struct error err;

    w = (struct world){ 0 };
    assert_int_equal (loop_create (&w.loop, &err), 0);
    *state = &w;
    return 0;
}

static int teardown (void **state)
{
    struct world *w = *state;

    loop_destroy (w->loop);
    return 0;
}

static void run (struct world *w)
{
    struct error err;

    assert_int_equal (loop_run (w->loop, &err), 0);
}

static void tick (void *arg)
{
    struct world *w = arg;

    if (++w->ticks == 3) {
        loop_timer_remove (w->timer);
        loop_stop (w->loop);
    }
}

static void test_timer (void **state)
{
    struct world *w = *state;

    w->timer = loop_timer_add (w->loop, 1, true, tick, w);
    run (w);
    assert_int_equal (w->ticks, 3);
}

static void tick_again (void *arg)
{
    struct world *w = arg;

    if (++w->ticks == 2)
        loop_stop (w->loop);
    else
        loop_timer_reset (w->timer, 0);
}

static void test_timer_rearms (void **state)
{
    struct world *w = *state;

    w->timer = loop_timer_add (w->loop, 1000000, false, tick_again, w);
    loop_timer_reset (w->timer, 1);
    run (w);
    assert_int_equal (w->ticks, 2);
    loop_timer_remove (NULL);
}

static void posted (void *arg)
{
    struct world *w = arg;

    if (++w->posts == 4000)
        loop_stop (w->loop);
}

static void *poster (void *arg)
{
    struct world *w = arg;

    for (int i = 0; i < 1000; i++)
        loop_post (w->loop, posted, w);
    return NULL;
}

static void test_posts (void **state)
{
    struct world *w = *state;
    pthread_t t[4];

    for (int i = 0; i < 4; i++)
        assert_int_equal (pthread_create (&t[i], NULL, poster, w), 0);
    run (w);
    for (int i = 0; i < 4; i++)
        pthread_join (t[i], NULL);
    assert_int_equal (w->posts, 4000);
    loop_post (w->loop, posted, w); /* one that never runs leaves nothing behind */
}

static void readable (int fd, int events, void *arg)
{
    struct world *w = arg;
    char b[8];
    ssize_t n;

    assert_true (events & LOOP_READ);
    n = read (fd, b, sizeof (b));
    if (n > 0)
        w->bytes += (int)n;
    if (n == 0) {
        loop_watch_remove (w->watch);
        loop_stop (w->loop);
    }
}

static void write_more (void *arg)
{
    struct world *w = arg;

    assert_int_equal (write (w->fds[1], "abc", 3), 3);
    close (w->fds[1]);
}

static void test_watch (void **state)
{
    struct world *w = *state;

    assert_int_equal (pipe (w->fds), 0);
    w->watch = loop_watch_add (w->loop, w->fds[0], LOOP_READ, readable, w);
    assert_non_null (w->watch);
    loop_post (w->loop, write_more, w);
    run (w);
    assert_int_equal (w->bytes, 3);
    close (w->fds[0]);
}

static void signalled (int signum, void *arg)
{
    struct world *w = arg;

    w->signals += signum == SIGUSR1;
    loop_signal_remove (w->sig);
    loop_stop (w->loop);
}

static void raise_it (void *arg)
{
    (void)arg;
    kill (getpid (), SIGUSR1);
}

static void test_signal (void **state)
{
    struct world *w = *state;

    w->sig = loop_signal_add (w->loop, SIGUSR1, signalled, w);
    assert_non_null (w->sig);
    loop_post (w->loop, raise_it, NULL);
    run (w);
    assert_int_equal (w->signals, 1);
}

static void test_stop_before_run (void **state)
{
    struct world *w = *state;

    loop_stop (w->loop);
    run (w);
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown (test_timer, setup, teardown),
        cmocka_unit_test_setup_teardown (test_timer_rearms, setup, teardown),
        cmocka_unit_test_setup_teardown (test_posts, setup, teardown),
        cmocka_unit_test_setup_teardown (test_watch, setup, teardown),
        cmocka_unit_test_setup_teardown (test_signal, setup, teardown),
        cmocka_unit_test_setup_teardown (test_stop_before_run, setup, teardown),
    };

    return cmocka_run_group_tests (tests, NULL, NULL);
}
