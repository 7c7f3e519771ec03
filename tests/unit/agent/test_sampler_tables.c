/* sampler with unwind tables: each program that walks by them loads and samples, unknown processes
 * come with a copy of their stack, and exec and exit make a process unknown at once.
 * Samples the whole host and looks at those of a child that burns CPU. */
#include "agent/sampler/sampler.h"

#include <bpf/bpf.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

/* The kernel's own limit is a million; what is verified takes time to load. */
enum { EXIT_SKIPPED = 77, WAIT_STEPS = 6000 /* of 10 ms */, INSTRUCTIONS_MAX = 250 * 1000 };

static pid_t burner;
static volatile uint64_t sink;

struct seen {
    uint64_t samples, ended[WALK_ENDS], copies, whole_copies;
};

__attribute__((noinline)) static void burn(void)
{
    for (;;)
        sink += sink * sink + 1;
}

__attribute__((noinline)) static void outer(void)
{
    burn();
    sink++; /* no tail call */
}

/* Whether the copy starts at the registers' stack pointer and holds the return address into outer.
 */
static bool is_whole(const struct sample *s)
{
    uint64_t start = (uint64_t)(uintptr_t)outer;

    if (s->user_count != 1 || s->raw->registers.ip != s->user[0])
        return false;
    for (uint32_t i = 0; i + 8 <= s->raw->bytes; i += 8) {
        uint64_t word;

        memcpy(&word, s->raw->stack + i, 8);
        if (word > start && word < start + 256)
            return true;
    }
    return false;
}

static void on_sample(void *arg, const struct sample *s)
{
    struct seen *seen = arg;

    if (s->pid != (uint32_t)burner)
        return;
    seen->samples++;
    seen->ended[s->end]++;
    seen->copies += s->raw != NULL;
    seen->whole_copies += s->raw != NULL && is_whole(s);
}

static int make_burner(void **state)
{
    (void)state;
    burner = fork();
    if (burner == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        outer();
    }
    return burner > 0 ? 0 : -1;
}

static int end_burner(void **state)
{
    (void)state;
    if (burner > 0) {
        kill(burner, SIGKILL);
        waitpid(burner, NULL, 0);
    }
    return 0;
}

static struct sampler *open_with_ring(enum sampler_walk walk, uint32_t ring_bytes)
{
    struct sampler_options options = {.walk = walk, .ring_bytes = ring_bytes};
    char why[SAMPLER_WHY_MAX] = "";
    struct sampler *s = NULL;

    if (sampler_open(&options, &s, why) != ST_OK)
        fail_msg("sampler_open: %s", why);
    return s;
}

static struct sampler *open_sampler(enum sampler_walk walk)
{
    return open_with_ring(walk, 0);
}

/* Samples until the burner was seen `wanted` times. */
static struct seen sample(struct sampler *s, uint64_t wanted)
{
    const struct timespec step = {.tv_nsec = 10L * 1000 * 1000};
    struct seen seen = {0};

    assert_int_equal(sampler_start(s, NS_PER_MS), ST_OK);
    for (int i = 0; i < WAIT_STEPS && seen.samples < wanted; i++) {
        nanosleep(&step, NULL);
        sampler_drain(s, on_sample, &seen);
    }
    sampler_stop(s);
    assert_true(seen.samples >= wanted);
    return seen;
}

/* Makes a process known, as one that is all frame pointers. */
static void publish(const struct sampler *s, pid_t pid)
{
    const struct abi_page_key key = {.pid = (uint32_t)pid};
    const struct abi_page page = {
        .ranges = 1,
        .range = {{.start = 4096, .end = UINT64_MAX, .rule = ABI_RANGE_FRAME_POINTER}}};

    assert_int_equal(bpf_map_update_elem(sampler_maps(s).processes, &key, &page, BPF_ANY), 0);
}

static bool is_published(const struct sampler *s, pid_t pid)
{
    const struct abi_page_key key = {.pid = (uint32_t)pid};
    struct abi_page page;

    return bpf_map_lookup_elem(sampler_maps(s).processes, &key, &page) == 0;
}

static void the_best_program_is_the_one_that_was_asked_for_and_says_what_is_left_out(void **state)
{
    (void)state;
    for (enum sampler_walk walk = SAMPLER_WALK_FAST; walk <= SAMPLER_WALK_PLAIN; walk++) {
        struct sampler *s = open_sampler(walk);
        struct sampler_counters c;

        assert_true(sampler_walk(s) >= walk);
        assert_int_equal(sampler_walk(s) != SAMPLER_WALK_FAST, sampler_degraded(s)[0] != '\0');
        sampler_read_counters(s, &c);
        print_message("walk %d: %u instructions verified, %llu KiB of maps; %s\n", walk,
                      c.verified_instructions, (unsigned long long)c.map_bytes >> 10,
                      sampler_degraded(s));
        assert_true(c.verified_instructions <= INSTRUCTIONS_MAX);
        (void)sample(s, 10);
        sampler_close(s);
    }
}

static void before_there_are_tables_no_process_is_unknown(void **state)
{
    (void)state;
    for (enum sampler_walk walk = SAMPLER_WALK_FAST; walk <= SAMPLER_WALK_PLAIN; walk++) {
        struct sampler *s = open_sampler(walk);
        struct seen seen = sample(s, 20);

        assert_int_equal(seen.ended[WALK_UNKNOWN], 0);
        assert_int_equal(seen.copies, 0);
        sampler_close(s);
    }
}

static void an_unknown_process_sends_its_stack(void **state)
{
    (void)state;
    for (enum sampler_walk walk = SAMPLER_WALK_FAST; walk <= SAMPLER_WALK_COMPAT; walk++) {
        struct sampler *s = open_sampler(walk);
        struct seen seen;

        sampler_use_tables(s, true);
        seen = sample(s, 20);
        assert_int_equal(seen.ended[WALK_UNKNOWN], seen.samples);
        assert_int_equal(seen.copies, seen.samples);
        assert_int_equal(seen.whole_copies, seen.samples);
        sampler_close(s);
    }
}

static void a_copy_that_would_crowd_the_ring_is_left_out(void **state)
{
    (void)state;
    for (enum sampler_walk walk = SAMPLER_WALK_FAST; walk <= SAMPLER_WALK_COMPAT; walk++) {
        struct sampler *s = open_with_ring(walk, 16 << 10); /* less than the largest record */
        struct seen seen;

        sampler_use_tables(s, true);
        seen = sample(s, 20);
        assert_int_equal(seen.copies, 0);
        sampler_close(s);
    }
}

static void a_known_process_is_walked(void **state)
{
    (void)state;
    for (enum sampler_walk walk = SAMPLER_WALK_FAST; walk <= SAMPLER_WALK_COMPAT; walk++) {
        struct sampler *s = open_sampler(walk);
        struct seen seen;

        publish(s, burner);
        sampler_use_tables(s, true);
        seen = sample(s, 20);
        assert_int_equal(seen.ended[WALK_UNKNOWN], 0);
        assert_int_equal(seen.ended[WALK_NONE], 0);
        sampler_close(s);
    }
}

/* A child that executes cat at the first byte, and ends when the pipe is closed. */
static pid_t start_cat(int *feed, int *echo)
{
    int in[2], out[2];
    pid_t child;
    char byte;

    assert_int_equal(pipe2(in, O_CLOEXEC), 0);
    assert_int_equal(pipe2(out, O_CLOEXEC), 0);
    child = fork();
    if (child == 0) {
        dup2(in[0], STDIN_FILENO);
        dup2(out[1], STDOUT_FILENO);
        if (read(STDIN_FILENO, &byte, 1) == 1)
            execlp("cat", "cat", (char *)NULL);
        _exit(1);
    }
    close(in[0]);
    close(out[1]);
    *feed = in[1];
    *echo = out[0];
    return child;
}

static void exec_and_exit_make_a_process_unknown_at_once(void **state)
{
    struct sampler *s = open_sampler(SAMPLER_WALK_FAST);
    int feed, echo;
    pid_t child = start_cat(&feed, &echo);
    char byte;

    (void)state;
    publish(s, child);
    assert_int_equal(write(feed, "xy", 2), 2);
    assert_int_equal(read(echo, &byte, 1), 1); /* cat's */
    assert_false(is_published(s, child));
    publish(s, child);
    close(feed);
    assert_int_equal(waitpid(child, NULL, 0), child);
    assert_false(is_published(s, child));
    close(echo);
    sampler_close(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_best_program_is_the_one_that_was_asked_for_and_says_what_is_left_out),
        cmocka_unit_test(before_there_are_tables_no_process_is_unknown),
        cmocka_unit_test(an_unknown_process_sends_its_stack),
        cmocka_unit_test(a_copy_that_would_crowd_the_ring_is_left_out),
        cmocka_unit_test(a_known_process_is_walked),
        cmocka_unit_test(exec_and_exit_make_a_process_unknown_at_once),
    };
    struct sampler_options options = {0};
    char why[SAMPLER_WHY_MAX] = "";
    struct sampler *s = NULL;

    if (sampler_open(&options, &s, why) != ST_OK) {
        (void)fprintf(stderr, "skipped: %s\n", why);
        return EXIT_SKIPPED;
    }
    sampler_close(s);
    return cmocka_run_group_tests(tests, make_burner, end_burner);
}
