/* The fleet: who is there, by whose connection, and for how long. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "coordinator/control/agent_record.h"
#include "coordinator/control/fleet.h"

static struct link *fake_link(uintptr_t number)
{
    return (struct link *)number; /* never followed */
}

static struct fleet *new_fleet(uint32_t limit)
{
    struct fleet *f = NULL;

    assert_int_equal(fleet_new(limit, &f), ST_OK);
    return f;
}

static struct agent *add(struct fleet *f, const char *host)
{
    struct agent *a = NULL;

    assert_int_equal(fleet_add(f, host, &a), ST_OK);
    return a;
}

static void an_agent_is_found_by_host_and_by_link(void **state)
{
    struct fleet *f = new_fleet(10);
    struct agent *a = add(f, "web-1"), *b = add(f, "web-2");

    (void)state;
    assert_int_equal(fleet_connect(f, a, fake_link(16)), ST_OK);
    assert_int_equal(fleet_connect(f, b, fake_link(32)), ST_OK);
    assert_ptr_equal(fleet_find(f, "web-1"), a);
    assert_null(fleet_find(f, "web-3"));
    assert_ptr_equal(fleet_by_link(f, fake_link(32)), b);
    assert_null(fleet_by_link(f, fake_link(48)));
    assert_ptr_equal(add(f, "web-1"), a);
    assert_int_equal(fleet_count(f), 2);
    fleet_free(f);
}

static void a_newer_link_takes_the_place_of_the_older(void **state)
{
    struct fleet *f = new_fleet(10);
    struct agent *a = add(f, "web-1");

    (void)state;
    assert_int_equal(fleet_connect(f, a, fake_link(16)), ST_OK);
    assert_int_equal(fleet_connect(f, a, fake_link(32)), ST_OK);
    assert_null(fleet_by_link(f, fake_link(16)));
    assert_ptr_equal(fleet_by_link(f, fake_link(32)), a);
    assert_int_equal(fleet_connected(f), 1);
    fleet_disconnect(f, a);
    fleet_disconnect(f, a);
    assert_int_equal(fleet_connected(f), 0);
    fleet_free(f);
}

static void silence_counts_from_the_last_receipt(void **state)
{
    struct fleet *f = new_fleet(10);
    struct agent *a = add(f, "web-1");
    struct mono heard = {5 * NS_PER_S};

    (void)state;
    agent_heard(a, heard, (struct wall){1});
    assert_false(agent_is_silent(a, mono_after(heard, CONTROL_IDLE_NS))); /* away, not silent */
    assert_int_equal(fleet_connect(f, a, fake_link(16)), ST_OK);
    assert_false(agent_is_silent(a, mono_after(heard, CONTROL_IDLE_NS - 1)));
    assert_true(agent_is_silent(a, mono_after(heard, CONTROL_IDLE_NS)));
    fleet_free(f);
}

static void at_the_limit_no_one_more_is_added(void **state)
{
    struct fleet *f = new_fleet(2);
    struct agent *a = add(f, "web-1"), *b = add(f, "web-2"), *c = NULL;

    (void)state;
    a->last_seen.ns = 20;
    b->last_seen.ns = 10;
    assert_int_equal(fleet_add(f, "web-3", &c), ST_FULL);
    assert_null(c);
    assert_ptr_equal(fleet_longest_away(f), b);
    fleet_forget(f, b);
    assert_null(fleet_find(f, "web-2"));
    assert_int_equal(fleet_add(f, "web-3", &c), ST_OK);
    assert_ptr_equal(fleet_find(f, "web-1"), a);
    fleet_free(f);
}

static void many_agents_come_and_go(void **state)
{
    enum { MANY = 500 };
    struct fleet *f = new_fleet(MANY);
    char host[32];

    (void)state;
    for (uintptr_t i = 1; i <= MANY; i++) {
        snprintf(host, sizeof(host), "host-%u", (unsigned)(i * 7919 % 1000));
        assert_int_equal(fleet_connect(f, add(f, host), fake_link(i * 16)), ST_OK);
    }
    for (uintptr_t i = 1; i <= MANY; i += 2)
        fleet_forget(f, fleet_by_link(f, fake_link(i * 16)));
    assert_int_equal(fleet_count(f), MANY / 2);
    assert_int_equal(fleet_connected(f), MANY / 2);
    for (uint32_t i = 0; i < fleet_count(f); i++) {
        struct agent *a = fleet_at(f, i);

        assert_ptr_equal(fleet_find(f, a->host), a);
        assert_ptr_equal(fleet_by_link(f, a->link), a);
    }
    fleet_free(f);
}

static void an_agent_survives_its_record(void **state)
{
    struct fleet *f = new_fleet(2);
    struct agent *a = add(f, "web-1"), *b = add(f, "web-2");
    struct wire_writer *w = NULL;

    (void)state;
    assert_int_equal(labels_set(&a->labels, "service", "checkout"), ST_OK);
    assert_int_equal(labels_set(&a->labels, "zone", "eu-1"), ST_OK);
    a->incarnation = 0xfedcba9876543210;
    a->cpus = 64;
    a->last_seen.ns = 77;
    strcpy(a->version, "0.1.0");
    strcpy(a->degraded, "no kernel symbols: kptr_restrict");
    assert_int_equal(wire_writer_new(1 << 16, &w), ST_OK);
    assert_int_equal(agent_record_encode(a, w), ST_OK);
    assert_int_equal(agent_record_decode(wire_writer_bytes(w), b), ST_OK);
    assert_true(labels_equal(&a->labels, &b->labels));
    assert_int_equal(b->incarnation, a->incarnation);
    assert_int_equal(b->cpus, 64);
    assert_int_equal(b->last_seen.ns, 77);
    assert_string_equal(b->version, "0.1.0");
    assert_string_equal(b->degraded, a->degraded);
    assert_string_equal(b->host, "web-2");
    wire_writer_free(w);
    fleet_free(f);
}

static void a_damaged_record_changes_nothing(void **state)
{
    struct fleet *f = new_fleet(1);
    struct agent *a = add(f, "web-1");
    struct wire_writer *w = NULL;
    struct slice whole;

    (void)state;
    assert_int_equal(labels_set(&a->labels, "service", "checkout"), ST_OK);
    a->cpus = 4;
    assert_int_equal(wire_writer_new(1 << 16, &w), ST_OK);
    assert_int_equal(agent_record_encode(a, w), ST_OK);
    whole = wire_writer_bytes(w);
    a->cpus = 8;
    for (size_t length = 0; length < whole.length; length++) {
        struct slice cut = {whole.bytes, length};

        assert_int_not_equal(agent_record_decode(cut, a), ST_OK);
        assert_int_equal(a->cpus, 8);
        assert_string_equal(labels_get(&a->labels, "service"), "checkout");
    }
    wire_writer_free(w);
    fleet_free(f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_agent_is_found_by_host_and_by_link),
        cmocka_unit_test(a_newer_link_takes_the_place_of_the_older),
        cmocka_unit_test(silence_counts_from_the_last_receipt),
        cmocka_unit_test(at_the_limit_no_one_more_is_added),
        cmocka_unit_test(many_agents_come_and_go),
        cmocka_unit_test(an_agent_survives_its_record),
        cmocka_unit_test(a_damaged_record_changes_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
