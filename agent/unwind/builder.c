#include "agent/unwind/builder.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "common/clock.h"

enum { BUILDER_NICE = -10 }; /* ten times the usual share */

enum job_state { JOB_FREE, JOB_WAITING, JOB_IN_HAND, JOB_DONE };

struct job {
    enum job_state state;
    int fd;
    uint64_t bytes; /* of the file */
    struct build build;
};

struct builder {
    pthread_t thread;
    bool thread_runs;
    pthread_mutex_t lock; /* of all below but the job in hand's build */
    pthread_cond_t wanted; /* a job was submitted, or the end has come */
    bool closing;
    struct job jobs[BUILDER_JOBS_MAX];
};

/* NULL: none is in that state. */
static struct job *find_job(struct builder *b, enum job_state state)
{
    struct job *found = NULL;

    for (uint32_t i = 0; i < BUILDER_JOBS_MAX; i++)
        if (b->jobs[i].state == state && (found == NULL || b->jobs[i].bytes < found->bytes))
            found = &b->jobs[i];
    return found;
}

/* NULL: the end. */
static struct job *await_job(struct builder *b)
{
    struct job *job = NULL;

    pthread_mutex_lock(&b->lock);
    while (!b->closing && (job = find_job(b, JOB_WAITING)) == NULL)
        pthread_cond_wait(&b->wanted, &b->lock);
    if (b->closing)
        job = NULL;
    if (job != NULL)
        job->state = JOB_IN_HAND;
    pthread_mutex_unlock(&b->lock);
    return job;
}

static uint64_t cpu_time_ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (uint64_t)t.tv_sec * NS_PER_S + (uint64_t)t.tv_nsec;
}

/* Samples wait for it, and on a busy machine it would wait for its turn. What it costs is bounded:
 * each file is read once. Without the right to it the thread is one of many. */
static void hurry(void)
{
    (void)setpriority(PRIO_PROCESS, (id_t)gettid(), BUILDER_NICE);
}

static void *work(void *arg)
{
    struct builder *b = arg;
    struct job *job;

    hurry();
    while ((job = await_job(b)) != NULL) {
        uint64_t before = cpu_time_ns();

        job->build.status = file_rows_read(job->fd, &job->build.rows);
        job->build.cpu_ns = cpu_time_ns() - before;
        close(job->fd);
        pthread_mutex_lock(&b->lock);
        job->state = JOB_DONE;
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
    struct build build;
    struct job *job;

    if (b == NULL)
        return;
    if (b->thread_runs)
        stop_thread(b);
    while ((job = find_job(b, JOB_WAITING)) != NULL) {
        close(job->fd);
        job->state = JOB_FREE;
    }
    while (builder_collect(b, &build))
        file_rows_deinit(&build.rows);
    pthread_cond_destroy(&b->wanted);
    pthread_mutex_destroy(&b->lock);
    free(b);
}

enum status builder_submit(struct builder *b, uint32_t binary, int fd)
{
    struct stat file = {0};
    struct job *job;

    (void)fstat(fd, &file); /* else: first */
    pthread_mutex_lock(&b->lock);
    job = find_job(b, JOB_FREE);
    if (job != NULL) {
        *job = (struct job){.state = JOB_WAITING,
                            .fd = fd,
                            .bytes = (uint64_t)file.st_size,
                            .build = {.binary = binary}};
        pthread_cond_signal(&b->wanted);
    }
    pthread_mutex_unlock(&b->lock);
    return job != NULL ? ST_OK : ST_FULL;
}

bool builder_collect(struct builder *b, struct build *out)
{
    struct job *job;

    pthread_mutex_lock(&b->lock);
    job = find_job(b, JOB_DONE);
    if (job != NULL) {
        *out = job->build;
        job->state = JOB_FREE;
    }
    pthread_mutex_unlock(&b->lock);
    return job != NULL;
}
