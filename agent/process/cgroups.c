#include "agent/process/cgroups.h"

#include <inttypes.h>
#include <stdio.h>

#include "agent/process/cgroup.h"
#include "agent/process/label_text.h"
#include "agent/process/proc_file.h"
#include "agent/process/procfs.h"

enum {
    CGROUP_BYTES_MAX = 16 << 10, /* a line of a path for each of a dozen hierarchies */
    ROOT_ID = 1, /* of every hierarchy's root */
};

static struct cgroup_entry *entry_of(struct cgroups *c, struct cgroup_ids ids)
{
    return &c->entries[(ids.v2 ^ ids.v1 * 31) % CGROUPS_MAX];
}

static enum status read_labels(uint32_t pid, struct labels *l)
{
    uint8_t bytes[CGROUP_BYTES_MAX];
    char text[PROCFS_PATH_MAX];
    struct slice file, path;
    struct cgroup_names names;
    enum status st = proc_file_read(pid, "cgroup", bytes, sizeof(bytes), &file);

    if (st != ST_OK)
        return st;
    path = procfs_cgroup_path(file);
    cgroup_parse(path, &names);
    (void)snprintf(text, sizeof(text), "%.*s", (int)path.length, (const char *)path.bytes);
    st = label_text_set(l, "cgroup", text);
    if (st == ST_OK)
        st = label_text_set(l, "unit", names.unit);
    if (st == ST_OK)
        st = label_text_set(l, "container", names.container);
    if (st == ST_OK)
        st = label_text_set(l, "service", names.service);
    return st;
}

/* The ids must say it all. They do not where v1 has units in a hierarchy of their own. */
static void remember(struct cgroups *c, struct cgroup_ids ids, const struct labels *l)
{
    struct cgroup_entry *e = entry_of(c, ids);
    struct labels copy;

    if (ids.v2 <= ROOT_ID && (ids.v1 <= ROOT_ID || labels_get(l, "container") == NULL))
        return;
    if (e->ids.v2 == ids.v2 && e->ids.v1 == ids.v1 && labels_equal(&e->labels, l))
        return;
    if (labels_copy(l, &copy) != ST_OK)
        return;
    labels_deinit(&e->labels);
    *e = (struct cgroup_entry){ids, copy};
}

static enum status recall(struct cgroups *c, struct cgroup_ids ids, struct labels *out)
{
    const struct cgroup_entry *e = entry_of(c, ids);
    char number[32];

    if (e->labels.count > 0 && e->ids.v2 == ids.v2 && e->ids.v1 == ids.v1)
        return labels_copy(&e->labels, out);
    (void)snprintf(number, sizeof(number), "inode:%" PRIu64, ids.v1 > ROOT_ID ? ids.v1 : ids.v2);
    return labels_set(out, "cgroup", number);
}

enum status cgroups_labels(struct cgroups *c, struct cgroup_ids ids, uint32_t pid,
                           struct labels *out)
{
    struct labels l = {0};
    enum status st = read_labels(pid, &l);

    if (st == ST_OK)
        remember(c, ids, &l);
    else if (st == ST_NOT_FOUND)
        st = recall(c, ids, &l);
    if (st == ST_OK)
        *out = l;
    else
        labels_deinit(&l);
    return st;
}

void cgroups_deinit(struct cgroups *c)
{
    for (uint32_t i = 0; i < CGROUPS_MAX; i++)
        labels_deinit(&c->entries[i].labels);
}
