#include "agent/process/process.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "agent/process/binaries.h"
#include "agent/process/pids.h"
#include "agent/process/roster.h"
#include "agent/process/snapshot.h"

/* An ended process is kept this long after its end: it still runs a little after the kernel has
 * said that it exits, and that is when it is asked for. */
#define ENDED_KEEP_NS (10 * NS_PER_S)
/* Two starts of one pid that are closer are one: /proc counts in ticks of 10 ms, and no machine
 * uses up all its pids in this time. */
#define START_SLACK_NS (100 * NS_PER_MS)

struct processes {
    struct roster roster;
    struct binaries *binaries;
    struct mono now; /* the latest event */
    uint64_t tick_ns; /* what /proc counts start times in */
    uint64_t boot_offset_ns; /* CLOCK_BOOTTIME - CLOCK_MONOTONIC: the time spent suspended */
    uint64_t serial;
    uint32_t scan;
    uint64_t mappings_refused;
};

static uint64_t read_boot_offset(void)
{
    struct timespec boot, mono;

    clock_gettime(CLOCK_MONOTONIC, &mono);
    clock_gettime(CLOCK_BOOTTIME, &boot);
    return (uint64_t)(boot.tv_sec - mono.tv_sec) * NS_PER_S + (uint64_t)boot.tv_nsec -
           (uint64_t)mono.tv_nsec;
}

/* As /proc would give it. */
static uint64_t start_at(const struct processes *t, struct mono when)
{
    uint64_t ns = when.ns + t->boot_offset_ns;

    return ns - ns % t->tick_ns;
}

static bool same_start(uint64_t a, uint64_t b)
{
    return (a > b ? a - b : b - a) < START_SLACK_NS;
}

static void renew_serial(struct processes *t, struct member *m)
{
    m->process.serial = ++t->serial;
}

/* ---- what is known of one process ---- */

/* Takes over what `s` owns. */
static void fill_in(struct processes *t, struct member *m, struct snapshot *s)
{
    labels_deinit(&m->process.labels);
    mappings_deinit(&m->mappings);
    memcpy(m->process.comm, s->comm, sizeof(m->process.comm));
    m->process.start_ns = s->start_ns;
    m->process.labels = s->labels;
    m->mappings = s->mappings;
    m->threads = s->threads > 0 ? s->threads : 1;
    m->cgroup_known = false;
    t->mappings_refused += s->refused;
    *s = (struct snapshot){0};
}

/* Reads a pid that is not in the table. */
static enum status load(struct processes *t, uint32_t pid, struct member **out)
{
    struct snapshot s;
    struct member *m;
    enum status st = snapshot_read(pid, t->binaries, &s);

    if (st != ST_OK)
        return st;
    m = s.dead ? NULL : roster_add(&t->roster, pid);
    if (m == NULL) {
        st = s.dead ? ST_NOT_FOUND : ST_NOMEM;
        snapshot_deinit(&s);
        return st;
    }
    fill_in(t, m, &s);
    renew_serial(t, m);
    *out = m;
    return ST_OK;
}

/* One that can no longer be read: all that is known is that it was there at `when`. */
static struct member *add_bare(struct processes *t, uint32_t pid, struct mono when)
{
    struct member *m = roster_add(&t->roster, pid);

    if (m == NULL)
        return NULL;
    m->process.start_ns = start_at(t, when);
    renew_serial(t, m);
    return m;
}

/* NULL: out of memory. */
static struct member *find_or_load(struct processes *t, uint32_t pid, struct mono when)
{
    struct member *m = roster_find(&t->roster, pid);

    if (m == NULL && load(t, pid, &m) != ST_OK)
        m = add_bare(t, pid, when);
    return m;
}

static void set_comm(struct member *m, const char comm[SIDEBAND_COMM_MAX])
{
    memcpy(m->process.comm, comm, sizeof(m->process.comm));
    m->process.comm[SIDEBAND_COMM_MAX - 1] = '\0';
    (void)snapshot_set_label(&m->process.labels, "comm", m->process.comm); /* else the old one */
}

/* Keeps the old ones, its parent's as a rule, when the process is gone already. */
static void read_labels(struct processes *t, struct member *m)
{
    struct labels l;

    if (snapshot_read_labels(m->process.pid, m->process.comm, &l) != ST_OK)
        return;
    if (labels_equal(&l, &m->process.labels)) {
        labels_deinit(&l);
        return;
    }
    labels_deinit(&m->process.labels);
    m->process.labels = l;
    renew_serial(t, m); /* whoever knows it by its serial has the old ones */
}

/* ---- events ---- */

static void inherit(struct member *child, const struct member *parent)
{
    memcpy(child->process.comm, parent->process.comm, sizeof(child->process.comm));
    (void)labels_copy(&parent->process.labels, &child->process.labels); /* without: none */
    (void)mappings_copy(&parent->mappings, &child->mappings);
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
    if (child != NULL && !child->ended && same_start(child->process.start_ns, start_at(t, e->time)))
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
        inherit(child, parent);
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
    m->threads = 1; /* the others are gone: exec ends them */
    set_comm(m, e->comm);
    renew_serial(t, m);
    read_labels(t, m);
}

static void on_comm(struct processes *t, const struct sideband_event *e)
{
    struct member *m = roster_find(&t->roster, e->pid);

    if (m != NULL && e->tid == e->pid) /* the others' names are the threads' own */
        set_comm(m, e->comm);
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
    if (st == ST_OK)
        st = mappings_put(&m->mappings, mapping);
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
        !same_start(s.start_ns, m->process.start_ns))
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

void processes_apply(struct processes *t, const struct sideband_event *event)
{
    if (event->time.ns > t->now.ns)
        t->now = event->time;
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

/* ---- /proc ---- */

/* The table's own process, seen again. Its serial changes when events must have been lost. */
static enum status refresh(struct processes *t, struct member *m)
{
    struct snapshot s;
    enum status st = snapshot_read(m->process.pid, t->binaries, &s);
    bool changed;

    if (st != ST_OK)
        return st;
    if (s.dead) {
        snapshot_deinit(&s);
        return ST_NOT_FOUND;
    }
    changed = strcmp(s.comm, m->process.comm) != 0 ||
              !same_start(s.start_ns, m->process.start_ns) ||
              !labels_equal(&s.labels, &m->process.labels);
    fill_in(t, m, &s);
    roster_revive(&t->roster, m);
    if (changed)
        renew_serial(t, m);
    return ST_OK;
}

static enum status scan_one(void *arg, uint32_t pid)
{
    struct processes *t = arg;
    struct member *m = roster_find(&t->roster, pid);
    enum status st = m != NULL ? refresh(t, m) : load(t, pid, &m);

    if (st == ST_OK)
        m->scan = t->scan;
    return st == ST_NOMEM ? st : ST_OK; /* it ended meanwhile */
}

/* Those that the scan did not meet: gone, as far as events have come. drop_ended asks again. */
static void end_unseen(struct processes *t)
{
    struct member *after;

    for (struct member *m = t->roster.living.first; m != NULL; m = after) {
        after = m->after;
        if (m->scan != t->scan)
            roster_end(&t->roster, m, t->now);
    }
}

enum status processes_scan(struct processes *t, const char *scope_cgroup)
{
    enum status st;

    t->scan++;
    t->boot_offset_ns = read_boot_offset();
    if (scope_cgroup != NULL)
        st = pids_each_below(scope_cgroup, scan_one, t);
    else
        st = pids_each(scan_one, t);
    if (st == ST_OK)
        end_unseen(t);
    return st;
}

/* ---- questions ---- */

const struct process *processes_find(struct processes *t, uint32_t pid)
{
    struct member *m = roster_find(&t->roster, pid);

    if (m == NULL && load(t, pid, &m) != ST_OK)
        return NULL;
    roster_touch(&t->roster, m);
    return &m->process;
}

void processes_note_cgroup(struct processes *t, uint32_t pid, uint64_t cgroup)
{
    struct member *m = roster_find(&t->roster, pid);

    if (m == NULL || (m->cgroup_known && m->cgroup == cgroup))
        return;
    m->cgroup_known = true;
    m->cgroup = cgroup;
    read_labels(t, m);
}

const struct mapping *processes_map(struct processes *t, uint32_t pid, uint64_t address)
{
    const struct member *m = roster_find(&t->roster, pid);

    return m != NULL ? mappings_find(&m->mappings, address) : NULL;
}

enum status processes_open_binary(struct processes *t, const struct build_id *id, int *out_fd)
{
    return binaries_open(t->binaries, id, out_fd);
}

struct processes_counters processes_read_counters(const struct processes *t)
{
    return (struct processes_counters){
        .evicted = t->roster.displaced,
        .mappings_refused = t->mappings_refused,
        .unreadable_binaries = binaries_unreadable(t->binaries),
        .processes = t->roster.count,
        .binaries = binaries_count(t->binaries),
    };
}

enum status processes_new(struct processes **out)
{
    struct processes *t = calloc(1, sizeof(*t));
    enum status st = ST_NOMEM;

    if (t == NULL)
        return ST_NOMEM;
    t->tick_ns = NS_PER_S / (uint64_t)sysconf(_SC_CLK_TCK);
    t->boot_offset_ns = read_boot_offset();
    st = binaries_new(&t->binaries);
    if (st != ST_OK)
        goto out;
    *out = t;
    t = NULL;
out:
    processes_free(t);
    return st;
}

void processes_free(struct processes *t)
{
    if (t == NULL)
        return;
    roster_deinit(&t->roster);
    binaries_free(t->binaries);
    free(t);
}
