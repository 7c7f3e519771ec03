/* axes - texts of the dimensions are numbered once, so that rows are pairs of numbers. */
#include "coordinator/query/axes.h"

#include <stdlib.h>
#include <string.h>

static bool asks_for(const struct axes *x, enum rank_by by)
{
    for (uint32_t i = 0; i < x->by_count; i++) {
        if (x->by[i] == by)
            return true;
    }
    return false;
}

enum status axes_init(struct axes *x, struct symbolizer *s, const struct dictionary *d,
                      const enum rank_by *by, uint32_t by_count)
{
    uint32_t none;

    if (by_count == 0 || by_count > RANK_DIMENSIONS_MAX)
        return ST_INVALID;
    *x = (struct axes){.symbolizer = s, .dictionary = d};
    for (uint32_t i = 0; i < by_count; i++) {
        if (asks_for(x, by[i]))
            return ST_INVALID;
        x->by[x->by_count++] = by[i];
    }
    return keys_put(&x->tasks, (struct key){0}, &none); /* task 0 where no dimension is one */
}

void axes_deinit(struct axes *x)
{
    texts_deinit(&x->texts);
    keys_deinit(&x->tasks);
    keys_deinit(&x->rows);
}

enum status axes_code(struct axes *x, uint32_t function, uint32_t *out)
{
    const char *binary;

    if (asks_for(x, RANK_BY_FUNCTION) || !asks_for(x, RANK_BY_BINARY)) {
        *out = asks_for(x, RANK_BY_FUNCTION) ? function : 0;
        return ST_OK;
    }
    binary = symbolizer_get(x->symbolizer, function)->binary;
    return texts_put(&x->texts, binary[0] == '\0' ? "[no binary]" : binary, out);
}

bool axes_have_code(const struct axes *x)
{
    return asks_for(x, RANK_BY_FUNCTION) || asks_for(x, RANK_BY_BINARY);
}

bool axes_have_tasks(const struct axes *x)
{
    return asks_for(x, RANK_BY_SERVICE) || asks_for(x, RANK_BY_HOST) || asks_for(x, RANK_BY_THREAD);
}

static const char *service_text(const struct profile *p, const struct profile_task *task)
{
    return task->service == PROFILE_NONE ? "[no service]" : p->services[task->service];
}

/* A thread without a name of its own goes by its process's. */
static const char *thread_text(const struct axes *x, const struct profile_task *task)
{
    const char *name = dictionary_string(x->dictionary, task->thread);

    if (name[0] == '\0')
        name = dictionary_string(x->dictionary, task->comm);
    return name[0] == '\0' ? "[no name]" : name;
}

/* Texts by dimension: service | host | thread; they share one numbering, 0 where not asked for. */
static enum status put_text(struct axes *x, enum rank_by by, const char *text, uint32_t *out)
{
    uint32_t number = 0;
    enum status st = asks_for(x, by) ? texts_put(&x->texts, text, &number) : ST_OK;

    *out = number;
    return st;
}

enum status axes_task(struct axes *x, const struct profile *p, const struct profile_task *task,
                      uint32_t *out)
{
    uint32_t service, host, thread = 0;
    enum status st = put_text(x, RANK_BY_SERVICE, service_text(p, task), &service);

    if (st == ST_OK)
        st = put_text(x, RANK_BY_HOST, p->hosts[task->host], &host);
    if (st == ST_OK)
        st = put_text(x, RANK_BY_THREAD, thread_text(x, task), &thread);
    if (st != ST_OK)
        return st;
    return keys_put(&x->tasks, (struct key){.high = key_pair(service, host), .low = thread}, out);
}

const char *axes_text(const struct axes *x, uint32_t row, uint32_t dimension)
{
    uint32_t code = (uint32_t)x->rows.keys[row].low;
    struct key task = x->tasks.keys[x->rows.keys[row].high];

    switch (x->by[dimension]) {
    case RANK_BY_FUNCTION:
        return symbolizer_get(x->symbolizer, code)->name;
    case RANK_BY_BINARY:
        return asks_for(x, RANK_BY_FUNCTION) ? axes_binary(x, row) : x->texts.texts[code];
    case RANK_BY_SERVICE:
        return x->texts.texts[task.high >> 32];
    case RANK_BY_HOST:
        return x->texts.texts[(uint32_t)task.high];
    case RANK_BY_THREAD:
        return x->texts.texts[task.low];
    case RANK_BYS:
        break;
    }
    return "";
}

const char *axes_binary(const struct axes *x, uint32_t row)
{
    return asks_for(x, RANK_BY_FUNCTION)
               ? symbolizer_get(x->symbolizer, (uint32_t)x->rows.keys[row].low)->binary
               : NULL;
}

enum status axes_copy_texts(const struct axes *x, uint32_t row, char *key[RANK_DIMENSIONS_MAX],
                            char **binary)
{
    const char *text = axes_binary(x, row);

    for (uint32_t i = 0; i < x->by_count; i++) {
        key[i] = strdup(axes_text(x, row, i));
        if (key[i] == NULL)
            return ST_NOMEM;
    }
    *binary = text == NULL ? NULL : strdup(text);
    return text != NULL && *binary == NULL ? ST_NOMEM : ST_OK;
}

int axes_compare(const struct axes *x, uint32_t a, uint32_t b)
{
    const char *binary_a = axes_binary(x, a), *binary_b = axes_binary(x, b);

    for (uint32_t i = 0; i < x->by_count; i++) {
        int order = strcmp(axes_text(x, a, i), axes_text(x, b, i));

        if (order != 0)
            return order;
    }
    return binary_a == NULL ? 0 : strcmp(binary_a, binary_b);
}
