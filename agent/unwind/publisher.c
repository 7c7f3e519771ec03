#include "agent/unwind/publisher.h"

#include <stdlib.h>
#include <string.h>

enum { BUCKETS = 1 << 10 };

struct published { /* a process */
    uint32_t pid;
    struct published_state state;
    struct mono used; /* by a sample */
    struct code_mapping *mappings;
    uint32_t mapping_count;
    struct ranges ranges;
    uint64_t program;
    uint32_t pages; /* in the kernel */
    bool settled; /* the kernel is told of all changes */
    bool stale; /* to be published anew */
    struct published *next;
};

struct publisher {
    struct kernel_maps *maps;
    const struct tables *tables;
    struct published *buckets[BUCKETS]; /* by pid */
    struct publisher_counters counters;
};

static struct published **place_of(struct publisher *p, uint32_t pid)
{
    struct published **place = &p->buckets[pid % BUCKETS];

    while (*place != NULL && (*place)->pid != pid)
        place = &(*place)->next;
    return place;
}

static struct published *find(const struct publisher *p, uint32_t pid)
{
    struct published *one = p->buckets[pid % BUCKETS];

    while (one != NULL && one->pid != pid)
        one = one->next;
    return one;
}

/* ---- pages ---- */

static void delete_pages(struct publisher *p, struct published *one, uint32_t from)
{
    for (uint32_t i = from; i < one->pages; i++)
        kernel_maps_delete_page(p->maps, (struct abi_page_key){one->pid, i});
    if (from < one->pages)
        one->pages = from;
}

static void free_published(struct published *one)
{
    ranges_deinit(&one->ranges);
    free(one->mappings);
    free(one);
}

static void remove_at(struct publisher *p, struct published **place)
{
    struct published *one = *place;

    delete_pages(p, one, 0);
    *place = one->next;
    free_published(one);
    p->counters.processes--;
}

static struct published *coldest_but(const struct publisher *p, const struct published *but)
{
    struct published *found = NULL;

    for (uint32_t i = 0; i < BUCKETS; i++)
        for (struct published *one = p->buckets[i]; one != NULL; one = one->next)
            if (one != but && (found == NULL || one->used.ns < found->used.ns))
                found = one;
    return found;
}

static bool displace(struct publisher *p, const struct published *but)
{
    struct published *cold = coldest_but(p, but);

    if (cold == NULL)
        return false;
    p->counters.displaced++;
    remove_at(p, place_of(p, cold->pid));
    return true;
}

static enum status put_page(struct publisher *p, struct published *one, uint32_t page)
{
    struct abi_page content;
    enum status st;

    ranges_fill_page(&one->ranges, page, &content);
    do
        st = kernel_maps_put_page(p->maps, (struct abi_page_key){one->pid, page}, &content);
    while (st == ST_FULL && displace(p, one));
    if (st == ST_OK) {
        p->counters.pages_written++;
        if (one->pages <= page)
            one->pages = page + 1;
    }
    return st;
}

/* Page 0 comes last, since it leads to the others. A walk in between may miss an address: then the
 * agent goes on with it. */
static enum status put_pages(struct publisher *p, struct published *one)
{
    uint32_t pages = ranges_pages(&one->ranges);
    enum status st = ST_OK;

    for (uint32_t i = pages; i-- > 0 && st == ST_OK;)
        st = put_page(p, one, i);
    if (st == ST_OK)
        delete_pages(p, one, pages);
    return st;
}

static bool waits(const struct publisher *p, const struct published *one)
{
    for (uint32_t i = 0; i < one->mapping_count; i++)
        if (one->mappings[i].kind == CODE_FILE &&
            !tables_settled(tables_state(p->tables, one->mappings[i].binary)))
            return true;
    return false;
}

/* What the tables say now. While some of them is being built the kernel is told nothing, so that
 * samples come with copies of their stacks: without its table, code is taken to have frame
 * pointers. */
static enum status publish(struct publisher *p, struct published *one)
{
    struct ranges ranges = {0};
    enum status st = ranges_make(p->tables, one->mappings, one->mapping_count, &ranges);

    if (st != ST_OK)
        return st;
    p->counters.ranges_dropped += ranges.dropped;
    ranges_deinit(&one->ranges);
    one->ranges = ranges;
    if (!one->settled || waits(p, one)) {
        delete_pages(p, one, 0);
        return ST_OK;
    }
    return put_pages(p, one);
}

static void publish_or_remove(struct publisher *p, uint32_t pid)
{
    if (publish(p, find(p, pid)) == ST_OK)
        return;
    p->counters.refused++;
    publisher_drop(p, pid);
}

/* ---- processes ---- */

static struct published *find_or_add(struct publisher *p, uint32_t pid)
{
    struct published *one = find(p, pid);

    if (one != NULL)
        return one;
    if (p->counters.processes >= PUBLISHER_PROCESSES_MAX)
        (void)displace(p, NULL);
    one = calloc(1, sizeof(*one));
    if (one == NULL)
        return NULL;
    one->pid = pid;
    one->next = p->buckets[pid % BUCKETS];
    p->buckets[pid % BUCKETS] = one;
    p->counters.processes++;
    return one;
}

enum status publisher_put(struct publisher *p, uint32_t pid, const struct code *code,
                          struct mono now)
{
    struct code_mapping *copy = calloc(code->count > 0 ? code->count : 1, sizeof(*copy));
    struct published *one = copy == NULL ? NULL : find_or_add(p, pid);

    if (one == NULL) {
        free(copy);
        publisher_drop(p, pid);
        return ST_NOMEM;
    }
    if (code->count > 0)
        memcpy(copy, code->mappings, code->count * sizeof(*copy));
    free(one->mappings);
    one->mappings = copy;
    one->mapping_count = code->count;
    one->settled = code->settled || (one->settled && one->program == code->program);
    one->program = code->program;
    one->state = (struct published_state){code->version, now};
    one->used = now;
    publish_or_remove(p, pid);
    return find(p, pid) != NULL ? ST_OK : ST_FULL;
}

void publisher_drop(struct publisher *p, uint32_t pid)
{
    struct published **place = place_of(p, pid);

    if (*place != NULL)
        remove_at(p, place);
}

struct published_state publisher_state(const struct publisher *p, uint32_t pid)
{
    const struct published *one = find(p, pid);

    return one == NULL ? (struct published_state){0} : one->state;
}

void publisher_sweep(struct publisher *p, bool (*stays)(void *arg, uint32_t pid), void *arg)
{
    for (uint32_t i = 0; i < BUCKETS; i++) {
        struct published **place = &p->buckets[i];

        while (*place != NULL)
            if (stays(arg, (*place)->pid))
                place = &(*place)->next;
            else
                remove_at(p, place);
    }
}

void publisher_touch(struct publisher *p, uint32_t pid, struct mono now)
{
    struct published *one = find(p, pid);

    if (one != NULL)
        one->used = now;
}

struct mono publisher_used(const struct publisher *p, uint32_t pid)
{
    const struct published *one = find(p, pid);

    return one == NULL ? (struct mono){0} : one->used;
}

static bool maps_binary(const struct published *one, uint32_t binary)
{
    for (uint32_t i = 0; i < one->mapping_count; i++)
        if (one->mappings[i].kind == CODE_FILE && one->mappings[i].binary == binary)
            return true;
    return false;
}

static struct published *first_stale(struct published *one)
{
    while (one != NULL && !one->stale)
        one = one->next;
    return one;
}

static void publish_stale(struct publisher *p)
{
    struct published *one;

    for (uint32_t i = 0; i < BUCKETS; i++)
        while ((one = first_stale(p->buckets[i])) != NULL) {
            one->stale = false;
            publish_or_remove(p, one->pid);
        }
}

void publisher_run(struct publisher *p, struct mono now)
{
    for (uint32_t i = 0; i < BUCKETS; i++)
        for (struct published *one = p->buckets[i]; one != NULL; one = one->next) {
            one->stale = !one->settled && mono_since(now, one->state.put_at) >= PUBLISHER_SETTLE_NS;
            one->settled |= one->stale;
        }
    publish_stale(p);
}

/* In two passes, since publishing one process may displace any other. */
void publisher_table_changed(struct publisher *p, uint32_t binary)
{
    struct published *one;

    for (uint32_t i = 0; i < BUCKETS; i++)
        for (one = p->buckets[i]; one != NULL; one = one->next)
            one->stale = maps_binary(one, binary);
    publish_stale(p);
}

const struct ranges *publisher_ranges(const struct publisher *p, uint32_t pid)
{
    const struct published *one = find(p, pid);

    return one == NULL ? NULL : &one->ranges;
}

bool publisher_waits(const struct publisher *p, uint32_t pid)
{
    const struct published *one = find(p, pid);

    return one != NULL && waits(p, one);
}

struct publisher_counters publisher_read_counters(const struct publisher *p)
{
    return p->counters;
}

/* ---- life ---- */

enum status publisher_new(struct kernel_maps *maps, const struct tables *tables,
                          struct publisher **out)
{
    struct publisher *p = calloc(1, sizeof(*p));

    if (p == NULL)
        return ST_NOMEM;
    p->maps = maps;
    p->tables = tables;
    *out = p;
    return ST_OK;
}

void publisher_free(struct publisher *p)
{
    if (p == NULL)
        return;
    for (uint32_t i = 0; i < BUCKETS; i++)
        while (p->buckets[i] != NULL)
            remove_at(p, &p->buckets[i]);
    free(p);
}
