/* fleetprof-agent - the agent's command line. */
#include <argp.h>
#include <malloc.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/agent.h"
#include "agent/host_source.h"
#include "agent/process/disclosure.h"
#include "agent/symbol_reader.h"
#include "common/log.h"

#define CONFIG_PATH "/etc/fleetprof/fleetprof-agent.yaml"

enum {
    /* Larger blocks go back to the kernel when they are freed: packing symbols takes megabytes
     * once, and glibc would raise the threshold of itself and keep them. */
    MMAP_THRESHOLD = 256 << 10,
};

enum { EXIT_USAGE = 2, LABELS_GIVEN_MAX = 64, OPTION_SCOPE = 256, OPTION_PLAIN };

const char *argp_program_version = "fleetprof-agent " FLEETPROF_VERSION;

static const struct argp_option options[] = {
    {"config", 'c', "FILE", 0, "Configuration in YAML (" CONFIG_PATH " if it exists)", 0},
    {"coordinator", 'u', "URL", 0,
     "Where the coordinator listens, tcp://ADDRESS:PORT or ipc://PATH (tcp://127.0.0.1:7100)", 0},
    {"insecure-plain", OPTION_PLAIN, NULL, 0,
     "Connect to a coordinator over a network without TLS: whoever is between can read along", 0},
    {"host", 'n', "NAME", 0, "The host's identity (its node name)", 0},
    {"spool", 's', "DIR", 0, "Directory of the spool (/var/spool/fleetprof)", 0},
    {"scope-cgroup", OPTION_SCOPE, "DIR", 0,
     "Sample only this cgroup v2 directory and below (the whole host)", 0},
    {"label", 'l', "KEY=VALUE", 0, "A label of the host; may be repeated", 0},
    {"log-level", 'v', "LEVEL", 0, "debug, info, warn or error (info)", 0},
    {0},
};

struct arguments {
    const char *config, *coordinator, *host, *spool, *scope, *log_level;
    const char *labels[LABELS_GIVEN_MAX];
    unsigned label_count;
    bool insecure_plain;
};

static error_t take_option(int key, char *text, struct argp_state *state)
{
    struct arguments *a = state->input;

    switch (key) {
    case 'c':
        a->config = text;
        return 0;
    case 'u':
        a->coordinator = text;
        return 0;
    case 'n':
        a->host = text;
        return 0;
    case 's':
        a->spool = text;
        return 0;
    case OPTION_PLAIN:
        a->insecure_plain = true;
        return 0;
    case OPTION_SCOPE:
        a->scope = text;
        return 0;
    case 'l':
        if (a->label_count == LABELS_GIVEN_MAX)
            argp_error(state, "--label is accepted %d times", LABELS_GIVEN_MAX);
        a->labels[a->label_count++] = text;
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

static enum status set(struct agent_config *config, const char *key, const char *text,
                       char why[CONFIG_WHY_MAX])
{
    if (text == NULL)
        return ST_OK;
    return config_set(agent_config_keys, agent_config_key_count, config, key, text, why);
}

static enum status set_all(struct agent_config *config, const struct arguments *a,
                           char why[CONFIG_WHY_MAX])
{
    enum status st = set(config, "coordinator", a->coordinator, why);

    if (st == ST_OK)
        st = set(config, "insecure_plain", a->insecure_plain ? "true" : NULL, why);
    if (st == ST_OK)
        st = set(config, "host", a->host, why);
    if (st == ST_OK)
        st = set(config, "spool", a->spool, why);
    if (st == ST_OK)
        st = set(config, "scope_cgroup", a->scope, why);
    for (unsigned i = 0; i < a->label_count && st == ST_OK; i++)
        st = set(config, "labels", a->labels[i], why);
    return st;
}

static enum status load(const struct arguments *a, struct agent_config *config,
                        char why[CONFIG_WHY_MAX])
{
    const struct config_key *keys = agent_config_keys;
    const char *path = a->config != NULL ? a->config : CONFIG_PATH;
    enum status st = config_load(path, keys, agent_config_key_count, config, why);

    if (st == ST_NOT_FOUND && a->config == NULL)
        st = config_load(NULL, keys, agent_config_key_count, config, why);
    if (st != ST_OK)
        return st;
    st = set_all(config, a, why);
    if (st == ST_OK)
        st = agent_config_check(config, why);
    if (st != ST_OK)
        config_free(keys, agent_config_key_count, config);
    return st;
}

static int run(const struct agent_config *config)
{
    const struct disclosure disclosure = {config->process_environment, config->process_arguments};
    const struct host_source_options from = {
        .scope_cgroup = config->scope_cgroup,
        .ring_bytes = (uint32_t)config->ring_bytes,
        .jit_bytes = config->jit_bytes,
        .disclosure = &disclosure,
    };
    char why[AGENT_WHY_MAX] = "";
    struct source *source;
    struct agent *a = NULL;
    enum status st = host_source_open(&from, &source, why);

    if (st == ST_OK)
        st = agent_new(config, source, &a, why);
    if (st == ST_OK)
        st = agent_run(a);
    else
        log_error("event=not_started why=\"%s\"", why[0] != '\0' ? why : status_text(st));
    agent_free(a);
    return st == ST_OK ? EXIT_SUCCESS : EXIT_FAILURE;
}

int main(int argc, char **argv)
{
    static const struct argp argp = {
        .options = options,
        .parser = take_option,
        .doc = "The fleetprof agent: samples this host as the coordinator wishes.",
    };
    struct arguments arguments = {0};
    struct agent_config config;
    char why[CONFIG_WHY_MAX] = "";
    enum log_level level = LOG_LEVEL_INFO;
    enum status st;
    int code;

    if (argc == 3 && strcmp(argv[1], SYMBOL_READER_OPTION) == 0)
        symbol_reader_main(argv[2]);
    (void)mallopt(M_MMAP_THRESHOLD, MMAP_THRESHOLD);
    argp_err_exit_status = EXIT_USAGE;
    argp_parse(&argp, argc, argv, 0, NULL, &arguments);
    if (arguments.log_level != NULL && !log_parse_level(arguments.log_level, &level)) {
        fprintf(stderr,
                "fleetprof-agent: --log-level %s: accepted are debug, info, warn and error\n",
                arguments.log_level);
        return EXIT_USAGE;
    }
    log_set_level(level);
    st = load(&arguments, &config, why);
    if (st != ST_OK) {
        fprintf(stderr, "fleetprof-agent: %s\n", why[0] != '\0' ? why : status_text(st));
        return EXIT_USAGE;
    }
    code = run(&config);
    config_free(agent_config_keys, agent_config_key_count, &config);
    return code;
}
