/* scope - a window resolved against the store: which profilers it asks about, when it wants samples
 * of each, and what chunks cover of that. What profiles and ledger reports start from. */
#ifndef COORDINATOR_QUERY_SCOPE_H
#define COORDINATOR_QUERY_SCOPE_H

#include "coordinator/query/keys.h"
#include "coordinator/query/spans.h"
#include "coordinator/query/texts.h"
#include "coordinator/query/window.h"
#include "coordinator/store/records.h"
#include "coordinator/store/store.h"

struct scope_profiler {
    struct profiler_record record; /* owned */
    uint32_t host; /* in scope.hosts */
    bool matches; /* the host's own labels; where not, labels of its processes still may */
    struct spans accepted; /* samples in it belong to the window */
    struct spans wanted; /* samples should be there: of the accepted, what the profiler lived */
    struct spans told; /* of the accepted, what its chunks tell of */
    struct spans covered; /* of that, what their samples stand for: not where all were lost */
};

struct scope {
    enum event event;
    struct wall from, to; /* for the walks over chunks */
    const struct selector *select; /* the window's */
    struct scope_profiler *profilers;
    uint32_t profiler_count, profiler_capacity;
    bool any_matches; /* of the profilers */
    struct keys ids; /* of the profilers, in the same order */
    struct texts hosts;
};

/* ST_NOT_FOUND: no such session; ST_INVALID: the session sampled another event. */
enum status scope_resolve(struct store_view *v, const struct window *w, struct scope *out,
                          char why[WINDOW_WHY_MAX]);
void scope_deinit(struct scope *s);

/* Is the profiler's host one that the window asks about, as far as labels of hosts can tell? Those
 * that match, or where none does, all: their processes may. */
bool scope_shows(const struct scope *s, const struct scope_profiler *p);
/* NULL: the window does not ask about it. */
struct scope_profiler *scope_find(const struct scope *s, struct id128 profiler);

#endif
