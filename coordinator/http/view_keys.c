#include "coordinator/http/view_keys.h"

static json_t *append(json_t *list, json_t *value)
{
    if (list == NULL || json_array_append_new(list, value) == 0)
        return list;
    json_decref(list);
    return NULL;
}

json_t *view_by(const enum rank_by *by, uint32_t count)
{
    json_t *list = json_array();

    for (uint32_t i = 0; i < count; i++)
        list = append(list, json_string(rank_by_name(by[i])));
    return list;
}

json_t *view_key(char *const *key, uint32_t count)
{
    json_t *list = json_array();

    for (uint32_t i = 0; i < count; i++)
        list = append(list, json_text(key[i] == NULL ? "" : key[i]));
    return list;
}

json_t *view_cores(const struct profile *p)
{
    return json_finite(p->window_ns > 0 ? p->weight_ns / p->window_ns : 0, 0);
}
