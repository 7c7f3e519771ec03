/* ranking - the hottest rows of a window as a table; `top` prints it, and a start that waited. */
#ifndef COORDINATOR_CLI_RANKING_H
#define COORDINATOR_CLI_RANKING_H

#include "coordinator/cli/cli.h"

struct json_t;

/* `label` stands before the coverage line. `top` is the API's answer. */
void print_ranking(struct cli *c, const char *label, const struct json_t *top);

/* Columns that name a row: one a key of `by`, and the binary when any row has one. Returns how many
 * were added to `columns`, which has GRID_COLUMNS_MAX places from `at`. */
struct grid;
struct grid_column;
unsigned key_columns(const struct json_t *answer, struct grid_column *columns, unsigned at);
/* The cells of those columns. */
void key_cells(struct grid *g, const struct json_t *answer, const struct json_t *row);

#endif
