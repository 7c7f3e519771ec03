/* What is on disk, oldest first, and its bounds. spool_file.c has the files themselves. */
#include "agent/spool.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/spool_file.h"
#include "common/chunk.h"

enum {
    BLOCK_BYTES = 4096, /* what even the smallest file takes */
    FIRST_ENTRIES = 64,
};

struct entry {
    uint64_t number;
    uint64_t bytes; /* on disk */
    struct wall since; /* when added, or taken up where the name says a time to come */
    struct spool_file file;
};

struct spool {
    int directory; /* -1: not open */
    uint64_t bytes_max, age_max_ns;
    struct entry *entries; /* the live ones are [first, first + counters.chunks), by number */
    size_t first, capacity;
    size_t bare; /* entries without samples */
    uint64_t last_number, last_serial;
    struct spool_counters counters;
};

static struct entry *live(const struct spool *s)
{
    return s->entries + s->first;
}

static uint64_t bytes_on_disk(uint64_t bytes)
{
    return (bytes + BLOCK_BYTES - 1) / BLOCK_BYTES * BLOCK_BYTES;
}

/* ---- the queue ---- */

static enum status reserve_entry(struct spool *s)
{
    size_t count = s->counters.chunks, capacity;
    struct entry *entries;

    if (s->first + count < s->capacity)
        return ST_OK;
    if (s->first > count) { /* each row moves at most once for each that left */
        memmove(s->entries, live(s), count * sizeof(*entries));
        s->first = 0;
        return ST_OK;
    }
    capacity = s->capacity > 0 ? 2 * s->capacity : FIRST_ENTRIES;
    entries = realloc(s->entries, capacity * sizeof(*entries));
    if (entries == NULL)
        return ST_NOMEM;
    s->entries = entries;
    s->capacity = capacity;
    return ST_OK;
}

/* Holds no samples, only their ledger: it is small, and kept beside the bound on bytes. */
static bool is_bare(const struct spool_file *file, uint64_t bytes)
{
    return file->samples == 0 && bytes <= BLOCK_BYTES;
}

/* After a reserve. */
static uint64_t append(struct spool *s, const struct spool_file *file, uint64_t bytes,
                       struct wall now)
{
    struct entry e = {
        .number = ++s->last_number, .bytes = bytes_on_disk(bytes), .since = now, .file = *file};

    if (file->added.ns < now.ns)
        e.since = file->added;

    live(s)[s->counters.chunks++] = e;
    s->counters.bytes += e.bytes;
    s->bare += is_bare(file, e.bytes);
    return e.number;
}

static void remove_at(struct spool *s, size_t at)
{
    struct entry *e = live(s) + at;

    spool_file_remove(s->directory, &e->file, true);
    s->counters.bytes -= e->bytes;
    s->bare -= is_bare(&e->file, e->bytes);
    s->counters.chunks--;
    if (at == 0)
        s->first++;
    else
        memmove(e, e + 1, (s->counters.chunks - at) * sizeof(*e));
}

static void count_drop(struct spool *s, uint32_t samples)
{
    s->counters.dropped_chunks++;
    s->counters.dropped_samples += samples;
}

static void drop_at(struct spool *s, size_t at)
{
    count_drop(s, live(s)[at].file.samples);
    remove_at(s, at);
}

/* The oldest entry that is bare, or is not; the count of chunks when there is none. */
static size_t oldest(const struct spool *s, bool bare)
{
    size_t at = 0;

    while (at < s->counters.chunks && is_bare(&live(s)[at].file, live(s)[at].bytes) != bare)
        at++;
    return at;
}

static enum status write_epitaph(const struct spool *s, struct slice chunk, struct spool_file *file)
{
    struct blob epitaph;
    enum status st = chunk_epitaph(chunk, &epitaph);

    if (st != ST_OK)
        return st;
    file->samples = 0;
    file->checksum = spool_file_checksum(blob_slice(&epitaph));
    st = spool_file_write(s->directory, file, blob_slice(&epitaph));
    blob_deinit(&epitaph);
    return st;
}

/* Puts the ledger of a chunk in its place. The chunk goes first: the disk may be full. */
static void bury_at(struct spool *s, size_t at)
{
    struct entry *e = live(s) + at;
    struct spool_file file = e->file;
    struct blob chunk = {0};
    enum status st = spool_file_read(s->directory, &e->file, &chunk);

    count_drop(s, e->file.samples);
    if (st == ST_OK) {
        spool_file_remove(s->directory, &e->file, true);
        st = write_epitaph(s, blob_slice(&chunk), &file);
    }
    blob_deinit(&chunk);
    if (st != ST_OK) {
        remove_at(s, at);
        return;
    }
    s->counters.bytes -= e->bytes - BLOCK_BYTES;
    e->bytes = BLOCK_BYTES;
    e->file = file;
    s->bare++;
}

/* The oldest go until `bytes` more would fit. */
static void make_room(struct spool *s, uint64_t bytes)
{
    while (s->counters.bytes - s->bare * BLOCK_BYTES + bytes > s->bytes_max &&
           s->bare < s->counters.chunks)
        bury_at(s, oldest(s, false));
    while (s->bare > SPOOL_BARE_MAX)
        drop_at(s, oldest(s, true));
}

/* ---- opening ---- */

static enum status open_directory(const char *path, int *out)
{
    int fd;
    enum status st;

    if (mkdir(path, 0700) != 0 && errno != EEXIST)
        return status_from_errno(errno);
    fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return status_from_errno(errno);
    if (flock(fd, LOCK_EX | LOCK_NB) == 0) {
        *out = fd;
        return ST_OK;
    }
    st = errno == EWOULDBLOCK ? ST_EXISTS : status_from_errno(errno);
    (void)close(fd); /* nothing was written */
    return st;
}

/* Takes up one file of an earlier life; those that are not ours are left alone. */
static enum status take_up(struct spool *s, const char *name, struct wall now)
{
    struct spool_file file;
    struct stat stat;
    bool whole;
    enum status st;

    if (!spool_file_parse(name, &file, &whole) || file.serial > INT64_MAX)
        return ST_OK;
    if (fstatat(s->directory, name, &stat, AT_SYMLINK_NOFOLLOW) != 0 || !S_ISREG(stat.st_mode))
        return ST_OK;
    if (!whole || stat.st_size == 0 || stat.st_size > CHUNK_PACKED_MAX) {
        spool_file_remove(s->directory, &file, whole);
        count_drop(s, file.samples);
        return ST_OK;
    }
    st = reserve_entry(s);
    if (st == ST_OK)
        (void)append(s, &file, (uint64_t)stat.st_size, now);
    return st;
}

static int compare_entries(const void *a, const void *b)
{
    uint64_t l = ((const struct entry *)a)->file.serial;
    uint64_t r = ((const struct entry *)b)->file.serial;

    return (l > r) - (l < r);
}

static void number_anew(struct spool *s)
{
    if (s->counters.chunks == 0)
        return;
    qsort(live(s), s->counters.chunks, sizeof(*s->entries), compare_entries);
    for (size_t i = 0; i < s->counters.chunks; i++)
        live(s)[i].number = i + 1;
    s->last_serial = live(s)[s->counters.chunks - 1].file.serial;
}

static enum status take_up_all(struct spool *s, struct wall now)
{
    enum status st = ST_OK;
    int fd = openat(s->directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *d = fd >= 0 ? fdopendir(fd) : NULL;

    if (d == NULL) {
        st = status_from_errno(errno);
        if (fd >= 0)
            (void)close(fd); /* only read */
        return st;
    }
    for (struct dirent *e = readdir(d); e != NULL && st == ST_OK; e = readdir(d))
        st = take_up(s, e->d_name, now);
    (void)closedir(d); /* only read */
    number_anew(s);
    return st;
}

enum status spool_open(const struct spool_options *options, struct wall now, struct spool **out)
{
    enum status st = ST_NOMEM;
    struct spool *s = calloc(1, sizeof(*s));

    if (s == NULL)
        goto out;
    s->directory = -1;
    s->bytes_max = options->bytes_max;
    s->age_max_ns = options->age_max_ns;
    st = open_directory(options->directory, &s->directory);
    if (st == ST_OK)
        st = take_up_all(s, now);
    if (st != ST_OK)
        goto out;
    spool_expire(s, now);
    make_room(s, 0);

    *out = s;
    s = NULL;
out:
    spool_close(s);
    return st;
}

void spool_close(struct spool *s)
{
    if (s == NULL)
        return;
    if (s->directory >= 0)
        (void)close(s->directory); /* nothing is written through it; gives up the lock */
    free(s->entries);
    free(s);
}

/* ---- use ---- */

static enum status add(struct spool *s, const struct spool_file *file, struct slice chunk)
{
    enum status st = chunk.length > 0 && chunk.length <= CHUNK_PACKED_MAX ? ST_OK : ST_INVALID;

    if (st == ST_OK && bytes_on_disk(chunk.length) > s->bytes_max)
        st = ST_NO_SPACE;
    if (st == ST_OK)
        st = reserve_entry(s);
    if (st != ST_OK)
        return st;
    make_room(s, bytes_on_disk(chunk.length));
    return spool_file_write(s->directory, file, chunk);
}

enum status spool_add(struct spool *s, struct slice chunk, uint32_t samples, struct wall now,
                      uint64_t *out_number)
{
    struct spool_file file = {s->last_serial + 1, now, samples, spool_file_checksum(chunk)};
    enum status st = add(s, &file, chunk);

    if (st != ST_OK) {
        count_drop(s, samples);
        if (reserve_entry(s) == ST_OK && write_epitaph(s, chunk, &file) == ST_OK) {
            s->last_serial = file.serial;
            (void)append(s, &file, BLOCK_BYTES, now);
        }
        return st;
    }
    s->last_serial = file.serial;
    *out_number = append(s, &file, chunk.length, now);
    return ST_OK;
}

/* Where the first number above `after` is; the count of chunks when there is none. */
static size_t position_after(const struct spool *s, uint64_t after)
{
    size_t low = 0, high = s->counters.chunks;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (live(s)[middle].number <= after)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

enum status spool_next(struct spool *s, uint64_t after, uint64_t *out_number, struct blob *out)
{
    size_t at = position_after(s, after);

    while (at < s->counters.chunks) {
        enum status st = spool_file_read(s->directory, &live(s)[at].file, out);

        if (st == ST_OK)
            *out_number = live(s)[at].number;
        if (st != ST_INVALID)
            return st;
        drop_at(s, at); /* damaged: the next one takes its place */
    }
    return ST_NOT_FOUND;
}

void spool_acknowledge(struct spool *s, uint64_t number)
{
    while (s->counters.chunks > 0 && live(s)->number <= number)
        remove_at(s, 0);
}

void spool_expire(struct spool *s, struct wall now)
{
    size_t at = oldest(s, false);

    while (at < s->counters.chunks && live(s)[at].since.ns <= now.ns &&
           now.ns - live(s)[at].since.ns > s->age_max_ns) {
        bury_at(s, at);
        at = oldest(s, false);
    }
}

struct spool_counters spool_read_counters(const struct spool *s)
{
    return s->counters;
}
