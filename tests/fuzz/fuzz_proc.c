/* Any bytes as what the kernel writes about processes: the texts of /proc, a line of kallsyms, the
 * notes of the kernel, a record of the side-band. */
#include <string.h>

#include "agent/process/cgroup.h"
#include "agent/process/procfs.h"
#include "agent/process/record.h"
#include "agent/symbols/kallsyms.h"
#include "common/symbols/notes.h"
#include "tests/fuzz/require.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require_within(struct slice part, struct slice whole)
{
    if (part.length > 0)
        require(part.bytes >= whole.bytes &&
                part.bytes + part.length <= whole.bytes + whole.length);
}

static void read_stat(struct slice text)
{
    struct procfs_stat s;

    if (procfs_parse_stat(text, &s))
        require(memchr(s.comm, '\0', sizeof(s.comm)) != NULL);
}

static void read_status(struct slice text)
{
    struct procfs_status s;

    if (procfs_parse_status(text, &s))
        require(s.ns_pid > 0 && s.ns_pid <= INT32_MAX);
}

static void read_maps(struct slice text)
{
    struct slice rest = text;
    struct procfs_mapping m;

    while (procfs_next_mapping(&rest, &m)) {
        require(m.start < m.end);
        require(m.path.length < PROCFS_PATH_MAX);
        require_within(m.path, text);
    }
}

static void read_cgroup(struct slice text)
{
    struct slice path = procfs_cgroup_path(text);
    struct cgroup_names names;

    require_within(path, text);
    cgroup_parse(text, &names);
    require(memchr(names.unit, '\0', sizeof(names.unit)) != NULL);
    require(memchr(names.service, '\0', sizeof(names.service)) != NULL);
    require(memchr(names.container, '\0', sizeof(names.container)) != NULL);
}

static void read_kallsyms(struct slice text)
{
    char line[KALLSYMS_LINE_MAX];
    size_t length = text.length < sizeof(line) ? text.length : sizeof(line) - 1;
    struct kallsym s;

    memcpy(line, text.bytes, length);
    line[length] = '\0';
    if (kallsyms_parse(line, &s))
        require(s.name[0] != '\0');
}

static void read_notes(struct slice bytes)
{
    struct slice note;

    for (uint32_t align = 4; align <= 8; align += 4)
        if (notes_find(bytes, align, "GNU", NOTE_GNU_BUILD_ID, &note))
            require_within(note, bytes);
}

static void read_record(struct slice bytes)
{
    struct sideband_event event;
    uint64_t lost;

    if (record_parse(bytes.bytes, bytes.length, &event, &lost) != RECORD_EVENT)
        return;
    require(memchr(event.comm, '\0', sizeof(event.comm)) != NULL);
    if (event.kind == SIDEBAND_MMAP)
        require_within((struct slice){(const uint8_t *)event.path, strlen(event.path) + 1}, bytes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static void (*const readers[])(struct slice bytes) = {
        read_stat, read_maps, read_cgroup, read_kallsyms, read_notes, read_record, read_status};
    if (size == 0)
        return 0;
    readers[data[0] % (sizeof(readers) / sizeof(readers[0]))]((struct slice){data + 1, size - 1});
    return 0;
}
