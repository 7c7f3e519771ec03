/* Labels of a process, read when a sample first tells its cgroup and when that changes: most
 * processes never have a sample. */
#include "agent/process/process.h"

#include <stdlib.h>
#include <string.h>

#include "agent/process/label_text.h"
#include "agent/process/proc_file.h"
#include "agent/process/process_table.h"

/* As much as execve takes by default: a quarter of a stack of 8 MiB. */
enum { TEXT_BYTES_MAX = 2 << 20 };

void process_set_comm(struct member *m, const char comm[SIDEBAND_COMM_MAX])
{
    memcpy(m->process.comm, comm, sizeof(m->process.comm));
    m->process.comm[SIDEBAND_COMM_MAX - 1] = '\0';
    (void)label_text_set(&m->process.labels, "comm", m->process.comm); /* else the old one */
}

typedef void disclose(const struct disclosure *d, struct slice text, struct labels *l);

/* A process that is gone discloses nothing. */
static void add_disclosed(const struct processes *t, uint32_t pid, const char *file, disclose *add,
                          struct labels *l)
{
    uint8_t *bytes = NULL;
    struct slice text;

    if (proc_file_read_large(pid, file, TEXT_BYTES_MAX, &bytes, &text) != ST_OK)
        return;
    add(&t->disclosure, text, l);
    free(bytes);
}

static enum status read_labels(struct processes *t, const struct member *m, struct labels *out)
{
    struct labels l;
    enum status st = cgroups_labels(&t->cgroups, m->cgroup, m->process.pid, &l);

    if (st != ST_OK)
        return st;
    (void)label_text_set(&l, "comm", m->process.comm); /* without memory: none */
    if (t->disclosure.environment.count > 0)
        add_disclosed(t, m->process.pid, "environ", disclosure_add_environment, &l);
    if (t->disclosure.arguments.count > 0)
        add_disclosed(t, m->process.pid, "cmdline", disclosure_add_arguments, &l);
    *out = l;
    return ST_OK;
}

void process_note_cgroup(struct processes *t, struct member *m, struct cgroup_ids ids)
{
    bool moved = m->labels_known;
    struct labels l;

    if (m->labels_known && m->cgroup.v2 == ids.v2 && m->cgroup.v1 == ids.v1)
        return;
    m->labels_known = true;
    m->cgroup = ids;
    if (read_labels(t, m, &l) != ST_OK)
        return; /* out of memory: the old ones */
    moved = moved && !labels_equal(&l, &m->process.labels);
    labels_deinit(&m->process.labels);
    m->process.labels = l;
    if (moved) /* whoever knows it by its serial has the old ones */
        process_renew_serial(t, m);
}
