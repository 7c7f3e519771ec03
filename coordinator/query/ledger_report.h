/* ledger_report - for a window: expected, delivered and lost by host and profiler, what is missing
 * altogether (sequence gaps and time that no chunk covers), and how the walks of the delivered
 * samples ended. Ledgers are of whole chunks. */
#ifndef COORDINATOR_QUERY_LEDGER_REPORT_H
#define COORDINATOR_QUERY_LEDGER_REPORT_H

#include "common/ledger.h"
#include "common/walks.h"
#include "coordinator/query/window.h"

struct ledger_line { /* one profiler */
    char *host; /* owned */
    struct id128 profiler;
    struct wall from, to; /* of its chunks inside the window; 0 without chunks */
    uint64_t chunks;
    /* Sequence numbers that are not stored: between the first and the last; also before the first
     * where the window holds the profiler's begin, and after the last where it holds its end. */
    uint64_t missing_chunks;
    uint64_t uncovered_ns; /* wanted time that no chunk covers */
    uint64_t uncovered_samples; /* the same in samples at the profiler's last known rate and CPUs */
    bool final; /* the final chunk is stored */
    uint64_t period_ns; /* of the last chunk; 0 without chunks */
    struct ledger ledger;
    struct walks walks;
    struct agent_cost cost; /* sums; gauges: the largest */
};

struct ledger_report {
    struct ledger_line *lines; /* by host, then time */
    uint32_t line_count;
    struct ledger total;
    struct walks walks;
    uint64_t missing_chunks, uncovered_ns, uncovered_samples;
};

/* As profile_collect, of hosts that match by their own labels. Where none does, of every host that
 * may have a process that does: a ledger is the host's and cannot be split by process. */
enum status ledger_report(struct store_view *v, const struct window *w, struct ledger_report *out,
                          char why[WINDOW_WHY_MAX]);
void ledger_report_deinit(struct ledger_report *r);

#endif
