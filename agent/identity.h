/* identity - who this agent is: the host's name and labels, this life's number, the boot. */
#ifndef AGENT_IDENTITY_H
#define AGENT_IDENTITY_H

#include "agent/agent.h"
#include "common/message.h"

struct identity {
    char host[MESSAGE_HOST_MAX + 1];
    uint64_t incarnation;
    struct id128 boot_id;
    struct labels labels; /* owned: host, kernel, cpu, version and the configured ones */
};

/* ST_INVALID: `why` names the label or host name that cannot be one. */
enum status identity_read(const struct agent_config *config, struct identity *out,
                          char why[AGENT_WHY_MAX]);
void identity_deinit(struct identity *i);

#endif
