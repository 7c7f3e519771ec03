/* walk_cases - worlds where all is well: each rule in turn. */
#include "tests/unit/agent/walk_cases.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "tests/unit/agent/walk_building.h"

enum { GUARD_BYTES = 4096 };

void walk_case_init(struct walk_case *c)
{
    size_t bytes = CASE_STACK_WORDS * sizeof(uint64_t) + 2 * GUARD_BYTES;
    char *memory = mmap(NULL, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    memset(c, 0, sizeof(*c));
    if (memory == MAP_FAILED)
        abort();
    c->stack = (uint64_t *)(memory + GUARD_BYTES);
    c->shard = calloc(1, sizeof(*c->shard));
    if (c->shard == NULL || mprotect(c->stack, bytes - 2 * GUARD_BYTES, PROT_READ | PROT_WRITE))
        abort();
}

void walk_case_deinit(struct walk_case *c)
{
    munmap((char *)c->stack - GUARD_BYTES, CASE_STACK_WORDS * sizeof(uint64_t) + 2 * GUARD_BYTES);
    free(c->shard);
}

void walk_case_clear(struct walk_case *c)
{
    struct walk_case fresh = {.stack = c->stack, .shard = c->shard, .page_count = 1};

    memset(c->stack, 0, CASE_STACK_WORDS * sizeof(uint64_t));
    memset(c->shard, 0xff, sizeof(*c->shard)); /* rows beyond every address */
    *c = fresh;
    add_range(c, TEXT, TEXT_END, ABI_RANGE_ROWS);
    add_range(c, JIT, JIT_END, ABI_RANGE_FRAME_POINTER);
    add_row(c, 0, ABI_ROW_UNSUPPORTED, 0, 0);
    define(c, ROOT_FUNCTION, ABI_ROW_ROOT, 0, 0);
    define(c, MAIN, ABI_ROW_RSP, 8, 0);
    c->at.sp = address(c->stack);
    c->end = WALK_ROOT;
}

/* ---- rows ---- */

void rsp_rows_lead_to_the_root(struct walk_case *c)
{
    define(c, FIRST, ABI_ROW_RSP, 16, 0);
    define(c, FIRST + 1, ABI_ROW_RSP, 32, 0);
    starts_at(c, in(FIRST));
    returns_to(c, 1, in(FIRST + 1));
    returns_to_main(c, 5);
}

void rbp_rows_restore_the_callers_rbp(struct walk_case *c)
{
    define(c, FIRST, ABI_ROW_RBP, 16, -2);
    define(c, FIRST + 1, ABI_ROW_RBP, 16, -2);
    c->at.bp = address(&c->stack[10]);
    starts_at(c, in(FIRST));
    c->stack[10] = address(&c->stack[20]);
    returns_to(c, 11, in(FIRST + 1));
    returns_to_main(c, 21);
}

void a_saved_rbp_may_lie_far_from_the_return_address(struct walk_case *c)
{
    static const int places[] = {-8, -9, -100, 1};
    uint32_t top = 200;

    for (uint32_t i = 0; i < 4; i++) {
        define(c, FIRST + 2 * i, ABI_ROW_RSP, i == 0 ? 1600 : 3200 - 8, places[i]);
        define(c, FIRST + 2 * i + 1, ABI_ROW_RBP, 8, 0);
    }
    starts_at(c, in(FIRST));
    for (uint32_t i = 0; i < 4; i++) {
        returns_to(c, top - 1, in(FIRST + 2 * i + 1));
        c->stack[(int)top + places[i]] = address(&c->stack[top + 4]);
        if (i < 3)
            returns_to(c, top + 4, in(FIRST + 2 * i + 2));
        else
            returns_to_main(c, top + 4);
        top += 5 + 399;
    }
}

void far_rows_count_in_words(struct walk_case *c)
{
    define(c, FIRST, ABI_ROW_RSP_FAR, 2000, 0);
    define(c, FIRST + 1, ABI_ROW_RBP_FAR, 1000, 0);
    c->at.bp = address(&c->stack[2010]);
    starts_at(c, in(FIRST));
    returns_to(c, 1999, in(FIRST + 1));
    returns_to_main(c, 3009);
}

void plt_rows_go_by_the_place_in_the_stub(struct walk_case *c)
{
    define(c, FIRST, ABI_ROW_PLT, 11, 0);
    starts_at(c, TEXT + FIRST * FUNCTION + 0x4b); /* past the push */
    returns_to_main(c, 1);
}

void a_signal_frame_leads_to_the_interrupted_code(struct walk_case *c)
{
    uint64_t interrupted = TEXT + (FIRST + 1) * FUNCTION; /* one byte less is the trampoline */

    define(c, FIRST, ABI_ROW_SIGNAL, 0, 0);
    define(c, FIRST + 1, ABI_ROW_RBP, 16, -2);
    c->at.sp = address(&c->stack[1000]); /* on another stack, further out */
    starts_at(c, in(FIRST));
    c->stack[1000 + 120 / 8] = address(&c->stack[50]);
    c->stack[1000 + 160 / 8] = address(&c->stack[40]);
    returns_to(c, 1000 + 168 / 8, interrupted);
    returns_to_main(c, 51);
}

void deref_rows_read_the_cfa_from_the_stack(struct walk_case *c)
{
    define(c, FIRST, ABI_ROW_RSP_DEREF, 24, 0);
    define(c, FIRST + 1, ABI_ROW_RBP_DEREF, -16, 0);
    c->at.bp = address(&c->stack[22]);
    starts_at(c, in(FIRST));
    c->stack[3] = address(&c->stack[10]);
    returns_to(c, 9, in(FIRST + 1));
    c->stack[20] = address(&c->stack[30]);
    returns_to_main(c, 29);
}

void deref8_rows_add_a_word(struct walk_case *c)
{
    define(c, FIRST, ABI_ROW_RSP_DEREF8, 24, 0);
    define(c, FIRST + 1, ABI_ROW_RBP_DEREF8, -16, 0);
    c->at.bp = address(&c->stack[22]);
    starts_at(c, in(FIRST));
    c->stack[3] = address(&c->stack[9]);
    returns_to(c, 9, in(FIRST + 1));
    c->stack[20] = address(&c->stack[29]);
    returns_to_main(c, 29);
}

void r10_holds_the_cfa_while_the_stack_is_realigned(struct walk_case *c)
{
    define(c, FIRST, ABI_ROW_R10, 0, 0);
    c->at.r10 = address(&c->stack[17]);
    starts_at(c, in(FIRST));
    returns_to_main(c, 16);
}

void r10_is_known_of_interrupted_code(struct walk_case *c)
{
    define(c, FIRST, ABI_ROW_SIGNAL, 0, 0);
    define(c, FIRST + 1, ABI_ROW_R10, 8, 0);
    starts_at(c, in(FIRST));
    c->stack[56 / 8] = address(&c->stack[100]);
    c->stack[160 / 8] = address(&c->stack[60]);
    returns_to(c, 168 / 8, in(FIRST + 1));
    returns_to_main(c, 100);
}

void r10_of_a_caller_is_unsupported(struct walk_case *c)
{
    define(c, FIRST, ABI_ROW_RSP, 8, 0);
    define(c, FIRST + 1, ABI_ROW_R10, 0, 0);
    c->at.r10 = address(&c->stack[17]);
    starts_at(c, in(FIRST));
    returns_to(c, 0, in(FIRST + 1));
    c->end = WALK_UNSUPPORTED;
}

void rbp_may_be_saved_where_it_points(struct walk_case *c)
{
    define(c, FIRST, ABI_ROW_RBP_DEREF, -8, ABI_RBP_AT_RBP);
    define(c, FIRST + 1, ABI_ROW_RBP, 8, 0);
    c->at.bp = address(&c->stack[4]);
    starts_at(c, in(FIRST));
    c->stack[3] = address(&c->stack[12]);
    c->stack[4] = address(&c->stack[20]);
    returns_to(c, 11, in(FIRST + 1));
    returns_to_main(c, 20);
}

static void lose_rbp(struct walk_case *c)
{
    define(c, FIRST, ABI_ROW_RSP, 8, ABI_RBP_LOST);
    c->at.bp = address(&c->stack[4]);
    starts_at(c, in(FIRST));
}

void a_lost_rbp_matters_only_to_who_asks_for_it(struct walk_case *c)
{
    lose_rbp(c);
    define(c, FIRST + 1, ABI_ROW_RSP, 24, -2); /* saved before it was lost */
    define(c, FIRST + 2, ABI_ROW_RBP, 16, -2);
    returns_to(c, 0, in(FIRST + 1));
    c->stack[2] = address(&c->stack[8]);
    returns_to(c, 3, in(FIRST + 2));
    returns_to_main(c, 9);
}

void a_lost_rbp_is_no_cfa(struct walk_case *c)
{
    lose_rbp(c);
    define(c, FIRST + 1, ABI_ROW_RBP, 16, -2);
    returns_to(c, 0, in(FIRST + 1));
    c->end = WALK_UNSUPPORTED;
}

void a_lost_rbp_is_no_frame_pointer(struct walk_case *c)
{
    lose_rbp(c);
    returns_to(c, 0, JIT + 8);
    c->end = WALK_LOST;
}

/* ---- which address a frame's rules go by ---- */

void a_call_at_a_functions_end_goes_by_that_function(struct walk_case *c)
{
    define(c, FIRST, ABI_ROW_RSP, 8, 0);
    define(c, FIRST + 1, ABI_ROW_RSP, 16, 0);
    define(c, FIRST + 2, ABI_ROW_UNSUPPORTED, 0, 0);
    starts_at(c, in(FIRST));
    returns_to(c, 0, TEXT + (FIRST + 2) * FUNCTION);
    returns_to_main(c, 2);
}

void an_innermost_address_goes_by_its_own_row(struct walk_case *c)
{
    define(c, FIRST, ABI_ROW_UNSUPPORTED, 0, 0);
    define(c, FIRST + 1, ABI_ROW_RSP, 8, 0);
    starts_at(c, TEXT + (FIRST + 1) * FUNCTION);
    returns_to_main(c, 0);
}

/* ---- frame pointers and trampolines ---- */

/* Two frames by frame pointers, from the innermost at `ip`. */
static void chain_frame_pointers(struct walk_case *c, uint64_t ip)
{
    c->at.bp = address(&c->stack[6]);
    starts_at(c, ip);
    c->stack[6] = address(&c->stack[16]);
    returns_to(c, 7, JIT + 0x20);
    returns_to_main(c, 17);
}

void gaps_go_by_the_frame_pointer(struct walk_case *c)
{
    define(c, FIRST, ABI_ROW_GAP, 0, 0);
    chain_frame_pointers(c, in(FIRST));
}

void code_without_tables_goes_by_the_frame_pointer(struct walk_case *c)
{
    chain_frame_pointers(c, JIT + 0x10);
}

void a_new_mapping_goes_by_the_frame_pointer(struct walk_case *c)
{
    chain_frame_pointers(c, NOWHERE);
}

void trampolines_skip_two_words(struct walk_case *c)
{
    c->pages[0].range[1].rule = ABI_RANGE_TRAMPOLINE;
    define(c, FIRST, ABI_ROW_RBP, 16, -2);
    c->at.bp = address(&c->stack[8]);
    starts_at(c, JIT + 0x10);
    returns_to(c, 1, in(FIRST));
    returns_to_main(c, 9);
}
