#include "agent/process/cgroup.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

static bool is_hex(uint8_t c)
{
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
}

/* Where a run of exactly 64 hex digits starts; NULL: nowhere. */
static const uint8_t *find_id(struct slice name)
{
    size_t run = 0;

    for (size_t i = 0; i <= name.length; i++) {
        if (i < name.length && is_hex(name.bytes[i])) {
            run++;
            continue;
        }
        if (run == CGROUP_CONTAINER_MAX - 1)
            return name.bytes + i - run;
        run = 0;
    }
    return NULL;
}

/* The containers of ECS on Fargate: 32 hex digits, a dash and decimal digits. */
static bool is_task_id(struct slice name)
{
    size_t i = 0;

    while (i < name.length && is_hex(name.bytes[i]))
        i++;
    if (i != 32 || i + 1 >= name.length || name.bytes[i] != '-')
        return false;
    while (++i < name.length)
        if (name.bytes[i] < '0' || name.bytes[i] > '9')
            return false;
    return name.length < CGROUP_CONTAINER_MAX;
}

static bool contains(struct slice name, const char *part)
{
    return name.length > 0 && memmem(name.bytes, name.length, part, strlen(part)) != NULL;
}

static bool ends_with(struct slice name, const char *suffix)
{
    size_t length = strlen(suffix);

    return name.length > length && memcmp(name.bytes + name.length - length, suffix, length) == 0;
}

static bool is_unit(struct slice name)
{
    static const char *const suffixes[] = {".service", ".scope", ".socket", ".mount", ".swap"};

    for (size_t i = 0; i < sizeof(suffixes) / sizeof(suffixes[0]); i++)
        if (ends_with(name, suffixes[i]))
            return true;
    return false;
}

static void copy_unit(char out[CGROUP_UNIT_MAX], struct slice name)
{
    if (name.length < CGROUP_UNIT_MAX)
        (void)snprintf(out, CGROUP_UNIT_MAX, "%.*s", (int)name.length, (const char *)name.bytes);
}

/* What stands between `prefix` and `suffix`, if anything does and fits. */
static bool copy_between(struct slice name, const char *prefix, const char *suffix,
                         char out[CGROUP_CONTAINER_MAX])
{
    size_t length = strlen(prefix) + strlen(suffix);

    if (name.length <= length || name.length - length >= CGROUP_CONTAINER_MAX ||
        memcmp(name.bytes, prefix, strlen(prefix)) != 0 ||
        memcmp(name.bytes + name.length - strlen(suffix), suffix, strlen(suffix)) != 0)
        return false;
    (void)snprintf(out, CGROUP_CONTAINER_MAX, "%.*s", (int)(name.length - length),
                   (const char *)name.bytes + strlen(prefix));
    return true;
}

/* conmon watches over a container from a scope of its own, and is not in it. */
static void read_container(struct slice name, char out[CGROUP_CONTAINER_MAX])
{
    const uint8_t *id = find_id(name);

    if (id != NULL && !contains(name, "conmon"))
        (void)snprintf(out, CGROUP_CONTAINER_MAX, "%.64s", (const char *)id);
    else if (is_task_id(name))
        (void)snprintf(out, CGROUP_CONTAINER_MAX, "%.*s", (int)name.length,
                       (const char *)name.bytes);
    else if (!copy_between(name, "lxc.payload.", "", out))
        (void)copy_between(name, "systemd-nspawn@", ".service", out);
}

static void read_component(struct slice name, struct cgroup_names *names,
                           char slice_unit[CGROUP_UNIT_MAX])
{
    read_container(name, names->container);
    if (is_unit(name))
        copy_unit(names->unit, name);
    else if (ends_with(name, ".slice"))
        copy_unit(slice_unit, name);
}

static void derive_service(struct cgroup_names *names)
{
    static const char suffix[] = ".service";
    size_t length = strlen(names->unit);

    if (length >= sizeof(suffix) && strcmp(names->unit + length - strlen(suffix), suffix) == 0)
        (void)snprintf(names->service, sizeof(names->service), "%.*s",
                       (int)(length - strlen(suffix)), names->unit);
    else
        (void)snprintf(names->service, sizeof(names->service), "%.*s", CGROUP_SHORT_ID,
                       names->container);
}

void cgroup_parse(struct slice path, struct cgroup_names *out)
{
    char slice_unit[CGROUP_UNIT_MAX] = "";
    struct cgroup_names names = {0};

    while (path.length > 0) {
        const uint8_t *end = memchr(path.bytes, '/', path.length);
        size_t length = end != NULL ? (size_t)(end - path.bytes) : path.length;
        size_t taken = end != NULL ? length + 1 : length;

        read_component((struct slice){path.bytes, length}, &names, slice_unit);
        path = (struct slice){path.bytes + taken, path.length - taken};
    }
    if (names.unit[0] == '\0')
        memcpy(names.unit, slice_unit, sizeof(names.unit));
    derive_service(&names);
    *out = names;
}
