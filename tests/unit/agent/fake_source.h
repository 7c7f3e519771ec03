/* fake_source - a source of samples whose clock, samples and refusals are the test's. */
#ifndef TESTS_UNIT_AGENT_FAKE_SOURCE_H
#define TESTS_UNIT_AGENT_FAKE_SOURCE_H

#include <stdbool.h>
#include <stdint.h>

#include "agent/source.h"

enum { FAKE_CPUS = 2 };
#define FAKE_LAG_NS (2 * NS_PER_MS) /* of what it hands over behind now */

struct fake_source {
    struct source base; /* first: see agent/source.h */
    struct mono now; /* the test moves it */
    bool running;
    struct mono running_since;
    uint64_t clock_ns; /* of earlier runs */
    uint64_t period_ns;
    uint32_t starts, stops, period_changes, opened, cancelled, closed;
    uint32_t pending; /* samples that the next drain or stop hands over */
    uint64_t lost_in_ring;
    bool refuse_start, refuse_period, lack_symbols, fail_reading;
    const char *why_reading; /* what is said beside the status; NULL: nothing */
    uint32_t symbols; /* in each table */
};

void fake_source_init(struct fake_source *f, struct mono now);

#endif
