/* bench_tables - unwind tables of what the distribution ships: bytes and CPU time for each MB of
 * code. The floor is to read as many bytes of the file as the code has; the peer is libdw, asked
 * for the rule at each row of the table (which it finds one at a time; our rows are sorted and
 * kept). */
#include <elfutils/libdw.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "agent/unwind/file_rows.h"
#include "common/clock.h"

enum {
    ROUNDS = 5,
    PEER_ROWS = 20000, /* libdw is asked for so many rows at most; the rest is scaled */
    WANTED_BYTES = 80000, /* per MB of code, at most */
    READ_BYTES = 1 << 20,
};

static const char *const files[] = {
    "/usr/lib/x86_64-linux-gnu/libc.so.6",
    "/usr/lib/x86_64-linux-gnu/libstdc++.so.6",
    "/usr/lib/x86_64-linux-gnu/libcrypto.so.3",
    "/usr/lib/x86_64-linux-gnu/libpython3.11.so.1.0",
    "/usr/bin/python3.11",
    "/usr/bin/gdb",
    "/usr/lib/x86_64-linux-gnu/libLLVM-14.so.1",
    "/usr/lib/jvm/java-17-openjdk-amd64/lib/server/libjvm.so",
    "/usr/bin/node",
};

static uint64_t cpu_ns(void)
{
    struct timespec t;

    (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (uint64_t)t.tv_sec * NS_PER_S + (uint64_t)t.tv_nsec;
}

static uint64_t code_bytes(const struct file_rows *r)
{
    uint64_t bytes = 0;

    for (uint32_t i = 0; i < r->segment_count; i++)
        bytes += r->segments[i].bytes;
    return bytes;
}

/* The best of rounds: the machine is shared, and the first reads the file from disk. */
static uint64_t time_rows(int fd)
{
    uint64_t best = UINT64_MAX;

    for (int i = 0; i < ROUNDS; i++) {
        struct file_rows r = {0};
        uint64_t start = cpu_ns(), took;

        if (file_rows_read(fd, &r) != ST_OK)
            exit(1);
        took = cpu_ns() - start;
        best = took < best ? took : best;
        file_rows_deinit(&r);
    }
    return best;
}

static uint64_t time_reading(int fd, uint64_t bytes)
{
    static char buffer[READ_BYTES];
    uint64_t start = cpu_ns();

    for (uint64_t at = 0; at < bytes; at += READ_BYTES)
        if (pread(fd, buffer, READ_BYTES, (off_t)at) < 0)
            exit(1);
    return cpu_ns() - start;
}

static uint64_t time_libdw(int fd, const struct file_rows *r)
{
    uint32_t rows = r->count < PEER_ROWS ? r->count : PEER_ROWS, step = r->count / rows;
    uint64_t start = cpu_ns();
    Elf *elf = elf_begin(fd, ELF_C_READ_MMAP, NULL);
    Dwarf_CFI *cfi = dwarf_getcfi_elf(elf);

    for (uint32_t i = 0; i < rows && cfi != NULL; i++) {
        Dwarf_Frame *frame = NULL;

        (void)dwarf_cfi_addrframe(cfi, r->base + r->items[i * step].pc, &frame);
        free(frame);
    }
    (void)elf_end(elf);
    return (cpu_ns() - start) * step;
}

struct sum {
    double mb, bytes;
};

static void measure(const char *path, struct sum *sum)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    struct file_rows r = {0};
    double mb, bytes;

    if (fd < 0 || file_rows_read(fd, &r) != ST_OK || r.count == 0) {
        printf("%-24.24s not here, or without unwind information\n", strrchr(path, '/') + 1);
        if (fd >= 0)
            (void)close(fd);
        return;
    }
    mb = (double)code_bytes(&r) / 1e6;
    bytes = (double)r.count * sizeof(struct abi_row);
    printf("%-24.24s %6.1f MB of code %8" PRIu32 " rows %6.1f KB/MB (wanted: at most %d) %s "
           "%7.0f us/MB; reading the code %5.0f, libdw %8.0f\n",
           strrchr(path, '/') + 1, mb, r.count, bytes / mb / 1e3, WANTED_BYTES / 1000,
           bytes / mb <= WANTED_BYTES ? "  " : "! ", (double)time_rows(fd) / 1e3 / mb,
           (double)time_reading(fd, code_bytes(&r)) / 1e3 / mb,
           (double)time_libdw(fd, &r) / 1e3 / mb);
    sum->mb += mb;
    sum->bytes += bytes;
    file_rows_deinit(&r);
    (void)close(fd);
}

int main(void)
{
    struct sum sum = {0};

    (void)elf_version(EV_CURRENT);
    for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++)
        measure(files[i], &sum);
    printf("%-24s %6.1f MB of code %8.0f rows %6.1f KB/MB (wanted: at most %d)\n", "all of them",
           sum.mb, sum.bytes / sizeof(struct abi_row), sum.bytes / sum.mb / 1e3,
           WANTED_BYTES / 1000);
    return 0;
}
