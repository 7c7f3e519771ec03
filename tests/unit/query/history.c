/* history - writes run one by one, each waiting for its commit. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/symtab.h"
#include "tests/unit/query/history.h"

enum { MAP_BYTES = 1 << 30, GROUPS_MAX = 1024, LABELS_IN_CHUNK_MAX = 256 };

struct history {
    char directory[64];
    struct store *store;
    sem_t woken;
    struct store_view *view;
    struct symbol_cache *cache;
    struct symbolizer *symbolizer;
    struct wire_writer *writer;
    uint32_t build;
};

static void on_wake(void *arg)
{
    struct history *h = arg;

    (void)sem_post(&h->woken);
}

struct history *history_new(void)
{
    struct history *h = calloc(1, sizeof(*h));
    struct store_options options = {.map_bytes = MAP_BYTES, .wake = on_wake, .arg = h};
    char why[STORE_WHY_MAX] = "";

    assert_non_null(h);
    strcpy(h->directory, "/tmp/fleetprof-query-XXXXXX");
    assert_non_null(mkdtemp(h->directory));
    options.directory = h->directory;
    assert_int_equal(sem_init(&h->woken, 0, 0), 0);
    if (store_open(&options, &h->store, why) != ST_OK)
        fail_msg("%s", why);
    assert_int_equal(symbol_cache_new(SYMBOL_CACHE_BYTES, &h->cache), ST_OK);
    assert_int_equal(wire_writer_new(1 << 20, &h->writer), ST_OK);
    return h;
}

static void drop_view(struct history *h)
{
    symbolizer_free(h->symbolizer);
    store_view_close(h->view);
    h->symbolizer = NULL;
    h->view = NULL;
}

void history_free(struct history *h)
{
    char command[128];

    if (h == NULL)
        return;
    drop_view(h);
    symbol_cache_free(h->cache);
    store_close(h->store);
    (void)sem_destroy(&h->woken);
    wire_writer_free(h->writer);
    (void)snprintf(command, sizeof(command), "rm -rf '%s'", h->directory);
    (void)system(command); /* NOLINT: our own directory */
    free(h);
}

/* ---- writing ---- */

struct job {
    struct store_write write;
    enum status (*run)(struct store_txn *t, void *arg);
    void *arg;
    enum status result;
    bool done;
};

static enum status apply_job(struct store_write *w, struct store_txn *t)
{
    struct job *j = (struct job *)w;

    return j->run(t, j->arg);
}

static void on_done(struct store_write *w, enum status st)
{
    struct job *j = (struct job *)w;

    j->result = st;
    j->done = true;
}

static void run(struct history *h, enum status (*step)(struct store_txn *t, void *arg), void *arg)
{
    struct job j = {
        .write = {.apply = apply_job, .done = on_done, .bytes = 4096}, .run = step, .arg = arg};

    drop_view(h);
    store_submit(h->store, &j.write);
    while (!j.done) {
        (void)sem_wait(&h->woken);
        store_complete(h->store);
    }
    assert_int_equal(j.result, ST_OK);
}

struct put {
    enum store_table table;
    struct slice key, value;
};

static enum status put(struct store_txn *t, void *arg)
{
    const struct put *p = arg;

    return store_txn_put(t, p->table, p->key, p->value);
}

static void set_labels(struct labels *l, const char *text)
{
    char copy[256];

    (void)snprintf(copy, sizeof(copy), "%s", text == NULL ? "" : text);
    for (char *pair = strtok(copy, ","); pair != NULL; pair = strtok(NULL, ","))
        assert_int_equal(labels_set_pair(l, pair), ST_OK);
}

static void put_profiler(struct history *h, const struct profiler_record *r)
{
    struct put p = {STORE_PROFILERS, {r->id.bytes, sizeof(r->id.bytes)}, {0}};

    wire_writer_reset(h->writer);
    assert_int_equal(profiler_record_encode(r, h->writer), ST_OK);
    p.value = wire_writer_bytes(h->writer);
    run(h, put, &p);
}

struct id128 history_profiler(struct history *h, const char *host, const char *labels,
                              double assigned, double ended)
{
    struct profiler_record r = {
        .id = id128_random(), .incarnation = 1, .event = EVENT_CPU, .assigned = at(assigned)};

    (void)snprintf(r.host, sizeof(r.host), "%s", host);
    if (ended >= 0)
        r.ended = at(ended);
    set_labels(&r.labels, labels);
    put_profiler(h, &r);
    labels_deinit(&r.labels);
    return r.id;
}

void history_end(struct history *h, struct id128 profiler, double ended, uint64_t last_sequence)
{
    struct profiler_record r;

    assert_int_equal(profiler_record_load(history_view(h), profiler, &r), ST_OK);
    r.ended = at(ended);
    r.last_sequence = last_sequence;
    put_profiler(h, &r);
    profiler_record_deinit(&r);
}

uint64_t history_session(struct history *h, enum session_state state,
                         const struct session_member *members, uint32_t member_count)
{
    struct session_record r = {.id = random_u64() | 1,
                               .selector = (char *)"",
                               .event = EVENT_CPU,
                               .hz = 100,
                               .created = members[0].from,
                               .ends = at(600),
                               .state = state,
                               .members = (struct session_member *)members,
                               .member_count = member_count};
    uint8_t key[SESSION_ID_BYTES];
    struct put p = {STORE_SESSIONS, {key, sizeof(key)}, {0}};

    for (int i = 0; i < SESSION_ID_BYTES; i++)
        key[i] = (uint8_t)(r.id >> (56 - 8 * i));
    wire_writer_reset(h->writer);
    assert_int_equal(session_record_encode(&r, h->writer), ST_OK);
    p.value = wire_writer_bytes(h->writer);
    run(h, put, &p);
    return r.id;
}

/* ---- stacks and symbols ---- */

static struct build_id build_of(const char *path, uint32_t build)
{
    struct build_id id = {.length = 20};

    (void)snprintf((char *)id.bytes, 20, "%02u%.16s", build, path);
    return id;
}

void history_rebuild(struct history *h, uint32_t build)
{
    h->build = build;
}

struct stack {
    const char *const *frames;
    uint32_t count, leaf, build;
};

static enum status intern_binary(struct store_txn *t, const struct stack *s, const char *path,
                                 uint32_t *out)
{
    struct build_id id = build_of(path, s->build);
    uint32_t text;
    enum status st = store_txn_string(t, path, &text);

    return st == ST_OK ? store_txn_binary(t, &id, text, out) : st;
}

static enum status intern_frame(struct store_txn *t, const struct stack *s, const char *text,
                                uint32_t *out)
{
    struct chunk_frame f = {FRAME_NAMED, CHUNK_NO_PARENT, CHUNK_NO_PARENT, 0};
    const char *plus = strstr(text, "+0x");
    char path[256];
    enum status st;

    if (plus == NULL) {
        f.kind = text[0] == '[' ? FRAME_MARK : FRAME_NAMED;
        st = store_txn_string(t, text, &f.name);
    } else {
        (void)snprintf(path, sizeof(path), "%.*s", (int)(plus - text), text);
        f.kind = strcmp(path, "k") == 0 ? FRAME_KERNEL : FRAME_NATIVE;
        f.offset = strtoull(plus + 1, NULL, 16);
        st = intern_binary(t, s, f.kind == FRAME_KERNEL ? "[kernel]" : path, &f.binary);
    }
    return st == ST_OK ? store_txn_frame(t, &f, out) : st;
}

static enum status intern_stack(struct store_txn *t, void *arg)
{
    struct stack *s = arg;
    struct chunk_node node = {.parent = CHUNK_NO_PARENT};
    enum status st = ST_OK;

    for (uint32_t i = 0; i < s->count && st == ST_OK; i++) {
        st = intern_frame(t, s, s->frames[i], &node.frame);
        if (st == ST_OK)
            st = store_txn_node(t, node, &s->leaf);
        node.parent = s->leaf;
    }
    return st;
}

uint32_t history_stack(struct history *h, const char *const *frames, uint32_t count)
{
    struct stack s = {.frames = frames, .count = count, .build = h->build};

    run(h, intern_stack, &s);
    return s.leaf;
}

void history_symbols(struct history *h, const char *path, const struct history_symbol *symbols,
                     uint32_t count)
{
    struct symtab table = {0};

    for (uint32_t i = 0; i < count; i++)
        assert_int_equal(symtab_add(&table, symbols[i].start, symbols[i].size, symbols[i].name),
                         ST_OK);
    history_table(h, path, &table);
}

void history_table(struct history *h, const char *path, struct symtab *table)
{
    struct build_id id = build_of(path, h->build);
    struct put p = {STORE_SYMBOLS, {id.bytes, id.length}, {0}};
    struct blob packed;

    symtab_sort(table);
    assert_int_equal(symtab_encode(table, &packed), ST_OK);
    p.value = blob_slice(&packed);
    run(h, put, &p);
    blob_deinit(&packed);
    symtab_deinit(table);
}

/* ---- chunks ---- */

struct builder {
    const struct history_chunk *in;
    struct chunk chunk;
    struct chunk_label labels[LABELS_IN_CHUNK_MAX];
    struct chunk_process processes[GROUPS_MAX];
    struct chunk_thread threads[GROUPS_MAX];
    struct chunk_group groups[GROUPS_MAX];
};

static enum status add_labels(struct store_txn *t, struct builder *b, const char *text,
                              struct chunk_process *p)
{
    struct chunk_samples *s = &b->chunk.samples;
    struct labels labels = {0};
    enum status st = ST_OK;

    set_labels(&labels, text);
    p->first_label = s->label_count;
    p->label_count = (uint32_t)labels.count;
    for (size_t i = 0; i < labels.count && st == ST_OK; i++) {
        struct chunk_label *l = &b->labels[s->label_count++];

        st = store_txn_string(t, labels.items[i].key, &l->key);
        if (st == ST_OK)
            st = store_txn_string(t, labels.items[i].value, &l->value);
    }
    labels_deinit(&labels);
    return st;
}

static void add_ticks(struct builder *b, const struct history_group *g)
{
    struct chunk_samples *s = &b->chunk.samples;
    double length = (b->in->to - b->in->from) * (double)NS_PER_S / CHUNK_TICK_NS;
    double only = (g->only_at - b->in->from) * (double)NS_PER_S / CHUNK_TICK_NS;

    for (uint32_t i = 0; i < g->count; i++)
        s->ticks[s->sample_count++] =
            (uint32_t)(g->only_at > 0 ? only : length * (i + 0.5) / g->count);
}

static enum status add_group(struct store_txn *t, struct builder *b, uint32_t i)
{
    const struct history_group *g = &b->in->groups[i];
    enum status st = add_labels(t, b, g->labels, &b->processes[i]);

    b->processes[i].pid = 100 + i;
    b->processes[i].start_ns = 1;
    b->threads[i].process = i;
    b->threads[i].tid = 100 + i;
    b->groups[i] = (struct chunk_group){.leaf = g->leaf, .thread = i, .count = g->count};
    add_ticks(b, g);
    if (st == ST_OK)
        st = store_txn_string(t, "worker", &b->processes[i].comm);
    return st == ST_OK
               ? store_txn_string(t, g->thread == NULL ? "main" : g->thread, &b->threads[i].name)
               : st;
}

static void set_info(struct builder *b)
{
    const struct history_chunk *in = b->in;
    struct chunk_info *info = &b->chunk.info;
    uint64_t window_ns = at(in->to).ns - at(in->from).ns, seen;

    *info = (struct chunk_info){.profiler = in->profiler,
                                .sequence = in->sequence,
                                .incarnation = 1,
                                .final = in->final,
                                .start = {NS_PER_S},
                                .end = {NS_PER_S + window_ns},
                                .wall_start = {at(in->from).ns - (uint64_t)in->clock_offset_ns},
                                .clock_offset_ns = in->clock_offset_ns,
                                .event = EVENT_CPU,
                                .period_ns = NS_PER_S / (in->hz == 0 ? 100 : in->hz),
                                .inclusion = in->inclusion == 0 ? 1 : in->inclusion,
                                .cpus = 4,
                                .walks = in->walks};
    for (uint32_t i = 0; i < in->group_count; i++)
        info->ledger.delivered += in->groups[i].count;
    info->ledger.lost[LOSS_RING] = in->lost;
    info->ledger.lost[LOSS_SPOOL] = in->lost_in_spool;
    info->ledger.expected = 4 * window_ns / info->period_ns;
    seen = info->ledger.delivered + ledger_lost(&info->ledger);
    if (info->ledger.expected < seen)
        info->ledger.expected = seen;
    info->ledger.idle = info->ledger.expected - seen;
}

static enum status store_chunk(struct store_txn *t, void *arg)
{
    struct builder *b = arg;
    struct blob stored;
    enum status st = ST_OK;

    for (uint32_t i = 0; i < b->in->group_count && st == ST_OK; i++)
        st = add_group(t, b, i);
    if (st == ST_OK)
        st = chunk_encode(&b->chunk, CHUNK_STORED, &stored);
    if (st != ST_OK)
        return st;
    st = store_txn_chunk(t, &b->chunk.info, blob_slice(&stored));
    blob_deinit(&stored);
    return st;
}

void history_chunk(struct history *h, const struct history_chunk *c)
{
    struct builder *b = calloc(1, sizeof(*b));
    struct chunk_samples *s = &b->chunk.samples;

    assert_in_range(c->group_count, 0, GROUPS_MAX);
    b->in = c;
    set_info(b);
    s->labels = b->labels;
    s->processes = b->processes;
    s->threads = b->threads;
    s->groups = b->groups;
    s->process_count = s->thread_count = s->group_count = c->group_count;
    s->ticks = calloc(b->chunk.info.ledger.delivered + 1, sizeof(*s->ticks));
    run(h, store_chunk, b);
    free(s->ticks);
    free(b);
}

/* ---- questions ---- */

struct store_view *history_view(struct history *h)
{
    if (h->view == NULL)
        assert_int_equal(store_view_open(h->store, &h->view), ST_OK);
    return h->view;
}

struct store_view *history_own_view(struct history *h)
{
    struct store_view *v;

    assert_int_equal(store_view_open(h->store, &v), ST_OK);
    return v;
}

const struct dictionary *history_dictionary(struct history *h)
{
    return store_view_dictionary(history_view(h));
}

struct symbolizer *history_symbolizer(struct history *h)
{
    struct store_view *v = history_view(h);

    if (h->symbolizer == NULL)
        assert_int_equal(symbolizer_new(h->cache, v, &h->symbolizer), ST_OK);
    return h->symbolizer;
}

struct symbol_cache *history_cache(struct history *h)
{
    return h->cache;
}

static struct profile collect(struct history *h, const struct window *w)
{
    char why[WINDOW_WHY_MAX];
    struct profile p;

    if (profile_collect(history_view(h), w, &p, why) != ST_OK)
        fail_msg("%s", why);
    return p;
}

struct profile history_collect(struct history *h, double from, double to, const char *select)
{
    char why[SELECTOR_WHY_MAX];
    struct selector *selector = NULL;
    struct window w = {.from = at(from), .to = at(to)};
    struct profile p;

    if (select != NULL)
        assert_int_equal(selector_parse(select, &selector, why), ST_OK);
    w.select = selector;
    p = collect(h, &w);
    selector_free(selector);
    return p;
}

struct profile history_collect_session(struct history *h, uint64_t session)
{
    struct window w = {.by_session = true, .session = session};

    return collect(h, &w);
}
