#include "coordinator/store/lmdb.h"

#include <errno.h>
#include <lmdb.h>
#include <stdlib.h>
#include <sys/statvfs.h>

enum { SPACE_TIGHT_BYTES = 4 << 20 }; /* a commit of a full batch needs more than this */

struct lmdb {
    MDB_env *env;
};

struct lmdb_txn {
    MDB_txn *txn;
    struct lmdb *env;
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
    int rc = mdb_env_create(&e->env);

    if (rc == MDB_SUCCESS)
        rc = mdb_env_set_mapsize(e->env, map_bytes);
    if (rc == MDB_SUCCESS)
        rc = mdb_env_set_maxdbs(e->env, LMDB_TABLES_MAX);
    if (rc == MDB_SUCCESS)
        rc = mdb_env_set_maxreaders(e->env, LMDB_READERS_MAX);
    if (rc == MDB_SUCCESS) /* NOTLS: a view may be opened on one thread and read on another */
        rc = mdb_env_open(e->env, path, MDB_NOSUBDIR | MDB_NOTLS, 0640);
    return rc;
}

enum status lmdb_open(const char *path, uint64_t map_bytes, const char *const *names,
                      unsigned name_count, lmdb_table *tables, struct lmdb **out)
{
    struct lmdb *e = calloc(1, sizeof(*e));
    enum status st;

    if (e == NULL)
        return ST_NOMEM;
    st = from_mdb(open_env(e, path, map_bytes));
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
    mdb_env_close(env->env);
    free(env);
}

static enum status begin(struct lmdb *env, unsigned flags, struct lmdb_txn **out)
{
    struct lmdb_txn *t = calloc(1, sizeof(*t));
    int rc;

    if (t == NULL)
        return ST_NOMEM;
    rc = mdb_txn_begin(env->env, NULL, flags, &t->txn);
    if (rc != MDB_SUCCESS) {
        free(t);
        return from_mdb(rc);
    }
    t->env = env;
    *out = t;
    return ST_OK;
}

enum status lmdb_begin_write(struct lmdb *env, struct lmdb_txn **out)
{
    return begin(env, 0, out);
}

enum status lmdb_begin_read(struct lmdb *env, struct lmdb_txn **out)
{
    return begin(env, MDB_RDONLY, out);
}

/* LMDB says EIO where the disk is full, since a short write tells it no more. */
static bool disk_is_full(const struct lmdb *env)
{
    struct statvfs fs;
    int fd;

    return mdb_env_get_fd(env->env, &fd) == MDB_SUCCESS && fstatvfs(fd, &fs) == 0 &&
           fs.f_bavail * fs.f_frsize < SPACE_TIGHT_BYTES;
}

enum status lmdb_commit(struct lmdb_txn *t)
{
    enum status st = from_mdb(mdb_txn_commit(t->txn));

    if (st == ST_IO && disk_is_full(t->env))
        st = ST_NO_SPACE;
    free(t);
    return st;
}

void lmdb_abort(struct lmdb_txn *t)
{
    if (t == NULL)
        return;
    mdb_txn_abort(t->txn);
    free(t);
}

enum status lmdb_get(struct lmdb_txn *t, lmdb_table table, struct slice key, struct slice *out)
{
    MDB_val k = to_val(key), v;
    int rc = mdb_get(t->txn, table, &k, &v);

    if (rc == MDB_SUCCESS)
        *out = to_slice(v);
    return from_mdb(rc);
}

enum status lmdb_put(struct lmdb_txn *t, lmdb_table table, struct slice key, struct slice value,
                     enum lmdb_put_mode mode)
{
    static const unsigned flags[] = {
        [LMDB_REPLACE] = 0, [LMDB_NEW] = MDB_NOOVERWRITE, [LMDB_APPEND] = MDB_APPEND};
    MDB_val k = to_val(key), v = to_val(value);

    return from_mdb(mdb_put(t->txn, table, &k, &v, flags[mode]));
}

enum status lmdb_delete(struct lmdb_txn *t, lmdb_table table, struct slice key)
{
    MDB_val k = to_val(key);

    return from_mdb(mdb_del(t->txn, table, &k, NULL));
}

enum status lmdb_each(struct lmdb_txn *t, lmdb_table table, struct slice from, lmdb_visit *visit,
                      void *arg)
{
    MDB_val k = to_val(from), v;
    MDB_cursor *cursor;
    enum status st = ST_OK;
    int rc = mdb_cursor_open(t->txn, table, &cursor);

    if (rc != MDB_SUCCESS)
        return from_mdb(rc);
    rc = mdb_cursor_get(cursor, &k, &v, from.length == 0 ? MDB_FIRST : MDB_SET_RANGE);
    while (rc == MDB_SUCCESS && st == ST_OK) {
        st = visit(arg, to_slice(k), to_slice(v));
        rc = mdb_cursor_get(cursor, &k, &v, MDB_NEXT);
    }
    mdb_cursor_close(cursor);
    if (st != ST_OK)
        return st;
    return rc == MDB_NOTFOUND ? ST_OK : from_mdb(rc);
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
