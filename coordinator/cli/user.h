/* user - who sits at the terminal. */
#ifndef COORDINATOR_CLI_USER_H
#define COORDINATOR_CLI_USER_H

const char *user_name(void); /* behind sudo too; "unknown" */

#endif
