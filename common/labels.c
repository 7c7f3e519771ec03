#include "common/labels.h"

#include <stdlib.h>
#include <string.h>

/* Where `key` is, or where it would go. */
static size_t position(const struct labels *l, const char *key, bool *found)
{
    size_t low = 0, high = l->count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        int order = strcmp(l->items[middle].key, key);

        if (order == 0) {
            *found = true;
            return middle;
        }
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    *found = false;
    return low;
}

static enum status check_key(const char *key)
{
    size_t length = strlen(key);

    if (length > LABEL_KEY_MAX)
        return ST_TOO_BIG;
    if (length == 0 || key[0] < 'a' || key[0] > 'z')
        return ST_INVALID;
    if (strspn(key, "abcdefghijklmnopqrstuvwxyz0123456789_.-") != length)
        return ST_INVALID;
    return ST_OK;
}

static enum status check_value(const char *value)
{
    if (strlen(value) > LABEL_VALUE_MAX)
        return ST_TOO_BIG;
    for (const unsigned char *c = (const unsigned char *)value; *c != '\0'; c++)
        if (*c < 0x20 || *c == 0x7f)
            return ST_INVALID;
    return ST_OK;
}

void labels_deinit(struct labels *l)
{
    for (size_t i = 0; i < l->count; i++) {
        free(l->items[i].key);
        free(l->items[i].value);
    }
    free(l->items);
    *l = (struct labels){0};
}

static enum status replace_value(struct label *item, const char *value)
{
    char *copy = strdup(value);

    if (copy == NULL)
        return ST_NOMEM;
    free(item->value);
    item->value = copy;
    return ST_OK;
}

static enum status insert(struct labels *l, size_t at, const char *key, const char *value)
{
    enum status st = ST_NOMEM;
    struct label fresh = {strdup(key), strdup(value)};
    struct label *items;

    if (fresh.key == NULL || fresh.value == NULL)
        goto out;
    items = realloc(l->items, (l->count + 1) * sizeof(*items));
    if (items == NULL)
        goto out;

    l->items = items;
    memmove(items + at + 1, items + at, (l->count - at) * sizeof(*items));
    items[at] = fresh;
    l->count++;
    return ST_OK;
out:
    free(fresh.key);
    free(fresh.value);
    return st;
}

enum status labels_set(struct labels *l, const char *key, const char *value)
{
    bool found;
    size_t at;
    enum status st = check_key(key);

    if (st == ST_OK)
        st = check_value(value);
    if (st != ST_OK)
        return st;

    at = position(l, key, &found);
    if (found)
        return replace_value(&l->items[at], value);
    if (l->count == LABELS_MAX)
        return ST_FULL;
    return insert(l, at, key, value);
}

enum status labels_set_pair(struct labels *l, const char *pair)
{
    char key[LABEL_KEY_MAX + 1];
    const char *equals = strchr(pair, '=');

    if (equals == NULL)
        return ST_INVALID;
    if ((size_t)(equals - pair) > LABEL_KEY_MAX)
        return ST_TOO_BIG;
    memcpy(key, pair, (size_t)(equals - pair));
    key[equals - pair] = '\0';
    return labels_set(l, key, equals + 1);
}

const char *labels_get(const struct labels *l, const char *key)
{
    bool found;
    size_t at = position(l, key, &found);

    return found ? l->items[at].value : NULL;
}

static enum status add_all(struct labels *to, const struct labels *from)
{
    enum status st = ST_OK;

    for (size_t i = 0; i < from->count && st == ST_OK; i++)
        st = labels_set(to, from->items[i].key, from->items[i].value);
    return st;
}

enum status labels_copy(const struct labels *from, struct labels *out)
{
    return labels_merge(from, &(struct labels){0}, out);
}

enum status labels_merge(const struct labels *base, const struct labels *over, struct labels *out)
{
    struct labels merged = {0};
    enum status st = add_all(&merged, base);

    if (st == ST_OK)
        st = add_all(&merged, over);
    if (st != ST_OK) {
        labels_deinit(&merged);
        return st;
    }
    *out = merged;
    return ST_OK;
}

bool labels_equal(const struct labels *a, const struct labels *b)
{
    if (a->count != b->count)
        return false;
    for (size_t i = 0; i < a->count; i++)
        if (strcmp(a->items[i].key, b->items[i].key) != 0 ||
            strcmp(a->items[i].value, b->items[i].value) != 0)
            return false;
    return true;
}
