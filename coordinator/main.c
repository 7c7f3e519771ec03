/* fleetprofd - the coordinator's command line. */
#include <argp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/log.h"
#include "coordinator/coordinator.h"
#include "coordinator/symbols/reader.h"

#define CONFIG_PATH "/etc/fleetprof/fleetprofd.yaml"

enum {
    EXIT_USAGE = 2,
    URLS_MAX = 16,
    OPTION_HTTP_SOCKET = 256,
    OPTION_HTTP,
    OPTION_PLAIN,
    OPTION_DEBUGINFOD
};

const char *argp_program_version = "fleetprofd " FLEETPROF_VERSION;

static const struct argp_option options[] = {
    {"config", 'c', "FILE", 0, "Configuration in YAML (" CONFIG_PATH " if it exists)", 0},
    {"store", 's', "DIR", 0, "Directory of the store (/var/lib/fleetprof)", 0},
    {"listen", 'l', "URL", 0,
     "Where agents connect, tcp://ADDRESS:PORT or ipc://PATH; may be repeated "
     "(" COORDINATOR_LISTEN_DEFAULT ")",
     0},
    {"http-socket", OPTION_HTTP_SOCKET, "PATH", 0,
     "UNIX socket of the API (/run/fleetprof/api.sock)", 0},
    {"http", OPTION_HTTP, "HOST:PORT", 0,
     "Loopback address of the API (127.0.0.1:7180); port 0: only the UNIX socket", 0},
    {"insecure-plain", OPTION_PLAIN, NULL, 0,
     "Let agents connect over a network without TLS: anyone there can read and forge", 0},
    {"debuginfod", OPTION_DEBUGINFOD, "URL", 0,
     "Ask this debuginfod server, http or https, for names that no host has; may be repeated "
     "(none: nobody is asked)",
     0},
    {"log-level", 'v', "LEVEL", 0, "debug, info, warn or error (info)", 0},
    {0},
};

struct urls {
    const char *items[URLS_MAX];
    unsigned count;
};

struct arguments {
    const char *config, *store, *http_socket, *http, *log_level;
    struct urls listens, debuginfods;
    bool plain;
};

static void add_url(const struct argp_state *state, const char *option, struct urls *urls,
                    const char *text)
{
    if (urls->count == URLS_MAX)
        argp_error(state, "--%s is accepted %d times", option, URLS_MAX);
    urls->items[urls->count++] = text;
}

static error_t take_option(int key, char *text, struct argp_state *state)
{
    struct arguments *a = state->input;

    switch (key) {
    case 'c':
        a->config = text;
        return 0;
    case 's':
        a->store = text;
        return 0;
    case 'l':
        add_url(state, "listen", &a->listens, text);
        return 0;
    case OPTION_DEBUGINFOD:
        add_url(state, "debuginfod", &a->debuginfods, text);
        return 0;
    case OPTION_HTTP_SOCKET:
        a->http_socket = text;
        return 0;
    case OPTION_HTTP:
        a->http = text;
        return 0;
    case OPTION_PLAIN:
        a->plain = true;
        return 0;
    case 'v':
        a->log_level = text;
        return 0;
    case ARGP_KEY_ARG:
        argp_error(state, "'%s': only options are accepted", text);
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static enum status set(struct coordinator_config *config, const char *key, const char *text,
                       char why[CONFIG_WHY_MAX])
{
    if (text == NULL)
        return ST_OK;
    return config_set(coordinator_config_keys, coordinator_config_key_count, config, key, text,
                      why);
}

static enum status set_http(struct coordinator_config *config, const char *text,
                            char why[CONFIG_WHY_MAX])
{
    const char *colon = text != NULL ? strrchr(text, ':') : NULL;
    char host[256];
    enum status st;

    if (text == NULL)
        return ST_OK;
    if (colon == NULL || (size_t)(colon - text) >= sizeof(host)) {
        snprintf(why, CONFIG_WHY_MAX, "--http %.100s: accepted is HOST:PORT", text);
        return ST_INVALID;
    }
    memcpy(host, text, (size_t)(colon - text));
    host[colon - text] = '\0';
    st = set(config, "http_host", host, why);
    return st == ST_OK ? set(config, "http_port", colon + 1, why) : st;
}

/* The command line's URLs replace those of the file. */
static enum status set_urls(struct coordinator_config *config, const char *key,
                            struct config_list *of_file, const struct urls *urls,
                            char why[CONFIG_WHY_MAX])
{
    enum status st = ST_OK;

    if (urls->count > 0) {
        for (unsigned i = 0; i < of_file->count; i++)
            free(of_file->items[i]);
        of_file->count = 0;
    }
    for (unsigned i = 0; i < urls->count && st == ST_OK; i++)
        st = set(config, key, urls->items[i], why);
    return st;
}

static enum status load(const struct arguments *a, struct coordinator_config *config,
                        char why[COORDINATOR_WHY_MAX])
{
    const struct config_key *keys = coordinator_config_keys;
    const char *path = a->config != NULL ? a->config : CONFIG_PATH;
    enum status st = config_load(path, keys, coordinator_config_key_count, config, why);

    if (st == ST_NOT_FOUND && a->config == NULL)
        st = config_load(NULL, keys, coordinator_config_key_count, config, why);
    if (st != ST_OK)
        return st;
    st = set(config, "store", a->store, why);
    if (st == ST_OK)
        st = set(config, "http_socket", a->http_socket, why);
    if (st == ST_OK)
        st = set_http(config, a->http, why);
    if (st == ST_OK)
        st = set_urls(config, "listen", &config->listen, &a->listens, why);
    if (st == ST_OK)
        st = set_urls(config, "debuginfod", &config->debuginfod, &a->debuginfods, why);
    if (st == ST_OK && a->plain)
        st = set(config, "insecure_plain", "true", why);
    if (st == ST_OK)
        st = coordinator_config_check(config, why);
    if (st != ST_OK)
        config_free(keys, coordinator_config_key_count, config);
    return st;
}

static int run(const struct coordinator_config *config)
{
    char why[COORDINATOR_WHY_MAX] = "";
    struct coordinator *c = NULL;
    enum status st = coordinator_new(config, &c, why);

    if (st == ST_OK)
        st = coordinator_run(c);
    else
        log_error("event=not_started why=\"%s\"", why[0] != '\0' ? why : status_text(st));
    coordinator_free(c);
    return st == ST_OK ? EXIT_SUCCESS : EXIT_FAILURE;
}

int main(int argc, char **argv)
{
    static const struct argp argp = {
        .options = options,
        .parser = take_option,
        .doc = "The fleetprof coordinator: agents connect to it, operators ask it.",
    };
    struct arguments arguments = {0};
    struct coordinator_config config;
    char why[COORDINATOR_WHY_MAX] = "";
    enum log_level level = LOG_LEVEL_INFO;
    enum status st;
    int code;

    if (argc == 3 && strcmp(argv[1], READER_OPTION) == 0)
        return reader_main(argv[2]);
    argp_err_exit_status = EXIT_USAGE;
    argp_parse(&argp, argc, argv, 0, NULL, &arguments);
    if (arguments.log_level != NULL && !log_parse_level(arguments.log_level, &level)) {
        fprintf(stderr, "fleetprofd: --log-level %s: accepted are debug, info, warn and error\n",
                arguments.log_level);
        return EXIT_USAGE;
    }
    log_set_level(level);
    st = load(&arguments, &config, why);
    if (st != ST_OK) {
        fprintf(stderr, "fleetprofd: %s\n", why[0] != '\0' ? why : status_text(st));
        return EXIT_USAGE;
    }
    code = run(&config);
    config_free(coordinator_config_keys, coordinator_config_key_count, &config);
    return code;
}
