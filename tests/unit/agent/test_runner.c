/* runner: plans become chunks in the spool, each profiler ends with a final one, and every step is
 * reported. */
#include "agent/runner.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <dirent.h>
#include <unistd.h>

#include "common/chunk.h"
#include "common/log.h"
#include "tests/unit/agent/fake_source.h"

#define PERIOD_NS (10 * NS_PER_MS)
#define WINDOW_NS (10 * NS_PER_S)

enum { REPORTS_MAX = 256 };

static struct fake_source source;
static struct spool *spool;
static struct runner *runner;
static char directory[64];
static struct profiler_report reports[REPORTS_MAX];
static uint32_t report_count;
static uint64_t chunks_read; /* number of the last one taken out of the spool */

static void on_report(void *arg, const struct profiler_report *r)
{
    (void)arg;
    assert_true(report_count < REPORTS_MAX);
    reports[report_count++] = *r;
}

static struct wall wall(void)
{
    return (struct wall){source.now.ns + UINT64_C(1700000000) * NS_PER_S};
}

static struct moment moment(void)
{
    return (struct moment){.mono = source.now,
                           .wall = wall(),
                           .steady = wall(),
                           .clock_offset_ns = -7,
                           .bytes_sent = 100};
}

static void open_spool(uint64_t bytes_max)
{
    const struct spool_options options = {
        .directory = directory, .bytes_max = bytes_max, .age_max_ns = 3600 * NS_PER_S};

    assert_int_equal(spool_open(&options, wall(), &spool), ST_OK);
}

static int make(void **state)
{
    struct runner_options options = {
        .source = &source.base, .incarnation = 77, .report = on_report};

    (void)state;
    fake_source_init(&source, (struct mono){1000 * NS_PER_S});
    report_count = 0;
    chunks_read = 0;
    (void)snprintf(directory, sizeof(directory), "/tmp/runner.XXXXXX");
    assert_non_null(mkdtemp(directory));
    open_spool(64 << 20);
    options.spool = spool;
    return runner_new(&options, &runner) == ST_OK ? 0 : -1;
}

static int drop(void **state)
{
    DIR *dir = opendir(directory);
    const struct dirent *e;

    (void)state;
    runner_free(runner);
    spool_close(spool);
    while (dir != NULL && (e = readdir(dir)) != NULL)
        (void)unlinkat(dirfd(dir), e->d_name, 0);
    if (dir != NULL)
        closedir(dir);
    (void)rmdir(directory);
    return 0;
}

/* ---- what is done to it ---- */

static struct plan plan_of(uint64_t revision, uint8_t profiler, uint64_t remaining_ns)
{
    struct plan p = {.revision = revision, .item_count = 1};

    p.items[0] = (struct plan_item){.profiler = {{profiler}},
                                    .event = EVENT_CPU,
                                    .period_ns = PERIOD_NS,
                                    .remaining_ns = remaining_ns,
                                    .chunk_ns = WINDOW_NS};
    return p;
}

static enum status apply(struct plan p)
{
    const struct moment now = moment();

    return runner_apply(runner, &p, &now);
}

static void tick(uint32_t samples)
{
    const struct moment now = moment();

    source.pending = samples;
    runner_tick(runner, &now);
}

static void pass(uint64_t ns, uint32_t samples)
{
    source.now.ns += ns;
    tick(samples);
}

static void finish(uint32_t samples)
{
    const struct moment now = moment();

    source.pending = samples;
    runner_finish(runner, &now, "the agent stops");
}

/* ---- what comes of it ---- */

static struct chunk_info next_chunk(void)
{
    struct chunk_info info = {0};
    struct blob bytes;

    assert_int_equal(spool_next(spool, chunks_read, &chunks_read, &bytes), ST_OK);
    assert_int_equal(chunk_decode_info(blob_slice(&bytes), &info), ST_OK);
    blob_deinit(&bytes);
    return info;
}

static void expect_no_chunk(void)
{
    struct blob bytes;
    uint64_t number;

    assert_int_equal(spool_next(spool, chunks_read, &number, &bytes), ST_NOT_FOUND);
}

static void expect_states(const enum profiler_state *states, uint32_t count)
{
    assert_int_equal(report_count, count);
    for (uint32_t i = 0; i < count; i++)
        assert_int_equal(reports[i].state, states[i]);
}

#define EXPECT_STATES(...)                                             \
    expect_states((const enum profiler_state[]){__VA_ARGS__},          \
                  sizeof((const enum profiler_state[]){__VA_ARGS__}) / \
                      sizeof(enum profiler_state))

/* ---- beginning and ending ---- */

static void a_plan_starts_the_source_at_its_period(void **state)
{
    struct id128 running[MESSAGE_PROFILERS_MAX];

    (void)state;
    assert_false(runner_is_active(runner));
    assert_int_equal(apply(plan_of(1, 5, 60 * NS_PER_S)), ST_OK);
    assert_true(source.running);
    assert_int_equal(source.period_ns, PERIOD_NS);
    assert_int_equal(runner_running(runner, running), 1);
    assert_int_equal(running[0].bytes[0], 5);
    assert_int_equal(runner_revision(runner), 1);
    EXPECT_STATES(PROFILER_ATTACHED);
}

static void the_first_sample_is_reported_once(void **state)
{
    (void)state;
    (void)apply(plan_of(1, 5, 60 * NS_PER_S));
    pass(NS_PER_S, 0);
    EXPECT_STATES(PROFILER_ATTACHED);
    pass(NS_PER_S, 3);
    pass(NS_PER_S, 3);
    EXPECT_STATES(PROFILER_ATTACHED, PROFILER_SAMPLING);
}

static void a_plan_without_it_ends_a_profiler_with_a_final_chunk(void **state)
{
    const struct plan empty = {.revision = 2};
    struct chunk_info info;

    (void)state;
    (void)apply(plan_of(1, 5, 60 * NS_PER_S));
    pass(NS_PER_S, 4);
    source.now.ns += NS_PER_S;
    source.pending = 2; /* still in the buffers when it is stopped */
    assert_int_equal(apply(empty), ST_OK);
    assert_false(source.running);
    info = next_chunk();
    assert_true(info.final);
    assert_int_equal(info.sequence, 1);
    assert_int_equal(info.incarnation, 77);
    assert_int_equal(info.clock_offset_ns, -7);
    assert_int_equal(info.ledger.delivered, 6);
    expect_no_chunk();
    EXPECT_STATES(PROFILER_ATTACHED, PROFILER_SAMPLING, PROFILER_DRAINING, PROFILER_ENDED);
    assert_int_equal(reports[3].last_sequence, 1);
    assert_int_equal(reports[3].samples, 6);
}

static void the_deadline_ends_it_without_any_word_from_the_coordinator(void **state)
{
    (void)state;
    (void)apply(plan_of(1, 5, 3 * NS_PER_S));
    pass(3 * NS_PER_S - 1, 1);
    assert_true(source.running);
    pass(1, 0);
    assert_false(source.running);
    assert_true(next_chunk().final);
    assert_int_equal(reports[report_count - 1].state, PROFILER_ENDED);
    pass(60 * NS_PER_S, 0);
    assert_int_equal(source.starts, 1);
}

static void one_that_ended_is_not_begun_again_by_a_repeated_plan(void **state)
{
    (void)state;
    (void)apply(plan_of(1, 5, 3 * NS_PER_S));
    finish(0);
    assert_int_equal(apply(plan_of(1, 5, 60 * NS_PER_S)), ST_EXISTS);
    (void)apply(plan_of(2, 5, 60 * NS_PER_S));
    pass(NS_PER_S, 0);
    assert_int_equal(source.starts, 1);
}

static void another_profiler_takes_over_after_the_final_chunk_of_the_first(void **state)
{
    struct chunk_info info;

    (void)state;
    (void)apply(plan_of(1, 5, 60 * NS_PER_S));
    pass(NS_PER_S, 4);
    (void)apply(plan_of(2, 6, 60 * NS_PER_S));
    info = next_chunk();
    assert_int_equal(info.profiler.bytes[0], 5);
    assert_true(info.final);
    pass(NS_PER_S, 2);
    finish(0);
    info = next_chunk();
    assert_int_equal(info.profiler.bytes[0], 6);
    assert_int_equal(info.sequence, 1);
    assert_int_equal(info.ledger.delivered, 2);
    assert_int_equal(source.starts, 2);
}

static void a_finish_leaves_the_final_chunk_in_the_spool(void **state)
{
    (void)state;
    (void)apply(plan_of(1, 5, 60 * NS_PER_S));
    pass(NS_PER_S, 4);
    finish(3);
    assert_int_equal(next_chunk().ledger.delivered, 7);
    assert_false(runner_is_active(runner));
    assert_string_equal(reports[report_count - 1].reason, "the agent stops");
    finish(0); /* nothing runs: nothing happens */
    expect_no_chunk();
}

static void a_profiler_that_saw_nothing_still_ends_with_a_final_chunk(void **state)
{
    struct chunk_info info;

    (void)state;
    (void)apply(plan_of(1, 5, 60 * NS_PER_S));
    source.now.ns += NS_PER_S;
    finish(0);
    info = next_chunk();
    assert_true(info.final);
    assert_int_equal(info.ledger.delivered, 0);
    assert_int_equal(info.ledger.expected, info.ledger.idle);
    assert_int_equal(info.ledger.expected, FAKE_CPUS * NS_PER_S / PERIOD_NS);
}

/* ---- windows, rates and the ledger ---- */

static void a_window_is_cut_when_it_is_full_and_the_next_one_follows_without_a_gap(void **state)
{
    struct chunk_info first, second;

    (void)state;
    (void)apply(plan_of(1, 5, 60 * NS_PER_S));
    pass(WINDOW_NS, 5); /* what is in hand is a little younger than now */
    expect_no_chunk();
    pass(100 * NS_PER_MS, 5);
    first = next_chunk();
    expect_no_chunk();
    pass(WINDOW_NS, 7);
    second = next_chunk();
    assert_int_equal(first.sequence, 1);
    assert_int_equal(second.sequence, 2);
    assert_false(first.final);
    assert_int_equal(second.start.ns, first.end.ns);
    assert_int_equal(second.wall_start.ns - first.wall_start.ns, second.start.ns - first.start.ns);
    assert_int_equal(first.ledger.delivered, 10);
    assert_int_equal(second.ledger.delivered, 7);
    assert_int_equal(first.cpus, FAKE_CPUS);
}

static void a_rate_change_cuts_so_that_each_chunk_has_one_period(void **state)
{
    struct plan p = plan_of(2, 5, 60 * NS_PER_S);
    struct chunk_info info;

    (void)state;
    (void)apply(plan_of(1, 5, 60 * NS_PER_S));
    pass(NS_PER_S, 4);
    p.items[0].period_ns = PERIOD_NS / 2;
    source.now.ns += NS_PER_S;
    (void)apply(p);
    assert_int_equal(source.period_ns, PERIOD_NS / 2);
    assert_int_equal(source.starts, 1);
    info = next_chunk();
    assert_int_equal(info.period_ns, PERIOD_NS);
    assert_false(info.final);
    pass(NS_PER_S, 9);
    finish(0);
    info = next_chunk();
    assert_int_equal(info.period_ns, PERIOD_NS / 2);
    assert_int_equal(info.sequence, 2);
    assert_int_equal(info.ledger.delivered, 9);
    assert_int_equal(reports[report_count - 1].period_ns, PERIOD_NS / 2);
}

static void a_rate_that_cannot_be_set_ends_the_profiler(void **state)
{
    struct plan p = plan_of(2, 5, 60 * NS_PER_S);

    (void)state;
    (void)apply(plan_of(1, 5, 60 * NS_PER_S));
    pass(NS_PER_S, 4);
    source.refuse_period = true;
    p.items[0].period_ns = PERIOD_NS / 2;
    source.now.ns += NS_PER_S;
    (void)apply(p);
    for (unsigned i = 0; i < 20; i++)
        pass(100 * NS_PER_MS, 0);
    assert_false(source.running);
    assert_int_equal(reports[report_count - 1].state, PROFILER_ENDED);
    assert_true(reports[report_count - 1].reason[0] != '\0');
    assert_true(spool_read_counters(spool).chunks <= 2); /* and not one more at every tick */
}

static void what_the_source_lost_is_in_the_ledger_of_its_window(void **state)
{
    struct chunk_info info;

    (void)state;
    source.lost_in_ring = 100; /* before it began */
    (void)apply(plan_of(1, 5, 60 * NS_PER_S));
    source.lost_in_ring += 3;
    pass(NS_PER_S, 4);
    finish(0);
    info = next_chunk();
    assert_int_equal(info.ledger.lost[LOSS_RING], 3);
    assert_int_equal(info.ledger.expected,
                     info.ledger.delivered + info.ledger.idle + ledger_lost(&info.ledger));
}

/* ---- refusals ---- */

static void a_source_that_does_not_start_is_a_refusal_in_its_own_words(void **state)
{
    (void)state;
    source.refuse_start = true;
    (void)apply(plan_of(1, 5, 60 * NS_PER_S));
    EXPECT_STATES(PROFILER_REFUSED);
    assert_string_equal(reports[0].reason, "the clocks are locked away");
    for (unsigned i = 0; i < 10; i++)
        pass(NS_PER_S, 0);
    assert_int_equal(report_count, 1); /* not tried again */
    source.refuse_start = false;
    (void)apply(plan_of(2, 6, 60 * NS_PER_S));
    assert_true(source.running);
}

static void an_event_that_is_not_known_here_is_refused_and_the_rest_is_done(void **state)
{
    struct plan p = plan_of(1, 5, 60 * NS_PER_S);

    (void)state;
    p.items[1] = p.items[0];
    p.items[1].profiler = (struct id128){{6}};
    p.items[1].event = EVENT_NONE;
    p.item_count = 2;
    (void)apply(p);
    EXPECT_STATES(PROFILER_REFUSED, PROFILER_ATTACHED);
    assert_int_equal(reports[0].profiler.bytes[0], 6);
}

static void an_event_that_the_source_lacks_is_refused_with_its_reason(void **state)
{
    struct plan p = plan_of(1, 5, 60 * NS_PER_S);

    (void)state;
    p.items[1] = p.items[0];
    p.items[1].profiler = (struct id128){{6}};
    p.items[1].event = EVENT_OFFCPU;
    p.item_count = 2;
    (void)apply(p);
    EXPECT_STATES(PROFILER_ATTACHED, PROFILER_REFUSED);
    assert_string_equal(reports[1].reason, "the fake has only a CPU");
    assert_true(source.running);
}

static void an_old_plan_changes_nothing(void **state)
{
    const struct plan old = {.revision = 3};

    (void)state;
    (void)apply(plan_of(4, 5, 60 * NS_PER_S));
    assert_int_equal(apply(old), ST_EXISTS);
    assert_true(source.running);
    assert_int_equal(runner_revision(runner), 4);
}

/* ---- when the coordinator was away ---- */

static void the_last_word_on_each_profiler_can_be_said_again(void **state)
{
    (void)state;
    (void)apply(plan_of(1, 5, 60 * NS_PER_S));
    pass(NS_PER_S, 4);
    (void)apply(plan_of(2, 6, 60 * NS_PER_S));
    report_count = 0;
    runner_repeat_reports(runner);
    EXPECT_STATES(PROFILER_ENDED, PROFILER_ATTACHED);
    assert_int_equal(reports[0].last_sequence, 1);
}

static void many_profilers_are_remembered_up_to_a_limit_the_newest_for_sure(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < RUNNER_REPORTS_MAX + 10; i++)
        (void)apply(plan_of(i + 1, (uint8_t)(i + 1), 60 * NS_PER_S));
    finish(0);
    report_count = 0;
    runner_repeat_reports(runner);
    assert_int_equal(report_count, RUNNER_REPORTS_MAX);
    assert_int_equal(reports[report_count - 1].profiler.bytes[0], RUNNER_REPORTS_MAX + 10);
}

#define WITH_RUNNER(test) cmocka_unit_test_setup_teardown(test, make, drop)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_RUNNER(a_plan_starts_the_source_at_its_period),
        WITH_RUNNER(the_first_sample_is_reported_once),
        WITH_RUNNER(a_plan_without_it_ends_a_profiler_with_a_final_chunk),
        WITH_RUNNER(the_deadline_ends_it_without_any_word_from_the_coordinator),
        WITH_RUNNER(one_that_ended_is_not_begun_again_by_a_repeated_plan),
        WITH_RUNNER(another_profiler_takes_over_after_the_final_chunk_of_the_first),
        WITH_RUNNER(a_finish_leaves_the_final_chunk_in_the_spool),
        WITH_RUNNER(a_profiler_that_saw_nothing_still_ends_with_a_final_chunk),
        WITH_RUNNER(a_window_is_cut_when_it_is_full_and_the_next_one_follows_without_a_gap),
        WITH_RUNNER(a_rate_change_cuts_so_that_each_chunk_has_one_period),
        WITH_RUNNER(a_rate_that_cannot_be_set_ends_the_profiler),
        WITH_RUNNER(what_the_source_lost_is_in_the_ledger_of_its_window),
        WITH_RUNNER(a_source_that_does_not_start_is_a_refusal_in_its_own_words),
        WITH_RUNNER(an_event_that_is_not_known_here_is_refused_and_the_rest_is_done),
        WITH_RUNNER(an_event_that_the_source_lacks_is_refused_with_its_reason),
        WITH_RUNNER(an_old_plan_changes_nothing),
        WITH_RUNNER(the_last_word_on_each_profiler_can_be_said_again),
        WITH_RUNNER(many_profilers_are_remembered_up_to_a_limit_the_newest_for_sure),
    };

    log_set_level(LOG_LEVEL_ERROR);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
