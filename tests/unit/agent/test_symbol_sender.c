/* symbol_sender: each wish is answered once, with all parts or with the reason why there are none.
 */
#include "agent/symbol_sender.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/unit/agent/fake_source.h"

enum { LARGE = 400000 }; /* symbols: several parts when packed */

static struct fake_source source;
static struct symbol_sender *sender;
static uint32_t said, none_said;
static struct build_id last_id;
static uint32_t last_part, last_parts;
static char last_reason[MESSAGE_TEXT_MAX + 1];
static uint8_t *received; /* all parts of the last table */
static size_t received_length;
static size_t link_queue; /* what the link has unsent, as far as the sender knows */

static void on_say(void *arg, const struct message *m)
{
    const struct symbols_part *p = &m->symbols;

    (void)arg;
    assert_int_equal(m->type, MESSAGE_SYMBOLS);
    said++;
    last_id = p->id;
    last_part = p->part;
    last_parts = p->parts;
    memcpy(last_reason, p->reason, sizeof(last_reason));
    if (p->parts == 0) {
        none_said++;
        return;
    }
    assert_in_range(p->bytes.length, 1, MESSAGE_SYMBOL_PART_MAX);
    if (p->part == 0)
        received_length = 0;
    received = realloc(received, received_length + p->bytes.length);
    assert_non_null(received);
    memcpy(received + received_length, p->bytes.bytes, p->bytes.length);
    received_length += p->bytes.length;
    link_queue += p->bytes.length;
}

static size_t queued_bytes(void *arg)
{
    (void)arg;
    return link_queue;
}

static int make(void **state)
{
    (void)state;
    fake_source_init(&source, (struct mono){NS_PER_S});
    source.symbols = 3;
    said = none_said = 0;
    link_queue = 0;
    received_length = 0;
    return symbol_sender_new(&source.base, &sender) == ST_OK ? 0 : -1;
}

static int drop(void **state)
{
    (void)state;
    symbol_sender_free(sender);
    free(received);
    received = NULL;
    return 0;
}

static struct build_id id_of(uint8_t n)
{
    return (struct build_id){.length = 20, .bytes = {n}};
}

static void want(uint8_t n)
{
    struct symbols_wanted w = {.count = 1};

    w.ids[0] = id_of(n);
    symbol_sender_want(sender, &w);
}

static bool begin(void)
{
    return symbol_sender_begin(sender, on_say, NULL);
}

static void work(void)
{
    symbol_sender_work(sender); /* elsewhere on another thread */
    symbol_sender_worked(sender, on_say, NULL);
}

static void pump(void)
{
    symbol_sender_pump(sender, queued_bytes, on_say, NULL);
}

static void expect_table_of(uint32_t symbols)
{
    struct symtab table = {0};

    assert_int_equal(symtab_decode((struct slice){received, received_length}, &table), ST_OK);
    assert_int_equal(table.count, symbols);
    symtab_deinit(&table);
}

static void nothing_wanted_is_nothing_to_do(void **state)
{
    (void)state;
    assert_false(begin());
    pump();
    assert_int_equal(said, 0);
}

static void a_wish_is_answered_with_a_table_that_can_be_read(void **state)
{
    (void)state;
    want(1);
    assert_true(begin());
    work();
    pump();
    assert_int_equal(said, 1);
    assert_int_equal(last_parts, 1);
    assert_int_equal(last_id.bytes[0], 1);
    expect_table_of(3);
    assert_int_equal(source.opened, 1);
    assert_int_equal(source.closed, 1);
    assert_false(begin());
}

static void one_binary_is_read_at_a_time(void **state)
{
    (void)state;
    want(1);
    want(2);
    assert_true(begin());
    assert_false(begin());
    work();
    assert_false(begin()); /* the first is still to be sent */
    pump();
    assert_true(begin());
    work();
    pump();
    assert_int_equal(said, 2);
    assert_int_equal(last_id.bytes[0], 2);
}

static void a_large_table_goes_in_parts_as_the_link_has_room(void **state)
{
    uint32_t before;

    (void)state;
    source.symbols = LARGE;
    want(1);
    assert_true(begin());
    work();
    link_queue = SYMBOL_QUEUED_BYTES_MAX;
    pump();
    assert_int_equal(said, 0);
    link_queue = SYMBOL_QUEUED_BYTES_MAX - 1;
    pump();
    assert_int_equal(said, 1);
    before = said;
    pump();
    assert_int_equal(said, before);
    while (last_part + 1 < last_parts) {
        link_queue = 0;
        pump();
    }
    assert_true(last_parts > 1);
    assert_int_equal(said, last_parts);
    expect_table_of(LARGE);
}

static void what_the_host_does_not_have_is_said_at_once_and_the_next_is_begun(void **state)
{
    (void)state;
    source.lack_symbols = true;
    want(1);
    want(2);
    assert_false(begin());
    assert_int_equal(none_said, 2);
    assert_string_equal(last_reason, status_text(ST_NOT_FOUND));
    assert_int_equal(last_id.bytes[0], 2);
}

static void what_cannot_be_read_is_answered_with_the_reason(void **state)
{
    (void)state;
    source.fail_reading = true;
    want(1);
    assert_true(begin());
    work();
    assert_int_equal(none_said, 1);
    assert_string_equal(last_reason, status_text(ST_INVALID));
    assert_int_equal(source.closed, 1);
    pump();
    assert_int_equal(said, 1);
}

static void what_happened_to_the_reader_is_the_reason(void **state)
{
    (void)state;
    source.fail_reading = true;
    source.why_reading = "the reader died";
    want(1);
    assert_true(begin());
    work();
    assert_int_equal(none_said, 1);
    assert_string_equal(last_reason, "the reader died");
}

static void names_are_sent_although_a_reader_died_of_the_places(void **state)
{
    (void)state;
    source.why_reading = "the reader died";
    want(1);
    assert_true(begin());
    work();
    pump();
    assert_int_equal(none_said, 0);
    expect_table_of(3);
}

static void cancelled_work_says_nothing(void **state)
{
    (void)state;
    symbol_sender_cancel(sender); /* there is none */
    assert_int_equal(source.cancelled, 0);
    want(1);
    assert_true(begin());
    symbol_sender_cancel(sender);
    assert_int_equal(source.cancelled, 1);
    work();
    pump();
    assert_int_equal(said, 0);
    assert_int_equal(source.closed, 1);
}

static void wishes_of_a_lost_connection_are_forgotten(void **state)
{
    (void)state;
    want(1);
    want(2);
    symbol_sender_reset(sender);
    assert_false(begin());
    assert_int_equal(said, 0);
}

static void work_that_was_under_way_when_the_connection_was_lost_is_dropped(void **state)
{
    (void)state;
    want(1);
    assert_true(begin());
    symbol_sender_reset(sender);
    work();
    pump();
    assert_int_equal(said, 0);
    assert_int_equal(source.closed, 1);
    want(1); /* asked anew on the next connection */
    assert_true(begin());
    work();
    pump();
    assert_int_equal(said, 1);
    expect_table_of(3);
}

static void a_table_that_was_half_sent_begins_anew_on_the_next_connection(void **state)
{
    (void)state;
    source.symbols = LARGE;
    want(1);
    assert_true(begin());
    work();
    link_queue = SYMBOL_QUEUED_BYTES_MAX - 1;
    pump();
    assert_int_equal(last_part, 0);
    symbol_sender_reset(sender);
    link_queue = 0;
    pump();
    assert_int_equal(said, 1);
    want(1);
    assert_true(begin());
    work();
    pump();
    expect_table_of(LARGE);
}

static void a_wish_that_is_repeated_is_answered_once(void **state)
{
    (void)state;
    want(1);
    want(1);
    assert_true(begin());
    want(1); /* and once more while it is read */
    work();
    pump();
    assert_false(begin());
    assert_int_equal(said, 1);
}

static void wishes_over_the_limit_are_dropped(void **state)
{
    (void)state;
    source.lack_symbols = true;
    for (uint32_t i = 0; i < SYMBOL_WISHES_MAX + 100; i++) {
        struct symbols_wanted w = {.count = 1};

        w.ids[0] = (struct build_id){.length = 4, .bytes = {(uint8_t)i, (uint8_t)(i >> 8)}};
        symbol_sender_want(sender, &w);
    }
    assert_false(begin());
    assert_int_equal(none_said, SYMBOL_WISHES_MAX);
}

#define WITH_SENDER(test) cmocka_unit_test_setup_teardown(test, make, drop)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_SENDER(nothing_wanted_is_nothing_to_do),
        WITH_SENDER(a_wish_is_answered_with_a_table_that_can_be_read),
        WITH_SENDER(one_binary_is_read_at_a_time),
        WITH_SENDER(a_large_table_goes_in_parts_as_the_link_has_room),
        WITH_SENDER(what_the_host_does_not_have_is_said_at_once_and_the_next_is_begun),
        WITH_SENDER(what_cannot_be_read_is_answered_with_the_reason),
        WITH_SENDER(what_happened_to_the_reader_is_the_reason),
        WITH_SENDER(names_are_sent_although_a_reader_died_of_the_places),
        WITH_SENDER(cancelled_work_says_nothing),
        WITH_SENDER(wishes_of_a_lost_connection_are_forgotten),
        WITH_SENDER(work_that_was_under_way_when_the_connection_was_lost_is_dropped),
        WITH_SENDER(a_table_that_was_half_sent_begins_anew_on_the_next_connection),
        WITH_SENDER(a_wish_that_is_repeated_is_answered_once),
        WITH_SENDER(wishes_over_the_limit_are_dropped),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
