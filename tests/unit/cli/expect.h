/* expect - a command line run against canned answers, and what is held against it. */
#ifndef TESTS_UNIT_CLI_EXPECT_H
#define TESTS_UNIT_CLI_EXPECT_H

#include "tests/unit/cli/run.h"

/* Sessions as the coordinator shows them. */
#define ID_OLD "00a1b2c3d4e5f607"
#define ID_NEW "00ffb2c3d4e5f607"
#define SESSION(id, state, hosts)                                                          \
    "{\"id\":\"" id "\",\"selector\":\"service=web\",\"event\":\"cpu\",\"hz\":99,"         \
    "\"owner\":\"root\",\"note\":\"\",\"created\":\"2026-11-30T21:00:00.000Z\","           \
    "\"ends\":\"2026-11-30T21:00:30.000Z\",\"state\":\"" state "\",\"hosts\":[" hosts "]," \
    "\"states\":{\"first_sample\":1},\"samples\":1980,\"lost\":0,\"chunks\":3}"
#define HOST_FINE                                                                         \
    "{\"host\":\"web1\",\"state\":\"ended\",\"reason\":\"\",\"samples\":1980,\"lost\":0," \
    "\"chunks\":3}"
#define HOST_REFUSED                                                                       \
    "{\"host\":\"web2\",\"state\":\"refused\",\"reason\":\"no permission\",\"samples\":0," \
    "\"lost\":0,\"chunks\":0}"
#define SESSIONS                                                         \
    "{\"sessions\":[" SESSION(ID_NEW, "running", HOST_FINE) "," SESSION( \
        ID_OLD, "completed", HOST_FINE) "],\"total\":2}"
#define TOP "{\"event\":\"cpu\",\"by\":[\"function\"],\"rows\":[],\"coverage\":{}}"
#define EVENT(session) "event: session\ndata: " session "\n\n"

/* Runs `line` against `answers`; the caller's test fails when the outcome is another. `asked` (may
 * be NULL) is what the stub was asked, to be freed. */
struct ran expect(const struct canned *answers, const char *line, enum outcome outcome,
                  char **asked);
void assert_holds(const char *text, const char *part);

#endif
