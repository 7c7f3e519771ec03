/* export_pprof - the format of github.com/google/pprof, whose profile.proto says what each field
 * means. Its functions, locations and mappings are numbered from 1.
 *
 * Frames are offsets in files. Each binary gets a mapping with a range of addresses of its own and
 * file offset 0, so that address = start of the range + offset, no two binaries meet, and the
 * offset can be had back. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/when.h"
#include "coordinator/query/arena.h"
#include "coordinator/query/array.h"
#include "coordinator/query/export_format.h"
#include "coordinator/query/gzip.h"
#include "coordinator/query/stacks.h"
#include "coordinator/query/texts.h"
#include "profile.pb-c.h"

typedef Perftools__Profiles__Profile Profile;
typedef Perftools__Profiles__ValueType ValueType;
typedef Perftools__Profiles__Sample Sample;
typedef Perftools__Profiles__Label Label;
typedef Perftools__Profiles__Mapping Mapping;
typedef Perftools__Profiles__Location Location;
typedef Perftools__Profiles__Line Line;
typedef Perftools__Profiles__Function Function;

enum {
    PAGE_BYTES = 4096,
    COMMENT_MAX = 512,
    SAMPLE_LABELS_MAX = 3,
    COMMENTS_MAX = 8,
};
#define FIRST_ADDRESS UINT64_C(0x10000)
/* A larger offset is no file's, but damage; its location has no mapping. With 2^20 binaries at
 * most, the ranges end before 2^64. */
#define OFFSET_MAX (UINT64_C(1) << 43)

struct binary { /* what its locations say of it */
    uint64_t end; /* past the largest offset */
    uint64_t start; /* of its range of addresses */
    bool named; /* a symbol covers one of them */
};

struct writer { /* the status sticks: after a failure nothing more is done */
    enum status status;
    const struct profile *profile;
    const struct symbolizer *symbolizer;
    const struct dictionary *dictionary;
    struct stacks stacks;
    struct texts strings;
    struct arena arena;
    Profile *message;
    struct keys samples; /* (context, task) */
    struct sample_sum {
        int64_t count;
        double weight_ns;
    } * sums; /* by sample */
    uint32_t sum_capacity;
    struct keys frames; /* number + 1 is the location */
    struct keys functions; /* likewise */
    struct keys binaries; /* likewise the mapping */
    uint32_t *location; /* by context: number in frames */
    uint32_t *function; /* by number in frames: number in functions */
    struct binary *binary; /* by number in binaries */
};

static void *get(struct writer *w, size_t count, size_t bytes)
{
    void *piece = w->status == ST_OK ? arena_get(&w->arena, count + 1, bytes) : NULL;

    if (piece == NULL && w->status == ST_OK)
        w->status = ST_NOMEM;
    return piece;
}

static uint32_t put_key(struct writer *w, struct keys *keys, struct key key)
{
    uint32_t number = 0;

    if (w->status == ST_OK)
        w->status = keys_put(keys, key, &number);
    return number;
}

static int64_t put_text(struct writer *w, const char *text)
{
    uint32_t number = 0;

    if (w->status == ST_OK)
        w->status = texts_put(&w->strings, text, &number);
    return number;
}

/* ---- numbers ---- */

static void sum_samples(struct writer *w)
{
    const struct profile *p = w->profile;

    for (uint32_t i = 0; i < p->cell_count && w->status == ST_OK; i++) {
        struct key key = {.high = w->stacks.of_cell[i], .low = p->cells[i].task};
        uint32_t before = w->samples.count, number;

        w->status = array_reserve(&w->sums, &w->sum_capacity, before, sizeof(*w->sums));
        number = put_key(w, &w->samples, key);
        if (w->status != ST_OK)
            return;
        if (number == before)
            w->sums[number] = (struct sample_sum){0};
        w->sums[number].count += p->cells[i].samples;
        w->sums[number].weight_ns += p->cells[i].weight_ns;
    }
}

static void number_frames(struct writer *w)
{
    const struct stacks *k = &w->stacks;

    w->location = get(w, k->count, sizeof(*w->location));
    w->function = get(w, k->count, sizeof(*w->function));
    for (uint32_t i = 0; i < k->count && w->status == ST_OK; i++) {
        uint32_t frame = dictionary_node(w->dictionary, (uint32_t)k->nodes.keys[i].low).frame;
        uint32_t location = put_key(w, &w->frames, (struct key){.low = frame});

        w->location[i] = location;
        w->function[location] = put_key(w, &w->functions, (struct key){.low = k->function[i]});
    }
}

static const struct function *function_of(const struct writer *w, uint32_t location)
{
    return symbolizer_get(w->symbolizer, (uint32_t)w->functions.keys[w->function[location]].low);
}

/* NULL: a frame without an address. */
static const struct chunk_frame *addressed_frame(const struct writer *w, uint32_t location)
{
    const struct chunk_frame *f =
        dictionary_frame(w->dictionary, (uint32_t)w->frames.keys[location].low);

    if (f == NULL || f->offset >= OFFSET_MAX)
        return NULL;
    return f->kind == FRAME_NATIVE || f->kind == FRAME_KERNEL ? f : NULL;
}

static void lay_out_binaries(struct writer *w)
{
    uint64_t next = FIRST_ADDRESS;

    w->binary = get(w, w->frames.count, sizeof(*w->binary));
    for (uint32_t i = 0; i < w->frames.count && w->status == ST_OK; i++) {
        const struct chunk_frame *f = addressed_frame(w, i);
        struct binary *b;

        if (f == NULL)
            continue;
        b = &w->binary[put_key(w, &w->binaries, (struct key){.low = f->binary})];
        b->end = f->offset >= b->end ? f->offset + 1 : b->end;
        b->named |= function_of(w, i)->named;
    }
    for (uint32_t i = 0; i < w->binaries.count && w->status == ST_OK; i++) {
        w->binary[i].start = next;
        next += (w->binary[i].end / PAGE_BYTES + 2) * PAGE_BYTES; /* a page apart */
    }
}

/* ---- the message ---- */

static ValueType *value_type(struct writer *w, const char *type, const char *unit)
{
    ValueType *v = get(w, 1, sizeof(*v));

    if (v == NULL)
        return NULL;
    perftools__profiles__value_type__init(v);
    v->type = put_text(w, type);
    v->unit = put_text(w, unit);
    return v;
}

static void put_head(struct writer *w)
{
    const struct coverage *c = &w->profile->coverage;
    Profile *m = w->message;

    m->sample_type = get(w, 2, sizeof(*m->sample_type));
    if (m->sample_type == NULL)
        return;
    m->sample_type[0] = value_type(w, "samples", "count");
    m->sample_type[1] = value_type(w, event_name(w->profile->event), "nanoseconds");
    m->n_sample_type = 2;
    m->default_sample_type = put_text(w, event_name(w->profile->event));
    m->period_type = value_type(w, event_name(w->profile->event), "nanoseconds");
    m->period = (int64_t)c->period_min_ns;
    m->time_nanos = (int64_t)c->from.ns;
    m->duration_nanos = (int64_t)w->profile->window_ns;
}

static void put_comment(struct writer *w, const char *text)
{
    w->message->comment[w->message->n_comment++] = put_text(w, text);
}

static void put_loss_comment(struct writer *w, const struct ledger *l)
{
    char text[COMMENT_MAX];
    int length = snprintf(text, sizeof(text),
                          "ledger of whole chunks: expected %" PRIu64 ", delivered %" PRIu64
                          ", idle %" PRIu64 ", skipped %" PRIu64,
                          l->expected, l->delivered, l->idle, l->skipped);

    for (enum loss i = 0; i < LOSS_KINDS && length < COMMENT_MAX; i++)
        length += snprintf(text + length, sizeof(text) - (size_t)length, ", %s %" PRIu64,
                           loss_name(i), l->lost[i]);
    put_comment(w, text);
}

static void put_comments(struct writer *w)
{
    const struct coverage *c = &w->profile->coverage;
    char text[COMMENT_MAX], from[WHEN_TEXT_MAX], to[WHEN_TEXT_MAX];

    w->message->comment = get(w, COMMENTS_MAX, sizeof(*w->message->comment));
    if (w->message->comment == NULL)
        return;
    snprintf(text, sizeof(text), "fleetprof " FLEETPROF_VERSION ": %s from %s to %s",
             event_name(w->profile->event), when_format(c->from, from), when_format(c->to, to));
    put_comment(w, text);
    snprintf(text, sizeof(text),
             "coverage: %" PRIu32 " of %" PRIu32 " hosts, %.2f %% of the wanted time, %" PRIu64
             " chunks, %" PRIu64 " samples",
             c->hosts_covered, c->hosts_wanted, 100 * c->covered_share, c->chunks, c->samples);
    put_comment(w, text);
    snprintf(text, sizeof(text), "period: %" PRIu64 " to %" PRIu64 " ns", c->period_min_ns,
             c->period_max_ns);
    put_comment(w, text);
    put_loss_comment(w, &c->ledger);
    snprintf(text, sizeof(text), "clock offset: %" PRId64 " ns at most", c->clock_offset_max_ns);
    put_comment(w, text);
}

static void put_mappings(struct writer *w)
{
    Mapping *items = get(w, w->binaries.count, sizeof(*items));
    Mapping **list = get(w, w->binaries.count, sizeof(Mapping *));

    for (uint32_t i = 0; i < w->binaries.count && w->status == ST_OK; i++) {
        const struct chunk_binary *b =
            dictionary_binary(w->dictionary, (uint32_t)w->binaries.keys[i].low);
        char id[BUILD_ID_TEXT_MAX] = "";

        perftools__profiles__mapping__init(&items[i]);
        items[i].id = i + 1;
        items[i].memory_start = w->binary[i].start;
        items[i].memory_limit = w->binary[i].start + w->binary[i].end;
        items[i].has_functions = w->binary[i].named;
        if (b != NULL) {
            items[i].filename = put_text(w, dictionary_string(w->dictionary, b->path));
            items[i].build_id = put_text(w, build_id_format(&b->id, id));
        }
        list[i] = &items[i];
    }
    w->message->n_mapping = w->binaries.count;
    w->message->mapping = list;
}

static void put_functions(struct writer *w)
{
    Function *items = get(w, w->functions.count, sizeof(*items));
    Function **list = get(w, w->functions.count, sizeof(Function *));

    for (uint32_t i = 0; i < w->functions.count && w->status == ST_OK; i++) {
        const struct function *f =
            symbolizer_get(w->symbolizer, (uint32_t)w->functions.keys[i].low);

        perftools__profiles__function__init(&items[i]);
        items[i].id = i + 1;
        items[i].name = items[i].system_name = put_text(w, f->name);
        items[i].filename = put_text(w, f->binary);
        list[i] = &items[i];
    }
    w->message->n_function = w->functions.count;
    w->message->function = list;
}

static void put_locations(struct writer *w)
{
    Location *items = get(w, w->frames.count, sizeof(*items));
    Location **list = get(w, w->frames.count, sizeof(Location *));
    Line *lines = get(w, w->frames.count, sizeof(*lines));
    Line **line_list = get(w, w->frames.count, sizeof(Line *));

    for (uint32_t i = 0; i < w->frames.count && w->status == ST_OK; i++) {
        const struct chunk_frame *f = addressed_frame(w, i);

        perftools__profiles__line__init(&lines[i]);
        lines[i].function_id = w->function[i] + 1;
        line_list[i] = &lines[i];
        perftools__profiles__location__init(&items[i]);
        items[i].id = i + 1;
        items[i].n_line = 1;
        items[i].line = &line_list[i];
        if (f != NULL) {
            uint32_t binary = keys_find(&w->binaries, (struct key){.low = f->binary});

            items[i].mapping_id = binary + 1;
            items[i].address = w->binary[binary].start + f->offset;
        }
        list[i] = &items[i];
    }
    w->message->n_location = w->frames.count;
    w->message->location = list;
}

static void put_label(struct writer *w, Sample *s, const char *key, const char *value)
{
    Label *label;

    if (value[0] == '\0')
        return;
    label = get(w, 1, sizeof(*label));
    if (label == NULL)
        return;
    perftools__profiles__label__init(label);
    label->key = put_text(w, key);
    label->str = put_text(w, value);
    s->label[s->n_label++] = label;
}

static void put_labels(struct writer *w, Sample *s, uint32_t task_index)
{
    const struct profile *p = w->profile;
    const struct profile_task *task = &p->tasks[task_index];

    s->label = get(w, SAMPLE_LABELS_MAX, sizeof(*s->label));
    if (s->label == NULL)
        return;
    put_label(w, s, "host", p->hosts[task->host]);
    put_label(w, s, "service", task->service == PROFILE_NONE ? "" : p->services[task->service]);
    put_label(w, s, "thread", dictionary_string(w->dictionary, task->thread));
}

/* Leaf first. */
static void put_stack(struct writer *w, Sample *s, uint32_t context)
{
    const struct stacks *k = &w->stacks;
    size_t depth = 0;

    for (uint32_t at = context; at != STACKS_NONE; at = k->parent[at])
        depth++;
    s->location_id = get(w, depth, sizeof(*s->location_id));
    if (s->location_id == NULL)
        return;
    for (uint32_t at = context; at != STACKS_NONE; at = k->parent[at])
        s->location_id[s->n_location_id++] = w->location[at] + 1;
}

static void put_samples(struct writer *w)
{
    uint32_t count = w->samples.count;
    Sample *items = get(w, count, sizeof(*items));
    Sample **list = get(w, count, sizeof(Sample *));
    int64_t *values = get(w, count, 2 * sizeof(*values));
    double carry = 0;

    for (uint32_t i = 0; i < count && w->status == ST_OK; i++) {
        struct key key = w->samples.keys[i];

        perftools__profiles__sample__init(&items[i]);
        items[i].n_value = 2;
        items[i].value = &values[2 * i];
        items[i].value[0] = w->sums[i].count;
        items[i].value[1] = (int64_t)export_round(&carry, w->sums[i].weight_ns);
        put_stack(w, &items[i], (uint32_t)key.high);
        put_labels(w, &items[i], (uint32_t)key.low);
        list[i] = &items[i];
    }
    w->message->n_sample = count;
    w->message->sample = list;
}

/* ---- the bytes ---- */

static enum status pack(const Profile *m, struct blob *out)
{
    size_t length = perftools__profiles__profile__get_packed_size(m);
    uint8_t *bytes = malloc(length);
    struct blob packed;
    enum status st;

    if (bytes == NULL)
        return ST_NOMEM;
    perftools__profiles__profile__pack(m, bytes);
    st = gzip((struct slice){bytes, length}, &packed.bytes, &packed.length);
    free(bytes);
    if (st == ST_OK)
        *out = packed;
    return st;
}

static void writer_deinit(struct writer *w)
{
    stacks_deinit(&w->stacks);
    texts_deinit(&w->strings);
    arena_deinit(&w->arena);
    keys_deinit(&w->samples);
    keys_deinit(&w->frames);
    keys_deinit(&w->functions);
    keys_deinit(&w->binaries);
    free(w->sums);
}

enum status export_pprof(const struct profile *p, struct symbolizer *s, const struct dictionary *d,
                         struct blob *out)
{
    struct writer w = {.profile = p, .symbolizer = s, .dictionary = d};
    Profile message;
    enum status st;

    perftools__profiles__profile__init(&message);
    w.message = &message;
    w.status = stacks_build(p, s, d, &w.stacks);
    put_text(&w, ""); /* text 0, as the format wants it */
    sum_samples(&w);
    number_frames(&w);
    lay_out_binaries(&w);
    put_head(&w);
    put_comments(&w);
    put_mappings(&w);
    put_functions(&w);
    put_locations(&w);
    put_samples(&w);
    message.n_string_table = w.strings.count;
    message.string_table = w.strings.texts;
    st = w.status == ST_OK ? pack(&message, out) : w.status;
    writer_deinit(&w);
    return st;
}
