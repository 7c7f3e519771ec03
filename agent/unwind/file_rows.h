/* file_rows - the unwind table of one file: every rule for its code, in the form that BPF walks by.
 * From .eh_frame, .debug_frame where the former says nothing, and what is known of the procedure
 * linkage table where neither does. Files are hostile: sizes are bounded, offsets checked. Any
 * thread. */
#ifndef AGENT_UNWIND_FILE_ROWS_H
#define AGENT_UNWIND_FILE_ROWS_H

#include <stdbool.h>
#include <stdint.h>

#include "bpf/abi.h"
#include "common/status.h"

enum {
    FILE_ROWS_SEGMENTS_MAX = 16, /* executable ones; real files have one or two */
    FILE_ROWS_SECTION_BYTES_MAX = 256 << 20, /* read at once; Chromium's .eh_frame has 30 MB */
};

struct file_segment { /* code in the file: how its offsets and addresses are related */
    uint64_t address, offset, bytes;
};

struct file_rows { /* value that owns `items`; zero-initialised is empty */
    uint64_t base; /* the address, as the file has it, that rows count from */
    struct abi_row *items;
    uint32_t count;
    uint32_t segment_count;
    struct file_segment segments[FILE_ROWS_SEGMENTS_MAX];
};

/* Reads an x86-64 file. ST_INVALID: it is none; ST_NOT_FOUND: it has no unwind information;
 * ST_TOO_BIG: more of it than ROW_LIST_ROWS_MAX; ST_NOMEM. */
enum status file_rows_read(int fd, struct file_rows *out);
void file_rows_deinit(struct file_rows *r);

/* The pc of the code that is mapped from `file_offset` on; may be negative, wrapped, where a
 * mapping begins before the code. False: none of the file's code lies there. */
bool file_rows_pc_at(const struct file_rows *r, uint64_t file_offset, uint64_t *out);

#endif
