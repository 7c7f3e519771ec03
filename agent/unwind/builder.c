#include "agent/unwind/builder.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "common/clock.h"

struct job {
    int fd;
    struct build build;
};

struct builder {
    pthread_t thread;
    bool thread_runs;
    pthread_mutex_t lock; /* of all below */
    pthread_cond_t wanted; /* a job was submitted, or the end has come */
    bool closing;
    struct job jobs[BUILDER_JOBS_MAX]; /* a ring: done ones first, then those that wait */
    uint32_t first, done, count;
};

static struct job *job_at(struct builder *b, uint32_t i)
{
    return &b->jobs[(b->first + i) % BUILDER_JOBS_MAX];
}

/* The oldest job that waits stays in its place while it is worked on. NULL: the end. */
static struct job *await_job(struct builder *b)
{
    struct job *job = NULL;

    pthread_mutex_lock(&b->lock);
    while (!b->closing && b->done == b->count)
        pthread_cond_wait(&b->wanted, &b->lock);
    if (!b->closing)
        job = job_at(b, b->done);
    pthread_mutex_unlock(&b->lock);
    return job;
}

static uint64_t cpu_time_ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (uint64_t)t.tv_sec * NS_PER_S + (uint64_t)t.tv_nsec;
}

static void *work(void *arg)
{
    struct builder *b = arg;
    struct job *job;

    while ((job = await_job(b)) != NULL) {
        uint64_t before = cpu_time_ns();

        job->build.status = rows_read(job->fd, &job->build.rows);
        job->build.cpu_ns = cpu_time_ns() - before;
        close(job->fd);
        pthread_mutex_lock(&b->lock);
        b->done++;
        pthread_mutex_unlock(&b->lock);
    }
    return NULL;
}

/* Signals are the loop's. */
static enum status start_thread(struct builder *b)
{
    sigset_t all, before;
    int rc;

    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    rc = pthread_create(&b->thread, NULL, work, b);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    b->thread_runs = rc == 0;
    return rc == 0 ? ST_OK : status_from_errno(rc);
}

enum status builder_new(struct builder **out)
{
    struct builder *b = calloc(1, sizeof(*b));
    enum status st;

    if (b == NULL)
        return ST_NOMEM;
    pthread_mutex_init(&b->lock, NULL);
    pthread_cond_init(&b->wanted, NULL);
    st = start_thread(b);
    if (st != ST_OK) {
        builder_free(b);
        return st;
    }
    *out = b;
    return ST_OK;
}

static void stop_thread(struct builder *b)
{
    pthread_mutex_lock(&b->lock);
    b->closing = true;
    pthread_cond_signal(&b->wanted);
    pthread_mutex_unlock(&b->lock);
    pthread_join(b->thread, NULL);
}

void builder_free(struct builder *b)
{
    if (b == NULL)
        return;
    if (b->thread_runs)
        stop_thread(b);
    for (uint32_t i = 0; i < b->count; i++)
        if (i < b->done)
            rows_deinit(&job_at(b, i)->build.rows);
        else
            close(job_at(b, i)->fd);
    pthread_cond_destroy(&b->wanted);
    pthread_mutex_destroy(&b->lock);
    free(b);
}

enum status builder_submit(struct builder *b, uint32_t binary, int fd)
{
    enum status st = ST_FULL;

    pthread_mutex_lock(&b->lock);
    if (b->count < BUILDER_JOBS_MAX) {
        *job_at(b, b->count++) = (struct job){.fd = fd, .build = {.binary = binary}};
        pthread_cond_signal(&b->wanted);
        st = ST_OK;
    }
    pthread_mutex_unlock(&b->lock);
    return st;
}

bool builder_collect(struct builder *b, struct build *out)
{
    bool is_done;

    pthread_mutex_lock(&b->lock);
    is_done = b->done > 0;
    if (is_done) {
        *out = b->jobs[b->first].build;
        b->first = (b->first + 1) % BUILDER_JOBS_MAX;
        b->done--;
        b->count--;
    }
    pthread_mutex_unlock(&b->lock);
    return is_done;
}
