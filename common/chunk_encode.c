/* A chunk's bytes, written. Deltas are signed, so a builder that sorts is rewarded and one that
 * does not is only larger. */
#include <string.h>

#include "common/chunk_layout.h"
#include "common/ledger_codec.h"
#include "common/table.h"
#include "common/utf8.h"

/* ---- info ---- */

static void put_info(struct wire_writer *w, const struct chunk_info *info)
{
    wire_put_map(w, INFO_KEYS);
    wire_put_u64(w, INFO_PROFILER);
    wire_put_bin(w, info->profiler.bytes, ID128_BYTES);
    wire_put_u64(w, INFO_SEQUENCE);
    wire_put_u64(w, info->sequence);
    wire_put_u64(w, INFO_INCARNATION);
    wire_put_u64(w, info->incarnation);
    wire_put_u64(w, INFO_FINAL);
    wire_put_bool(w, info->final);
    wire_put_u64(w, INFO_START);
    wire_put_u64(w, info->start.ns);
    wire_put_u64(w, INFO_LENGTH);
    wire_put_u64(w, info->end.ns - info->start.ns);
    wire_put_u64(w, INFO_WALL_START);
    wire_put_u64(w, info->wall_start.ns);
    wire_put_u64(w, INFO_CLOCK_OFFSET);
    wire_put_i64(w, info->clock_offset_ns);
    wire_put_u64(w, INFO_EVENT);
    wire_put_u64(w, info->event);
    wire_put_u64(w, INFO_PERIOD);
    wire_put_u64(w, info->period_ns);
    wire_put_u64(w, INFO_INCLUSION);
    wire_put_f64(w, info->inclusion);
    wire_put_u64(w, INFO_CPUS);
    wire_put_u64(w, info->cpus);
    wire_put_u64(w, INFO_LEDGER);
    ledger_put(w, &info->ledger);
    wire_put_u64(w, INFO_COST);
    agent_cost_put(w, &info->cost);
    wire_put_u64(w, INFO_WALKS);
    walks_put(w, &info->walks);
}

/* ---- dictionary ---- */

static void put_strings(struct wire_writer *w, const struct chunk_dictionary *d)
{
    struct table_writer t = {0};

    for (uint32_t i = 0; i < d->string_count; i++)
        table_put_text(&t, STRING_TEXT, d->strings[i]);
    table_write(w, &t, d->string_count, STRING_COLUMNS);
}

static void put_binaries(struct wire_writer *w, const struct chunk_dictionary *d)
{
    struct table_writer t = {0};

    for (uint32_t i = 0; i < d->binary_count; i++) {
        table_put_bytes(&t, BINARY_ID, d->binaries[i].id.bytes, d->binaries[i].id.length);
        table_put_delta(&t, BINARY_PATH, chunk_optional_put(d->binaries[i].path));
    }
    table_write(w, &t, d->binary_count, BINARY_COLUMNS);
}

static void put_frames(struct wire_writer *w, const struct chunk_dictionary *d)
{
    struct table_writer t = {0};

    for (uint32_t i = 0; i < d->frame_count; i++) {
        const struct chunk_frame *f = &d->frames[i];

        table_put(&t, FRAME_KIND, f->kind);
        table_put_delta(&t, FRAME_BINARY, chunk_optional_put(f->binary));
        table_put_delta(&t, FRAME_NAME, chunk_optional_put(f->name));
        table_put_delta(&t, FRAME_OFFSET, f->offset);
    }
    table_write(w, &t, d->frame_count, FRAME_COLUMNS);
}

static void put_nodes(struct wire_writer *w, const struct chunk_dictionary *d)
{
    struct table_writer t = {0};

    for (uint32_t i = 0; i < d->node_count; i++) {
        const struct chunk_node *n = &d->nodes[i];

        table_put(&t, NODE_UP, n->parent == CHUNK_NO_PARENT ? 0 : i - n->parent);
        table_put(&t, NODE_FRAME, n->frame); /* no delta: zstd finds call paths that recur */
    }
    table_write(w, &t, d->node_count, NODE_COLUMNS);
}

static void put_dictionary(struct wire_writer *w, const struct chunk_dictionary *d)
{
    wire_put_map(w, DICTIONARY_KEYS);
    wire_put_u64(w, DICTIONARY_STRINGS);
    put_strings(w, d);
    wire_put_u64(w, DICTIONARY_BINARIES);
    put_binaries(w, d);
    wire_put_u64(w, DICTIONARY_FRAMES);
    put_frames(w, d);
    wire_put_u64(w, DICTIONARY_NODES);
    put_nodes(w, d);
}

/* ---- samples ---- */

static void put_labels(struct wire_writer *w, const struct chunk_samples *s)
{
    struct table_writer t = {0};

    for (uint32_t i = 0; i < s->label_count; i++) {
        table_put(&t, LABEL_KEY, s->labels[i].key);
        table_put(&t, LABEL_VALUE, s->labels[i].value);
    }
    table_write(w, &t, s->label_count, LABEL_COLUMNS);
}

static void put_processes(struct wire_writer *w, const struct chunk_samples *s)
{
    struct table_writer t = {0};

    for (uint32_t i = 0; i < s->process_count; i++) {
        const struct chunk_process *p = &s->processes[i];

        table_put_delta(&t, PROCESS_PID, p->pid);
        table_put_delta(&t, PROCESS_START, p->start_ns);
        table_put(&t, PROCESS_COMM, chunk_optional_put(p->comm));
        table_put(&t, PROCESS_LABELS, p->label_count);
    }
    table_write(w, &t, s->process_count, PROCESS_COLUMNS);
}

static void put_threads(struct wire_writer *w, const struct chunk_samples *s)
{
    struct table_writer t = {0};

    for (uint32_t i = 0; i < s->thread_count; i++) {
        table_put_delta(&t, THREAD_PROCESS, s->threads[i].process);
        table_put_delta(&t, THREAD_TID, s->threads[i].tid);
        table_put(&t, THREAD_NAME, chunk_optional_put(s->threads[i].name));
    }
    table_write(w, &t, s->thread_count, THREAD_COLUMNS);
}

static void put_groups(struct wire_writer *w, const struct chunk_samples *s)
{
    struct table_writer t = {0};

    for (uint32_t i = 0; i < s->group_count; i++) {
        table_put_delta(&t, GROUP_LEAF, s->groups[i].leaf);
        table_put_delta(&t, GROUP_THREAD, s->groups[i].thread);
        table_put(&t, GROUP_COUNT, s->groups[i].count);
    }
    table_write(w, &t, s->group_count, GROUP_COLUMNS);
}

static void put_ticks(struct wire_writer *w, const struct chunk_samples *s)
{
    struct table_writer t = {0};
    const uint32_t *next = s->ticks;

    for (uint32_t i = 0; i < s->group_count; i++) {
        uint32_t last = 0; /* ticks restart with each group */

        for (uint32_t left = s->groups[i].count; left > 0; left--) {
            table_put(&t, TICK_STEP, *next - last);
            last = *next++;
        }
    }
    table_write(w, &t, s->sample_count, TICK_COLUMNS);
}

static void put_samples(struct wire_writer *w, const struct chunk_samples *s)
{
    wire_put_map(w, SAMPLES_KEYS);
    wire_put_u64(w, SAMPLES_LABELS);
    put_labels(w, s);
    wire_put_u64(w, SAMPLES_PROCESSES);
    put_processes(w, s);
    wire_put_u64(w, SAMPLES_THREADS);
    put_threads(w, s);
    wire_put_u64(w, SAMPLES_GROUPS);
    put_groups(w, s);
    wire_put_u64(w, SAMPLES_TICKS);
    put_ticks(w, s);
}

/* ---- the whole ---- */

static enum status check_strings(const struct chunk_dictionary *d)
{
    for (uint32_t i = 0; i < d->string_count; i++) {
        size_t length = strlen(d->strings[i]);

        if (length > CHUNK_STRING_BYTES_MAX)
            return ST_TOO_BIG;
        if (!utf8_valid(d->strings[i], length))
            return ST_INVALID;
    }
    return ST_OK;
}

static void put_chunk(struct wire_writer *w, const struct chunk *c, enum chunk_form form)
{
    wire_put_map(w, form == CHUNK_WIRE ? 4 : 3);
    wire_put_u64(w, CHUNK_KEY_LAYOUT);
    wire_put_u64(w, CHUNK_LAYOUT);
    wire_put_u64(w, CHUNK_KEY_INFO);
    put_info(w, &c->info);
    if (form == CHUNK_WIRE) {
        wire_put_u64(w, CHUNK_KEY_DICTIONARY);
        put_dictionary(w, &c->dictionary);
    }
    wire_put_u64(w, CHUNK_KEY_SAMPLES);
    put_samples(w, &c->samples);
}

enum status chunk_encode(const struct chunk *c, enum chunk_form form, struct blob *out)
{
    const char *why; /* a builder's mistake: its tests say which */
    struct wire_writer *w = NULL;
    struct blob packed = {0};
    enum status st = chunk_check(c, form, &why);

    if (st == ST_OK && form == CHUNK_WIRE)
        st = check_strings(&c->dictionary);
    if (st == ST_OK)
        st = wire_writer_new(CHUNK_PLAIN_MAX, &w);
    if (st != ST_OK)
        goto out;
    put_chunk(w, c, form);
    st = wire_writer_status(w);
    if (st == ST_OK)
        st = compress_blob(wire_writer_bytes(w), &packed);
    if (st == ST_OK && packed.length > CHUNK_PACKED_MAX)
        st = ST_TOO_BIG;
    if (st != ST_OK)
        goto out;

    *out = packed;
    packed = (struct blob){0};
out:
    blob_deinit(&packed);
    wire_writer_free(w);
    return st;
}
