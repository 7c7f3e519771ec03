/* xz - unpacks what binaries carry in xz, by liblzma. libdw unpacks .gnu_debugdata only behind its
 * dwfl interface, which takes paths and sets no limit. Any thread. */
#ifndef COMMON_SYMBOLS_XZ_H
#define COMMON_SYMBOLS_XZ_H

#include <stdint.h>

#include "common/compress.h"

enum { XZ_MEMORY_MAX = 80 << 20 }; /* what xz -9 needs to unpack: 65 MiB */

/* ST_INVALID: damaged; ST_TOO_BIG: more than `limit_bytes`, or more memory than the limit. */
enum status xz_unpack(struct slice packed, size_t limit_bytes, struct blob *out);

/* The CRC-32 of IEEE 802.3, as .gnu_debuglink has it; 0 begins. */
uint32_t xz_crc32(struct slice bytes, uint32_t so_far);

#endif
