/* config - the agent's configuration: its keys, and what must hold beyond them. */
#include <stdio.h>
#include <string.h>

#include "agent/agent.h"
#include "agent/identity.h"
#include "agent/process/disclosure.h"
#include "common/url.h"

#define KEY(key_name, key_type, key_fallback, key_min, key_max, key_help)                         \
    {                                                                                             \
        .name = #key_name, .type = (key_type), .offset = offsetof(struct agent_config, key_name), \
        .fallback = (key_fallback), .min = (key_min), .max = (key_max), .help = (key_help)        \
    }

const struct config_key agent_config_keys[] = {
    KEY(coordinator, CONFIG_STRING, "tcp://127.0.0.1:7100", 0, 0,
        "where the coordinator listens: tcp://ADDRESS:PORT or ipc://PATH"),
    KEY(insecure_plain, CONFIG_BOOL, "false", 0, 0,
        "connect to a coordinator over a network without TLS"),
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
    KEY(jit_bytes, CONFIG_BYTES, "32MiB", 1 << 20, 1 << 30,
        "most memory for names of JIT code, from the perf maps that processes write"),
    KEY(process_environment, CONFIG_LIST, NULL, 0, 0,
        "variables of processes that may leave the host, as labels env.NAME; none unless given"),
    KEY(process_arguments, CONFIG_LIST, NULL, 0, 0,
        "flags of processes that may leave the host, as labels arg.FLAG; none unless given"),
};
const size_t agent_config_key_count = sizeof(agent_config_keys) / sizeof(agent_config_keys[0]);

static enum status check_url(const char *url, bool plain, char why[CONFIG_WHY_MAX])
{
    if (url == NULL || (strncmp(url, "tcp://", 6) != 0 && strncmp(url, "ipc://", 6) != 0)) {
        (void)snprintf(why, CONFIG_WHY_MAX,
                       "coordinator: '%.100s': accepted are tcp://ADDRESS:PORT and ipc://PATH",
                       url != NULL ? url : "");
        return ST_INVALID;
    }
    if (url_is_remote(url) && !plain) {
        (void)snprintf(why, CONFIG_WHY_MAX,
                       "coordinator: %.100s lies over a network, and this version has no TLS; "
                       "accepted are ipc://PATH and tcp://127.0.0.1:PORT, or say insecure_plain",
                       url);
        return ST_INVALID;
    }
    return ST_OK;
}

enum status agent_config_check(const struct agent_config *config, char why[CONFIG_WHY_MAX])
{
    char reason[AGENT_WHY_MAX] = "";
    struct identity identity;
    const struct disclosure disclosure = {config->process_environment, config->process_arguments};
    enum status st = check_url(config->coordinator, config->insecure_plain, why);

    if (st == ST_OK)
        st = disclosure_check(&disclosure, why);
    if (st != ST_OK)
        return st;
    st = identity_read(config, &identity, reason); /* host and labels */
    if (st == ST_OK)
        identity_deinit(&identity);
    else
        (void)snprintf(why, CONFIG_WHY_MAX, "%.*s", CONFIG_WHY_MAX - 1, reason);
    return st;
}
