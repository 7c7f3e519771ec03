#include "agent/sampler/clocks.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include "agent/perf/cpus.h"
#include "agent/perf/perf.h"

enum { PROBE_PERIOD_NS = 1000 * 1000 * 1000 }; /* the probing event is never enabled */

struct clock_event {
    uint32_t cpu;
    int fd;
};

struct clocks {
    int program_fd; /* lent */
    int cgroup_fd; /* -1: the whole host */
    uint64_t period_ns; /* 0: stopped */
    uint64_t closed_ns; /* time of events that are closed by now */
    struct cpus online; /* as they were when last followed */
    uint32_t count, stopped; /* clocks: running; those that clocks_stop ended */
    struct clock_event events[CPUS_MAX];
};

/* Period mode: a frequency would be turned into a period once and the flag dropped, and then the
 * meaning of PERF_EVENT_IOC_PERIOD would depend on the kind of clock. */
static int open_event(const struct clocks *c, uint32_t cpu, uint64_t period_ns, int *out_fd)
{
    struct perf_event_attr attr = {
        .type = PERF_TYPE_SOFTWARE,
        .config = PERF_COUNT_SW_CPU_CLOCK,
        .sample_period = period_ns,
        .disabled = 1,
        .exclude_idle = 1,
        .use_clockid = 1,
        .clockid = CLOCK_MONOTONIC,
    };

    return perf_open(&attr, c->cgroup_fd, cpu, out_fd);
}

static uint64_t event_ns(const struct clock_event *e)
{
    uint64_t ns;

    return read(e->fd, &ns, sizeof(ns)) == (ssize_t)sizeof(ns) ? ns : 0;
}

/* ST_NOT_FOUND: the CPU went away in the meantime. */
static enum status add_clock(struct clocks *c, uint32_t cpu)
{
    enum status st = ST_OK;
    int fd = -1;
    int rc = open_event(c, cpu, c->period_ns, &fd);

    if (rc == -ENODEV)
        return ST_NOT_FOUND;
    if (rc != 0)
        return status_from_errno(-rc);
    if (ioctl(fd, PERF_EVENT_IOC_SET_BPF, c->program_fd) != 0 ||
        ioctl(fd, PERF_EVENT_IOC_ENABLE, 0) != 0) {
        st = status_from_errno(errno);
        close(fd);
        return st;
    }
    c->events[c->count++] = (struct clock_event){.cpu = cpu, .fd = fd};
    return ST_OK;
}

static void remove_clock(struct clocks *c, uint32_t index)
{
    struct clock_event *e = &c->events[index];

    (void)ioctl(e->fd, PERF_EVENT_IOC_DISABLE, 0); /* so that the count read next is the last */
    c->closed_ns += event_ns(e);
    close(e->fd);
    *e = c->events[--c->count];
}

static bool has_clock(const struct clocks *c, uint32_t cpu)
{
    for (uint32_t i = 0; i < c->count; i++)
        if (c->events[i].cpu == cpu)
            return true;
    return false;
}

static enum status cover_online(struct clocks *c)
{
    for (uint32_t i = 0; i < c->online.count; i++) {
        enum status st = ST_OK;

        if (!has_clock(c, c->online.ids[i]))
            st = add_clock(c, c->online.ids[i]);
        if (st != ST_OK && st != ST_NOT_FOUND)
            return st;
    }
    return c->count > 0 ? ST_OK : ST_IO;
}

static enum status probe(const struct clocks *c, char why[SAMPLER_WHY_MAX])
{
    int fd = -1;
    int rc = open_event(c, c->online.ids[0], PROBE_PERIOD_NS, &fd);
    enum status st = ST_OK;

    if (rc == 0 && ioctl(fd, PERF_EVENT_IOC_SET_BPF, c->program_fd) != 0)
        rc = -errno;
    if (rc != 0) {
        (void)snprintf(why, SAMPLER_WHY_MAX, "cpu-clock event: %s", perf_explain(-rc));
        st = status_from_errno(-rc);
    }
    if (fd >= 0)
        close(fd);
    return st;
}

static enum status open_scope(struct clocks *c, const char *path, char why[SAMPLER_WHY_MAX])
{
    int err;

    if (path == NULL)
        return ST_OK;
    c->cgroup_fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (c->cgroup_fd >= 0)
        return ST_OK;
    err = errno;
    (void)snprintf(why, SAMPLER_WHY_MAX, "scope %s: %s", path, perf_explain(err));
    return err == ENOENT || err == ENOTDIR ? ST_INVALID : status_from_errno(err);
}

enum status clocks_open(const char *scope_cgroup, int program_fd, struct clocks **out,
                        char why[SAMPLER_WHY_MAX])
{
    struct clocks *c = calloc(1, sizeof(*c));
    enum status st = ST_NOMEM;

    if (c == NULL)
        return ST_NOMEM;
    c->program_fd = program_fd;
    c->cgroup_fd = -1;
    st = open_scope(c, scope_cgroup, why);
    if (st != ST_OK)
        goto out;
    st = cpus_online(&c->online);
    if (st != ST_OK) {
        (void)snprintf(why, SAMPLER_WHY_MAX, "list of online CPUs: %s", status_text(st));
        goto out;
    }
    st = probe(c, why);
    if (st != ST_OK)
        goto out;
    *out = c;
    c = NULL;
out:
    clocks_close(c);
    return st;
}

void clocks_close(struct clocks *c)
{
    if (c == NULL)
        return;
    clocks_stop(c);
    if (c->cgroup_fd >= 0)
        close(c->cgroup_fd);
    free(c);
}

enum status clocks_start(struct clocks *c, uint64_t period_ns)
{
    enum status st = cpus_online(&c->online);

    if (st != ST_OK)
        return st;
    c->period_ns = period_ns;
    st = cover_online(c);
    if (st != ST_OK)
        clocks_stop(c);
    return st;
}

/* The kernel restarts the running period, which costs half an old period on average and CPU. */
enum status clocks_set_period(struct clocks *c, uint64_t period_ns)
{
    for (uint32_t i = 0; i < c->count; i++)
        if (ioctl(c->events[i].fd, PERF_EVENT_IOC_PERIOD, &period_ns) != 0)
            return status_from_errno(errno);
    c->period_ns = period_ns;
    return ST_OK;
}

void clocks_stop(struct clocks *c)
{
    if (c->count > 0)
        c->stopped = c->count;
    while (c->count > 0)
        remove_clock(c, c->count - 1);
    c->period_ns = 0;
}

enum status clocks_follow_cpus(struct clocks *c)
{
    struct cpus *now = malloc(sizeof(*now));
    enum status st = ST_NOMEM;

    if (now == NULL)
        return ST_NOMEM;
    st = cpus_online(now);
    if (st != ST_OK || cpus_equal(now, &c->online))
        goto out;
    c->online = *now;
    for (uint32_t i = c->count; i-- > 0;) /* backwards: the last one fills a gap */
        if (!cpus_contain(now, c->events[i].cpu))
            remove_clock(c, i);
    if (c->period_ns != 0) {
        st = cover_online(c);
        if (c->count < now->count)
            c->online.count = 0; /* one has no clock yet: try again at the next call */
    }
out:
    free(now);
    return st;
}

uint64_t clocks_total_ns(const struct clocks *c)
{
    uint64_t total = c->closed_ns;

    for (uint32_t i = 0; i < c->count; i++)
        total += event_ns(&c->events[i]);
    return total;
}

uint32_t clocks_count(const struct clocks *c)
{
    return c->period_ns != 0 ? c->count : c->stopped;
}
