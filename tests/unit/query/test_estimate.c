/* Estimates: the intervals cover the truth as often as they say, and false discoveries stay rare.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "coordinator/query/change.h"
#include "coordinator/query/diff.h"
#include "coordinator/query/distribution.h"
#include "coordinator/query/estimate.h"
#include "tests/unit/query/simulate.h"

enum { HOSTS_MAX = 8, REPLICATES_MAX = HOSTS_MAX * PROFILE_SLICES, PERIOD_NS = 10101010 };

static void assert_near(double value, double wanted, double tolerance)
{
    if (!(fabs(value - wanted) <= tolerance))
        fail_msg("%.9g is not within %g of %.9g", value, tolerance, wanted);
}

/* ---- a made-up fleet: in each second of each host some samples are the item's ---- */

struct fleet {
    uint32_t hosts, slices;
    double samples; /* expected a slice and host */
    double share; /* the item's, over the whole fleet */
    double wander; /* how much share and load change from slice to slice: deviation over mean */
};

struct observed {
    struct profile profile;
    struct profile_replicate replicates[REPLICATES_MAX];
    struct profile_cell cells[REPLICATES_MAX];
    struct replicate_weight weights[REPLICATES_MAX];
    uint32_t weight_count;
    uint64_t item_samples;
};

static void start(struct observed *o, uint32_t hosts, uint32_t slices)
{
    memset(o, 0, sizeof(*o));
    o->profile.replicates = o->replicates;
    o->profile.cells = o->cells;
    o->profile.host_count = hosts;
    o->profile.window_ns = slices * (double)NS_PER_S;
    o->profile.inclusion_min = 1;
}

static void add(struct observed *o, uint32_t host, uint32_t slice, uint32_t all, uint32_t item)
{
    uint32_t n = o->profile.replicate_count++;

    o->replicates[n] = (struct profile_replicate){host, slice, (double)NS_PER_S};
    o->cells[o->profile.cell_count++] =
        (struct profile_cell){.replicate = n, .samples = all, .weight_ns = (double)all * PERIOD_NS};
    o->profile.samples += all;
    o->profile.weight_ns += (double)all * PERIOD_NS;
    o->item_samples += item;
    if (item > 0)
        o->weights[o->weight_count++] = (struct replicate_weight){n, (double)item * PERIOD_NS};
}

/* Hosts differ for good (the item is dearer on later ones); slices differ by chance, and all
 * samples of a slice share that chance: they are correlated. */
static void observe(struct observed *o, const struct fleet *f, struct random *r)
{
    start(o, f->hosts, f->slices);
    for (uint32_t h = 0; h < f->hosts; h++) {
        double of_host = 2.0 * (h + 1) / (f->hosts + 1); /* 1 on average */

        for (uint32_t s = 0; s < f->slices; s++) {
            double load = random_lognormal(r, f->samples, f->wander);
            double ours = random_lognormal(r, f->samples * f->share * of_host, f->wander);
            uint32_t item = random_poisson(r, ours);
            uint32_t rest = random_poisson(r, load * (1 - f->share));

            add(o, h, s, item + rest, item);
        }
    }
}

static struct estimate estimate_of(const struct observed *o)
{
    struct estimator *e;
    struct estimate x;

    assert_int_equal(estimator_new(&o->profile, &e), ST_OK);
    x = estimate_item(e, o->weights, o->weight_count, o->item_samples);
    estimator_free(e);
    return x;
}

/* ---- coverage ---- */

static void assert_covers(const char *what, const struct fleet *f, int repetitions)
{
    static struct observed o;
    struct random r = {.state = 20261130};
    double cores = f->hosts * f->samples * f->share * PERIOD_NS / (double)NS_PER_S;
    int shares_in = 0, cores_in = 0;

    for (int i = 0; i < repetitions; i++) {
        struct estimate e;

        observe(&o, f, &r);
        e = estimate_of(&o);
        shares_in += e.share_low <= f->share && f->share <= e.share_high;
        cores_in += e.cores_low <= cores && cores <= e.cores_high;
    }
    print_message("           %s: share in %.2f %%, cores in %.2f %% of %d\n", what,
                  100.0 * shares_in / repetitions, 100.0 * cores_in / repetitions, repetitions);
    assert_in_range(shares_in * 10000LL / repetitions, 9300, 9700);
    assert_in_range(cores_in * 10000LL / repetitions, 9300, 9700);
}

static void intervals_cover_the_truth_95_times_in_100(void **state)
{
    (void)state;
    assert_covers("independent samples on one host      ", &(struct fleet){1, 30, 99, 0.2, 0.001},
                  10000);
    assert_covers("correlated within slices, one host   ", &(struct fleet){1, 30, 99, 0.2, 0.4},
                  10000);
    assert_covers("correlated within slices, five hosts ", &(struct fleet){5, 30, 99, 0.1, 0.5},
                  5000);
    assert_covers("a rare function, 1 %, on one host    ", &(struct fleet){1, 30, 99, 0.01, 0.3},
                  10000);
    assert_covers("few slices                           ", &(struct fleet){2, 5, 199, 0.3, 0.3},
                  10000);
}

/* The load drifts slowly, so that neighbouring slices are alike. Slices then differ by more than
 * sampling explains, and the interval is on the safe side of what really ran in this window. */
static void a_drifting_load_does_not_make_the_interval_too_sure(void **state)
{
    enum { REPETITIONS = 5000, SLICES = PROFILE_SLICES };
    static struct observed o;
    struct random r = {.state = 7};
    int covered = 0;

    (void)state;
    for (int i = 0; i < REPETITIONS; i++) {
        double drift = 0, all = 0, ours = 0;
        struct estimate e;

        start(&o, 1, SLICES);
        for (uint32_t s = 0; s < SLICES; s++) {
            double load = 99 * exp(0.3 * drift), share = 0.2 * exp(0.3 * drift);
            uint32_t item = random_poisson(&r, load * share);

            drift = 0.9 * drift + sqrt(1 - 0.81) * random_normal(&r);
            all += load;
            ours += load * share;
            add(&o, 0, s, item + random_poisson(&r, load * (1 - share)), item);
        }
        e = estimate_of(&o);
        covered += e.share_low <= ours / all && ours / all <= e.share_high;
    }
    print_message("           what really ran is in %.2f %% of %d\n", 100.0 * covered / REPETITIONS,
                  REPETITIONS);
    assert_true(covered >= REPETITIONS * 93 / 100);
}

/* Every host in the window was drawn from a fleet of hosts that are not alike. */
static void where_hosts_are_a_sample_the_interval_is_about_the_fleet(void **state)
{
    enum { REPETITIONS = 5000, HOSTS = 8 };
    static struct observed o;
    struct random r = {.state = 11};
    int covered = 0;

    (void)state;
    for (int i = 0; i < REPETITIONS; i++) {
        struct estimate e;

        start(&o, HOSTS, 10);
        o.profile.inclusion_min = 0.1;
        for (uint32_t h = 0; h < HOSTS; h++) {
            double ours = 20 * (1 + 0.4 * random_normal(&r));

            for (uint32_t s = 0; s < 10; s++) {
                uint32_t item = random_poisson(&r, fmax(0, ours));

                add(&o, h, s, item + random_poisson(&r, 80), item);
            }
        }
        e = estimate_of(&o);
        covered += e.share_low <= 0.2 && 0.2 <= e.share_high;
    }
    print_message("           the fleet's share is in %.2f %% of %d\n",
                  100.0 * covered / REPETITIONS, REPETITIONS);
    assert_in_range(covered * 10000LL / REPETITIONS, 9300, 9700);
}

/* ---- small numbers ---- */

static void one_sample_says_little_and_says_so(void **state)
{
    static struct observed o;
    struct estimate e;

    (void)state;
    start(&o, 1, 30);
    for (uint32_t s = 0; s < 30; s++)
        add(&o, 0, s, 99, s == 3);
    e = estimate_of(&o);
    assert_near(e.cores, PERIOD_NS / 30e9, 1e-9);
    assert_true(e.cores_low > 0 && e.cores_low < e.cores / 4);
    assert_true(e.cores_high > 5 * e.cores);
    assert_int_equal(e.replicates, 30);
}

static void what_was_not_seen_may_still_be_there(void **state)
{
    static struct observed o;
    struct estimate e;

    (void)state;
    start(&o, 1, 10);
    for (uint32_t s = 0; s < 10; s++)
        add(&o, 0, s, 100, 0);
    e = estimate_of(&o);
    assert_near(e.cores, 0, 0);
    assert_near(e.share_low, 0, 0);
    assert_near(e.share_high, 0.00383, 1e-4); /* Wilson for 0 of 1000 */
    assert_true(e.cores_high > 0);
}

static void all_of_a_few_samples_is_not_certainty(void **state)
{
    static struct observed o;
    struct estimate e;

    (void)state;
    start(&o, 1, 5);
    for (uint32_t s = 0; s < 5; s++)
        add(&o, 0, s, 4, 4);
    e = estimate_of(&o);
    assert_near(e.share, 1, 1e-12);
    assert_near(e.share_high, 1, 1e-12);
    assert_true(e.share_low < 0.9); /* Wilson for 20 of 20: 0.839 */
    assert_true(e.share_low > 0.8);
}

static void a_single_replicate_falls_back_on_the_count(void **state)
{
    static struct observed o;
    struct estimate e;

    (void)state;
    start(&o, 1, 1);
    add(&o, 0, 0, 100, 50);
    e = estimate_of(&o);
    assert_true(e.replicates < 2);
    assert_near(e.share_low, 0.4038, 1e-3); /* Wilson for 50 of 100 */
    assert_near(e.share_high, 0.5962, 1e-3);
}

static void an_empty_profile_has_zeros(void **state)
{
    static struct observed o;
    struct estimate e;

    (void)state;
    start(&o, 0, 0);
    e = estimate_of(&o);
    assert_near(e.cores, 0, 0);
    assert_near(e.cores_high, 0, 0);
    assert_near(e.share_high, 0, 0);
}

static void bursts_show_as_a_design_effect(void **state)
{
    static struct observed o;
    struct random r = {.state = 3};
    struct estimate calm, bursting;

    (void)state;
    observe(&o, &(struct fleet){1, 30, 400, 0.2, 0.001}, &r);
    calm = estimate_of(&o);
    observe(&o, &(struct fleet){1, 30, 400, 0.2, 0.8}, &r);
    bursting = estimate_of(&o);
    assert_true(calm.design_effect < 2);
    assert_true(bursting.design_effect > 10);
}

/* ---- distributions ---- */

static void quantiles_are_the_known_ones(void **state)
{
    static const struct {
        double degrees, quantile;
    } known[] = {{1, 12.7062}, {2, 4.3027},  {3, 3.1824},   {4, 2.7764},        {5, 2.5706},
                 {9, 2.2622},  {29, 2.0452}, {120, 1.9799}, {INFINITY, 1.95996}};

    (void)state;
    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
        assert_near(student_quantile_95(known[i].degrees), known[i].quantile, 1e-3);
}

static void p_values_are_the_known_ones(void **state)
{
    (void)state;
    assert_near(student_two_sided(2.0452, 29), 0.05, 1e-4);
    assert_near(student_two_sided(-12.7062, 1), 0.05, 1e-4);
    assert_near(student_two_sided(1.95996, INFINITY), 0.05, 1e-5);
    assert_near(student_two_sided(0, 7), 1, 1e-12);
    assert_near(student_two_sided(3, 10), 0.013344, 1e-5);
    assert_near(binomial_two_sided(10, 0, 0.5), 0.001953, 1e-5);
    assert_near(binomial_two_sided(5, 5, 0.5), 1, 1e-12);
    assert_near(binomial_two_sided(9, 1, 0.5), 0.021484, 1e-5);
}

/* ---- many tests at once ---- */

static void discoveries_are_those_of_the_step_up_procedure(void **state)
{
    /* The example of Benjamini and Hochberg (1995): 15 values, of which the first four stand. */
    static const double p[] = {0.0001, 0.0004, 0.0019, 0.0095, 0.0201, 0.0278, 0.0298, 0.0344,
                               0.0459, 0.3240, 0.4262, 0.5719, 0.6528, 0.7590, 1.0000};
    uint8_t keep[15];

    (void)state;
    estimate_discoveries(p, 15, 0.05, keep);
    for (int i = 0; i < 15; i++)
        assert_int_equal(keep[i], i < 4);
    estimate_discoveries(p, 0, 0.05, keep);
}

enum { FUNCTIONS = 200, RUNS = 1000 };

/* One side of a comparison: 200 functions whose shares fall like 1/rank, with bursts. */
struct side {
    struct observed of[FUNCTIONS];
    struct estimate estimates[FUNCTIONS];
};

static void observe_side(struct side *side, struct random *r, double samples, double wander,
                         double first_scale)
{
    double norm = 0;

    for (int f = 0; f < FUNCTIONS; f++) {
        start(&side->of[f], 1, 30);
        norm += 1.0 / (f + 1);
    }
    for (uint32_t s = 0; s < 30; s++) {
        uint32_t items[FUNCTIONS], all = 0;

        for (int f = 0; f < FUNCTIONS; f++) {
            double mean = samples / 30 / norm / (f + 1) * (f == 0 ? first_scale : 1);

            items[f] = random_poisson(r, random_lognormal(r, mean, wander));
            all += items[f];
        }
        for (int f = 0; f < FUNCTIONS; f++)
            add(&side->of[f], 0, s, all, items[f]);
    }
    for (int f = 0; f < FUNCTIONS; f++)
        side->estimates[f] = estimate_of(&side->of[f]);
}

/* As query/diff does it: functions with too few samples are not tested. */
static uint32_t discover(const struct side *a, const struct side *b, bool *out_first)
{
    double p[FUNCTIONS];
    uint8_t keep[FUNCTIONS];
    uint32_t tested = 0, count = 0;

    for (int f = 0; f < FUNCTIONS; f++) {
        uint64_t of_a = a->of[f].item_samples, of_b = b->of[f].item_samples;

        if (of_a + of_b >= DIFF_SAMPLES_MIN)
            p[tested++] = change_between(&a->estimates[f], of_a, &b->estimates[f], of_b).p_value;
    }
    estimate_discoveries(p, tested, DIFF_FALSE_DISCOVERY_RATE, keep);
    for (uint32_t i = 0; i < tested; i++)
        count += keep[i];
    *out_first = keep[0];
    return count;
}

static void comparing_like_with_like_finds_nothing_95_times_in_100(void **state)
{
    static struct side a, b;
    static const double samples[] = {600, 3000, 30000};
    bool first;

    (void)state;
    for (int n = 0; n < 3; n++) {
        struct random r = {.state = 42};
        int alarms = 0, runs = n == 2 ? RUNS / 4 : RUNS;

        for (int i = 0; i < runs; i++) {
            observe_side(&a, &r, samples[n], 0.5, 1);
            observe_side(&b, &r, samples[n], 0.5, 1);
            alarms += discover(&a, &b, &first) > 0;
        }
        print_message("           %.0f samples a side: a false alarm in %.1f %% of %d\n",
                      samples[n], 100.0 * alarms / runs, runs);
        assert_true(alarms * 100 <= runs * 5);
    }
}

static void a_doubled_function_is_found(void **state)
{
    static struct side a, b;
    struct random r = {.state = 43};
    int found = 0;

    (void)state;
    for (int i = 0; i < 100; i++) {
        bool first;

        observe_side(&a, &r, 3000, 0.25, 1);
        observe_side(&b, &r, 3000, 0.25, 2);
        (void)discover(&a, &b, &first);
        found += first;
    }
    assert_true(found >= 95);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(intervals_cover_the_truth_95_times_in_100),
        cmocka_unit_test(a_drifting_load_does_not_make_the_interval_too_sure),
        cmocka_unit_test(where_hosts_are_a_sample_the_interval_is_about_the_fleet),
        cmocka_unit_test(one_sample_says_little_and_says_so),
        cmocka_unit_test(what_was_not_seen_may_still_be_there),
        cmocka_unit_test(all_of_a_few_samples_is_not_certainty),
        cmocka_unit_test(a_single_replicate_falls_back_on_the_count),
        cmocka_unit_test(an_empty_profile_has_zeros),
        cmocka_unit_test(bursts_show_as_a_design_effect),
        cmocka_unit_test(quantiles_are_the_known_ones),
        cmocka_unit_test(p_values_are_the_known_ones),
        cmocka_unit_test(discoveries_are_those_of_the_step_up_procedure),
        cmocka_unit_test(comparing_like_with_like_finds_nothing_95_times_in_100),
        cmocka_unit_test(a_doubled_function_is_found),
    };

    return cmocka_run_group_tests_name("estimate", tests, NULL, NULL);
}
