/* question - what is asked of the stored samples: parsed on the loop, answered on one of libuv's
 * worker threads over a snapshot of the store, sent on the loop. At most QUESTIONS_MAX at once. */
#ifndef COORDINATOR_HTTP_QUESTION_H
#define COORDINATOR_HTTP_QUESTION_H

#include <stdbool.h>
#include <stdint.h>

#include "common/selector.h"
#include "coordinator/http/call.h"
#include "coordinator/query/export.h"
#include "coordinator/query/profile.h"
#include "coordinator/query/rank.h"
#include "coordinator/query/symbolize.h"
#include "coordinator/query/window.h"

enum {
    QUESTIONS_MAX = 16, /* running or waiting for a worker; libuv has 4 unless told otherwise */
    QUESTION_LIMIT_DEFAULT = 20, /* rows */
    QUESTION_LIMIT_MAX = 100000,
    QUESTION_FILE_NAME_MAX = 64,
    QUESTION_TITLE_MAX = 256,
};

struct question_side { /* one set of samples; a comparison has two */
    struct window window;
    struct selector *select; /* owned; window.select */
    char text[QUESTION_TITLE_MAX]; /* as it was asked, for titles */
    struct profile profile; /* collected for those that want it */
};

struct question {
    /* set on the loop */
    struct question_side sides[2];
    uint32_t side_count;
    enum rank_by by[RANK_DIMENSIONS_MAX];
    uint32_t by_count;
    uint32_t limit;
    enum export_format format;
    bool page; /* HTML, not JSON */
    bool wants_profiles; /* collect them and open `symbolizer` before `work` runs */
    enum status (*work)(struct question *q); /* worker thread: fills in the answer */

    /* lent to `work` */
    struct store_view *view;
    struct symbolizer *symbolizer; /* NULL without profiles */
    const struct dictionary *dictionary;

    /* the answer: status and either bytes or a reason */
    char *bytes; /* malloc'd */
    size_t length;
    const char *media_type;
    char file_name[QUESTION_FILE_NAME_MAX]; /* "": not a download */
    char why[WINDOW_WHY_MAX];
};

/* With the default rows and dimension, and profiles wanted. NULL: the call is
 * answered. */
struct question *question_begin(struct call *c, enum status (*work)(struct question *q));
void question_free(struct question *q); /* NULL is fine */

/* Takes `q` and answers the call, later; 429 when too many are asked at once. */
void question_ask(struct call *c, struct question *q);

/* For `work`: the answer as JSON; takes `value`, NULL is ST_NOMEM. */
enum status question_answer_json(struct question *q, json_t *value);

#endif
