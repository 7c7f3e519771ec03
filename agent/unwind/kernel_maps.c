#include "agent/unwind/kernel_maps.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#define SHARD_NAME "unwind_shard" /* as bpftool shows it */

struct shard {
    struct abi_shard *rows; /* NULL: not open */
    int fd; /* -1: in this process only */
};

struct kernel_maps {
    int pages_fd, shards_fd;
    uint32_t open;
    struct shard shards[ABI_SHARDS_MAX];
};

enum status kernel_maps_open(int pages_fd, int shards_fd, struct kernel_maps **out)
{
    struct kernel_maps *k = calloc(1, sizeof(*k));

    if (k == NULL)
        return ST_NOMEM;
    k->pages_fd = pages_fd;
    k->shards_fd = shards_fd;
    *out = k;
    return ST_OK;
}

void kernel_maps_close(struct kernel_maps *k)
{
    if (k == NULL)
        return;
    for (uint32_t i = 0; i < ABI_SHARDS_MAX; i++)
        kernel_maps_close_shard(k, i);
    free(k);
}

/* ---- shards ---- */

static void release(struct shard *s)
{
    if (s->rows != NULL)
        munmap(s->rows, sizeof(*s->rows));
    if (s->fd >= 0)
        close(s->fd);
    *s = (struct shard){.fd = -1};
}

static enum status make_shard(bool in_kernel, struct shard *out)
{
    const struct bpf_map_create_opts options = {.sz = sizeof(options), .map_flags = BPF_F_MMAPABLE};
    struct shard s = {.fd = -1};
    enum status st = ST_OK;
    void *rows;

    if (in_kernel) {
        s.fd = bpf_map_create(BPF_MAP_TYPE_ARRAY, SHARD_NAME, sizeof(uint32_t), sizeof(*s.rows), 1,
                              &options);
        if (s.fd < 0)
            return status_from_errno(errno);
    }
    rows = mmap(NULL, sizeof(*s.rows), PROT_READ | PROT_WRITE,
                MAP_SHARED | (in_kernel ? 0 : MAP_ANONYMOUS), s.fd, 0);
    if (rows == MAP_FAILED) {
        st = status_from_errno(errno);
        release(&s);
        return st;
    }
    s.rows = rows;
    *out = s;
    return st;
}

enum status kernel_maps_open_shard(struct kernel_maps *k, uint32_t shard)
{
    bool in_kernel = k->shards_fd >= 0;
    struct shard s = {.fd = -1};
    enum status st;

    if (shard >= ABI_SHARDS_MAX)
        return ST_INVALID;
    if (k->shards[shard].rows != NULL)
        return ST_EXISTS;
    st = make_shard(in_kernel, &s);
    if (st != ST_OK)
        return st;
    if (in_kernel && bpf_map_update_elem(k->shards_fd, &shard, &s.fd, BPF_ANY) != 0) {
        st = status_from_errno(errno);
        release(&s);
        return st;
    }
    k->shards[shard] = s;
    k->open++;
    return ST_OK;
}

void kernel_maps_close_shard(struct kernel_maps *k, uint32_t shard)
{
    if (k->shards[shard].rows == NULL)
        return;
    if (k->shards_fd >= 0)
        (void)bpf_map_delete_elem(k->shards_fd, &shard);
    release(&k->shards[shard]);
    k->open--;
}

struct abi_shard *kernel_maps_shard(struct kernel_maps *k, uint32_t shard)
{
    return shard < ABI_SHARDS_MAX ? k->shards[shard].rows : NULL;
}

uint64_t kernel_maps_bytes(const struct kernel_maps *k)
{
    return k->open * sizeof(struct abi_shard);
}

/* ---- pages ---- */

enum status kernel_maps_put_page(struct kernel_maps *k, struct abi_page_key key,
                                 const struct abi_page *page)
{
    if (k->pages_fd < 0 || bpf_map_update_elem(k->pages_fd, &key, page, BPF_ANY) == 0)
        return ST_OK;
    return errno == E2BIG ? ST_FULL : status_from_errno(errno);
}

void kernel_maps_delete_page(struct kernel_maps *k, struct abi_page_key key)
{
    if (k->pages_fd >= 0)
        (void)bpf_map_delete_elem(k->pages_fd, &key); /* else: gone already, its process ended */
}
