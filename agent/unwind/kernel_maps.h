/* kernel_maps - what the eBPF programs walk by, in the kernel's memory: shards of rows, which are
 * mapped here too, and the pages that tell a process's ranges. A writer fills a shard before it
 * puts a page that leads there. Loop thread only. */
#ifndef AGENT_UNWIND_KERNEL_MAPS_H
#define AGENT_UNWIND_KERNEL_MAPS_H

#include <stdint.h>

#include "bpf/abi.h"
#include "common/status.h"

struct kernel_maps; /* opaque */

/* Descriptors of the two maps, lent until kernel_maps_close: a hash of pages and an array of shards
 * (maps themselves). With -1 for both all stays in this process, for its own walks. */
enum status kernel_maps_open(int pages_fd, int shards_fd, struct kernel_maps **out);
/* Takes away the shards; pages are the writer's to delete. NULL is fine. */
void kernel_maps_close(struct kernel_maps *k);

/* ST_EXISTS: it is open; ST_NOMEM; ST_DENIED. */
enum status kernel_maps_open_shard(struct kernel_maps *k, uint32_t shard);
void kernel_maps_close_shard(struct kernel_maps *k, uint32_t shard);
struct abi_shard *kernel_maps_shard(struct kernel_maps *k, uint32_t shard); /* NULL: not open */
uint64_t kernel_maps_bytes(const struct kernel_maps *k); /* of all shards */

enum status kernel_maps_put_page(struct kernel_maps *k, struct abi_page_key key,
                                 const struct abi_page *page); /* ST_FULL */
void kernel_maps_delete_page(struct kernel_maps *k, struct abi_page_key key);

#endif
