/* walk_cases_ends - worlds where a walk ends early, and where tables are large or corrupt. */
#include "tests/unit/agent/walk_building.h"

/* ---- ends ---- */

void a_zero_return_address_is_the_root(struct walk_case *c)
{
    define(c, FIRST, ABI_ROW_RSP, 8, 0);
    starts_at(c, in(FIRST));
}

void a_zero_frame_pointer_is_the_root(struct walk_case *c)
{
    c->at.bp = address(&c->stack[6]);
    starts_at(c, JIT + 0x10);
    returns_to(c, 7, JIT + 0x20);
}

void a_zero_frame_pointer_of_the_innermost_is_lost(struct walk_case *c)
{
    starts_at(c, JIT + 0x10);
    c->end = WALK_LOST;
}

void a_frame_pointer_below_the_stack_is_lost(struct walk_case *c)
{
    c->at.sp = address(&c->stack[8]);
    c->at.bp = address(&c->stack[7]);
    starts_at(c, JIT + 0x10);
    c->end = WALK_LOST;
}

void an_odd_frame_pointer_is_lost(struct walk_case *c)
{
    c->at.bp = address(&c->stack[8]) + 4;
    starts_at(c, JIT + 0x10);
    c->end = WALK_LOST;
}

void a_frame_pointer_into_nowhere_is_unreadable(struct walk_case *c)
{
    c->at.bp = address(&c->stack[CASE_STACK_WORDS]);
    starts_at(c, JIT + 0x10);
    c->end = WALK_UNREADABLE;
}

void a_stack_that_ends_is_unreadable(struct walk_case *c)
{
    define(c, FIRST, ABI_ROW_RSP, 24, -2);
    c->at.sp = address(&c->stack[CASE_STACK_WORDS - 1]);
    starts_at(c, in(FIRST));
    c->end = WALK_UNREADABLE;
}

void a_return_address_in_no_range_is_unmapped(struct walk_case *c)
{
    define(c, FIRST, ABI_ROW_RSP, 8, 0);
    starts_at(c, in(FIRST));
    c->stack[0] = NOWHERE;
    c->end = WALK_UNMAPPED;
}

void a_return_address_that_is_none_is_unmapped(struct walk_case *c)
{
    define(c, FIRST, ABI_ROW_RSP, 8, 0);
    starts_at(c, in(FIRST));
    c->stack[0] = 0xffffffff81000000u;
    c->end = WALK_UNMAPPED;
}

void a_cfa_no_further_out_is_stuck(struct walk_case *c)
{
    define(c, FIRST, ABI_ROW_RSP, 8, 0);
    define(c, FIRST + 1, ABI_ROW_RSP, 0, 0);
    starts_at(c, in(FIRST));
    returns_to(c, 0, in(FIRST + 1));
    c->end = WALK_STUCK;
}

void an_unsupported_row_ends_the_walk(struct walk_case *c)
{
    define(c, FIRST, ABI_ROW_UNSUPPORTED, 0, 0);
    starts_at(c, in(FIRST));
    c->end = WALK_UNSUPPORTED;
}

void an_unknown_process_gives_its_innermost_frame(struct walk_case *c)
{
    c->page_count = 0;
    starts_at(c, in(FIRST));
    c->end = WALK_UNKNOWN;
}

static void recurse(struct walk_case *c, uint32_t depth)
{
    define(c, FIRST, ABI_ROW_RSP, 32, 0);
    starts_at(c, in(FIRST));
    for (uint32_t i = 1; i < depth; i++) {
        c->stack[4 * i - 1] = in(FIRST);
        if (i < ABI_FRAMES_MAX)
            expect(c, in(FIRST));
    }
    c->stack[4 * depth - 1] = in(ROOT_FUNCTION);
}

void recursion_of_200_is_truncated(struct walk_case *c)
{
    recurse(c, 200);
    c->end = WALK_TRUNCATED;
}

void a_stack_of_exactly_the_limit_is_whole(struct walk_case *c)
{
    recurse(c, ABI_FRAMES_MAX - 1);
    expect(c, in(ROOT_FUNCTION));
}

/* ---- large and corrupt tables ---- */

/* Ranges of one function's length each; function i is at index i of all. */
static void split_text(struct walk_case *c, uint32_t ranges)
{
    c->pages[0] = (struct abi_page){.pages = (ranges + ABI_PAGE_RANGES - 1) / ABI_PAGE_RANGES};
    c->page_count = 1 + c->pages[0].pages;
    for (uint32_t i = 0; i < ranges; i++) {
        struct abi_page *page = &c->pages[1 + i / ABI_PAGE_RANGES];
        uint64_t start = TEXT + (uint64_t)i * FUNCTION;

        if (page->ranges == 0)
            c->pages[0].starts[i / ABI_PAGE_RANGES] = start;
        page->range[page->ranges++] = (struct abi_range){.start = start,
                                                         .end = start + FUNCTION,
                                                         .base = TEXT,
                                                         .shard = CASE_SHARD,
                                                         .last = 64,
                                                         .rule = ABI_RANGE_ROWS};
    }
}

void three_hundred_ranges_take_three_pages(struct walk_case *c)
{
    static const uint32_t functions[] = {299, 128, 127, 255, 256, 3};
    uint32_t top = 0;

    split_text(c, 300);
    define(c, FIRST, ABI_ROW_RSP, 16, 0); /* and all after it */
    for (uint32_t i = 0; i < 6; i++) {
        if (i == 0)
            starts_at(c, in(functions[i]));
        else
            returns_to(c, top - 1, in(functions[i]));
        top += 2;
    }
    returns_to_main(c, top - 1);
}

void tables_of_65536_rows_are_searched_from_end_to_end(struct walk_case *c)
{
    static const uint32_t rows[] = {65535, 32768, 32767, 40000, 4};
    uint32_t top = 0;

    c->pages[0].range[0].last = ABI_SHARD_ROWS;
    c->pages[0].range[0].base = TEXT;
    c->rows = 0;
    for (uint32_t i = 0; i < ABI_SHARD_ROWS; i++)
        add_row(c, i * 16, ABI_ROW_UNSUPPORTED, 0, 0);
    c->shard->rows[0].kind = ABI_ROW_ROOT;
    for (uint32_t i = 0; i < 5; i++) {
        c->shard->rows[rows[i]].kind = ABI_ROW_RSP;
        c->shard->rows[rows[i]].cfa = (int16_t)(8 * (i + 1));
        if (i == 0)
            starts_at(c, TEXT + rows[i] * 16 + 15);
        else
            returns_to(c, top - 1, TEXT + rows[i] * 16 + 1);
        top += i + 1;
    }
    returns_to(c, top - 1, TEXT + 8);
}

void an_address_before_the_first_row_is_a_gap(struct walk_case *c)
{
    c->pages[0].range[0].first = 2; /* the root has no row any more */
    define(c, FIRST, ABI_ROW_RSP, 8, 0);
    starts_at(c, in(FIRST));
    returns_to_main(c, 0);
}

void rows_of_a_missing_shard_are_gaps(struct walk_case *c)
{
    c->pages[0].range[0].shard = CASE_SHARD + 1;
    c->at.bp = address(&c->stack[6]);
    starts_at(c, in(FIRST));
    returns_to(c, 7, in(MAIN));
}

void corrupt_bounds_are_gaps(struct walk_case *c)
{
    c->pages[0].range[0].last = UINT32_MAX;
    c->pages[0].range[1] = c->pages[0].range[0];
    c->pages[0].range[1].start = JIT;
    c->pages[0].range[1].end = JIT_END;
    c->pages[0].range[1].first = 70000;
    c->at.bp = address(&c->stack[6]);
    starts_at(c, in(FIRST));
    c->stack[6] = address(&c->stack[16]);
    returns_to(c, 7, JIT + 0x20);
    returns_to(c, 17, JIT + 0x40);
}

void a_kind_that_means_nothing_is_unsupported(struct walk_case *c)
{
    define(c, FIRST, (enum abi_row_kind)200, 8, 0);
    starts_at(c, in(FIRST));
    c->end = WALK_UNSUPPORTED;
}

void a_page_that_claims_too_many_ranges_is_still_searched(struct walk_case *c)
{
    for (uint32_t i = 2; i < ABI_PAGE_RANGES; i++)
        c->pages[0].range[i].start = UINT64_MAX;
    c->pages[0].ranges = UINT32_MAX;
    define(c, FIRST, ABI_ROW_RSP, 8, 0);
    starts_at(c, in(FIRST));
    returns_to_main(c, 0);
}

void a_further_page_that_is_missing_makes_it_unknown(struct walk_case *c)
{
    split_text(c, 300);
    c->page_count = 3;
    define(c, FIRST, ABI_ROW_RSP, 8, 0);
    starts_at(c, in(FIRST));
    c->stack[0] = in(280);
    c->end = WALK_UNKNOWN;
}

void an_address_below_the_base_is_a_gap(struct walk_case *c)
{
    c->pages[0].range[0].base = TEXT_END;
    c->at.bp = address(&c->stack[6]);
    starts_at(c, in(FIRST));
    returns_to(c, 7, in(MAIN));
}
