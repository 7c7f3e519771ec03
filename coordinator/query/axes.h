/* axes - what the rows of a table are: functions, binaries, services, hosts, threads, or up to
 * three of them together. Rows have dense numbers that mean the same for every profile that is
 * summed over the same axes, which is how two profiles are compared. One thread. */
#ifndef COORDINATOR_QUERY_AXES_H
#define COORDINATOR_QUERY_AXES_H

#include <stdbool.h>
#include <stdint.h>

#include "common/status.h"
#include "coordinator/query/keys.h"
#include "coordinator/query/profile.h"
#include "coordinator/query/rank.h"
#include "coordinator/query/symbolize.h"
#include "coordinator/query/texts.h"

struct axes {
    struct symbolizer *symbolizer;
    const struct dictionary *dictionary;
    enum rank_by by[RANK_DIMENSIONS_MAX];
    uint32_t by_count;
    struct texts texts; /* of binaries, services, hosts and threads */
    struct keys tasks; /* texts of the dimensions that are not code */
    struct keys rows; /* axes_row_key */
};

/* ST_INVALID: no dimension, too many, or one twice. */
enum status axes_init(struct axes *x, struct symbolizer *s, const struct dictionary *d,
                      const enum rank_by *by, uint32_t by_count);
void axes_deinit(struct axes *x);

/* The two halves of a row. What code a function is: itself, its binary, or 0 where neither is asked
 * for. Which of the dimensions' tasks a profile's task is: 0 where none is asked for. ST_NOMEM. */
enum status axes_code(struct axes *x, uint32_t function, uint32_t *out);
enum status axes_task(struct axes *x, const struct profile *p, const struct profile_task *task,
                      uint32_t *out);
bool axes_have_code(const struct axes *x);
bool axes_have_tasks(const struct axes *x);

static inline struct key axes_row_key(uint32_t code, uint32_t task)
{
    return (struct key){.high = task, .low = code};
}

/* A row's text in a dimension, and its function's binary; NULL where no dimension is the function.
 * While the axes and their symbolizer live. */
const char *axes_text(const struct axes *x, uint32_t row, uint32_t dimension);
const char *axes_binary(const struct axes *x, uint32_t row);
/* Copies of both, one text a dimension. On ST_NOMEM what is there is the caller's to free. */
enum status axes_copy_texts(const struct axes *x, uint32_t row, char *key[RANK_DIMENSIONS_MAX],
                            char **binary);
int axes_compare(const struct axes *x, uint32_t a, uint32_t b); /* rows by their texts */

#endif
