/* tables_world - unwind tables of real files in this process's memory, with time in hand. */
#ifndef TESTS_UNIT_AGENT_TABLES_WORLD_H
#define TESTS_UNIT_AGENT_TABLES_WORLD_H

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <unistd.h>

#include <cmocka.h>

#include "agent/unwind/tables.h"

#define LIBC "/lib/x86_64-linux-gnu/libc.so.6"

enum { WORLD_FILES_MAX = 64 };

struct tables_world {
    struct kernel_maps *maps;
    struct tables *tables;
    struct mono now;
    const char *files[WORLD_FILES_MAX]; /* by binary; NULL: cannot be opened */
    uint32_t changes[WORLD_FILES_MAX]; /* told, by binary */
    void (*on_change)(void *arg, uint32_t binary); /* or NULL */
    void *arg;
};

static inline enum status world_open_file(void *arg, const struct build_id *id, int *out_fd)
{
    const struct tables_world *w = arg;
    const char *path = w->files[id->bytes[0]];
    int fd = path == NULL ? -1 : open(path, O_RDONLY | O_CLOEXEC);

    if (fd < 0)
        return ST_NOT_FOUND;
    *out_fd = fd;
    return ST_OK;
}

static inline void world_changed(void *arg, uint32_t binary)
{
    struct tables_world *w = arg;

    w->changes[binary]++;
    if (w->on_change != NULL)
        w->on_change(w->arg, binary);
}

static inline void world_open(struct tables_world *w, uint32_t shards)
{
    const struct tables_options options = {
        .shards_max = shards, .open = world_open_file, .changed = world_changed, .arg = w};
    struct tables_options o = options;

    w->now = (struct mono){1000 * NS_PER_S};
    assert_int_equal(kernel_maps_open(-1, -1, &w->maps), ST_OK);
    o.maps = w->maps;
    assert_int_equal(tables_new(&o, &w->tables), ST_OK);
}

static inline void world_close(struct tables_world *w)
{
    tables_free(w->tables);
    kernel_maps_close(w->maps);
}

static inline enum table_state world_use(struct tables_world *w, uint32_t binary)
{
    const struct build_id id = {.length = 1, .bytes = {(uint8_t)binary}};

    return tables_use(w->tables, binary, &id, w->now);
}

/* Lets the worker finish; time stands still. */
static inline void world_settle(struct tables_world *w)
{
    for (int i = 0; i < 10000 && tables_busy(w->tables); i++) {
        tables_run(w->tables, w->now);
        usleep(1000);
    }
    assert_false(tables_busy(w->tables));
}

static inline void world_pass(struct tables_world *w, uint64_t ns)
{
    w->now = mono_after(w->now, ns);
    tables_run(w->tables, w->now);
}

#endif
