/* A chunk's bytes, read. Tables are read as they come and chunk_check.c judges the whole, so an
 * index may be anything until then; memory is bounded by the plain bytes (see table.h). */
#include <stdlib.h>
#include <string.h>

#include "common/chunk_layout.h"
#include "common/ledger_codec.h"
#include "common/table.h"

/* Zeroed rows for a table; NULL after a failure. */
static void *allocate(struct wire_reader *r, const struct table_reader *t, size_t row_bytes)
{
    void *rows;

    if (wire_reader_status(r) != ST_OK)
        return NULL;
    rows = calloc(t->rows > 0 ? t->rows : 1, row_bytes);
    if (rows == NULL)
        wire_fail(r, ST_NOMEM);
    return rows;
}

/* ---- info ---- */

static void get_info(struct wire_reader *r, struct chunk_info *info)
{
    uint64_t key = 0, length = 0;

    for (uint32_t n = wire_get_map(r, CHUNK_KEYS_MAX); n > 0 && wire_key(r, &key); n--) {
        switch (key) {
        case INFO_PROFILER:
            wire_get_bytes(r, info->profiler.bytes, ID128_BYTES);
            break;
        case INFO_SEQUENCE:
            info->sequence = wire_get_u64(r);
            break;
        case INFO_INCARNATION:
            info->incarnation = wire_get_u64(r);
            break;
        case INFO_FINAL:
            info->final = wire_get_bool(r);
            break;
        case INFO_START:
            info->start.ns = wire_get_u64(r);
            break;
        case INFO_LENGTH:
            length = wire_get_u64(r);
            break;
        case INFO_WALL_START:
            info->wall_start.ns = wire_get_u64(r);
            break;
        case INFO_CLOCK_OFFSET:
            info->clock_offset_ns = wire_get_i64(r);
            break;
        case INFO_EVENT:
            info->event = (enum event)wire_get_u32(r);
            break;
        case INFO_PERIOD:
            info->period_ns = wire_get_u64(r);
            break;
        case INFO_INCLUSION:
            info->inclusion = wire_get_f64(r);
            break;
        case INFO_CPUS:
            info->cpus = wire_get_u32(r);
            break;
        case INFO_LEDGER:
            info->ledger = ledger_get(r);
            break;
        case INFO_COST:
            info->cost = agent_cost_get(r);
            break;
        case INFO_WALKS:
            info->walks = walks_get(r);
            break;
        default:
            wire_skip(r);
        }
    }
    info->end.ns = info->start.ns + length; /* a wrap ends before it starts: the check's business */
}

/* ---- dictionary ---- */

static void get_strings(struct wire_reader *r, struct chunk_dictionary *d)
{
    struct table_reader t = table_read(r, CHUNK_STRINGS_MAX, STRING_COLUMNS);
    const struct wire_reader *texts = &t.column[STRING_TEXT];
    char *next;

    d->strings = allocate(r, &t, sizeof(*d->strings));
    if (d->strings == NULL)
        return;
    next = d->text = malloc((size_t)(texts->end - texts->next) + 1);
    if (d->text == NULL) {
        wire_fail(r, ST_NOMEM);
        return;
    }
    for (; d->string_count < t.rows; d->string_count++) {
        struct slice text = table_get_text(&t, STRING_TEXT, CHUNK_STRING_BYTES_MAX);

        if (text.bytes == NULL)
            break;
        d->strings[d->string_count] = memcpy(next, text.bytes, text.length + 1);
        next += text.length + 1;
    }
    table_finish(r, &t);
}

static struct chunk_binary get_binary(struct table_reader *t)
{
    struct chunk_binary b = {.path = chunk_optional_get(table_get_delta_u32(t, BINARY_PATH))};
    struct slice id = table_get_bytes(t, BINARY_ID, BUILD_ID_BYTES);

    b.id.length = (uint8_t)id.length;
    if (id.length > 0)
        memcpy(b.id.bytes, id.bytes, id.length);
    return b;
}

static void get_binaries(struct wire_reader *r, struct chunk_dictionary *d)
{
    struct table_reader t = table_read(r, CHUNK_BINARIES_MAX, BINARY_COLUMNS);

    d->binaries = allocate(r, &t, sizeof(*d->binaries));
    if (d->binaries == NULL)
        return;
    while (d->binary_count < t.rows)
        d->binaries[d->binary_count++] = get_binary(&t);
    table_finish(r, &t);
}

static void get_frames(struct wire_reader *r, struct chunk_dictionary *d)
{
    struct table_reader t = table_read(r, CHUNK_FRAMES_MAX, FRAME_COLUMNS);

    d->frames = allocate(r, &t, sizeof(*d->frames));
    if (d->frames == NULL)
        return;
    while (d->frame_count < t.rows)
        d->frames[d->frame_count++] = (struct chunk_frame){
            .kind = (enum frame_kind)table_get_u32(&t, FRAME_KIND),
            .binary = chunk_optional_get(table_get_delta_u32(&t, FRAME_BINARY)),
            .name = chunk_optional_get(table_get_delta_u32(&t, FRAME_NAME)),
            .offset = table_get_delta(&t, FRAME_OFFSET),
        };
    table_finish(r, &t);
}

static uint32_t get_parent(struct table_reader *t, uint32_t node)
{
    uint64_t up = table_get(t, NODE_UP);

    if (up > node)
        wire_fail(&t->column[NODE_UP], ST_INVALID);
    return up > 0 ? node - (uint32_t)up : CHUNK_NO_PARENT;
}

static void get_nodes(struct wire_reader *r, struct chunk_dictionary *d)
{
    struct table_reader t = table_read(r, CHUNK_NODES_MAX, NODE_COLUMNS);

    d->nodes = allocate(r, &t, sizeof(*d->nodes));
    if (d->nodes == NULL)
        return;
    for (; d->node_count < t.rows; d->node_count++)
        d->nodes[d->node_count] = (struct chunk_node){
            .parent = get_parent(&t, d->node_count),
            .frame = table_get_u32(&t, NODE_FRAME),
        };
    table_finish(r, &t);
}

static void get_dictionary(struct wire_reader *r, struct chunk_dictionary *d)
{
    static void (*const tables[])(struct wire_reader *, struct chunk_dictionary *) = {
        [DICTIONARY_STRINGS] = get_strings,
        [DICTIONARY_BINARIES] = get_binaries,
        [DICTIONARY_FRAMES] = get_frames,
        [DICTIONARY_NODES] = get_nodes,
    };
    uint64_t key = 0;

    for (uint32_t n = wire_get_map(r, CHUNK_KEYS_MAX); n > 0 && wire_key(r, &key); n--) {
        if (key <= DICTIONARY_KEYS)
            tables[key](r, d);
        else
            wire_skip(r);
    }
}

/* ---- samples ---- */

static void get_labels(struct wire_reader *r, struct chunk_samples *s)
{
    struct table_reader t = table_read(r, CHUNK_LABELS_MAX, LABEL_COLUMNS);

    s->labels = allocate(r, &t, sizeof(*s->labels));
    if (s->labels == NULL)
        return;
    while (s->label_count < t.rows)
        s->labels[s->label_count++] = (struct chunk_label){
            .key = table_get_u32(&t, LABEL_KEY),
            .value = table_get_u32(&t, LABEL_VALUE),
        };
    table_finish(r, &t);
}

static void get_processes(struct wire_reader *r, struct chunk_samples *s)
{
    struct table_reader t = table_read(r, CHUNK_PROCESSES_MAX, PROCESS_COLUMNS);
    uint32_t next_label = 0;

    s->processes = allocate(r, &t, sizeof(*s->processes));
    if (s->processes == NULL)
        return;
    while (s->process_count < t.rows) {
        struct chunk_process *p = &s->processes[s->process_count++];

        p->pid = table_get_delta_u32(&t, PROCESS_PID);
        p->start_ns = table_get_delta(&t, PROCESS_START);
        p->comm = chunk_optional_get(table_get_u32(&t, PROCESS_COMM));
        p->first_label = next_label;
        p->label_count = table_get_u32(&t, PROCESS_LABELS);
        next_label += p->label_count; /* may wrap: then the check finds it over its limit */
    }
    table_finish(r, &t);
}

static void get_threads(struct wire_reader *r, struct chunk_samples *s)
{
    struct table_reader t = table_read(r, CHUNK_THREADS_MAX, THREAD_COLUMNS);

    s->threads = allocate(r, &t, sizeof(*s->threads));
    if (s->threads == NULL)
        return;
    while (s->thread_count < t.rows)
        s->threads[s->thread_count++] = (struct chunk_thread){
            .process = table_get_delta_u32(&t, THREAD_PROCESS),
            .tid = table_get_delta_u32(&t, THREAD_TID),
            .name = chunk_optional_get(table_get_u32(&t, THREAD_NAME)),
        };
    table_finish(r, &t);
}

static void get_groups(struct wire_reader *r, struct chunk_samples *s)
{
    struct table_reader t = table_read(r, CHUNK_SAMPLES_MAX, GROUP_COLUMNS);

    s->groups = allocate(r, &t, sizeof(*s->groups));
    if (s->groups == NULL)
        return;
    while (s->group_count < t.rows)
        s->groups[s->group_count++] = (struct chunk_group){
            .leaf = table_get_delta_u32(&t, GROUP_LEAF),
            .thread = table_get_delta_u32(&t, GROUP_THREAD),
            .count = table_get_u32(&t, GROUP_COUNT),
        };
    table_finish(r, &t);
}

/* The ticks of one group; fewer than its count where the column ends, which the check finds. */
static void get_group_ticks(struct table_reader *t, uint32_t count, struct chunk_samples *s)
{
    uint64_t tick = 0;

    for (; count > 0 && s->sample_count < t->rows; count--) {
        uint64_t step = table_get(t, TICK_STEP);

        tick += step <= UINT32_MAX ? step : UINT32_MAX;
        if (tick > UINT32_MAX) {
            wire_fail(&t->column[TICK_STEP], ST_INVALID);
            tick = 0;
        }
        s->ticks[s->sample_count++] = (uint32_t)tick;
    }
}

static void get_ticks(struct wire_reader *r, struct chunk_samples *s)
{
    struct table_reader t = table_read(r, CHUNK_SAMPLES_MAX, TICK_COLUMNS);

    s->ticks = allocate(r, &t, sizeof(*s->ticks));
    if (s->ticks == NULL)
        return;
    for (uint32_t i = 0; i < s->group_count; i++)
        get_group_ticks(&t, s->groups[i].count, s);
    if (s->sample_count != t.rows) /* ticks that no group claims */
        wire_fail(r, ST_INVALID);
    table_finish(r, &t);
}

static void get_samples(struct wire_reader *r, struct chunk_samples *s)
{
    static void (*const tables[])(struct wire_reader *, struct chunk_samples *) = {
        [SAMPLES_LABELS] = get_labels,   [SAMPLES_PROCESSES] = get_processes,
        [SAMPLES_THREADS] = get_threads, [SAMPLES_GROUPS] = get_groups,
        [SAMPLES_TICKS] = get_ticks,
    };
    uint64_t key = 0;

    for (uint32_t n = wire_get_map(r, CHUNK_KEYS_MAX); n > 0 && wire_key(r, &key); n--) {
        if (key <= SAMPLES_KEYS)
            tables[key](r, s);
        else
            wire_skip(r);
    }
}

/* ---- the whole ---- */

static void get_layout(struct wire_reader *r, bool *seen)
{
    if (wire_get_u64(r) != CHUNK_LAYOUT)
        wire_fail(r, ST_UNSUPPORTED);
    *seen = true;
}

static enum status get_chunk(struct slice plain, enum chunk_form form, struct chunk *c)
{
    struct wire_reader r;
    uint64_t key = 0;
    bool has_layout = false;

    wire_reader_init(&r, plain);
    for (uint32_t n = wire_get_map(&r, CHUNK_KEYS_MAX); n > 0 && wire_key(&r, &key); n--) {
        if (key == CHUNK_KEY_LAYOUT)
            get_layout(&r, &has_layout);
        else if (key == CHUNK_KEY_INFO)
            get_info(&r, &c->info);
        else if (key == CHUNK_KEY_DICTIONARY && form == CHUNK_WIRE)
            get_dictionary(&r, &c->dictionary);
        else if (key == CHUNK_KEY_DICTIONARY)
            wire_fail(&r, ST_INVALID);
        else if (key == CHUNK_KEY_SAMPLES)
            get_samples(&r, &c->samples);
        else
            wire_skip(&r);
    }
    if (!has_layout)
        wire_fail(&r, ST_INVALID);
    return wire_finish(&r);
}

static const char *explain(enum status st)
{
    if (st == ST_TOO_BIG)
        return "a count or length is over its limit";
    if (st == ST_UNSUPPORTED)
        return "the layout, a cause of loss or an end of walks is newer than this build";
    if (st == ST_INVALID)
        return "the bytes are malformed";
    return status_text(st);
}

static enum status unpack(struct slice packed, struct blob *plain)
{
    if (packed.length > CHUNK_PACKED_MAX)
        return ST_TOO_BIG;
    return decompress_blob(packed, CHUNK_PLAIN_MAX, plain);
}

enum status chunk_decode(struct slice bytes, enum chunk_form form, struct chunk *out,
                         const char **why)
{
    struct chunk c = {0};
    struct blob plain = {0};
    const char *reason = NULL;
    enum status st = unpack(bytes, &plain);

    if (st == ST_OK)
        st = get_chunk(blob_slice(&plain), form, &c);
    if (st == ST_OK)
        st = chunk_check(&c, form, &reason);
    if (st == ST_OK) {
        *out = c;
        c = (struct chunk){0};
    } else if (why != NULL) {
        *why = reason != NULL ? reason : explain(st);
    }
    chunk_deinit(&c);
    blob_deinit(&plain);
    return st;
}

static enum status get_only_info(struct slice plain, struct chunk_info *info)
{
    struct wire_reader r;
    uint64_t key = 0;
    bool has_layout = false;

    wire_reader_init(&r, plain);
    for (uint32_t n = wire_get_map(&r, CHUNK_KEYS_MAX); n > 0 && wire_key(&r, &key); n--) {
        if (key == CHUNK_KEY_LAYOUT)
            get_layout(&r, &has_layout);
        else if (key == CHUNK_KEY_INFO)
            get_info(&r, info);
        else
            wire_skip(&r);
    }
    if (!has_layout)
        wire_fail(&r, ST_INVALID);
    return wire_finish(&r);
}

enum status chunk_decode_info(struct slice bytes, struct chunk_info *out)
{
    struct chunk_info info = {0};
    struct blob plain = {0};
    const char *why;
    enum status st = unpack(bytes, &plain);

    if (st == ST_OK)
        st = get_only_info(blob_slice(&plain), &info);
    if (st == ST_OK)
        st = chunk_info_check(&info, &why);
    if (st == ST_OK)
        *out = info;
    blob_deinit(&plain);
    return st;
}
