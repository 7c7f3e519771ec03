/* The rules of a chunk: every one that is not about the bytes themselves.
 * Each check names the first rule broken; the sender is told in these words. */
#include <stdlib.h>

#include "common/chunk_layout.h"
#include "common/labels.h"

/* ns; 2262: keeps every time and sum of times within 64 signed bits */
#define TIME_MAX_NS (UINT64_C(1) << 63)

static enum status broken(const char **why, const char *rule)
{
    *why = rule;
    return ST_INVALID;
}

static enum status over_limit(const char **why, const char *rule)
{
    *why = rule;
    return ST_TOO_BIG;
}

/* ---- info ---- */

uint64_t chunk_expected_max(const struct chunk_info *info)
{
    uint64_t window_ns = mono_since(info->end, info->start);

    if (info->event != EVENT_CPU)
        return UINT64_MAX;
    /* At most 2 x 8192 x 600e9: fits. */
    return (uint64_t)CHUNK_EXPECTED_SLACK * info->cpus * window_ns / info->period_ns +
           CHUNK_EXPECTED_SPARE;
}

/* Takes each part off what is left, so that no sum can wrap. */
static bool ledger_balances(const struct ledger *l)
{
    const uint64_t parts[] = {l->delivered, l->idle, l->skipped};
    uint64_t left = l->expected;

    for (unsigned i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
        if (parts[i] > left)
            return false;
        left -= parts[i];
    }
    for (unsigned i = 0; i < LOSS_KINDS; i++) {
        if (l->lost[i] > left)
            return false;
        left -= l->lost[i];
    }
    return left == 0;
}

enum status chunk_info_check(const struct chunk_info *info, const char **why)
{
    enum event event;

    if (id128_is_zero(info->profiler))
        return broken(why, "a chunk names its profiler");
    if (info->sequence == 0)
        return broken(why, "sequences start at 1");
    if (info->start.ns >= TIME_MAX_NS || info->wall_start.ns >= TIME_MAX_NS)
        return broken(why, "times lie before the year 2262");
    if (info->end.ns < info->start.ns)
        return broken(why, "a window ends after it starts");
    if (info->end.ns - info->start.ns > CHUNK_WINDOW_MAX_NS)
        return over_limit(why, "a window is at most 600 s long");
    if (!event_from_number((uint64_t)info->event, &event))
        return broken(why, "the event is not known here");
    if (info->period_ns == 0 || info->period_ns > CHUNK_PERIOD_MAX_NS)
        return broken(why, "a period is from 1 ns to 600 s");
    if (!(info->inclusion >= CHUNK_INCLUSION_MIN && info->inclusion <= 1))
        return broken(why, "an inclusion probability is from 1e-6 to 1");
    if (info->cpus > CHUNK_CPUS_MAX)
        return broken(why, "a host has at most 8192 CPUs");
    if (!ledger_balances(&info->ledger))
        return broken(why, "a ledger balances: expected = delivered + idle + skipped + lost");
    if (walks_sum(&info->walks) > info->ledger.delivered)
        return broken(why, "no more walks ended than samples were delivered");
    if (info->ledger.expected > chunk_expected_max(info))
        return broken(why, "a ledger expects no more than its CPUs, window and period allow");
    return ST_OK;
}

/* ---- dictionary ---- */

static bool is_index(uint32_t index, uint32_t count)
{
    return index < count;
}

static bool is_optional_index(uint32_t index, uint32_t count)
{
    return index == CHUNK_NO_PARENT || index < count;
}

static bool frame_is_sound(const struct chunk_frame *f, const struct chunk_dictionary *d)
{
    switch (f->kind) {
    case FRAME_NATIVE:
    case FRAME_KERNEL:
        return is_index(f->binary, d->binary_count) && f->name == CHUNK_NO_PARENT;
    case FRAME_NAMED:
    case FRAME_MARK:
        return is_index(f->name, d->string_count) && f->binary == CHUNK_NO_PARENT && f->offset == 0;
    }
    return false; /* a kind that is none */
}

static enum status check_nodes(const struct chunk_dictionary *d, const char **why)
{
    enum status st = ST_OK;
    uint16_t *depths = calloc(d->node_count > 0 ? d->node_count : 1, sizeof(*depths));

    if (depths == NULL)
        return ST_NOMEM;
    for (uint32_t i = 0; i < d->node_count && st == ST_OK; i++) {
        const struct chunk_node *n = &d->nodes[i];

        if (!is_optional_index(n->parent, i))
            st = broken(why, "a node's parent comes before it");
        else if (!is_index(n->frame, d->frame_count))
            st = broken(why, "a node's frame is in the table of frames");
        else if (n->parent != CHUNK_NO_PARENT)
            depths[i] = (uint16_t)(depths[n->parent] + 1);
        if (depths[i] >= CHUNK_DEPTH_MAX)
            st = over_limit(why, "a stack has at most 512 frames");
    }
    free(depths);
    return st;
}

static enum status check_dictionary(const struct chunk_dictionary *d, const char **why)
{
    if (d->string_count > CHUNK_STRINGS_MAX || d->binary_count > CHUNK_BINARIES_MAX ||
        d->frame_count > CHUNK_FRAMES_MAX || d->node_count > CHUNK_NODES_MAX)
        return over_limit(why, "a table of the dictionary is over its limit");
    for (uint32_t i = 0; i < d->binary_count; i++)
        if (!is_optional_index(d->binaries[i].path, d->string_count))
            return broken(why, "a binary's path is in the table of strings");
    for (uint32_t i = 0; i < d->frame_count; i++)
        if (!frame_is_sound(&d->frames[i], d))
            return broken(why, "a frame has a kind, and the binary or name that the kind needs");
    return check_nodes(d, why);
}

/* ---- samples ---- */

struct bounds { /* what strings and leaves may be: below the dictionary's counts, or any id */
    uint32_t strings, nodes;
};

static enum status check_processes(const struct chunk_samples *s, struct bounds below,
                                   const char **why)
{
    uint32_t next_label = 0; /* labels lie process by process: none is shared, none is left over */

    for (uint32_t i = 0; i < s->label_count; i++)
        if (!is_index(s->labels[i].key, below.strings) ||
            !is_index(s->labels[i].value, below.strings))
            return broken(why, "a label's key and value are in the table of strings");
    for (uint32_t i = 0; i < s->process_count; i++) {
        const struct chunk_process *p = &s->processes[i];

        if (!is_optional_index(p->comm, below.strings))
            return broken(why, "a process's name is in the table of strings");
        if (p->label_count > LABELS_MAX)
            return over_limit(why, "a process has at most 64 labels");
        if (p->first_label != next_label || p->label_count > s->label_count - next_label)
            return broken(why, "labels lie process by process");
        next_label += p->label_count;
    }
    if (next_label != s->label_count)
        return broken(why, "every label belongs to a process");
    return ST_OK;
}

static enum status check_threads(const struct chunk_samples *s, struct bounds below,
                                 const char **why)
{
    for (uint32_t i = 0; i < s->thread_count; i++) {
        if (!is_index(s->threads[i].process, s->process_count))
            return broken(why, "a thread's process is in the table of processes");
        if (!is_optional_index(s->threads[i].name, below.strings))
            return broken(why, "a thread's name is in the table of strings");
    }
    return ST_OK;
}

static bool ticks_ascend(const uint32_t *ticks, uint32_t count, uint64_t last)
{
    for (uint32_t i = 1; i < count; i++)
        if (ticks[i] < ticks[i - 1])
            return false;
    return ticks[count - 1] <= last;
}

static enum status check_groups(const struct chunk *c, struct bounds below, const char **why)
{
    const struct chunk_samples *s = &c->samples;
    uint64_t last_tick = mono_since(c->info.end, c->info.start) / CHUNK_TICK_NS;
    uint32_t next = 0; /* sample */

    for (uint32_t i = 0; i < s->group_count; i++) {
        const struct chunk_group *g = &s->groups[i];

        if (!is_index(g->leaf, below.nodes))
            return broken(why, "a group's leaf is in the table of nodes");
        if (!is_index(g->thread, s->thread_count))
            return broken(why, "a group's thread is in the table of threads");
        if (g->count == 0 || g->count > s->sample_count - next)
            return broken(why, "the groups' counts are at least 1 and add up to the samples");
        if (!ticks_ascend(s->ticks + next, g->count, last_tick))
            return broken(why, "ticks ascend within a group and lie in the window");
        next += g->count;
    }
    if (next != s->sample_count)
        return broken(why, "every sample belongs to a group");
    return ST_OK;
}

static enum status check_samples(const struct chunk *c, struct bounds below, const char **why)
{
    const struct chunk_samples *s = &c->samples;
    enum status st;

    if (s->label_count > CHUNK_LABELS_MAX || s->process_count > CHUNK_PROCESSES_MAX ||
        s->thread_count > CHUNK_THREADS_MAX || s->group_count > CHUNK_SAMPLES_MAX ||
        s->sample_count > CHUNK_SAMPLES_MAX)
        return over_limit(why, "a table of the samples is over its limit");
    if (c->info.ledger.delivered != s->sample_count)
        return broken(why, "the ledger's delivered samples are those in the chunk");
    st = check_processes(s, below, why);
    if (st == ST_OK)
        st = check_threads(s, below, why);
    if (st == ST_OK)
        st = check_groups(c, below, why);
    return st;
}

enum status chunk_check(const struct chunk *c, enum chunk_form form, const char **why)
{
    struct bounds below = {CHUNK_NO_PARENT, CHUNK_NO_PARENT};
    enum status st = chunk_info_check(&c->info, why);

    if (form == CHUNK_WIRE) {
        below = (struct bounds){c->dictionary.string_count, c->dictionary.node_count};
        if (st == ST_OK)
            st = check_dictionary(&c->dictionary, why);
    }
    if (st == ST_OK)
        st = check_samples(c, below, why);
    return st;
}
