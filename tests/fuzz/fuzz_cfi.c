/* Any bytes as call frame information, of either kind by the first byte, or as a whole file: rows
 * that ascend within the code, or none. */
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "agent/unwind/cfi.h"
#include "agent/unwind/file_rows.h"
#include "tests/fuzz/require.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define CODE UINT64_C(0x401000)
#define CODE_BYTES UINT64_C(0x100000)

static void check_rows(const struct abi_row *rows, uint32_t count, uint64_t bytes)
{
    for (uint32_t i = 0; i < count; i++) {
        require(rows[i].kind < ABI_ROW_KINDS && rows[i].pc <= bytes);
        require(i == 0 || rows[i - 1].pc < rows[i].pc);
    }
}

static void read_section(struct slice bytes, uint8_t choice)
{
    struct cfi_section s = {.bytes = bytes,
                            .address = 0x500000,
                            .debug_frame = (choice & 1) != 0,
                            .terminated = (choice & 2) != 0};
    struct row_list list;
    struct abi_row *rows = NULL;
    uint32_t count = 0;

    row_list_init(&list, CODE, CODE + CODE_BYTES);
    cfi_read(&s, &list);
    if (row_list_finish(&list, &rows, &count) == ST_OK)
        check_rows(rows, count, CODE_BYTES);
    row_list_deinit(&list);
    free(rows);
}

static void read_file(const uint8_t *data, size_t size)
{
    int fd = memfd_create("fuzz", MFD_CLOEXEC);
    struct file_rows r = {0};

    require(fd >= 0 && write(fd, data, size) == (ssize_t)size);
    if (file_rows_read(fd, &r) == ST_OK)
        check_rows(r.items, r.count, UINT32_MAX);
    file_rows_deinit(&r);
    close(fd);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0)
        return 0;
    if (data[0] == 0x7f) /* as every ELF file begins */
        read_file(data, size);
    else
        read_section((struct slice){data + 1, size - 1}, data[0]);
    return 0;
}
