#include "agent/identity.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

#include "common/utf8.h"

enum { LINE_BYTES = 512 };

/* The value of the first line that begins with `key`, as in "model name\t: AMD EPYC"; "" if none.
 */
static void read_cpu_model(char out[LABEL_VALUE_MAX + 1])
{
    FILE *f = fopen("/proc/cpuinfo", "re");
    char line[LINE_BYTES];

    out[0] = '\0';
    while (f != NULL && fgets(line, sizeof(line), f) != NULL) {
        char *colon = strchr(line, ':');

        if (strncmp(line, "model name", 10) != 0 || colon == NULL)
            continue;
        (void)snprintf(out, LABEL_VALUE_MAX + 1, "%.*s", (int)strcspn(colon + 2, "\n"), colon + 2);
        utf8_repair(out, strlen(out));
        break;
    }
    if (f != NULL)
        (void)fclose(f);
}

/* The kernel writes the boot id as a UUID: its dashes are left out. Zero where there is none. */
static struct id128 read_boot_id(void)
{
    FILE *f = fopen("/proc/sys/kernel/random/boot_id", "re");
    struct id128 id = {{0}};
    char text[64], hex[ID128_TEXT_MAX];
    size_t n = 0;

    if (f == NULL)
        return id;
    if (fgets(text, sizeof(text), f) != NULL) {
        for (const char *c = text; *c != '\0' && n < sizeof(hex) - 1; c++)
            if (*c != '-' && *c != '\n')
                hex[n++] = *c;
        hex[n] = '\0';
        if (id128_parse(hex, &id) != ST_OK)
            id = (struct id128){{0}};
    }
    (void)fclose(f);
    return id;
}

static enum status set_own_labels(struct identity *i, const struct utsname *u)
{
    char cpu[LABEL_VALUE_MAX + 1];
    enum status st = labels_set(&i->labels, "host", i->host);

    read_cpu_model(cpu);
    if (st == ST_OK)
        st = labels_set(&i->labels, "kernel", u->release);
    if (st == ST_OK && cpu[0] != '\0')
        st = labels_set(&i->labels, "cpu", cpu);
    if (st == ST_OK)
        st = labels_set(&i->labels, "version", FLEETPROF_VERSION);
    return st;
}

static enum status set_configured_labels(struct identity *i, const struct config_list *list,
                                         char why[AGENT_WHY_MAX])
{
    for (unsigned n = 0; n < list->count; n++) {
        enum status st = labels_set_pair(&i->labels, list->items[n]);

        if (st == ST_OK)
            continue;
        (void)snprintf(why, AGENT_WHY_MAX,
                       "the label '%.100s' is not KEY=VALUE with a key of [a-z][a-z0-9_.-]* (%d "
                       "bytes at most) and a value of at most %d bytes",
                       list->items[n], LABEL_KEY_MAX, LABEL_VALUE_MAX);
        return st;
    }
    return ST_OK;
}

enum status identity_read(const struct agent_config *config, struct identity *out,
                          char why[AGENT_WHY_MAX])
{
    struct identity i = {.incarnation = random_u64(), .boot_id = read_boot_id()};
    struct utsname u;
    const char *host;
    enum status st;

    if (uname(&u) != 0) {
        (void)snprintf(why, AGENT_WHY_MAX, "uname failed");
        return ST_IO;
    }
    host = config->host != NULL ? config->host : u.nodename;
    if (host[0] == '\0' || strlen(host) > MESSAGE_HOST_MAX) {
        (void)snprintf(why, AGENT_WHY_MAX, "the host name '%.100s' is not of 1 to %d bytes", host,
                       MESSAGE_HOST_MAX);
        return ST_INVALID;
    }
    (void)snprintf(i.host, sizeof(i.host), "%s", host);
    st = set_own_labels(&i, &u);
    if (st != ST_OK)
        (void)snprintf(why, AGENT_WHY_MAX, "the host name '%.100s' cannot be a label: %s", host,
                       status_text(st));
    else
        st = set_configured_labels(&i, &config->labels, why);
    if (st != ST_OK) {
        identity_deinit(&i);
        return st;
    }
    *out = i;
    return ST_OK;
}

void identity_deinit(struct identity *i)
{
    labels_deinit(&i->labels);
}
