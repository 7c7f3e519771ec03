#include "agent/unwinding.h"

#include <stdlib.h>

#include "agent/unwind/deferred.h"
#include "agent/unwind/kernel_maps.h"
#include "agent/unwind/publisher.h"
#include "agent/unwind/tables.h"

/* A process whose mappings keep changing, as with JIT code, is published anew this often at most,
 * but for samples that need it. */
#define REPUBLISH_NS (50 * NS_PER_MS)
/* Tables are told of their use this often for each process: finding them takes a look-up a frame.
 */
#define USE_NS (100 * NS_PER_MS)

enum { FLOOD_COPIES = 16 }; /* half a MiB */
enum { CHANGED_MAX = 64 }; /* in one unwinding_run */

struct unwinding {
    struct processes *processes;
    struct kernel_maps *maps;
    struct tables *tables;
    struct publisher *publisher;
    struct mono now, seen;
    uint64_t first_version; /* of mappings: up to it they were there before us */
    struct code_mapping *mappings; /* room for one process's */
    uint32_t mapping_capacity;
    uint32_t changed[CHANGED_MAX]; /* processes to be published anew */
    uint32_t changed_count;
    struct deferred_walk walk; /* of the sample in hand */
    uint64_t deferred, deferred_to_root, held;
    uint32_t copies; /* since unwinding_is_flooded was asked */
};

/* ---- what the tables ask and tell ---- */

static enum status open_file(void *arg, const struct build_id *id, int *out_fd)
{
    return processes_open_binary(((struct unwinding *)arg)->processes, id, out_fd);
}

static void on_table_changed(void *arg, uint32_t binary)
{
    publisher_table_changed(((struct unwinding *)arg)->publisher, binary);
}

/* ---- publishing ---- */

static struct code_mapping as_code(const struct mapping *m)
{
    struct code_mapping code = {.start = m->start, .end = m->end, .file_offset = m->file_offset};

    if (m->binary != NULL)
        code.binary = m->binary->index;
    else
        code.kind = m->trampolines ? CODE_TRAMPOLINES : CODE_ANONYMOUS;
    return code;
}

static bool reserve(struct unwinding *u, uint32_t count)
{
    struct code_mapping *mappings;

    if (count <= u->mapping_capacity)
        return true;
    mappings = realloc(u->mappings, count * sizeof(*mappings));
    if (mappings == NULL)
        return false;
    u->mappings = mappings;
    u->mapping_capacity = count;
    return true;
}

/* Its names tell which of its memory without a file is CPython's trampolines. */
static void look_for_trampolines(struct unwinding *u, uint32_t pid)
{
    uint64_t version;
    uint32_t count = 0;
    const struct mapping *m = processes_code(u->processes, pid, &count, &version);

    for (uint32_t i = 0; m != NULL && i < count; i++)
        if (m[i].binary == NULL) {
            (void)processes_name_jit(u->processes, pid, m[i].start);
            return;
        }
}

/* All tables that it may need are asked for at once: a stack that led from one missing table to the
 * next would wait for each in turn. */
static void publish(struct unwinding *u, uint32_t pid, struct mono at)
{
    const struct process *process = processes_find(u->processes, pid);
    struct code code = {0};
    const struct mapping *m;

    if (process == NULL)
        return;
    code.program = process->serial;
    look_for_trampolines(u, pid);
    m = processes_code(u->processes, pid, &code.count, &code.version);
    if (m == NULL || !reserve(u, code.count))
        return;
    for (uint32_t i = 0; i < code.count; i++) {
        u->mappings[i] = as_code(&m[i]);
        if (m[i].binary != NULL)
            (void)tables_use(u->tables, m[i].binary->index, &m[i].binary->id, u->now);
    }
    code.mappings = u->mappings;
    code.settled = code.version <= u->first_version;
    (void)publisher_put(u->publisher, pid, &code, at); /* else: it stays unknown */
}

static void follow(struct unwinding *u, const struct sample *s)
{
    struct published_state state = publisher_state(u->publisher, s->pid);
    uint64_t version = 0;
    uint32_t count;

    if (processes_find(u->processes, s->pid) == NULL ||
        processes_code(u->processes, s->pid, &count, &version) == NULL)
        return;
    if (state.version == version)
        return;
    if (state.version == 0 || s->raw != NULL)
        publish(u, s->pid, s->time);
}

/* ---- samples ---- */

static void use_tables(struct unwinding *u, const struct sample *s)
{
    if (mono_since(u->now, publisher_used(u->publisher, s->pid)) < USE_NS)
        return;
    publisher_touch(u->publisher, s->pid, u->now);
    for (uint32_t i = 0; i < s->user_count; i++) {
        const struct mapping *m = processes_map(u->processes, s->pid, s->user[i] - (i > 0));

        if (m != NULL && m->binary != NULL)
            (void)tables_use(u->tables, m->binary->index, &m->binary->id, u->now);
    }
}

/* Its walk would come further with the tables that are being built: it did not come to the root, or
 * began in code that has no range yet and was taken to have frame pointers. */
static bool is_early(const struct unwinding *u, const struct sample *s)
{
    if (mono_since(u->now, s->time) >= UNWINDING_HOLD_NS || !publisher_waits(u->publisher, s->pid))
        return false;
    return u->walk.end != WALK_ROOT ||
           !ranges_hold(publisher_ranges(u->publisher, s->pid), s->raw->registers.ip);
}

/* The walk here starts anew; it is the better one unless the copy was too short. */
static bool walk_copy(struct unwinding *u, const struct sample *s, bool last, struct sample *out)
{
    const struct deferred_walk *w = &u->walk;

    deferred_walk(u->publisher, u->maps, s->pid, s->raw, &u->walk);
    if (!last && is_early(u, s)) {
        u->held++;
        u->copies = FLOOD_COPIES;
        return false;
    }
    u->copies++;
    u->deferred++;
    u->deferred_to_root += w->end == WALK_ROOT;
    if (w->end == WALK_ROOT || w->count >= s->user_count) {
        out->user = w->frames;
        out->user_count = w->count;
        out->end = w->end;
    }
    return true;
}

bool unwinding_take(struct unwinding *u, const struct sample *sample, bool last, struct sample *out)
{
    struct sample s = *sample;

    if (s.pid != 0 && !s.kernel_thread) {
        follow(u, &s);
        if (s.raw != NULL && !walk_copy(u, sample, last, &s))
            return false;
        use_tables(u, &s);
    }
    *out = s;
    return true;
}

/* Of its mappings as they are known by now; nothing is published before its time. */
void unwinding_expect(struct unwinding *u, const struct sample *sample)
{
    const struct mapping *m;
    uint64_t version;
    uint32_t count = 0;

    if (sample->raw == NULL || publisher_state(u->publisher, sample->pid).version != 0)
        return;
    m = processes_code(u->processes, sample->pid, &count, &version);
    for (uint32_t i = 0; m != NULL && i < count; i++)
        if (m[i].binary != NULL)
            (void)tables_use(u->tables, m[i].binary->index, &m[i].binary->id, u->now);
}

/* ---- upkeep ---- */

static bool lives(void *arg, uint32_t pid)
{
    struct unwinding *u = arg;
    struct published_state state = publisher_state(u->publisher, pid);
    uint64_t version;
    uint32_t count;

    if (processes_code(u->processes, pid, &count, &version) == NULL)
        return false;
    if (version != state.version && mono_since(u->seen, state.put_at) >= REPUBLISH_NS &&
        u->changed_count < CHANGED_MAX)
        u->changed[u->changed_count++] = pid;
    return true;
}

bool unwinding_is_flooded(struct unwinding *u)
{
    bool flooded = u->copies >= FLOOD_COPIES;

    u->copies = 0;
    return flooded;
}

void unwinding_run(struct unwinding *u, struct mono now, struct mono seen)
{
    u->now = now;
    u->seen = seen;
    u->changed_count = 0;
    publisher_sweep(u->publisher, lives, u);
    for (uint32_t i = 0; i < u->changed_count; i++)
        publish(u, u->changed[i], seen);
    tables_run(u->tables, now);
    publisher_run(u->publisher, seen);
}

struct unwinding_counters unwinding_read_counters(const struct unwinding *u)
{
    struct tables_counters t = tables_read_counters(u->tables);
    struct publisher_counters p = publisher_read_counters(u->publisher);

    return (struct unwinding_counters){
        .deferred = u->deferred,
        .deferred_to_root = u->deferred_to_root,
        .held = u->held,
        .tables_built = t.built,
        .tables_refused = t.refused,
        .tables_evicted = t.evicted,
        .tables_failed = t.failed,
        .build_ns = t.build_ns,
        .pages_written = p.pages_written,
        .bytes = t.bytes,
        .rows = t.rows,
    };
}

/* ---- life ---- */

enum status unwinding_new(struct sampler_maps maps, struct processes *processes,
                          struct unwinding **out)
{
    struct unwinding *u = calloc(1, sizeof(*u));
    struct tables_options tables = {.open = open_file, .changed = on_table_changed, .arg = u};
    enum status st = ST_NOMEM;

    if (u == NULL)
        return ST_NOMEM;
    u->processes = processes;
    u->first_version = processes_code_version(processes);
    st = kernel_maps_open(maps.processes, maps.shards, &u->maps);
    if (st != ST_OK)
        goto out;
    tables.maps = u->maps;
    st = tables_new(&tables, &u->tables);
    if (st != ST_OK)
        goto out;
    st = publisher_new(u->maps, u->tables, &u->publisher);
    if (st != ST_OK)
        goto out;
    *out = u;
    u = NULL;
out:
    unwinding_free(u);
    return st;
}

void unwinding_free(struct unwinding *u)
{
    if (u == NULL)
        return;
    publisher_free(u->publisher);
    tables_free(u->tables);
    kernel_maps_close(u->maps);
    free(u->mappings);
    free(u);
}
