/* history - a fleet's past, written into a store of its own for one test. Times are seconds after
 * HISTORY_START. Anything that fails ends the test. */
#ifndef TESTS_UNIT_QUERY_HISTORY_H
#define TESTS_UNIT_QUERY_HISTORY_H

#include "coordinator/query/profile.h"
#include "coordinator/query/symbolize.h"
#include "coordinator/store/records.h"
#include "coordinator/store/store.h"

#define HISTORY_START (UINT64_C(1796040000) * NS_PER_S) /* 2026-11-30T12:00:00Z */

struct history;

struct history *history_new(void);
void history_free(struct history *h); /* NULL is fine */

static inline struct wall at(double seconds)
{
    return (struct wall){HISTORY_START + (uint64_t)(seconds * (double)NS_PER_S)};
}

/* ---- what there is ---- */

/* `labels`: "service=web,zone=a" or NULL. ended < 0: it still runs. */
struct id128 history_profiler(struct history *h, const char *host, const char *labels,
                              double assigned, double ended);
void history_end(struct history *h, struct id128 profiler, double ended, uint64_t last_sequence);
uint64_t history_session(struct history *h, enum session_state state,
                         const struct session_member *members, uint32_t member_count);

/* A stack's leaf from its frames, outermost first: "path+0xoffset" is a native frame, "k+0xoffset"
 * a kernel frame, "[...]" a mark, anything else a named frame. */
uint32_t history_stack(struct history *h, const char *const *frames, uint32_t count);
#define STACK(h, ...)                                    \
    history_stack(h, (const char *const[]){__VA_ARGS__}, \
                  sizeof((const char *const[]){__VA_ARGS__}) / sizeof(const char *))

struct history_symbol {
    uint64_t start, size;
    const char *name;
};
/* The build id of a path is made from the path and `build` (0 for the frames of history_stack). */
void history_symbols(struct history *h, const char *path, const struct history_symbol *symbols,
                     uint32_t count);
#define SYMBOLS(h, path, ...)                                              \
    history_symbols(h, path, (const struct history_symbol[]){__VA_ARGS__}, \
                    sizeof((const struct history_symbol[]){__VA_ARGS__}) / \
                        sizeof(struct history_symbol))
/* Any table, one with places too; takes it. */
void history_table(struct history *h, const char *path, struct symtab *table);
/* From now on frames of any path are of another build. */
void history_rebuild(struct history *h, uint32_t build);

struct history_group { /* samples spread evenly over the chunk, or all at `only_at` */
    uint32_t leaf;
    uint32_t count;
    const char *thread; /* NULL: "main" */
    const char *labels; /* of the process, as of a profiler */
    double only_at; /* s after HISTORY_START; 0: spread */
};

struct history_chunk {
    struct id128 profiler;
    uint64_t sequence;
    double from, to;
    uint32_t hz; /* 0: 100 */
    uint64_t lost; /* RING */
    uint64_t lost_in_spool;
    struct walks walks;
    double inclusion; /* 0: 1 */
    int64_t clock_offset_ns;
    bool final;
    const struct history_group *groups;
    uint32_t group_count;
};
void history_chunk(struct history *h, const struct history_chunk *c);
#define CHUNK(h, info, ...)                                                      \
    do {                                                                         \
        const struct history_group chunk_groups[] = {__VA_ARGS__};               \
        struct history_chunk chunk_info = info;                                  \
        chunk_info.groups = chunk_groups;                                        \
        chunk_info.group_count = sizeof(chunk_groups) / sizeof(chunk_groups[0]); \
        history_chunk(h, &chunk_info);                                           \
    } while (0)

/* ---- questions ---- */

/* Snapshot, dictionary and a fresh symbolizer of what was written so far; until history next
 * changes. */
struct store_view *history_view(struct history *h);
struct store_view *history_own_view(struct history *h); /* the caller closes it */
const struct dictionary *history_dictionary(struct history *h);
struct symbolizer *history_symbolizer(struct history *h);
struct symbol_cache *history_cache(struct history *h);

struct profile history_collect(struct history *h, double from, double to, const char *select);
struct profile history_collect_session(struct history *h, uint64_t session);

#endif
