/* file_rows: the tables of what is installed here, each row compared with what elfutils says of its
 * place; and the figures that they come to. */
#include "agent/unwind/file_rows.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>
#include <dwarf.h>
#include <elfutils/libdw.h>
#include <gelf.h>

#include "agent/unwind/cfi_rules.h"
#include "common/clock.h"

struct expression { /* as libdw gives it */
    Dwarf_Op *ops, memory[3];
    size_t count;
};

/* register + offset, in either way of saying it */
static bool is_place(const Dwarf_Op *op, unsigned reg, int64_t offset)
{
    if (op->atom == DW_OP_bregx)
        return op->number == reg && (int64_t)op->number2 == offset;
    return op->atom == DW_OP_breg0 + reg && (int64_t)op->number == offset;
}

static bool adds_a_word(const struct expression *e)
{
    return (e->count == 3 && e->ops[2].atom == DW_OP_plus_uconst && e->ops[2].number == 8) ||
           (e->count == 4 && e->ops[2].atom == DW_OP_lit8 && e->ops[3].atom == DW_OP_plus);
}

static bool fetches(const struct expression *e, unsigned reg, int64_t offset, bool beyond)
{
    return e->count >= 2 && is_place(&e->ops[0], reg, offset) && e->ops[1].atom == DW_OP_deref &&
           (beyond ? adds_a_word(e) : e->count == 2);
}

static bool cfa_agrees(const struct abi_row *row, const struct expression *e)
{
    switch ((enum abi_row_kind)row->kind) {
    case ABI_ROW_RSP:
        return e->count == 1 && is_place(e->ops, CFI_RSP, row->cfa);
    case ABI_ROW_RBP:
        return e->count == 1 && is_place(e->ops, CFI_RBP, row->cfa);
    case ABI_ROW_RSP_FAR:
        return e->count == 1 && is_place(e->ops, CFI_RSP, (int64_t)row->cfa * 8);
    case ABI_ROW_RBP_FAR:
        return e->count == 1 && is_place(e->ops, CFI_RBP, (int64_t)row->cfa * 8);
    case ABI_ROW_R10:
        return e->count == 1 && is_place(e->ops, CFI_R10, row->cfa);
    case ABI_ROW_RSP_DEREF:
    case ABI_ROW_RSP_DEREF8:
        return fetches(e, CFI_RSP, row->cfa, row->kind == ABI_ROW_RSP_DEREF8);
    case ABI_ROW_RBP_DEREF:
    case ABI_ROW_RBP_DEREF8:
        return fetches(e, CFI_RBP, row->cfa, row->kind == ABI_ROW_RBP_DEREF8);
    case ABI_ROW_PLT:
        return e->count == 9 && e->ops[5].atom == DW_OP_ge &&
               e->ops[4].atom == DW_OP_lit0 + row->cfa;
    case ABI_ROW_GAP:
    case ABI_ROW_SIGNAL:
    case ABI_ROW_ROOT:
    case ABI_ROW_UNSUPPORTED:
    case ABI_ROW_KINDS:
        break;
    }
    return true;
}

static bool rbp_agrees(const struct abi_row *row, Dwarf_Frame *frame)
{
    struct expression e = {0};

    if (dwarf_frame_register(frame, CFI_RBP, e.memory, &e.ops, &e.count) != 0)
        return false;
    if (row->rbp == 0)
        return e.count == 0 && e.ops == NULL;
    if (row->rbp == ABI_RBP_LOST)
        return true;
    if (row->rbp == ABI_RBP_AT_RBP)
        return e.count == 2 && is_place(&e.ops[1], CFI_RBP, 0); /* the first pushes the CFA */
    return e.count == 2 && e.ops[0].atom == DW_OP_call_frame_cfa &&
           e.ops[1].atom == DW_OP_plus_uconst && (int64_t)e.ops[1].number == (int64_t)row->rbp * 8;
}

static bool is_root(Dwarf_Frame *frame)
{
    struct expression e = {0};

    return dwarf_frame_register(frame, CFI_RIP, e.memory, &e.ops, &e.count) == 0 && e.count == 0 &&
           e.ops == e.memory;
}

static bool agrees(const struct abi_row *row, Dwarf_CFI *cfi, uint64_t address)
{
    Dwarf_Frame *frame = NULL;
    struct expression e = {0};
    bool signal = false, same;

    if (dwarf_cfi_addrframe(cfi, address, &frame) != 0)
        return row->kind == ABI_ROW_GAP;
    (void)dwarf_frame_info(frame, NULL, NULL, &signal);
    same = dwarf_frame_cfa(frame, &e.ops, &e.count) == 0 && cfa_agrees(row, &e) &&
           (row->kind == ABI_ROW_SIGNAL) == signal && (row->kind == ABI_ROW_ROOT) == is_root(frame);
    if (row->kind < ABI_ROW_ROOT && row->kind != ABI_ROW_SIGNAL)
        same = same && row->kind != ABI_ROW_GAP && rbp_agrees(row, frame);
    free(frame);
    return same;
}

/* ---- one file ---- */

struct figures {
    uint32_t gaps, unsupported, lost;
    uint64_t code_bytes, ns;
};

static void compare(const struct file_rows *r, Dwarf_CFI *cfi, struct figures *f)
{
    for (uint32_t i = 0; i < r->count; i++) {
        const struct abi_row *row = &r->items[i];

        assert_true(i == 0 || row[-1].pc < row->pc);
        f->gaps += row->kind == ABI_ROW_GAP;
        f->unsupported += row->kind == ABI_ROW_UNSUPPORTED;
        f->lost += row->rbp == ABI_RBP_LOST;
        if (!agrees(row, cfi, r->base + row->pc))
            fail_msg("row %u at 0x%llx: %u %d %d", i, (unsigned long long)(r->base + row->pc),
                     row->kind, row->cfa, row->rbp);
    }
}

static void print_figures(const char *path, const struct file_rows *r, const struct figures *f)
{
    double megabytes = (double)f->code_bytes / (1 << 20);

    printf("%s: %u rows (%u gaps, %u unsupported, %u without rbp), %.1f MB of code, %.1f KB/MB, "
           "%.2f ms/MB\n",
           path, r->count, f->gaps, f->unsupported, f->lost, megabytes,
           r->count * sizeof(*r->items) / 1024.0 / megabytes, (double)f->ns / 1e6 / megabytes);
}

static void check_file(int fd, const char *path)
{
    Elf *elf = elf_begin(fd, ELF_C_READ, NULL);
    Dwarf_CFI *cfi = dwarf_getcfi_elf(elf);
    struct figures f = {0};
    struct file_rows r = {0};
    struct mono start = clock_mono();

    assert_int_equal(file_rows_read(fd, &r), ST_OK);
    f.ns = mono_since(clock_mono(), start);
    assert_non_null(cfi);
    for (uint32_t i = 0; i < r.segment_count; i++)
        f.code_bytes += r.segments[i].bytes;
    compare(&r, cfi, &f);
    print_figures(path, &r, &f);
    assert_true(f.unsupported <= r.count / 100);
    file_rows_deinit(&r);
    dwarf_cfi_end(cfi);
    elf_end(elf);
}

static void every_row_is_what_elfutils_says(void **state)
{
    static const char *const paths[] = {
        "/bin/ls",
        "/lib/x86_64-linux-gnu/libc.so.6",
        "/lib/x86_64-linux-gnu/libstdc++.so.6",
        "/usr/lib/x86_64-linux-gnu/libcrypto.so.3",
        "/usr/lib/x86_64-linux-gnu/libpython3.11.so.1.0",
        "/usr/bin/gdb",
        "/usr/bin/node",
    };

    (void)state;
    elf_version(EV_CURRENT);
    for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
        int fd = open(paths[i], O_RDONLY | O_CLOEXEC);

        if (fd < 0) {
            printf("%s: not here\n", paths[i]);
            continue;
        }
        check_file(fd, paths[i]);
        close(fd);
    }
}

/* ---- files of other kinds ---- */

static int copy_of_ourselves(void)
{
    int from = open("/proc/self/exe", O_RDONLY | O_CLOEXEC), to = memfd_create("copy", MFD_CLOEXEC);
    static char block[1 << 16];
    ssize_t n;

    while ((n = read(from, block, sizeof(block))) > 0)
        assert_int_equal(write(to, block, (size_t)n), n);
    close(from);
    return to;
}

static void a_file_without_section_headers_has_the_same_rows(void **state)
{
    int fd = copy_of_ourselves();
    struct file_rows whole = {0}, bare = {0};
    Elf64_Ehdr h;

    (void)state;
    assert_int_equal(file_rows_read(fd, &whole), ST_OK);
    assert_int_equal(pread(fd, &h, sizeof(h), 0), sizeof(h));
    h.e_shoff = 0;
    h.e_shnum = h.e_shstrndx = 0;
    assert_int_equal(pwrite(fd, &h, sizeof(h), 0), sizeof(h));
    assert_int_equal(file_rows_read(fd, &bare), ST_OK);
    assert_int_equal(bare.count, whole.count);
    assert_int_equal(bare.base, whole.base);
    assert_memory_equal(bare.items, whole.items, whole.count * sizeof(*whole.items));
    file_rows_deinit(&bare);
    file_rows_deinit(&whole);
    close(fd);
}

static void the_vdso_has_rows(void **state)
{
    const uint8_t *image = (const uint8_t *)(uintptr_t)getauxval(AT_SYSINFO_EHDR);
    int fd = memfd_create("vdso", MFD_CLOEXEC);
    struct file_rows r = {0};
    uint64_t pc = 0;

    (void)state;
    if (image == NULL)
        skip();
    assert_int_equal(write(fd, image, 4096), 4096); /* one page at least, and its headers' */
    (void)write(fd, image + 4096, 4096);
    assert_int_equal(file_rows_read(fd, &r), ST_OK);
    assert_true(r.count > 4);
    assert_true(file_rows_pc_at(&r, 0, &pc));
    file_rows_deinit(&r);
    close(fd);
}

static void what_is_no_program_is_refused(void **state)
{
    int fd = memfd_create("text", MFD_CLOEXEC);
    struct file_rows r = {0};

    (void)state;
    assert_int_equal(file_rows_read(fd, &r), ST_INVALID);
    assert_int_equal(write(fd, "#!/bin/sh\n", 10), 10);
    assert_int_equal(file_rows_read(fd, &r), ST_INVALID);
    assert_null(r.items);
    close(fd);
}

static void a_mapping_may_begin_before_its_code(void **state)
{
    const struct file_rows r = {
        .base = 0x401234,
        .segment_count = 2,
        .segments = {{0x401234, 0x1234, 0x1000}, {0x805234, 0x2234, 0x100}}};
    uint64_t pc = 0;

    (void)state;
    assert_true(file_rows_pc_at(&r, 0x1000, &pc));
    assert_int_equal(pc, UINT64_MAX - 0x233); /* 0x234 before the base */
    assert_true(file_rows_pc_at(&r, 0x1500, &pc));
    assert_int_equal(pc, 0x2cc);
    assert_true(
        file_rows_pc_at(&r, 0x2000, &pc)); /* both lie in this page: the one that begins here */
    assert_int_equal(r.base + pc, 0x805000);
    assert_false(file_rows_pc_at(&r, 0x3000, &pc));
    assert_false(file_rows_pc_at(&r, 0, &pc));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_row_is_what_elfutils_says),
        cmocka_unit_test(a_file_without_section_headers_has_the_same_rows),
        cmocka_unit_test(the_vdso_has_rows),
        cmocka_unit_test(what_is_no_program_is_refused),
        cmocka_unit_test(a_mapping_may_begin_before_its_code),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
