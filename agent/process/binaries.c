#include "agent/process/binaries.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/process/vdso.h"
#include "common/symbols/elf.h"

#define VDSO_PATH "[vdso]"
#define WIDE_ADDRESSES_START                                            \
    (UINT64_C(1) << 32) /* 32-bit processes have another vdso, below it \
                         */

enum { BUCKETS = 1 << 12 };

struct entry {
    struct binary binary;
    uint32_t last_pid; /* the last process that was seen to map it under the same path */
    int fd; /* -1: not kept */
    uint64_t used; /* the number of the mapping that used it last */
    bool mapped; /* as far as the sweep that is under way has heard */
    struct entry *next_by_id; /* or by path, when the id is empty */
};

struct file { /* one that was read before: no need to read it again */
    uint64_t device, inode, size;
    struct timespec modified, changed;
    struct entry *entry;
    struct file *next;
};

struct binaries {
    struct entry *by_id[BUCKETS]; /* those without an id lie here too, by path */
    struct file *by_file[BUCKETS];
    struct entry *open[BINARIES_OPEN_MAX]; /* oldest at `next_open`, once it is full */
    uint32_t next_open;
    struct entry *vdso; /* NULL: not asked for yet */
    uint32_t count, files, next_index;
    uint32_t many; /* so many are worth a sweep */
    uint64_t interned, unreadable, dropped;
};

static uint32_t bucket_of(const void *bytes, size_t length) /* FNV-1a */
{
    const uint8_t *b = bytes;
    uint64_t hash = UINT64_C(0xcbf29ce484222325);

    for (size_t i = 0; i < length; i++)
        hash = (hash ^ b[i]) * UINT64_C(0x100000001b3);
    return (uint32_t)(hash % BUCKETS);
}

static struct entry **bucket_for(struct binaries *b, const struct build_id *id, const char *path)
{
    if (id->length > 0)
        return &b->by_id[bucket_of(id->bytes, id->length)];
    return &b->by_id[bucket_of(path, strlen(path))];
}

/* By id; those without one are told apart by path. */
static struct entry *find_entry(struct binaries *b, const struct build_id *id, const char *path)
{
    for (struct entry *e = *bucket_for(b, id, path); e != NULL; e = e->next_by_id)
        if (build_id_equal(&e->binary.id, id) &&
            (id->length > 0 || strcmp(e->binary.path, path) == 0))
            return e;
    return NULL;
}

static enum status add_entry(struct binaries *b, const struct build_id *id, const char *path,
                             struct entry **out)
{
    struct entry **bucket = bucket_for(b, id, path);
    struct entry *e;

    if (b->count >= BINARIES_MAX)
        return ST_FULL;
    e = calloc(1, sizeof(*e));
    if (e == NULL)
        return ST_NOMEM;
    e->binary.path = strdup(path);
    if (e->binary.path == NULL) {
        free(e);
        return ST_NOMEM;
    }
    e->binary.id = *id;
    e->binary.index = b->next_index++;
    b->count++;
    e->fd = -1;
    e->next_by_id = *bucket;
    *bucket = e;
    *out = e;
    return ST_OK;
}

/* Takes the descriptor over; the one that was kept longest makes room. */
static void keep_open(struct binaries *b, struct entry *e, int fd)
{
    struct entry **place = &b->open[b->next_open];

    if (e->fd >= 0) {
        close(fd);
        return;
    }
    if (*place != NULL) {
        close((*place)->fd);
        (*place)->fd = -1;
    }
    e->fd = fd;
    *place = e;
    b->next_open = (b->next_open + 1) % BINARIES_OPEN_MAX;
}

static enum status find_or_add(struct binaries *b, const struct build_id *id, const char *path,
                               struct entry **out)
{
    struct entry *e = find_entry(b, id, path);

    if (e == NULL)
        return add_entry(b, id, path, out);
    *out = e;
    return ST_OK;
}

static enum status intern_unreadable(struct binaries *b, const char *path, struct entry **out)
{
    struct build_id none = {0};

    b->unreadable++;
    return find_or_add(b, &none, path, out);
}

static struct file make_file(const struct stat *s)
{
    return (struct file){
        .device = s->st_dev,
        .inode = s->st_ino,
        .size = (uint64_t)s->st_size,
        .modified = s->st_mtim,
        .changed = s->st_ctim,
    };
}

static bool same_time(struct timespec a, struct timespec b)
{
    return a.tv_sec == b.tv_sec && a.tv_nsec == b.tv_nsec;
}

static struct entry *find_file(struct binaries *b, const struct file *want)
{
    for (struct file *f = b->by_file[want->inode % BUCKETS]; f != NULL; f = f->next)
        if (f->inode == want->inode && f->device == want->device && f->size == want->size &&
            same_time(f->modified, want->modified) && same_time(f->changed, want->changed))
            return f->entry;
    return NULL;
}

static void forget_files(struct binaries *b)
{
    for (uint32_t i = 0; i < BUCKETS; i++)
        while (b->by_file[i] != NULL) {
            struct file *f = b->by_file[i];

            b->by_file[i] = f->next;
            free(f);
        }
    b->files = 0;
}

/* Without memory, or once too many are known, a file is just read again next time. */
static void remember_file(struct binaries *b, struct file file, struct entry *e)
{
    struct file *copy;

    if (b->files >= BINARIES_FILES_MAX)
        forget_files(b);
    copy = malloc(sizeof(*copy));
    if (copy == NULL)
        return;
    *copy = file;
    copy->entry = e;
    copy->next = b->by_file[file.inode % BUCKETS];
    b->by_file[file.inode % BUCKETS] = copy;
    b->files++;
}

/* The identity of an open file, read at most once. */
static enum status intern_file(struct binaries *b, const char *path, int fd, struct entry **out)
{
    struct build_id id;
    struct stat status;
    struct file file;
    struct entry *e;
    enum status st;

    if (fstat(fd, &status) != 0)
        return ST_IO;
    file = make_file(&status);
    e = find_file(b, &file);
    if (e == NULL) {
        st = elf_build_id(fd, &id);
        if (st == ST_OK)
            st = find_or_add(b, &id, path, &e);
        if (st != ST_OK)
            return st;
        remember_file(b, file, e);
    }
    *out = e;
    return ST_OK;
}

/* Reads what the kernel did not tell, and keeps new files open while they can be reached. */
static enum status intern_by_file(struct binaries *b, const struct mapped_file *file,
                                  struct entry **out)
{
    struct entry *e = NULL;
    enum status st;
    int fd = -1;

    if (mapped_file_open(file, &fd) != ST_OK)
        return ST_NOT_FOUND;
    if (file->id.length > 0)
        st = find_or_add(b, &file->id, file->path, &e);
    else
        st = intern_file(b, file->path, fd, &e);
    if (st != ST_OK) {
        close(fd);
        return st;
    }
    keep_open(b, e, fd);
    *out = e;
    return ST_OK;
}

static enum status intern_vdso(struct binaries *b, struct entry **out)
{
    struct entry *e = NULL;
    struct build_id id;
    enum status st;
    int fd = -1;

    if (b->vdso != NULL) {
        *out = b->vdso;
        return ST_OK;
    }
    st = vdso_open(&fd);
    if (st != ST_OK)
        return st;
    st = elf_build_id(fd, &id);
    if (st == ST_OK)
        st = find_or_add(b, &id, VDSO_PATH, &e);
    if (st != ST_OK) {
        close(fd);
        return st;
    }
    e->fd = fd; /* beside the bounded ones: it can never be opened again */
    b->vdso = e;
    *out = e;
    return ST_OK;
}

static bool is_vdso(const struct mapped_file *file)
{
    return strcmp(file->path, VDSO_PATH) == 0 && file->start >= WIDE_ADDRESSES_START;
}

static enum status intern(struct binaries *b, const struct mapped_file *file, struct entry **out)
{
    struct entry *e = NULL;
    enum status st;

    if (is_vdso(file) && intern_vdso(b, out) == ST_OK)
        return ST_OK;
    if (file->id.length > 0)
        e = find_entry(b, &file->id, file->path);
    if (e != NULL) {
        *out = e;
        return ST_OK;
    }
    if (mapped_file_is_anonymous(file)) {
        *out = NULL;
        return ST_OK;
    }
    st = intern_by_file(b, file, out);
    if (st == ST_OK || st == ST_FULL || st == ST_NOMEM)
        return st;
    if (file->id.length > 0) /* gone before we came, but the kernel knew its id */
        return find_or_add(b, &file->id, file->path, out);
    return intern_unreadable(b, file->path, out);
}

enum status binaries_intern(struct binaries *b, const struct mapped_file *file,
                            const struct binary **out)
{
    struct entry *e = NULL;
    enum status st = intern(b, file, &e);

    if (st != ST_OK)
        return st;
    b->interned++;
    if (e != NULL)
        e->used = b->interned;
    if (e != NULL && file->pid != 0 && strcmp(e->binary.path, file->path) == 0)
        e->last_pid = file->pid;
    *out = e != NULL ? &e->binary : NULL;
    return ST_OK;
}

enum status binaries_open(struct binaries *b, const struct build_id *id, int *out_fd)
{
    struct entry *e = id->length > 0 ? find_entry(b, id, "") : NULL;
    struct mapped_file file;
    int fd;

    if (e == NULL)
        return ST_NOT_FOUND;
    if (e->fd >= 0) {
        fd = fcntl(e->fd, F_DUPFD_CLOEXEC, 0);
        if (fd < 0)
            return status_from_errno(errno);
        *out_fd = fd;
        return ST_OK;
    }
    file = (struct mapped_file){.pid = e->last_pid, .path = e->binary.path, .id = *id};
    return mapped_file_open(&file, out_fd);
}

enum status binaries_new(struct binaries **out)
{
    struct binaries *b = calloc(1, sizeof(*b));

    if (b == NULL)
        return ST_NOMEM;
    b->many = BINARIES_MANY;
    *out = b;
    return ST_OK;
}

static void free_entry(struct entry *e)
{
    if (e->fd >= 0)
        close(e->fd);
    free(e->binary.path);
    free(e);
}

/* ---- sweeps ---- */

bool binaries_are_many(const struct binaries *b)
{
    return b->count >= b->many;
}

void binaries_keep(struct binaries *b, const struct binary *mapped)
{
    (void)b; /* whose it is */
    ((struct entry *)(uintptr_t)mapped)->mapped = true; /* its first member */
}

static void drop(struct binaries *b, struct entry *e)
{
    struct entry **at = bucket_for(b, &e->binary.id, e->binary.path);

    while (*at != e)
        at = &(*at)->next_by_id;
    *at = e->next_by_id;
    for (uint32_t i = 0; i < BINARIES_OPEN_MAX; i++)
        if (b->open[i] == e)
            b->open[i] = NULL;
    free_entry(e);
    b->count--;
    b->dropped++;
}

static int by_use(const void *left, const void *right)
{
    const struct entry *a = *(struct entry *const *)left, *b = *(struct entry *const *)right;

    return a->used < b->used ? -1 : a->used > b->used;
}

/* Those that no one has mapped, the longest unused first. Nobody is marked as mapped after it. */
static uint32_t list_unmapped(struct binaries *b, struct entry **list)
{
    uint32_t count = 0;

    for (uint32_t i = 0; i < BUCKETS; i++)
        for (struct entry *e = b->by_id[i]; e != NULL; e = e->next_by_id) {
            if (!e->mapped && e != b->vdso)
                list[count++] = e;
            e->mapped = false;
        }
    qsort(list, count, sizeof(struct entry *), by_use);
    return count;
}

void binaries_sweep(struct binaries *b)
{
    struct entry **list = malloc(b->count * sizeof(struct entry *));
    uint32_t count;

    if (list == NULL)
        return;
    count = list_unmapped(b, list);
    forget_files(b); /* they point to entries */
    for (uint32_t i = 0; i < count && b->count > BINARIES_SWEPT; i++)
        drop(b, list[i]);
    free(list);
    b->many =
        b->count + BINARIES_MAX / 16 > BINARIES_MANY ? b->count + BINARIES_MAX / 16 : BINARIES_MANY;
}

void binaries_free(struct binaries *b)
{
    if (b == NULL)
        return;
    forget_files(b);
    for (uint32_t i = 0; i < BUCKETS; i++)
        while (b->by_id[i] != NULL) {
            struct entry *e = b->by_id[i];

            b->by_id[i] = e->next_by_id;
            free_entry(e);
        }
    free(b);
}

uint32_t binaries_count(const struct binaries *b)
{
    return b->count;
}

uint64_t binaries_unreadable(const struct binaries *b)
{
    return b->unreadable;
}

uint64_t binaries_dropped(const struct binaries *b)
{
    return b->dropped;
}
