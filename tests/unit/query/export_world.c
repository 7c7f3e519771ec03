/* export_world - the tables below are the world; everything else puts them where they belong. */
#include "tests/unit/query/export_world.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/symtab.h"

#define MAP_BYTES (UINT64_C(1) << 26)
#define NOON (UINT64_C(1796040000) * NS_PER_S)
#define PERIOD_NS UINT64_C(10101010)

struct filling {
    struct store_write write;
    struct export_world *world;
    uint32_t comm, thread;
    enum status result;
    bool done;
};

/* ---- the store ---- */

enum { APP, TOOL, LIB, KERNEL };

static const struct {
    const char *path;
    uint8_t id; /* all bytes of its build id */
} binaries[WORLD_BINARIES] = {
    [APP] = {"/opt/a/app", 0xa1},
    [TOOL] = {"/usr/bin/tool", 0xb2},
    [LIB] = {"/lib/say \"x\"\\\n.so", 0xc3},
    [KERNEL] = {"[kernel]", 0xd4},
};

static const struct {
    int binary;
    uint64_t start;
    const char *name;
} symbols[] = {
    {APP, 0x1000, "main"},
    {APP, 0x2000, "work;hard"},
    {APP, 0x3000, "_ZNSt6vectorIiSaIiEE9push_backERKi"},
    {TOOL, 0x1000, "main"},
    {KERNEL, 0x10, "do_syscall_64"},
};

static const struct {
    enum frame_kind kind;
    int binary;
    uint64_t offset;
    const char *name;
} frames[WORLD_FRAMES] = {
    {FRAME_NATIVE, APP, 0x1010, NULL},
    {FRAME_NATIVE, APP, 0x2010, NULL},
    {FRAME_NATIVE, APP, 0x3010, NULL},
    {FRAME_NATIVE, APP, 0x3020, NULL},
    {FRAME_NATIVE, LIB, 0x1010, NULL}, /* no symbols; the offset of app's main */
    {FRAME_NATIVE, TOOL, 0x1010, NULL},
    {FRAME_KERNEL, KERNEL, 0x20, NULL},
    {FRAME_NAMED, -1, 0, "jit \"quoted\" \\ <b>"},
    {FRAME_NATIVE, LIB, UINT64_MAX, NULL}, /* damage */
};

static const struct {
    int parent, frame; /* -1: none */
} nodes[WORLD_NODES] = {
    {-1, 0}, {0, 1}, {1, 2}, {2, 3}, {1, 4}, {-1, 5}, {5, 6}, {1, 7}, {5, 8},
};

static struct build_id build_id_of(int binary)
{
    struct build_id id = {.length = 20};

    memset(id.bytes, binaries[binary].id, id.length);
    return id;
}

static enum status put_symbols(struct store_txn *t, int binary)
{
    struct symtab table = {0};
    struct build_id id = build_id_of(binary);
    struct blob packed = {0};
    enum status st = ST_OK;

    for (size_t i = 0; i < sizeof(symbols) / sizeof(symbols[0]) && st == ST_OK; i++) {
        if (symbols[i].binary == binary)
            st = symtab_add(&table, symbols[i].start, 0x100, symbols[i].name);
    }
    symtab_sort(&table);
    if (st == ST_OK && table.count > 0)
        st = symtab_encode(&table, &packed);
    if (st == ST_OK && table.count > 0)
        st = store_txn_put(t, STORE_SYMBOLS, (struct slice){id.bytes, id.length},
                           blob_slice(&packed));
    blob_deinit(&packed);
    symtab_deinit(&table);
    return st;
}

static enum status put_binaries(struct export_world *w, struct store_txn *t)
{
    enum status st = ST_OK;

    for (int i = 0; i < WORLD_BINARIES && st == ST_OK; i++) {
        struct build_id id = build_id_of(i);
        uint32_t path;

        st = store_txn_string(t, binaries[i].path, &path);
        if (st == ST_OK)
            st = store_txn_binary(t, &id, path, &w->binaries[i]);
        if (st == ST_OK)
            st = put_symbols(t, i);
    }
    return st;
}

static enum status put_frame(struct export_world *w, struct store_txn *t, int i)
{
    struct chunk_frame frame = {.kind = frames[i].kind,
                                .binary = CHUNK_NO_PARENT,
                                .name = CHUNK_NO_PARENT,
                                .offset = frames[i].offset};

    if (frames[i].binary >= 0)
        frame.binary = w->binaries[frames[i].binary];
    if (frames[i].name != NULL) {
        enum status st = store_txn_string(t, frames[i].name, &frame.name);

        if (st != ST_OK)
            return st;
    }
    return store_txn_frame(t, &frame, &w->frames[i]);
}

static enum status fill(struct store_write *write, struct store_txn *t)
{
    struct filling *f = (struct filling *)write;
    struct export_world *w = f->world;
    enum status st = put_binaries(w, t);

    for (int i = 0; i < WORLD_FRAMES && st == ST_OK; i++)
        st = put_frame(w, t, i);
    for (int i = 0; i < WORLD_NODES && st == ST_OK; i++) {
        struct chunk_node node = {.parent = CHUNK_NO_PARENT, .frame = w->frames[nodes[i].frame]};

        if (nodes[i].parent >= 0)
            node.parent = w->nodes[nodes[i].parent];
        st = store_txn_node(t, node, &w->nodes[i]);
    }
    if (st == ST_OK)
        st = store_txn_string(t, "app", &f->comm);
    return st == ST_OK ? store_txn_string(t, "worker-1", &f->thread) : st;
}

static void on_done(struct store_write *write, enum status st)
{
    struct filling *f = (struct filling *)write;

    f->result = st;
    f->done = true;
}

static void on_wake(void *arg)
{
    (void)sem_post(&((struct export_world *)arg)->woken);
}

static enum status fill_store(struct filling *f)
{
    struct store_options options = {
        .directory = f->world->directory, .map_bytes = MAP_BYTES, .wake = on_wake, .arg = f->world};
    char why[STORE_WHY_MAX];
    enum status st = store_open(&options, &f->world->store, why);

    if (st != ST_OK)
        return st;
    f->write = (struct store_write){.apply = fill, .done = on_done, .bytes = 4096};
    store_submit(f->world->store, &f->write);
    while (!f->done) {
        (void)sem_wait(&f->world->woken);
        store_complete(f->world->store);
    }
    return f->result;
}

/* ---- the profile ---- */

static const struct {
    int node; /* -1: no stack at all */
    uint32_t task, replicate, samples;
    double weight_ns;
} cells[] = {
    {0, 0, 0, 1, 10101010.25},    {1, 0, 0, 3, 30303030.75},  {1, 0, 1, 2, 20202020.4},
    {1, 1, 1, 2, 20202020.4},     {2, 0, 0, 5, 50505050.125}, {3, 0, 0, 7, 70707070.875},
    {4, 1, 1, 11, 111111110.3},   {5, 1, 1, 1, 10101010.25},  {6, 1, 1, 4, 40404040.6},
    {7, 0, 1, 2, 20202020.33333}, {8, 1, 1, 1, 10101010.9},   {-1, 1, 1, 1, 10101010.25},
};

static void make_profile(struct export_world *w, const struct filling *f)
{
    struct profile *p = &w->profile;

    w->hosts[0] = "web-1";
    w->hosts[1] = "web-2";
    w->services[0] = "shop";
    w->tasks[0] = (struct profile_task){0, 0, f->comm, f->thread};
    w->tasks[1] = (struct profile_task){1, PROFILE_NONE, f->comm, CHUNK_NO_PARENT};
    w->replicates[0] = (struct profile_replicate){0, 0, (double)NS_PER_S};
    w->replicates[1] = (struct profile_replicate){1, 0, (double)NS_PER_S};
    *p = (struct profile){.hosts = w->hosts,
                          .services = w->services,
                          .tasks = w->tasks,
                          .cells = w->cells,
                          .replicates = w->replicates,
                          .host_count = 2,
                          .service_count = 1,
                          .task_count = 2,
                          .replicate_count = 2,
                          .window_ns = (double)NS_PER_S,
                          .inclusion_min = 1,
                          .event = EVENT_CPU};
    for (size_t i = 0; i < sizeof(cells) / sizeof(cells[0]); i++) {
        p->cells[p->cell_count++] = (struct profile_cell){
            .leaf = cells[i].node < 0 ? CHUNK_NO_PARENT : w->nodes[cells[i].node],
            .task = cells[i].task,
            .replicate = cells[i].replicate,
            .samples = cells[i].samples,
            .weight_ns = cells[i].weight_ns};
        p->samples += cells[i].samples;
        p->weight_ns += cells[i].weight_ns;
    }
    p->coverage = (struct coverage){.from = {NOON},
                                    .to = {NOON + NS_PER_S},
                                    .hosts_wanted = 3,
                                    .hosts_covered = 2,
                                    .covered_share = 2.0 / 3,
                                    .chunks = 2,
                                    .samples = p->samples,
                                    .period_min_ns = PERIOD_NS,
                                    .period_max_ns = PERIOD_NS};
    p->coverage.ledger.expected = 60;
    p->coverage.ledger.lost[LOSS_RING] = 6;
}

void export_world_empty(struct export_world *w)
{
    w->profile.cell_count = 0;
    w->profile.samples = 0;
    w->profile.weight_ns = 0;
}

int export_world_set_up(void **state)
{
    struct export_world *w = calloc(1, sizeof(*w));
    struct filling f = {.world = w};

    strcpy(w->directory, "/tmp/fleetprof-export-XXXXXX");
    if (mkdtemp(w->directory) == NULL || sem_init(&w->woken, 0, 0) != 0 || fill_store(&f) != ST_OK)
        return -1;
    if (store_view_open(w->store, &w->view) != ST_OK ||
        symbol_cache_new(SYMBOL_CACHE_BYTES, &w->cache) != ST_OK ||
        symbolizer_new(w->cache, w->view, &w->symbolizer) != ST_OK)
        return -1;
    w->dictionary = store_view_dictionary(w->view);
    make_profile(w, &f);
    *state = w;
    return 0;
}

int export_world_tear_down(void **state)
{
    struct export_world *w = *state;
    char command[128];

    symbolizer_free(w->symbolizer);
    symbol_cache_free(w->cache);
    store_view_close(w->view);
    store_close(w->store);
    (void)sem_destroy(&w->woken);
    (void)snprintf(command, sizeof(command), "rm -rf '%s'", w->directory);
    if (system(command) != 0) /* NOLINT: our own directory */
        return -1;
    free(w);
    return 0;
}
