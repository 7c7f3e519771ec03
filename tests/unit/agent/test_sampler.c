/* sampler: counts, rates, losses and stacks of a child that burns CPU in a cgroup of its own.
 * Waits for the sampling clock itself, which stands still while the child waits for a CPU, so a
 * busy machine makes it slow and not wrong. Needs eBPF, perf events and cgroup v2. */
#include "agent/sampler/sampler.h"

#include <errno.h>
#include <linux/capability.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "tests/support/cgroup2.h"

enum { EXIT_SKIPPED = 77, NOBODY = 65534, WAIT_STEPS = 6000 /* of 10 ms */ };

static char cgroup_path[CGROUP2_PATH_MAX];
static pid_t burner;

struct seen { /* what a drain brought */
    uint64_t samples, foreign, with_burn, ended;
};

static volatile uint64_t sink;

__attribute__((noinline)) static void burn(void)
{
    for (;;)
        for (uint64_t i = 0; i < 1000; i++)
            sink += i * i;
}

__attribute__((noinline)) static void outer(void)
{
    burn();
    sink++; /* no tail call */
}

static bool in_burn(uint64_t address)
{
    uint64_t start = (uint64_t)(uintptr_t)burn;

    return address >= start && address < start + 4096;
}

static void on_sample(void *arg, const struct sample *s)
{
    struct seen *seen = arg;

    seen->samples++;
    seen->foreign += s->pid != (uint32_t)burner;
    seen->ended += s->end == WALK_ROOT;
    for (uint32_t i = 0; i < s->user_count; i++)
        if (in_burn(s->user[i])) {
            seen->with_burn++;
            break;
        }
}

static int make_burner(void **state)
{
    (void)state;
    if (!cgroup2_make("", cgroup_path))
        return -1;
    burner = fork();
    if (burner == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (!cgroup2_join(cgroup_path, 0))
            _exit(1);
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
    return rmdir(cgroup_path);
}

static struct sampler *open_sampler(uint32_t ring_bytes)
{
    struct sampler_options options = {.scope_cgroup = cgroup_path, .ring_bytes = ring_bytes};
    char why[SAMPLER_WHY_MAX] = "";
    struct sampler *s = NULL;

    if (sampler_open(&options, &s, why) != ST_OK)
        fail_msg("sampler_open: %s", why);
    return s;
}

static struct sampler_counters counters(struct sampler *s)
{
    struct sampler_counters c;

    sampler_read_counters(s, &c);
    return c;
}

/* Until the sampling clock has run for `ns` more; returns the counters of that moment. */
static struct sampler_counters run_for(struct sampler *s, uint64_t ns)
{
    const struct timespec step = {.tv_nsec = 10L * 1000 * 1000};
    uint64_t target = counters(s).clock_ns + ns;

    for (int i = 0; i < WAIT_STEPS && counters(s).clock_ns < target; i++)
        nanosleep(&step, NULL);
    if (counters(s).clock_ns < target)
        fail_msg("the sampling clock stands still");
    return counters(s);
}

static struct seen drain(struct sampler *s)
{
    struct seen seen = {0};

    sampler_drain(s, on_sample, &seen);
    return seen;
}

static void assert_near(uint64_t got, uint64_t want)
{
    uint64_t slack = want / 10 + 2;

    if (got + slack < want || got > want + slack)
        fail_msg("%llu is not near %llu", (unsigned long long)got, (unsigned long long)want);
}

static void assert_every_run_is_accounted_for(const struct sampler_counters *c)
{
    assert_int_equal(c->counts[ABI_COUNTER_RUNS],
                     c->counts[ABI_COUNTER_DELIVERED] + c->counts[ABI_COUNTER_IDLE] +
                         c->counts[ABI_COUNTER_RING_FULL] + c->counts[ABI_COUNTER_SCRATCH_BUSY]);
}

static void samples_are_clock_time_over_period_and_only_of_the_scope(void **state)
{
    struct sampler *s = open_sampler(0);
    struct sampler_counters c;
    struct seen seen;

    (void)state;
    assert_int_equal(sampler_start(s, NS_PER_MS), ST_OK);
    (void)run_for(s, NS_PER_S / 2);
    sampler_stop(s);
    c = counters(s);
    seen = drain(s);
    assert_near(seen.samples, c.clock_ns / NS_PER_MS);
    assert_int_equal(seen.samples, c.counts[ABI_COUNTER_DELIVERED]);
    assert_int_equal(seen.foreign, 0);
    assert_near(seen.with_burn, seen.samples);
    assert_near(seen.ended, seen.samples);
    assert_every_run_is_accounted_for(&c);
    assert_true(c.map_bytes >= SAMPLER_RING_BYTES_MIN);
    sampler_close(s);
}

/* Whether or not the kernel keeps statistics. Bounds of any machine: some 20 helpers, and a walk of
 * two stacks that interrupts may stretch. */
static void what_samples_cost_is_measured(void **state)
{
    struct sampler *s = open_sampler(0);
    struct sampler_counters c;

    (void)state;
    assert_int_equal(sampler_start(s, NS_PER_MS), ST_OK);
    (void)run_for(s, NS_PER_S / 5);
    sampler_stop(s);
    c = counters(s);
    print_message("%llu ns a run\n", (unsigned long long)(c.bpf_ns / c.bpf_runs));
    assert_int_equal(c.bpf_runs, c.counts[ABI_COUNTER_RUNS]);
    assert_in_range(c.bpf_ns / c.bpf_runs, 100, 100 * 1000);
    sampler_close(s);
}

static void a_new_period_holds_at_once_and_without_a_restart(void **state)
{
    struct sampler *s = open_sampler(0);
    struct sampler_counters before, after;
    uint64_t runs;

    (void)state;
    assert_int_equal(sampler_start(s, 10 * NS_PER_MS), ST_OK);
    before = run_for(s, NS_PER_S / 2);
    assert_near(before.counts[ABI_COUNTER_RUNS], before.clock_ns / (10 * NS_PER_MS));
    assert_int_equal(sampler_set_period(s, NS_PER_MS), ST_OK);
    after = run_for(s, NS_PER_S / 2);
    runs = after.counts[ABI_COUNTER_RUNS] - before.counts[ABI_COUNTER_RUNS];
    assert_near(runs, (after.clock_ns - before.clock_ns) / NS_PER_MS);
    sampler_close(s);
}

static void a_full_ring_is_counted_and_keeps_what_it_has(void **state)
{
    struct sampler *s = open_sampler(4096);
    struct sampler_counters c;

    (void)state;
    assert_int_equal(sampler_start(s, NS_PER_MS), ST_OK);
    (void)run_for(s, NS_PER_S / 5);
    sampler_stop(s);
    c = counters(s);
    assert_true(c.counts[ABI_COUNTER_RING_FULL] > 0);
    assert_every_run_is_accounted_for(&c);
    assert_int_equal(drain(s).samples, c.counts[ABI_COUNTER_DELIVERED]);
    sampler_close(s);
}

static void a_stopped_sampler_is_silent_and_starts_again(void **state)
{
    struct sampler *s = open_sampler(0);
    struct sampler_counters running, stopped, still, again;

    (void)state;
    assert_int_equal(sampler_start(s, NS_PER_MS), ST_OK);
    assert_int_equal(sampler_start(s, NS_PER_MS), ST_BAD_STATE);
    (void)run_for(s, NS_PER_S / 10);
    running = counters(s);
    assert_true(running.cpus > 0);
    sampler_stop(s);
    sampler_stop(s);
    stopped = counters(s);
    assert_int_equal(sampler_set_period(s, NS_PER_MS), ST_BAD_STATE);
    assert_int_equal(sampler_follow_cpus(s), ST_OK);
    still = counters(s);
    assert_int_equal(still.cpus, running.cpus); /* the last window's */
    assert_int_equal(still.clock_ns, stopped.clock_ns);
    assert_int_equal(still.counts[ABI_COUNTER_RUNS], stopped.counts[ABI_COUNTER_RUNS]);
    assert_int_equal(sampler_start(s, NS_PER_MS), ST_OK);
    assert_int_equal(sampler_follow_cpus(s), ST_OK);
    again = run_for(s, NS_PER_S / 10);
    assert_near(again.counts[ABI_COUNTER_RUNS], again.clock_ns / NS_PER_MS);
    sampler_close(s);
}

static void wrong_options_are_refused_with_a_reason(void **state)
{
    struct sampler_options odd_ring = {.ring_bytes = 5000};
    struct sampler_options no_scope = {.scope_cgroup = "/nowhere/at/all"};
    char why[SAMPLER_WHY_MAX] = "";
    struct sampler *s = NULL;

    (void)state;
    assert_int_equal(sampler_open(&odd_ring, &s, why), ST_INVALID);
    assert_non_null(strstr(why, "5000"));
    assert_int_equal(sampler_open(&no_scope, &s, why), ST_INVALID);
    assert_non_null(strstr(why, "/nowhere/at/all"));
    assert_null(s);
    s = open_sampler(0);
    assert_int_equal(sampler_start(s, SAMPLER_PERIOD_NS_MIN - 1), ST_INVALID);
    assert_int_equal(sampler_start(s, SAMPLER_PERIOD_NS_MAX + 1), ST_INVALID);
    sampler_close(s);
}

static bool become_nobody_with(uint32_t capability_mask_high)
{
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct data[2] = {{0}, {0}};

    data[1].effective = data[1].permitted = capability_mask_high;
    return prctl(PR_SET_KEEPCAPS, 1) == 0 && syscall(SYS_setresuid, NOBODY, NOBODY, NOBODY) == 0 &&
           syscall(SYS_capset, &header, data) == 0 && prctl(PR_SET_DUMPABLE, 1) == 0;
}

/* The status of opening and starting as nobody with the given capabilities (numbers 32 and up). */
static enum status sample_as_nobody(uint32_t capability_mask_high)
{
    pid_t child = fork();
    int wait_status = 0;

    if (child == 0) {
        struct sampler_options options = {0};
        char why[SAMPLER_WHY_MAX] = "";
        struct sampler *s = NULL;
        enum status st = ST_IO;

        if (become_nobody_with(capability_mask_high))
            st = sampler_open(&options, &s, why);
        if (st == ST_OK)
            st = sampler_start(s, NS_PER_MS);
        if (st != ST_OK)
            print_message("%s: %s\n", status_text(st), why);
        sampler_close(s);
        _exit((int)st);
    }
    if (child < 0 || waitpid(child, &wait_status, 0) != child || !WIFEXITED(wait_status))
        return ST_IO;
    return (enum status)WEXITSTATUS(wait_status);
}

static void a_plain_user_needs_two_capabilities_and_no_more(void **state)
{
    uint32_t bpf = 1u << (CAP_BPF - 32);
    uint32_t perfmon = 1u << (CAP_PERFMON - 32);

    (void)state;
    assert_int_equal(sample_as_nobody(bpf | perfmon), ST_OK);
    assert_int_equal(sample_as_nobody(0), ST_DENIED);
}

static bool may_sample(void)
{
    struct sampler_options options = {0};
    char why[SAMPLER_WHY_MAX] = "", root[CGROUP2_PATH_MAX];
    struct sampler *s = NULL;
    enum status st = sampler_open(&options, &s, why);

    sampler_close(s);
    if (st == ST_OK && (geteuid() != 0 || !cgroup2_find(root))) {
        (void)snprintf(why, sizeof(why), "needs root and a cgroup v2 mount");
        st = ST_UNSUPPORTED;
    }
    if (st != ST_OK)
        (void)fprintf(stderr, "skipped: %s\n", why);
    return st == ST_OK;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(samples_are_clock_time_over_period_and_only_of_the_scope),
        cmocka_unit_test(what_samples_cost_is_measured),
        cmocka_unit_test(a_new_period_holds_at_once_and_without_a_restart),
        cmocka_unit_test(a_full_ring_is_counted_and_keeps_what_it_has),
        cmocka_unit_test(a_stopped_sampler_is_silent_and_starts_again),
        cmocka_unit_test(wrong_options_are_refused_with_a_reason),
        cmocka_unit_test(a_plain_user_needs_two_capabilities_and_no_more),
    };

    if (!may_sample())
        return EXIT_SKIPPED;
    return cmocka_run_group_tests(tests, make_burner, end_burner);
}
