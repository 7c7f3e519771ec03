/* Profiles: which samples a window holds, what they weigh, and what the answer covers. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "tests/unit/query/history.h"

static int set_up(void **state)
{
    *state = history_new();
    return 0;
}

static int tear_down(void **state)
{
    history_free(*state);
    return 0;
}

static void assert_near(double value, double wanted, double tolerance)
{
    if (!(fabs(value - wanted) <= tolerance))
        fail_msg("%.9g is not within %g of %.9g", value, tolerance, wanted);
}

static double cores(const struct profile *p)
{
    return p->window_ns > 0 ? p->weight_ns / p->window_ns : 0;
}

/* A host whose one thread runs all the time, chunk by chunk of 10 s. */
static struct id128 busy_host(struct history *h, const char *host, const char *labels, int from,
                              int to)
{
    struct id128 profiler = history_profiler(h, host, labels, from, to);
    uint32_t leaf = STACK(h, "main", "work");

    for (int t = from; t < to; t += 10) {
        struct history_chunk info = {.profiler = profiler,
                                     .sequence = (uint64_t)(t - from) / 10 + 1,
                                     .from = t,
                                     .to = t + 10};

        CHUNK(h, info, {.leaf = leaf, .count = 1000});
    }
    return profiler;
}

static void one_busy_thread_is_one_core(void **state)
{
    struct profile p;

    busy_host(*state, "a", NULL, 0, 60);
    p = history_collect(*state, 0, 60, NULL);
    assert_int_equal(p.samples, 6000);
    assert_near(cores(&p), 1, 1e-9);
    assert_int_equal(p.replicate_count, PROFILE_SLICES);
    assert_int_equal(p.coverage.hosts_wanted, 1);
    assert_int_equal(p.coverage.hosts_covered, 1);
    assert_near(p.coverage.covered_share, 1, 1e-9);
    assert_int_equal(p.coverage.chunks, 6);
    assert_int_equal(p.coverage.ledger.delivered, 6000);
    profile_deinit(&p);
}

static void a_window_takes_only_the_samples_within(void **state)
{
    struct profile p;

    busy_host(*state, "a", NULL, 0, 30);
    p = history_collect(*state, 5, 17, NULL);
    assert_int_equal(p.samples, 1200);
    assert_near(cores(&p), 1, 1e-9);
    assert_int_equal(p.coverage.ledger.delivered, 2000); /* of the whole chunks */
    profile_deinit(&p);
}

static void windows_that_meet_share_no_sample_and_lose_none(void **state)
{
    uint64_t sum = 0;

    busy_host(*state, "a", NULL, 0, 30);
    for (int i = 0; i < 10; i++) {
        struct profile p = history_collect(*state, i * 3.00003, (i + 1) * 3.00003, NULL);

        sum += p.samples;
        profile_deinit(&p);
    }
    assert_int_equal(sum, 3000);
}

static void time_before_the_first_sample_does_not_thin_the_cores(void **state)
{
    struct profile p;

    busy_host(*state, "a", NULL, 300, 360);
    p = history_collect(*state, 0, 3600, NULL);
    assert_near(cores(&p), 1, 1e-9);
    assert_int_equal(p.replicate_count, PROFILE_SLICES); /* of the time observed */
    profile_deinit(&p);
}

static void a_host_without_chunks_is_wanted_and_not_covered(void **state)
{
    struct profile p;

    busy_host(*state, "a", NULL, 0, 60);
    (void)history_profiler(*state, "silent", NULL, 0, -1);
    p = history_collect(*state, 0, 60, NULL);
    assert_int_equal(p.coverage.hosts_wanted, 2);
    assert_int_equal(p.coverage.hosts_covered, 1);
    assert_near(p.coverage.covered_share, 0.5, 1e-9);
    assert_near(cores(&p), 1, 1e-9);
    profile_deinit(&p);
}

static void rates_and_losses_are_weighed(void **state)
{
    struct history *h = *state;
    uint32_t leaf = STACK(h, "main", "work");
    struct id128 a = history_profiler(h, "slow", NULL, 0, 10);
    struct id128 b = history_profiler(h, "fast", NULL, 0, 10);
    struct id128 c = history_profiler(h, "lossy", NULL, 0, 10);
    struct id128 d = history_profiler(h, "drawn", NULL, 0, 10);
    struct profile p;

    CHUNK(h, ((struct history_chunk){.profiler = a, .sequence = 1, .to = 10, .hz = 10}),
          {.leaf = leaf, .count = 100});
    CHUNK(h, ((struct history_chunk){.profiler = b, .sequence = 1, .to = 10, .hz = 200}),
          {.leaf = leaf, .count = 2000});
    CHUNK(h, ((struct history_chunk){.profiler = c, .sequence = 1, .to = 10, .lost = 250}),
          {.leaf = leaf, .count = 750});
    CHUNK(h, ((struct history_chunk){.profiler = d, .sequence = 1, .to = 10, .inclusion = 0.5}),
          {.leaf = leaf, .count = 500});
    p = history_collect(h, 0, 10, NULL);
    assert_near(cores(&p), 4, 1e-9);
    assert_int_equal(p.samples, 100 + 2000 + 750 + 500);
    assert_int_equal(p.coverage.period_min_ns, 5000000);
    assert_int_equal(p.coverage.period_max_ns, 100000000);
    assert_near(p.inclusion_min, 0.5, 0);
    profile_deinit(&p);
}

static void a_selector_asks_hosts_and_processes(void **state)
{
    struct history *h = *state;
    uint32_t leaf = STACK(h, "main", "work");
    struct id128 a = history_profiler(h, "a", "service=web,zone=x", 0, 10);
    struct id128 b = history_profiler(h, "b", "zone=y", 0, 10);
    struct profile p;

    CHUNK(h, ((struct history_chunk){.profiler = a, .sequence = 1, .to = 10}),
          {.leaf = leaf, .count = 100}, {.leaf = leaf, .count = 20, .labels = "service=db"});
    CHUNK(h, ((struct history_chunk){.profiler = b, .sequence = 1, .to = 10}),
          {.leaf = leaf, .count = 3, .labels = "service=db"}, {.leaf = leaf, .count = 1});

    p = history_collect(h, 0, 10, "service=web");
    assert_int_equal(p.samples, 100);
    assert_int_equal(p.coverage.hosts_wanted, 1);
    profile_deinit(&p);
    p = history_collect(h, 0, 10, "service=db");
    assert_int_equal(p.samples, 23);
    assert_int_equal(p.coverage.hosts_wanted, 2);
    assert_int_equal(p.coverage.hosts_covered, 2);
    assert_near(p.coverage.covered_share, 1, 1e-9);
    profile_deinit(&p);
    p = history_collect(h, 0, 10, "zone=y,service=db");
    assert_int_equal(p.samples, 3);
    profile_deinit(&p);
    p = history_collect(h, 0, 10, "host=b");
    assert_int_equal(p.samples, 4);
    assert_int_equal(p.coverage.hosts_wanted, 1);
    profile_deinit(&p);
    p = history_collect(h, 0, 10, "service!=web,service!=db");
    assert_int_equal(p.samples, 1);
    profile_deinit(&p);
}

static void tasks_have_the_service_of_the_process_before_the_hosts(void **state)
{
    struct history *h = *state;
    uint32_t leaf = STACK(h, "main", "work");
    struct id128 a = history_profiler(h, "a", "service=web", 0, 10);
    struct profile p;
    uint32_t seen = 0;

    CHUNK(h, ((struct history_chunk){.profiler = a, .sequence = 1, .to = 10}),
          {.leaf = leaf, .count = 100, .thread = "io"},
          {.leaf = leaf, .count = 20, .labels = "service=db"});
    p = history_collect(h, 0, 10, NULL);
    assert_int_equal(p.task_count, 2);
    for (uint32_t i = 0; i < p.task_count; i++) {
        const char *thread = dictionary_string(history_dictionary(h), p.tasks[i].thread);

        assert_string_equal(p.hosts[p.tasks[i].host], "a");
        assert_string_equal(p.services[p.tasks[i].service],
                            strcmp(thread, "io") == 0 ? "web" : "db");
        seen++;
    }
    assert_int_equal(seen, 2);
    profile_deinit(&p);
}

/* 70 chunks of a thousand threads: more than is gathered before it is summed up. */
static void many_chunks_of_a_slice_are_summed_up(void **state)
{
    enum { CHUNKS = 70, THREADS = 1000 };
    static char names[THREADS][16];
    static struct history_group groups[THREADS];
    struct history *h = *state;
    struct id128 p = history_profiler(h, "a", NULL, 0, -1);
    uint32_t leaf = STACK(h, "main", "work");
    struct profile profile;

    for (uint32_t i = 0; i < THREADS; i++) {
        (void)snprintf(names[i], sizeof(names[i]), "thread-%u", i);
        groups[i] = (struct history_group){.leaf = leaf, .count = 1, .thread = names[i]};
    }
    for (uint32_t i = 0; i < CHUNKS; i++) {
        struct history_chunk c = {.profiler = p,
                                  .sequence = i + 1,
                                  .from = i * 10.0,
                                  .to = i * 10.0 + 10,
                                  .groups = groups,
                                  .group_count = THREADS};

        history_chunk(h, &c);
    }
    profile = history_collect(h, 0, CHUNKS * 10, NULL);
    assert_int_equal(profile.samples, CHUNKS * THREADS);
    assert_int_equal(profile.task_count, THREADS);
    assert_near(cores(&profile), 1, 1e-9);
    assert_true(profile.cell_count < CHUNKS * THREADS);
    for (uint32_t i = 1; i < profile.cell_count; i++)
        assert_true(profile.cells[i - 1].replicate <= profile.cells[i].replicate);
    profile_deinit(&profile);
}

/* ---- sessions ---- */

static void a_session_has_the_samples_of_its_members_intervals(void **state)
{
    struct history *h = *state;
    struct id128 a = busy_host(h, "a", NULL, 0, 60);
    struct id128 b = busy_host(h, "b", NULL, 0, 60);
    const struct session_member members[] = {
        {a, at(10), at(30)}, {b, at(20), at(30)}, {a, at(40), at(45)}};
    uint64_t id = history_session(h, SESSION_COMPLETED, members, 3);
    struct profile p = history_collect_session(h, id);

    assert_int_equal(p.samples, 2000 + 1000 + 500);
    assert_near(p.window_ns, 25e9, 1); /* 10..30 and 40..45 */
    assert_near(cores(&p), 35.0 / 25, 1e-9);
    assert_int_equal(p.coverage.hosts_wanted, 2);
    assert_near(p.coverage.covered_share, 1, 1e-9);
    profile_deinit(&p);
}

static void two_sessions_share_a_profilers_samples(void **state)
{
    struct history *h = *state;
    struct id128 a = busy_host(h, "a", NULL, 0, 60);
    uint64_t one =
        history_session(h, SESSION_COMPLETED, &(struct session_member){a, at(0), at(40)}, 1);
    uint64_t two =
        history_session(h, SESSION_COMPLETED, &(struct session_member){a, at(20), at(60)}, 1);
    struct profile p = history_collect_session(h, one), q = history_collect_session(h, two);

    assert_int_equal(p.samples, 4000);
    assert_int_equal(q.samples, 4000);
    profile_deinit(&p);
    profile_deinit(&q);
}

static void a_running_session_is_measured_up_to_its_last_chunk(void **state)
{
    struct history *h = *state;
    struct id128 a = busy_host(h, "a", NULL, 0, 20);
    uint64_t id = history_session(h, SESSION_RUNNING, &(struct session_member){a, at(0), {0}}, 1);
    struct profile p = history_collect_session(h, id);

    assert_near(cores(&p), 1, 1e-9);
    assert_near(p.coverage.covered_share, 1, 1e-9);
    profile_deinit(&p);
}

static void a_member_that_fell_silent_lowers_the_coverage(void **state)
{
    struct history *h = *state;
    struct id128 a = busy_host(h, "a", NULL, 0, 40);
    struct id128 b = busy_host(h, "b", NULL, 0, 20);
    const struct session_member members[] = {{a, at(0), at(40)}, {b, at(0), at(40)}};
    uint64_t id = history_session(h, SESSION_COMPLETED, members, 2);
    struct profile p = history_collect_session(h, id);

    assert_near(p.coverage.covered_share, 0.75, 1e-9);
    assert_int_equal(p.coverage.hosts_covered, 2);
    profile_deinit(&p);
}

static void an_unknown_session_is_named(void **state)
{
    struct window w = {.by_session = true, .session = 0xabc};
    char why[WINDOW_WHY_MAX];
    struct profile p = {.samples = 77};

    assert_int_equal(profile_collect(history_view(*state), &w, &p, why), ST_NOT_FOUND);
    assert_string_equal(why, "there is no session 0000000000000abc");
    assert_int_equal(p.samples, 77); /* untouched */
}

static void a_session_of_another_event_is_refused(void **state)
{
    struct history *h = *state;
    struct id128 a = busy_host(h, "a", NULL, 0, 10);
    struct window w = {.by_session = true, .event = EVENT_OFFCPU};
    char why[WINDOW_WHY_MAX];
    struct profile p;

    w.session =
        history_session(h, SESSION_COMPLETED, &(struct session_member){a, at(0), at(10)}, 1);
    assert_int_equal(profile_collect(history_view(h), &w, &p, why), ST_INVALID);
    assert_non_null(strstr(why, "sampled cpu, not offcpu"));
}

static void an_empty_window_is_an_answer(void **state)
{
    struct profile p;

    busy_host(*state, "a", NULL, 0, 10);
    p = history_collect(*state, 1000, 2000, NULL);
    assert_int_equal(p.samples, 0);
    assert_int_equal(p.cell_count, 0);
    assert_int_equal(p.coverage.hosts_wanted, 0);
    profile_deinit(&p);
}

int main(void)
{
#define CLAIM(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        CLAIM(one_busy_thread_is_one_core),
        CLAIM(a_window_takes_only_the_samples_within),
        CLAIM(windows_that_meet_share_no_sample_and_lose_none),
        CLAIM(time_before_the_first_sample_does_not_thin_the_cores),
        CLAIM(a_host_without_chunks_is_wanted_and_not_covered),
        CLAIM(rates_and_losses_are_weighed),
        CLAIM(a_selector_asks_hosts_and_processes),
        CLAIM(tasks_have_the_service_of_the_process_before_the_hosts),
        CLAIM(many_chunks_of_a_slice_are_summed_up),
        CLAIM(a_session_has_the_samples_of_its_members_intervals),
        CLAIM(two_sessions_share_a_profilers_samples),
        CLAIM(a_running_session_is_measured_up_to_its_last_chunk),
        CLAIM(a_member_that_fell_silent_lowers_the_coverage),
        CLAIM(an_unknown_session_is_named),
        CLAIM(a_session_of_another_event_is_refused),
        CLAIM(an_empty_window_is_an_answer),
    };

    return cmocka_run_group_tests_name("profile", tests, NULL, NULL);
}
