/* ranking - the hottest rows of a window as a table; `top` prints it, and a start that waited. */
#ifndef COORDINATOR_CLI_RANKING_H
#define COORDINATOR_CLI_RANKING_H

#include "coordinator/cli/cli.h"

struct grid;
struct grid_column;
struct json_t;

/* A print_answer: the coverage line and the table of the API's answer to /top. */
void print_ranking(struct cli *c, const struct options *o, const struct json_t *top);

/* Columns that name a row: one a key of `by`, and the binary when any row has one. Returns how many
 * were added to `columns`, which has GRID_COLUMNS_MAX places from `at`. */
unsigned key_columns(const struct json_t *answer, struct grid_column *columns, unsigned at);
/* The cells of those columns. */
void key_cells(struct grid *g, const struct json_t *answer, const struct json_t *row);

#endif
