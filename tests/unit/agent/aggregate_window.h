/* aggregate_window - what the tests of aggregate share: one window, samples for it, and the chunk
 * that the coordinator would see. Include after cmocka.h. */
#ifndef TESTS_UNIT_AGENT_AGGREGATE_WINDOW_H
#define TESTS_UNIT_AGENT_AGGREGATE_WINDOW_H

#include "agent/aggregate.h"

static const struct mono start = {1000 * NS_PER_S}, end = {1010 * NS_PER_S};
static const struct build_id libc_id = {20, {1, 2, 3}}, kernel_id = {20, {9}};

static inline struct resolved_frame native(uint64_t offset)
{
    return (struct resolved_frame){FRAME_NATIVE, &libc_id, "/lib/libc.so.6", NULL, offset};
}

static inline struct resolved_sample sample(const struct resolved_frame *frames, uint32_t count)
{
    return (struct resolved_sample){.time = mono_after(start, NS_PER_S),
                                    .pid = 7,
                                    .tid = 8,
                                    .process_serial = 1,
                                    .process_start_ns = 500,
                                    .comm = "server",
                                    .thread_name = "worker",
                                    .frames = frames,
                                    .frame_count = count};
}

static inline struct aggregate *new_aggregate(void)
{
    struct aggregate *a = NULL;

    assert_int_equal(aggregate_new(&a), ST_OK);
    return a;
}

static inline void add(struct aggregate *a, const struct resolved_sample *s)
{
    assert_int_equal(aggregate_add(a, s), ST_OK);
}

/* Takes the window, and sends it through the codec: what the coordinator would see. */
static inline struct chunk take(struct aggregate *a)
{
    struct chunk c = {.info = {.profiler = {{1}},
                               .sequence = 1,
                               .start = start,
                               .end = end,
                               .event = EVENT_CPU,
                               .period_ns = NS_PER_S / 99,
                               .inclusion = 1,
                               .cpus = CHUNK_CPUS_MAX}};
    struct chunk seen;
    struct blob bytes = {0};
    const char *why = NULL;

    assert_int_equal(aggregate_take(a, start, end, &c), ST_OK);
    c.info.ledger.delivered = c.samples.sample_count;
    c.info.ledger.expected = c.samples.sample_count;
    assert_int_equal(chunk_encode(&c, CHUNK_WIRE, &bytes), ST_OK);
    assert_int_equal(chunk_decode(blob_slice(&bytes), CHUNK_WIRE, &seen, &why), ST_OK);
    blob_deinit(&bytes);
    chunk_deinit(&c);
    return seen;
}

#endif
