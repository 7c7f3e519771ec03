/* admission - whether a chunk is its sender's to give: known profiler, its host, its incarnation,
 * its event, a window within the profiler's life, a sequence that it can have reached. Writer
 * thread. */
#ifndef COORDINATOR_INGEST_ADMISSION_H
#define COORDINATOR_INGEST_ADMISSION_H

#include "common/chunk.h"
#include "common/message.h"
#include "coordinator/ingest/ingest.h"

/* Refused: `reason` and `text`, which names the value and the rule, are set with a status other
 * than ST_OK. Any other failure leaves them alone: the store could not say. */
enum status admission_check(struct store_txn *t, const struct chunk_info *info, const char *host,
                            struct wall now, enum refusal_reason *reason,
                            char text[INGEST_TEXT_MAX]);

#endif
