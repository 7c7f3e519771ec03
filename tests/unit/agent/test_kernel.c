/* kernel: the running kernel's identity and names, and life without them. */
#include "agent/symbols/kernel.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "agent/symbols/kallsyms.h"

enum { NOBODY = 65534 };

static void lines_of_the_core_and_of_modules_are_told_apart(void **state)
{
    struct kallsym s;

    (void)state;
    assert_true(kallsyms_parse("ffffffff81000000 T _text\n", &s));
    assert_true(s.address == UINT64_C(0xffffffff81000000));
    assert_int_equal(s.type, 'T');
    assert_string_equal(s.name, "_text");
    assert_string_equal(s.module, "");
    assert_true(kallsym_is_text(&s));
    assert_true(kallsyms_parse("ffffffffc0201000 t ext4_map\t[ext4]\n", &s));
    assert_string_equal(s.name, "ext4_map");
    assert_string_equal(s.module, "ext4");
    assert_true(kallsyms_parse("ffffffff83b26734 R __stop\n", &s));
    assert_false(kallsym_is_text(&s));
}

static void lines_that_are_none_are_refused(void **state)
{
    struct kallsym s;

    (void)state;
    assert_false(kallsyms_parse("", &s));
    assert_false(kallsyms_parse("\n", &s));
    assert_false(kallsyms_parse("ffffffff81000000\n", &s));
    assert_false(kallsyms_parse("zebra T _text\n", &s));
}

/* The address of a symbol of the core image; 0: hidden or not there. */
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

static void code_of_the_core_image_is_an_offset_with_a_name_in_its_table(void **state)
{
    uint64_t text = address_of("_text"), schedule = address_of("schedule");
    struct kernel_symbols *k = NULL;
    struct kernel_frame frame;
    struct symtab t = {0};
    int fd;

    (void)state;
    if (schedule == 0)
        skip(); /* addresses are hidden from us */
    assert_int_equal(kernel_symbols_open(&k), ST_OK);
    assert_null(kernel_degraded(k));
    assert_true(kernel_build_id(k)->length > 0);
    frame = kernel_resolve(k, schedule + 4);
    assert_true(frame.in_image);
    assert_true(frame.offset == schedule + 4 - text);
    assert_int_equal(kernel_open_kallsyms(&fd), ST_OK);
    assert_int_equal(kernel_symtab(fd, &t), ST_OK);
    close(fd);
    assert_string_equal(symtab_find(&t, frame.offset), "schedule");
    symtab_deinit(&t);
    kernel_symbols_close(k);
}

static void unknown_addresses_stay_addresses(void **state)
{
    struct kernel_symbols *k = NULL;
    struct kernel_frame frame;

    (void)state;
    assert_int_equal(kernel_symbols_open(&k), ST_OK);
    frame = kernel_resolve(k, 0x1234);
    assert_false(frame.in_image);
    assert_true(frame.offset == 0x1234);
    assert_null(frame.name);
    for (int i = 0; i < 5; i++) /* reads anew, then pauses */
        assert_int_equal(kernel_symbols_refresh(k), ST_OK);
    assert_null(kernel_resolve(k, 0x1234).name);
    kernel_symbols_close(k);
}

/* What a user without rights finds: 0 all is well, 1 degraded in the right way, 2 wrong. */
static int open_as_nobody(void)
{
    struct kernel_symbols *k = NULL;
    struct symtab t = {0};
    int fd;

    if (setresuid(NOBODY, NOBODY, NOBODY) != 0 || kernel_symbols_open(&k) != ST_OK)
        return 2;
    if (kernel_degraded(k) == NULL)
        return 0;
    if (kernel_resolve(k, UINT64_C(0xffffffff81000000)).in_image ||
        kernel_build_id(k)->length == 0 || kernel_open_kallsyms(&fd) != ST_OK ||
        kernel_symtab(fd, &t) != ST_OK || t.count != 0)
        return 2;
    kernel_symbols_close(k);
    return 1;
}

static void hidden_addresses_degrade_and_do_not_fail(void **state)
{
    pid_t child;
    int status = 0;

    (void)state;
    if (geteuid() != 0)
        skip();
    child = fork();
    if (child == 0)
        _exit(open_as_nobody());
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    if (WEXITSTATUS(status) == 0)
        skip(); /* this kernel hides nothing */
    assert_int_equal(WEXITSTATUS(status), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines_of_the_core_and_of_modules_are_told_apart),
        cmocka_unit_test(lines_that_are_none_are_refused),
        cmocka_unit_test(code_of_the_core_image_is_an_offset_with_a_name_in_its_table),
        cmocka_unit_test(unknown_addresses_stay_addresses),
        cmocka_unit_test(hidden_addresses_degrade_and_do_not_fail),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
