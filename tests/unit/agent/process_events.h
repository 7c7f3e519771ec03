/* process_events - a table of processes and made-up events for it, a millisecond apart. */
#ifndef TESTS_UNIT_AGENT_PROCESS_EVENTS_H
#define TESTS_UNIT_AGENT_PROCESS_EVENTS_H

#include <stdio.h>

#include "agent/process/process.h"

enum {
    FIRST_PID = 1 << 23, /* above PID_MAX_LIMIT: never in /proc */
    PARENT = FIRST_PID,
    CHILD,
    OTHER,
};

static struct processes *table;
static uint64_t now_ns;

static inline int make_table(void **state)
{
    (void)state;
    now_ns = clock_mono().ns;
    return processes_new(&(struct processes_options){0}, &table) == ST_OK ? 0 : -1;
}

static inline int drop_table(void **state)
{
    (void)state;
    processes_free(table);
    return 0;
}

static inline void apply(struct sideband_event e)
{
    now_ns += NS_PER_MS;
    e.time.ns = now_ns;
    processes_apply(table, &e);
}

static inline void fork_process(uint32_t parent, uint32_t pid)
{
    apply((struct sideband_event){
        .kind = SIDEBAND_FORK, .pid = pid, .tid = pid, .parent_pid = parent});
}

static inline void start_thread(uint32_t pid, uint32_t tid)
{
    apply(
        (struct sideband_event){.kind = SIDEBAND_FORK, .pid = pid, .tid = tid, .parent_pid = pid});
}

static inline void end_thread(uint32_t pid, uint32_t tid)
{
    apply((struct sideband_event){.kind = SIDEBAND_EXIT, .pid = pid, .tid = tid});
}

static inline void rename_thread(enum sideband_kind kind, uint32_t pid, uint32_t tid,
                                 const char *comm)
{
    struct sideband_event e = {.kind = kind, .pid = pid, .tid = tid};

    (void)snprintf(e.comm, sizeof(e.comm), "%s", comm);
    apply(e);
}

static inline void map_file(uint32_t pid, uint64_t start, uint8_t id, const char *path)
{
    apply((struct sideband_event){.kind = SIDEBAND_MMAP,
                                  .pid = pid,
                                  .tid = pid,
                                  .start = start,
                                  .length = 0x1000,
                                  .build_id = {.length = id != 0 ? 20 : 0, .bytes = {id}},
                                  .path = path});
}

static inline void map_memory(uint32_t pid, uint64_t start, uint64_t length)
{
    apply((struct sideband_event){.kind = SIDEBAND_MMAP,
                                  .pid = pid,
                                  .tid = pid,
                                  .start = start,
                                  .length = length,
                                  .path = "//anon"});
}

static inline void pass_time(uint64_t ns)
{
    now_ns += ns;
    end_thread(OTHER + 1000, OTHER + 1000); /* of a process that nobody knows */
}

static inline void note_cgroup(uint32_t pid, uint64_t cgroup)
{
    processes_note(table, &(struct sighting){.time = {now_ns}, .pid = pid, .cgroup = cgroup});
}

#define WITH_TABLE(test) cmocka_unit_test_setup_teardown(test, make_table, drop_table)

#endif
