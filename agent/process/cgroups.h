/* cgroups - the labels that come from a cgroup, remembered by its ids: for processes that are gone
 * before their own can be read. Newer ones take the places of older ones. Loop thread only. */
#ifndef AGENT_PROCESS_CGROUPS_H
#define AGENT_PROCESS_CGROUPS_H

#include <stdint.h>

#include "common/labels.h"

enum { CGROUPS_MAX = 1 << 10 }; /* some 300 bytes each */

struct cgroup_ids { /* of the hierarchies that samples tell; 0: there is none */
    uint64_t v2, v1;
};

struct cgroups { /* embedded; zero-initialised is empty */
    struct cgroup_entry {
        struct cgroup_ids ids;
        struct labels labels;
    } entries[CGROUPS_MAX];
};

void cgroups_deinit(struct cgroups *c);

/* comm aside, the labels of a process in it: cgroup, unit, container and service. Reads them for a
 * process that lives; else they are those of another process of that cgroup, and where none was
 * seen the label cgroup is its number. ST_NOMEM. */
enum status cgroups_labels(struct cgroups *c, struct cgroup_ids ids, uint32_t pid,
                           struct labels *out);

#endif
