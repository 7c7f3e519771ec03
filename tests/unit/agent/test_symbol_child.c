/* symbol_child: what a hostile file does to its reader, it does to that alone. The test's own
 * program is the reader: the last bytes of a file say what such a file would make of it. */
#include "agent/symbol_child.h"

#include <fcntl.h>
#include <linux/capability.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cmocka.h>

#include "agent/cost.h"
#include "agent/symbol_reader.h"
#include "agent/symbols/kernel.h"
#include "common/clock.h"
#include "common/symtab.h"

enum {
    DEED_BYTES = 8, /* at the end of a file */
    LARGE = 1000000, /* symbols */
    SMALL_BYTES = 16 << 20, /* what the agent may grow by; the large table's reader takes 100 MiB */
};

#define CRASH "crashes!"
#define HANG "hangs on"
#define WAIT "waits..."
#define EAT "eats all"
#define PLACES "no place"
#define RIGHTS "my right"
#define TABLE "big one."
#define NOTHING "nothing."

/* ---- the reader's side ---- */

static void eat_all(void)
{
    static void *volatile last;

    for (;;) {
        last = calloc(1, 1 << 20);
        if (last == NULL)
            abort();
    }
}

static void hang_on(void)
{
    static volatile uint64_t turns;

    (void)pwrite(SYMBOL_READER_INPUT, "!", 1, 0); /* begun */
    for (;;)
        turns = turns + 1;
}

static bool has_rights(void)
{
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct sets[_LINUX_CAPABILITY_U32S_3] = {0};

    if (syscall(SYS_capget, &header, sets) != 0)
        return true;
    return sets[0].effective != 0 || sets[0].permitted != 0 || sets[1].permitted != 0 ||
           prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) != 1 || open("/etc/shadow", O_RDONLY) >= 0 ||
           geteuid() == 0 || fork() >= 0;
}

static void leave_large_table(void)
{
    struct symtab t = {0};
    struct blob packed = {0};
    char name[32];

    for (uint32_t i = 0; i < LARGE; i++) {
        (void)snprintf(name, sizeof(name), "f%llx",
                       (unsigned long long)(i * UINT64_C(0x9e3779b97f4a7c15)));
        if (symtab_add(&t, UINT64_C(16) * i, 16, name) != ST_OK)
            _exit(1);
    }
    symtab_sort(&t);
    if (symtab_encode(&t, &packed) != ST_OK ||
        write(SYMBOL_READER_OUTPUT, packed.bytes, packed.length) != (ssize_t)packed.length)
        _exit(1);
    _exit(0);
}

static void do_deed(const char *deed, const char *what)
{
    struct symbol_reader_limits limits = symbol_reader_limits;

    if (strcmp(deed, HANG) == 0)
        limits.cpu_seconds = 1;
    if (strcmp(deed, WAIT) == 0)
        limits.wall_seconds = 1;
    if (strcmp(deed, PLACES) == 0 && strcmp(what, "places") != 0)
        return;
    if (symbol_reader_confine(&limits) != ST_OK)
        _exit(2);
    if (strcmp(deed, CRASH) == 0 || strcmp(deed, PLACES) == 0)
        abort();
    if (strcmp(deed, HANG) == 0)
        hang_on();
    if (strcmp(deed, WAIT) == 0)
        (void)pause();
    if (strcmp(deed, EAT) == 0)
        eat_all();
    if (strcmp(deed, TABLE) == 0)
        leave_large_table();
    if (strcmp(deed, RIGHTS) == 0)
        _exit(SYMBOL_READER_EXIT + (has_rights() ? ST_EXISTS : ST_DENIED));
    if (strcmp(deed, NOTHING) == 0)
        _exit(0);
}

static void be_reader(const char *what)
{
    char deed[DEED_BYTES + 1] = "";
    struct stat st;

    if (fstat(SYMBOL_READER_INPUT, &st) == 0 && st.st_size >= DEED_BYTES &&
        pread(SYMBOL_READER_INPUT, deed, DEED_BYTES, st.st_size - DEED_BYTES) == DEED_BYTES)
        do_deed(deed, what);
    symbol_reader_main(what);
}

/* ---- the agent's side ---- */

static char why[SYMBOL_WHY_MAX];
static int table; /* descriptor */

/* A file with `deed` at its end, after all of this program if it is to be an ELF file. */
static int file_of(const char *deed, bool elf)
{
    int fd = memfd_create("file", MFD_CLOEXEC);
    static char bytes[1 << 16];
    int own = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);

    assert_true(fd >= 0 && own >= 0);
    for (ssize_t n; elf && (n = read(own, bytes, sizeof(bytes))) > 0;)
        assert_int_equal(write(fd, bytes, (size_t)n), n);
    assert_int_equal(write(fd, ".", 1), 1); /* a place to say that it has begun, if not in an ELF */
    assert_int_equal(write(fd, deed, DEED_BYTES), DEED_BYTES);
    close(own);
    return fd;
}

static enum status read_file(int fd, enum symbol_input kind)
{
    struct symbol_child *c = NULL;
    enum status st;

    table = -1;
    assert_int_equal(symbol_child_new(fd, kind, &c), ST_OK);
    st = symbol_child_run(c, &table, why);
    symbol_child_free(c);
    assert_true((st == ST_OK) == (table >= 0));
    return st;
}

static size_t take_table(struct symtab *out)
{
    struct stat st;
    uint8_t *bytes;

    assert_int_equal(fstat(table, &st), 0);
    bytes = malloc((size_t)st.st_size);
    assert_non_null(bytes);
    assert_int_equal(pread(table, bytes, (size_t)st.st_size, 0), st.st_size);
    assert_int_equal(symtab_decode((struct slice){bytes, (size_t)st.st_size}, out), ST_OK);
    free(bytes);
    close(table);
    return (size_t)st.st_size;
}

static bool has_symbol(const struct symtab *t, const char *name)
{
    for (uint32_t i = 0; i < t->count; i++)
        if (strcmp(t->text + t->symbols[i].name, name) == 0)
            return true;
    return false;
}

static void a_program_s_names_are_read(void **state)
{
    struct symtab t = {0};

    (void)state;
    assert_int_equal(read_file(open("/proc/self/exe", O_RDONLY | O_CLOEXEC), SYMBOL_INPUT_ELF),
                     ST_OK);
    assert_string_equal(why, "");
    (void)take_table(&t);
    assert_true(has_symbol(&t, "symbol_child_run"));
    symtab_deinit(&t);
}

static void the_kernel_s_names_are_read_by_who_has_no_right_to(void **state)
{
    struct symtab t = {0};
    enum status st;
    int fd;

    (void)state;
    if (kernel_open_kallsyms(&fd) != ST_OK)
        skip();
    st = read_file(fd, SYMBOL_INPUT_KALLSYMS);
    if (st == ST_NOT_FOUND) /* hidden from this test as well */
        skip();
    assert_int_equal(st, ST_OK);
    (void)take_table(&t);
    assert_true(has_symbol(&t, "schedule"));
    symtab_deinit(&t);
}

static void what_is_no_binary_is_refused_as_such(void **state)
{
    (void)state;
    assert_int_equal(read_file(open("/etc/passwd", O_RDONLY | O_CLOEXEC), SYMBOL_INPUT_ELF),
                     ST_INVALID);
    assert_string_equal(why, "");
}

static void a_reader_has_no_rights(void **state)
{
    (void)state;
    assert_int_equal(read_file(file_of(RIGHTS, false), SYMBOL_INPUT_ELF), ST_DENIED);
    assert_string_equal(why, "");
}

static void a_crash_is_a_refusal_that_says_so(void **state)
{
    (void)state;
    assert_int_equal(read_file(file_of(CRASH, false), SYMBOL_INPUT_ELF), ST_INVALID);
    assert_string_equal(why, "the reader of names died of signal 6");
}

static void names_come_although_the_places_crash(void **state)
{
    struct symtab t = {0};

    (void)state;
    assert_int_equal(read_file(file_of(PLACES, true), SYMBOL_INPUT_ELF), ST_OK);
    assert_string_equal(why, "the reader of places died of signal 6");
    (void)take_table(&t);
    assert_true(has_symbol(&t, "symbol_child_run"));
    symtab_deinit(&t);
}

static void a_reader_that_never_ends_is_ended_and_counts_as_cost(void **state)
{
    struct agent_cost before = {0}, after = {0};

    (void)state;
    cost_read_process(&before);
    assert_int_equal(read_file(file_of(HANG, false), SYMBOL_INPUT_ELF), ST_INVALID);
    cost_read_process(&after);
    assert_string_equal(why, "the reader of names died of signal 24 (over its limit of CPU time)");
    assert_true(after.user_ns + after.system_ns >= before.user_ns + before.system_ns + NS_PER_S);
}

static void a_reader_that_waits_is_ended(void **state)
{
    (void)state;
    assert_int_equal(read_file(file_of(WAIT, false), SYMBOL_INPUT_ELF), ST_INVALID);
    assert_string_equal(why, "the reader of names died of signal 14 (over its limit of time)");
}

static void a_reader_gets_no_more_than_its_memory(void **state)
{
    (void)state;
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    skip(); /* no limit then: see limit_memory */
#endif
    assert_int_equal(read_file(file_of(EAT, false), SYMBOL_INPUT_ELF), ST_INVALID);
    assert_string_equal(why, "the reader of names died of signal 6");
}

static void a_reader_that_leaves_nothing_has_failed(void **state)
{
    (void)state;
    assert_int_equal(read_file(file_of(NOTHING, false), SYMBOL_INPUT_ELF), ST_INVALID);
}

static void a_large_table_is_never_in_the_agent_s_memory(void **state)
{
    struct agent_cost before = {0}, after = {0};
    struct symtab t = {0};

    (void)state;
    cost_read_process(&before);
    assert_int_equal(read_file(file_of(TABLE, false), SYMBOL_INPUT_ELF), ST_OK);
    cost_read_process(&after);
    print_message("%.1f MiB before, %.1f MiB after\n", (double)before.rss_bytes / (1 << 20),
                  (double)after.rss_bytes / (1 << 20));
    assert_true(after.rss_bytes < before.rss_bytes + SMALL_BYTES);
    print_message("%zu bytes packed\n", take_table(&t));
    assert_int_equal(t.count, LARGE);
    symtab_deinit(&t);
}

static void *run_until_killed(void *arg)
{
    static int unused;
    static char reason[SYMBOL_WHY_MAX];

    return symbol_child_run(arg, &unused, reason) == ST_CLOSED ? arg : NULL;
}

static void a_reader_is_killed_in_the_midst_of_it(void **state)
{
    struct symbol_child *c = NULL;
    int fd = file_of(HANG, false);
    pthread_t thread;
    void *killed = NULL;
    char first = '\0';

    (void)state;
    assert_int_equal(symbol_child_new(fd, SYMBOL_INPUT_ELF, &c), ST_OK);
    assert_int_equal(pthread_create(&thread, NULL, run_until_killed, c), 0);
    while (first != '!')
        assert_int_equal(pread(fd, &first, 1, 0), 1);
    symbol_child_kill(c);
    assert_int_equal(pthread_join(thread, &killed), 0);
    assert_ptr_equal(killed, c);
    symbol_child_free(c);
}

static void none_starts_once_it_was_killed(void **state)
{
    struct symbol_child *c = NULL;

    (void)state;
    assert_int_equal(symbol_child_new(file_of(HANG, false), SYMBOL_INPUT_ELF, &c), ST_OK);
    symbol_child_kill(c);
    assert_int_equal(symbol_child_run(c, &table, why), ST_CLOSED);
    symbol_child_free(c);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_program_s_names_are_read),
        cmocka_unit_test(the_kernel_s_names_are_read_by_who_has_no_right_to),
        cmocka_unit_test(what_is_no_binary_is_refused_as_such),
        cmocka_unit_test(a_reader_has_no_rights),
        cmocka_unit_test(a_crash_is_a_refusal_that_says_so),
        cmocka_unit_test(names_come_although_the_places_crash),
        cmocka_unit_test(a_reader_that_never_ends_is_ended_and_counts_as_cost),
        cmocka_unit_test(a_reader_that_waits_is_ended),
        cmocka_unit_test(a_reader_gets_no_more_than_its_memory),
        cmocka_unit_test(a_reader_that_leaves_nothing_has_failed),
        cmocka_unit_test(a_large_table_is_never_in_the_agent_s_memory),
        cmocka_unit_test(a_reader_is_killed_in_the_midst_of_it),
        cmocka_unit_test(none_starts_once_it_was_killed),
    };

    if (argc == 3 && strcmp(argv[1], SYMBOL_READER_OPTION) == 0)
        be_reader(argv[2]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
