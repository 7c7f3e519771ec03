#include "coordinator/store/writer.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <time.h>

enum {
    READER_CHECK_SECONDS = 60,
    ATTEMPTS_MAX = 32, /* of one batch, each after a map doubled: more bits than an address has */
};

struct queue {
    struct store_write *first, **end;
};

/* One write in a running batch. */
struct entry {
    struct store_write *write;
    enum status status;
    int day; /* index in the transaction's days, or TXN_NO_BUCKET */
    bool settled; /* durable, or failed by itself: not run again */
};

struct writer {
    struct entry batch[STORE_BATCH_WRITES]; /* the writer thread's */
    struct catalog *catalog;
    struct buckets *buckets;
    void (*wake)(void *arg);
    void *arg;
    pthread_t thread;
    bool started;
    pthread_mutex_t lock; /* all below */
    pthread_cond_t work;
    struct queue waiting, completed;
    size_t waiting_bytes; /* submitted and not yet handed back */
    bool stopping;
    struct writer_counters counters;
};

static void queue_init(struct queue *q)
{
    q->first = NULL;
    q->end = &q->first;
}

static void queue_push(struct queue *q, struct store_write *w)
{
    w->next = NULL;
    *q->end = w;
    q->end = &w->next;
}

static struct store_write *queue_pop(struct queue *q)
{
    struct store_write *w = q->first;

    if (w == NULL)
        return NULL;
    q->first = w->next;
    if (q->first == NULL)
        q->end = &q->first;
    return w;
}

/* ---- a batch; the writer's thread, without the lock ---- */

static void apply(struct store_txn *t, struct entry *e)
{
    t->touched = TXN_NO_BUCKET;
    e->status = e->write->apply(e->write, t);
    e->day = t->touched;
}

/* A map that could not grow is a full disk to everyone above. */
static enum status not_durable(enum status st)
{
    if (st == ST_NO_SPACE || st == ST_FULL)
        return ST_NO_SPACE;
    return st == ST_NOMEM ? ST_NOMEM : ST_IO;
}

/* What a write is told in the end: its own failure, else that of the commit it rode on. */
static void settle(const struct store_txn *t, enum status committed, struct entry *e)
{
    if (committed == ST_OK && e->day != TXN_NO_BUCKET)
        committed = t->days[e->day].committed;
    e->settled = committed == ST_OK;
    if (committed != ST_OK)
        e->status = not_durable(committed);
}

/* The worst that happened: of the catalog's commit and of every day's. */
static enum status run_once(struct writer *w, struct entry *entries, size_t count,
                            struct store_txn *t)
{
    enum status st = txn_begin(w->catalog, w->buckets, t);

    if (st == ST_OK) {
        for (size_t i = 0; i < count && txn_status(t) == ST_OK; i++)
            if (!entries[i].settled)
                apply(t, &entries[i]);
        st = txn_commit(t);
    }
    for (size_t i = 0; i < count; i++)
        if (!entries[i].settled)
            settle(t, st, &entries[i]);
    for (int i = 0; i < t->day_count && st == ST_OK; i++)
        st = t->days[i].committed;
    return st;
}

static void count_attempt(struct writer *w, enum status st, uint64_t ns)
{
    struct writer_counters *c = &w->counters;

    (void)pthread_mutex_lock(&w->lock);
    c->commit_ns += ns;
    c->disk_full = st != ST_OK && not_durable(st) == ST_NO_SPACE;
    if (st == ST_OK)
        c->commits++;
    else
        c->failed_commits++;
    (void)pthread_mutex_unlock(&w->lock);
}

static void run_batch(struct writer *w, struct entry *entries, size_t count)
{
    bool again = true;

    for (int i = 0; i < ATTEMPTS_MAX && again; i++) {
        struct store_txn t = {.touched = TXN_NO_BUCKET};
        struct mono start = clock_mono();
        enum status st = run_once(w, entries, count, &t);

        count_attempt(w, st, mono_since(clock_mono(), start));
        again = st != ST_OK && t.grown;
    }
}

static void count_write(struct writer_counters *c, const struct entry *e)
{
    if (!e->settled)
        return;
    c->writes++;
    if (e->status == ST_OK)
        c->bytes += e->write->bytes;
    if (e->day == TXN_NO_BUCKET)
        return;
    c->chunks += e->status == ST_OK;
    c->duplicate_chunks += e->status == ST_EXISTS;
}

/* ---- the thread ---- */

static size_t take_batch(struct writer *w, struct entry *entries)
{
    size_t count = 0, bytes = 0;

    while (count < STORE_BATCH_WRITES && w->waiting.first != NULL &&
           (count == 0 || bytes + w->waiting.first->bytes <= STORE_BATCH_BYTES)) {
        bytes += w->waiting.first->bytes;
        entries[count++] = (struct entry){.write = queue_pop(&w->waiting), .day = TXN_NO_BUCKET};
    }
    return count;
}

/* With the lock held, until there is work or it is time to look for dead readers. */
static void wait_for_work(struct writer *w)
{
    struct timespec until;

    (void)clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += READER_CHECK_SECONDS;
    while (w->waiting.first == NULL && !w->stopping)
        if (pthread_cond_timedwait(&w->work, &w->lock, &until) != 0)
            return;
}

static void hand_back(struct writer *w, struct entry *entries, size_t count)
{
    (void)pthread_mutex_lock(&w->lock);
    for (size_t i = 0; i < count; i++) {
        count_write(&w->counters, &entries[i]);
        entries[i].write->settled = entries[i].status;
        queue_push(&w->completed, entries[i].write);
    }
    (void)pthread_mutex_unlock(&w->lock);
    w->wake(w->arg);
}

/* Also under load, when the writer never waits for long. */
static void check_readers(struct writer *w, struct mono *checked)
{
    if (mono_since(clock_mono(), *checked) < READER_CHECK_SECONDS * NS_PER_S)
        return;
    *checked = clock_mono();
    (void)lmdb_drop_dead_readers(w->catalog->env);
    buckets_drop_dead_readers(w->buckets);
}

static void *run(void *arg)
{
    struct writer *w = arg;
    struct mono checked = clock_mono();

    (void)pthread_mutex_lock(&w->lock);
    while (!w->stopping || w->waiting.first != NULL) {
        size_t count;

        wait_for_work(w);
        count = take_batch(w, w->batch);
        (void)pthread_mutex_unlock(&w->lock);
        if (count > 0) {
            run_batch(w, w->batch, count);
            hand_back(w, w->batch, count);
        }
        check_readers(w, &checked);
        (void)pthread_mutex_lock(&w->lock);
    }
    (void)pthread_mutex_unlock(&w->lock);
    return NULL;
}

static void init_lock(struct writer *w)
{
    pthread_condattr_t attributes;

    (void)pthread_condattr_init(&attributes);
    (void)pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    (void)pthread_mutex_init(&w->lock, NULL);
    (void)pthread_cond_init(&w->work, &attributes);
    (void)pthread_condattr_destroy(&attributes);
}

/* Signals are the loop's: here they would only cut system calls short. */
static bool start_thread(struct writer *w)
{
    sigset_t all, before;

    (void)sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, &before);
    w->started = pthread_create(&w->thread, NULL, run, w) == 0;
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    return w->started;
}

enum status writer_start(struct catalog *catalog, struct buckets *buckets, void (*wake)(void *arg),
                         void *arg, struct writer **out)
{
    struct writer *w = calloc(1, sizeof(*w));

    if (w == NULL)
        return ST_NOMEM;
    w->catalog = catalog;
    w->buckets = buckets;
    w->wake = wake;
    w->arg = arg;
    queue_init(&w->waiting);
    queue_init(&w->completed);
    init_lock(w);
    if (!start_thread(w)) {
        writer_free(w);
        return ST_NOMEM;
    }
    *out = w;
    return ST_OK;
}

void writer_stop(struct writer *w)
{
    if (!w->started)
        return;
    (void)pthread_mutex_lock(&w->lock);
    w->stopping = true;
    (void)pthread_cond_signal(&w->work);
    (void)pthread_mutex_unlock(&w->lock);
    (void)pthread_join(w->thread, NULL);
    w->started = false;
}

void writer_free(struct writer *w)
{
    if (w == NULL)
        return;
    writer_stop(w);
    (void)pthread_cond_destroy(&w->work);
    (void)pthread_mutex_destroy(&w->lock);
    free(w);
}

void writer_submit(struct writer *w, struct store_write *write)
{
    (void)pthread_mutex_lock(&w->lock);
    w->waiting_bytes += write->bytes;
    if (w->stopping && !w->started) {
        write->settled = ST_CLOSED;
        queue_push(&w->completed, write);
    } else {
        queue_push(&w->waiting, write);
        (void)pthread_cond_signal(&w->work);
    }
    (void)pthread_mutex_unlock(&w->lock);
}

void writer_complete(struct writer *w)
{
    for (;;) {
        struct store_write *write;

        (void)pthread_mutex_lock(&w->lock);
        write = queue_pop(&w->completed);
        if (write != NULL)
            w->waiting_bytes -= write->bytes;
        (void)pthread_mutex_unlock(&w->lock);
        if (write == NULL)
            return;
        write->done(write, write->settled);
    }
}

size_t writer_waiting_bytes(struct writer *w)
{
    size_t bytes;

    (void)pthread_mutex_lock(&w->lock);
    bytes = w->waiting_bytes;
    (void)pthread_mutex_unlock(&w->lock);
    return bytes;
}

struct writer_counters writer_read_counters(struct writer *w)
{
    struct writer_counters c;

    (void)pthread_mutex_lock(&w->lock);
    c = w->counters;
    (void)pthread_mutex_unlock(&w->lock);
    return c;
}
