/* The table becomes a libcyaml schema in which every value is text; the text of each key that the
 * file has then goes through config_set, so a file and an option obey the same rules. */
#include "common/config.h"

#include <cyaml/cyaml.h>
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/when.h"

enum { LIST_ITEMS_MAX = 256, VALUE_BYTES_MAX = 4096 };

struct parsed_key { /* as libcyaml leaves it: one of the two, both empty when the key is absent */
    char *text;
    char **items;
    unsigned item_count;
};

static const cyaml_schema_value_t list_item = {
    .type = CYAML_STRING,
    .flags = CYAML_FLAG_POINTER,
    .data_size = sizeof(char),
    .string = {.min = 0, .max = VALUE_BYTES_MAX},
};

static cyaml_schema_field_t schema_field(const struct config_key *key, size_t index)
{
    size_t base = index * sizeof(struct parsed_key);
    cyaml_schema_field_t field = {.key = key->name};

    field.value.flags = CYAML_FLAG_OPTIONAL | CYAML_FLAG_POINTER;
    if (key->type == CONFIG_LIST) {
        field.data_offset = (uint32_t)(base + offsetof(struct parsed_key, items));
        field.count_offset = (uint32_t)(base + offsetof(struct parsed_key, item_count));
        field.count_size = sizeof(unsigned);
        field.value.type = CYAML_SEQUENCE;
        field.value.data_size = sizeof(char *);
        field.value.sequence.entry = &list_item;
        field.value.sequence.max = LIST_ITEMS_MAX;
        return field;
    }
    field.data_offset = (uint32_t)(base + offsetof(struct parsed_key, text));
    field.value.type = CYAML_STRING;
    field.value.data_size = sizeof(char);
    field.value.string.max = VALUE_BYTES_MAX;
    return field;
}

/* libcyaml explains a fault in several lines, the first of which names it. */
static void keep_first_line(cyaml_log_t level, void *why, const char *format, va_list arguments)
{
    char *text = why;

    if (level < CYAML_LOG_ERROR || text[0] != '\0')
        return;
    (void)vsnprintf(text, CONFIG_WHY_MAX, format, arguments);
    text[strcspn(text, "\n")] = '\0';
}

static void *member(const struct config_key *key, void *target)
{
    return (char *)target + key->offset;
}

static enum status refuse(const struct config_key *key, const char *text, const char *accepted,
                          char *why)
{
    (void)snprintf(why, CONFIG_WHY_MAX, "%s: '%.60s' is not %s", key->name, text, accepted);
    return ST_INVALID;
}

static enum status check_range(const struct config_key *key, const char *text, uint64_t value,
                               char *why)
{
    if (value >= key->min && (key->max == 0 || value <= key->max))
        return ST_OK;
    if (key->max == 0)
        (void)snprintf(why, CONFIG_WHY_MAX, "%s: '%.60s' is below %" PRIu64, key->name, text,
                       key->min);
    else
        (void)snprintf(why, CONFIG_WHY_MAX, "%s: '%.60s' is not within %" PRIu64 " and %" PRIu64,
                       key->name, text, key->min, key->max);
    return ST_INVALID;
}

static bool parse_u64(const char *text, const char **rest, uint64_t *out)
{
    char *end;

    if (*text < '0' || *text > '9')
        return false;
    errno = 0;
    *out = strtoull(text, &end, 10);
    *rest = end;
    return errno == 0;
}

static bool parse_bytes(const char *text, uint64_t *out)
{
    static const struct {
        const char *text;
        uint64_t bytes;
    } units[] = {
        {"", 1},
        {"B", 1},
        {"KiB", UINT64_C(1) << 10},
        {"MiB", UINT64_C(1) << 20},
        {"GiB", UINT64_C(1) << 30},
        {"TiB", UINT64_C(1) << 40},
        {"kB", 1000},
        {"KB", 1000},
        {"MB", 1000000},
        {"GB", 1000000000},
        {"TB", UINT64_C(1000000000000)},
    };
    const char *rest;
    uint64_t number;

    if (!parse_u64(text, &rest, &number))
        return false;
    while (*rest == ' ')
        rest++;
    for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
        if (strcmp(rest, units[i].text) != 0 || number > UINT64_MAX / units[i].bytes)
            continue;
        *out = number * units[i].bytes;
        return true;
    }
    return false;
}

static enum status set_number(const struct config_key *key, const char *text, uint64_t *out,
                              char *why)
{
    const char *rest;
    uint64_t value;
    enum status st;

    if (key->type == CONFIG_DURATION && duration_parse(text, &value) != ST_OK)
        return refuse(key, text, "a duration such as 30s, 5m or 7d", why);
    if (key->type == CONFIG_BYTES && !parse_bytes(text, &value))
        return refuse(key, text, "a size such as 4096, 64MiB or 10GB", why);
    if (key->type == CONFIG_U64 && (!parse_u64(text, &rest, &value) || *rest != '\0'))
        return refuse(key, text, "a whole number", why);

    st = check_range(key, text, value, why);
    if (st == ST_OK)
        *out = value;
    return st;
}

static enum status set_bool(const struct config_key *key, const char *text, bool *out, char *why)
{
    if (strcmp(text, "true") == 0 || strcmp(text, "yes") == 0)
        *out = true;
    else if (strcmp(text, "false") == 0 || strcmp(text, "no") == 0)
        *out = false;
    else
        return refuse(key, text, "true or false", why);
    return ST_OK;
}

static enum status append(const struct config_key *key, struct config_list *list, const char *text,
                          char *why)
{
    char **items;
    char *copy;

    if (list->count == LIST_ITEMS_MAX) {
        (void)snprintf(why, CONFIG_WHY_MAX, "%s: more than %d items", key->name, LIST_ITEMS_MAX);
        return ST_FULL;
    }
    copy = strdup(text);
    items = realloc(list->items, (list->count + 1) * sizeof(*items));
    if (items != NULL)
        list->items = items;
    if (items == NULL || copy == NULL) {
        free(copy);
        return ST_NOMEM;
    }
    items[list->count++] = copy;
    return ST_OK;
}

static void clear_list(struct config_list *list)
{
    for (unsigned i = 0; i < list->count; i++)
        free(list->items[i]);
    free(list->items);
    *list = (struct config_list){0};
}

static enum status set_string(char **out, const char *text)
{
    char *copy = strdup(text);

    if (copy == NULL)
        return ST_NOMEM;
    free(*out);
    *out = copy;
    return ST_OK;
}

static enum status set_key(const struct config_key *key, void *target, const char *text, char *why)
{
    void *at = member(key, target);

    switch (key->type) {
    case CONFIG_STRING:
        return set_string(at, text);
    case CONFIG_U64:
    case CONFIG_DURATION:
    case CONFIG_BYTES:
        return set_number(key, text, at, why);
    case CONFIG_BOOL:
        return set_bool(key, text, at, why);
    case CONFIG_LIST:
        return append(key, at, text, why);
    }
    return ST_INVALID;
}

enum status config_set(const struct config_key *keys, size_t key_count, void *target,
                       const char *name, const char *text, char why[CONFIG_WHY_MAX])
{
    for (size_t i = 0; i < key_count; i++)
        if (strcmp(keys[i].name, name) == 0)
            return set_key(&keys[i], target, text, why);
    (void)snprintf(why, CONFIG_WHY_MAX, "there is no key '%.60s'", name);
    return ST_NOT_FOUND;
}

static void zero_members(const struct config_key *keys, size_t key_count, void *target)
{
    static const size_t sizes[] = {
        [CONFIG_STRING] = sizeof(char *),     [CONFIG_U64] = sizeof(uint64_t),
        [CONFIG_DURATION] = sizeof(uint64_t), [CONFIG_BYTES] = sizeof(uint64_t),
        [CONFIG_BOOL] = sizeof(bool),         [CONFIG_LIST] = sizeof(struct config_list),
    };

    for (size_t i = 0; i < key_count; i++)
        memset(member(&keys[i], target), 0, sizes[keys[i].type]);
}

static enum status set_defaults(const struct config_key *keys, size_t key_count, void *target,
                                char *why)
{
    enum status st = ST_OK;

    for (size_t i = 0; i < key_count && st == ST_OK; i++)
        if (keys[i].fallback != NULL)
            st = set_key(&keys[i], target, keys[i].fallback, why);
    return st;
}

static enum status take_parsed(const struct config_key *key, const struct parsed_key *parsed,
                               void *target, char *why)
{
    enum status st = ST_OK;

    if (key->type != CONFIG_LIST)
        return parsed->text == NULL ? ST_OK : set_key(key, target, parsed->text, why);
    if (parsed->items == NULL)
        return ST_OK;
    clear_list(member(key, target)); /* a list in the file replaces the default */
    for (unsigned i = 0; i < parsed->item_count && st == ST_OK; i++)
        st = set_key(key, target, parsed->items[i], why);
    return st;
}

static enum status load_file(const char *path, const struct config_key *keys, size_t key_count,
                             void *target, char *why)
{
    cyaml_schema_field_t *fields = calloc(key_count + 1, sizeof(*fields)); /* zeroes end it */
    struct parsed_key *parsed = NULL;
    const cyaml_config_t cyaml = {.log_fn = keep_first_line,
                                  .log_ctx = why,
                                  .mem_fn = cyaml_mem,
                                  .log_level = CYAML_LOG_ERROR};
    cyaml_schema_value_t schema = {
        .type = CYAML_MAPPING,
        .flags = CYAML_FLAG_POINTER,
        .data_size = (uint32_t)(key_count * sizeof(struct parsed_key)),
    };
    enum status st = ST_OK;

    if (fields == NULL)
        return ST_NOMEM;
    for (size_t i = 0; i < key_count; i++)
        fields[i] = schema_field(&keys[i], i);
    schema.mapping.fields = fields;
    if (cyaml_load_file(path, &cyaml, &schema, (cyaml_data_t **)&parsed, NULL) != CYAML_OK) {
        st = ST_INVALID;
        goto out;
    }
    for (size_t i = 0; i < key_count && parsed != NULL && st == ST_OK; i++)
        st = take_parsed(&keys[i], &parsed[i], target, why);
out:
    if (parsed != NULL)
        (void)cyaml_free(&cyaml, &schema, parsed, 0);
    free(fields);
    return st;
}

enum status config_load(const char *path, const struct config_key *keys, size_t key_count,
                        void *target, char why[CONFIG_WHY_MAX])
{
    enum status st;

    why[0] = '\0';
    zero_members(keys, key_count, target);
    st = set_defaults(keys, key_count, target, why);
    if (st == ST_OK && path != NULL && access(path, R_OK) != 0) {
        st = status_from_errno(errno);
        (void)snprintf(why, CONFIG_WHY_MAX, "%.200s: %s", path, status_text(st));
    } else if (st == ST_OK && path != NULL) {
        st = load_file(path, keys, key_count, target, why);
    }
    if (st != ST_OK)
        config_free(keys, key_count, target);
    return st;
}

void config_free(const struct config_key *keys, size_t key_count, void *target)
{
    for (size_t i = 0; i < key_count; i++) {
        char **text;

        if (keys[i].type == CONFIG_LIST)
            clear_list(member(&keys[i], target));
        if (keys[i].type != CONFIG_STRING)
            continue;
        text = member(&keys[i], target);
        free(*text);
        *text = NULL;
    }
}
