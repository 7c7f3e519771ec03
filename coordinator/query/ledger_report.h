/* ledger_report - for a window: expected, delivered and lost by host and profiler, and what is
 * missing altogether: sequence gaps and time that no chunk covers. */
#ifndef COORDINATOR_QUERY_LEDGER_REPORT_H
#define COORDINATOR_QUERY_LEDGER_REPORT_H

#include "common/ledger.h"
#include "coordinator/query/window.h"

struct ledger_line {
    char *host; /* owned */
    struct id128 profiler;
    struct wall from, to; /* of its chunks inside the window */
    uint64_t chunks;
    uint64_t
        missing_chunks; /* sequence numbers between the first and the last that are not stored */
    uint64_t uncovered_ns; /* wanted time that no chunk covers */
    uint64_t uncovered_samples; /* the same in samples at the profiler's last known rate and CPUs */
    bool final; /* the final chunk is stored */
    uint64_t period_ns;
    struct ledger ledger;
    struct agent_cost cost;
};

struct ledger_report {
    struct ledger_line *lines; /* by host, then time */
    uint32_t line_count;
    struct ledger total;
    uint64_t missing_chunks, uncovered_ns, uncovered_samples;
};

enum status ledger_report(struct store_view *v, const struct window *w, struct ledger_report *out,
                          char why[WINDOW_WHY_MAX]);
void ledger_report_deinit(struct ledger_report *r);

#endif
