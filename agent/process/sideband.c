#include "agent/process/sideband.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include "agent/perf/cpus.h"
#include "agent/perf/perf.h"
#include "agent/perf/ring.h"
#include "agent/process/record.h"

/* An exec and its exit are about 700 bytes: room for 370 of them between two drains of a CPU. */
enum { RING_BYTES = 256 << 10 };

struct buffer {
    uint32_t cpu;
    int fd;
    struct perf_ring *ring;
};

struct sideband {
    bool build_ids; /* the kernel puts them into the records: 5.12 and later */
    struct cpus online;
    uint32_t count;
    struct buffer buffers[CPUS_MAX];
    uint64_t events, lost;
};

static int open_event(const struct sideband *s, uint32_t cpu, int *out_fd)
{
    struct perf_event_attr attr = {
        .type = PERF_TYPE_SOFTWARE,
        .config = PERF_COUNT_SW_DUMMY,
        .sample_type = PERF_SAMPLE_TIME,
        .sample_id_all = 1,
        .mmap = 1,
        .mmap2 = 1,
        .comm = 1,
        .comm_exec = 1,
        .task = 1,
        .use_clockid = 1,
        .clockid = CLOCK_MONOTONIC,
        .build_id = s->build_ids,
    };

    return perf_open(&attr, PERF_EVERY_TASK, cpu, out_fd);
}

static void close_buffer(struct buffer *b)
{
    perf_ring_close(b->ring);
    if (b->fd >= 0)
        close(b->fd);
}

/* ST_NOT_FOUND: the CPU went away in the meantime. */
static enum status add_buffer(struct sideband *s, uint32_t cpu)
{
    struct buffer b = {.cpu = cpu, .fd = -1};
    int rc = open_event(s, cpu, &b.fd);
    enum status st;

    if (rc == -EINVAL && s->build_ids) {
        s->build_ids = false;
        rc = open_event(s, cpu, &b.fd);
    }
    if (rc == -ENODEV)
        return ST_NOT_FOUND;
    if (rc != 0)
        return status_from_errno(-rc);
    st = perf_ring_open(b.fd, RING_BYTES, &b.ring);
    if (st != ST_OK) {
        close_buffer(&b);
        return st;
    }
    s->buffers[s->count++] = b;
    return ST_OK;
}

static bool has_buffer(const struct sideband *s, uint32_t cpu)
{
    for (uint32_t i = 0; i < s->count; i++)
        if (s->buffers[i].cpu == cpu)
            return true;
    return false;
}

static enum status cover_online(struct sideband *s)
{
    for (uint32_t i = 0; i < s->online.count; i++) {
        enum status st = ST_OK;

        if (!has_buffer(s, s->online.ids[i]))
            st = add_buffer(s, s->online.ids[i]);
        if (st != ST_OK && st != ST_NOT_FOUND)
            return st;
    }
    return s->count > 0 ? ST_OK : ST_IO;
}

enum status sideband_open(struct sideband **out)
{
    struct sideband *s = calloc(1, sizeof(*s));
    enum status st = ST_NOMEM;

    if (s == NULL)
        return ST_NOMEM;
    s->build_ids = true;
    st = cpus_online(&s->online);
    if (st != ST_OK)
        goto out;
    st = cover_online(s);
    if (st != ST_OK)
        goto out;
    *out = s;
    s = NULL;
out:
    sideband_close(s);
    return st;
}

void sideband_close(struct sideband *s)
{
    if (s == NULL)
        return;
    for (uint32_t i = 0; i < s->count; i++)
        close_buffer(&s->buffers[i]);
    free(s);
}

enum status sideband_follow_cpus(struct sideband *s)
{
    struct cpus *now = malloc(sizeof(*now));
    enum status st = ST_NOMEM;

    if (now == NULL)
        return ST_NOMEM;
    st = cpus_online(now);
    if (st != ST_OK || cpus_equal(now, &s->online))
        goto out;
    s->online = *now;
    for (uint32_t i = s->count; i-- > 0;) { /* backwards: the last one fills a gap */
        if (cpus_contain(now, s->buffers[i].cpu))
            continue;
        close_buffer(&s->buffers[i]);
        s->buffers[i] = s->buffers[--s->count];
    }
    st = cover_online(s);
out:
    free(now);
    return st;
}

static void drain_buffer(struct sideband *s, struct perf_ring *ring,
                         void (*visit)(void *arg, const struct sideband_event *event), void *arg)
{
    const struct perf_event_header *header;

    while ((header = perf_ring_next(ring)) != NULL) {
        struct sideband_event event;
        uint64_t lost = 1; /* a record that cannot be read is lost as well */

        switch (record_parse(header, header->size, &event, &lost)) {
        case RECORD_EVENT:
            s->events++;
            visit(arg, &event);
            break;
        case RECORD_LOST:
        case RECORD_MALFORMED:
            s->lost += lost;
            break;
        case RECORD_OTHER:
            break;
        }
    }
}

void sideband_drain(struct sideband *s,
                    void (*visit)(void *arg, const struct sideband_event *event), void *arg)
{
    for (uint32_t i = 0; i < s->count; i++)
        drain_buffer(s, s->buffers[i].ring, visit, arg);
}

struct sideband_counters sideband_read_counters(const struct sideband *s)
{
    struct sideband_counters c = {.events = s->events, .lost = s->lost};

    for (uint32_t i = 0; i < s->count; i++)
        c.map_bytes += perf_ring_bytes(s->buffers[i].ring);
    return c;
}
