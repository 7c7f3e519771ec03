/* record - one perf side-band record, turned into an event. Pure; believes no length. */
#ifndef AGENT_PROCESS_RECORD_H
#define AGENT_PROCESS_RECORD_H

#include <stddef.h>
#include <stdint.h>

#include "agent/process/sideband.h"

enum record_kind {
    RECORD_EVENT, /* *out is filled in */
    RECORD_LOST, /* *out_lost is the number of records that the kernel dropped */
    RECORD_OTHER, /* of no interest */
    RECORD_MALFORMED
};

/* `bytes` begin with the perf_event_header; every record ends with its time, as events opened with
 * sample_id_all and PERF_SAMPLE_TIME alone write it. out->path points into `bytes`. */
enum record_kind record_parse(const void *bytes, size_t length, struct sideband_event *out,
                              uint64_t *out_lost);

#endif
