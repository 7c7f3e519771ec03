/* What /proc shows, taken into the table: one process, or all of them. */
#include "agent/process/process.h"

#include <string.h>
#include <time.h>

#include "agent/process/pids.h"
#include "agent/process/process_table.h"
#include "agent/process/snapshot.h"

/* Two starts of one pid that are closer are one: /proc counts in ticks of 10 ms, and no machine
 * uses up all its pids in this time. */
#define START_SLACK_NS (100 * NS_PER_MS)

uint64_t process_boot_offset(void)
{
    struct timespec boot, mono;

    clock_gettime(CLOCK_MONOTONIC, &mono);
    clock_gettime(CLOCK_BOOTTIME, &boot);
    return (uint64_t)(boot.tv_sec - mono.tv_sec) * NS_PER_S + (uint64_t)boot.tv_nsec -
           (uint64_t)mono.tv_nsec;
}

uint64_t process_start_at(const struct processes *t, struct mono when)
{
    uint64_t ns = when.ns + t->boot_offset_ns;

    return ns - ns % t->tick_ns;
}

bool process_same_start(uint64_t a, uint64_t b)
{
    return (a > b ? a - b : b - a) < START_SLACK_NS;
}

void process_renew_code(struct processes *t, struct member *m)
{
    m->code_version = ++t->code_version;
}

void process_renew_serial(struct processes *t, struct member *m)
{
    m->process.serial = ++t->serial;
}

/* ---- one process ---- */

/* Takes over what `s` owns. */
static void fill_in(struct processes *t, struct member *m, struct snapshot *s)
{
    mappings_deinit(&m->mappings);
    process_set_comm(m, s->comm);
    m->process.start_ns = s->start_ns;
    m->mappings = s->mappings;
    process_renew_code(t, m);
    m->threads = s->threads > 0 ? s->threads : 1;
    t->mappings_refused += s->refused;
    *s = (struct snapshot){0};
}

enum status process_load(struct processes *t, uint32_t pid, struct member **out)
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
    process_renew_serial(t, m);
    *out = m;
    return ST_OK;
}

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
              !process_same_start(s.start_ns, m->process.start_ns);
    fill_in(t, m, &s);
    roster_revive(&t->roster, m);
    if (changed) {
        m->labels_known = false;
        process_drop_jit(m);
        process_renew_serial(t, m);
    }
    return ST_OK;
}

static enum status scan_one(void *arg, uint32_t pid)
{
    struct processes *t = arg;
    struct member *m = roster_find(&t->roster, pid);
    enum status st;

    process_sweep_binaries(t);
    st = m != NULL ? refresh(t, m) : process_load(t, pid, &m);

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
    t->boot_offset_ns = process_boot_offset();
    if (scope_cgroup != NULL)
        st = pids_each_below(scope_cgroup, scan_one, t);
    else
        st = pids_each(scan_one, t);
    if (st == ST_OK)
        end_unseen(t);
    return st;
}
