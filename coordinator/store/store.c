#include "coordinator/store/store.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "coordinator/store/bytes.h"
#include "coordinator/store/state.h"

#define MAP_BYTES_DEFAULT (UINT64_C(64) << 30)

static const char version_key[] = "layout version";

static enum status fail(char *why, enum status st, const char *directory, const char *file,
                        const char *what)
{
    (void)snprintf(why, STORE_WHY_MAX, "%.120s%s: %s", directory, file, what);
    return st;
}

static enum status make_directory(const char *directory, char *why)
{
    enum status st;

    if (mkdir(directory, 0750) == 0 || errno == EEXIST)
        return ST_OK;
    st = status_from_errno(errno);
    return fail(why, st, directory, "", strerror(errno));
}

static enum status take_lock(struct store *s, const char *directory, char *why)
{
    char path[PATH_MAX];

    (void)snprintf(path, sizeof(path), "%s/lock", directory);
    s->lock_fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0640);
    if (s->lock_fd < 0) {
        int err = errno;

        return fail(why, status_from_errno(err), directory, "/lock", strerror(err));
    }
    if (flock(s->lock_fd, LOCK_EX | LOCK_NB) != 0)
        return fail(why, ST_BAD_STATE, directory, "", "another process has this store open");
    return ST_OK;
}

/* ---- the catalog ---- */

static enum status check_version(struct store *s, struct lmdb_txn *t, uint32_t *out)
{
    const struct slice key = {(const uint8_t *)version_key, sizeof(version_key) - 1};
    uint8_t bytes[4];
    struct slice value;
    enum status st = lmdb_get(t, s->catalog.tables[STORE_META], key, &value);

    if (st == ST_OK) {
        *out = value.length == 4 ? (uint32_t)get_be(value.bytes, 4) : 0;
        return *out == STORE_VERSION ? ST_OK : ST_UNSUPPORTED;
    }
    if (st != ST_NOT_FOUND)
        return st;
    put_be(bytes, STORE_VERSION, sizeof(bytes));
    return lmdb_put(t, s->catalog.tables[STORE_META], key, (struct slice){bytes, sizeof(bytes)},
                    LMDB_NEW);
}

static enum status read_batch_numbers(struct store *s, struct lmdb_txn *t)
{
    const struct slice key = {(const uint8_t *)BATCH_KEY, sizeof(BATCH_KEY) - 1};
    struct slice value;
    enum status st = lmdb_get(t, s->catalog.tables[STORE_META], key, &value);

    if (st == ST_NOT_FOUND)
        return ST_OK;
    if (st != ST_OK || value.length != 8)
        return st != ST_OK ? st : ST_INVALID;
    s->catalog.batch_reserved = get_be(value.bytes, 8);
    atomic_store(&s->catalog.batch, s->catalog.batch_reserved);
    return ST_OK;
}

static enum status load_catalog(struct store *s, char *why)
{
    struct lmdb_txn *t;
    uint32_t version = 0;
    enum status st = lmdb_begin_write(s->catalog.env, &t);

    if (st != ST_OK)
        return fail(why, st, s->catalog_path, "", status_text(st));
    st = check_version(s, t, &version);
    if (st == ST_UNSUPPORTED) {
        lmdb_abort(t);
        (void)snprintf(why, STORE_WHY_MAX,
                       "%.120s: layout version %" PRIu32 "; this program reads version %d",
                       s->catalog_path, version, STORE_VERSION);
        return st;
    }
    if (st == ST_OK)
        st = read_batch_numbers(s, t);
    if (st == ST_OK)
        st = dictionary_load(s->catalog.dictionary, t);
    if (st == ST_OK)
        return lmdb_commit(t);
    lmdb_abort(t);
    return fail(why, st, s->catalog_path, "", status_text(st));
}

static enum status open_catalog(struct store *s, const char *directory, uint64_t map_bytes,
                                const struct dictionary_limits *limits, char *why)
{
    static const char *const names[] = {
#define X(NAME, name) [STORE_##NAME] = (name),
        STORE_TABLE_LIST(X)
#undef X
            [CATALOG_DICTIONARY + DICTIONARY_STRINGS] = "strings",
        [CATALOG_DICTIONARY + DICTIONARY_BINARIES] = "binaries",
        [CATALOG_DICTIONARY + DICTIONARY_FRAMES] = "frames",
        [CATALOG_DICTIONARY + DICTIONARY_NODES] = "nodes",
        [CATALOG_DAYS] = "days",
    };
    enum status st;

    if (asprintf(&s->catalog_path, "%s/catalog.mdb", directory) < 0) {
        s->catalog_path = NULL;
        return fail(why, ST_NOMEM, directory, "", status_text(ST_NOMEM));
    }
    st = lmdb_open(s->catalog_path, map_bytes, names, CATALOG_TABLES, s->catalog.tables,
                   &s->catalog.env);
    if (st != ST_OK)
        return fail(why, st, s->catalog_path, "", status_text(st));
    st = dictionary_new(s->catalog.tables + CATALOG_DICTIONARY, limits, &s->catalog.dictionary);
    if (st != ST_OK)
        return fail(why, st, s->catalog_path, "", status_text(st));
    return load_catalog(s, why);
}

/* ---- open and close ---- */

static void free_store(struct store *s)
{
    if (s == NULL)
        return;
    writer_free(s->writer);
    buckets_close(s->buckets);
    dictionary_free(s->catalog.dictionary);
    lmdb_close(s->catalog.env);
    free(s->catalog_path);
    if (s->lock_fd >= 0)
        close(s->lock_fd);
    free(s);
}

enum status store_open(const struct store_options *options, struct store **out,
                       char why[STORE_WHY_MAX])
{
    uint64_t map_bytes = options->map_bytes != 0 ? options->map_bytes : MAP_BYTES_DEFAULT;
    const char *directory = options->directory;
    struct store *s = calloc(1, sizeof(*s));
    enum status st;

    if (s == NULL)
        return fail(why, ST_NOMEM, directory, "", status_text(ST_NOMEM));
    s->lock_fd = -1;
    st = make_directory(directory, why);
    if (st == ST_OK)
        st = take_lock(s, directory, why);
    if (st == ST_OK)
        st = open_catalog(s, directory, map_bytes, &options->limits, why);
    if (st != ST_OK)
        goto out;
    st = buckets_open(directory, map_bytes, &s->buckets);
    if (st == ST_OK)
        st = writer_start(&s->catalog, s->buckets, options->wake, options->arg, &s->writer);
    if (st != ST_OK) {
        (void)fail(why, st, directory, "", status_text(st));
        goto out;
    }
    *out = s;
    s = NULL;
out:
    free_store(s);
    return st;
}

void store_close(struct store *s)
{
    if (s == NULL)
        return;
    writer_stop(s->writer);
    writer_complete(s->writer);
    free_store(s);
}

void store_submit(struct store *s, struct store_write *w)
{
    writer_submit(s->writer, w);
}

void store_complete(struct store *s)
{
    writer_complete(s->writer);
}

size_t store_waiting_bytes(const struct store *s)
{
    return writer_waiting_bytes(s->writer);
}

struct store_counters store_read_counters(struct store *s)
{
    struct writer_counters w = writer_read_counters(s->writer);
    const struct dictionary *d = s->catalog.dictionary;
    struct stat file;

    return (struct store_counters){
        .writes = w.writes,
        .commits = w.commits,
        .failed_commits = w.failed_commits,
        .chunks = w.chunks,
        .duplicate_chunks = w.duplicate_chunks,
        .commit_ns = w.commit_ns,
        .bytes = w.bytes,
        .catalog_bytes = stat(s->catalog_path, &file) == 0 ? (uint64_t)file.st_blocks * 512 : 0,
        .chunk_file_bytes = buckets_bytes(s->buckets),
        .strings = dictionary_count(d, DICTIONARY_STRINGS),
        .binaries = dictionary_count(d, DICTIONARY_BINARIES),
        .frames = dictionary_count(d, DICTIONARY_FRAMES),
        .nodes = dictionary_count(d, DICTIONARY_NODES),
        .disk_full = w.disk_full,
    };
}
