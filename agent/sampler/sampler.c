#include "agent/sampler/sampler.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/sampler/clocks.h"
#include "agent/sampler/loader.h"
#include "agent/sampler/program.h"

#define ROOT_PID_NAMESPACE 0xEFFFFFFCu /* include/linux/proc_ns.h: PROC_PID_INIT_INO */

struct sampler {
    struct program *program;
    struct clocks *clocks;
    uint32_t pid_namespace, ring_bytes;
    bool running;
};

/* The inode of the agent's own, in which samples carry pids; 0: the first one. */
static uint32_t pid_namespace(void)
{
    struct stat ns;

    if (stat("/proc/self/ns/pid", &ns) != 0 || ns.st_ino == ROOT_PID_NAMESPACE)
        return 0;
    return (uint32_t)ns.st_ino;
}

static uint32_t default_ring_bytes(void)
{
    uint64_t wanted = (uint64_t)sysconf(_SC_NPROCESSORS_CONF) * SAMPLER_RING_BYTES_PER_CPU;
    uint32_t bytes = SAMPLER_RING_BYTES_MIN;

    while (bytes < wanted && bytes < SAMPLER_RING_BYTES_MAX)
        bytes *= 2;
    return bytes;
}

static enum status check_ring(uint32_t bytes, char why[SAMPLER_WHY_MAX])
{
    uint32_t page = (uint32_t)sysconf(_SC_PAGESIZE);

    if (bytes >= page && bytes <= SAMPLER_RING_BYTES_MAX && (bytes & (bytes - 1)) == 0)
        return ST_OK;
    (void)snprintf(why, SAMPLER_WHY_MAX, "ring of %u bytes: must be a power of two from %u to %u",
                   bytes, page, SAMPLER_RING_BYTES_MAX);
    return ST_INVALID;
}

static bool period_is_sane(uint64_t period_ns)
{
    return period_ns >= SAMPLER_PERIOD_NS_MIN && period_ns <= SAMPLER_PERIOD_NS_MAX;
}

enum status sampler_open(const struct sampler_options *options, struct sampler **out,
                         char why[SAMPLER_WHY_MAX])
{
    const struct loader_options loader = {
        .ring_bytes = options->ring_bytes != 0 ? options->ring_bytes : default_ring_bytes(),
        .pid_namespace = pid_namespace(),
        .walk = options->walk,
    };
    struct sampler *s = calloc(1, sizeof(*s));
    enum status st = ST_NOMEM;

    (void)snprintf(why, SAMPLER_WHY_MAX, "%s", status_text(ST_NOMEM));
    if (s == NULL)
        goto out;
    s->pid_namespace = loader.pid_namespace;
    s->ring_bytes = loader.ring_bytes;
    st = check_ring(loader.ring_bytes, why);
    if (st != ST_OK)
        goto out;
    st = program_open(&loader, &s->program, why);
    if (st != ST_OK)
        goto out;
    st = clocks_open(options->scope_cgroup, program_fd(s->program), &s->clocks, why);
    if (st != ST_OK)
        goto out;
    why[0] = '\0';
    *out = s;
    s = NULL;
out:
    sampler_close(s);
    return st;
}

void sampler_close(struct sampler *s)
{
    if (s == NULL)
        return;
    clocks_close(s->clocks);
    program_close(s->program);
    free(s);
}

enum status sampler_start(struct sampler *s, uint64_t period_ns)
{
    enum status st;

    if (s->running)
        return ST_BAD_STATE;
    if (!period_is_sane(period_ns))
        return ST_INVALID;
    st = clocks_start(s->clocks, period_ns);
    s->running = st == ST_OK;
    return st;
}

enum status sampler_set_period(struct sampler *s, uint64_t period_ns)
{
    if (!s->running)
        return ST_BAD_STATE;
    if (!period_is_sane(period_ns))
        return ST_INVALID;
    return clocks_set_period(s->clocks, period_ns);
}

void sampler_stop(struct sampler *s)
{
    clocks_stop(s->clocks);
    s->running = false;
}

enum status sampler_follow_cpus(struct sampler *s)
{
    return clocks_follow_cpus(s->clocks);
}

void sampler_drain(struct sampler *s, void (*visit)(void *arg, const struct sample *sample),
                   void *arg)
{
    program_drain(s->program, visit, arg);
}

void sampler_read_counters(struct sampler *s, struct sampler_counters *out)
{
    struct sampler_counters c = {0};

    program_read_counters(s->program, &c);
    c.clock_ns = clocks_total_ns(s->clocks);
    c.cpus = clocks_count(s->clocks);
    *out = c;
}

void sampler_use_tables(struct sampler *s, bool on)
{
    program_use_tables(s->program, on);
}

struct sampler_maps sampler_maps(const struct sampler *s)
{
    return program_maps(s->program);
}

enum sampler_walk sampler_walk(const struct sampler *s)
{
    return program_loaded(s->program)->walk;
}

const char *sampler_degraded(const struct sampler *s)
{
    return program_loaded(s->program)->degraded;
}

const char *sampler_clock_name(const struct sampler *s)
{
    (void)s; /* one clock today, see the header */
    return "cpu-clock";
}

uint32_t sampler_pid_namespace(const struct sampler *s)
{
    return s->pid_namespace;
}

uint32_t sampler_ring_bytes(const struct sampler *s)
{
    return s->ring_bytes;
}
