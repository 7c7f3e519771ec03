/* Read from the kernel at each call: nothing is kept here. */
#include "agent/cost.h"

#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>

#include "common/clock.h"

static uint64_t to_ns(struct timeval t)
{
    return (uint64_t)t.tv_sec * NS_PER_S + (uint64_t)t.tv_usec * NS_PER_US;
}

/* The second number of /proc/self/statm (proc(5)); 0 where it cannot be read. */
static uint64_t resident_bytes(void)
{
    unsigned long long pages = 0;
    FILE *f = fopen("/proc/self/statm", "re");

    if (f == NULL)
        return 0;
    if (fscanf(f, "%*u %llu", &pages) != 1)
        pages = 0;
    (void)fclose(f); /* only read */
    return pages * (uint64_t)sysconf(_SC_PAGESIZE);
}

void cost_read_process(struct agent_cost *out)
{
    struct rusage own = {0}, children = {0};

    (void)getrusage(RUSAGE_SELF, &own); /* fails only for a bad argument */
    (void)getrusage(RUSAGE_CHILDREN, &children);
    out->user_ns = to_ns(own.ru_utime) + to_ns(children.ru_utime);
    out->system_ns = to_ns(own.ru_stime) + to_ns(children.ru_stime);
    out->rss_bytes = resident_bytes();
}
