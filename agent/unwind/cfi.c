#include "agent/unwind/cfi.h"

#include "agent/unwind/cfi_program.h"

#define LENGTH_WIDE 0xffffffffu /* a length of 64 bits follows */
#define DEBUG_COMMON_ID UINT64_MAX /* .debug_frame's; in .eh_frame it is 0 */

enum { ADDRESS_BYTES = 8 };

struct entry { /* of either kind */
    struct dwarf_cursor rest; /* behind the id */
    uint64_t id;
    uint64_t id_at; /* offset in the section */
};

struct reading {
    const struct cfi_section *section;
    struct dwarf_cursor cursor;
    uint64_t common_at; /* offset of the entry in `common`; UINT64_MAX: none yet */
    bool common_is_good;
    struct cfi_common common;
};

/* ---- entries ---- */

static uint64_t offset_of(const struct cfi_section *s, const struct dwarf_cursor *c)
{
    return (uint64_t)(c->next - s->bytes.bytes);
}

/* False: the end. An entry of no length has no bytes left in it. */
static bool next_entry(const struct cfi_section *s, struct dwarf_cursor *c, struct entry *out)
{
    uint64_t length = dwarf_unsigned(c, 4);
    bool wide = length == LENGTH_WIDE;
    unsigned id_bytes = wide && s->debug_frame ? 8 : 4;
    struct entry e;

    if (wide)
        length = dwarf_unsigned(c, 8);
    if (c->failed || (length == 0 && s->terminated))
        return false;
    e.rest = *c;
    (void)dwarf_bytes(c, length);
    if (c->failed)
        return false;
    e.rest.end = c->next;
    e.id_at = offset_of(s, &e.rest);
    e.id = dwarf_unsigned(&e.rest, id_bytes);
    if (s->debug_frame && !wide && e.id == UINT32_MAX)
        e.id = DEBUG_COMMON_ID;
    *out = e;
    return true;
}

static bool is_common(const struct cfi_section *s, const struct entry *e)
{
    return e->id == (s->debug_frame ? DEBUG_COMMON_ID : 0);
}

/* ---- common entries ---- */

/* The letters behind 'z'; what an unknown one says lies within the data's length. */
static void read_augmentation(const char *letters, struct dwarf_cursor data,
                              struct dwarf_bases bases, struct cfi_common *out)
{
    for (; *letters != '\0'; letters++)
        switch (*letters) {
        case 'R':
            out->encoding = (uint8_t)dwarf_unsigned(&data, 1);
            break;
        case 'P':
            (void)dwarf_pointer(&data, (uint8_t)dwarf_unsigned(&data, 1) & ~DWARF_POINTER_INDIRECT,
                                bases);
            break;
        case 'L':
            (void)dwarf_unsigned(&data, 1);
            break;
        case 'S':
            out->signal = true;
            break;
        default:
            return;
        }
}

static bool read_common(const struct cfi_section *s, struct dwarf_cursor c, struct cfi_common *out)
{
    struct cfi_common common = {.encoding = DWARF_POINTER_ABSOLUTE};
    uint64_t version = dwarf_unsigned(&c, 1);
    const char *augmentation = dwarf_text(&c);

    if (version == 4 && dwarf_unsigned(&c, 2) != ADDRESS_BYTES) /* and no segment selectors */
        return false;
    if (version != 1 && version != 3 && version != 4)
        return false;
    common.code_unit = dwarf_uleb(&c);
    common.data_unit = dwarf_sleb(&c);
    common.rip = version == 1 ? dwarf_unsigned(&c, 1) : dwarf_uleb(&c);
    common.sized = augmentation[0] == 'z';
    if (common.sized) {
        struct slice data = dwarf_bytes(&c, dwarf_uleb(&c));
        struct dwarf_cursor d = dwarf_cursor(data, c.address - data.length);

        read_augmentation(augmentation + 1, d, s->bases, &common);
    } else if (augmentation[0] != '\0') {
        return false; /* where its instructions begin is anybody's guess */
    }
    common.program = c;
    *out = common;
    return !c.failed;
}

/* The last one is kept: neighbours share it as a rule. */
static const struct cfi_common *common_at(struct reading *r, uint64_t offset)
{
    const struct cfi_section *s = r->section;
    struct dwarf_cursor c = r->cursor;
    struct entry e;

    if (offset == r->common_at)
        return r->common_is_good ? &r->common : NULL;
    if (offset >= s->bytes.length)
        return NULL;
    c = dwarf_cursor((struct slice){s->bytes.bytes + offset, s->bytes.length - (size_t)offset},
                     s->address + offset);
    r->common_at = offset;
    r->common_is_good = next_entry(s, &c, &e) && is_common(s, &e) && !e.rest.failed &&
                        read_common(s, e.rest, &r->common);
    return r->common_is_good ? &r->common : NULL;
}

/* ---- functions ---- */

static bool read_function(const struct cfi_common *common, struct dwarf_cursor c,
                          struct dwarf_bases bases, struct cfi_function *out)
{
    struct cfi_function f = {.start = dwarf_pointer(&c, common->encoding, bases)};
    uint8_t format = common->encoding & DWARF_POINTER_FORMAT & ~DWARF_POINTER_SIGNED;

    f.end = f.start + dwarf_pointer(&c, format, bases);
    if (common->sized)
        (void)dwarf_bytes(&c, dwarf_uleb(&c));
    if (c.failed || f.end <= f.start)
        return false;
    f.program = c;
    *out = f;
    return true;
}

static void take_function(struct reading *r, const struct entry *e, struct row_list *out)
{
    const struct cfi_section *s = r->section;
    uint64_t at = s->debug_frame ? e->id : e->id_at - e->id; /* backwards, in .eh_frame */
    const struct cfi_common *common = common_at(r, at);
    struct cfi_function f;

    if (common != NULL && read_function(common, e->rest, s->bases, &f))
        cfi_program_run(common, &f, s->bases, out);
}

void cfi_read(const struct cfi_section *s, struct row_list *out)
{
    struct reading r = {.section = s, .common_at = UINT64_MAX};
    struct entry e;

    r.cursor = dwarf_cursor(s->bytes, s->address);
    while (out->status == ST_OK && dwarf_left(&r.cursor) > 0 && next_entry(s, &r.cursor, &e))
        if (!e.rest.failed && !is_common(s, &e))
            take_function(&r, &e, out);
}
