/* pool.c - see pool.h. One list, one lock, one condition. Stacks are small (1 MB) so that many threads cost
 * little address space; nothing on the pool recurses deeper than a JSON document may. */
#include "io/pool.h"

#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>

enum { STACK_BYTES = 1024 * 1024 };

struct pool {
    pthread_mutex_t lock;
    pthread_cond_t wake;
    struct pool_job *first, **last;
    bool closing;
    int threads_n;
    pthread_t threads[];
};

static struct pool_job *job_take (struct pool *p)
{
    struct pool_job *job;

    pthread_mutex_lock (&p->lock);
    while (!p->first && !p->closing)
        pthread_cond_wait (&p->wake, &p->lock);
    job = p->first;
    if (job && !(p->first = job->next))
        p->last = &p->first;
    pthread_mutex_unlock (&p->lock);
    return job;
}

static void *work (void *arg)
{
    struct pool *p = arg;
    struct pool_job *job;

    while ((job = job_take (p)))
        job->run (job);
    return NULL;
}

void pool_submit (struct pool *p, struct pool_job *job)
{
    job->next = NULL;
    pthread_mutex_lock (&p->lock);
    *p->last = job;
    p->last = &job->next;
    pthread_cond_signal (&p->wake);
    pthread_mutex_unlock (&p->lock);
}

static int threads_start (struct pool *p, int threads)
{
    pthread_attr_t attr;
    sigset_t all, before;
    int rc = 0;

    pthread_attr_init (&attr);
    pthread_attr_setstacksize (&attr, STACK_BYTES);
    sigfillset (&all); /* signals belong to the main thread */
    pthread_sigmask (SIG_SETMASK, &all, &before);
    while (!rc && p->threads_n < threads)
        if (!(rc = pthread_create (&p->threads[p->threads_n], &attr, work, p)))
            p->threads_n++;
    pthread_sigmask (SIG_SETMASK, &before, NULL);
    pthread_attr_destroy (&attr);
    return rc;
}

int pool_create (int threads, struct pool **ret, struct error *err)
{
    struct pool *p = calloc (1, sizeof (*p) + (size_t)threads * sizeof (pthread_t));
    int rc;

    if (!p)
        abort ();
    pthread_mutex_init (&p->lock, NULL);
    pthread_cond_init (&p->wake, NULL);
    p->last = &p->first;
    if ((rc = threads_start (p, threads))) {
        pool_destroy (p);
        return error_set (err, rc, "start %d worker threads: error %d", threads, rc);
    }
    *ret = p;
    return 0;
}

void pool_destroy (struct pool *p)
{
    if (!p)
        return;
    pthread_mutex_lock (&p->lock);
    p->closing = true;
    pthread_cond_broadcast (&p->wake);
    pthread_mutex_unlock (&p->lock);
    for (int i = 0; i < p->threads_n; i++)
        pthread_join (p->threads[i], NULL);
    pthread_cond_destroy (&p->wake);
    pthread_mutex_destroy (&p->lock);
    free (p);
}
