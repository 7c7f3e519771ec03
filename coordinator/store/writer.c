#include "coordinator/store/writer.h"

#include <pthread.h>
#include <stdlib.h>
#include <time.h>

enum { READER_CHECK_SECONDS = 60 };

struct queue {
    struct store_write *first, **end;
};

/* One write in a running batch. */
struct entry {
    struct store_write *write;
    enum status status;
    int day; /* index in the transaction's days, or TXN_NO_BUCKET */
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
    e->status = t->broken != ST_OK ? t->broken : e->write->apply(e->write, t);
    e->day = t->touched;
}

/* What a write is told in the end: its own failure, else that of the commit it rode on. */
static void settle(const struct store_txn *t, enum status committed, struct entry *e)
{
    if (committed == ST_OK && e->day != TXN_NO_BUCKET)
        committed = t->days[e->day].committed;
    if (committed != ST_OK)
        e->status = committed;
}

static enum status run_batch(struct writer *w, struct entry *entries, size_t count,
                             struct store_txn *t)
{
    enum status st = txn_begin(w->catalog, w->buckets, t);

    for (size_t i = 0; i < count && st == ST_OK; i++)
        apply(t, &entries[i]);
    if (st == ST_OK && t->broken != ST_OK) {
        st = t->broken;
        txn_abort(t);
    } else if (st == ST_OK) {
        st = txn_commit(t);
    }
    for (size_t i = 0; i < count; i++)
        settle(t, st, &entries[i]);
    for (int i = 0; i < t->day_count && st == ST_OK; i++)
        st = t->days[i].committed;
    return st;
}

static void account(struct writer *w, const struct store_txn *t, enum status st, size_t count,
                    uint64_t ns)
{
    struct writer_counters *c = &w->counters;

    c->disk_full = st == ST_NO_SPACE;
    if (st != ST_OK) {
        c->failed_commits++;
        return;
    }
    c->commits++;
    c->writes += count;
    c->commit_ns += ns;
    c->chunks += t->chunks;
    c->duplicate_chunks += t->duplicates;
    c->bytes += t->bytes;
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

static void wait_for_work(struct writer *w)
{
    struct timespec until;

    (void)clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += READER_CHECK_SECONDS;
    while (w->waiting.first == NULL && !w->stopping)
        if (pthread_cond_timedwait(&w->work, &w->lock, &until) != 0)
            return;
}

static void write_one_batch(struct writer *w, struct entry *entries, size_t count)
{
    struct store_txn t = {.touched = TXN_NO_BUCKET};
    struct mono start = clock_mono();
    enum status st = run_batch(w, entries, count, &t);

    (void)pthread_mutex_lock(&w->lock);
    account(w, &t, st, count, mono_since(clock_mono(), start));
    for (size_t i = 0; i < count; i++) {
        entries[i].write->settled = entries[i].status;
        queue_push(&w->completed, entries[i].write);
    }
    (void)pthread_mutex_unlock(&w->lock);
    w->wake(w->arg);
}

static void *run(void *arg)
{
    struct writer *w = arg;
    struct entry *entries = w->batch;

    (void)pthread_mutex_lock(&w->lock);
    while (!w->stopping || w->waiting.first != NULL) {
        size_t count = take_batch(w, entries);

        if (count == 0) {
            wait_for_work(w);
            if (w->waiting.first != NULL || w->stopping)
                continue;
        }
        (void)pthread_mutex_unlock(&w->lock);
        if (count > 0) {
            write_one_batch(w, entries, count);
        } else {
            (void)lmdb_drop_dead_readers(w->catalog->env);
            buckets_drop_dead_readers(w->buckets);
        }
        (void)pthread_mutex_lock(&w->lock);
    }
    (void)pthread_mutex_unlock(&w->lock);
    return NULL;
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
    (void)pthread_mutex_init(&w->lock, NULL);
    (void)pthread_cond_init(&w->work, NULL);
    if (pthread_create(&w->thread, NULL, run, w) != 0) {
        writer_free(w);
        return ST_NOMEM;
    }
    w->started = true;
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
    queue_push(&w->waiting, write);
    w->waiting_bytes += write->bytes;
    (void)pthread_cond_signal(&w->work);
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
