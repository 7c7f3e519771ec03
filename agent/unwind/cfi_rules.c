#include "agent/unwind/cfi_rules.h"

#include "agent/unwind/dwarf_cursor.h"

/* DW_OP_...: DWARF 5, section 7.7.1. */
enum {
    OP_DEREF = 0x06,
    OP_AND = 0x1a,
    OP_PLUS = 0x22,
    OP_PLUS_CONSTANT = 0x23,
    OP_SHIFT_LEFT = 0x24,
    OP_AT_LEAST = 0x2a,
    OP_LITERAL = 0x30, /* + 0 to 31 */
    OP_LITERALS = 32,
    OP_REGISTER = 0x70, /* + 0 to 31: the register's value + a signed offset */
    OP_REGISTERS = 32,
};

/* Of the kernel's signal frame: where the interrupted code's rsp is, from the trampoline's own. */
enum { SIGNAL_RSP = 160 };

enum { WORD = 8, RETURN_ADDRESS = -8 /* where a call puts it, from the CFA */ };

static const struct row_rule unsupported = {0, ABI_ROW_UNSUPPORTED, 0};

/* ---- the few forms of expression that compilers and assembly use ---- */

struct operand { /* register + offset, or the word at it + more */
    uint64_t base; /* register */
    int64_t offset;
    bool fetched;
    int64_t more;
};

static bool next_is(struct dwarf_cursor *c, uint8_t op)
{
    struct dwarf_cursor ahead = *c;

    if (dwarf_left(c) == 0 || dwarf_unsigned(&ahead, 1) != op)
        return false;
    *c = ahead;
    return true;
}

/* Added by "plus constant", or by "literal, plus". */
static int64_t read_addend(struct dwarf_cursor *c)
{
    uint64_t literal;

    if (next_is(c, OP_PLUS_CONSTANT))
        return (int64_t)dwarf_uleb(c);
    if (dwarf_left(c) == 0)
        return 0;
    literal = dwarf_unsigned(c, 1) - OP_LITERAL;
    if (literal >= OP_LITERALS || !next_is(c, OP_PLUS))
        c->failed = true;
    return (int64_t)literal;
}

static bool parse_operand(struct slice expression, struct operand *out)
{
    struct dwarf_cursor c = dwarf_cursor(expression, 0);
    struct operand o = {.base = dwarf_unsigned(&c, 1) - OP_REGISTER, .offset = dwarf_sleb(&c)};

    if (o.base >= OP_REGISTERS)
        return false;
    o.fetched = next_is(&c, OP_DEREF);
    if (o.fetched)
        o.more = read_addend(&c);
    else if (!__builtin_add_overflow(o.offset, read_addend(&c), &o.offset))
        o.more = 0;
    else
        return false;
    if (c.failed || dwarf_left(&c) != 0)
        return false;
    *out = o;
    return true;
}

/* rsp + 8 + 8 x ((rip & 15) >= N), as linkers describe the procedure linkage table: the last bytes
 * of each of its entries of 16 have pushed a word. */
static bool parse_plt(struct slice expression, int16_t *out_n)
{
    struct dwarf_cursor c = dwarf_cursor(expression, 0);
    bool rsp = next_is(&c, OP_REGISTER + CFI_RSP) && dwarf_sleb(&c) == WORD;
    bool rip = rsp && next_is(&c, OP_REGISTER + CFI_RIP) && dwarf_sleb(&c) == 0;
    bool low = rip && next_is(&c, OP_LITERAL + 15) && next_is(&c, OP_AND);
    uint64_t n = dwarf_unsigned(&c, 1) - OP_LITERAL;

    if (!low || n >= OP_LITERALS || !next_is(&c, OP_AT_LEAST) || !next_is(&c, OP_LITERAL + 3) ||
        !next_is(&c, OP_SHIFT_LEFT) || !next_is(&c, OP_PLUS) || c.failed || dwarf_left(&c) != 0)
        return false;
    *out_n = (int16_t)n;
    return true;
}

/* ---- rows ---- */

static bool fits(int64_t offset)
{
    return offset >= INT16_MIN && offset <= INT16_MAX;
}

static struct row_rule by_register(uint64_t base, int64_t offset)
{
    bool far = !fits(offset);

    if (far && offset % WORD == 0 && fits(offset / WORD))
        offset /= WORD;
    else if (far)
        return unsupported;
    switch (base) {
    case CFI_RSP:
        return (struct row_rule){(int16_t)offset, far ? ABI_ROW_RSP_FAR : ABI_ROW_RSP, 0};
    case CFI_RBP:
        return (struct row_rule){(int16_t)offset, far ? ABI_ROW_RBP_FAR : ABI_ROW_RBP, 0};
    case CFI_R10:
        return far ? unsupported : (struct row_rule){(int16_t)offset, ABI_ROW_R10, 0};
    default:
        return unsupported;
    }
}

static struct row_rule by_memory(const struct operand *o)
{
    bool rsp = o->base == CFI_RSP, beyond = o->more == WORD;

    if ((!rsp && o->base != CFI_RBP) || !fits(o->offset) || (!beyond && o->more != 0))
        return unsupported;
    if (rsp)
        return (struct row_rule){(int16_t)o->offset,
                                 beyond ? ABI_ROW_RSP_DEREF8 : ABI_ROW_RSP_DEREF, 0};
    return (struct row_rule){(int16_t)o->offset, beyond ? ABI_ROW_RBP_DEREF8 : ABI_ROW_RBP_DEREF,
                             0};
}

static struct row_rule by_expression(struct slice expression, bool signal)
{
    struct operand o;
    int16_t n;

    if (parse_plt(expression, &n))
        return (struct row_rule){n, ABI_ROW_PLT, 0};
    if (!parse_operand(expression, &o))
        return unsupported;
    if (signal && o.fetched && o.base == CFI_RSP && o.offset == SIGNAL_RSP && o.more == 0)
        return (struct row_rule){0, ABI_ROW_SIGNAL, 0};
    return o.fetched ? by_memory(&o) : by_register(o.base, o.offset);
}

static int8_t rbp_rule(const struct cfi_rule *r)
{
    struct operand o;
    int64_t words = r->offset / WORD;

    switch (r->place) {
    case CFI_SAME:
        return 0;
    case CFI_OFFSET:
        if (r->offset % WORD != 0 || words == 0 || words <= ABI_RBP_LOST || words >= ABI_RBP_AT_RBP)
            return ABI_RBP_LOST;
        return (int8_t)words;
    case CFI_EXPRESSION:
        if (parse_operand(r->expression, &o) && o.base == CFI_RBP && o.offset == 0 && !o.fetched)
            return ABI_RBP_AT_RBP;
        return ABI_RBP_LOST;
    case CFI_UNDEFINED:
    case CFI_ELSEWHERE:
        break;
    }
    return ABI_RBP_LOST;
}

struct row_rule cfi_rules_row(const struct cfi_rules *r, bool signal)
{
    struct row_rule row;

    if (r->rip.place == CFI_UNDEFINED)
        return (struct row_rule){0, ABI_ROW_ROOT, 0};
    row = r->cfa_by_expression ? by_expression(r->cfa_expression, signal)
                               : by_register(r->cfa_register, r->cfa_offset);
    if (row.kind == ABI_ROW_SIGNAL || row.kind == ABI_ROW_UNSUPPORTED)
        return row;
    if (r->rip.place != CFI_OFFSET || r->rip.offset != RETURN_ADDRESS)
        return unsupported;
    row.rbp = rbp_rule(&r->rbp);
    return row;
}
