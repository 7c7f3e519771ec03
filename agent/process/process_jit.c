/* Names of JIT code, process by process, within one bound for all. */
#include "agent/process/process.h"

#include "agent/process/process_table.h"

void process_drop_jit(struct member *m)
{
    jit_free(m->jit);
    m->jit = NULL;
}

/* Names can be read again: those of processes that were not asked for lately make room. */
static void make_room(struct processes *t, const struct member *user)
{
    for (struct member *m = t->roster.living.first;
         m != NULL && t->jit_pool.bytes > t->jit_bytes_max; m = m->after)
        if (m != user)
            process_drop_jit(m);
}

bool process_maps_trampolines(const struct member *m, const struct mapping *mapping)
{
    return m->jit != NULL && mapping->binary == NULL &&
           jit_has_trampolines(m->jit, mapping->start, mapping->end);
}

static void mark_trampolines(struct processes *t, struct member *m)
{
    bool changed = false;

    for (uint32_t i = 0; i < m->mappings.count; i++) {
        struct mapping *mapping = &m->mappings.items[i];
        bool trampolines = process_maps_trampolines(m, mapping);

        changed |= trampolines != mapping->trampolines;
        mapping->trampolines = trampolines;
    }
    if (changed)
        process_renew_code(t, m);
}

void process_follow_jit(struct processes *t, struct member *m)
{
    if (m->jit == NULL || !jit_follow(m->jit, t->now))
        return;
    make_room(t, m);
    mark_trampolines(t, m);
}

static void begin(struct processes *t, struct member *m, uint32_t elder)
{
    if (m->jit == NULL) /* without memory there are no names */
        (void)jit_new(&t->jit_pool, m->process.pid, m->process.start_ns, elder, &m->jit);
}

void process_inherit_jit(struct processes *t, struct member *child, const struct member *parent)
{
    uint32_t elder = parent->jit != NULL ? jit_elder(parent->jit) : 0;

    if (elder != 0)
        begin(t, child, elder);
}

const char *processes_name_jit(struct processes *t, uint32_t pid, uint64_t address)
{
    struct member *m = roster_find(&t->roster, pid);

    if (m == NULL)
        return NULL;
    if (m->jit == NULL) {
        begin(t, m, 0);
        process_follow_jit(t, m); /* later only between samples: names in use stay */
    }
    return m->jit != NULL ? jit_find(m->jit, address) : NULL;
}
