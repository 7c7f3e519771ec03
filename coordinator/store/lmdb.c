#include "coordinator/store/lmdb.h"

#include <errno.h>
#include <fcntl.h>
#include <lmdb.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <time.h>
#include <unistd.h>

enum { SPACE_TIGHT_BYTES = 4 << 20 }; /* a commit of a full batch needs more than this */

struct lmdb {
    MDB_env *env;
    bool map_full; /* the writer's: a write transaction found it so */
    uint64_t map_bytes; /* the writer's */
    pthread_mutex_t lock; /* guards what follows, and the map against beginning to read */
    pthread_cond_t idle; /* snapshots fell to 0 */
    uint32_t snapshots; /* open read transactions */
};

struct lmdb_txn {
    MDB_txn *txn;
    struct lmdb *env;
    bool write;
    enum status status;
};

static enum status from_mdb(int rc)
{
    switch (rc) {
    case MDB_SUCCESS:
        return ST_OK;
    case MDB_NOTFOUND:
        return ST_NOT_FOUND;
    case MDB_KEYEXIST:
        return ST_EXISTS;
    case MDB_MAP_FULL:
    case MDB_TXN_FULL:
    case MDB_READERS_FULL:
    case MDB_DBS_FULL:
        return ST_FULL;
    case MDB_BAD_VALSIZE:
        return ST_TOO_BIG;
    case MDB_INVALID:
    case MDB_CORRUPTED:
        return ST_INVALID;
    case MDB_VERSION_MISMATCH:
        return ST_UNSUPPORTED;
    case MDB_BAD_TXN:
        return ST_BAD_STATE;
    case EFBIG: /* a limit on the size of files is a small disk */
        return ST_NO_SPACE;
    default:
        return rc > 0 ? status_from_errno(rc) : ST_IO;
    }
}

static MDB_val to_val(struct slice s)
{
    return (MDB_val){.mv_size = s.length, .mv_data = (void *)(uintptr_t)s.bytes};
}

static struct slice to_slice(MDB_val v)
{
    return (struct slice){v.mv_data, v.mv_size};
}

static enum status open_tables(struct lmdb *e, const char *const *names, unsigned name_count,
                               lmdb_table *tables)
{
    MDB_txn *txn;
    int rc = mdb_txn_begin(e->env, NULL, 0, &txn);

    if (rc != MDB_SUCCESS)
        return from_mdb(rc);
    for (unsigned i = 0; i < name_count && rc == MDB_SUCCESS; i++)
        rc = mdb_dbi_open(txn, names[i], MDB_CREATE, &tables[i]);
    if (rc != MDB_SUCCESS) {
        mdb_txn_abort(txn);
        return from_mdb(rc);
    }
    return from_mdb(mdb_txn_commit(txn));
}

static int open_env(struct lmdb *e, const char *path, uint64_t map_bytes)
{
    MDB_envinfo info;
    int rc = mdb_env_create(&e->env);

    if (rc == MDB_SUCCESS)
        rc = mdb_env_set_mapsize(e->env, map_bytes);
    if (rc == MDB_SUCCESS)
        rc = mdb_env_set_maxdbs(e->env, LMDB_TABLES_MAX);
    if (rc == MDB_SUCCESS)
        rc = mdb_env_set_maxreaders(e->env, LMDB_READERS_MAX);
    if (rc == MDB_SUCCESS) /* NOTLS: a view may be opened on one thread and read on another */
        rc = mdb_env_open(e->env, path, MDB_NOSUBDIR | MDB_NOTLS, 0640);
    if (rc == MDB_SUCCESS)
        rc = mdb_env_info(e->env, &info);
    if (rc == MDB_SUCCESS)
        e->map_bytes = info.me_mapsize; /* more than asked for where the file is larger */
    return rc;
}

/* A new file survives a power cut only once its directory is written. */
static enum status sync_directory_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    char *directory = slash == NULL ? strdup(".") : strndup(path, (size_t)(slash - path) + 1);
    enum status st = ST_OK;
    int fd;

    if (directory == NULL)
        return ST_NOMEM;
    fd = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    free(directory);
    if (fd < 0)
        return status_from_errno(errno);
    if (fsync(fd) != 0)
        st = status_from_errno(errno);
    close(fd);
    return st;
}

static void init_lock(struct lmdb *e)
{
    pthread_condattr_t attributes;

    (void)pthread_condattr_init(&attributes);
    (void)pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    (void)pthread_mutex_init(&e->lock, NULL);
    (void)pthread_cond_init(&e->idle, &attributes);
    (void)pthread_condattr_destroy(&attributes);
}

enum status lmdb_open(const char *path, uint64_t map_bytes, const char *const *names,
                      unsigned name_count, lmdb_table *tables, struct lmdb **out)
{
    struct lmdb *e = calloc(1, sizeof(*e));
    enum status st;

    if (e == NULL)
        return ST_NOMEM;
    init_lock(e);
    st = from_mdb(open_env(e, path, map_bytes));
    if (st == ST_OK)
        st = sync_directory_of(path);
    if (st == ST_OK)
        st = open_tables(e, names, name_count, tables);
    if (st != ST_OK) {
        lmdb_close(e);
        return st;
    }
    (void)lmdb_drop_dead_readers(e);
    *out = e;
    return ST_OK;
}

void lmdb_close(struct lmdb *env)
{
    if (env == NULL)
        return;
    if (env->env != NULL)
        mdb_env_close(env->env);
    (void)pthread_cond_destroy(&env->idle);
    (void)pthread_mutex_destroy(&env->lock);
    free(env);
}

/* ---- room ---- */

/* Asked first, because LMDB gives up the old map before it tries the new one. */
static bool has_address_space(uint64_t bytes)
{
    void *p = mmap(NULL, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

    if (p == MAP_FAILED)
        return false;
    (void)munmap(p, bytes);
    return true;
}

/* With the lock held; false: some are still open. */
static bool wait_until_idle(struct lmdb *env)
{
    struct timespec until;
    int rc = 0;

    (void)clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_nsec += LMDB_GROW_WAIT_MS * 1000000L;
    until.tv_sec += until.tv_nsec / 1000000000;
    until.tv_nsec %= 1000000000;
    while (env->snapshots > 0 && rc == 0)
        rc = pthread_cond_timedwait(&env->idle, &env->lock, &until);
    return env->snapshots == 0;
}

enum status lmdb_grow(struct lmdb *env)
{
    enum status st;

    if (!env->map_full)
        return ST_NOT_FOUND;
    env->map_full = false;
    (void)pthread_mutex_lock(&env->lock);
    if (!wait_until_idle(env))
        st = ST_BAD_STATE;
    else if (!has_address_space(2 * env->map_bytes))
        st = ST_NO_SPACE;
    else
        st = from_mdb(mdb_env_set_mapsize(env->env, 2 * env->map_bytes));
    if (st == ST_OK)
        env->map_bytes *= 2;
    (void)pthread_mutex_unlock(&env->lock);
    return st;
}

/* LMDB says EIO where the disk is full, since a short write tells it no more. */
static bool disk_is_full(const struct lmdb *env)
{
    struct statvfs fs;
    struct rlimit limit;
    struct stat file;
    int fd;

    if (mdb_env_get_fd(env->env, &fd) != MDB_SUCCESS)
        return false;
    if (fstatvfs(fd, &fs) == 0 && fs.f_bavail * fs.f_frsize < SPACE_TIGHT_BYTES)
        return true;
    return getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY &&
           fstat(fd, &file) == 0 && (uint64_t)file.st_size + SPACE_TIGHT_BYTES > limit.rlim_cur;
}

/* ---- transactions ---- */

static enum status begin(struct lmdb *env, bool write, struct lmdb_txn **out)
{
    struct lmdb_txn *t = calloc(1, sizeof(*t));
    int rc;

    if (t == NULL)
        return ST_NOMEM;
    t->env = env;
    t->write = write;
    rc = mdb_txn_begin(env->env, NULL, write ? 0 : MDB_RDONLY, &t->txn);
    if (rc != MDB_SUCCESS) {
        free(t);
        return from_mdb(rc);
    }
    *out = t;
    return ST_OK;
}

static void end(struct lmdb_txn *t)
{
    struct lmdb *env = t->env;

    if (!t->write) {
        (void)pthread_mutex_lock(&env->lock);
        if (--env->snapshots == 0)
            (void)pthread_cond_signal(&env->idle);
        (void)pthread_mutex_unlock(&env->lock);
    }
    free(t);
}

/* The one place where a transaction sticks. */
static enum status settle(struct lmdb_txn *t, int rc)
{
    enum status st = from_mdb(rc);

    if (t->write && rc == MDB_MAP_FULL)
        t->env->map_full = true;
    if (st == ST_IO && t->write && disk_is_full(t->env))
        st = ST_NO_SPACE;
    if (st != ST_OK && st != ST_NOT_FOUND && st != ST_EXISTS && st != ST_TOO_BIG)
        t->status = st;
    return st;
}

/* Takes no lock of ours: the map grows on the writer's own thread, and LMDB's lock for writers must
 * not be waited for under another. */
enum status lmdb_begin_write(struct lmdb *env, struct lmdb_txn **out)
{
    return begin(env, true, out);
}

enum status lmdb_begin_read(struct lmdb *env, struct lmdb_txn **out)
{
    enum status st;

    (void)pthread_mutex_lock(&env->lock);
    st = begin(env, false, out);
    if (st == ST_OK)
        env->snapshots++;
    (void)pthread_mutex_unlock(&env->lock);
    return st;
}

enum status lmdb_commit(struct lmdb_txn *t)
{
    enum status st = t->status;

    if (st == ST_OK)
        st = settle(t, mdb_txn_commit(t->txn));
    else
        mdb_txn_abort(t->txn);
    end(t);
    return st;
}

void lmdb_abort(struct lmdb_txn *t)
{
    if (t == NULL)
        return;
    mdb_txn_abort(t->txn);
    end(t);
}

enum status lmdb_txn_status(const struct lmdb_txn *t)
{
    return t->status;
}

enum status lmdb_get(struct lmdb_txn *t, lmdb_table table, struct slice key, struct slice *out)
{
    MDB_val k = to_val(key), v;
    enum status st;

    if (t->status != ST_OK)
        return t->status;
    st = settle(t, mdb_get(t->txn, table, &k, &v));
    if (st == ST_OK)
        *out = to_slice(v);
    return st;
}

enum status lmdb_put(struct lmdb_txn *t, lmdb_table table, struct slice key, struct slice value,
                     enum lmdb_put_mode mode)
{
    static const unsigned flags[] = {
        [LMDB_REPLACE] = 0, [LMDB_NEW] = MDB_NOOVERWRITE, [LMDB_APPEND] = MDB_APPEND};
    MDB_val k = to_val(key), v = to_val(value);

    if (t->status != ST_OK)
        return t->status;
    return settle(t, mdb_put(t->txn, table, &k, &v, flags[mode]));
}

enum status lmdb_delete(struct lmdb_txn *t, lmdb_table table, struct slice key)
{
    MDB_val k = to_val(key);

    if (t->status != ST_OK)
        return t->status;
    return settle(t, mdb_del(t->txn, table, &k, NULL));
}

enum status lmdb_each(struct lmdb_txn *t, lmdb_table table, struct slice from, lmdb_visit *visit,
                      void *arg)
{
    MDB_val k = to_val(from), v;
    MDB_cursor *cursor;
    enum status st = ST_OK;
    int rc;

    if (t->status != ST_OK)
        return t->status;
    rc = mdb_cursor_open(t->txn, table, &cursor);
    if (rc != MDB_SUCCESS)
        return settle(t, rc);
    rc = mdb_cursor_get(cursor, &k, &v, from.length == 0 ? MDB_FIRST : MDB_SET_RANGE);
    while (rc == MDB_SUCCESS && st == ST_OK) {
        st = visit(arg, to_slice(k), to_slice(v));
        rc = mdb_cursor_get(cursor, &k, &v, MDB_NEXT);
    }
    mdb_cursor_close(cursor);
    if (st != ST_OK)
        return st;
    return rc == MDB_NOTFOUND ? ST_OK : settle(t, rc);
}

uint64_t lmdb_entries(struct lmdb_txn *t, lmdb_table table)
{
    MDB_stat stat;

    return mdb_stat(t->txn, table, &stat) == MDB_SUCCESS ? stat.ms_entries : 0;
}

unsigned lmdb_drop_dead_readers(struct lmdb *env)
{
    int dead = 0;

    return mdb_reader_check(env->env, &dead) == MDB_SUCCESS ? (unsigned)dead : 0;
}
