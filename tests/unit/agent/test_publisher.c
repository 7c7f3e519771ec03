/* publisher: mappings become ranges, ranges pages; tables that come and go change them. */
#include "agent/unwind/publisher.h"

#include <stdlib.h>
#include <string.h>

#include "tests/unit/agent/tables_world.h"

#define EXE "/proc/self/exe"
#define START UINT64_C(0x7f0000001000)

struct world {
    struct tables_world tables;
    struct publisher *publisher;
};

static void on_change(void *arg, uint32_t binary)
{
    publisher_table_changed(arg, binary);
}

static void open_all(struct world *w, uint32_t shards)
{
    world_open(&w->tables, shards);
    assert_int_equal(publisher_new(w->tables.maps, w->tables.tables, &w->publisher), ST_OK);
    w->tables.on_change = on_change;
    w->tables.arg = w->publisher;
}

static void close_all(struct world *w)
{
    publisher_free(w->publisher);
    world_close(&w->tables);
}

static void build(struct world *w, uint32_t binary)
{
    (void)world_use(&w->tables, binary);
    world_settle(&w->tables);
}

static void put(struct world *w, const struct code_mapping *m, uint32_t count)
{
    const struct code code = {m, count, 1, 1, false};

    assert_int_equal(publisher_put(w->publisher, 7, &code, w->tables.now), ST_OK);
}

/* The code of a file as the loader maps it, from its segment's page on. */
static struct code_mapping code_of(struct world *w, uint32_t binary)
{
    const struct file_segment *s = &tables_file(w->tables.tables, binary)->segments[0];
    uint64_t page = s->offset - s->offset % 4096;

    return (struct code_mapping){.start = START,
                                 .end = START + (s->offset - page) + s->bytes,
                                 .file_offset = page,
                                 .binary = binary};
}

static void addresses_lead_to_their_rows(void **state)
{
    struct world w = {.tables = {.files = {EXE}}};
    struct code_mapping m;
    const struct ranges *r;
    const struct file_rows *file;

    (void)state;
    open_all(&w, 0);
    build(&w, 0);
    m = code_of(&w, 0);
    put(&w, &m, 1);
    r = publisher_ranges(w.publisher, 7);
    file = tables_file(w.tables.tables, 0);
    assert_int_equal(r->count, 1);
    assert_int_equal(r->items[0].rule, ABI_RANGE_ROWS);
    assert_int_equal(r->items[0].start, m.start);
    assert_int_equal(r->items[0].end, m.end);
    /* The segment's first byte has pc 0. */
    assert_int_equal(r->items[0].base, START + file->segments[0].offset % 4096);
    close_all(&w);
}

static void the_tail_of_a_split_mapping_counts_from_the_same_base(void **state)
{
    struct world w = {.tables = {.files = {EXE}}};
    struct code_mapping m[2];
    const struct ranges *r;

    (void)state;
    open_all(&w, 0);
    build(&w, 0);
    m[0] = m[1] = code_of(&w, 0);
    m[0].end = START + 4096;
    m[1].start = START + 8192;
    m[1].file_offset += 8192;
    put(&w, m, 2);
    r = publisher_ranges(w.publisher, 7);
    assert_int_equal(r->count, 2);
    assert_int_equal(r->items[0].base, r->items[1].base);
    close_all(&w);
}

static void code_without_a_table_has_the_rule_of_its_kind(void **state)
{
    static const struct code_mapping m[] = {
        {.start = 0x1000, .end = 0x2000, .kind = CODE_ANONYMOUS},
        {.start = 0x3000, .end = 0x4000, .kind = CODE_TRAMPOLINES},
        {.start = 0x5000, .end = 0x6000, .binary = 0}, /* cannot be read */
    };
    struct world w = {0};
    const struct ranges *r;

    (void)state;
    open_all(&w, 0);
    build(&w, 0);
    put(&w, m, 3);
    r = publisher_ranges(w.publisher, 7);
    assert_int_equal(r->count, 3);
    assert_int_equal(r->items[0].rule, ABI_RANGE_FRAME_POINTER);
    assert_int_equal(r->items[1].rule, ABI_RANGE_TRAMPOLINE);
    assert_int_equal(r->items[2].rule, ABI_RANGE_FRAME_POINTER);
    close_all(&w);
}

static void a_table_that_comes_later_gets_its_range(void **state)
{
    struct world w = {.tables = {.files = {EXE}}};
    const struct code_mapping m = {.start = START, .end = START + 4096, .binary = 0};

    (void)state;
    open_all(&w, 0);
    (void)world_use(&w.tables, 0);
    put(&w, &m, 1);
    assert_int_equal(publisher_ranges(w.publisher, 7)->count, 0);
    assert_true(publisher_waits(w.publisher, 7));
    world_settle(&w.tables);
    assert_int_equal(publisher_ranges(w.publisher, 7)->count, 1);
    assert_false(publisher_waits(w.publisher, 7));
    close_all(&w);
}

/* Two of libc's tables fill the one shard. */
static void a_table_that_goes_leaves_frame_pointers(void **state)
{
    struct world w = {.tables = {.files = {LIBC, LIBC, LIBC}}};
    struct code_mapping m;

    (void)state;
    open_all(&w, 1);
    build(&w, 0);
    build(&w, 1);
    m = code_of(&w, 0);
    put(&w, &m, 1);
    assert_int_equal(publisher_ranges(w.publisher, 7)->items[0].rule, ABI_RANGE_ROWS);
    world_pass(&w.tables, TABLES_HOT_NS);
    (void)world_use(&w.tables, 1);
    (void)world_use(&w.tables, 2);
    for (int i = 0; i < 10000 && tables_state(w.tables.tables, 0) == TABLE_READY; i++) {
        tables_run(w.tables.tables, w.tables.now);
        usleep(1000);
    }
    assert_int_equal(publisher_ranges(w.publisher, 7)->items[0].rule, ABI_RANGE_FRAME_POINTER);
    close_all(&w);
}

static void a_process_that_ended_is_no_longer_known(void **state)
{
    struct world w = {0};

    (void)state;
    open_all(&w, 0);
    put(&w, NULL, 0);
    assert_int_equal(publisher_state(w.publisher, 7).version, 1);
    assert_int_equal(publisher_ranges(w.publisher, 7)->count, 0);
    publisher_drop(w.publisher, 7);
    publisher_drop(w.publisher, 7);
    assert_int_equal(publisher_state(w.publisher, 7).version, 0);
    assert_null(publisher_ranges(w.publisher, 7));
    assert_int_equal(publisher_read_counters(w.publisher).processes, 0);
    close_all(&w);
}

static bool is_not_7(void *arg, uint32_t pid)
{
    (void)arg;
    return pid != 7;
}

static void a_sweep_drops_those_that_do_not_stay(void **state)
{
    const struct code code = {NULL, 0, 5, 1, false};
    struct world w = {0};

    (void)state;
    open_all(&w, 0);
    put(&w, NULL, 0);
    assert_int_equal(publisher_put(w.publisher, 7 + 1024, &code, w.tables.now), ST_OK);
    publisher_sweep(w.publisher, is_not_7, NULL);
    assert_null(publisher_ranges(w.publisher, 7));
    assert_int_equal(publisher_state(w.publisher, 7 + 1024).version, 5);
    close_all(&w);
}

static void many_ranges_take_several_pages(void **state)
{
    static struct code_mapping m[RANGES_MAX + 5];
    static struct abi_page page;
    struct world w = {0};
    const struct ranges *r;

    (void)state;
    open_all(&w, 0);
    for (uint32_t i = 0; i < RANGES_MAX + 5; i++)
        m[i] = (struct code_mapping){
            .start = 0x10000 * (i + 1), .end = 0x10000 * (i + 1) + 1, .kind = CODE_ANONYMOUS};
    put(&w, m, ABI_PAGE_RANGES);
    assert_int_equal(ranges_pages(publisher_ranges(w.publisher, 7)), 1);
    put(&w, m, ABI_PAGE_RANGES + 1);
    r = publisher_ranges(w.publisher, 7);
    assert_int_equal(ranges_pages(r), 3);
    ranges_fill_page(r, 0, &page);
    assert_int_equal(page.pages, 2);
    assert_int_equal(page.starts[1], m[ABI_PAGE_RANGES].start);
    ranges_fill_page(r, 2, &page);
    assert_int_equal(page.ranges, 1);
    assert_int_equal(page.range[0].start, m[ABI_PAGE_RANGES].start);
    put(&w, m, RANGES_MAX + 5);
    r = publisher_ranges(w.publisher, 7);
    assert_int_equal(ranges_pages(r), 1 + ABI_PAGES_MAX);
    assert_int_equal(publisher_read_counters(w.publisher).ranges_dropped, 5);
    close_all(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(addresses_lead_to_their_rows),
        cmocka_unit_test(the_tail_of_a_split_mapping_counts_from_the_same_base),
        cmocka_unit_test(code_without_a_table_has_the_rule_of_its_kind),
        cmocka_unit_test(a_table_that_comes_later_gets_its_range),
        cmocka_unit_test(a_table_that_goes_leaves_frame_pointers),
        cmocka_unit_test(a_process_that_ended_is_no_longer_known),
        cmocka_unit_test(a_sweep_drops_those_that_do_not_stay),
        cmocka_unit_test(many_ranges_take_several_pages),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
