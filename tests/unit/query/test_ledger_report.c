/* Ledger reports: what is missing, where, and that it is never nothing by mistake. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "coordinator/query/ledger_report.h"
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

static struct ledger_report report(struct history *h, const struct window *w)
{
    char why[WINDOW_WHY_MAX];
    struct ledger_report r;

    if (ledger_report(history_view(h), w, &r, why) != ST_OK)
        fail_msg("%s", why);
    return r;
}

static struct ledger_report report_of_a_minute(struct history *h)
{
    return report(h, &(struct window){.from = at(0), .to = at(60)});
}

/* Chunks of 10 s with these sequence numbers, each at its place; the last may be final. */
static struct id128 host_with(struct history *h, const char *host, const uint64_t *sequences,
                              uint32_t count, bool final)
{
    struct id128 p = history_profiler(h, host, NULL, 0, -1);
    uint32_t leaf = STACK(h, "main", "work");

    for (uint32_t i = 0; i < count; i++) {
        struct history_chunk c = {.profiler = p,
                                  .sequence = sequences[i],
                                  .from = (double)(sequences[i] - 1) * 10,
                                  .to = (double)sequences[i] * 10,
                                  .lost = 5,
                                  .final = final && i + 1 == count};

        CHUNK(h, c, {.leaf = leaf, .count = 100});
    }
    return p;
}

static void a_whole_history_misses_nothing(void **state)
{
    struct history *h = *state;
    struct id128 p = host_with(h, "a", (uint64_t[]){1, 2, 3, 4, 5, 6}, 6, true);
    struct ledger_report r;

    history_end(h, p, 60, 6);
    r = report_of_a_minute(h);
    assert_int_equal(r.line_count, 1);
    assert_string_equal(r.lines[0].host, "a");
    assert_true(id128_equal(r.lines[0].profiler, p));
    assert_int_equal(r.lines[0].chunks, 6);
    assert_int_equal(r.lines[0].missing_chunks, 0);
    assert_int_equal(r.lines[0].uncovered_ns, 0);
    assert_true(r.lines[0].final);
    assert_int_equal(r.lines[0].from.ns, at(0).ns);
    assert_int_equal(r.lines[0].to.ns, at(60).ns);
    assert_int_equal(r.total.delivered, 600);
    assert_int_equal(r.total.lost[LOSS_RING], 30);
    assert_int_equal(r.total.expected,
                     r.total.delivered + r.total.idle + r.total.skipped + ledger_lost(&r.total));
    ledger_report_deinit(&r);
}

static void a_gap_is_a_missing_chunk_and_uncovered_time(void **state)
{
    struct history *h = *state;
    struct ledger_report r;

    host_with(h, "a", (uint64_t[]){1, 2, 5, 6}, 4, false);
    r = report_of_a_minute(h);
    assert_int_equal(r.lines[0].missing_chunks, 2);
    assert_int_equal(r.lines[0].uncovered_ns, 20 * NS_PER_S);
    assert_int_equal(r.lines[0].uncovered_samples, 20 * 100 * 4); /* s x Hz x CPUs */
    assert_false(r.lines[0].final);
    assert_int_equal(r.missing_chunks, 2);
    assert_int_equal(r.uncovered_ns, 20 * NS_PER_S);
    ledger_report_deinit(&r);
}

static void chunks_missing_at_either_end_are_known_once_the_end_is(void **state)
{
    struct history *h = *state;
    struct id128 p = host_with(h, "a", (uint64_t[]){2, 3, 4}, 3, false);
    struct ledger_report r = report_of_a_minute(h);

    assert_int_equal(r.lines[0].missing_chunks, 1); /* the first: the window holds the begin */
    ledger_report_deinit(&r);
    history_end(h, p, 60, 6);
    r = report_of_a_minute(h);
    assert_int_equal(r.lines[0].missing_chunks, 3); /* and 5 and 6 */
    assert_int_equal(r.lines[0].uncovered_ns, 30 * NS_PER_S);
    assert_false(r.lines[0].final);
    ledger_report_deinit(&r);
}

static void what_is_missing_stays_at_the_top_and_does_not_wrap(void **state)
{
    struct history *h = *state;
    struct ledger_report r;

    history_end(h, host_with(h, "a", (uint64_t[]){1}, 1, false), 60, UINT64_MAX);
    history_end(h, host_with(h, "b", (uint64_t[]){1}, 1, false), 60, UINT64_MAX);
    r = report_of_a_minute(h);
    assert_int_equal(r.line_count, 2);
    assert_int_equal(r.lines[0].missing_chunks, UINT64_MAX - 1);
    assert_int_equal(r.missing_chunks, UINT64_MAX);
    ledger_report_deinit(&r);
}

static void a_host_without_any_chunk_has_a_line(void **state)
{
    struct history *h = *state;
    struct ledger_report r;

    host_with(h, "a", (uint64_t[]){1, 2, 3, 4, 5, 6}, 6, true);
    (void)history_profiler(h, "silent", NULL, 15, -1);
    r = report_of_a_minute(h);
    assert_int_equal(r.line_count, 2);
    assert_string_equal(r.lines[1].host, "silent");
    assert_int_equal(r.lines[1].chunks, 0);
    assert_int_equal(r.lines[1].uncovered_ns, 45 * NS_PER_S);
    assert_int_equal(r.lines[1].uncovered_samples, 0); /* no rate is known */
    ledger_report_deinit(&r);
}

static void a_window_within_sees_the_final_chunk_past_it(void **state)
{
    struct history *h = *state;
    struct id128 p = host_with(h, "a", (uint64_t[]){1, 2, 3, 4, 5, 6}, 6, true);
    struct ledger_report r;

    history_end(h, p, 60, 6);
    r = report(h, &(struct window){.from = at(20), .to = at(30)});
    assert_int_equal(r.lines[0].chunks, 1);
    assert_int_equal(r.lines[0].missing_chunks, 0);
    assert_int_equal(r.lines[0].uncovered_ns, 0);
    assert_true(r.lines[0].final);
    ledger_report_deinit(&r);
}

static void a_session_asks_for_its_intervals_only(void **state)
{
    struct history *h = *state;
    struct id128 p = host_with(h, "a", (uint64_t[]){1, 2, 3, 5, 6}, 5, false);
    const struct session_member members[] = {{p, at(5), at(25)}, {p, at(35), at(50)}};
    struct window w = {.by_session = true};
    struct ledger_report r;

    w.session = history_session(h, SESSION_COMPLETED, members, 2);
    r = report(h, &w);
    assert_int_equal(r.line_count, 1);
    assert_int_equal(r.lines[0].chunks, 4); /* 1, 2, 3 and 5 */
    assert_int_equal(r.lines[0].missing_chunks, 1);
    assert_int_equal(r.lines[0].uncovered_ns, 5 * NS_PER_S);
    ledger_report_deinit(&r);
}

static void lines_are_by_host_and_only_of_those_selected(void **state)
{
    struct history *h = *state;
    char why[SELECTOR_WHY_MAX];
    struct selector *s;
    struct ledger_report r;

    host_with(h, "c", (uint64_t[]){1}, 1, false);
    host_with(h, "a", (uint64_t[]){1}, 1, false);
    host_with(h, "b", (uint64_t[]){1}, 1, false);
    assert_int_equal(selector_parse("host!=b", &s, why), ST_OK);
    r = report(h, &(struct window){.from = at(0), .to = at(60), .select = s});
    assert_int_equal(r.line_count, 2);
    assert_string_equal(r.lines[0].host, "a");
    assert_string_equal(r.lines[1].host, "c");
    ledger_report_deinit(&r);
    selector_free(s);
}

/* The loss is counted once: by its cause, not as a gap too. Of that time no sample is left, so the
 * rates of an answer go by the rest. */
static void a_chunk_that_the_spool_gave_up_is_told_and_not_covered(void **state)
{
    struct history *h = *state;
    struct history_chunk c = {
        .profiler = history_profiler(h, "a", NULL, 0, -1), .sequence = 1, .from = 0, .to = 30};
    struct ledger_report r;
    struct profile p;

    CHUNK(h, c, {.leaf = STACK(h, "main", "work"), .count = 3000});
    c.sequence = 2, c.from = 30, c.to = 60;
    c.lost_in_spool = 3000;
    history_chunk(h, &c);

    r = report_of_a_minute(h);
    assert_int_equal(r.missing_chunks, 0);
    assert_int_equal(r.uncovered_samples, 0);
    assert_int_equal(r.total.delivered, 3000);
    assert_int_equal(r.total.lost[LOSS_SPOOL], 3000);
    ledger_report_deinit(&r);

    p = history_collect(h, 0, 60, NULL);
    assert_true(p.coverage.covered_share == 0.5);
    assert_true(p.window_ns == 30.0 * NS_PER_S);
    assert_true(p.weight_ns == 3000 * 1e7);
    profile_deinit(&p);
}

static void ends_of_walks_add_up_over_chunks_and_hosts(void **state)
{
    struct history *h = *state;
    struct history_chunk c = {
        .profiler = history_profiler(h, "a", NULL, 0, -1), .sequence = 1, .from = 0, .to = 10};
    uint32_t leaf = STACK(h, "main", "work");
    struct ledger_report r;
    struct profile p;

    c.walks = (struct walks){.count = {[WALK_NONE] = 4, [WALK_ROOT] = 5, [WALK_LOST] = 1}};
    CHUNK(h, c, {.leaf = leaf, .count = 10});
    c.sequence = 2, c.from = 10, c.to = 20;
    c.walks = (struct walks){.count = {[WALK_ROOT] = 10}};
    CHUNK(h, c, {.leaf = leaf, .count = 10});
    host_with(h, "b", (uint64_t[]){1}, 1, false); /* its agent does not tell */

    r = report_of_a_minute(h);
    assert_int_equal(r.lines[0].walks.count[WALK_ROOT], 15);
    assert_true(walks_root_share(&r.lines[0].walks) == 15 / 16.0);
    assert_true(walks_root_share(&r.lines[1].walks) < 0);
    assert_int_equal(walks_sum(&r.walks), 20);
    ledger_report_deinit(&r);

    p = history_collect(h, 0, 60, NULL);
    assert_true(walks_root_share(&p.coverage.walks) == 15 / 16.0);
    profile_deinit(&p);
}

static void an_unknown_session_is_named(void **state)
{
    char why[WINDOW_WHY_MAX];
    struct ledger_report r;

    assert_int_equal(ledger_report(history_view(*state),
                                   &(struct window){.by_session = true, .session = 1}, &r, why),
                     ST_NOT_FOUND);
    assert_non_null(strstr(why, "0000000000000001"));
}

int main(void)
{
#define CLAIM(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        CLAIM(a_whole_history_misses_nothing),
        CLAIM(a_gap_is_a_missing_chunk_and_uncovered_time),
        CLAIM(chunks_missing_at_either_end_are_known_once_the_end_is),
        CLAIM(what_is_missing_stays_at_the_top_and_does_not_wrap),
        CLAIM(a_host_without_any_chunk_has_a_line),
        CLAIM(a_window_within_sees_the_final_chunk_past_it),
        CLAIM(a_session_asks_for_its_intervals_only),
        CLAIM(lines_are_by_host_and_only_of_those_selected),
        CLAIM(a_chunk_that_the_spool_gave_up_is_told_and_not_covered),
        CLAIM(ends_of_walks_add_up_over_chunks_and_hosts),
        CLAIM(an_unknown_session_is_named),
    };

    return cmocka_run_group_tests_name("ledger_report", tests, NULL, NULL);
}
