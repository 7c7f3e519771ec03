/* walk_building - words that worlds of walk_cases are put in.
 * Code lies from TEXT on, a function every FUNCTION bytes with one row each; code without a table
 * lies from JIT on. Stacks are written word by word, from the innermost out. */
#ifndef TESTS_UNIT_AGENT_WALK_BUILDING_H
#define TESTS_UNIT_AGENT_WALK_BUILDING_H

#include "tests/unit/agent/walk_cases.h"

#define TEXT 0x400000u
#define TEXT_END 0x900000u
#define FUNCTION 0x100u
#define JIT 0x10000000u
#define JIT_END 0x10100000u
#define NOWHERE 0x70000000u
#define INSIDE 0x40u /* a function: a return address or an instruction */

enum {
    ROOT_FUNCTION = 1,
    MAIN = 2, /* returns to the root, 8 bytes up */
    FIRST = 3, /* for the cases to define */
};

/* ---- building ---- */

static inline void add_row(struct walk_case *c, uint32_t pc, enum abi_row_kind kind, int cfa,
                           int rbp)
{
    c->shard->rows[c->rows++] =
        (struct abi_row){.pc = pc, .cfa = (int16_t)cfa, .kind = (uint8_t)kind, .rbp = (int8_t)rbp};
}

static inline void add_range(struct walk_case *c, uint64_t start, uint64_t end,
                             enum abi_range_rule rule)
{
    struct abi_page *page = &c->pages[0];

    page->range[page->ranges++] = (struct abi_range){
        .start = start, .end = end, .base = TEXT, .shard = CASE_SHARD, .last = 64, .rule = rule};
}

static inline uint64_t address(const uint64_t *word)
{
    return (uint64_t)(uintptr_t)word;
}

/* Where function `number` calls the next one. */
static inline uint64_t in(uint32_t number)
{
    return TEXT + number * FUNCTION + INSIDE;
}

static inline void define(struct walk_case *c, uint32_t number, enum abi_row_kind kind, int cfa,
                          int rbp)
{
    add_row(c, number * FUNCTION, kind, cfa, rbp);
}

/* ---- expecting ---- */

static inline void expect(struct walk_case *c, uint64_t frame)
{
    c->frames[c->frame_count++] = frame;
}

static inline void starts_at(struct walk_case *c, uint64_t ip)
{
    c->at.ip = ip;
    expect(c, ip);
}

/* The word at `index` is the return address into what the walk must find next. */
static inline void returns_to(struct walk_case *c, uint32_t index, uint64_t ip)
{
    c->stack[index] = ip;
    expect(c, ip);
}

/* From `index` up: the return address into main and main's into the root. */
static inline void returns_to_main(struct walk_case *c, uint32_t index)
{
    returns_to(c, index, in(MAIN));
    returns_to(c, index + 1, in(ROOT_FUNCTION));
}

#endif
