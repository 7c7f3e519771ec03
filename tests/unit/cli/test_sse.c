/* Server-sent events, however the bytes arrive. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "coordinator/cli/sse.h"

struct heard {
    char all[256]; /* the events' data, each followed by '|' */
    unsigned leave_after; /* 0: never */
    unsigned count;
};

static bool each(void *arg, const char *data)
{
    struct heard *h = arg;
    size_t at = strlen(h->all);

    snprintf(h->all + at, sizeof(h->all) - at, "%s|", data);
    return ++h->count != h->leave_after;
}

static enum sse_result feed_by(struct heard *h, const char *text, size_t step)
{
    struct sse s = {.each = each, .arg = h};
    enum sse_result result = SSE_MORE;
    size_t length = strlen(text);

    for (size_t at = 0; at < length && result == SSE_MORE; at += step)
        result = sse_feed(&s, text + at, at + step < length ? step : length - at);
    sse_deinit(&s);
    return result;
}

static void events_are_the_same_however_they_are_cut(void **state)
{
    static const char text[] = "event: session\ndata: {\"a\":1}\n\n: comment\n\n"
                               "data:no blank\r\n\r\ndata: two\rdata: lines\r\rdata: unfinished";

    (void)state;
    for (size_t step = 1; step < sizeof(text); step++) {
        struct heard h = {0};

        assert_int_equal(feed_by(&h, text, step), SSE_MORE);
        assert_string_equal(h.all, "{\"a\":1}|no blank|two\nlines|");
    }
}

static void the_listener_can_leave(void **state)
{
    struct heard h = {.leave_after = 1};

    (void)state;
    assert_int_equal(feed_by(&h, "data: 1\n\ndata: 2\n\n", 100), SSE_LEFT);
    assert_string_equal(h.all, "1|");
}

static void an_endless_line_is_refused(void **state)
{
    struct heard h = {0};
    struct sse s = {.each = each, .arg = &h};
    enum { STEP = 1 << 20 };
    char *block = malloc(STEP);
    enum sse_result result = SSE_MORE;
    int fed = 0;

    (void)state;
    memset(block, 'x', STEP);
    for (; fed <= SSE_EVENT_BYTES_MAX / STEP && result == SSE_MORE; fed++)
        result = sse_feed(&s, block, STEP);
    assert_int_equal(result, SSE_TOO_BIG);
    free(block);
    sse_deinit(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(events_are_the_same_however_they_are_cut),
        cmocka_unit_test(the_listener_can_leave),
        cmocka_unit_test(an_endless_line_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
