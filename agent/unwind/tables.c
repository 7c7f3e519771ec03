#include "agent/unwind/tables.h"

#include <stdlib.h>
#include <string.h>

#include "agent/unwind/builder.h"

struct table {
    uint32_t binary;
    struct build_id id;
    enum table_state state;
    struct mono used; /* by a sample */
    struct mono given_up; /* EVICTED: when */
    struct file_rows file; /* without rows */
    struct table_piece *pieces; /* READY; and EVICTED until the grace is over */
    uint32_t piece_count;
    struct table *next_wanted;
};

struct tables {
    struct tables_options options;
    struct builder *builder;
    struct regions regions;
    struct table **items; /* by binary; NULL: UNKNOWN */
    uint32_t capacity;
    struct table *wanted, **wanted_end;
    uint32_t working; /* files that the builder has */
    struct mono forgot; /* when tables_run last looked for what to forget */
    uint32_t leaving; /* EVICTED tables that still have pieces */
    struct build pending; /* done, waits for room */
    bool is_pending;
    struct tables_counters counters;
};

/* ---- states ---- */

enum table_event { TABLE_USED, TABLE_BEGUN, TABLE_BUILT, TABLE_EMPTY, TABLE_BAD, TABLE_OUT };

/* 0 is TABLE_UNKNOWN, to which nothing returns: no such edge. */
static const enum table_state next_state[TABLE_STATES][TABLE_OUT + 1] = {
    [TABLE_UNKNOWN] = {[TABLE_USED] = TABLE_WANTED},
    [TABLE_WANTED] = {[TABLE_BEGUN] = TABLE_BUILDING, [TABLE_BAD] = TABLE_FAILED},
    [TABLE_BUILDING] = {[TABLE_BUILT] = TABLE_READY,
                        [TABLE_EMPTY] = TABLE_NONE,
                        [TABLE_BAD] = TABLE_FAILED,
                        [TABLE_OUT] = TABLE_EVICTED},
    [TABLE_READY] = {[TABLE_OUT] = TABLE_EVICTED},
    [TABLE_EVICTED] = {[TABLE_USED] = TABLE_WANTED},
};

static bool handle(struct tables *t, struct table *table, enum table_event event)
{
    enum table_state before = table->state, to = next_state[before][event];

    if (to == TABLE_UNKNOWN)
        return false;
    table->state = to;
    t->counters.built += to == TABLE_READY;
    t->counters.none += to == TABLE_NONE;
    t->counters.failed += to == TABLE_FAILED;
    t->counters.evicted += to == TABLE_EVICTED && before == TABLE_READY;
    t->counters.refused += to == TABLE_EVICTED && before == TABLE_BUILDING;
    if (before != TABLE_UNKNOWN && to != TABLE_BUILDING)
        t->options.changed(t->options.arg, table->binary);
    return true;
}

bool tables_settled(enum table_state state)
{
    return state != TABLE_UNKNOWN && state != TABLE_WANTED && state != TABLE_BUILDING;
}

/* ---- the set ---- */

static struct table *find(const struct tables *t, uint32_t binary)
{
    return binary < t->capacity ? t->items[binary] : NULL;
}

static bool reserve(struct tables *t, uint32_t binary)
{
    uint32_t capacity = t->capacity == 0 ? 256 : t->capacity;
    struct table **items;

    if (binary >= TABLES_BINARIES_MAX)
        return false;
    while (capacity <= binary)
        capacity *= 2;
    if (capacity == t->capacity)
        return true;
    items = realloc(t->items, capacity * sizeof(struct table *));
    if (items == NULL)
        return false;
    memset(items + t->capacity, 0, (capacity - t->capacity) * sizeof(struct table *));
    t->items = items;
    t->capacity = capacity;
    return true;
}

static struct table *find_or_add(struct tables *t, uint32_t binary)
{
    struct table *table = find(t, binary);

    if (table != NULL || !reserve(t, binary))
        return table;
    table = calloc(1, sizeof(*table));
    if (table == NULL)
        return NULL;
    table->binary = binary;
    t->items[binary] = table;
    return table;
}

static void want(struct tables *t, struct table *table)
{
    table->next_wanted = NULL;
    *t->wanted_end = table;
    t->wanted_end = &table->next_wanted;
}

static bool may_come_back(const struct table *table, struct mono now)
{
    return table->piece_count == 0 && mono_since(now, table->given_up) >= TABLES_RETRY_NS;
}

enum table_state tables_use(struct tables *t, uint32_t binary, const struct build_id *id,
                            struct mono now)
{
    struct table *table = find_or_add(t, binary);

    if (table == NULL)
        return TABLE_FAILED;
    table->used = now;
    table->id = *id;
    if (table->state == TABLE_EVICTED && !may_come_back(table, now))
        return TABLE_EVICTED;
    if (handle(t, table, TABLE_USED))
        want(t, table);
    return table->state;
}

enum table_state tables_state(const struct tables *t, uint32_t binary)
{
    const struct table *table = find(t, binary);

    return table == NULL ? TABLE_UNKNOWN : table->state;
}

const struct file_rows *tables_file(const struct tables *t, uint32_t binary)
{
    return &find(t, binary)->file;
}

const struct table_piece *tables_pieces(const struct tables *t, uint32_t binary,
                                        uint32_t *out_count)
{
    const struct table *table = find(t, binary);

    *out_count = table->piece_count;
    return table->pieces;
}

/* ---- room ---- */

static void give_back(struct tables *t, struct region region)
{
    regions_give_back(&t->regions, region);
    if (!regions_uses(&t->regions, region.shard))
        kernel_maps_close_shard(t->options.maps, region.shard);
}

static enum status take(struct tables *t, uint32_t rows, struct region *out)
{
    struct region r;
    enum status st = regions_take(&t->regions, rows, &r);

    if (st != ST_OK)
        return st;
    if (kernel_maps_shard(t->options.maps, r.shard) == NULL)
        st = kernel_maps_open_shard(t->options.maps, r.shard);
    if (st != ST_OK) {
        regions_give_back(&t->regions, r);
        return st;
    }
    *out = r;
    return ST_OK;
}

static void drop_pieces(struct tables *t, struct table *table)
{
    for (uint32_t i = 0; i < table->piece_count; i++) {
        give_back(t, table->pieces[i].region);
        t->counters.rows -= table->pieces[i].region.count;
    }
    free(table->pieces);
    table->pieces = NULL;
    table->piece_count = 0;
}

/* The rows of one piece, into its shard. */
static enum status place_piece(struct tables *t, const struct file_rows *rows, uint32_t first,
                               struct table_piece *out)
{
    uint32_t left = rows->count - first;
    uint32_t count = left < ABI_SHARD_ROWS ? left : ABI_SHARD_ROWS;
    struct table_piece piece = {.pc = rows->items[first].pc};
    struct abi_shard *shard;
    enum status st = take(t, count, &piece.region);

    if (st != ST_OK)
        return st;
    shard = kernel_maps_shard(t->options.maps, piece.region.shard);
    memcpy(shard->rows + piece.region.first, rows->items + first, count * sizeof(*rows->items));
    t->counters.rows += count;
    *out = piece;
    return ST_OK;
}

static enum status place(struct tables *t, struct table *table, const struct file_rows *rows)
{
    uint32_t pieces = (rows->count + ABI_SHARD_ROWS - 1) / ABI_SHARD_ROWS;
    enum status st = ST_OK;

    table->pieces = calloc(pieces, sizeof(*table->pieces));
    if (table->pieces == NULL)
        return ST_NOMEM;
    for (uint32_t i = 0; i < pieces && st == ST_OK; i++) {
        st = place_piece(t, rows, i * ABI_SHARD_ROWS, &table->pieces[i]);
        table->piece_count += st == ST_OK;
    }
    if (st != ST_OK) {
        drop_pieces(t, table);
        return st;
    }
    table->file = *rows;
    table->file.items = NULL;
    return ST_OK;
}

/* ---- making room ---- */

static struct table *coldest(struct tables *t, struct mono now)
{
    struct table *found = NULL;

    for (uint32_t i = 0; i < t->capacity; i++) {
        struct table *table = t->items[i];

        if (table != NULL && table->state == TABLE_READY &&
            mono_since(now, table->used) >= TABLES_HOT_NS &&
            (found == NULL || table->used.ns < found->used.ns))
            found = table;
    }
    return found;
}

static bool evict_one(struct tables *t, struct mono now)
{
    struct table *table = coldest(t, now);

    if (table == NULL)
        return false;
    table->given_up = now;
    t->leaving++;
    (void)handle(t, table, TABLE_OUT);
    return true;
}

static void end_graces(struct tables *t, struct mono now)
{
    for (uint32_t i = 0; i < t->capacity && t->leaving > 0; i++) {
        struct table *table = t->items[i];

        if (table == NULL || table->state != TABLE_EVICTED || table->piece_count == 0 ||
            mono_since(now, table->given_up) < TABLES_GRACE_NS)
            continue;
        drop_pieces(t, table);
        t->leaving--;
    }
}

static void finish_pending(struct tables *t, enum table_event event)
{
    t->is_pending = false;
    file_rows_deinit(&t->pending.rows);
    (void)handle(t, find(t, t->pending.binary), event);
}

/* One step: placed, or given up, or one more table is on its way out. */
static void place_pending(struct tables *t, struct mono now)
{
    struct table *table = find(t, t->pending.binary);
    enum status st = place(t, table, &t->pending.rows);

    if (st == ST_OK) {
        finish_pending(t, TABLE_BUILT);
    } else if (st != ST_FULL) {
        finish_pending(t, TABLE_BAD);
    } else if (t->leaving == 0 && !evict_one(t, now)) {
        table->given_up = now;
        finish_pending(t, TABLE_OUT);
    }
}

/* ---- forgetting ---- */

static bool is_forgettable(const struct table *table, struct mono now)
{
    return tables_settled(table->state) && table->state != TABLE_READY && table->piece_count == 0 &&
           mono_since(now, table->used) >= TABLES_FORGET_NS;
}

static void forget(struct tables *t, struct mono now)
{
    if (mono_since(now, t->forgot) < TABLES_FORGET_NS)
        return;
    t->forgot = now;
    for (uint32_t i = 0; i < t->capacity; i++)
        if (t->items[i] != NULL && is_forgettable(t->items[i], now)) {
            free(t->items[i]);
            t->items[i] = NULL;
        }
}

/* ---- the worker ---- */

static void take_result(struct tables *t)
{
    struct table *table = find(t, t->pending.binary);

    t->counters.build_ns += t->pending.cpu_ns;
    t->is_pending = t->pending.status == ST_OK;
    if (t->is_pending)
        return;
    (void)handle(t, table, t->pending.status == ST_NOT_FOUND ? TABLE_EMPTY : TABLE_BAD);
}

static void collect(struct tables *t, struct mono now)
{
    if (t->is_pending)
        place_pending(t, now);
    while (!t->is_pending && builder_collect(t->builder, &t->pending)) {
        t->working--;
        take_result(t);
        if (t->is_pending)
            place_pending(t, now);
    }
}

static void hand_out(struct tables *t)
{
    while (t->wanted != NULL && t->working < BUILDER_JOBS_MAX) {
        struct table *table = t->wanted;
        enum table_event event = TABLE_BAD;
        int fd = -1;

        t->wanted = table->next_wanted;
        if (t->wanted == NULL)
            t->wanted_end = &t->wanted;
        if (t->options.open(t->options.arg, &table->id, &fd) == ST_OK) {
            (void)builder_submit(t->builder, table->binary, fd); /* `working` says there is room */
            t->working++;
            event = TABLE_BEGUN;
        }
        (void)handle(t, table, event);
    }
}

void tables_run(struct tables *t, struct mono now)
{
    forget(t, now);
    end_graces(t, now);
    collect(t, now);
    hand_out(t);
}

bool tables_busy(const struct tables *t)
{
    return t->wanted != NULL || t->working > 0 || t->is_pending;
}

struct tables_counters tables_read_counters(const struct tables *t)
{
    struct tables_counters c = t->counters;

    c.bytes = kernel_maps_bytes(t->options.maps);
    return c;
}

/* ---- life ---- */

enum status tables_new(const struct tables_options *options, struct tables **out)
{
    struct tables *t = calloc(1, sizeof(*t));
    enum status st;

    if (t == NULL)
        return ST_NOMEM;
    t->options = *options;
    t->regions.shards_max = options->shards_max != 0 ? options->shards_max : REGIONS_SHARDS_MAX;
    t->wanted_end = &t->wanted;
    st = builder_new(&t->builder);
    if (st != ST_OK) {
        tables_free(t);
        return st;
    }
    *out = t;
    return ST_OK;
}

void tables_free(struct tables *t)
{
    if (t == NULL)
        return;
    builder_free(t->builder);
    if (t->is_pending)
        file_rows_deinit(&t->pending.rows);
    for (uint32_t i = 0; i < t->capacity; i++) {
        if (t->items[i] != NULL)
            drop_pieces(t, t->items[i]);
        free(t->items[i]);
    }
    free(t->items);
    free(t);
}
