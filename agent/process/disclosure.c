#include "agent/process/disclosure.h"

#include <stdio.h>
#include <string.h>

#include "agent/process/label_text.h"

#define ENVIRONMENT "env."
#define ARGUMENT "arg."

static bool is_word(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

static char lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

static const char *without_dashes(const char *flag)
{
    return flag + strspn(flag, "-");
}

/* Letters, digits and underscores, and inside of a flag dashes and dots. */
static bool can_be_key(const char *prefix, const char *name)
{
    const char *more = prefix[0] == 'a' ? "-." : "";

    if (name[0] == '\0' || !is_word(name[0]) || strlen(prefix) + strlen(name) > LABEL_KEY_MAX)
        return false;
    for (; *name != '\0'; name++)
        if (!is_word(*name) && strchr(more, *name) == NULL)
            return false;
    return true;
}

static enum status check_list(const struct config_list *list, const char *key, const char *prefix,
                              char why[CONFIG_WHY_MAX])
{
    if (list->count > DISCLOSURE_NAMES_MAX) {
        (void)snprintf(why, CONFIG_WHY_MAX, "%s: %u names: at most %d are accepted", key,
                       list->count, DISCLOSURE_NAMES_MAX);
        return ST_INVALID;
    }
    for (unsigned i = 0; i < list->count; i++) {
        const char *name = list->items[i], *bare = without_dashes(name);
        bool is_flag = bare != name;

        if (is_flag == (prefix[0] == 'a') && can_be_key(prefix, bare))
            continue;
        (void)snprintf(why, CONFIG_WHY_MAX, "%s: '%.100s': accepted are %s", key, name,
                       prefix[0] == 'a' ? "flags with their dashes, as --shard"
                                        : "names of variables, of [A-Za-z0-9_]");
        return ST_INVALID;
    }
    return ST_OK;
}

enum status disclosure_check(const struct disclosure *d, char why[CONFIG_WHY_MAX])
{
    enum status st = check_list(&d->environment, "process_environment", ENVIRONMENT, why);

    if (st == ST_OK)
        st = check_list(&d->arguments, "process_arguments", ARGUMENT, why);
    return st;
}

static void set(struct labels *l, const char *prefix, const char *name, struct slice value)
{
    char key[LABEL_KEY_MAX + 1], text[LABEL_VALUE_MAX + 1];
    size_t at;

    (void)snprintf(key, sizeof(key), "%s%s", prefix, name);
    for (at = 0; key[at] != '\0'; at++)
        key[at] = lower(key[at]);
    (void)snprintf(text, sizeof(text), "%.*s",
                   (int)(value.length < sizeof(text) ? value.length : sizeof(text) - 1),
                   (const char *)value.bytes);
    (void)label_text_set(l, key, text);
}

/* Takes the text up to the next NUL. */
static struct slice take_text(struct slice *rest)
{
    size_t length = strnlen((const char *)rest->bytes, rest->length);
    size_t used = length < rest->length ? length + 1 : length;
    struct slice text = {rest->bytes, length};

    *rest = (struct slice){rest->bytes + used, rest->length - used};
    return text;
}

/* Whether `text` is `name` alone, or with "=value": then *value is that, else it is empty. */
static bool is_called(struct slice text, const char *name, struct slice *value)
{
    size_t length = strlen(name);

    if (text.length < length || memcmp(text.bytes, name, length) != 0 ||
        (text.length > length && text.bytes[length] != '='))
        return false;
    length += text.length > length;
    *value = (struct slice){text.bytes + length, text.length - length};
    return true;
}

void disclosure_add_environment(const struct disclosure *d, struct slice text, struct labels *l)
{
    while (text.length > 0) {
        struct slice variable = take_text(&text), value;

        for (unsigned i = 0; i < d->environment.count; i++)
            if (is_called(variable, d->environment.items[i], &value))
                set(l, ENVIRONMENT, d->environment.items[i], value);
    }
}

static void add_flag(const struct disclosure *d, struct slice word, struct slice rest,
                     struct labels *l)
{
    static const struct slice present = {(const uint8_t *)"true", 4};
    struct slice next = take_text(&rest), value;

    if (next.length == 0 || next.bytes[0] == '-')
        next = present;
    for (unsigned i = 0; i < d->arguments.count; i++) {
        const char *flag = d->arguments.items[i];

        if (is_called(word, flag, &value))
            set(l, ARGUMENT, without_dashes(flag), word.length == strlen(flag) ? next : value);
    }
}

void disclosure_add_arguments(const struct disclosure *d, struct slice text, struct labels *l)
{
    struct slice word, end;

    (void)take_text(&text); /* the program */
    while (text.length > 0) {
        word = take_text(&text);
        if (word.length == 2 && is_called(word, "--", &end))
            return;
        add_flag(d, word, text, l);
    }
}
