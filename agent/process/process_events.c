/* The side-band's events, applied to the table. */
#include "agent/process/process.h"

#include <string.h>

#include "agent/process/process_table.h"
#include "agent/process/snapshot.h"

/* An ended process is kept this long after its end: it still runs a little after the kernel has
 * said that it exits, and that is when it is asked for. */
#define ENDED_KEEP_NS (10 * NS_PER_S)

/* One that can no longer be read: all that is known is that it was there at `when`. */
static struct member *add_bare(struct processes *t, uint32_t pid, struct mono when)
{
    struct member *m = roster_add(&t->roster, pid);

    if (m == NULL)
        return NULL;
    m->process.start_ns = process_start_at(t, when);
    process_renew_serial(t, m);
    process_renew_code(t, m);
    return m;
}

/* NULL: out of memory. */
static struct member *find_or_load(struct processes *t, uint32_t pid, struct mono when)
{
    struct member *m = roster_find(&t->roster, pid);

    if (m == NULL && process_load(t, pid, &m) != ST_OK)
        m = add_bare(t, pid, when);
    return m;
}

static void inherit(struct processes *t, struct member *child, const struct member *parent)
{
    memcpy(child->process.comm, parent->process.comm, sizeof(child->process.comm));
    (void)labels_copy(&parent->process.labels, &child->process.labels); /* without: none */
    child->labels_known = parent->labels_known;
    child->cgroup = parent->cgroup;
    (void)mappings_copy(&parent->mappings, &child->mappings);
    process_inherit_jit(t, child, parent);
}

static void on_thread(struct processes *t, const struct sideband_event *e)
{
    struct member *m = roster_find(&t->roster, e->pid);

    if (m != NULL)
        m->threads++;
}

static void on_fork(struct processes *t, const struct sideband_event *e)
{
    struct member *child = roster_find(&t->roster, e->pid);
    const struct member *parent;

    if (e->tid != e->pid) {
        on_thread(t, e);
        return;
    }
    if (child != NULL && !child->ended &&
        process_same_start(child->process.start_ns, process_start_at(t, e->time)))
        return; /* /proc was quicker */
    if (child != NULL)
        roster_remove(&t->roster, child);
    if (roster_find(&t->roster, e->parent_pid) == NULL) {
        (void)find_or_load(t, e->pid, e->time);
        return;
    }
    child = add_bare(t, e->pid, e->time);
    parent = roster_find(&t->roster, e->parent_pid); /* anew: it may have made room */
    if (child != NULL && parent != NULL)
        inherit(t, child, parent);
}

static void on_exec(struct processes *t, const struct sideband_event *e)
{
    struct member *m = roster_find(&t->roster, e->pid);

    if (m == NULL)
        m = add_bare(t, e->pid, e->time);
    if (m == NULL)
        return;
    roster_revive(&t->roster, m);
    mappings_deinit(&m->mappings);
    process_renew_code(t, m);
    process_drop_jit(m);
    m->threads = 1; /* the others are gone: exec ends them */
    process_set_comm(m, e->comm);
    m->labels_known = false;
    process_renew_serial(t, m);
}

static void on_comm(struct processes *t, const struct sideband_event *e)
{
    struct member *m = roster_find(&t->roster, e->pid);

    if (m != NULL && e->tid == e->pid) /* the others' names are the threads' own */
        process_set_comm(m, e->comm);
}

static void on_mmap(struct processes *t, const struct sideband_event *e)
{
    struct member *m = find_or_load(t, e->pid, e->time);
    struct mapped_file file = {.pid = e->pid,
                               .path = e->path,
                               .start = e->start,
                               .end = e->start + e->length,
                               .id = e->build_id};
    struct mapping mapping = {
        .start = e->start, .end = e->start + e->length, .file_offset = e->file_offset};
    enum status st;

    if (m == NULL)
        return;
    st = binaries_intern(t->binaries, &file, &mapping.binary);
    mapping.trampolines = process_maps_trampolines(m, &mapping);
    if (st == ST_OK)
        st = mappings_put(&m->mappings, mapping);
    process_renew_code(t, m);
    if (st != ST_OK)
        t->mappings_refused++;
}

/* The process lives as long as any of its threads, its first one included or not. */
static void on_exit_event(struct processes *t, const struct sideband_event *e)
{
    struct member *m = roster_find(&t->roster, e->pid);

    if (m == NULL || m->ended)
        return;
    if (m->threads > 0)
        m->threads--;
    if (m->threads == 0)
        roster_end(&t->roster, m, e->time);
}

/* Threads whose birth went unseen may have been taken for no threads at all. */
static bool lives_on(const struct member *m, uint32_t *out_threads)
{
    struct snapshot s;

    if (snapshot_read_life(m->process.pid, &s) != ST_OK || s.dead ||
        !process_same_start(s.start_ns, m->process.start_ns))
        return false;
    *out_threads = s.threads;
    return true;
}

static void drop_ended(struct processes *t)
{
    struct member *m;

    while ((m = t->roster.ended.first) != NULL &&
           mono_reached(t->now, mono_after(m->ended_at, ENDED_KEEP_NS))) {
        if (lives_on(m, &m->threads))
            roster_revive(&t->roster, m);
        else
            roster_remove(&t->roster, m);
    }
}

/* Of a process in a pid namespace that ours does not contain, or of one without a pid any more. */
static bool is_invisible(const struct sideband_event *e)
{
    return e->pid == 0 || e->pid == UINT32_MAX;
}

void processes_apply(struct processes *t, const struct sideband_event *event)
{
    if (event->time.ns > t->now.ns)
        t->now = event->time;
    if (is_invisible(event))
        return;
    process_sweep_binaries(t);
    switch (event->kind) {
    case SIDEBAND_FORK:
        on_fork(t, event);
        break;
    case SIDEBAND_EXEC:
        on_exec(t, event);
        break;
    case SIDEBAND_COMM:
        on_comm(t, event);
        break;
    case SIDEBAND_MMAP:
        on_mmap(t, event);
        break;
    case SIDEBAND_EXIT:
        on_exit_event(t, event);
        break;
    }
    drop_ended(t);
}
