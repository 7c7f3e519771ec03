/* event - what a sample means. Numbers are on the wire and in the store; never reuse one. */
#ifndef COMMON_EVENT_H
#define COMMON_EVENT_H

#include <stdbool.h>
#include <stdint.h>

/* number, NAME, text, unit of a weight */
#define EVENT_LIST(X)      \
    X(1, CPU, "cpu", "ns") \
    X(2, OFFCPU, "offcpu", "ns")

enum event {
    EVENT_NONE = 0,
#define X(number, NAME, text, unit) EVENT_##NAME = (number),
    EVENT_LIST(X)
#undef X
};

enum event_index { /* for tables of one row an event */
#define X(number, NAME, text, unit) EVENT_INDEX_##NAME,
                   EVENT_LIST(X)
#undef X
                       EVENTS
};

const char *event_name(enum event e); /* "cpu"; "none" for EVENT_NONE */
const char *event_unit(enum event e);
bool event_parse(const char *text, enum event *out);
bool event_from_number(uint64_t number, enum event *out);

enum {
    HZ_MIN = 1,
    HZ_MAX = 10000, /* past 5 kHz the timer interrupt alone costs over 7 % of a CPU */
    HZ_DEFAULT = 99, /* odd, so that it does not keep step with the kernel's tick */
    /* Every thread that waits gives as many samples a second, and a host has thousands: at this
     * rate 10,000 of them fill a window of 10 s. Waits of 0.1 s and more are seen for certain. */
    HZ_DEFAULT_OFFCPU = 9,
};

uint32_t event_default_hz(enum event e);

#endif
