/* follow - watches a session until it has ended: one line on a terminal, redrawn; nothing in a
 * pipe. Survives a restart of the coordinator. */
#ifndef COORDINATOR_CLI_FOLLOW_H
#define COORDINATOR_CLI_FOLLOW_H

#include "coordinator/cli/cli.h"

struct json_t;

enum follow_end {
    FOLLOW_ENDED, /* completed or stopped */
    FOLLOW_LEFT, /* Ctrl-C */
    FOLLOW_LATE, /* the deadline passed before the session had ended */
    FOLLOW_FAILED, /* said on `err`; see `outcome` */
};

struct follow {
    const char *session;
    bool json_lines; /* print each state of the session to `out` as it comes */
    struct mono deadline; /* 0: none */
    /* results */
    struct json_t *last; /* the session as last heard; owned, answer_free; NULL: never heard */
    enum outcome outcome; /* of FOLLOW_FAILED */
};

enum follow_end follow_session(struct cli *c, struct follow *f);

/* Waits until no agent has symbols to deliver any more, a few seconds at most: what is asked right
 * after a session has names then. Ctrl-C ends the wait. */
void follow_names(struct cli *c);

#endif
