/* disclosure - which values of a process's environment and arguments may leave the host: those that
 * the operator names, and never another. They become the labels env.NAME and arg.FLAG, in lower
 * case as labels are. Pure. */
#ifndef AGENT_PROCESS_DISCLOSURE_H
#define AGENT_PROCESS_DISCLOSURE_H

#include <stdbool.h>

#include "common/config.h"
#include "common/labels.h"
#include "common/wire.h"

enum { DISCLOSURE_NAMES_MAX = 16 }; /* of each kind: with the rest they fit into LABELS_MAX */

struct disclosure { /* lent; zero: nothing is disclosed */
    struct config_list environment; /* names of variables: APP_VERSION */
    struct config_list arguments; /* flags with their dashes: --shard, -p */
};

/* ST_INVALID: `why` names the one that cannot be a label. */
enum status disclosure_check(const struct disclosure *d, char why[CONFIG_WHY_MAX]);

/* /proc/PID/environ: texts that end with a NUL. Without memory a label is left out. */
void disclosure_add_environment(const struct disclosure *d, struct slice text, struct labels *l);

/* /proc/PID/cmdline. The value of --flag=value, or the word behind the flag unless that begins with
 * a dash; "true" where there is none. The last of several counts; "--" ends the flags. */
void disclosure_add_arguments(const struct disclosure *d, struct slice text, struct labels *l);

#endif
