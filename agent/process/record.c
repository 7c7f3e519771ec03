#include "agent/process/record.h"

#include <linux/perf_event.h>
#include <string.h>
#include <sys/mman.h>

/* The fixed parts of the records, in <linux/perf_event.h>'s words. */
struct task_record { /* FORK, EXIT */
    struct perf_event_header header;
    uint32_t pid, parent_pid, tid, parent_tid;
    uint64_t time;
};

struct comm_record {
    struct perf_event_header header;
    uint32_t pid, tid;
};

struct mmap2_record {
    struct perf_event_header header;
    uint32_t pid, tid;
    uint64_t start, length, file_offset;
    uint8_t build_id_size; /* with PERF_RECORD_MISC_MMAP_BUILD_ID; else device and inode */
    uint8_t unused[3];
    uint8_t build_id[20];
    uint32_t protection, flags;
};

struct lost_record {
    struct perf_event_header header;
    uint64_t id, lost;
};

_Static_assert(sizeof(struct task_record) == 32, "the kernel's layout");
_Static_assert(sizeof(struct comm_record) == 16, "the kernel's layout");
_Static_assert(sizeof(struct mmap2_record) == 72, "the kernel's layout");
_Static_assert(sizeof(struct lost_record) == 24, "the kernel's layout");

static uint64_t trailing_time(const uint8_t *bytes, size_t length)
{
    uint64_t time;

    memcpy(&time, bytes + length - sizeof(time), sizeof(time));
    return time;
}

/* The text between a record's fixed part and its time; NULL: not terminated. */
static const char *text_after(const uint8_t *bytes, size_t fixed, size_t length)
{
    size_t room = length - fixed - sizeof(uint64_t);

    return memchr(bytes + fixed, '\0', room) != NULL ? (const char *)bytes + fixed : NULL;
}

static enum record_kind parse_task(const uint8_t *bytes, enum sideband_kind kind,
                                   struct sideband_event *out)
{
    struct task_record r;

    memcpy(&r, bytes, sizeof(r));
    *out = (struct sideband_event){
        .kind = kind,
        .time = {r.time},
        .pid = r.pid,
        .tid = r.tid,
        .parent_pid = r.parent_pid,
    };
    return RECORD_EVENT;
}

static enum record_kind parse_comm(const uint8_t *bytes, size_t length, struct sideband_event *out)
{
    const char *comm = text_after(bytes, sizeof(struct comm_record), length);
    struct comm_record r;

    if (comm == NULL)
        return RECORD_MALFORMED;
    memcpy(&r, bytes, sizeof(r));
    *out = (struct sideband_event){
        .kind = r.header.misc & PERF_RECORD_MISC_COMM_EXEC ? SIDEBAND_EXEC : SIDEBAND_COMM,
        .time = {trailing_time(bytes, length)},
        .pid = r.pid,
        .tid = r.tid,
    };
    memcpy(out->comm, comm, strnlen(comm, sizeof(out->comm) - 1));
    return RECORD_EVENT;
}

static enum record_kind parse_mmap2(const uint8_t *bytes, size_t length, struct sideband_event *out)
{
    const char *path = text_after(bytes, sizeof(struct mmap2_record), length);
    struct build_id id = {0};
    struct mmap2_record r;

    memcpy(&r, bytes, sizeof(r));
    if (path == NULL || strlen(path) >= SIDEBAND_PATH_MAX)
        return RECORD_MALFORMED;
    if (!(r.protection & PROT_EXEC))
        return RECORD_OTHER;
    if (r.header.misc & PERF_RECORD_MISC_MMAP_BUILD_ID) {
        if (r.build_id_size > sizeof(r.build_id))
            return RECORD_MALFORMED;
        (void)build_id_from_bytes(r.build_id, r.build_id_size, &id); /* empty: stays unknown */
    }
    *out = (struct sideband_event){
        .kind = SIDEBAND_MMAP,
        .time = {trailing_time(bytes, length)},
        .pid = r.pid,
        .tid = r.tid,
        .start = r.start,
        .length = r.length,
        .file_offset = r.file_offset,
        .build_id = id,
        .path = path,
    };
    return RECORD_EVENT;
}

static enum record_kind parse_lost(const uint8_t *bytes, uint64_t *out_lost)
{
    struct lost_record r;

    memcpy(&r, bytes, sizeof(r));
    *out_lost = r.lost;
    return RECORD_LOST;
}

static size_t fixed_bytes(uint32_t type)
{
    switch (type) {
    case PERF_RECORD_FORK:
    case PERF_RECORD_EXIT:
        return sizeof(struct task_record);
    case PERF_RECORD_COMM:
        return sizeof(struct comm_record);
    case PERF_RECORD_MMAP2:
        return sizeof(struct mmap2_record);
    case PERF_RECORD_LOST:
        return sizeof(struct lost_record);
    default:
        return sizeof(struct perf_event_header);
    }
}

enum record_kind record_parse(const void *bytes, size_t length, struct sideband_event *out,
                              uint64_t *out_lost)
{
    struct perf_event_header header;

    if (length < sizeof(header))
        return RECORD_MALFORMED;
    memcpy(&header, bytes, sizeof(header));
    if (length < fixed_bytes(header.type) + sizeof(uint64_t)) /* and the time at the end */
        return RECORD_MALFORMED;
    switch (header.type) {
    case PERF_RECORD_FORK:
        return parse_task(bytes, SIDEBAND_FORK, out);
    case PERF_RECORD_EXIT:
        return parse_task(bytes, SIDEBAND_EXIT, out);
    case PERF_RECORD_COMM:
        return parse_comm(bytes, length, out);
    case PERF_RECORD_MMAP2:
        return parse_mmap2(bytes, length, out);
    case PERF_RECORD_LOST:
        return parse_lost(bytes, out_lost);
    default:
        return RECORD_OTHER;
    }
}
