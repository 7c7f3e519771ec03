#include "agent/perf/ring.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { RECORD_BYTES_MAX = 1 << 16 }; /* header.size is 16 bits wide */

struct perf_ring {
    struct perf_event_mmap_page *page; /* and the data behind it */
    size_t mapped_bytes;
    const uint8_t *data;
    uint64_t mask; /* data bytes - 1 */
    uint64_t tail; /* next byte to read; the kernel is told when the record is done with */
    uint64_t joined[RECORD_BYTES_MAX / sizeof(uint64_t)]; /* a record that wraps round the end */
};

enum status perf_ring_open(int fd, uint32_t data_bytes, struct perf_ring **out)
{
    size_t page_bytes = (size_t)sysconf(_SC_PAGESIZE);
    struct perf_ring *r = calloc(1, sizeof(*r));
    enum status st = ST_NOMEM;
    void *mapped;

    if (r == NULL)
        return ST_NOMEM;
    r->mapped_bytes = page_bytes + data_bytes;
    mapped = mmap(NULL, r->mapped_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (mapped == MAP_FAILED) {
        st = status_from_errno(errno);
        goto out;
    }
    r->page = mapped;
    r->data = (const uint8_t *)mapped + page_bytes;
    r->mask = data_bytes - 1;
    *out = r;
    r = NULL;
    st = ST_OK;
out:
    perf_ring_close(r);
    return st;
}

void perf_ring_close(struct perf_ring *r)
{
    if (r == NULL)
        return;
    if (r->page != NULL)
        munmap(r->page, r->mapped_bytes);
    free(r);
}

static const void *in_one_piece(struct perf_ring *r, uint64_t offset, size_t size)
{
    size_t before_end = (size_t)(r->mask + 1 - offset);

    if (size <= before_end)
        return r->data + offset;
    memcpy(r->joined, r->data + offset, before_end);
    memcpy((uint8_t *)r->joined + before_end, r->data, size - before_end);
    return r->joined;
}

const struct perf_event_header *perf_ring_next(struct perf_ring *r)
{
    uint64_t head = __atomic_load_n(&r->page->data_head, __ATOMIC_ACQUIRE);
    uint64_t waiting = head - r->tail;
    struct perf_event_header header;
    uint64_t offset;

    __atomic_store_n(&r->page->data_tail, r->tail, __ATOMIC_RELEASE);
    if (waiting < sizeof(header))
        return NULL;
    offset = r->tail & r->mask;
    memcpy(&header, r->data + offset, sizeof(header)); /* records are 8-byte aligned: no wrap */
    if (header.size < sizeof(header) || header.size > waiting) {
        r->tail = head; /* not a record: nothing behind it can be trusted either */
        return NULL;
    }
    r->tail += header.size;
    return in_one_piece(r, offset, header.size);
}

uint64_t perf_ring_bytes(const struct perf_ring *r)
{
    return r->mapped_bytes;
}
