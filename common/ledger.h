/* ledger - what a window should have held and what became of it, in samples.
 *   expected = delivered + idle + sum(lost) + skipped
 * `expected` is the time that the sampling clock ran (per CPU, read from the kernel) over the
 * period. Where an idle CPU gives no samples, `idle` is what remains: it is derived, not counted.
 */
#ifndef COMMON_LEDGER_H
#define COMMON_LEDGER_H

#include <stdint.h>

/* number, NAME, text, what happened. Numbers are on the wire; never reuse one. */
#define LOSS_LIST(X)                                                               \
    X(0, RING, "ring_full", "the kernel's ring buffer had no room")                \
    X(1, SCRATCH, "scratch_busy", "a sample hit while another was being taken")    \
    X(2, KERNEL, "kernel_missed", "the kernel skipped the program (recursion)")    \
    X(3, TABLE, "table_full", "the chunk's tables were at their limit")            \
    X(4, SPOOL, "spool_dropped", "the agent's spool was full and gave up a chunk") \
    X(5, AGENT, "agent_dropped", "the agent gave up a sample that the kernel delivered")

enum loss {
#define X(number, NAME, text, help) LOSS_##NAME = (number),
    LOSS_LIST(X)
#undef X
        LOSS_KINDS
};

const char *loss_name(enum loss l);

struct ledger {
    uint64_t expected;
    uint64_t delivered; /* samples in the chunk */
    uint64_t idle;
    uint64_t skipped; /* taken but not wanted: outside the scope */
    uint64_t lost[LOSS_KINDS];
};

uint64_t ledger_lost(const struct ledger *l); /* all causes */
void ledger_add(struct ledger *to, const struct ledger *from);

/* What an agent cost its host, over a window (chunk) or since its start (heartbeat). */
struct agent_cost {
    uint64_t user_ns, system_ns; /* CPU time of the agent and of its readers of symbols */
    uint64_t bpf_ns; /* BPF run time; off CPU 0 where the kernel keeps no statistics for us */
    uint64_t bpf_runs;
    uint64_t bytes_sent;
    uint64_t rss_bytes; /* gauge */
    uint64_t kernel_map_bytes; /* gauge: BPF maps and perf buffers */
};

#endif
