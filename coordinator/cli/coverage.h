/* coverage - the one line that every answer carries: which window, how much of it is known, and how
 * much was lost. */
#ifndef COORDINATOR_CLI_COVERAGE_H
#define COORDINATOR_CLI_COVERAGE_H

#include <stdbool.h>

#include "coordinator/cli/cli.h"

struct json_t;

/* "2026-11-30 21:00:00 to 21:00:30 (30s)  2 of 2 hosts  100.0% covered  0.00% lost  root
 * reached 99.8%  5,940 samples at 99 Hz  1.980 cores", after `label`. Loss, gaps and stacks that
 * end too soon stand out on a terminal. */
void print_coverage(struct cli *c, const char *label, const struct json_t *coverage,
                    const char *event, double cores);

/* An average over time is of cores on the CPU, and of threads off it. */
bool waits_are_counted(const char *event);

#endif
