#include "common/event.h"

#include <string.h>

const char *event_name(enum event e)
{
    switch (e) {
    case EVENT_NONE:
        return "none";
#define X(number, NAME, text, unit) \
    case EVENT_##NAME:              \
        return text;
        EVENT_LIST(X)
#undef X
    }
    return "unknown";
}

const char *event_unit(enum event e)
{
    switch (e) {
    case EVENT_NONE:
        return "";
#define X(number, NAME, text, unit) \
    case EVENT_##NAME:              \
        return unit;
        EVENT_LIST(X)
#undef X
    }
    return "";
}

static const enum event events[] = {
#define X(number, NAME, text, unit) EVENT_##NAME,
    EVENT_LIST(X)
#undef X
};

enum { EVENTS = sizeof(events) / sizeof(events[0]) };

bool event_parse(const char *text, enum event *out)
{
    for (unsigned i = 0; i < EVENTS; i++) {
        if (strcmp(text, event_name(events[i])) == 0) {
            *out = events[i];
            return true;
        }
    }
    return false;
}

bool event_from_number(uint64_t number, enum event *out)
{
    for (unsigned i = 0; i < EVENTS; i++) {
        if (number == (uint64_t)events[i]) {
            *out = events[i];
            return true;
        }
    }
    return false;
}
