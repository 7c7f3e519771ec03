#include "coordinator/store/buckets.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

struct buckets {
    pthread_mutex_t lock; /* all below but directory and map_bytes */
    pthread_cond_t opened;
    char *directory;
    uint64_t map_bytes;
    struct bucket **open;
    size_t open_count, open_capacity;
    uint32_t *days; /* of every file, sorted */
    size_t day_count;
    uint64_t uses;
};

static void bucket_path(const struct buckets *b, uint32_t day, char path[PATH_MAX])
{
    time_t start = (time_t)day * 86400;
    struct tm date;

    (void)gmtime_r(&start, &date);
    (void)snprintf(path, PATH_MAX, "%s/chunks-%04d-%02d-%02d.mdb", b->directory,
                   date.tm_year + 1900, date.tm_mon + 1, date.tm_mday);
}

static bool day_of_file(const char *name, uint32_t *out)
{
    struct tm date = {0};
    const char *rest;
    time_t seconds;

    if (strncmp(name, "chunks-", 7) != 0)
        return false;
    rest = strptime(name + 7, "%Y-%m-%d", &date);
    if (rest == NULL || strcmp(rest, ".mdb") != 0)
        return false;
    seconds = timegm(&date);
    if (seconds < 0)
        return false;
    *out = (uint32_t)(seconds / 86400);
    return true;
}

/* ---- the sorted list of days; under the lock ---- */

static size_t day_position(const struct buckets *b, uint32_t day)
{
    size_t i = 0;

    while (i < b->day_count && b->days[i] < day)
        i++;
    return i;
}

static enum status add_day(struct buckets *b, uint32_t day)
{
    size_t at = day_position(b, day);
    uint32_t *days;

    if (at < b->day_count && b->days[at] == day)
        return ST_OK;
    days = realloc(b->days, (b->day_count + 1) * sizeof(*days));
    if (days == NULL)
        return ST_NOMEM;
    memmove(days + at + 1, days + at, (b->day_count - at) * sizeof(*days));
    days[at] = day;
    b->days = days;
    b->day_count++;
    return ST_OK;
}

static bool has_day(const struct buckets *b, uint32_t day)
{
    size_t at = day_position(b, day);

    return at < b->day_count && b->days[at] == day;
}

static enum status list_files(struct buckets *b)
{
    DIR *d = opendir(b->directory);
    enum status st = ST_OK;

    if (d == NULL)
        return status_from_errno(errno);
    for (struct dirent *e = readdir(d); e != NULL && st == ST_OK; e = readdir(d)) {
        uint32_t day;

        if (day_of_file(e->d_name, &day))
            st = add_day(b, day);
    }
    closedir(d);
    return st;
}

enum status buckets_open(const char *directory, uint64_t map_bytes, struct buckets **out)
{
    struct buckets *b = calloc(1, sizeof(*b));
    enum status st = ST_NOMEM;

    if (b == NULL)
        return ST_NOMEM;
    (void)pthread_mutex_init(&b->lock, NULL);
    (void)pthread_cond_init(&b->opened, NULL);
    b->map_bytes = map_bytes;
    b->directory = strdup(directory);
    if (b->directory == NULL)
        goto out;
    st = list_files(b);
    if (st != ST_OK)
        goto out;
    *out = b;
    b = NULL;
out:
    buckets_close(b);
    return st;
}

void buckets_close(struct buckets *b)
{
    if (b == NULL)
        return;
    for (size_t i = 0; i < b->open_count; i++) {
        lmdb_close(b->open[i]->env);
        free(b->open[i]);
    }
    free(b->open);
    free(b->days);
    free(b->directory);
    (void)pthread_cond_destroy(&b->opened);
    (void)pthread_mutex_destroy(&b->lock);
    free(b);
}

/* ---- open buckets; under the lock ---- */

static void close_one_idle(struct buckets *b)
{
    size_t oldest = b->open_count;

    for (size_t i = 0; i < b->open_count; i++)
        if (b->open[i]->holders == 0 &&
            (oldest == b->open_count || b->open[i]->last_use < b->open[oldest]->last_use))
            oldest = i;
    if (oldest == b->open_count)
        return; /* all are in use: one more than the limit for now */
    lmdb_close(b->open[oldest]->env);
    free(b->open[oldest]);
    b->open[oldest] = b->open[--b->open_count];
}

static struct bucket *find_bucket(const struct buckets *b, uint32_t day)
{
    for (size_t i = 0; i < b->open_count; i++)
        if (b->open[i]->day == day)
            return b->open[i];
    return NULL;
}

/* A place in the list for a bucket that is being opened: LMDB bears no file open twice. */
static enum status announce(struct buckets *b, uint32_t day, struct bucket **out)
{
    struct bucket *k;

    if (b->open_count >= BUCKETS_OPEN_MAX)
        close_one_idle(b);
    if (b->open_count == b->open_capacity) {
        size_t capacity = b->open_capacity == 0 ? 8 : 2 * b->open_capacity;
        struct bucket **open = realloc(b->open, capacity * sizeof(struct bucket *));

        if (open == NULL)
            return ST_NOMEM;
        b->open = open;
        b->open_capacity = capacity;
    }
    k = calloc(1, sizeof(*k));
    if (k == NULL)
        return ST_NOMEM;
    k->day = day;
    k->opening = true;
    k->holders = 1; /* so that nobody closes it */
    b->open[b->open_count++] = k;
    *out = k;
    return ST_OK;
}

static void withdraw(struct buckets *b, struct bucket *k)
{
    size_t i = 0;

    while (b->open[i] != k)
        i++;
    b->open[i] = b->open[--b->open_count];
    free(k);
}

/* ---- holding ---- */

static enum status open_bucket(const struct buckets *b, struct bucket *k)
{
    static const char *const names[] = {"chunks", "rows", "sequences"};
    lmdb_table tables[3];
    char path[PATH_MAX];
    enum status st;

    bucket_path(b, k->day, path);
    st = lmdb_open(path, b->map_bytes, names, 3, tables, &k->env);
    if (st != ST_OK)
        return st;
    k->chunks = tables[0];
    k->rows = tables[1];
    k->sequences = tables[2];
    return ST_OK;
}

/* The file is opened without the lock: that takes LMDB's write lock for a moment, and the writer
 * asks for buckets while it holds such locks. Whoever wants the same bucket meanwhile waits. */
static enum status hold_new(struct buckets *b, uint32_t day, struct bucket **out)
{
    struct bucket *k;
    enum status st = announce(b, day, &k);

    if (st != ST_OK)
        return st;
    (void)pthread_mutex_unlock(&b->lock);
    st = open_bucket(b, k);
    (void)pthread_mutex_lock(&b->lock);
    if (st == ST_OK)
        st = add_day(b, day);
    k->opening = false;
    (void)pthread_cond_broadcast(&b->opened);
    if (st != ST_OK) {
        lmdb_close(k->env);
        withdraw(b, k);
        return st;
    }
    *out = k;
    return ST_OK;
}

static enum status hold(struct buckets *b, uint32_t day, bool create, struct bucket **out)
{
    struct bucket *k = find_bucket(b, day);

    while (k != NULL && k->opening) {
        (void)pthread_cond_wait(&b->opened, &b->lock);
        k = find_bucket(b, day);
    }
    if (k != NULL) {
        k->holders++;
        *out = k;
        return ST_OK;
    }
    return create || has_day(b, day) ? hold_new(b, day, out) : ST_NOT_FOUND;
}

enum status bucket_hold(struct buckets *b, uint32_t day, bool create, struct bucket **out)
{
    enum status st;

    (void)pthread_mutex_lock(&b->lock);
    st = hold(b, day, create, out);
    if (st == ST_OK)
        (*out)->last_use = ++b->uses;
    (void)pthread_mutex_unlock(&b->lock);
    return st;
}

void bucket_release(struct buckets *b, struct bucket *k)
{
    (void)pthread_mutex_lock(&b->lock);
    k->holders--;
    (void)pthread_mutex_unlock(&b->lock);
}

bool buckets_next(struct buckets *b, uint32_t from, uint32_t to, uint32_t *out)
{
    size_t at;
    bool found;

    (void)pthread_mutex_lock(&b->lock);
    at = day_position(b, from);
    found = at < b->day_count && b->days[at] <= to;
    if (found)
        *out = b->days[at];
    (void)pthread_mutex_unlock(&b->lock);
    return found;
}

bool buckets_range(struct buckets *b, uint32_t *first, uint32_t *last)
{
    bool any;

    (void)pthread_mutex_lock(&b->lock);
    any = b->day_count > 0;
    if (any) {
        *first = b->days[0];
        *last = b->days[b->day_count - 1];
    }
    (void)pthread_mutex_unlock(&b->lock);
    return any;
}

uint64_t buckets_bytes(struct buckets *b)
{
    uint64_t bytes = 0;

    (void)pthread_mutex_lock(&b->lock);
    for (size_t i = 0; i < b->day_count; i++) {
        char path[PATH_MAX];
        struct stat file;

        bucket_path(b, b->days[i], path);
        if (stat(path, &file) == 0)
            bytes += (uint64_t)file.st_blocks * 512;
    }
    (void)pthread_mutex_unlock(&b->lock);
    return bytes;
}

void buckets_drop_dead_readers(struct buckets *b)
{
    (void)pthread_mutex_lock(&b->lock);
    for (size_t i = 0; i < b->open_count; i++)
        if (!b->open[i]->opening)
            (void)lmdb_drop_dead_readers(b->open[i]->env);
    (void)pthread_mutex_unlock(&b->lock);
}
