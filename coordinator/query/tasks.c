/* tasks - labels are looked at once for each process of a chunk. */
#include "coordinator/query/tasks.h"

#include <stdlib.h>
#include <string.h>

#define UNSELECTED (PROFILE_NONE - 1) /* where a service is meant */

struct process_lookup { /* a process's labels over its host's */
    const struct dictionary *dictionary;
    const struct profiler_record *host;
    const struct chunk_label *labels;
    uint32_t label_count;
};

static const char *look_up(const void *arg, const char *key)
{
    const struct process_lookup *l = arg;

    if (strcmp(key, "host") == 0)
        return l->host->host;
    for (uint32_t i = 0; i < l->label_count; i++) {
        if (strcmp(dictionary_string(l->dictionary, l->labels[i].key), key) == 0)
            return dictionary_string(l->dictionary, l->labels[i].value);
    }
    return labels_get(&l->host->labels, key);
}

static enum status service_of(struct tasks *t, const struct process_lookup *l, uint32_t *out)
{
    const char *service = look_up(l, "service");

    *out = PROFILE_NONE;
    return service == NULL || service[0] == '\0' ? ST_OK : texts_put(&t->services, service, out);
}

static enum status put_task(struct tasks *t, struct profile_task task, uint32_t *out)
{
    struct key key = {key_pair(task.host, task.service), key_pair(task.comm, task.thread)};

    return keys_put(&t->keys, key, out);
}

struct profile_task tasks_get(const struct tasks *t, uint32_t task)
{
    struct key key = t->keys.keys[task];

    return (struct profile_task){.host = (uint32_t)(key.high >> 32),
                                 .service = (uint32_t)key.high,
                                 .comm = (uint32_t)(key.low >> 32),
                                 .thread = (uint32_t)key.low};
}

static enum status make_room(uint32_t **array, uint32_t *capacity, uint32_t count)
{
    uint32_t *grown;

    if (count <= *capacity)
        return ST_OK;
    grown = realloc(*array, count * sizeof(*grown));
    if (grown == NULL)
        return ST_NOMEM;
    *array = grown;
    *capacity = count;
    return ST_OK;
}

static enum status fill_processes(struct tasks *t, const struct dictionary *d,
                                  const struct scope *scope, const struct scope_profiler *p,
                                  const struct chunk_samples *c)
{
    enum status st = make_room(&t->of_process, &t->process_capacity, c->process_count);

    for (uint32_t i = 0; i < c->process_count && st == ST_OK; i++) {
        const struct chunk_process *process = &c->processes[i];
        struct process_lookup l = {d, &p->record, &c->labels[process->first_label],
                                   process->label_count};

        if (scope->select != NULL && !selector_matches_by(scope->select, look_up, &l))
            t->of_process[i] = UNSELECTED;
        else
            st = service_of(t, &l, &t->of_process[i]);
    }
    return st;
}

enum status tasks_of_chunk(struct tasks *t, const struct dictionary *d, const struct scope *scope,
                           const struct scope_profiler *p, const struct chunk_samples *c,
                           bool *out_any)
{
    bool any = false;
    enum status st = fill_processes(t, d, scope, p, c);

    if (st == ST_OK)
        st = make_room(&t->of_thread, &t->thread_capacity, c->thread_count);
    for (uint32_t i = 0; i < c->thread_count && st == ST_OK; i++) {
        const struct chunk_thread *thread = &c->threads[i];
        uint32_t service = t->of_process[thread->process];
        struct profile_task task = {p->host, service, c->processes[thread->process].comm,
                                    thread->name};

        if (service == UNSELECTED) {
            t->of_thread[i] = PROFILE_NONE;
            continue;
        }
        any = true;
        st = put_task(t, task, &t->of_thread[i]);
    }
    if (st == ST_OK)
        *out_any = any;
    return st;
}

void tasks_deinit(struct tasks *t)
{
    keys_deinit(&t->keys);
    texts_deinit(&t->services);
    free(t->of_thread);
    free(t->of_process);
    memset(t, 0, sizeof(*t));
}
