/* resolve: addresses become frames that mean the same elsewhere, and what could not be walked or
 * found is a mark in the stack, never a lost sample. */
#include "agent/resolve.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "agent/symbols/kallsyms.h"
#include "tests/unit/agent/process_events.h"

#define TOOL 0x400000
#define LIBRARY 0x7f0000000000
#define NOWHERE 0x123456789000

static struct kernel_symbols *kernel;
static struct resolver resolver;

static int make(void **state)
{
    if (make_table(state) != 0 || kernel_symbols_open(&kernel) != ST_OK)
        return -1;
    memset(&resolver, 0, sizeof(resolver));
    resolver.processes = table;
    resolver.kernel = kernel;
    fork_process(1, PARENT);
    rename_thread(SIDEBAND_EXEC, PARENT, PARENT, "tool");
    map_file(PARENT, TOOL, 1, "/no/such/tool");
    map_file(PARENT, LIBRARY, 2, "/no/such/library.so");
    return 0;
}

static int drop(void **state)
{
    kernel_symbols_close(kernel);
    return drop_table(state);
}

static struct sample sample_of(const uint64_t *user, uint32_t count, enum walk_end end)
{
    return (struct sample){.time = {now_ns},
                           .pid = PARENT,
                           .tid = PARENT + 9,
                           .end = end,
                           .comm = "worker",
                           .user = user,
                           .user_count = count};
}

static struct resolved_sample resolve_user(const uint64_t *user, uint32_t count, enum walk_end end)
{
    const struct sample s = sample_of(user, count, end);

    return resolve(&resolver, &s);
}

static void expect_native(const struct resolved_frame *f, uint8_t id, uint64_t offset)
{
    assert_int_equal(f->kind, FRAME_NATIVE);
    assert_int_equal(f->binary->bytes[0], id);
    assert_int_equal(f->offset, offset);
}

static void expect_mark(const struct resolved_frame *f, const char *name)
{
    assert_int_equal(f->kind, FRAME_MARK);
    assert_string_equal(f->name, name);
}

static void expect_named(const struct resolved_frame *f, const char *name)
{
    assert_int_equal(f->kind, FRAME_NAMED);
    assert_string_equal(f->name, name);
}

/* ---- user code ---- */

static void native_frames_are_offsets_in_their_files_outermost_first(void **state)
{
    const uint64_t user[] = {LIBRARY + 0x123, TOOL + 0x457, TOOL + 0x11};
    struct resolved_sample r;

    (void)state;
    r = resolve_user(user, 3, WALK_ROOT);
    assert_int_equal(r.frame_count, 3);
    expect_native(&r.frames[0], 1, 0x10);
    expect_native(&r.frames[1], 1, 0x456);
    expect_native(&r.frames[2], 2, 0x123); /* where the CPU was, to the byte */
    assert_string_equal(r.frames[2].path, "/no/such/library.so");
}

static void the_offset_of_the_mapping_in_its_file_counts(void **state)
{
    const uint64_t user[] = {0x500010};
    struct resolved_sample r;

    (void)state;
    apply((struct sideband_event){.kind = SIDEBAND_MMAP,
                                  .pid = PARENT,
                                  .tid = PARENT,
                                  .start = 0x500000,
                                  .length = 0x1000,
                                  .file_offset = 0x3000,
                                  .build_id = {.length = 20, .bytes = {7}},
                                  .path = "/no/such/other"});
    r = resolve_user(user, 1, WALK_ROOT);
    expect_native(&r.frames[0], 7, 0x3010);
}

static void
a_call_in_the_last_instruction_belongs_to_the_code_before_the_return_address(void **state)
{
    const uint64_t user[] = {LIBRARY, TOOL + 0x1000}; /* one past the end of the mapping */
    struct resolved_sample r;

    (void)state;
    r = resolve_user(user, 2, WALK_ROOT);
    assert_int_equal(r.frame_count, 2);
    expect_native(&r.frames[0], 1, 0xfff);
    expect_native(&r.frames[1], 2, 0);
}

static void anonymous_executable_memory_is_jit_code(void **state)
{
    const uint64_t user[] = {0x600010, TOOL + 1};
    struct resolved_sample r;

    (void)state;
    map_file(PARENT, 0x600000, 0, "//anon");
    r = resolve_user(user, 2, WALK_ROOT);
    assert_int_equal(r.frame_count, 2);
    expect_named(&r.frames[1], "[jit]");
}

static void code_in_a_file_that_cannot_be_read_has_its_name_and_offset(void **state)
{
    const uint64_t user[] = {0x600010};
    struct resolved_sample r;

    (void)state;
    map_file(PARENT, 0x600000, 0, "/no/such/secret");
    r = resolve_user(user, 1, WALK_ROOT);
    expect_named(&r.frames[0], "secret+0x10");
}

/* ---- stacks that are not whole ---- */

static void a_cut_is_marked_at_the_cut_end(void **state)
{
    const uint64_t user[] = {TOOL + 2, TOOL + 2};
    struct resolved_sample r;

    (void)state;
    r = resolve_user(user, 2, WALK_TRUNCATED);
    assert_int_equal(r.frame_count, 3);
    expect_mark(&r.frames[0], MARK_TRUNCATED);
    r = resolve_user(user, 2, WALK_UNREADABLE);
    assert_int_equal(r.frame_count, 3);
    expect_mark(&r.frames[0], MARK_UNREADABLE);
    r = resolve_user(user, 2, WALK_ROOT);
    assert_int_equal(r.frame_count, 2);
}

static void a_walk_is_believed_up_to_where_it_leaves_the_code(void **state)
{
    const uint64_t user[] = {LIBRARY + 1, TOOL + 2, NOWHERE, TOOL + 2};
    struct resolved_sample r;

    (void)state;
    r = resolve_user(user, 4, WALK_ROOT);
    assert_int_equal(r.frame_count, 3);
    expect_mark(&r.frames[0], MARK_UNREADABLE);
    expect_native(&r.frames[1], 1, 1);
    expect_native(&r.frames[2], 2, 1);
}

static void code_in_a_mapping_that_nobody_told_of_does_not_cost_its_callers(void **state)
{
    const uint64_t user[] = {NOWHERE, TOOL + 2}, alone[] = {NOWHERE};
    struct resolved_sample r;

    (void)state;
    r = resolve_user(user, 2, WALK_ROOT);
    assert_int_equal(r.frame_count, 2);
    expect_native(&r.frames[0], 1, 1);
    expect_mark(&r.frames[1], MARK_UNMAPPED);
    r = resolve_user(alone, 1, WALK_ROOT);
    assert_int_equal(r.frame_count, 1);
    expect_mark(&r.frames[0], MARK_UNMAPPED);
}

static void a_process_that_is_gone_keeps_its_sample_and_name(void **state)
{
    const uint64_t user[] = {TOOL};
    struct sample s = sample_of(user, 1, WALK_ROOT);
    struct resolved_sample r;

    (void)state;
    s.pid = OTHER;
    r = resolve(&resolver, &s);
    assert_int_equal(r.frame_count, 1);
    expect_mark(&r.frames[0], MARK_PROCESS_GONE);
    assert_string_equal(r.comm, "worker");
    assert_int_equal(r.process_start_ns, 0);
    assert_int_equal(r.labels->count, 0);
}

static void processes_that_the_agent_cannot_see_are_marked_and_told_apart_by_name(void **state)
{
    const uint64_t user[] = {TOOL};
    struct sample s = sample_of(user, 1, WALK_ROOT);
    struct resolved_sample r;
    uint64_t first;

    (void)state;
    s.pid = s.tid = 0;
    r = resolve(&resolver, &s);
    assert_int_equal(r.frame_count, 1);
    expect_mark(&r.frames[0], MARK_INVISIBLE);
    assert_string_equal(r.comm, "worker");
    first = r.process_serial;
    assert_true(resolve(&resolver, &s).process_serial == first);
    memcpy(s.comm, "other", sizeof("other"));
    assert_true(resolve(&resolver, &s).process_serial != first);
}

static void two_processes_that_are_gone_are_two(void **state)
{
    struct sample s = sample_of(NULL, 0, WALK_ROOT);
    uint64_t first;

    (void)state;
    s.pid = OTHER;
    first = resolve(&resolver, &s).process_serial;
    s.pid = OTHER + 1;
    assert_true(resolve(&resolver, &s).process_serial != first);
    assert_true(processes_find(table, PARENT)->serial != first);
}

static void a_sample_without_any_frame_says_so(void **state)
{
    struct resolved_sample r;

    (void)state;
    r = resolve_user(NULL, 0, WALK_ROOT);
    assert_int_equal(r.frame_count, 1);
    expect_mark(&r.frames[0], MARK_NO_STACK);
}

static void an_address_of_zero_is_no_trap(void **state)
{
    const uint64_t user[] = {TOOL, 0, 0};

    (void)state;
    assert_true(resolve_user(user, 3, WALK_ROOT).frame_count >= 1);
}

/* ---- the kernel ---- */

/* The address of a function of the core image; 0: hidden from us. */
static uint64_t address_of(const char *name)
{
    FILE *f = fopen("/proc/kallsyms", "re");
    char line[KALLSYMS_LINE_MAX];
    uint64_t address = 0;
    struct kallsym s;

    while (f != NULL && address == 0 && fgets(line, sizeof(line), f) != NULL)
        if (kallsyms_parse(line, &s) && s.module[0] == '\0' && strcmp(s.name, name) == 0)
            address = s.address;
    if (f != NULL)
        fclose(f);
    return address;
}

static void kernel_frames_come_after_the_users_as_offsets_from_text(void **state)
{
    const uint64_t text = address_of("_text"), function = address_of("schedule");
    const uint64_t user[] = {TOOL}, kernel_stack[] = {function + 4, function + 9};
    struct sample s = sample_of(user, 1, WALK_ROOT);
    struct resolved_sample r;

    (void)state;
    if (text == 0 || function == 0)
        skip(); /* kptr_restrict */
    s.kernel = kernel_stack;
    s.kernel_count = 2;
    r = resolve(&resolver, &s);
    assert_int_equal(r.frame_count, 3);
    expect_native(&r.frames[0], 1, 0);
    assert_int_equal(r.frames[1].kind, FRAME_KERNEL);
    assert_int_equal(r.frames[1].offset, function + 8 - text);
    assert_int_equal(r.frames[2].offset, function + 4 - text);
    assert_true(build_id_equal(r.frames[2].binary, kernel_build_id(kernel)));
    assert_string_equal(r.frames[2].path, "[kernel]");
}

static void kernel_code_that_nobody_knows_keeps_its_address(void **state)
{
    const uint64_t kernel_stack[] = {UINT64_C(0xffffffffffff0000)};
    struct sample s = sample_of(NULL, 0, WALK_NONE);
    struct resolved_sample r;

    (void)state;
    s.kernel_thread = true;
    s.kernel = kernel_stack;
    s.kernel_count = 1;
    r = resolve(&resolver, &s);
    assert_int_equal(r.frame_count, 1);
    assert_int_equal(r.frames[0].kind, FRAME_NAMED);
    assert_string_equal(r.frames[0].name, "[kernel]+0xffffffffffff0000");
}

static void the_deepest_stack_has_room(void **state)
{
    static uint64_t user[ABI_FRAMES_MAX], kernel_stack[ABI_FRAMES_MAX];
    struct sample s = sample_of(user, ABI_FRAMES_MAX, WALK_TRUNCATED);

    (void)state;
    for (uint32_t i = 0; i < ABI_FRAMES_MAX; i++) {
        user[i] = TOOL + 1 + i;
        kernel_stack[i] = UINT64_C(0xffffffffffff0000) + i;
    }
    s.kernel = kernel_stack;
    s.kernel_count = ABI_FRAMES_MAX;
    assert_int_equal(resolve(&resolver, &s).frame_count, 2 * ABI_FRAMES_MAX + 1);
    user[0] = NOWHERE; /* a mark in the place of a frame */
    assert_int_equal(resolve(&resolver, &s).frame_count, 2 * ABI_FRAMES_MAX + 1);
}

/* ---- whose it is ---- */

static void a_sample_has_its_process_and_the_name_of_its_thread_at_that_time(void **state)
{
    const uint64_t user[] = {TOOL};
    struct resolved_sample r;

    (void)state;
    r = resolve_user(user, 1, WALK_ROOT);
    assert_int_equal(r.pid, PARENT);
    assert_int_equal(r.tid, PARENT + 9);
    assert_int_equal(r.time.ns, now_ns);
    assert_string_equal(r.comm, "tool");
    assert_string_equal(r.thread_name, "worker");
    assert_string_equal(labels_get(r.labels, "comm"), "tool");
    assert_int_equal(r.process_serial, processes_find(table, PARENT)->serial);
}

static void names_that_are_no_text_are_made_text(void **state)
{
    struct sample s = sample_of(NULL, 0, WALK_ROOT);

    (void)state;
    memset(s.comm, 0xff, sizeof(s.comm)); /* and no NUL at the end */
    assert_string_equal(resolve(&resolver, &s).thread_name, "????????????????");
}

#define WITH_RESOLVER(test) cmocka_unit_test_setup_teardown(test, make, drop)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_RESOLVER(native_frames_are_offsets_in_their_files_outermost_first),
        WITH_RESOLVER(the_offset_of_the_mapping_in_its_file_counts),
        WITH_RESOLVER(a_call_in_the_last_instruction_belongs_to_the_code_before_the_return_address),
        WITH_RESOLVER(anonymous_executable_memory_is_jit_code),
        WITH_RESOLVER(code_in_a_file_that_cannot_be_read_has_its_name_and_offset),
        WITH_RESOLVER(a_cut_is_marked_at_the_cut_end),
        WITH_RESOLVER(a_walk_is_believed_up_to_where_it_leaves_the_code),
        WITH_RESOLVER(code_in_a_mapping_that_nobody_told_of_does_not_cost_its_callers),
        WITH_RESOLVER(a_process_that_is_gone_keeps_its_sample_and_name),
        WITH_RESOLVER(processes_that_the_agent_cannot_see_are_marked_and_told_apart_by_name),
        WITH_RESOLVER(two_processes_that_are_gone_are_two),
        WITH_RESOLVER(a_sample_without_any_frame_says_so),
        WITH_RESOLVER(an_address_of_zero_is_no_trap),
        WITH_RESOLVER(kernel_frames_come_after_the_users_as_offsets_from_text),
        WITH_RESOLVER(kernel_code_that_nobody_knows_keeps_its_address),
        WITH_RESOLVER(the_deepest_stack_has_room),
        WITH_RESOLVER(a_sample_has_its_process_and_the_name_of_its_thread_at_that_time),
        WITH_RESOLVER(names_that_are_no_text_are_made_text),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
