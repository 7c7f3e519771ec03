/* state - what ingest is made of; for ingest.c and symbols.c. Loop thread. */
#ifndef COORDINATOR_INGEST_STATE_H
#define COORDINATOR_INGEST_STATE_H

#include "coordinator/ingest/ingest.h"
#include "coordinator/ingest/symbol_uploads.h"

struct ingest {
    struct store *store;
    struct workers workers;
    struct symbol_uploads uploads;
    struct ingest_counters counters;
};

#endif
