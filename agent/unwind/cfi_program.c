#include "agent/unwind/cfi_program.h"

/* DW_CFA_...: DWARF 5, section 7.24. Three have their operand in the low six bits. */
enum {
    CFA_HIGH = 0xc0,
    CFA_ADVANCE = 0x40,
    CFA_OFFSET = 0x80,
    CFA_RESTORE = 0xc0,

    CFA_NOP = 0x00,
    CFA_SET_LOC = 0x01,
    CFA_ADVANCE_1 = 0x02,
    CFA_ADVANCE_2 = 0x03,
    CFA_ADVANCE_4 = 0x04,
    CFA_OFFSET_EXTENDED = 0x05,
    CFA_RESTORE_EXTENDED = 0x06,
    CFA_UNDEFINED = 0x07,
    CFA_SAME_VALUE = 0x08,
    CFA_REGISTER = 0x09,
    CFA_REMEMBER_STATE = 0x0a,
    CFA_RESTORE_STATE = 0x0b,
    CFA_DEF_CFA = 0x0c,
    CFA_DEF_CFA_REGISTER = 0x0d,
    CFA_DEF_CFA_OFFSET = 0x0e,
    CFA_DEF_CFA_EXPRESSION = 0x0f,
    CFA_EXPRESSION = 0x10,
    CFA_OFFSET_EXTENDED_SF = 0x11,
    CFA_DEF_CFA_SF = 0x12,
    CFA_DEF_CFA_OFFSET_SF = 0x13,
    CFA_VAL_OFFSET = 0x14,
    CFA_VAL_OFFSET_SF = 0x15,
    CFA_VAL_EXPRESSION = 0x16,
    CFA_GNU_ARGS_SIZE = 0x2e,
    CFA_GNU_NEGATIVE_OFFSET = 0x2f,
};

struct machine {
    const struct cfi_common *common;
    struct dwarf_bases bases;
    struct dwarf_cursor code;
    struct row_list *out; /* NULL: while the common part runs, which has no place */
    uint64_t pc, end;
    struct cfi_rules rules;
    struct cfi_rules initial; /* after the common part: what "restore" means */
    struct cfi_rules remembered[CFI_REMEMBERED_MAX];
    uint32_t depth;
    struct cfi_rule ignored; /* stands for each register that no walk needs */
};

static void fail(struct machine *m)
{
    m->code.failed = true;
}

/* ---- places ---- */

static void advance_to(struct machine *m, uint64_t pc)
{
    if (m->out == NULL || pc < m->pc) {
        fail(m);
        return;
    }
    if (pc != m->pc)
        row_list_put(m->out, m->pc, cfi_rules_row(&m->rules, m->common->signal));
    m->pc = pc;
}

static void advance(struct machine *m, uint64_t units)
{
    uint64_t delta, pc;

    if (__builtin_mul_overflow(units, m->common->code_unit, &delta) ||
        __builtin_add_overflow(m->pc, delta, &pc))
        fail(m);
    else
        advance_to(m, pc);
}

/* ---- registers ---- */

static struct cfi_rule *rule_of(struct machine *m, uint64_t reg)
{
    if (reg == m->common->rip)
        return &m->rules.rip;
    return reg == CFI_RBP ? &m->rules.rbp : &m->ignored;
}

static int64_t in_data_units(const struct machine *m, uint64_t units)
{
    return (int64_t)(units * (uint64_t)m->common->data_unit);
}

static void set_place(struct machine *m, uint64_t reg, enum cfi_place place)
{
    *rule_of(m, reg) = (struct cfi_rule){.place = place};
}

static void set_offset(struct machine *m, uint64_t reg, uint64_t units)
{
    *rule_of(m, reg) = (struct cfi_rule){.place = CFI_OFFSET, .offset = in_data_units(m, units)};
}

static void set_expression(struct machine *m, uint64_t reg)
{
    *rule_of(m, reg) = (struct cfi_rule){.place = CFI_EXPRESSION,
                                         .expression = dwarf_bytes(&m->code, dwarf_uleb(&m->code))};
}

static void restore(struct machine *m, uint64_t reg)
{
    if (reg == m->common->rip)
        m->rules.rip = m->initial.rip;
    else if (reg == CFI_RBP)
        m->rules.rbp = m->initial.rbp;
}

/* ---- the frame's address ---- */

static void set_cfa(struct machine *m, uint64_t reg, int64_t offset)
{
    m->rules.cfa_by_expression = false;
    m->rules.cfa_register = reg;
    m->rules.cfa_offset = offset;
}

static void set_cfa_expression(struct machine *m)
{
    m->rules.cfa_by_expression = true;
    m->rules.cfa_expression = dwarf_bytes(&m->code, dwarf_uleb(&m->code));
}

static void remember(struct machine *m)
{
    if (m->depth < CFI_REMEMBERED_MAX)
        m->remembered[m->depth++] = m->rules;
    else
        fail(m);
}

static void recall(struct machine *m)
{
    if (m->depth > 0)
        m->rules = m->remembered[--m->depth];
    else
        fail(m);
}

/* ---- instructions ---- */

/* Those that say where a register is; false: it is none of them. */
static bool run_register(struct machine *m, uint8_t op)
{
    struct dwarf_cursor *c = &m->code;
    struct dwarf_cursor ahead = *c;
    uint64_t reg = dwarf_uleb(&ahead);

    switch (op) {
    case CFA_OFFSET_EXTENDED:
        *c = ahead;
        set_offset(m, reg, dwarf_uleb(c));
        return true;
    case CFA_OFFSET_EXTENDED_SF:
        *c = ahead;
        set_offset(m, reg, (uint64_t)dwarf_sleb(c));
        return true;
    case CFA_GNU_NEGATIVE_OFFSET:
        *c = ahead;
        set_offset(m, reg, 0 - dwarf_uleb(c));
        return true;
    case CFA_RESTORE_EXTENDED:
        *c = ahead;
        restore(m, reg);
        return true;
    case CFA_UNDEFINED:
        *c = ahead;
        set_place(m, reg, CFI_UNDEFINED);
        return true;
    case CFA_SAME_VALUE:
        *c = ahead;
        set_place(m, reg, CFI_SAME);
        return true;
    case CFA_REGISTER:
    case CFA_VAL_OFFSET:
    case CFA_VAL_OFFSET_SF:
        *c = ahead;
        (void)dwarf_uleb(c); /* as long as a signed one */
        set_place(m, reg, CFI_ELSEWHERE);
        return true;
    case CFA_EXPRESSION:
        *c = ahead;
        set_expression(m, reg);
        return true;
    case CFA_VAL_EXPRESSION:
        *c = ahead;
        set_expression(m, reg);
        set_place(m, reg, CFI_ELSEWHERE);
        return true;
    default:
        return false;
    }
}

static void run_other(struct machine *m, uint8_t op)
{
    struct dwarf_cursor *c = &m->code;
    uint64_t reg;

    switch (op) {
    case CFA_NOP:
        break;
    case CFA_SET_LOC:
        advance_to(m, dwarf_pointer(c, m->common->encoding, m->bases));
        break;
    case CFA_ADVANCE_1:
        advance(m, dwarf_unsigned(c, 1));
        break;
    case CFA_ADVANCE_2:
        advance(m, dwarf_unsigned(c, 2));
        break;
    case CFA_ADVANCE_4:
        advance(m, dwarf_unsigned(c, 4));
        break;
    case CFA_REMEMBER_STATE:
        remember(m);
        break;
    case CFA_RESTORE_STATE:
        recall(m);
        break;
    case CFA_DEF_CFA:
        reg = dwarf_uleb(c);
        set_cfa(m, reg, (int64_t)dwarf_uleb(c));
        break;
    case CFA_DEF_CFA_SF:
        reg = dwarf_uleb(c);
        set_cfa(m, reg, in_data_units(m, (uint64_t)dwarf_sleb(c)));
        break;
    case CFA_DEF_CFA_REGISTER:
        set_cfa(m, dwarf_uleb(c), m->rules.cfa_offset);
        break;
    case CFA_DEF_CFA_OFFSET:
        set_cfa(m, m->rules.cfa_register, (int64_t)dwarf_uleb(c));
        break;
    case CFA_DEF_CFA_OFFSET_SF:
        set_cfa(m, m->rules.cfa_register, in_data_units(m, (uint64_t)dwarf_sleb(c)));
        break;
    case CFA_DEF_CFA_EXPRESSION:
        set_cfa_expression(m);
        break;
    case CFA_GNU_ARGS_SIZE:
        (void)dwarf_uleb(c);
        break;
    default:
        fail(m);
    }
}

static void run(struct machine *m)
{
    while (dwarf_left(&m->code) > 0 && m->pc < m->end) {
        uint8_t op = (uint8_t)dwarf_unsigned(&m->code, 1);
        uint8_t low = op & (uint8_t)~CFA_HIGH;

        switch (op & CFA_HIGH) {
        case CFA_ADVANCE:
            advance(m, low);
            break;
        case CFA_OFFSET:
            set_offset(m, low, dwarf_uleb(&m->code));
            break;
        case CFA_RESTORE:
            restore(m, low);
            break;
        default:
            if (!run_register(m, op))
                run_other(m, op);
        }
    }
}

static void run_common(struct machine *m, const struct cfi_common *common, struct dwarf_bases bases)
{
    m->common = common;
    m->bases = bases;
    m->code = common->program;
    m->out = NULL;
    m->pc = 0;
    m->end = 1; /* no place: any that lies ahead will do */
    m->rules = m->initial = (struct cfi_rules){0};
    m->depth = 0;
    run(m);
    m->initial = m->rules;
}

void cfi_program_run(const struct cfi_common *common, const struct cfi_function *function,
                     struct dwarf_bases bases, struct row_list *out)
{
    struct machine m; /* set below but for `remembered`: clearing that would take longest */
    struct row_rule last;
    bool failed;

    if (!row_list_begin(out, function->start, function->end))
        return;
    run_common(&m, common, bases);
    failed = m.code.failed;
    m.code = function->program;
    m.code.failed |= failed;
    m.out = out;
    m.pc = function->start;
    m.end = function->end;
    run(&m);
    last = cfi_rules_row(&m.rules, common->signal);
    if (m.code.failed)
        last = (struct row_rule){0, ABI_ROW_UNSUPPORTED, 0};
    if (m.pc < m.end)
        row_list_put(out, m.pc, last);
}
