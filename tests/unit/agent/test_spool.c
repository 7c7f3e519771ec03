/* spool: what is added is there until it is acknowledged, and what is dropped is counted. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "common/chunk.h"
#include "tests/support/chunk_maker.h"
#include "tests/unit/agent/spool_place.h"

/* ---- one life ---- */

static void chunks_come_back_in_order_as_often_as_asked(void **state)
{
    struct spool *s = open_spool(*state);

    expect_none(s, 0);
    assert_int_equal(add(s, "one"), 1);
    assert_int_equal(add(s, "two"), 2);
    assert_int_equal(add(s, "three"), 3);
    assert_int_equal(expect_next(s, 0, "one"), 1);
    assert_int_equal(expect_next(s, 1, "two"), 2);
    assert_int_equal(expect_next(s, 2, "three"), 3);
    expect_none(s, 3);
    assert_int_equal(expect_next(s, 0, "one"), 1);
    spool_close(s);
    spool_close(NULL);
}

static void an_acknowledgement_deletes_all_up_to_it(void **state)
{
    struct spool *s = open_spool(*state);

    for (int i = 0; i < 200; i++) /* more than the first allocation, and round it */
        add(s, "chunk");
    spool_acknowledge(s, 150);
    assert_int_equal(files_in(*state), 50);
    assert_int_equal(spool_read_counters(s).chunks, 50);
    assert_int_equal(expect_next(s, 0, "chunk"), 151);
    assert_int_equal(expect_next(s, 180, "chunk"), 181);
    spool_acknowledge(s, 150);
    assert_int_equal(add(s, "new"), 201);
    spool_acknowledge(s, UINT64_MAX);
    assert_int_equal(files_in(*state), 0);
    assert_int_equal(spool_read_counters(s).bytes, 0);
    assert_int_equal(spool_read_counters(s).dropped_chunks, 0);
    assert_int_equal(add(s, "newer"), 202);
    spool_close(s);
}

static void over_the_bound_the_oldest_goes_first(void **state)
{
    struct spool *s = open_bounded(*state, 3 * BLOCK, now);
    struct spool_counters c;

    add(s, "one");
    add(s, "two");
    add(s, "three");
    assert_int_equal(spool_read_counters(s).bytes, 3 * BLOCK);
    add(s, "four");
    c = spool_read_counters(s);
    assert_int_equal(c.chunks, 3);
    assert_int_equal(c.bytes, 3 * BLOCK);
    assert_int_equal(c.dropped_chunks, 1);
    assert_int_equal(c.dropped_samples, 10);
    expect_next(s, 0, "two");
    assert_int_equal(files_in(*state), 3);
    spool_close(s);
}

static void a_chunk_over_the_bound_drops_itself_and_no_other(void **state)
{
    static uint8_t big[2 * BLOCK + 1];
    struct spool *s = open_bounded(*state, 2 * BLOCK, now);
    uint64_t number = 77;

    add(s, "small");
    assert_int_equal(spool_add(s, (struct slice){big, sizeof(big)}, 10, now, &number), ST_NO_SPACE);
    assert_int_equal(spool_add(s, (struct slice){big, 0}, 10, now, &number), ST_INVALID);
    assert_int_equal(number, 77);
    assert_int_equal(spool_read_counters(s).dropped_chunks, 2);
    assert_int_equal(spool_read_counters(s).dropped_samples, 20);
    expect_next(s, 0, "small");
    spool_close(s);
}

static void what_is_too_old_goes(void **state)
{
    struct spool *s = open_spool(*state);

    add(s, "old");
    add_at(s, "young", later(60));
    spool_expire(s, later(3600));
    assert_int_equal(spool_read_counters(s).chunks, 2);
    spool_expire(s, later(3601));
    assert_int_equal(spool_read_counters(s).chunks, 1);
    assert_int_equal(spool_read_counters(s).dropped_samples, 10);
    expect_next(s, 0, "young");
    spool_expire(s, (struct wall){0}); /* a clock that was set back makes nothing old */
    assert_int_equal(spool_read_counters(s).chunks, 1);
    spool_close(s);
}

/* ---- epitaphs ---- */

static struct blob chunk_of(uint64_t sequence, uint32_t samples)
{
    struct rng rng = rng_from(sequence);
    struct chunk_shape shape = {.frames = 1, .depth = 1, .samples = samples};
    struct chunk c;
    struct blob packed = {0};

    if (samples > 0)
        shape = (struct chunk_shape){.binaries = 3,
                                     .frames = 2000,
                                     .stacks = 500,
                                     .depth = 30,
                                     .processes = 5,
                                     .threads = 9,
                                     .samples = samples};
    c = chunk_make(shape, &rng);
    c.info.sequence = sequence;
    assert_int_equal(chunk_encode(&c, CHUNK_WIRE, &packed), ST_OK);
    chunk_deinit(&c);
    return packed;
}

static uint64_t add_chunk(struct spool *s, uint64_t sequence, uint32_t samples, enum status want)
{
    struct blob packed = chunk_of(sequence, samples);
    uint64_t number = 0, bytes = (packed.length + BLOCK - 1) / BLOCK * BLOCK;

    assert_int_equal(spool_add(s, blob_slice(&packed), samples, now, &number), want);
    blob_deinit(&packed);
    return bytes;
}

/* The sum of what the chunks in the spool tell, and that sequences have no gap. */
static struct ledger ledger_of_all(struct spool *s)
{
    struct ledger sum = {0};
    struct chunk_info info;
    struct blob b;

    for (uint64_t number = 0, sequence = 1; spool_next(s, number, &number, &b) == ST_OK;
         sequence++) {
        assert_int_equal(chunk_decode_info(blob_slice(&b), &info), ST_OK);
        assert_int_equal(info.sequence, sequence);
        ledger_add(&sum, &info.ledger);
        blob_deinit(&b);
    }
    return sum;
}

static void what_has_to_go_leaves_its_ledger_in_its_place(void **state)
{
    struct blob one = chunk_of(1, 1000);
    struct spool *s = open_bounded(*state, 2 * (one.length + BLOCK), now);
    struct ledger sum;

    blob_deinit(&one);
    for (uint64_t sequence = 1; sequence <= 6; sequence++)
        (void)add_chunk(s, sequence, 1000, ST_OK);
    sum = ledger_of_all(s);
    assert_int_equal(spool_read_counters(s).chunks, 6);
    assert_true(sum.lost[LOSS_SPOOL] >= 3000);
    assert_int_equal(sum.lost[LOSS_SPOOL], spool_read_counters(s).dropped_samples);
    assert_int_equal(sum.delivered + sum.lost[LOSS_SPOOL], 6000);
    spool_close(s);

    s = open_bounded(*state, BLOCK, now); /* no chunk fits any more */
    sum = ledger_of_all(s);
    assert_int_equal(sum.lost[LOSS_SPOOL], 6000);
    (void)add_chunk(s, 7, 1000, ST_NO_SPACE); /* not even for a moment */
    sum = ledger_of_all(s);
    assert_int_equal(sum.lost[LOSS_SPOOL], 7000);
    spool_expire(s, later(100000));
    assert_int_equal(spool_read_counters(s).chunks, 7);
    spool_acknowledge(s, UINT64_MAX);
    assert_int_equal(files_in(*state), 0);
    spool_close(s);
}

static void ledgers_without_samples_are_bounded_too(void **state)
{
    struct spool *s = open_bounded(*state, BLOCK, now);

    for (uint64_t sequence = 1; sequence <= SPOOL_BARE_MAX + 2; sequence++)
        (void)add_chunk(s, sequence, 0, ST_OK);
    assert_true(spool_read_counters(s).chunks <= SPOOL_BARE_MAX + 1);
    assert_true(spool_read_counters(s).dropped_chunks >= 1);
    assert_int_equal(spool_read_counters(s).dropped_samples, 0);
    spool_close(s);
}

/* ---- over a restart ---- */

static void a_restart_takes_up_what_was_left_before_anything_new(void **state)
{
    struct spool *s = open_spool(*state);

    add(s, "one");
    add(s, "two");
    add_at(s, "three", (struct wall){1}); /* the clock was set back: order is order of adding */
    spool_acknowledge(s, 1);
    spool_close(s);

    s = open_spool(*state);
    assert_int_equal(spool_read_counters(s).chunks, 2);
    assert_int_equal(spool_read_counters(s).bytes, 2 * BLOCK);
    assert_int_equal(add(s, "four"), 3);
    assert_int_equal(expect_next(s, 0, "two"), 1);
    spool_close(s);

    s = open_spool(*state);
    assert_int_equal(expect_next(s, 0, "two"), 1);
    assert_int_equal(expect_next(s, 1, "three"), 2);
    assert_int_equal(expect_next(s, 2, "four"), 3);
    expect_none(s, 3);
    spool_close(s);
}

static void bounds_hold_for_what_was_left(void **state)
{
    struct spool *s = open_spool(*state);

    add(s, "expired");
    add_at(s, "too many", later(3000));
    add_at(s, "kept", later(3000));
    spool_close(s);

    s = open_bounded(*state, BLOCK, later(4000));
    assert_int_equal(spool_read_counters(s).chunks, 1);
    assert_int_equal(spool_read_counters(s).dropped_chunks, 2);
    assert_int_equal(spool_read_counters(s).dropped_samples, 20);
    expect_next(s, 0, "kept");
    spool_close(s);
}

static void a_time_to_come_ages_from_when_it_was_taken_up(void **state)
{
    struct spool *s = open_spool(*state);

    add_at(s, "from the future", later(100000));
    spool_close(s);
    s = open_spool(*state);
    spool_expire(s, later(3601));
    assert_int_equal(spool_read_counters(s).chunks, 0);
    spool_close(s);
}

static void two_agents_do_not_share_a_spool(void **state)
{
    const struct place *p = *state;
    struct spool_options options = {p->spool, PLENTY, NS_PER_S};
    struct spool *s = open_spool(p), *other = NULL;

    assert_int_equal(spool_open(&options, now, &other), ST_EXISTS);
    assert_null(other);
    spool_close(s);
    assert_int_equal(spool_open(&options, now, &other), ST_OK);
    spool_close(other);
}

static void a_place_that_cannot_be_is_an_error(void **state)
{
    const struct place *p = *state;
    char path[PATH_MAX_BYTES + 16];
    struct spool_options options = {path, PLENTY, NS_PER_S};
    struct spool *untouched = NULL;
    FILE *f;

    snprintf(path, sizeof(path), "%s/none/spool", p->root);
    assert_int_equal(spool_open(&options, now, &untouched), ST_NOT_FOUND);
    snprintf(path, sizeof(path), "%s/file", p->root);
    f = fopen(path, "w");
    assert_non_null(f);
    fclose(f);
    assert_int_not_equal(spool_open(&options, now, &untouched), ST_OK);
    assert_null(untouched);
}

static uint32_t modes; /* of all files, or-ed */

static void add_mode(const char *path)
{
    struct stat st;

    assert_int_equal(stat(path, &st), 0);
    modes |= st.st_mode & 0777;
}

static void the_directory_and_the_files_are_for_us_alone(void **state)
{
    const struct place *p = *state;
    struct spool *s = open_spool(p);
    struct stat st;

    assert_int_equal(stat(p->spool, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0700);
    add(s, "secret");
    modes = 0;
    visit_files(p->spool, add_mode);
    assert_int_equal(modes, 0600);
    spool_close(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(chunks_come_back_in_order_as_often_as_asked),
        TEST(an_acknowledgement_deletes_all_up_to_it),
        TEST(over_the_bound_the_oldest_goes_first),
        TEST(a_chunk_over_the_bound_drops_itself_and_no_other),
        TEST(what_is_too_old_goes),
        TEST(what_has_to_go_leaves_its_ledger_in_its_place),
        TEST(ledgers_without_samples_are_bounded_too),
        TEST(a_restart_takes_up_what_was_left_before_anything_new),
        TEST(bounds_hold_for_what_was_left),
        TEST(a_time_to_come_ages_from_when_it_was_taken_up),
        TEST(two_agents_do_not_share_a_spool),
        TEST(a_place_that_cannot_be_is_an_error),
        TEST(the_directory_and_the_files_are_for_us_alone),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
