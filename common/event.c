#include "common/event.h"

#include <stddef.h>
#include <string.h>

static const struct row {
    enum event event;
    const char *name, *unit;
} rows[] = {{EVENT_NONE, "none", ""},
#define X(number, NAME, text, unit) {EVENT_##NAME, text, unit},
            EVENT_LIST(X)
#undef X
};

enum { ROWS = sizeof(rows) / sizeof(rows[0]) };

static const struct row *find_row(uint64_t number)
{
    for (unsigned i = 0; i < ROWS; i++)
        if (number == (uint64_t)rows[i].event)
            return &rows[i];
    return NULL;
}

const char *event_name(enum event e)
{
    const struct row *row = find_row((uint64_t)e);

    return row != NULL ? row->name : "unknown";
}

const char *event_unit(enum event e)
{
    const struct row *row = find_row((uint64_t)e);

    return row != NULL ? row->unit : "";
}

bool event_parse(const char *text, enum event *out)
{
    for (unsigned i = 1; i < ROWS; i++) { /* "none" is no event */
        if (strcmp(text, rows[i].name) == 0) {
            *out = rows[i].event;
            return true;
        }
    }
    return false;
}

bool event_from_number(uint64_t number, enum event *out)
{
    const struct row *row = find_row(number);

    if (row == NULL || row->event == EVENT_NONE)
        return false;
    *out = row->event;
    return true;
}

uint32_t event_default_hz(enum event e)
{
    return e == EVENT_OFFCPU ? HZ_DEFAULT_OFFCPU : HZ_DEFAULT;
}
