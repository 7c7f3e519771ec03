/* side - one side of a comparison, written as a session's id or as "from..to". */
#ifndef COORDINATOR_CLI_SIDE_H
#define COORDINATOR_CLI_SIDE_H

#include "coordinator/cli/question.h"

/* Adds a, b, select_a and select_b from the command's two arguments. A side that is neither is
 * refused with what would be right. */
enum outcome add_sides(struct cli *c, const struct options *o, struct path *p);

#endif
