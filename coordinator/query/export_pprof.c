/* export_pprof - the format of github.com/google/pprof, whose profile.proto says what each field
 * means. Functions, locations and mappings are numbered from 1.
 *
 * A protobuf message is what its parts are, one after the other: so each sample, location and text
 * is packed as a Profile of its own and forgotten, and the whole is never in memory unpacked.
 *
 * Frames are offsets in files. Each binary gets a mapping with a range of addresses of its own and
 * file offset 0: address = start of the range + offset, no two binaries meet, and the offset can be
 * had back. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/when.h"
#include "coordinator/query/array.h"
#include "coordinator/query/export_format.h"
#include "coordinator/query/gzip.h"
#include "coordinator/query/keys.h"
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

#define PROFILE_PART PERFTOOLS__PROFILES__PROFILE__INIT

enum {
    COMMENT_MAX = 512,
    SAMPLE_LABELS_MAX = 4,
    VALUES = 2, /* samples, nanoseconds */
    RANGE_SHIFT = 40, /* 2^20 binaries at most: the last range ends near 2^60 */
};
/* Half a range, or pprof would join neighbours without a name. A larger offset is no file's, but
 * damage; its location has no mapping. */
#define RANGE_BYTES (UINT64_C(1) << (RANGE_SHIFT - 1))
#define PLAIN_BYTES_MAX (UINT64_C(2) << 30) /* what readers of protobuf take as one message */

struct sample_sum {
    int64_t count;
    double weight_ns;
};

struct writer { /* the status sticks: after a failure nothing more is done */
    enum status status;
    const struct profile *profile;
    struct symbolizer *symbolizer;
    const struct dictionary *dictionary;
    struct stacks stacks;
    struct texts strings;
    struct keys samples; /* (context, task) */
    struct sample_sum *sums; /* by sample */
    uint32_t sum_capacity;
    struct keys frames; /* number + 1 is the location */
    struct keys binaries; /* likewise the mapping */
    uint64_t *location; /* by context */
    uint64_t *path; /* of the sample at hand, as locations */
    uint32_t path_capacity;
    uint8_t *part; /* the part at hand, packed */
    size_t part_bytes;
    uint64_t plain_bytes; /* of all parts */
    struct gzip *gzip;
};

/* ---- parts ---- */

static void put(struct writer *w, const Profile *part)
{
    size_t length = perftools__profiles__profile__get_packed_size(part);

    if (w->status != ST_OK)
        return;
    if (length > w->part_bytes) {
        uint8_t *bytes = realloc(w->part, 2 * length);

        if (bytes == NULL) {
            w->status = ST_NOMEM;
            return;
        }
        w->part = bytes;
        w->part_bytes = 2 * length;
    }
    w->plain_bytes += length;
    w->status =
        w->plain_bytes > PLAIN_BYTES_MAX
            ? ST_TOO_BIG
            : gzip_add(w->gzip,
                       (struct slice){w->part, perftools__profiles__profile__pack(part, w->part)});
}

static uint32_t number_of(struct writer *w, struct keys *keys, struct key key)
{
    uint32_t number = 0;

    if (w->status == ST_OK)
        w->status = keys_put(keys, key, &number);
    return number;
}

static int64_t text(struct writer *w, const char *text)
{
    uint32_t number = 0;

    if (w->status == ST_OK)
        w->status = texts_put(&w->strings, text, &number);
    return number;
}

static void put_texts(struct writer *w)
{
    Profile part = PROFILE_PART;

    for (uint32_t i = 0; i < w->strings.count; i++) {
        part.n_string_table = 1;
        part.string_table = &w->strings.texts[i];
        put(w, &part);
    }
}

/* ---- what was measured, and how well ---- */

static void put_types(struct writer *w)
{
    const struct profile *p = w->profile;
    const char *event = event_name(p->event == EVENT_NONE ? EVENT_CPU : p->event);
    ValueType samples = PERFTOOLS__PROFILES__VALUE_TYPE__INIT;
    ValueType weight = PERFTOOLS__PROFILES__VALUE_TYPE__INIT;
    ValueType *types[VALUES] = {&samples, &weight};
    Profile part = PROFILE_PART;

    samples.type = text(w, "samples");
    samples.unit = text(w, "count");
    weight.type = text(w, event);
    weight.unit = text(w, "nanoseconds");
    part.n_sample_type = VALUES;
    part.sample_type = types;
    part.default_sample_type = weight.type;
    part.period_type = &weight;
    part.period = (int64_t)p->coverage.period_min_ns;
    part.time_nanos = (int64_t)p->coverage.from.ns;
    part.duration_nanos = (int64_t)p->window_ns; /* so that pprof's percentage is the cores */
    put(w, &part);
}

static void put_comment(struct writer *w, const char *comment)
{
    Profile part = PROFILE_PART;
    int64_t number = text(w, comment);

    part.n_comment = 1;
    part.comment = &number;
    put(w, &part);
}

static void put_window_comments(struct writer *w)
{
    const struct coverage *c = &w->profile->coverage;
    char comment[COMMENT_MAX], from[WHEN_TEXT_MAX], to[WHEN_TEXT_MAX];

    snprintf(comment, sizeof(comment), "fleetprof %s: %s from %s to %s", FLEETPROF_VERSION,
             event_name(w->profile->event), when_format(c->from, from), when_format(c->to, to));
    put_comment(w, comment);
    snprintf(comment, sizeof(comment),
             "coverage: %" PRIu32 " of %" PRIu32 " hosts, %.2f %% of the wanted time, %" PRIu64
             " chunks, %" PRIu64 " samples",
             c->hosts_covered, c->hosts_wanted, 100 * c->covered_share, c->chunks, c->samples);
    put_comment(w, comment);
    snprintf(comment, sizeof(comment),
             "period: %" PRIu64 " to %" PRIu64 " ns, smallest inclusion: %g, largest clock offset: "
             "%" PRId64 " ns",
             c->period_min_ns, c->period_max_ns, w->profile->inclusion_min, c->clock_offset_max_ns);
    put_comment(w, comment);
}

static void put_loss_comment(struct writer *w)
{
    const struct ledger *l = &w->profile->coverage.ledger;
    char comment[COMMENT_MAX];
    int length = snprintf(comment, sizeof(comment),
                          "samples of whole chunks: %" PRIu64 " expected, %" PRIu64
                          " delivered, %" PRIu64 " idle, %" PRIu64 " skipped, %" PRIu64 " lost",
                          l->expected, l->delivered, l->idle, l->skipped, ledger_lost(l));

    for (enum loss i = 0; i < LOSS_KINDS && length < COMMENT_MAX; i++)
        length += snprintf(comment + length, sizeof(comment) - (size_t)length, ", %s %" PRIu64,
                           loss_name(i), l->lost[i]);
    put_comment(w, comment);
}

/* ---- code ---- */

/* Where pprof finds functions it asks no binary for symbols: the names stay those of rankings. */
static void put_mapping(struct writer *w, uint32_t binary, uint64_t id)
{
    const struct chunk_binary *b = dictionary_binary(w->dictionary, binary);
    char build_id[BUILD_ID_TEXT_MAX];
    Mapping mapping = PERFTOOLS__PROFILES__MAPPING__INIT, *mappings = &mapping;
    Profile part = PROFILE_PART;

    mapping.id = id;
    mapping.memory_start = id << RANGE_SHIFT;
    mapping.memory_limit = mapping.memory_start + RANGE_BYTES;
    mapping.has_functions = true;
    if (b != NULL) {
        mapping.filename = text(w, dictionary_string(w->dictionary, b->path));
        mapping.build_id = text(w, build_id_format(&b->id, build_id));
    }
    part.n_mapping = 1;
    part.mapping = &mappings;
    put(w, &part);
}

static uint64_t mapping_of(struct writer *w, uint32_t binary)
{
    uint32_t known = w->binaries.count;
    uint32_t number = number_of(w, &w->binaries, (struct key){.low = binary});

    if (number == known)
        put_mapping(w, binary, (uint64_t)number + 1);
    return (uint64_t)number + 1;
}

/* A line for each function, the innermost inlined one first, as the format wants it. */
static size_t fill_lines(struct writer *w, uint32_t frame, Line lines[SYMBOLIZE_CHAIN_MAX])
{
    const struct frame_function *functions;
    uint32_t count = 0;

    if (w->status == ST_OK)
        w->status = symbolizer_frame(w->symbolizer, frame, &functions, &count);
    for (uint32_t i = 0; i < count; i++) {
        perftools__profiles__line__init(&lines[i]);
        lines[i].function_id = (uint64_t)functions[i].function + 1;
        lines[i].line = functions[i].line;
    }
    return count;
}

static void put_location(struct writer *w, uint32_t frame, uint64_t id)
{
    const struct chunk_frame *f = dictionary_frame(w->dictionary, frame);
    Line lines[SYMBOLIZE_CHAIN_MAX], *list[SYMBOLIZE_CHAIN_MAX];
    Location location = PERFTOOLS__PROFILES__LOCATION__INIT, *locations = &location;
    Profile part = PROFILE_PART;

    location.id = id;
    location.n_line = fill_lines(w, frame, lines);
    location.line = list;
    for (size_t i = 0; i < location.n_line; i++)
        list[i] = &lines[i];
    if (f != NULL && (f->kind == FRAME_NATIVE || f->kind == FRAME_KERNEL) &&
        f->offset < RANGE_BYTES) {
        location.mapping_id = mapping_of(w, f->binary);
        location.address = (location.mapping_id << RANGE_SHIFT) + f->offset;
    }
    part.n_location = 1;
    part.location = &locations;
    put(w, &part);
}

static void put_locations(struct writer *w)
{
    const struct stacks *k = &w->stacks;

    w->location = calloc((size_t)k->count + 1, sizeof(*w->location));
    if (w->location == NULL && w->status == ST_OK)
        w->status = ST_NOMEM;
    for (uint32_t i = 0; i < k->count && w->status == ST_OK; i++) {
        uint32_t frame = dictionary_node(w->dictionary, k->node[i]).frame;
        uint32_t known = w->frames.count;
        uint32_t number = number_of(w, &w->frames, (struct key){.low = frame});

        w->location[i] = (uint64_t)number + 1;
        if (number == known)
            put_location(w, frame, w->location[i]);
    }
}

/* Without a system name, from which pprof would make names of its own. */
static void put_functions(struct writer *w)
{
    for (uint32_t i = 0; i < symbolizer_count(w->symbolizer) && w->status == ST_OK; i++) {
        const struct function *f = symbolizer_get(w->symbolizer, i);
        Function function = PERFTOOLS__PROFILES__FUNCTION__INIT, *functions = &function;
        Profile part = PROFILE_PART;

        function.id = (uint64_t)i + 1;
        function.name = text(w, f->name);
        function.filename = text(w, f->file);
        part.n_function = 1;
        part.function = &functions;
        put(w, &part);
    }
}

/* ---- samples ---- */

/* One for each stack of each task, whatever its replicates. */
static void sum_samples(struct writer *w)
{
    const struct profile *p = w->profile;

    for (uint32_t i = 0; i < p->cell_count && w->status == ST_OK; i++) {
        const struct profile_cell *cell = &p->cells[i];
        struct key key = {.high = w->stacks.of_cell[i], .low = cell->task};
        uint32_t known = w->samples.count, number;

        w->status = array_reserve(&w->sums, &w->sum_capacity, known, sizeof(*w->sums));
        number = number_of(w, &w->samples, key);
        if (w->status != ST_OK)
            return;
        if (number == known)
            w->sums[number] = (struct sample_sum){0};
        w->sums[number].count += cell->samples;
        w->sums[number].weight_ns += cell->weight_ns;
    }
}

/* Leaf first. The location of a frame speaks for all that is inlined in it. */
static uint32_t follow(struct writer *w, uint32_t context)
{
    uint32_t depth = 0;

    for (uint32_t at = context; at != STACKS_NONE; at = w->stacks.parent[at]) {
        w->status = array_reserve(&w->path, &w->path_capacity, depth, sizeof(*w->path));
        if (w->status != ST_OK)
            return 0;
        if (!stacks_is_inlined(&w->stacks, at))
            w->path[depth++] = w->location[at];
    }
    return depth;
}

/* Says nothing of what is not known. */
static uint32_t fill_labels(struct writer *w, const struct profile_task *task,
                            Label labels[SAMPLE_LABELS_MAX])
{
    const struct profile *p = w->profile;
    const char *service = task->service == PROFILE_NONE ? "" : p->services[task->service];
    const char *const pairs[SAMPLE_LABELS_MAX][2] = {
        {"host", p->hosts[task->host]},
        {"service", service},
        {"comm", dictionary_string(w->dictionary, task->comm)},
        {"thread", dictionary_string(w->dictionary, task->thread)},
    };
    uint32_t count = 0;

    for (uint32_t i = 0; i < SAMPLE_LABELS_MAX; i++) {
        if (pairs[i][1][0] == '\0')
            continue;
        perftools__profiles__label__init(&labels[count]);
        labels[count].key = text(w, pairs[i][0]);
        labels[count++].str = text(w, pairs[i][1]);
    }
    return count;
}

static void put_sample(struct writer *w, uint32_t number, int64_t weight_ns)
{
    struct key key = w->samples.keys[number];
    int64_t values[VALUES] = {w->sums[number].count, weight_ns};
    Label labels[SAMPLE_LABELS_MAX], *list[SAMPLE_LABELS_MAX];
    Sample sample = PERFTOOLS__PROFILES__SAMPLE__INIT, *samples = &sample;
    Profile part = PROFILE_PART;

    sample.n_location_id = follow(w, (uint32_t)key.high);
    sample.location_id = w->path;
    sample.n_value = VALUES;
    sample.value = values;
    sample.n_label = fill_labels(w, &w->profile->tasks[key.low], labels);
    sample.label = list;
    for (uint32_t i = 0; i < sample.n_label; i++)
        list[i] = &labels[i];
    part.n_sample = 1;
    part.sample = &samples;
    put(w, &part);
}

static void put_samples(struct writer *w)
{
    double carry = 0;

    sum_samples(w);
    for (uint32_t i = 0; i < w->samples.count && w->status == ST_OK; i++)
        put_sample(w, i, (int64_t)export_round(&carry, w->sums[i].weight_ns));
}

/* ---- the whole ---- */

static void writer_deinit(struct writer *w)
{
    stacks_deinit(&w->stacks);
    texts_deinit(&w->strings);
    keys_deinit(&w->samples);
    keys_deinit(&w->frames);
    keys_deinit(&w->binaries);
    gzip_free(w->gzip);
    free(w->sums);
    free(w->location);
    free(w->path);
    free(w->part);
}

enum status export_pprof(const struct profile *p, struct symbolizer *s, const struct dictionary *d,
                         struct blob *out)
{
    struct writer w = {.profile = p, .symbolizer = s, .dictionary = d};
    enum status st;

    w.status = stacks_build(p, s, d, &w.stacks);
    if (w.status == ST_OK)
        w.status = gzip_new(&w.gzip);
    (void)text(&w, ""); /* number 0, as the format wants it */
    put_types(&w);
    put_window_comments(&w);
    put_loss_comment(&w);
    put_locations(&w);
    put_functions(&w);
    put_samples(&w);
    put_texts(&w);
    st = w.status == ST_OK ? gzip_finish(w.gzip, &out->bytes, &out->length) : w.status;
    writer_deinit(&w);
    return st;
}
