#include "agent/process/snapshot.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/process/proc_file.h"
#include "agent/process/procfs.h"
#include "common/clock.h"

enum {
    STAT_BYTES_MAX = 4096, /* some 50 numbers and a name */
    MAPS_BYTES_MAX = 64 << 20, /* the kernel's vm.max_map_count of 65530 by 1 KiB a line */
};

static enum status add_mapping(struct snapshot *s, uint32_t pid, struct binaries *binaries,
                               const struct procfs_mapping *m)
{
    char path[PROCFS_PATH_MAX];
    struct mapped_file file = {
        .pid = pid, .path = path, .start = m->start, .end = m->end, .inode = m->inode};
    struct mapping mapping = {.start = m->start, .end = m->end, .file_offset = m->file_offset};
    enum status st;

    (void)snprintf(path, sizeof(path), "%.*s", (int)m->path.length, (const char *)m->path.bytes);
    st = binaries_intern(binaries, &file, &mapping.binary);
    if (st == ST_OK)
        st = mappings_put(&s->mappings, mapping);
    if (st == ST_FULL) {
        s->refused++;
        st = ST_OK;
    }
    return st == ST_NOMEM ? st : ST_OK;
}

static enum status read_mappings(uint32_t pid, struct binaries *binaries, struct snapshot *s)
{
    struct procfs_mapping m;
    struct slice text;
    uint8_t *bytes = NULL;
    enum status st = proc_file_read_large(pid, "maps", MAPS_BYTES_MAX, &bytes, &text);

    if (st == ST_NOT_FOUND)
        return ST_OK; /* not ours to read, or gone: then the sample's own time decides */
    while (st == ST_OK && procfs_next_mapping(&text, &m))
        if (m.executable)
            st = add_mapping(s, pid, binaries, &m);
    free(bytes);
    return st;
}

enum status snapshot_read_life(uint32_t pid, struct snapshot *out)
{
    uint8_t bytes[STAT_BYTES_MAX];
    struct snapshot s = {0};
    struct procfs_stat stat;
    struct slice text;
    enum status st = proc_file_read(pid, "stat", bytes, sizeof(bytes), &text);

    if (st != ST_OK)
        return st;
    if (!procfs_parse_stat(text, &stat))
        return ST_NOT_FOUND;
    memcpy(s.comm, stat.comm, sizeof(s.comm));
    s.start_ns = stat.start_ticks * (NS_PER_S / (uint64_t)sysconf(_SC_CLK_TCK));
    s.threads = stat.threads;
    s.dead = (stat.state == 'Z' || stat.state == 'X') && stat.threads <= 1;
    *out = s;
    return ST_OK;
}

enum status snapshot_read(uint32_t pid, struct binaries *binaries, struct snapshot *out)
{
    struct snapshot s;
    enum status st = snapshot_read_life(pid, &s);

    if (st != ST_OK)
        return st;
    st = read_mappings(pid, binaries, &s);
    if (st == ST_OK)
        *out = s;
    else
        snapshot_deinit(&s);
    return st;
}

void snapshot_deinit(struct snapshot *s)
{
    mappings_deinit(&s->mappings);
}
