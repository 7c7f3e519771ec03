/* config - fleetprofd's configuration: its keys, and what must hold between them. */
#include <stdio.h>
#include <string.h>

#include "common/url.h"
#include "coordinator/coordinator.h"
#include "coordinator/symbols/debuginfod.h"
#include "coordinator/symbols/download.h"
#include "coordinator/uploads.h"

#define KEY(key_name, key_type, key_fallback, key_min, key_max, key_help)                    \
    {                                                                                        \
        .name = #key_name, .type = (key_type),                                               \
        .offset = offsetof(struct coordinator_config, key_name), .fallback = (key_fallback), \
        .min = (key_min), .max = (key_max), .help = (key_help)                               \
    }

const struct config_key coordinator_config_keys[] = {
    KEY(store, CONFIG_STRING, "/var/lib/fleetprof", 0, 0, "directory of the store"),
    KEY(listen, CONFIG_LIST, NULL, 0, 0,
        "where agents connect: tcp://ADDRESS:PORT or ipc://PATH; tcp://127.0.0.1:7100 by default"),
    KEY(http_socket, CONFIG_STRING, "/run/fleetprof/api.sock", 0, 0, "UNIX socket of the API"),
    KEY(http_host, CONFIG_STRING, "127.0.0.1", 0, 0, "loopback address of the API"),
    KEY(http_port, CONFIG_U64, "7180", 0, 65535, "port of the API; 0: only the UNIX socket"),
    KEY(map_bytes, CONFIG_BYTES, "0", 0, 0, "address space of one store file; 0: 64 GiB"),
    KEY(window, CONFIG_U64, "8", 1, UPLOADS_MAX / 2, "chunks an agent may send unacknowledged"),
    KEY(insecure_plain, CONFIG_BOOL, "false", 0, 0,
        "let agents connect over a network without TLS"),
    KEY(debuginfod, CONFIG_LIST, NULL, 0, 0,
        "http or https URLs of debuginfod servers that are asked for names no host has; none by "
        "default: nobody is asked"),
    KEY(debuginfod_bytes, CONFIG_BYTES, "256MiB", 0, 0, "most that one debug file may have"),
};
const size_t coordinator_config_key_count =
    sizeof(coordinator_config_keys) / sizeof(coordinator_config_keys[0]);

static enum status check_listen(const char *url, bool plain, char why[COORDINATOR_WHY_MAX])
{
    if (strncmp(url, "ipc://", 6) != 0 && strncmp(url, "tcp://", 6) != 0) {
        snprintf(why, COORDINATOR_WHY_MAX,
                 "listen: %.200s: accepted are tcp://ADDRESS:PORT and ipc://PATH", url);
        return ST_INVALID;
    }
    if (url_is_remote(url) && !plain) {
        snprintf(why, COORDINATOR_WHY_MAX,
                 "listen: %.200s can be reached over a network, and this version has no TLS; "
                 "accepted are ipc://PATH and tcp://127.0.0.1:PORT, or say insecure_plain",
                 url);
        return ST_INVALID;
    }
    return ST_OK;
}

static enum status check_debuginfod(const struct config_list *urls, char why[COORDINATOR_WHY_MAX])
{
    if (urls->count > DEBUGINFOD_URLS_MAX) {
        snprintf(why, COORDINATOR_WHY_MAX, "debuginfod: %u URLs: at most %d are accepted",
                 urls->count, DEBUGINFOD_URLS_MAX);
        return ST_INVALID;
    }
    for (unsigned i = 0; i < urls->count; i++) {
        if (download_url_valid(urls->items[i]))
            continue;
        snprintf(why, COORDINATOR_WHY_MAX,
                 "debuginfod: %.200s: accepted are http://HOST[:PORT][/PATH] and https://...",
                 urls->items[i]);
        return ST_INVALID;
    }
    return ST_OK;
}

enum status coordinator_config_check(const struct coordinator_config *config,
                                     char why[COORDINATOR_WHY_MAX])
{
    if (config->store == NULL || config->store[0] == '\0') {
        snprintf(why, COORDINATOR_WHY_MAX, "store: a directory is needed");
        return ST_INVALID;
    }
    for (unsigned i = 0; i < config->listen.count; i++)
        if (check_listen(config->listen.items[i], config->insecure_plain, why) != ST_OK)
            return ST_INVALID;
    if (check_debuginfod(&config->debuginfod, why) != ST_OK)
        return ST_INVALID;
    if (config->http_port != 0 && !url_is_loopback(config->http_host, strlen(config->http_host))) {
        snprintf(why, COORDINATOR_WHY_MAX,
                 "http_host: %.200s is not a loopback address; the API has no TLS and no tokens in "
                 "this version",
                 config->http_host);
        return ST_INVALID;
    }
    return ST_OK;
}
