#include "agent/process/snapshot.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/process/cgroup.h"
#include "agent/process/procfs.h"
#include "common/clock.h"
#include "common/utf8.h"

enum {
    PROC_NAME_MAX = 64,
    STAT_BYTES_MAX = 4096, /* some 50 numbers and a name */
    CGROUP_BYTES_MAX = 16 << 10, /* a line of a path for each of a dozen hierarchies */
    MAPS_BYTES_MAX = 64 << 20, /* the kernel's vm.max_map_count of 65530 by 1 KiB a line */
    MAPS_BYTES_FIRST = 64 << 10,
};

/* A file of /proc/PID; a negative errno. */
static int open_proc(uint32_t pid, const char *name)
{
    char path[PROC_NAME_MAX];
    int fd;

    (void)snprintf(path, sizeof(path), "/proc/%u/%s", pid, name);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    return fd >= 0 ? fd : -errno;
}

/* As much as there is and fits. */
static struct slice read_all(int fd, uint8_t *bytes, size_t room)
{
    size_t length = 0;
    ssize_t got = 0;

    while (length < room && (got = read(fd, bytes + length, room - length)) > 0)
        length += (size_t)got;
    return (struct slice){bytes, length};
}

/* An empty text is a process that ended between open and read. */
static enum status read_small(uint32_t pid, const char *name, uint8_t *bytes, size_t room,
                              struct slice *out)
{
    int fd = open_proc(pid, name);
    struct slice text;

    if (fd < 0)
        return ST_NOT_FOUND;
    text = read_all(fd, bytes, room);
    close(fd);
    if (text.length == 0)
        return ST_NOT_FOUND;
    *out = text;
    return ST_OK;
}

/* The caller frees. Grows by doubling: the size of a file in /proc is not known before. */
static enum status read_large(int fd, uint8_t **out_bytes, struct slice *out)
{
    size_t room = MAPS_BYTES_FIRST;
    uint8_t *bytes = malloc(room);
    struct slice text = {bytes, 0};

    while (bytes != NULL) {
        text.length += read_all(fd, bytes + text.length, room - text.length).length;
        text.bytes = bytes;
        if (text.length < room || room >= MAPS_BYTES_MAX) {
            *out_bytes = bytes;
            *out = text;
            return ST_OK;
        }
        room *= 2;
        bytes = realloc(bytes, room);
        if (bytes == NULL)
            free((uint8_t *)text.bytes);
    }
    return ST_NOMEM;
}

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
    enum status st = ST_OK;
    struct procfs_mapping m;
    struct slice text;
    uint8_t *bytes = NULL;
    int fd = open_proc(pid, "maps");

    if (fd < 0)
        return ST_OK; /* not ours to read, or gone: then the sample's own time decides */
    st = read_large(fd, &bytes, &text);
    close(fd);
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
    enum status st = read_small(pid, "stat", bytes, sizeof(bytes), &text);

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

enum status snapshot_set_label(struct labels *l, const char *key, const char *value)
{
    size_t length = utf8_cut(value, strlen(value), LABEL_VALUE_MAX);
    char clean[LABEL_VALUE_MAX + 1];

    if (length == 0)
        return ST_OK;
    memcpy(clean, value, length);
    clean[length] = '\0';
    utf8_repair(clean, length);
    for (size_t i = 0; i < length; i++)
        if ((unsigned char)clean[i] < ' ' || clean[i] == 0x7f)
            clean[i] = '?';
    return labels_set(l, key, clean);
}

static enum status set_cgroup_labels(struct labels *l, struct slice path)
{
    char text[PROCFS_PATH_MAX];
    struct cgroup_names names;
    enum status st;

    cgroup_parse(path, &names);
    (void)snprintf(text, sizeof(text), "%.*s", (int)path.length, (const char *)path.bytes);
    st = snapshot_set_label(l, "cgroup", text);
    if (st == ST_OK)
        st = snapshot_set_label(l, "unit", names.unit);
    if (st == ST_OK)
        st = snapshot_set_label(l, "container", names.container);
    if (st == ST_OK)
        st = snapshot_set_label(l, "service", names.service);
    return st;
}

enum status snapshot_read_labels(uint32_t pid, const char *comm, struct labels *out)
{
    uint8_t bytes[CGROUP_BYTES_MAX];
    struct labels l = {0};
    struct slice text, path;
    enum status st = read_small(pid, "cgroup", bytes, sizeof(bytes), &text);

    if (st != ST_OK)
        return st;
    st = snapshot_set_label(&l, "comm", comm);
    path = procfs_cgroup_path(text);
    if (st == ST_OK && path.length > 0)
        st = set_cgroup_labels(&l, path);
    if (st == ST_OK)
        *out = l;
    else
        labels_deinit(&l);
    return st;
}

enum status snapshot_read(uint32_t pid, struct binaries *binaries, struct snapshot *out)
{
    struct snapshot s;
    enum status st = snapshot_read_life(pid, &s);

    if (st != ST_OK)
        return st;
    st = read_mappings(pid, binaries, &s);
    if (st == ST_OK)
        st = snapshot_read_labels(pid, s.comm, &s.labels);
    if (st == ST_OK)
        *out = s;
    else
        snapshot_deinit(&s);
    return st;
}

void snapshot_deinit(struct snapshot *s)
{
    mappings_deinit(&s->mappings);
    labels_deinit(&s->labels);
}
