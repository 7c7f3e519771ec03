/* clock - two clocks, two types.
 * mono is for deadlines, durations and samples (CLOCK_MONOTONIC, the clock of BPF and perf);
 * wall is for people and for storage (CLOCK_REALTIME, ns since 1970). Modules take times as
 * arguments; only wiring code calls the two functions that read a clock. */
#ifndef COMMON_CLOCK_H
#define COMMON_CLOCK_H

#include <stdbool.h>
#include <stdint.h>

#define NS_PER_US UINT64_C(1000)
#define NS_PER_MS UINT64_C(1000000)
#define NS_PER_S UINT64_C(1000000000)

struct mono {
    uint64_t ns;
};

struct wall {
    uint64_t ns;
};

struct mono clock_mono(void);
struct wall clock_wall(void);

static inline struct mono mono_after(struct mono t, uint64_t ns)
{
    return (struct mono){t.ns + ns};
}

static inline bool mono_reached(struct mono now, struct mono deadline)
{
    return now.ns >= deadline.ns;
}

/* ns from `then` to `now`; 0 when `then` lies ahead. */
static inline uint64_t mono_since(struct mono now, struct mono then)
{
    return now.ns > then.ns ? now.ns - then.ns : 0;
}

#endif
