/* config - the agent's configuration: its keys. */
#include "agent/agent.h"

#define KEY(key_name, key_type, key_fallback, key_min, key_max, key_help)                         \
    {                                                                                             \
        .name = #key_name, .type = (key_type), .offset = offsetof(struct agent_config, key_name), \
        .fallback = (key_fallback), .min = (key_min), .max = (key_max), .help = (key_help)        \
    }

const struct config_key agent_config_keys[] = {
    KEY(coordinator, CONFIG_STRING, "tcp://127.0.0.1:7100", 0, 0,
        "where the coordinator listens: tcp://ADDRESS:PORT or ipc://PATH"),
    KEY(host, CONFIG_STRING, NULL, 0, 0, "the host's identity; its node name unless given"),
    KEY(spool, CONFIG_STRING, "/var/spool/fleetprof", 0, 0,
        "directory of the chunks that are not yet acknowledged"),
    KEY(spool_bytes, CONFIG_BYTES, "512MiB", 1 << 20, 0,
        "most bytes in the spool; the oldest chunk goes first"),
    KEY(spool_age, CONFIG_DURATION, "2d", 0, 0, "oldest chunk in the spool"),
    KEY(scope_cgroup, CONFIG_STRING, NULL, 0, 0,
        "sample only this cgroup v2 directory and below; the whole host unless given"),
    KEY(labels, CONFIG_LIST, NULL, 0, 0, "labels of the host, KEY=VALUE each"),
    KEY(ring_bytes, CONFIG_BYTES, "0", 0, 1 << 30,
        "the kernel's ring buffer, a power of two; 0: 8 MiB"),
};
const size_t agent_config_key_count = sizeof(agent_config_keys) / sizeof(agent_config_keys[0]);
