/* aggregate_tables - what aggregate's own files share: the tables of the open window.
 * Include only from agent/aggregate*.c. */
#ifndef AGENT_AGGREGATE_TABLES_H
#define AGENT_AGGREGATE_TABLES_H

#include "agent/aggregate.h"
#include "agent/intern.h"

/* Keys are compared as bytes: every byte of one is a member's. */

struct binary_row {
    struct build_id id;
    uint8_t zero[3]; /* up to path's alignment */
    uint32_t path;
};

struct frame_row {
    uint64_t offset;
    uint32_t kind, binary, name;
    uint32_t zero; /* up to offset's alignment */
};

struct process_row {
    uint64_t serial; /* the key */
    struct chunk_process process;
};

struct sample_row {
    struct mono time;
    uint32_t group;
};

_Static_assert(sizeof(struct binary_row) == 1 + BUILD_ID_BYTES + 3 + 4, "no padding");
_Static_assert(sizeof(struct frame_row) == 8 + 4 * 4, "no padding");

struct aggregate {
    struct texts strings;
    struct interned binaries; /* struct binary_row, all of it the key */
    struct interned frames; /* struct frame_row, all of it the key */
    struct interned nodes; /* struct chunk_node, all of it the key */
    struct interned processes; /* struct process_row */
    struct interned threads; /* struct chunk_thread; key: process and tid */
    struct interned groups; /* struct chunk_group; key: leaf and thread */
    struct rows labels; /* struct chunk_label, process by process */
    struct rows samples; /* struct sample_row, as they came */
    struct walks walks; /* of the samples */
    uint64_t refused;
};

void aggregate_reset(struct aggregate *a); /* an empty window */

#endif
