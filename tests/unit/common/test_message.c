/* message: golden bytes both ways, and whatever a peer sends is taken whole or refused with a
 * reason. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "common/chunk.h"
#include "common/message.h"
#include "tests/support/golden_messages.h"
#include "tests/support/hex.h"
#include "tests/support/rng.h"

/* ---- helpers ---- */

static struct wire_writer *writer; /* of the test that runs */

static int open_writer(void **state)
{
    (void)state;
    return wire_writer_new(MESSAGE_BYTES_MAX, &writer) == ST_OK ? 0 : -1;
}

static int close_writer(void **state)
{
    (void)state;
    wire_writer_free(writer);
    return 0;
}

static struct slice encode(const struct message *m)
{
    assert_int_equal(message_encode(m, writer), ST_OK);
    return wire_writer_bytes(writer);
}

static void assert_decodes(const char *hex, enum status want)
{
    struct blob bytes = hex_bytes(hex);
    struct message m = {0};
    const char *why = NULL;
    enum status st = message_decode(blob_slice(&bytes), &m, &why);

    if (st != want)
        fail_msg("%s: %s (%s)", hex, status_text(st), why != NULL ? why : "");
    if (st != ST_OK)
        assert_non_null(why);
    message_deinit(&m);
    blob_deinit(&bytes);
}

/* ---- golden bytes ---- */

static void every_message_is_written_as_its_golden_bytes(void **state)
{
    (void)state;
    for (unsigned i = 0; i < GOLDEN_MESSAGES; i++) {
        struct message m = golden_message(i);

        if (!hex_equal(encode(&m), golden_message_hex(i)))
            fail_msg("%s", message_name(m.type));
        message_deinit(&m);
    }
}

/* Writing again what was read says that every field was read. */
static void every_golden_message_is_read(void **state)
{
    (void)state;
    for (unsigned i = 0; i < GOLDEN_MESSAGES; i++) {
        struct blob bytes = hex_bytes(golden_message_hex(i));
        struct message m;

        assert_int_equal(message_decode(blob_slice(&bytes), &m, NULL), ST_OK);
        assert_true(hex_equal(encode(&m), golden_message_hex(i)));
        message_deinit(&m);
        message_deinit(&m);
        blob_deinit(&bytes);
    }
}

static void there_is_a_golden_message_of_every_type(void **state)
{
    unsigned types = 0, seen[16] = {0};

    (void)state;
    for (unsigned i = 0; i < GOLDEN_MESSAGES; i++) {
        struct message m = golden_message(i);

        types += seen[m.type]++ == 0;
        message_deinit(&m);
    }
#define X(number, NAME, name, direction) types--;
#include "schemas/messages.def"
#undef X
    assert_int_equal(types, 0);
}

static void a_hello_arrives_with_its_labels_and_profilers(void **state)
{
    struct blob bytes = hex_bytes(golden_message_hex(0));
    struct message m;

    (void)state;
    assert_int_equal(message_decode(blob_slice(&bytes), &m, NULL), ST_OK);
    blob_deinit(&bytes); /* nothing of a hello is lent */
    assert_int_equal(m.type, MESSAGE_HELLO);
    assert_string_equal(m.hello.host, "web-1");
    assert_string_equal(labels_get(&m.hello.labels, "service"), "gr\xc3\xbc\xc3\x9f");
    assert_int_equal(m.hello.running_count, 2);
    assert_int_equal(m.hello.running[1].bytes[15], 18);
    assert_string_equal(m.hello.degraded, "no kernel symbols");
    message_deinit(&m);
}

static void names_are_those_of_the_tables(void **state)
{
    (void)state;
    assert_string_equal(message_name(MESSAGE_PROFILER_STATE), "profiler_state");
    assert_string_equal(message_name(MESSAGE_NONE), "none");
    assert_string_equal(profiler_state_name(PROFILER_DRAINING), "draining");
    assert_string_equal(refusal_name(REFUSAL_NOT_YOURS), "not_your_profiler");
}

/* ---- bounds ---- */

static void a_chunk_of_the_largest_size_fits_and_one_byte_more_does_not(void **state)
{
    uint8_t *bytes = calloc(1, CHUNK_PACKED_MAX + 1);
    struct message m = {.type = MESSAGE_CHUNK,
                        .chunk = {.number = UINT64_MAX, .bytes = {bytes, CHUNK_PACKED_MAX}}};
    struct message back;

    (void)state;
    assert_int_equal(message_decode(encode(&m), &back, NULL), ST_OK);
    assert_int_equal(back.chunk.bytes.length, CHUNK_PACKED_MAX);
    m.chunk.bytes.length++;
    assert_int_equal(message_encode(&m, writer), ST_TOO_BIG);
    assert_int_equal(wire_writer_bytes(writer).length, 0);
    free(bytes);
}

static void full_tables_survive(void **state)
{
    struct message m = {.type = MESSAGE_SYMBOLS_WANTED}, back;

    (void)state;
    m.symbols_wanted.count = MESSAGE_BUILD_IDS_MAX;
    for (unsigned i = 0; i < MESSAGE_BUILD_IDS_MAX; i++)
        m.symbols_wanted.ids[i] = (struct build_id){BUILD_ID_BYTES, {(uint8_t)i}};
    assert_int_equal(message_decode(encode(&m), &back, NULL), ST_OK);
    assert_memory_equal(m.symbols_wanted.ids, back.symbols_wanted.ids,
                        sizeof(m.symbols_wanted.ids));
    m.symbols_wanted.count++;
    assert_int_equal(message_encode(&m, writer), ST_TOO_BIG);
}

static void a_message_over_the_limit_is_refused_unread(void **state)
{
    uint8_t *bytes = calloc(1, MESSAGE_BYTES_MAX + 1);
    struct message m;

    (void)state;
    assert_int_equal(message_decode((struct slice){bytes, MESSAGE_BYTES_MAX + 1}, &m, NULL),
                     ST_TOO_BIG);
    free(bytes);
}

static void counts_and_lengths_over_their_limits_are_refused(void **state)
{
    (void)state;
    assert_decodes("93 01 0a 81 01 dd05f5e100", ST_TOO_BIG); /* build ids */
    assert_decodes("93 01 0a 81 01 dc0100 c401", ST_INVALID); /* more than bytes */
    assert_decodes("93 01 0a 81 01 91 c421 00", ST_TOO_BIG); /* a build id of 33 */
    assert_decodes("93 01 05 82 01 01 02 dc0041", ST_TOO_BIG); /* plan items */
    assert_decodes("93 01 01 81 01 da0100", ST_TOO_BIG); /* host of 256 bytes */
    assert_decodes("93 01 01 81 05 dc0082", ST_TOO_BIG); /* 65 labels */
    assert_decodes("93 01 01 81 07 dc0041", ST_TOO_BIG); /* profilers */
    assert_decodes("93 01 08 82 01 01 02 c600400001", ST_TOO_BIG); /* chunk */
    assert_decodes("93 01 08 82 01 01 02 c600400000", ST_INVALID); /* that is not there */
    assert_decodes("93 01 0b 82 01 c40101 04 c600100001", ST_TOO_BIG); /* part of symbols */
    assert_decodes("93 01 06 de0041", ST_TOO_BIG); /* keys */
}

/* ---- what is refused ---- */

static void another_version_or_type_is_told_apart_from_garbage(void **state)
{
    struct blob unknown = hex_bytes("93 01 63 80"), foreign = hex_bytes("93 02 06 81 01 04");
    struct message m;
    const char *why;

    (void)state;
    assert_int_equal(message_decode(blob_slice(&unknown), &m, &why), ST_NOT_FOUND);
    assert_int_equal(m.type, MESSAGE_NONE);
    assert_int_equal(refusal_for(ST_NOT_FOUND), REFUSAL_UNKNOWN_TYPE);
    assert_int_equal(message_decode(blob_slice(&foreign), &m, &why), ST_UNSUPPORTED);
    assert_int_equal(m.type, MESSAGE_NONE);
    assert_int_equal(refusal_for(ST_UNSUPPORTED), REFUSAL_VERSION);
    assert_int_equal(refusal_for(ST_INVALID), REFUSAL_MALFORMED);
    assert_int_equal(refusal_for(ST_TOO_BIG), REFUSAL_TOO_BIG);
    blob_deinit(&foreign);
    blob_deinit(&unknown);
}

static void a_known_type_is_named_even_when_its_body_is_refused(void **state)
{
    struct blob bytes = hex_bytes("93 01 08 82 01 00 02 c40101");
    struct message m;
    const char *why = NULL;

    (void)state;
    assert_int_equal(message_decode(blob_slice(&bytes), &m, &why), ST_INVALID);
    assert_int_equal(m.type, MESSAGE_CHUNK);
    assert_int_equal(m.chunk.bytes.length, 0);
    assert_string_equal(why, "uploads are numbered from 1");
    blob_deinit(&bytes);
}

static void other_envelopes_are_refused(void **state)
{
    (void)state;
    assert_decodes("", ST_INVALID);
    assert_decodes("c0", ST_INVALID);
    assert_decodes("92 01 06", ST_INVALID);
    assert_decodes("94 01 06 81 01 04 c0", ST_TOO_BIG);
    assert_decodes("93 01 06 91 04", ST_INVALID); /* body is no map */
    assert_decodes("93 01 06 81 01 04 c0", ST_INVALID); /* leftovers */
    assert_decodes("93 01 06 82 01 04 01 05", ST_INVALID); /* key twice */
    assert_decodes("93 01 06 82 02 04 01 05", ST_INVALID); /* keys descend */
    assert_decodes("93 01 06 81 a101 05", ST_INVALID); /* key is no number */
}

static void bodies_that_make_no_sense_are_refused(void **state)
{
    (void)state;
    assert_decodes("93 01 01 82 01 a0 02 01", ST_INVALID); /* no host */
    assert_decodes("93 01 01 82 01 a161 02 00", ST_INVALID); /* no incarnation */
    assert_decodes("93 01 01 83 01 a161 02 01 05 91a161", ST_INVALID); /* key, no value */
    assert_decodes("93 01 01 83 01 a161 02 01 05 94a162a0a161a0", ST_INVALID); /* unsorted */
    assert_decodes("93 01 01 83 01 a161 02 01 05 94a161a0a161a0", ST_INVALID); /* twice */
    assert_decodes("93 01 01 83 01 a161 02 01 05 92a141a0", ST_INVALID); /* bad label key */
    assert_decodes("93 01 01 83 01 a161 02 01 05 92a161a162", ST_OK);
    assert_decodes("93 01 01 81 01 a2c328", ST_INVALID); /* no UTF-8 */
    assert_decodes("93 01 02 84 01 01 02 00 03 01 04 02", ST_INVALID); /* window of 0 */
    assert_decodes("93 01 02 84 01 01 02 01 03 02 04 02", ST_INVALID); /* idle too soon */
    assert_decodes("93 01 05 82 01 01 02 91 81 02 01", ST_INVALID); /* no profiler */
    assert_decodes("93 01 07 82 01 c41001010101010101010101010101010101 02 09", ST_INVALID);
    assert_decodes("93 01 08 82 01 01 02 c400", ST_INVALID); /* empty chunk */
    assert_decodes("93 01 0a 81 01 91 c400", ST_INVALID); /* empty build id */
    assert_decodes("93 01 0b 84 01 c40101 02 02 03 02 04 c40101", ST_INVALID); /* part 2 of 2 */
    assert_decodes("93 01 0b 84 01 c40101 02 00 03 cc81 04 c40101", ST_TOO_BIG);
    assert_decodes("93 01 0b 84 01 c40101 02 00 03 00 04 c40101", ST_INVALID);
    assert_decodes("93 01 0c 81 03 00", ST_INVALID); /* no reason */
    assert_decodes("93 01 0c 81 03 0b", ST_INVALID);
}

static void an_unknown_event_costs_its_item_and_not_the_plan(void **state)
{
    struct blob bytes =
        hex_bytes("93 01 05 82 01 01 02 91 84 01 c41001010101010101010101010101010101"
                  "02 63 03 01 05 01");
    struct message m;

    (void)state;
    assert_int_equal(message_decode(blob_slice(&bytes), &m, NULL), ST_OK);
    assert_int_equal(m.plan.item_count, 1);
    assert_int_equal(m.plan.items[0].event, EVENT_NONE);
    blob_deinit(&bytes);
}

static void unknown_keys_are_skipped_to_the_depth_limit(void **state)
{
    (void)state;
    assert_decodes("93 01 06 82 01 04 09 9191919191919191c0", ST_OK);
    assert_decodes("93 01 06 82 01 04 09 919191919191919191c0", ST_TOO_BIG);
    assert_decodes("93 01 06 82 01 04 09 dd7fffffff", ST_INVALID);
}

static void every_truncation_of_every_message_is_refused(void **state)
{
    (void)state;
    for (unsigned i = 0; i < GOLDEN_MESSAGES; i++) {
        struct blob bytes = hex_bytes(golden_message_hex(i));
        struct message m;

        for (size_t n = 0; n < bytes.length; n++) {
            assert_int_equal(message_decode((struct slice){bytes.bytes, n}, &m, NULL), ST_INVALID);
            message_deinit(&m);
        }
        blob_deinit(&bytes);
    }
}

/* Random damage ends in a refusal, or in a message that can be sent on. */
static void damaged_messages_are_refused_or_valid(void **state)
{
    struct rng rng = rng_new();

    (void)state;
    for (unsigned round = 0; round < 20000; round++) {
        struct blob bytes = hex_bytes(golden_message_hex(round % GOLDEN_MESSAGES));
        struct message m;

        for (unsigned n = 1 + rng_below(&rng, 3); n > 0; n--)
            bytes.bytes[rng_below(&rng, (uint32_t)bytes.length)] = (uint8_t)rng_u64(&rng);
        if (message_decode(blob_slice(&bytes), &m, NULL) == ST_OK)
            (void)encode(&m);
        message_deinit(&m);
        blob_deinit(&bytes);
    }
}

static void text_that_is_none_is_repaired_when_sent(void **state)
{
    struct message m = {.type = MESSAGE_REFUSAL,
                        .refusal = {.reason = REFUSAL_LIMIT, .text = "odd name \xff"}};
    struct message back;

    (void)state;
    assert_int_equal(message_decode(encode(&m), &back, NULL), ST_OK);
    assert_string_equal(back.refusal.text, "odd name ?");
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, open_writer, close_writer)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(every_message_is_written_as_its_golden_bytes),
        CASE(every_golden_message_is_read),
        CASE(there_is_a_golden_message_of_every_type),
        CASE(a_hello_arrives_with_its_labels_and_profilers),
        CASE(names_are_those_of_the_tables),
        CASE(a_chunk_of_the_largest_size_fits_and_one_byte_more_does_not),
        CASE(full_tables_survive),
        CASE(a_message_over_the_limit_is_refused_unread),
        CASE(counts_and_lengths_over_their_limits_are_refused),
        CASE(another_version_or_type_is_told_apart_from_garbage),
        CASE(a_known_type_is_named_even_when_its_body_is_refused),
        CASE(other_envelopes_are_refused),
        CASE(bodies_that_make_no_sense_are_refused),
        CASE(an_unknown_event_costs_its_item_and_not_the_plan),
        CASE(unknown_keys_are_skipped_to_the_depth_limit),
        CASE(every_truncation_of_every_message_is_refused),
        CASE(damaged_messages_are_refused_or_valid),
        CASE(text_that_is_none_is_repaired_when_sent),
    };

    return cmocka_run_group_tests_name("message", tests, NULL, NULL);
}
