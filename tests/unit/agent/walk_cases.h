/* walk_cases - made-up stacks and tables, each with the walk that it must give.
 * Each case is a sentence and a function that builds its world. One test walks them natively,
 * another has the kernel walk the very same memory. */
#ifndef TESTS_UNIT_AGENT_WALK_CASES_H
#define TESTS_UNIT_AGENT_WALK_CASES_H

#include <stdint.h>

#include "bpf/abi.h"

enum {
    CASE_STACK_WORDS = 4096, /* eight pages; those around it cannot be read */
    CASE_PAGES = 4,
    CASE_PID = 4711,
    CASE_SHARD = 3,
};

struct walk_case {
    /* The world. */
    uint64_t *stack; /* CASE_STACK_WORDS */
    struct abi_page pages[CASE_PAGES]; /* of CASE_PID */
    uint32_t page_count; /* 0: the process is unknown */
    struct abi_shard *shard; /* number CASE_SHARD */
    uint32_t rows;
    struct abi_registers at;
    /* What the walk must give. */
    uint64_t frames[ABI_FRAMES_MAX];
    uint32_t frame_count;
    enum walk_end end;
};

#define WALK_CASE_LIST(X)                                   \
    X(rsp_rows_lead_to_the_root)                            \
    X(rbp_rows_restore_the_callers_rbp)                     \
    X(a_saved_rbp_may_lie_far_from_the_return_address)      \
    X(far_rows_count_in_words)                              \
    X(plt_rows_go_by_the_place_in_the_stub)                 \
    X(a_signal_frame_leads_to_the_interrupted_code)         \
    X(deref_rows_read_the_cfa_from_the_stack)               \
    X(deref8_rows_add_a_word)                               \
    X(r10_holds_the_cfa_while_the_stack_is_realigned)       \
    X(r10_is_known_of_interrupted_code)                     \
    X(r10_of_a_caller_is_unsupported)                       \
    X(rbp_may_be_saved_where_it_points)                     \
    X(a_lost_rbp_matters_only_to_who_asks_for_it)           \
    X(a_lost_rbp_is_no_cfa)                                 \
    X(a_lost_rbp_is_no_frame_pointer)                       \
    X(a_call_at_a_functions_end_goes_by_that_function)      \
    X(an_innermost_address_goes_by_its_own_row)             \
    X(gaps_go_by_the_frame_pointer)                         \
    X(code_without_tables_goes_by_the_frame_pointer)        \
    X(trampolines_skip_two_words)                           \
    X(a_new_mapping_goes_by_the_frame_pointer)              \
    X(a_zero_return_address_is_the_root)                    \
    X(a_zero_frame_pointer_is_the_root)                     \
    X(a_zero_frame_pointer_of_the_innermost_is_lost)        \
    X(a_frame_pointer_below_the_stack_is_lost)              \
    X(an_odd_frame_pointer_is_lost)                         \
    X(a_frame_pointer_into_nowhere_is_unreadable)           \
    X(a_stack_that_ends_is_unreadable)                      \
    X(a_return_address_in_no_range_is_unmapped)             \
    X(a_return_address_that_is_none_is_unmapped)            \
    X(a_cfa_no_further_out_is_stuck)                        \
    X(an_unsupported_row_ends_the_walk)                     \
    X(an_unknown_process_gives_its_innermost_frame)         \
    X(recursion_of_200_is_truncated)                        \
    X(a_stack_of_exactly_the_limit_is_whole)                \
    X(three_hundred_ranges_take_three_pages)                \
    X(tables_of_65536_rows_are_searched_from_end_to_end)    \
    X(an_address_before_the_first_row_is_a_gap)             \
    X(rows_of_a_missing_shard_are_gaps)                     \
    X(corrupt_bounds_are_gaps)                              \
    X(a_kind_that_means_nothing_is_unsupported)             \
    X(a_page_that_claims_too_many_ranges_is_still_searched) \
    X(a_further_page_that_is_missing_makes_it_unknown)      \
    X(an_address_below_the_base_is_a_gap)

#define X(name) void name(struct walk_case *c);
WALK_CASE_LIST(X)
#undef X

void walk_case_init(struct walk_case *c); /* memory that stays for all cases */
void walk_case_clear(struct walk_case *c); /* before each case */
void walk_case_deinit(struct walk_case *c);

#endif
